/* The cost of a finding if the loop does several things, which wait for each other. */
#include "harness/desk/diagnosis/findings.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

#define MATRIX .kernel_name = MATRIX_KERNEL
#define CPU_DEVICE                                                                                 \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"CPU device\",\"kind\":\"cpu\",\"hostCores\":2,"    \
    "\"sharesHostCores\":1}]"

static void check_lost(const struct made_loop *loop, const char *id, double us)
{
    struct found found = found_judge(loop);
    const struct finding *finding = found_own(&found, id);
    double lost = finding != NULL ? finding->lost_ns_per_step / 1000 : 0;
    char text[4096];

    found_list(&found, text, sizeof text);
    if (!(fabs(lost - us) <= 20))
        fail_msg("%s costs %.1f us, not %.1f; found:%s", id, lost, us, text);
}

/* --- Waits that have a reason --- */

/* 1000 us of device work, and 300 of loading which a wait puts off. Where the log takes long, the
 * wait in it is the log's: who logs in the background does not wait. Where it takes 30 us, it only
 * reads a number: who reads it later writes the log while the device works, as one does who logs
 * what was read before. */
TEST(a_wait_in_a_slow_log_is_the_logs)
{
    struct made_loop slow = { BUSY, .loading = 300, .logging = 200, .log_waits = true };
    struct made_loop quick = { BUSY, .loading = 300, .logging = 30, .log_waits = true };
    struct made_loop before = { BUSY, .loading = 300, .logging = 200, .wait_every = 1 };

    check_lost(&slow, "logging_gap", 200 + 300);
    check_lost(&slow, "host_sync", 0);
    check_lost(&quick, "host_sync", 300 + 30);
    check_lost(&quick, "logging_gap", 0);
    check_lost(&before, "logging_gap", 0);
    check_lost(&before, "host_sync", 300 + 200);
}

/* Likewise what is put off while memory is released: the calls themselves are idle for 2 x 100
 * us. */
TEST(a_release_of_memory_costs_what_it_puts_off)
{
    struct made_loop loads = { BUSY, .loading = 300, .releases = 2, .allocation = 100 };
    struct made_loop does_not = { BUSY, .releases = 2, .allocation = 100 };

    check_lost(&loads, "allocation_churn", 200 + 300);
    check_lost(&loads, "data_loading", 0);
    check_lost(&does_not, "allocation_churn", 200);
}

/* 3 ms of allocating beside 1 ms of device work, of which 11% is for padding: 3% of the step, and
 * 11% of what is left of it without the allocations. Where they take less than half of the step,
 * they hide nothing. */
TEST(what_a_large_finding_hides_is_named_after_it)
{
#define PADDED .samples = 8, .tokens = 400, .padded_tokens = 112
    const struct made_loop large = { BUSY, PADDED, .allocations = 30, .allocation = 100 };
    const struct made_loop smaller = { BUSY, PADDED, .allocations = 4, .allocation = 100 };
    const struct made_loop none = { BUSY, PADDED };
    const struct made_loop hides_nothing = { BUSY, .allocations = 30, .allocation = 100 };
    const struct finding *padding;
    struct found found;

    found = found_judge(&large);
    padding = found_find(&found, "padding_waste");
    assert_non_null(padding);
    assert_string_equal(found.findings.items[0].id, "allocation_churn");
    assert_string_equal(padding->once_fixed, "allocation_churn");
    assert_int_equal(padding->severity, SEVERITY_MINOR);
    assert_true(fabs(padding->lost_ns_per_step - 109e3) < 5e3);
    assert_true(fabs(padding->predicted_gain - 1 / (1 - 0.109)) < 0.02);
    assert_non_null(strstr(padding->evidence, "once allocation_churn is fixed"));
    found = found_judge(&smaller);
    padding = found_find(&found, "padding_waste");
    assert_true(padding == NULL || padding->once_fixed == NULL);
    check_lost(&none, "padding_waste", 109);
    found = found_judge(&hides_nothing);
    assert_null(found_find(&found, "padding_waste"));
}

/* The host could do 50 x 17 us of its own beside 50 x 40 of the device. A call that is mostly the
 * host's tells nothing: its kernel may just have been done when it returned. */
TEST(launches_that_last_as_long_as_their_kernels_are_waits)
{
    struct made_loop held = { .steps = 10,
                              .launches = 50,
                              .operator_time = 15,
                              .call = 2,
                              .kernel = 40,
                              .launches_block = true };
    struct made_loop own = held;

    own.call = 60;
    check_lost(&held, "host_sync", 50 * (15 + 2 + 2));
    check_lost(&held, "launch_bound", 0);
    check_lost(&own, "host_sync", 0);
    assert_true(found_lost_us(&own, "launch_bound") > 2000);
}

/* Calls that copy are no launches of kernels: waits are still behind every one of those. The step
 * takes 50 x 32 us and 120 x 2; without waits the device sets the pace, with 50 x 20 and 120 x
 * 1. */
TEST(copies_do_not_hide_that_every_launch_waits)
{
    struct made_loop loop = {
        .steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 20, .wait_launches = 1
    };

    assert_true(found_lost_us(&loop, "host_sync") > 0);
    loop.copies = 120;
    loop.copy = 1;
    loop.copy_call = 2;
    loop.copy_bytes = 64;
    check_lost(&loop, "host_sync", 1840 - 1120);
    check_lost(&loop, "launch_bound", 0);
}

/* --- The pace --- */

/* The host takes 30 x 10 us for copies, 300 for something else and 100 for launches; the device
 * 560, which hides some of the copies. Without them the device would take 500, and the host
 * less. */
TEST(copies_of_a_host_that_sets_the_pace_save_time_wherever_they_are)
{
    struct made_loop loop = { .steps = 20,
                              .copies = 30,
                              .copy = 2,
                              .copy_call = 10,
                              .copy_bytes = 1024,
                              .pause = 300,
                              .launches = 50,
                              .call = 2,
                              .kernel = 10 };

    check_lost(&loop, "small_copies", 700 - 500);
    loop.kernel = 16;
    check_lost(&loop, "small_copies", 30 * 2); /* the copies */
}

/* The device is done 300 us after the host begins to load for 900, and idle for 600. A host that
 * loads no more is 300 us ahead of its device, unless the next copy waits for the device all the
 * same. */
TEST(a_copy_that_waits_takes_what_loading_hid)
{
    struct made_loop loop = { .steps = 20,
                              .loading = 900,
                              .copies = 1,
                              .copy = 10,
                              .copy_call = 10,
                              .copy_bytes = 1 << 20,
                              .launches = 20,
                              .operator_time = 30,
                              .call = 2,
                              .kernel = 40 };

    check_lost(&loop, "data_loading", 1510 - 790);
    loop.copy_name = "Memcpy HtoD (Pageable -> Device)";
    check_lost(&loop, "data_loading", 670);
    loop.copy_bytes = 1 << 10;
    check_lost(&loop, "data_loading", 1510 - 790);
}

/* 1000 us of products at an eighth, which is half of what an A100's peaks promise. The step is as
 * much shorter where the host waits for the device, and half as much where the host takes as long
 * to launch. */
TEST(less_device_work_shortens_a_step_that_waits_for_it)
{
    struct made_loop waits = { BUSY, MATRIX, .wait_every = 1, .pause = 800 };
    struct made_loop launches = {
        .steps = 10, .launches = 50, .operator_time = 36, .call = 4, .kernel = 20, MATRIX
    };

    check_lost(&waits, "fp32_matmul", 875);
    assert_true(fabs(found_lost_us(&launches, "fp32_matmul") - 875.0 / 2) <= 30);
}

/* 100 us of each: products would take an eighth as long, others half, if they are in fp32. */
TEST(kernels_of_short_types_gain_nothing_from_shorter_types)
{
    static const char *const others[] = { "softmax_warp_forward<c10::BFloat16, float>",
                                          "ampere_bf16_s16816gemm_bf16_128x64_tn",
                                          "softmax_warp_forward<float, float>" };
    static const double lost[] = { 87.5, 87.5, 131.6 }; /* the host sets the pace of the last */

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct found found;
        const struct finding *finding;
        made_begin_with("\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA A100\","
                        "\"computeMajor\":8,\"computeMinor\":0}]");
        for (int step = 0; step < 10; step++) {
            int start = 210 * step;
            made_step(step, start, start + 209);
            made_add_work("kernel", MATRIX_KERNEL, 7, start + 5, start + 105, start + 2);
            made_add_work("kernel", others[i], 7, start + 106, start + 206, start + 4);
        }
        found = found_judge_trace(made_analyse());
        finding = found_find(&found, "fp32_matmul");
        assert_non_null(finding);
        if (fabs(finding->lost_ns_per_step / 1000 - lost[i]) > 5)
            fail_msg("%s: %g", others[i], finding->lost_ns_per_step / 1000);
    }
}

/* Per step 600 us of loading, 300 of a capture, and a graph of 500: the device is idle for 400 us,
 * most of them in the capture. Without the loading the host would be faster than the device. */
TEST(loading_of_a_host_that_captures_saves_what_the_step_would_gain)
{
    struct found found;
    const struct finding *finding;

    made_begin();
    for (int i = 0; i < 20; i++) {
        int start = 905 * i, capture = start + 600, launch = capture + 300;
        made_step(i, start, launch + 5);
        made_add("user_annotation", "data", 100, 100, start, capture, 0);
        made_add("cuda_runtime", "cudaStreamBeginCapture", 100, 100, capture, capture + 10,
                 1000 + i);
        made_add("cuda_runtime", "cudaStreamEndCapture", 100, 100, capture + 190, capture + 200,
                 2000 + i);
        made_add("cuda_runtime", "cudaGraphInstantiate", 100, 100, capture + 200, launch, 3000 + i);
        made_add("cuda_runtime", "cudaGraphLaunch", 100, 100, launch, launch + 5, 4000 + i);
        made_add("kernel", "work", 0, 7, launch + 5, launch + 505, 4000 + i);
    }
    found = found_judge_trace(made_analyse());
    finding = found_find(&found, "data_loading");
    assert_non_null(finding);
    assert_true(fabs(finding->lost_ns_per_step / 1000 - 400) <= 30);
}

/* --- Late calls --- */

TEST(late_calls_are_a_guess_only_where_kernels_share_the_cores)
{
    struct made_loop loop = { .steps = 10,
                              .launches = 50,
                              .operator_time = 6,
                              .call = 4,
                              .kernel = 8,
                              .late_every = 10,
                              .late_call = 400 };
    struct found gpu = found_judge(&loop), cpu;

    loop.about = CPU_DEVICE;
    cpu = found_judge(&loop);
    assert_string_equal(gpu.findings.items[0].id, "oversubscribed_host");
    assert_int_equal(gpu.findings.items[0].confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(found_find(&cpu, "oversubscribed_host")->confidence, CONFIDENCE_LOW);
}

/* --- Waits for data --- */

/* -1: the finding is not there. */
static int confidence_of(const struct made_loop *loop, const char *id)
{
    struct found found = found_judge(loop);
    const struct finding *finding = found_find(&found, id);
    int confidence = finding != NULL ? (int)finding->confidence : -1;

    return confidence;
}

/* Steps 4, 11 and 22 of 33 wait: none of the last third. Two waits may be chance, and two that are
 * close together are one disturbance. */
TEST(waits_that_come_apart_are_jitter)
{
    struct made_loop thrice = { LONG_BUSY,        .steps = 33,    .wait_every = 1,
                                .slow_every = 11, .slow_step = 4, .slow_loading = 9000 };
    struct made_loop twice = { LONG_BUSY,        .steps = 28,    .wait_every = 1,
                               .slow_every = 20, .slow_step = 7, .slow_loading = 9000 };
    struct made_loop close = { LONG_BUSY,        .steps = 28,     .wait_every = 1,
                               .slow_every = 20, .slow_step = 16, .slow_loading = 9000 };

    assert_int_equal(confidence_of(&thrice, "data_jitter"), CONFIDENCE_MEDIUM);
    assert_int_equal(confidence_of(&twice, "data_jitter"), CONFIDENCE_LOW);
    assert_int_equal(confidence_of(&close, "data_jitter"), -1);
}

/* The device waits in every other step. The host loads for 700 us in the others, too: all of it is
 * too slow. */
TEST(batches_that_come_in_groups_are_slow_loading)
{
    struct made_loop slow = { LONG_BUSY, .steps = 15, .loading = 700, .slow_every = 2,
                              .slow_loading = 4000 };
    struct made_loop jitter = { LONG_BUSY, .steps = 15, .loading = 10, .slow_every = 2,
                                .slow_loading = 4000 };

    assert_true(found_lost_us(&slow, "data_loading") > 500);
    assert_true(found_lost_us(&slow, "data_jitter") == 0);
    assert_true(found_lost_us(&jitter, "data_jitter") > 500);
    assert_true(found_lost_us(&jitter, "data_loading") == 0);
}

/* Epochs begin at steps 20 and 40; step 26 waits as well, which is none of their cost. */
TEST(borders_of_epochs_cost_what_is_waited_there)
{
    struct made_loop loop = { LONG_BUSY,   .steps = 45,      .wait_every = 1,      .loading = 10,
                              .epoch = 20, .slow_every = 20, .slow_loading = 20000 };
    double alone = found_lost_us(&loop, "epoch_gap");

    loop.slow_step = 26;
    assert_true(alone > 800);
    assert_true(fabs(found_lost_us(&loop, "epoch_gap") - alone) <= 0.05 * alone);
}
