/* Findings of what happens once, as first uses, compiling and captures of graphs, and of captures
 * that come again. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* Two kernels whose first launches take 2 and 3 ms, the one after 7 in its operator. */
static struct found judge_first_uses(const char *operator, bool launched_before)
{
    made_begin_with(OLD_GPU);
    made_add_work("kernel", "known", 7, 10, 110, 0);
    made_add("cpu_op", operator, 100, 100, 200, 9200, 0);
    if (launched_before)
        made_add_work("kernel", "known", 7, 1010, 1020, 1000);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 7200, 9200, 1);
    made_add("kernel", "loaded", 0, 7, 9200, 9300, 1);
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 9300, 12300, 2);
    made_add("kernel", "compiled", 0, 7, 12300, 12400, 2);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "known", 7, 12400 + 100 * i, 12500 + 100 * i, 12310 + 100 * i);
    return found_judge_trace(made_analyse());
}

TEST(what_is_done_for_the_first_time_adds_up)
{
    static const char loader[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    static const struct {
        const char *operator;
        bool launched_before;
        float lost_us;
        const char *first;
    } around[] = {
        { "aten::sum", false, 12000, "initialisation" },
        { "aten::sum", true, 5000, "host_work" },
        { loader, false, 5000, "data_loading" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
        struct found found = judge_first_uses(around[i].operator, around[i].launched_before);
        const struct finding *finding = found_find(&found, "initialisation");
        assert_string_equal(found.findings.items[0].id, around[i].first);
        assert_float_equal((float)finding->lost_ns_per_step / 1e3F, around[i].lost_us, 1e-3);
        assert_non_null(strstr(finding->evidence, "2 kernels are"));
        assert_non_null(
            strstr(finding->evidence, "the longest takes 3.00 ms: cudaLaunchKernel for compiled"));
        if (!around[i].launched_before)
            assert_null(found_find(&found, "launch_bound"));
    }
}

/* Steps of 100 us: in every `every`-th of the first `until` the host waits for the device, captures
 * a graph for 30 us and instantiates it for 10, then launches it. */
static struct found judge_captures(int every, int steps, int until, bool launches)
{
    int correlation = 0;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < steps; i++) {
        int start = 100 * i, launch = start;

        made_step(i, start, start + 100);
        if (i % every == 0 && i < until) {
            made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, start, start + 10,
                     ++correlation);
            made_add("cuda_runtime", "cudaStreamBeginCapture", 100, 100, start + 10, start + 11,
                     ++correlation);
            made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, start + 20, start + 22,
                     ++correlation);
            made_add("cuda_runtime", "cudaStreamEndCapture", 100, 100, start + 39, start + 40,
                     ++correlation);
            made_add("cuda_runtime", "cudaGraphInstantiate", 100, 100, start + 40, start + 50,
                     ++correlation);
            launch = start + 50;
        }
        made_add("cuda_runtime", launches ? "cudaGraphLaunch" : "cudaLaunchKernel", 100, 100,
                 launch, launch + 2, ++correlation);
        made_add("kernel", "work", 0, 7, launch + 2, start + 105, correlation);
    }
    return found_judge_trace(made_analyse());
}

/* An operator of 200 us, of which a capture takes 20, and whose rows may be missing: before it
 * begins the host collects garbage. Then 50 us of other work. */
TEST(a_capture_takes_the_operator_around_it)
{
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        struct found found;
        const struct finding *finding;
        made_begin();
        for (int i = 0; i < 20; i++)
            made_add_work("kernel", "work", 7, 15 * i + 5, 15 * i + 15, 15 * i + 1);
        made_add("cpu_op", "Torch-Compiled Region: 0/0", 100, 100, 400, 600, 0);
        if (has_rows)
            made_add("cuda_runtime", "cudaStreamBeginCapture", 100, 100, 550, 551, 1001);
        made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, 555, 560, 1002);
        if (has_rows)
            made_add("cuda_runtime", "cudaStreamEndCapture", 100, 100, 569, 570, 1003);
        made_add("cuda_runtime", "cudaGraphInstantiate", 100, 100, 570, 580, 1004);
        made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, 600, 605, 1005);
        made_add("kernel", "work", 0, 7, 605, 705, 1005);
        found = found_judge_trace(made_analyse());
        finding = found_find(&found, "initialisation");
        assert_non_null(finding);
        assert_ptr_equal(finding, &found.findings.items[0]);
        assert_true(fabs(finding->lost_ns_per_step / 1000 - 200) <= 1);
        assert_non_null(strstr(finding->evidence, "1 capture of a graph, 1 instantiation"));
    }
}

TEST(captures_that_come_again_are_named_and_no_other_finding_costs_their_time)
{
    static const struct {
        int every, steps, until;
        float lost_us; /* per step; 0: there is no such finding */
        const char *said;
    } loops[] = {
        { 1, 20, 20, 40, "20 graphs are captured in 20 steps" },
        { 2, 20, 20, 20, "10 graphs are captured in 20" },
        { 5, 15, 15, 8, "3 graphs are captured in 15" },
        { 1, 20, 7, 0, NULL },  /* a warm-up */
        { 5, 10, 10, 0, NULL }, /* twice */
        { 6, 60, 60, 0, NULL }, /* too rarely */
    };

    for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
        struct found found = judge_captures(loops[i].every, loops[i].steps, loops[i].until, true);
        const struct finding *finding = found_find(&found, "graph_recapture");

        assert_true((finding != NULL) == (loops[i].lost_us > 0));
        assert_true((found_find(&found, "initialisation") != NULL) == (finding == NULL));
        if (finding == NULL)
            assert_int_equal(found_find(&found, "initialisation")->once_in_steps, loops[i].steps);
        if (finding != NULL) {
            assert_float_equal((float)finding->lost_ns_per_step / 1e3F, loops[i].lost_us, 0.2);
            assert_true(finding == findings_first(&found.findings));
            assert_non_null(strstr(finding->evidence, loops[i].said));
        }
    }
}

/* An engine that starts captures a graph for each piece of its model, and launches none yet. */
TEST(graphs_that_nothing_launches_are_made_ahead)
{
    struct found found = judge_captures(1, 20, 20, false);

    assert_null(found_find(&found, "graph_recapture"));
    assert_non_null(found_find(&found, "initialisation"));
}

/* A device that is busy, but for 5 ms in which the host does that. */
static struct found judge_once(const char *category, const char *name)
{
    made_begin_with(OLD_GPU);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "known", 7, 10 + 100 * i, 110 + 100 * i, 5 * i);
    made_add(category, name, 100, 100, 2010, 7010, 0);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "known", 7, 7020 + 100 * i, 7120 + 100 * i, 7015 + 5 * i);
    return found_judge_trace(made_analyse());
}

TEST(compiling_and_loading_modules_happen_once_however_late)
{
    static const struct {
        const char *category, *name, *first;
    } cases_once[] = {
        { "user_annotation", "_compile.compile_inner (dynamo_timed)", "initialisation" },
        { "user_annotation", "compile", "host_work" },
        { "cpu_op", "Torch-Compiled Region: 0/0", "host_work" },
        { "cuda_driver", "cuModuleLoadData", "initialisation" },
        { "cuda_runtime", "hipModuleLoadDataEx", "initialisation" },
        { "cuda_driver", "cuCtxGetDevice", "host_work" },
        { "cuda_runtime", "cudaStreamSynchronize", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases_once); i++) {
        struct found found = judge_once(cases_once[i].category, cases_once[i].name);
        const struct finding *first = &found.findings.items[0];
        if (cases_once[i].first == NULL) {
            assert_null(found_find(&found, "initialisation"));
            assert_null(found_find(&found, "host_work"));
        } else {
            assert_string_equal(first->id, cases_once[i].first);
            assert_non_null(strstr(first->evidence, cases_once[i].name));
            assert_in_range((int64_t)first->lost_ns_per_step, 4990000, 5020000);
        }
    }
}
