/* The cost, the gain and the evidence of findings, and their order. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

#include <math.h>

TEST(the_first_finding_is_the_one_that_costs_most)
{
    static const struct {
        const char *id;
        struct made_loop loop;
    } firsts[] = {
        { "host_sync", FIELDS(BUSY, .loading = 800, .wait_every = 1) },
        { "data_loading", FIELDS(BUSY, .loading = 1500, .wait_every = 1) },
        /* A wait amid the step puts off a load; one in every fifth step puts off one load of
         * five, where all are too long. */
        { "host_sync", FIELDS(BUSY, .loading = 600, .wait_amid = 1, .optimizer_launches = 1,
                              .optimizer_kernel = 100) },
        { "data_loading",
          FIELDS(.steps = 10, .loading = 600, .launches = 20, .call = 2, .kernel = 20,
                 .wait_amid = 5, .optimizer_launches = 1, .optimizer_kernel = 100) },
        { "data_loading", FIELDS(BUSY, .loading = 1500, .wait_amid = 1, .optimizer_launches = 1,
                                 .optimizer_kernel = 100) },
        { "host_sync", FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4,
                              .kernel = 5, .wait_launches = 2) },
        { "launch_bound",
          FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5) },
        { "small_kernels", FIELDS(.steps = 10, .launches = 64, .passes = 16, .operator_time = 2,
                                  .call = 8, .kernel = 5) },
        { "activation_memory",
          FIELDS(BUSY, .loading = 1500, .allocated_kib = 600000, .peak_kib = 980000) },
        { "memory_growth", FIELDS(BUSY, .loading = 1500, .allocated_kib = 1000, .growth_kib = 10) },
        { "data_loading",
          FIELDS(BUSY, .loading = 1500, .allocated_kib = 500000, .reserved_kib = 610000) },
        { "device_bound", FIELDS(BUSY) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
        struct found found = found_judge(&firsts[i].loop);
        assert_true(found.findings.count > 0);
        assert_string_equal(found.findings.items[0].id, firsts[i].id);
    }
}

/* Both loops cost 1000 us of device work in every step. */
TEST(a_wait_costs_the_shorter_of_host_and_device)
{
    struct made_loop loop = { BUSY, .loading = 600, .wait_every = 1 };
    struct found found = found_judge(&loop);
    const struct finding *finding = found_find(&found, "host_sync");

    /* Loading, and 2 us each of a call and of the wait's end. */
    assert_non_null(finding);
    assert_true(fabs(finding->lost_ns_per_step - 604e3) <= 3e3);
    assert_true(fabs(finding->predicted_gain - 1604.0 / 1000) <= 0.01);
    assert_int_equal(finding->severity, SEVERITY_MAJOR);
}

/* Usual is a pause of 20 us before each launch, so up to 100 us are; but 50 us are never long. Less
 * launching hides most of such a pause, so it is no cost of its own. */
TEST(a_pause_is_five_times_as_long_as_usual)
{
    static const struct made_loop longer[] = {
        { .steps = 10, .launches = 20, .operator_time = 20, .call = 4, .kernel = 5, .pause = 90 },
        { .steps = 10, .launches = 20, .operator_time = 2, .call = 4, .kernel = 5, .pause = 60 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(longer); i++) {
        struct made_loop usual = longer[i];
        struct found found = found_judge(&longer[i]);
        assert_non_null(found_find(&found, "host_work"));
        usual.pause -= 15;
        found = found_judge(&usual);
        assert_null(found_find(&found, "host_work"));
    }
}

/* The optimizer is launched after the wait, so the device is at work when the next load begins: 500
 * us of the 600 us are exposed, in nine of ten steps, and 4 us each of calls and of the wait's
 * end. */
TEST(a_wait_amid_the_step_costs_the_load_that_it_put_off)
{
    const struct made_loop every_step = { BUSY, .loading = 600, .wait_amid = 1,
                                          .optimizer_launches = 1, .optimizer_kernel = 100 };
    struct found found = found_judge(&every_step);
    const struct finding *finding = found_find(&found, "host_sync");

    assert_non_null(finding);
    assert_true(fabs(1104 * (finding->predicted_gain - 1) - 508) <= 3);
    assert_null(found_own(&found, "data_loading"));
}

/* Loading and the device's work take turns. Whose fault that is comes first; but the other's fix
 * would gain the same, so it is named, too, after what has time of its own. */
TEST(time_that_two_fixes_would_save_names_both)
{
    static const struct {
        struct made_loop loop;
        const char *first, *shared;
        double lost_us;
    } both[] = {
        { FIELDS(BUSY, .loading = 800, .wait_every = 1), "host_sync", "data_loading", 800 },
        { FIELDS(BUSY, .loading = 1500, .wait_every = 1), "data_loading", "host_sync", 1000 },
    };
    const struct made_loop little = { BUSY, .loading = 60, .wait_every = 1 };

    for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
        struct found found = found_judge(&both[i].loop);
        const struct finding *finding = found_find(&found, both[i].shared);
        assert_string_equal(found.findings.items[0].id, both[i].first);
        assert_false(found.findings.items[0].shares_time);
        assert_non_null(finding);
        assert_true(finding->shares_time);
        assert_int_equal(finding->severity, SEVERITY_MINOR);
        assert_true(fabs(finding->lost_ns_per_step / 1000 - both[i].lost_us) <= 50);
        assert_non_null(strstr(finding->evidence, "this overlaps with another finding"));
    }
    assert_true(found_lost_us(&little, "host_sync") > 0);
    assert_true(found_lost_us(&little, "data_loading") == 0);
}

TEST(waiting_for_a_core_takes_the_time_of_no_other_finding)
{
    const struct made_loop crowded = { BUSY, .loading = 1500,
                                       .about = "\"chokepoint\":{\"core_wait_share\":0.7}" };
    struct found found = found_judge(&crowded);
    const struct finding *loading = found_find(&found, "data_loading");

    assert_non_null(found_find(&found, "lost_core"));
    assert_non_null(loading);
    assert_false(loading->shares_time);
    assert_true(loading->severity > SEVERITY_MINOR);
}

/* The wait for the first of three numbers is the long one, and loading follows the third. A pause
 * after a wait amid the step is put off likewise. Where the wait is short, as its step is launched
 * slowly, it covers little. */
TEST(a_wait_covers_as_much_as_it_takes)
{
    const struct made_loop three = { BUSY, .loading = 600, .wait_every = 1, .reads = 3 };
    const struct made_loop amid = { BUSY, .pause = 600, .wait_amid = 1, .optimizer_launches = 1,
                                    .optimizer_kernel = 100 };
    const struct made_loop slow = { .steps = 10,
                                    .loading = 600,
                                    .launches = 50,
                                    .operator_time = 14,
                                    .call = 4,
                                    .kernel = 20,
                                    .wait_every = 1 };

    assert_true(fabs(found_lost_us(&three, "host_sync") - 610) <= 20);
    assert_true(found_lost_us(&three, "data_loading") == 0);
    assert_true(fabs(found_lost_us(&amid, "host_sync") - 454) <= 20);
    assert_true(found_lost_us(&amid, "host_work") == 0);
    assert_true(found_lost_us(&slow, "host_sync") <= 220);
    assert_true(found_lost_us(&slow, "data_loading") >= 400);
}

/* The host takes 800 us, and the device 600 while the host already loads the next batch: the 200 us
 * that it is idle are lost where they are, in the pause, and no second time to loading. Where 100
 * us of the loading are idle too, its fix saves all that the host takes beyond the device's time,
 * and the pause shares that. Not so where the device sets the pace. */
TEST(idle_time_is_lost_to_one_cause_and_saved_by_each)
{
    struct made_loop loop = {
        .steps = 20, .loading = 400, .pause = 300, .launches = 50, .call = 2, .kernel = 12
    };

    assert_true(fabs(found_lost_us(&loop, "host_work") - 200) <= 15);
    assert_true(fabs(found_saved_us(&loop, "host_work") - 200) <= 15);
    assert_true(found_lost_us(&loop, "data_loading") == 0);
    loop.loading = 700;
    assert_true(fabs(found_saved_us(&loop, "data_loading") - 500) <= 15);
    assert_true(found_lost_us(&loop, "host_work") == 0);
    loop.loading = 400;
    loop.kernel = 20;
    assert_true(found_lost_us(&loop, "host_work") == 0 &&
                found_lost_us(&loop, "data_loading") == 0);
}

/* Copies fill 2000 of 2060 us: that is the headline, and no copy is called a kernel. Only the
 * kernel's 60 us could hide some of them, so nothing is said to be lost. */
TEST(copies_that_fill_the_device_are_the_headline)
{
    const struct made_loop loop = { .steps = 10,
                                    .launches = 1,
                                    .call = 2,
                                    .kernel = 60,
                                    .copies = 2,
                                    .copy = 1000,
                                    .copy_call = 2,
                                    .copy_bytes = 1 << 20 };
    struct found found = found_judge(&loop);
    const struct finding *first = &found.findings.items[0];

    assert_string_equal(first->id, "exposed_copy");
    assert_string_equal(bottleneck_name(found.findings.headline.bottleneck), "copies");
    assert_non_null(strstr(found.findings.headline.text,
                           "Copies do not overlap with compute: 97% of the step, with too little"));
    assert_int_equal(first->severity, SEVERITY_INFORMATION);
    assert_non_null(strstr(first->advice, "copy less"));
    assert_null(found_find(&found, "device_bound"));
    assert_string_equal(found.findings.healthy, "");
}

/* Both directions at once: 20 steps of 1000 us, each way busy throughout, and a kernel of 10. */
TEST(copies_in_both_directions_at_once_are_one_time)
{
    struct found found;
    const struct finding *finding;

    made_begin();
    for (int i = 0; i < 20; i++) {
        int start = 1000 * i;
        made_step(i, start, start + 1000);
        made_add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, start + 5, start + 985,
                      start + 1);
        made_add_work("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 8, start + 5, start + 985,
                      start + 2);
        made_add_work("kernel", "work", 7, start + 986, start + 996, start + 3);
    }
    found = found_judge_trace(made_analyse());
    finding = &found.findings.items[0];
    assert_string_equal(finding->id, "exposed_copy");
    assert_int_equal(finding->severity, SEVERITY_INFORMATION);
    assert_non_null(strstr(finding->evidence, "take 980 us"));
    assert_string_equal(found.findings.healthy, "");
}

/* Kernels are as short as their launches, and the device runs dry in a pause of 280 us that a
 * quicker host would hide: most idle time lies there, but fewer launches gain more. */
TEST(a_pause_that_quicker_launches_would_hide_comes_after_them)
{
    const struct made_loop loop = {
        .steps = 20, .pause = 280, .launches = 60, .operator_time = 6, .call = 4, .kernel = 9
    };
    struct found found = found_judge(&loop);
    const struct finding *launching = found_find(&found, "launch_bound"),
                         *pause = found_find(&found, "host_work");

    assert_ptr_equal(launching, &found.findings.items[0]);
    assert_non_null(pause);
    assert_true(pause->shares_time && !launching->shares_time);
    assert_true(pause->lost_ns_per_step < launching->lost_ns_per_step);
}

/* 40 kernels of 50 us with a wait after each, and one of 1500 whose wait the host follows up with
 * 1400 us of its own: that work is named, and no wait costs it, as nothing says that it comes back.
 * Nothing marks steps, so no step is named. */
TEST(few_waits_that_have_most_of_the_time_are_named)
{
    struct found found;
    const struct finding *wait, *work;
    int now = 0;

    made_begin();
    for (int i = 0; i <= 41; i++) {
        int length = i == 40 ? 1500 : 50;
        made_add_work("kernel", "work", 7, now + 3, now + 8, now + 1);
        made_add_work("kernel", "work", 7, now + 8, now + 13, now + 2);
        made_add_work("kernel", "work", 7, now + 13, now + 13 + length, now + 3);
        made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, now + 4, now + 15 + length, 0);
        now += length + (i == 40 ? 1413 : 25);
    }
    found = found_judge_trace(made_analyse());
    wait = found_find(&found, "host_sync");
    work = found_find(&found, "host_work");
    assert_non_null(wait);
    assert_non_null(work);
    assert_string_equal(wait->title, "The host waits for the device");
    assert_non_null(strstr(wait->evidence, "after 1 of these waits it works for 1.40 ms in all"));
    assert_non_null(strstr(work->evidence, "idle for 1.40 ms"));
    assert_true(!work->shares_time && work->lost_ns_per_step > 1390e3);
    assert_true(wait->lost_ns_per_step < 1400e3);
}

/* Each step pins a batch and lets it go, which waits for the device. */
TEST(pinned_memory_in_the_loop_is_told_as_such)
{
    for (int pinned = 0; pinned < 2; pinned++) {
        struct found found;
        made_begin();
        for (int i = 0; i < 12; i++) {
            int at = 4000 * i;
            made_step(i, at, at + 4000);
            made_add("cuda_runtime", pinned ? "cudaHostAlloc" : "cudaMalloc", 100, 100, at + 10,
                     at + 1010, 0);
            made_add_work("kernel", "gemm", 7, at + 1040, at + 3000, at + 1020);
            made_add("cuda_runtime", pinned ? "cudaFreeHost" : "cudaFree", 100, 100, at + 1100,
                     at + 3100, 0);
        }
        found = found_judge_trace(made_analyse());
        assert_non_null(found_find(&found, "allocation_churn"));
        assert_int_equal(
            strstr(found_find(&found, "allocation_churn")->title, "Pinned memory") != NULL, pinned);
        assert_int_equal(
            strstr(found_find(&found, "allocation_churn")->advice, "pin_memory=True") != NULL,
            pinned);
    }
}

/* PyTorch has a caching allocator: who releases memory in each step has run out of it, or emptied
 * the cache. Our own traces have none of its operators. */
TEST(releases_under_a_caching_allocator_are_told_why)
{
    struct made_loop loop = { BUSY, .operator_time = 2, .allocations = 30, .allocation = 100 };
    struct found torch = found_judge(&loop), ours;

    loop.operator_time = 0;
    ours = found_judge(&loop);
    assert_non_null(strstr(found_find(&torch, "allocation_churn")->advice, "num_alloc_retries"));
    assert_non_null(strstr(found_find(&ours, "allocation_churn")->advice, "use a caching"));
}

/* Each launch is waited for, and loading at the borders of epochs takes long: host_sync has all of
 * the idle time, so the border shares it. */
TEST(idle_time_is_not_lost_twice)
{
    const struct made_loop loop = { .steps = 40,
                                    .launches = 20,
                                    .operator_time = 20,
                                    .call = 2,
                                    .kernel = 20,
                                    .launches_block = true,
                                    .loading = 10,
                                    .epoch = 10,
                                    .slow_every = 10,
                                    .slow_loading = 5000 };
    struct found found = found_judge(&loop);
    double idle_ns = (double)found.summary.idle.all.idle_ns / 40, lost_ns = 0;

    for (int64_t i = 0; i < found.findings.count; i++) {
        const struct finding *finding = &found.findings.items[i];
        if (finding->severity > SEVERITY_INFORMATION && !finding->shares_time &&
            !finding->gain_is_most && finding->once_fixed == NULL)
            lost_ns += finding->lost_ns_per_step;
    }
    assert_non_null(found_find(&found, "host_sync"));
    assert_non_null(found_find(&found, "epoch_gap"));
    assert_true(lost_ns > 0 && lost_ns <= 1.02 * idle_ns);
}

/* An optimizer of 5% is not 10% less than nothing. */
TEST(no_figure_that_is_judged_is_below_zero)
{
    struct made_loop loop = { BUSY, .optimizer_launches = 1, .optimizer_kernel = 50 };
    struct found found = found_judge(&loop);

    for (int64_t i = 0; i < found.findings.threshold_count; i++)
        assert_false(found.findings.thresholds[i].judged.value < 0);
}

/* Per step a kernel of 100 us and one that its call launches in 5 us but that begins 2 ms later: it
 * waits for work that the recording does not have, and no graph launches it earlier. */
TEST(work_that_begins_long_after_its_launch_is_not_launched_late)
{
    struct found found;
    const struct finding *finding;

    made_begin();
    for (int i = 0; i < 10; i++) {
        int start = 2400 * i;
        made_step(i, start, start + 2400);
        made_add_work("kernel", "work", 7, start + 10, start + 110, start + 2);
        for (int j = 0; j < 12; j++)
            made_add_work("kernel", "work", 7, start + 2200 + 10 * j, start + 2210 + 10 * j,
                          start + 115 + 5 * j);
    }
    found = found_judge_trace(made_analyse());
    finding = &found.findings.items[0];
    assert_string_equal(finding->id, "device_wait");
    assert_true(fabs(finding->lost_ns_per_step / 1000 - 2084) <= 20);
    assert_null(found_find(&found, "launch_bound"));
}

/* The step logs for 500 us, which no wait causes. */
TEST(waits_for_launches_do_not_cost_what_the_loop_does_otherwise)
{
    struct made_loop loop = {
        .steps = 10, .launches = 50, .call = 4, .kernel = 20, .wait_launches = 1
    };
    double without = found_lost_us(&loop, "host_sync");

    loop.logging = 500;
    assert_true(without > 0);
    assert_true(fabs(found_lost_us(&loop, "host_sync") - without) <= 10);
}

/* Workers need cores: loading that takes one of two cores cannot be faster than it is. */
TEST(loading_costs_what_workers_on_the_other_cores_would_save)
{
    static const struct {
        const char *about;
        double lost_us;
    } devices[] = {
        { NULL, 1500 }, /* nothing is known of the host: all of it */
        { UNITS("0"), 1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        struct made_loop loop = { BUSY, .loading = 1500, .wait_every = 1,
                                  .about = devices[i].about };
        struct found found = found_judge(&loop);
        const struct finding *finding = found_find(&found, "data_loading");
        assert_non_null(finding);
        assert_true(fabs(finding->lost_ns_per_step / 1e3 - devices[i].lost_us) <= 10);
    }
}

TEST(lost_time_is_that_of_the_untraced_step)
{
    struct made_loop loop = { BUSY, .loading = 600, .wait_every = 1 };
    struct found found;
    const struct finding *finding;

    loop.about = UNITS("0") ",\"chokepoint\":{\"schema\":1,\"steps\":10,\"windows\":3,"
                            "\"step_time_us\":802,\"traced_step_time_us\":1604}";
    found = found_judge(&loop);
    finding = found_find(&found, "host_sync");
    assert_non_null(finding);
    assert_true(fabs(finding->lost_ns_per_step - 302e3) <= 3e3);
    assert_true(fabs(finding->predicted_gain - 1.604) <= 0.01);
    assert_int_equal(finding->confidence, CONFIDENCE_MEDIUM); /* tracing doubled the step */
}

/* Other programs took some of the cores, so time is not lost by the step alone: the gain is no
 * promise. */
TEST(other_programs_lower_the_confidence)
{
    static const struct {
        const char *about;
        enum confidence confidence;
    } disturbed[] = {
#define ABOUT(others)                                                                              \
    UNITS("0")                                                                                     \
    ",\"chokepoint\":{\"schema\":1,\"steps\":10,\"windows\":3,"                                    \
    "\"step_time_us\":1600,\"traced_step_time_us\":1604" others "}"
        { ABOUT(""), CONFIDENCE_HIGH },
        { ABOUT(",\"other_programs_cores\":0.02"), CONFIDENCE_HIGH },
        { ABOUT(",\"other_programs_cores\":1.5"), CONFIDENCE_MEDIUM },
    };

    for (size_t i = 0; i < ARRAY_SIZE(disturbed); i++) {
        struct made_loop loop = { BUSY, .loading = 600, .wait_every = 1,
                                  .about = disturbed[i].about };
        struct found found = found_judge(&loop);
        assert_int_equal(found_find(&found, "host_sync")->confidence, disturbed[i].confidence);
    }
}

/* Sixteen passes over pieces, and one over all: the same work. */
TEST(small_kernels_gain_what_one_pass_would)
{
    const struct made_loop whole = { .steps = 10,
                                     .passes = 1,
                                     .launches = 4,
                                     .call = 26,
                                     .kernel = 20,
                                     .kernel_name = "sgemm",
                                     .flops = { 64, 256 } };
    const struct made_loop pieces = { .steps = 10,
                                      .passes = 16,
                                      .launches = 64,
                                      .call = 26,
                                      .kernel = 20,
                                      .kernel_name = "sgemm",
                                      .flops = { 4, 16 } };

    for (int optimizer = 0; optimizer <= 60; optimizer += 30) { /* kernels, which stay */
        struct made_loop loops[] = { pieces, whole };
        struct found before, after;
        const struct finding *finding;
        double gain;
        for (int i = 0; i < 2; i++) {
            loops[i].optimizer_launches = optimizer;
            loops[i].optimizer_kernel = 30;
        }
        before = found_judge(&loops[0]);
        after = found_judge(&loops[1]);
        finding = found_find(&before, "small_kernels");
        assert_non_null(finding);
        assert_null(found_find(&after, "small_kernels"));
        assert_false(finding->gain_is_least);
        gain = (double)before.summary.timeline.all.span_ns /
               (double)after.summary.timeline.all.span_ns;
        assert_true(fabs(finding->predicted_gain / gain - 1) <= 0.05);
    }
}

/* Work that hardly differs does not tell what of it is fixed. */
TEST(without_unequal_work_a_gain_is_a_bound)
{
    const struct made_loop loop = { .steps = 10,
                                    .passes = 16,
                                    .launches = 64,
                                    .call = 34,
                                    .kernel = 20,
                                    .kernel_name = "sgemm",
                                    .flops = { 12, 16 } };
    struct found found = found_judge(&loop);
    const struct finding *finding = found_find(&found, "small_kernels");

    assert_non_null(finding);
    assert_true(finding->gain_is_least);
}

/* Four rows leave three quarters of a tile empty, which the whole batch fills. Where two sides are
 * short, the batch has more products, not larger ones. */
TEST(products_of_few_rows_gain_by_filling_tiles)
{
    static const char *const names[] = { "gemm_bf16_nn_16x64x64", "gemm_bf16_nn_4x64x64",
                                         "gemm_bf16_nt_4x4x64", "gemm_f32_nn_4x64x64" };
    double gains[ARRAY_SIZE(names)];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct made_loop loop = { .steps = 10,
                                        .passes = 16,
                                        .launches = 64,
                                        .call = 26,
                                        .kernel = 20,
                                        .kernel_name = names[i],
                                        .flops = { 4, 16 } };
        struct found found = found_judge(&loop);
        const struct finding *finding = found_find(&found, "small_kernels");
        assert_non_null(finding);
        assert_true(finding->gain_is_least == (i == 1));
        gains[i] = finding->predicted_gain;
    }
    assert_true(gains[1] > 1.05 * gains[0]);
    for (size_t i = 2; i < ARRAY_SIZE(names); i++) assert_true(gains[i] == gains[0]);
}

/* A mean of steps that differ is of no step. */
TEST(of_uneven_steps_no_gain_is_sure)
{
    static const struct {
        int slow_kernel;
        enum confidence confidence;
    } loops[] = { { 0, CONFIDENCE_HIGH }, { 65, CONFIDENCE_HIGH }, { 150, CONFIDENCE_MEDIUM } };

    for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
        const struct made_loop made = {
            LONG_BUSY,    .steps = 20,   .slow_every = 4,      .slow_kernel = loops[i].slow_kernel,
            .samples = 8, .tokens = 300, .padded_tokens = 212, .about = ABOUT("")
        };
        struct found found = found_judge(&made);
        const struct finding *finding = found_find(&found, "padding_waste");
        assert_non_null(finding);
        assert_int_equal(finding->confidence, loops[i].confidence);
        assert_true((found_find(&found, "uneven_steps") != NULL) == (i > 0));
    }
}

/* 27 blocks on 108 SMs: three quarters of the time, if each block's work could be spread. */
TEST(empty_sms_cost_their_share_at_most)
{
    struct made_loop loop = { BUSY, .grid = 27 };
    struct found found = found_judge(&loop);
    const struct finding *finding = found_find(&found, "small_grid");

    assert_non_null(finding);
    assert_true(finding->gain_is_most);
    assert_true(fabs(finding->lost_ns_per_step - 750e3) <= 5e3);
    assert_true(fabs(finding->predicted_gain - 4) <= 0.1);
    assert_int_equal(finding->severity, SEVERITY_CRITICAL);
}

/* A bound counts time that an estimate explains, too. */
TEST(a_bounded_cost_comes_after_an_estimated_one)
{
    struct made_loop loop = { BUSY, .grid = 1, .kernel_name = MATRIX_KERNEL };
    struct found found = found_judge(&loop);

    assert_true(found.findings.count >= 2);
    assert_string_equal(found.findings.items[0].id, "fp32_matmul");
    assert_string_equal(found.findings.items[1].id, "small_grid");
    assert_true(found.findings.items[0].lost_ns_per_step <
                found.findings.items[1].lost_ns_per_step);
}

TEST(a_healthy_trace_says_why)
{
    struct made_loop busy = { BUSY }, waiting = { BUSY, .loading = 800, .wait_every = 1 };
    struct made_loop blind = { .steps = 10, .loading = 100 };
    struct found found = found_judge(&busy);

    assert_non_null(strstr(found.findings.healthy, "busy for 100%"));
    found = found_judge(&waiting);
    assert_string_equal(found.findings.healthy, "");
    found = found_judge(&blind);
    assert_string_equal(found.findings.healthy, "");
}

/* All kernels do one element-wise operation each; whether they can be fused is not in the trace. */
TEST(a_guess_is_never_alarming)
{
    struct made_loop loop = { BUSY, .kernel_name = "vectorized_elementwise_kernel" };
    struct found found = found_judge(&loop);
    const struct finding *finding = found_find(&found, "unfused_ops");

    assert_int_equal(finding->confidence, CONFIDENCE_LOW);
    assert_true(finding->predicted_gain > 1.7);
    assert_int_equal(finding->severity, SEVERITY_MINOR);
}

/* A trace without calls cannot say why the device is idle, and no rule guesses. */
TEST(what_the_trace_lacks_is_not_guessed)
{
    struct made_loop loop = { BUSY, .loading = 1500, .wait_every = 1, .no_calls = true };
    struct found found = found_judge(&loop);

    for (int64_t i = 0; i < found.findings.count; i++)
        assert_int_equal(found.findings.items[i].severity, SEVERITY_INFORMATION);
    assert_non_null(strstr(found_find(&found, "insufficient_data")->evidence, "calls are missing"));
    assert_non_null(
        strstr(found_find(&found, "insufficient_data")->advice, "ProfilerActivity.CPU"));
    assert_non_null(
        strstr(found_find(&found, "low_utilisation")->evidence, "does not show what the host did"));
    assert_non_null(strstr(found_find(&found, "low_utilisation")->evidence, "% of a "));
}

static const struct judged *judged(const struct found *found, const char *id)
{
    for (int64_t i = 0; i < found->findings.threshold_count; i++)
        if (strcmp(found->findings.thresholds[i].id, id) == 0)
            return &found->findings.thresholds[i].judged;
    return NULL;
}

/* 480 us beside 500 of backward, whether they are worth a finding or not; without the phase, of the
 * step. */
TEST(communication_is_judged_as_a_share_of_backward)
{
    static const struct {
        struct made_loop loop;
        double share, good, bad;
    } shares[] = {
        { FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560), 0.49, 0.15, 0.3 },
        { FIELDS(BACKWARD, .messages = 40, .message = 1, .message_kib = 100), 0.074, 0.15, 0.3 },
        { FIELDS(BUSY, .communication = 250), 0.2, 0.1, 0.15 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        struct found found = found_judge(&shares[i].loop);
        const struct judged *of = judged(&found, "exposed_communication");
        assert_non_null(of);
        assert_float_equal(of->value, shares[i].share, 0.01);
        assert_float_equal(of->good, shares[i].good, 0);
        assert_float_equal(of->bad, shares[i].bad, 0);
    }
}

/* Without marks nothing is known to come again. */
TEST(without_steps_nothing_is_said_of_a_step)
{
    for (int no_steps = 0; no_steps < 2; no_steps++) {
        struct made_loop loop = { BUSY, .operator_time = 120, .communication = 800,
                                  .no_steps = no_steps != 0 };
        struct found found = found_judge(&loop);
        const struct finding *finding = found_find(&found, "exposed_communication");
        assert_non_null(finding);
        assert_non_null(found_find(&found, "launch_bound"));
        assert_int_equal(finding->of_whole, no_steps);
        assert_non_null(strstr(finding->evidence, no_steps ? " of the trace's " : " ms step; "));
        for (int64_t i = 0; i < found.findings.count; i++)
            assert_true(!no_steps ||
                        (strstr(found.findings.items[i].evidence, "per step") == NULL &&
                         strstr(found.findings.items[i].evidence, " ms step") == NULL));
    }
}

/* PyTorch marks the optimizer's calls even where nobody calls profiler.step(). */
TEST(the_optimizer_marks_steps_as_well)
{
    struct found found;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 6; i++) {
        int start = 1000 * i;
        made_add_work("kernel", "gemm", 7, start + 50, start + 150, start + 40);
        made_add_work("kernel", "adam", 7, start + 900, start + 920, start + 890);
        made_add("user_annotation", "Optimizer.step#Adam.step", 100, 100, start + 850, start + 950,
                 0);
    }
    found = found_judge_trace(made_analyse());
    assert_non_null(strstr(found_find(&found, "insufficient_data")->evidence,
                           "the optimizer's calls count as steps"));
    for (int64_t i = 0; i < found.findings.count; i++)
        assert_false(found.findings.items[i].of_whole);
}

/* Most of the work of a busy device is missing, which makes it look idle. */
TEST(a_device_whose_work_is_missing_is_not_called_idle)
{
    struct made_loop loop = { BUSY, .loading = 100, .wait_every = 1, .lost = 8 };
    struct found found = found_judge(&loop);
    int64_t costs = 0;

    for (int64_t i = 0; i < found.findings.count; i++) {
        const struct finding *finding = &found.findings.items[i];
        if (finding->severity == SEVERITY_INFORMATION)
            continue;
        assert_int_equal(finding->severity, SEVERITY_MINOR);
        assert_int_equal(finding->confidence, CONFIDENCE_LOW);
        costs++;
    }
    assert_true(costs > 0);
    assert_null(found_find(&found, "low_utilisation"));
    assert_non_null(strstr(found_find(&found, "insufficient_data")->evidence,
                           "the work of 160 of 200 launches is missing"));
}

/* One call that blocks makes the mean 80 us. */
TEST(the_call_of_a_launch_takes_what_most_of_them_take)
{
    struct made_loop loop = {
        .steps = 1, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5, .first_call = 3900
    };
    struct found found = found_judge(&loop);

    assert_non_null(strstr(found_find(&found, "launch_bound")->evidence,
                           "50 launches per step, whose call takes 4 us"));
}

/* Twelve graphs per step, of so many kernels of 2 us each, and 50 us of an operator before each
 * launch. */
TEST(graphs_are_not_to_be_captured_as_graphs)
{
    for (int kernels = 1; kernels <= 3; kernels++) {
        struct found found;
        int correlation = 0;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 36; i++) {
            int start = 100 * i;
            made_add("cpu_op", "aten::op", 100, 100, start, start + 50, 0);
            made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, start + 50, start + 60,
                     ++correlation);
            for (int kernel = 0; kernel < kernels; kernel++)
                made_add("kernel", "work", 0, 7, start + 62 + 2 * kernel, start + 64 + 2 * kernel,
                         correlation);
        }
        found = found_judge_trace(made_analyse());
        assert_string_equal(found.findings.items[0].id, "launch_bound");
        assert_true((strstr(found.findings.items[0].advice, "outside of graphs") != NULL) ==
                    (kernels > 1));
    }
}

/* The work that took most is named, the longest first; the rest is recorded nowhere. */
TEST(other_work_of_the_host_is_named)
{
    struct found found;
    const char *evidence;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 4; i++) {
        int start = 10000 * i;
        made_step(i, start, start + 10000);
        made_add("user_annotation", "augment", 100, 100, start, start + 4000, 0);
        made_add("cpu_op", "aten::randn", 100, 100, start + 1000, start + 4000, 0);
        made_add("cpu_op", "aten::normal_", 100, 100, start + 1000, start + 3900, 0);
        made_add("cpu_op", "aten::tiny", 100, 100, start + 4100, start + 4200, 0);
        for (int launch = 0; launch < 20; launch++)
            made_add_work("kernel", "work", 7, start + 6001 + 200 * launch,
                          start + 6201 + 200 * launch, start + 6000 + 3 * launch);
    }
    found = found_judge_trace(made_analyse());
    assert_string_equal(found.findings.items[0].id, "host_work");
    evidence = found.findings.items[0].evidence;
    assert_non_null(strstr(evidence, "; 3.00 ms in aten::randn, "));
    assert_non_null(strstr(evidence, " in augment; the trace has no row for 1.9"));
    assert_null(strstr(evidence, "aten::normal_"));
    assert_null(strstr(evidence, "aten::tiny"));
}

/* Twelve steps, in each of which the host waits for 20 kernels of 100 us and then does something
 * else for 20 ms. In two of them work begins before its launch, in two others it ends after its
 * wait, by as much: no shift of the clock mends both. */
static struct found judge_contradicted(int error_us)
{
    made_begin();
    for (int i = 0; i < 12; i++) {
        int start = 25000 * i, off = i % 6 == 2 ? -error_us : i % 6 == 4 ? error_us : 0;
        made_step(i, start, start + 25000);
        for (int j = 0; j < 20; j++)
            made_add_work("kernel", "work", 7, start + 20105 + 100 * j + off,
                          start + 20205 + 100 * j + off, start + 20100 + 3 * j);
        made_add("cuda_runtime", "cudaDeviceSynchronize", 100, 100, start + 20200, start + 22107,
                 0);
    }
    return found_judge_trace(made_analyse());
}

/* 20 us leave 20 ms as they are, 15 ms do not. */
TEST(a_contradiction_is_weighed_against_what_is_claimed)
{
    struct found little = judge_contradicted(20), much = judge_contradicted(15000);

    assert_string_equal(little.findings.items[0].id, "host_work");
    assert_true(little.findings.items[0].severity >= SEVERITY_MAJOR);
    assert_true(little.summary.soundness.rows[SOUND_CLOCK].count > 0);
    assert_int_equal(little.summary.soundness.trust, TRUST_WHOLE);
    assert_string_equal(much.findings.items[0].id, "insufficient_data");
    assert_int_equal(much.findings.headline.bottleneck, BOTTLENECK_UNCLEAR);
}

/* Six steps of 100 us: 60 of loading, 25 of an operator, 10 of logging, and 1 KiB more each. */
static struct found judge_host(const char *about)
{
    made_begin_with(about);
    for (int i = 0; i < 6; i++) {
        int start = 100 * i;
        char step[40], memory[100];
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        snprintf(memory, sizeof memory,
                 "\"Device Type\":0,\"Device Id\":-1,\"Bytes\":1024,\"Total Allocated\":%d",
                 1024 * (i + 1));
        made_add("user_annotation", step, 100, 100, start, start + 100, 0);
        made_add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 100, 100, start,
                 start + 60, 0);
        made_add("cpu_op", "aten::mm", 100, 100, start + 60, start + 85, 0);
        made_add_instant("[memory]", start + 80, memory);
        made_add("user_annotation", "log", 100, 100, start + 85, start + 95, 0);
    }
    return found_judge_trace(made_analyse());
}

/* Who trains on the host needs no device to be told what the loop waits for. */
TEST(a_host_that_is_alone_is_judged_by_its_loop)
{
    struct found alone = judge_host("\"schemaVersion\":1"), beside = judge_host(OLD_GPU);

    assert_string_equal(alone.findings.items[0].id, "memory_growth");
    assert_string_equal(alone.findings.items[1].id, "data_loading");
    assert_float_equal(alone.findings.items[1].lost_ns_per_step, 60000, 1e-6);
    assert_true(isnan(alone.findings.items[1].predicted_gain));
    assert_string_equal(alone.findings.items[2].id, "logging_gap");
    assert_float_equal(alone.findings.items[2].lost_ns_per_step, 10000, 1e-6);
    assert_string_equal(alone.findings.items[3].id, "no_device_activity");
    assert_int_equal(alone.findings.count, 4);
    /* With a device that was not recorded, nobody knows what it did meanwhile. */
    assert_int_equal(found_find(&beside, "no_device_activity")->severity, SEVERITY_MAJOR);
    assert_null(found_find(&beside, "data_loading"));
}

/* Ten steps: a kernel of 500 us; then, in a span of that name, a first copy that waits for it and
 * twenty more of 30 us, in which the device works for 1 us each. */
static struct found judge_copies_in(const char *span)
{
    int now = 0, correlation = 0;

    made_begin();
    for (int i = 0; i < 10; i++) {
        int start = now, copies = now + 10;
        made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, now, now + 5, ++correlation);
        made_add("kernel", "kernel", 0, 7, now + 5, now + 505, correlation);
        now = copies;
        for (int j = 0; j <= 20; j++) {
            int end = j == 0 ? start + 520 : now + 30;
            made_add("cuda_runtime", "cudaMemcpy", 100, 100, now, end, ++correlation);
            made_add("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, end - 5, end - 4,
                     correlation);
            now = end;
        }
        made_add("user_annotation", span, 100, 100, copies, now, 0);
        made_step(i, start, now);
    }
    return found_judge_trace(made_analyse());
}

/* The device is idle because the state is being saved, not because the loop waits for a result. */
TEST(waits_within_a_save_are_the_saves)
{
    struct found saved = judge_copies_in("save"), evaluated = judge_copies_in("evaluate");

    assert_string_equal(saved.findings.items[0].id, "save_pause");
    /* 10 us before the first copy, 29 before each of the others, 4 after the last; the copies; and
     * the next launch, which is put off. */
    assert_float_equal(saved.findings.items[0].lost_ns_per_step, (10 + 20 * 29 + 4 + 21 + 5) * 1e3,
                       1e3);
    assert_null(found_find(&saved, "host_sync"));
    assert_null(found_find(&evaluated, "save_pause"));
}

/* A loss that is read later is written later, too: the device's work then hides that as it would
 * hide loading the next batch. */
TEST(a_wait_costs_the_log_and_the_load_after_it)
{
    struct found plain = found_judge(&(struct made_loop){ BUSY, .wait_every = 1, .loading = 200 });
    struct found logs =
        found_judge(&(struct made_loop){ BUSY, .wait_every = 1, .loading = 200, .logging = 300 });
    struct found loads = found_judge(&(struct made_loop){ BUSY, .wait_every = 1, .loading = 500 });
    double wanted = found_find(&plain, "host_sync")->lost_ns_per_step;

    assert_true(fabs(found_find(&logs, "host_sync")->lost_ns_per_step - (wanted + 300e3)) < 1e3);
    assert_true(fabs(found_find(&loads, "host_sync")->lost_ns_per_step - (wanted + 300e3)) < 1e3);
    assert_true(found_find(&logs, "logging_gap")->shares_time);
}

/* A GPU gains time from fused attention, a CPU none. */
TEST(on_a_cpu_fused_attention_is_promised_no_time)
{
    struct made_loop loop = { BUSY, .kernel_name = "softmax_forward_f32", .optimizer_launches = 1,
                              .optimizer_kernel = 500, .about = OLD_GPU };
    struct found gpu = found_judge(&loop), cpu;

    loop.about = UNITS("0");
    cpu = found_judge(&loop);
    assert_true(found_find(&gpu, "naive_attention")->predicted_gain > 1);
    assert_true(isnan(found_find(&cpu, "naive_attention")->predicted_gain));
    assert_true(isnan(found_find(&cpu, "naive_attention")->lost_ns_per_step));
    assert_int_equal(found_find(&cpu, "naive_attention")->severity, SEVERITY_MINOR);
}

TEST(an_empty_trace_is_no_failure)
{
    struct made_loop loop = { .steps = 0, .no_calls = true };
    struct found found = found_judge(&loop);

    assert_string_equal(found.findings.items[0].id, "empty_recording");
    assert_int_equal(found.findings.items[0].severity, SEVERITY_MAJOR);
    assert_int_equal(found.findings.count, 1);
}
