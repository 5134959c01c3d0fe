/* Traces of real machines against numbers that were computed elsewhere. The traces are not part of
 * the project: CHOKEPOINT_TRACES names their folder, with expected.json; without it this is
 * skipped. */
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <cjson/cJSON.h>
#include <math.h>

enum { SKIPPED = 77, EXPECTED_MAX = 1 << 20 };

static char folder[3000];
static cJSON *expected;

static struct analysed read_trace(const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.json.gz", folder, name);
    return analysed_read(path);
}

/* Traces that write whole microseconds match exactly; others were summed in fractions. */
static double tolerance_us(const struct trace_file *trace)
{
    for (int64_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].start_ns % 1000 != 0)
            return 0.5 * (1 + (double)(trace->event_count + trace->other_count) / 1000);
    return 0;
}

static void check_time(const char *trace, const char *what, int64_t ns, double us, double tolerance)
{
    if (!(fabs((double)ns / 1000 - us) <= tolerance))
        fail_msg("%s: %s is %.3f us, not %.3f", trace, what, (double)ns / 1000, us);
}

static void check_temporal(const char *name, const cJSON *wanted, const struct timeline *timeline)
{
    const struct usage *all = &timeline->all;
    const struct {
        const char *key;
        int64_t ns;
    } figures[] = {
        { "span_us", all->span_ns },
        { "busy_us", all->busy_ns },
        { "idle_us", all->idle_ns },
        { "compute_us", all->kind_ns[WORK_COMPUTATION] },
        { "comm_union_us", all->kind_ns[WORK_COMMUNICATION] },
        { "comm_compute_overlap_us", all->communication_overlap_ns },
        { "comm_exposed_us", all->communication_exposed_ns },
        { "memory_union_us", all->memory_ns },
        { "memory_exposed_us", all->memory_exposed_ns },
    };

    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        const cJSON *figure = cJSON_GetObjectItem(wanted, figures[i].key);
        assert_true(cJSON_IsNumber(figure));
        check_time(name, figures[i].key, figures[i].ns, figure->valuedouble,
                   tolerance_us(timeline->trace));
    }
}

static void check_steps(const char *name, const cJSON *wanted, const struct steps *steps,
                        double tolerance)
{
    const cJSON *durations = cJSON_GetObjectItem(wanted, "durations_us");
    const cJSON *busy = cJSON_GetObjectItem(wanted, "gpu_busy_pct_per_step");

    if (wanted == NULL || cJSON_IsNull(wanted)) { /* nothing marks steps */
        assert_int_equal(steps->count, 0);
        return;
    }
    assert_int_equal(steps->count, cJSON_GetObjectItem(wanted, "count")->valueint);
    check_time(name, "shortest step", steps->min_ns,
               cJSON_GetObjectItem(wanted, "min_us")->valuedouble, tolerance);
    check_time(name, "longest step", steps->max_ns,
               cJSON_GetObjectItem(wanted, "max_us")->valuedouble, tolerance);
    check_time(name, "mean step", llround(steps->mean_ns),
               cJSON_GetObjectItem(wanted, "mean_us")->valuedouble, tolerance + 0.001);
    for (int i = 0; i < steps->count; i++) {
        const struct step *step = &steps->items[i];
        double share = 100 * (double)step->busy_ns / (double)step->duration_ns;
        int64_t sum = 0;
        check_time(name, "step", step->duration_ns, cJSON_GetArrayItem(durations, i)->valuedouble,
                   tolerance);
        for (int part = 0; part < STEP_PART_COUNT; part++) {
            assert_true(step->part_ns[part] >= 0);
            sum += step->part_ns[part];
        }
        assert_int_equal(sum, step->duration_ns);
        if (busy != NULL && !(fabs(share - cJSON_GetArrayItem(busy, i)->valuedouble) <= 0.0051))
            fail_msg("%s: step %d is busy %.4f%%, not %.2f%%", name, i, share,
                     cJSON_GetArrayItem(busy, i)->valuedouble);
    }
}

/* In whatever order they are wanted. */
static void check_streams(const cJSON *wanted, const struct timeline *timeline)
{
    const cJSON *stream;

    assert_int_equal(timeline->stream_count, cJSON_GetArraySize(wanted));
    cJSON_ArrayForEach(stream, wanted)
    {
        int found = 0;
        for (int i = 0; i < timeline->stream_count; i++)
            found += timeline->streams[i].stream == atoi(stream->valuestring);
        assert_int_equal(found, 1);
    }
}

static void check_trace(const cJSON *wanted)
{
    struct analysed analysed = read_trace(wanted->string);
    const struct trace_file *trace = analysed.trace;
    const struct timeline *timeline = &analysed.timeline;
    int64_t causes = 0;

    assert_false(trace->partial);
    assert_int_equal(trace->event_count + trace->other_count,
                     cJSON_GetObjectItem(wanted, "n_events")->valueint);
    assert_int_equal(timeline->work_count,
                     cJSON_GetObjectItem(wanted, "n_gpu_activities")->valueint);
    check_streams(cJSON_GetObjectItem(wanted, "streams"), timeline);
    if (timeline->work_count > 0)
        check_temporal(wanted->string, cJSON_GetObjectItem(wanted, "temporal"), timeline);
    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
        causes += timeline->all.idle_cause_ns[cause];
    assert_int_equal(causes, timeline->all.idle_ns);
    check_steps(wanted->string, cJSON_GetObjectItem(wanted, "steps"), &analysed.steps,
                tolerance_us(trace));
    test_release();
}

TEST(every_trace_has_the_numbers_that_others_computed)
{
    const cJSON *wanted;

    assert_true(cJSON_GetArraySize(expected) > 0);
    cJSON_ArrayForEach(wanted, expected) check_trace(wanted);
}

/* By eye: each gap of this trace ends with work that was launched after the gap began. */
TEST(a_host_bound_trace_idles_for_the_host)
{
    struct analysed analysed = read_trace("h100_bert_small");
    const struct usage *all = &analysed.timeline.all;

    assert_int_equal(all->idle_cause_ns[IDLE_HOST_WAIT], all->idle_ns);
}

static struct found judge(const char *name)
{
    return found_judge_trace(read_trace(name));
}

/* An engineer's verdict on each, from its numbers and by looking at it. */
TEST(the_first_finding_is_what_an_engineer_would_say)
{
    static const struct {
        const char *trace, *first, *bottleneck;
        enum severity least;
    } cases[] = {
        /* Kernels fill 74% of the span, two thirds of it convolutions in fp32, on a device that has
         * matrix units for fp16. The idle time is spread over small launches, mostly the
         * optimizer's. */
        { "v100_resnet50_workers4", "fp32_matmul", "device", SEVERITY_MAJOR },
        /* Idle for 92%; every gap ends with a launch that was made after it began. */
        { "h100_bert_small", "launch_bound", "launching", SEVERITY_MAJOR },
        /* One launch, the first of its kernel, takes 6.5 of 9.4 ms. */
        { "mi250_minitoy", "initialisation", "first_use", SEVERITY_MAJOR },
        /* Idle for 96%; kernels of 2 us behind launches of 8. */
        { "gp100_toy", "launch_bound", "launching", SEVERITY_MAJOR },
        /* Busy for 86%, and 34 launches hold nothing back: the device sets the pace. All that could
           be fixed is a wait, which gains little. */
        { "mi300_qwen30b_decode", "device_bound", "device", SEVERITY_INFORMATION },
        /* 269 ms of Python, in which a video is prepared, before the first work of a 391 ms
         * step. */
        { "mi300_timesformer", "host_work", "host_work", SEVERITY_CRITICAL },
        /* Capture and instantiation of a graph fill the largest gap, 231 of 332 ms of idle time. */
        { "mi300_flux_capture", "initialisation", "first_use", SEVERITY_CRITICAL },
        /* 272 calls of hipFree an iteration: 99% of the idle time is under them. */
        { "mi300_resnet18_hipfree", "allocation_churn", "allocation", SEVERITY_CRITICAL },
        /* 77% of the long gaps' time is inside of the loader's __next__; PyTorch's sample for
         * that. */
        { "v100_resnet50_workers0", "data_loading", "loading", SEVERITY_MAJOR },
        { "v100_resnet50_workers4_b", "fp32_matmul", "device", SEVERITY_MAJOR },
        /* Three of five regions take 210 ms and capture a graph, two launch it in 2.5 ms. */
        { "a100_vit_recapture", "graph_recapture", "first_use", SEVERITY_CRITICAL },
        /* record_stream, messages by NCCL and its backend: the rows of a GPU are missing. */
        { "nccl_rank_without_gpu_rows", "no_device_activity", "unclear", SEVERITY_MAJOR },
        /* Four kernels and a memset. */
        { "a100_event_sync", "insufficient_data", "unclear", SEVERITY_INFORMATION },
        /* 252 waits; 87 ms of the host's work come after two of them, which nothing repeats. */
        { "a100_sam_masks", "host_work", "host_work", SEVERITY_MAJOR },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge(cases[i].trace);
        const struct findings *findings = &found.findings;
        assert_true(findings->count > 0);
        if (strcmp(findings->items[0].id, cases[i].first) != 0)
            fail_msg("%s: %s", cases[i].trace, findings->items[0].id);
        assert_true(findings->items[0].severity >= cases[i].least);
        assert_string_equal(bottleneck_name(findings->headline.bottleneck), cases[i].bottleneck);
        assert_string_equal(findings->healthy, "");
        test_release();
    }
}

/* The same job with four loader workers is faster by 27.4 ms per step (medians). */
TEST(the_gain_of_loading_is_that_of_the_pair)
{
    const double measured_ms = 27.4;
    struct found found = judge("v100_resnet50_workers0");
    const struct finding *loading = found_find(&found, "data_loading");
    const struct idle *idle = &found.summary.idle;
    double step_ms =
        (double)(idle->end_ns - idle->start_ns) / (double)found.summary.steps.count / 1e6;

    assert_non_null(loading);
    assert_true(fabs(step_ms * (1 - 1 / loading->predicted_gain) - measured_ms) <=
                0.2 * measured_ms);
}

/* Replayed unchanged, each takes as long as it took: within 2%. */
TEST(a_replay_gives_back_the_trace)
{
    const cJSON *wanted;

    cJSON_ArrayForEach(wanted, expected)
    {
        struct analysed analysed = read_trace(wanted->string);
        struct summary summary = summary_of(analysed.arena, analysed.trace);
        double recorded_ns = (double)(summary.graph.end_ns - summary.graph.start_ns);
        double first_ns = replay(analysed.arena, &summary.graph, NULL, 0, NULL).first_ns;
        assert_true(fabs(first_ns / recorded_ns - 1) <= 0.02);
        test_release();
    }
}

/* The work behind two waits, and what the others cost: both are said, each with its time. */
TEST(two_readings_are_both_said)
{
    struct found found = judge("a100_sam_masks");
    const struct finding *wait = found_find(&found, "host_sync");

    assert_non_null(wait);
    assert_non_null(strstr(wait->evidence, "after 2 of these waits it works for 87"));
    assert_string_equal(found.findings.items[0].id, "host_work");
    assert_null(strstr(wait->title, "every step"));
}

/* The first work of the step comes 269 ms after it began: nearly all of that is in one function. */
TEST(the_longest_gap_names_its_line)
{
    struct analysed analysed = read_trace("mi300_timesformer");
    struct summary summary = summary_of(analysed.arena, analysed.trace);
    char text[384];
    struct idle_gap first = { .start_ns = 0 };
    struct call_place place;

    first.start_ns = summary.idle.start_ns;
    first.end_ns = summary.timeline.work[0].event->start_ns;
    first.time.idle_ns = first.end_ns - first.start_ns;
    assert_true(first.time.idle_ns > 268000000);
    place = finding_place_of_gap(analysed.arena, &summary, &first);
    call_place_text(text, sizeof text, &place);
    assert_string_equal(text,
                        ".../model/adapters/pipeline/model.py:40 in run_on_input, __call__()");
    assert_true(place.share > 0.95);
}

/* By the names of their kernels: BERT and four other transformers, and no ResNet or perceptron.
 * None of them trains. */
TEST(transformers_are_known_and_their_kernels_classed)
{
    static const char *const transformers[] = { "a100_sam_masks", "h100_bert_small",
                                                "mi300_flux_capture", "mi300_qwen30b_decode",
                                                "mi300_timesformer" };
    const cJSON *wanted;

    cJSON_ArrayForEach(wanted, expected)
    {
        struct found found = judge(wanted->string);
        const struct mix *mix = &found.summary.mix;
        int64_t sum = 0;
        bool is_transformer = false;
        for (size_t i = 0; i < ARRAY_SIZE(transformers); i++)
            is_transformer = is_transformer || strcmp(wanted->string, transformers[i]) == 0;
        if (mix->is_transformer != is_transformer || (is_transformer && mix->trains))
            fail_msg("%s: %d, trains %d", wanted->string, mix->is_transformer, mix->trains);
        for (int i = 0; i < MIX_COUNT; i++) sum += mix->ns[i];
        assert_int_equal(sum, mix->all_ns);
        if (is_transformer && !(mix->ns[CLASS_OTHER] <= 0.15 * (double)mix->all_ns))
            fail_msg("%s: %.3g of the work has no class", wanted->string,
                     (double)mix->ns[CLASS_OTHER] / (double)mix->all_ns);
        test_release();
    }
}

static cJSON *load_expected(void)
{
    char path[4096], *text = calloc(1, EXPECTED_MAX);
    cJSON *root = NULL;
    FILE *file;

    snprintf(path, sizeof path, "%s/expected.json", folder);
    file = fopen(path, "r");
    if (file != NULL && text != NULL && fread(text, 1, EXPECTED_MAX - 1, file) > 0)
        root = cJSON_Parse(text);
    if (file != NULL)
        fclose(file);
    free(text);
    return root;
}

int main(int argc, char **argv)
{
    const char *named = getenv("CHOKEPOINT_TRACES");
    int failed;

    snprintf(folder, sizeof folder, "%s", named != NULL ? named : DEFAULT_TRACES);
    expected = load_expected();
    if (expected == NULL) {
        printf("skipped: %s/expected.json cannot be read; CHOKEPOINT_TRACES names the folder\n",
               folder);
        return SKIPPED;
    }
    failed = tests_run(argc, argv);
    cJSON_Delete(expected);
    return failed;
}
