/* Kinds of traces that people publish and no loop of our own is like: cuts of a recording, a single
 * pass whose layers repeat, much host and little device, and messages of several kinds. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

#include <stdio.h>
#include <string.h>

static const struct finding *need(const struct found *found, const char *id)
{
    const struct finding *finding = found_find(found, id);
    char text[4096];

    found_list(found, text, sizeof text);
    if (finding == NULL)
        fail_msg("%s is missing; found:%s", id, text);
    return finding;
}

static void check_says(const char *sentence, const char *part)
{
    if (strstr(sentence, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", sentence, part);
}

/* --- The ends of a recording --- */

/* Two kernels are queued at once; the second waits for `wait` us, then the device is busy for 20
 * kernels of 100 us. */
static struct found judge_cut(int before, int wait)
{
    int at = 10 + before + wait;

    made_begin_with(OLD_GPU);
    made_add_work("kernel", "first", 7, 10, 10 + before, 0);
    made_add_work("kernel", "second", 8, at, at + 100, 3);
    for (int i = 1; i < 20; i++)
        made_add_work("kernel", "known", 8, at + 100 * i, at + 100 + 100 * i, at - 50 + i);
    return found_judge_trace(made_analyse());
}

static void work_that_waits_for_what_came_before_the_recording_costs_nothing(void **state)
{
    struct found half = judge_cut(5, 1500), most = judge_cut(5, 90000), amid = judge_cut(500, 1500);

    assert_null(found_find(&half, "device_wait"));
    assert_string_equal(half.findings.items[0].id, "device_bound");
    check_says(need(&half, "insufficient_data")->evidence, "before the recording");
    /* Where that is most of the recording, the rest shows little. */
    assert_string_equal(most.findings.items[0].id, "insufficient_data");
    assert_int_equal(most.findings.headline.bottleneck, BOTTLENECK_UNCLEAR);
    assert_null(found_find(&most, "device_wait"));
    need(&amid, "device_wait");
    found_forget(&half);
    found_forget(&most);
    found_forget(&amid);
}

static void a_wait_that_ends_the_recording_is_no_finding(void **state)
{
    struct found found;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "known", 7, 100 + 100 * i,
                      i % 10 == 9 ? 180 + 100 * i : 200 + 100 * i, 40 + i);
    made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, 200, 2300, 0);
    found = found_judge_trace(made_analyse());
    assert_null(found_find(&found, "host_sync"));
    found_forget(&found);
}

/* Marks that end long before the work which they launched. */
static void no_share_is_beyond_the_whole(void **state)
{
    struct found found;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 4; i++) {
        char step[40];
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        made_add("user_annotation", step, 100, 100, 100 * i, 100 * i + 100, 0);
        for (int k = 0; k < 5; k++)
            made_add_work("kernel", "known", 7, 1000 * (5 * i + k) + 50, 1000 * (5 * i + k) + 1050,
                          100 * i + 10 * k);
    }
    found = found_judge_trace(made_analyse());
    check_says(need(&found, "device_bound")->evidence, "busy for 100% of the step");
    found_forget(&found);
}

/* --- Steps that are none --- */

/* Layers with a copy each, whose memory grows: of one pass, or of marked steps. */
static struct found judge_layers(bool marked)
{
    made_begin_with(
        "\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\",\"totalGlobalMem\":1073741824}]");
    for (int i = 0; i < 12; i++) {
        int start = 1000 * i, slow = i == 4 || i == 8 || i == 11 ? 500 : 0;
        char text[120];
        snprintf(text, sizeof text, "ProfilerStep#%d", i);
        if (marked)
            made_add("user_annotation", text, 100, 100, start, start + 1000, 0);
        made_add_work("kernel", "gemm", 7, start + 50 + slow, start + 400 + slow, start + 10);
        made_add_work("kernel", "scatter", 7, start + 400 + slow, start + 450 + slow, start + 30);
        made_add_work("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 7, start + 450 + slow,
                      start + 460 + slow, start + 40);
        snprintf(text, sizeof text,
                 "\"Device Type\":1,\"Device Id\":0,\"Addr\":%d,\"Bytes\":10485760,"
                 "\"Total Allocated\":%d,\"Total Reserved\":1000000000",
                 i + 1, 10485760 * (i + 1));
        made_add_instant("[memory]", start + 500, text);
    }
    return found_judge_trace(made_analyse());
}

static void layers_of_one_pass_are_no_steps(void **state)
{
    struct found guessed = judge_layers(false), marked = judge_layers(true);

    assert_non_null(guessed.summary.steps.anchor);
    assert_null(found_find(&guessed, "memory_growth"));
    assert_null(found_find(&guessed, "uneven_steps"));
    need(&marked, "memory_growth");
    found_forget(&guessed);
    found_forget(&marked);
}

/* Two steps with two kernels: nearly all of them is a load, or a half is. */
static void two_steps_that_one_cause_fills_are_enough(void **state)
{
    struct found plain =
        found_judge(&(struct made_loop)FIELDS(.steps = 2, .launches = 2, .call = 2, .kernel = 50,
                                              .wait_every = 1, .loading = 20000));
    struct found mixed =
        found_judge(&(struct made_loop)FIELDS(.steps = 2, .launches = 2, .call = 2, .kernel = 5000,
                                              .wait_every = 1, .loading = 9000));

    assert_string_equal(plain.findings.items[0].id, "data_loading");
    assert_true(plain.findings.items[0].confidence > CONFIDENCE_LOW);
    assert_int_equal(plain.findings.items[0].severity, SEVERITY_CRITICAL);
    assert_int_equal(need(&mixed, "data_loading")->confidence, CONFIDENCE_LOW);
    found_forget(&plain);
    found_forget(&mixed);
}

static void what_the_host_does_beside_the_device_is_said_once(void **state)
{
    for (int loading = 500; loading <= 20000; loading += 19500) {
        struct found found;
        int at = loading;
        made_begin_with(OLD_GPU);
        made_add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 100, 100, 0, at, 0);
        for (int i = 0; i < 20; i++)
            made_add_work("kernel", "known", 7, at + 100 + 100 * i, at + 200 + 100 * i,
                          at + 10 + i);
        found = found_judge_trace(made_analyse());
        if (loading < 2000) {
            assert_null(found_find(&found, "host_outside"));
        } else {
            check_says(need(&found, "host_outside")->evidence, "20.0 ms of that waiting for data");
            check_says(need(&found, "host_outside")->where.function, "enumerate(DataLoader)");
            assert_string_equal(found.findings.items[0].id, "device_bound");
        }
        found_forget(&found);
    }
}

/* --- Compilations --- */

/* Ten steps of 1 ms, in some of which the host compiles for 600 us. */
static struct found judge_compilations(const char *in)
{
    made_begin_with(OLD_GPU);
    for (int i = 0; i < 10; i++) {
        int start = 1000 * i;
        char step[40];
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        made_add("user_annotation", step, 100, 100, start, start + 1000, 0);
        if (in[i] == 'c')
            made_add("user_annotation", "_compile.compile_inner (dynamo_timed)", 100, 100,
                     start + 10, start + 610, 0);
        for (int k = 0; k < 3; k++)
            made_add_work("kernel", "triton_poi_fused_0", 7, start + 650 + 100 * k,
                          start + 750 + 100 * k, start + 620 + 10 * k);
    }
    return found_judge_trace(made_analyse());
}

static void compilations_that_come_back_are_not_done_once(void **state)
{
    static const struct {
        const char *in;
        bool again;
    } cases[] = {
        { "cccccccccc", true },  { "c.c..c....", true },  { "ccc.......", false },
        { "c.........", false }, { "c.....c...", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge_compilations(cases[i].in);
        if (cases[i].again) {
            check_says(need(&found, "recompilation")->advice, "TORCH_LOGS=recompiles");
            assert_null(found_find(&found, "initialisation"));
        } else {
            need(&found, "initialisation");
            assert_null(found_find(&found, "recompilation"));
        }
        found_forget(&found);
    }
}

/* --- Whose time it is --- */

/* Ten steps of a kernel, between which the host takes so long, for what rows of its own tell. */
static struct found judge_pauses(const char *category, const char *name, int pause, int longer)
{
    int at = 0;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 10; i++) {
        char step[40];
        int start = at;
        for (int k = 0; k < 10; k++)
            made_add_work("kernel", "gemm", 7, at + 20 + 50 * k, at + 70 + 50 * k, at + 2 * k);
        at += 520 + pause + longer * i;
        if (category != NULL)
            made_add(category, name, category[0] == 'o' ? 999 : 100, 100, at - pause, at, 0);
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        made_add("user_annotation", step, 100, 100, start, at, 0);
    }
    return found_judge_trace(made_analyse());
}

static void time_of_the_profiler_and_of_collections_is_named(void **state)
{
    struct found profiler = judge_pauses("overhead", "Activity Buffer Request", 700, 0);
    struct found driver = judge_pauses("overhead", "Command Buffer Full", 700, 0);
    struct found garbage = judge_pauses("python_function", "Python GC", 700, 0);

    check_says(need(&profiler, "insufficient_data")->evidence, "the profiler itself");
    assert_null(found_find(&profiler, "host_work"));
    assert_string_equal(profiler.findings.items[0].id, "insufficient_data");
    need(&driver, "host_work");
    check_says(need(&garbage, "host_work")->evidence, "Python collects garbage");
    check_says(need(&garbage, "host_work")->advice, "gc.freeze()");
    found_forget(&profiler);
    found_forget(&driver);
    found_forget(&garbage);
}

static void steps_that_get_longer_are_told_from_uneven_ones(void **state)
{
    struct found longer = judge_pauses(NULL, NULL, 100, 80),
                 even = judge_pauses(NULL, NULL, 100, 0);

    check_says(need(&longer, "uneven_steps")->title, "longer and longer");
    check_says(need(&longer, "uneven_steps")->evidence, "they take 80 us more");
    assert_null(found_find(&even, "uneven_steps"));
    found_forget(&longer);
    found_forget(&even);
}

/* Weights that are copied before the first kernel, or a batch before each second one. */
static void what_is_copied_before_all_kernels_is_copied_once(void **state)
{
    for (int again = 0; again < 2; again++) {
        struct found found;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 10; i++) {
            int copy = again ? 300 * i : 100 * i, kernel = again ? 300 * i + 100 : 1000 + 200 * i;
            made_add_work("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 7, copy + 50,
                          copy + 150, 4 * i);
            made_add_work("kernel", "gemm", 7, kernel + 50, kernel + 250, 4 * i + 2);
        }
        found = found_judge_trace(made_analyse());
        assert_int_equal(strstr(need(&found, "pageable_copy")->evidence, "and so once") == NULL,
                         again);
        found_forget(&found);
    }
}

/* In each step a thread pins memory for 3 ms, and a launch of the loop waits for it, or does not.
 */
static void launches_that_wait_for_an_allocation_elsewhere_are_told_from_slow_ones(void **state)
{
    for (int beside = 0; beside < 2; beside++) {
        struct found found;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 8; i++) {
            int at = 4000 * i;
            char step[40];
            snprintf(step, sizeof step, "ProfilerStep#%d", i);
            made_add("user_annotation", step, 100, 100, at, at + 4000, 0);
            made_add("cuda_runtime", "cudaHostAlloc", 100, 777, at + (beside ? 0 : 3100),
                     at + (beside ? 3010 : 3990), 0);
            made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 5, at + 3005, 100 * i + 1);
            made_add("kernel", "gemm", 0, 7, at + 3006, at + 3056, 100 * i + 1);
            for (int k = 1; k < 11; k++) {
                made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 3000 + 10 * k,
                         at + 3005 + 10 * k, 100 * i + 1 + k);
                made_add("kernel", "gemm", 0, 7, at + 3006 + 50 * k, at + 3056 + 50 * k,
                         100 * i + 1 + k);
            }
        }
        found = found_judge_trace(made_analyse());
        if (beside) {
            check_says(need(&found, "allocation_churn")->title, "another thread");
            assert_string_equal(found.findings.items[0].id, "allocation_churn");
        } else {
            assert_null(found_find(&found, "allocation_churn"));
        }
        found_forget(&found);
    }
}

/* --- Advice --- */

/* A step of so many passes: a forward kernel, one of backward, and a reduction after each of the
 * last `sent` of them. */
static struct found judge_passes(int passes, int sent)
{
    int at = 0;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 6; i++) {
        int start = at;
        char step[40];
        for (int pass = 0; pass < passes; pass++) {
            made_add("cpu_op", "autograd::engine::evaluate_function: MmBackward0", 100, 100,
                     at + 20, at + 30, 0);
            made_add_work("kernel", "gemm", 7, at + 100, at + 200, at + 5);
            made_add_work("kernel", "gemm", 7, at + 200, at + 300, at + 22);
            if (pass >= passes - sent)
                made_add_work("kernel", "ncclDevKernel_AllReduce_Sum_bf16", 8, at + 300, at + 400,
                              at + 40);
            at += 400;
        }
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        made_add("user_annotation", step, 100, 100, start, at, 0);
    }
    return found_judge_trace(made_analyse());
}

static void gradients_are_sent_once_per_update(void **state)
{
    struct found each = judge_passes(4, 4), last = judge_passes(2, 1);

    check_says(need(&each, "exposed_communication")->advice, "no_sync()");
    assert_float_equal(need(&each, "exposed_communication")->predicted_gain, 16 / 13.0F, 0.02);
    check_says(need(&last, "exposed_communication")->advice, "buckets");
    found_forget(&each);
    found_forget(&last);
}

static void advice_fits_what_is_sent_and_who_trains(void **state)
{
    static const struct {
        struct made_loop loop;
        const char *id, *advice;
    } cases[] = {
        { FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560),
          "exposed_communication", "buckets" },
        { FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560,
                 .collective = "all_to_all"),
          "exposed_communication", "experts" },
        { FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560,
                 .collective = "_allgather_base"),
          "exposed_communication", "FSDP" },
        { FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560, .split = true),
          "exposed_communication", "fewer ranks" },
        { FIELDS(BUSY, .communication = 300), "exposed_communication", "fewer ranks" },
        { FIELDS(BUSY, .loading = 1500), "data_loading", "another thread" },
        { FIELDS(BACKWARD, .loading = 2500), "data_loading", "num_workers" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = found_judge(&cases[i].loop);
        check_says(need(&found, cases[i].id)->advice, cases[i].advice);
        found_forget(&found);
    }
}

TESTS(work_that_waits_for_what_came_before_the_recording_costs_nothing,
      a_wait_that_ends_the_recording_is_no_finding, no_share_is_beyond_the_whole,
      layers_of_one_pass_are_no_steps, two_steps_that_one_cause_fills_are_enough,
      what_the_host_does_beside_the_device_is_said_once,
      compilations_that_come_back_are_not_done_once,
      time_of_the_profiler_and_of_collections_is_named,
      steps_that_get_longer_are_told_from_uneven_ones,
      what_is_copied_before_all_kernels_is_copied_once,
      launches_that_wait_for_an_allocation_elsewhere_are_told_from_slow_ones,
      gradients_are_sent_once_per_update, advice_fits_what_is_sent_and_who_trains)
