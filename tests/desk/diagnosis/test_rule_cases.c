/* Rules, each against a loop that has what it is about and one that nearly has. */
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

static void check(const char *id, const struct made_loop *loop, bool wanted)
{
    struct found found = found_judge(loop);
    const struct finding *finding = found_own(&found, id);
    char text[4096];

    found_list(&found, text, sizeof text);
    if ((finding != NULL) != wanted)
        fail_msg("%s is %s; found:%s", id, wanted ? "missing" : "there", text);
    if (wanted && (finding->lost_ns_per_step > 0) == rule_find(id)->costs_no_time)
        fail_msg("%s costs %g ns, but its row says \"%s\"", id, finding->lost_ns_per_step,
                 rule_find(id)->cost);
}

#define DEVICE_COPY "Memcpy DtoD (Device -> Device)"
#define MI300                                                                                      \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"AMD Instinct MI300X\",\"totalGlobalMem\":"         \
    "1073741824,\"computeMajor\":9,\"computeMinor\":4}]"

#define ONE_SM                                                                                     \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"CPU device\",\"kind\":\"cpu\",\"totalGlobalMem\":" \
    "1073741824,\"numSms\":1,\"hostCores\":2,\"sharesHostCores\":1}]"

#define LONE_GPU                                                                                   \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA A100\",\"totalGlobalMem\":1073741824}]"
#define RANK_OF_4 LONE_GPU ",\"distributedInfo\":{\"rank\":0,\"world_size\":4}"

/* On two cores. */
#define SCHEDULED(switches, waits, wanted)                                                         \
    "\"chokepoint\":{\"involuntary_switches\":" switches ",\"core_wait_share\":" waits             \
    ",\"wanted_cores\":" wanted ",\"cores\":2}"

#define PIPELINE BACKWARD, .messages = 2, .message_kib = 64, .collective = "recv"
/* The optimizer keeps two states per parameter. */
#define ADAM     BACKWARD, .message = 5, .optimizer_launches = 1, .optimizer_kernel = 20

static const struct {
    const char *id;
    struct made_loop fires, misses;
} cases[] = {
    /* 800 us of loading, then 1000 of device work behind a wait: but for the wait, it would
     * hide. */
    { "host_sync", FIELDS(BUSY, .loading = 800, .wait_every = 1),
      FIELDS(BUSY, .loading = 800, .wait_every = 20) },
    /* The same loop with more loading than the device works. */
    { "data_loading", FIELDS(BUSY, .loading = 1500, .wait_every = 1),
      FIELDS(BUSY, .loading = 800, .wait_every = 1) },
    { "data_loading", FIELDS(BUSY, .loading = 1500), FIELDS(BUSY, .loading = 900) },
    { "data_jitter", FIELDS(BUSY, .slow_every = 3, .slow_loading = 4000),
      FIELDS(BUSY, .slow_every = 3, .slow_loading = 1000) },
    { "data_jitter", /* once is no pattern */
      FIELDS(LONG_BUSY, .steps = 12, .slow_every = 4, .slow_loading = 8000),
      FIELDS(LONG_BUSY, .steps = 11, .slow_every = 6, .slow_loading = 8000) },
    { "data_loading", FIELDS(LONG_BUSY, .steps = 2, .slow_every = 2, .slow_loading = 4000),
      FIELDS(LONG_BUSY, .steps = 5, .slow_every = 5, .slow_loading = 4000) },
    /* Every step waits for a little, and every third for much; or every one for much. */
    { "data_jitter",
      FIELDS(LONG_BUSY, .steps = 12, .wait_every = 1, .loading = 80, .slow_every = 3,
             .slow_loading = 6000),
      FIELDS(LONG_BUSY, .steps = 12, .wait_every = 1, .loading = 1500, .slow_every = 3,
             .slow_loading = 6000) },
    { "data_loading",
      FIELDS(LONG_BUSY, .steps = 12, .wait_every = 1, .loading = 1500, .slow_every = 3,
             .slow_loading = 6000),
      FIELDS(LONG_BUSY, .steps = 12, .wait_every = 1, .loading = 80, .slow_every = 3,
             .slow_loading = 6000) },
    /* An epoch of ten steps has two borders in 20. Without their marks two waits might be
     * anything. */
    { "epoch_gap",
      FIELDS(LONG_BUSY, .steps = 20, .loading = 10, .epoch = 10, .slow_every = 10,
             .slow_loading = 20000),
      FIELDS(LONG_BUSY, .steps = 20, .loading = 10, .slow_every = 10, .slow_loading = 20000) },
    /* Every fifth step loads for 1500 us, 500 more than the device works, and the host waits in
     * each: that is the loading's fault, and not the wait's, as it would be if every step loaded
     * for 300. */
    { "data_jitter",
      FIELDS(LONG_BUSY, .steps = 20, .wait_every = 1, .slow_every = 5, .slow_loading = 1500),
      FIELDS(LONG_BUSY, .steps = 20, .wait_every = 1, .loading = 300) },
    { "host_sync", FIELDS(LONG_BUSY, .steps = 20, .wait_every = 1, .loading = 300),
      FIELDS(LONG_BUSY, .steps = 20, .wait_every = 1, .slow_every = 5, .slow_loading = 1500) },
    /* There are borders, but the steps between them wait as long. */
    { "epoch_gap",
      FIELDS(LONG_BUSY, .steps = 40, .wait_every = 1, .loading = 10, .epoch = 20, .slow_every = 20,
             .slow_loading = 1500),
      FIELDS(LONG_BUSY, .steps = 40, .wait_every = 1, .loading = 10, .epoch = 20, .slow_every = 5,
             .slow_loading = 1500) },
    /* A second step waits soon after one of the borders; or one does between them. */
    { "epoch_gap",
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 60, .slow_every = 20, .slow_step = 25,
             .slow_loading = 20000),
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 60, .slow_every = 20, .slow_step = 26,
             .slow_loading = 20000) },
    /* The loop waits for a few first batches; or for eight, which more than new workers delay. */
    { "epoch_gap",
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 49, .slow_every = 13, .slow_more = 2,
             .slow_loading = 20000),
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 49, .slow_every = 13, .slow_more = 7,
             .slow_loading = 20000) },
    /* Nothing marks the borders: three waits are no chance, two might be anything. */
    { "epoch_gap",
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 48, .slow_every = 16, .slow_loading = 20000),
      FIELDS(LONG_BUSY, .wait_every = 1, .steps = 32, .slow_every = 16, .slow_loading = 20000) },
    /* Waits behind every other launch leave launching nothing to hide behind. */
    { "launch_bound",
      FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5,
             .wait_launches = 3),
      FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5,
             .wait_launches = 2) },
    /* A pause outlasts the device's work, or hides behind it. */
    { "host_work", FIELDS(BUSY, .pause = 1500), FIELDS(BUSY, .pause = 900) },
    { "host_work", FIELDS(BUSY, .pause = 1500, .pause_name = "aten::randn"),
      FIELDS(BUSY, .pause = 900, .pause_name = "aten::randn") },
    { "host_work", FIELDS(BUSY, .pause = 1500),
      FIELDS(BUSY, .loading = 1500) }, /* known by its name */
    /* Behind a wait, the longer of both is at fault. */
    { "host_work", FIELDS(BUSY, .wait_every = 1, .pause = 1500),
      FIELDS(BUSY, .wait_every = 1, .pause = 800) },
    { "host_sync", FIELDS(BUSY, .wait_every = 1, .pause = 800),
      FIELDS(BUSY, .wait_every = 1, .pause = 1500) },
    /* Each step's pause is longer than the one before. The device hides 1000 us of it; few steps
     * show no trend; or it has been long from the beginning. */
    { "growing_steps", FIELDS(LONG_BUSY, .steps = 20, .pause = 900, .pause_growth = 50),
      FIELDS(LONG_BUSY, .steps = 20, .pause = 0, .pause_growth = 50) },
    { "growing_steps", FIELDS(LONG_BUSY, .steps = 15, .pause = 1100, .pause_growth = 200),
      FIELDS(LONG_BUSY, .steps = 13, .pause = 1100, .pause_growth = 200) },
    { "growing_steps",
      FIELDS(LONG_BUSY, .steps = 36, .epoch = 16, .pause = 1100, .pause_growth = 150),
      FIELDS(LONG_BUSY, .steps = 36, .epoch = 8, .pause = 1100, .pause_growth = 300) },
    { "growing_steps", FIELDS(LONG_BUSY, .steps = 20, .pause = 1100, .pause_growth = 100),
      FIELDS(LONG_BUSY, .steps = 20, .pause = 2500) },
    /* A pause of 1.1 ms is none of launching, though every launch has one. */
    { "host_work",
      FIELDS(.steps = 10, .launches = 12, .operator_time = 1100, .call = 4, .kernel = 5),
      FIELDS(.steps = 10, .launches = 12, .operator_time = 900, .call = 4, .kernel = 5) },
    { "launch_bound",
      FIELDS(.steps = 10, .launches = 12, .operator_time = 900, .call = 4, .kernel = 5),
      FIELDS(.steps = 10, .launches = 12, .operator_time = 1100, .call = 4, .kernel = 5) },
    { "launch_bound", /* as much idle time, all of it before the first launch */
      FIELDS(.steps = 10, .launches = 20, .operator_time = 100, .call = 2, .kernel = 20),
      FIELDS(.steps = 10, .launches = 20, .call = 2, .kernel = 20, .pause = 2000) },
    /* A small copy from pageable memory whose call waits for the work before it, or does not. */
    { "host_sync",
      FIELDS(BUSY, .copies = 1, .copy = 2, .copies_block = true, .copy_bytes = 4,
             .copy_name = "Memcpy HtoD (Pageable -> Device)", .pause = 800),
      FIELDS(BUSY, .copies = 1, .copy = 2, .copy_call = 4, .copy_bytes = 4,
             .copy_name = "Memcpy HtoD (Pageable -> Device)", .pause = 800) },
    { "logging_gap", FIELDS(BUSY, .log_waits = true, .logging = 300),
      FIELDS(BUSY, .wait_every = 1, .logging = 30) },
    { "save_pause", FIELDS(BUSY, .wait_every = 1, .saving = 300),
      FIELDS(BUSY, .wait_every = 1, .saving = 30) },
    /* 5 us of kernel behind 10 of operator and call, or behind 4. */
    { "launch_bound",
      FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5),
      FIELDS(.steps = 10, .launches = 50, .operator_time = 2, .call = 2, .kernel = 5) },
    /* Few launches behind much of the host's own work are no matter of launching. */
    { "launch_bound",
      FIELDS(.steps = 10, .launches = 12, .operator_time = 100, .call = 4, .kernel = 5),
      FIELDS(.steps = 10, .launches = 8, .operator_time = 100, .call = 4, .kernel = 5) },
    { "launch_bound", /* the device keeps its queue, and takes its time between kernels */
      FIELDS(.steps = 10, .launches = 50, .call = 2, .kernel = 10, .stall = 3),
      FIELDS(.steps = 10, .launches = 50, .call = 2, .kernel = 50, .stall = 3) },
    /* Every 25th call takes 400 us: none that the device waits for, none that is an outlier,
     * all. */
    { "oversubscribed_host",
      FIELDS(.steps = 10, .launches = 50, .call = 4, .kernel = 5, .late_every = 25,
             .late_call = 400),
      FIELDS(LONG_BUSY, .steps = 40, .late_every = 25, .late_call = 400) },
    { "oversubscribed_host",
      FIELDS(.steps = 10, .launches = 50, .call = 4, .kernel = 5, .late_every = 25,
             .late_call = 80),
      FIELDS(.steps = 10, .launches = 50, .call = 4, .kernel = 5, .late_every = 25,
             .late_call = 45) },
    { "oversubscribed_host",
      FIELDS(.steps = 10, .launches = 50, .call = 4, .kernel = 5, .late_every = 10,
             .late_call = 400),
      FIELDS(.steps = 10, .launches = 50, .call = 400, .kernel = 5) },
    { "launch_bound", /* that is what the late calls cost, not the others */
      FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5),
      FIELDS(.steps = 10, .launches = 50, .call = 4, .kernel = 10, .late_every = 10,
             .late_call = 400) },
    { "launch_bound", /* where most calls are long, launching is */
      FIELDS(.steps = 10, .launches = 50, .call = 400, .kernel = 5),
      FIELDS(.steps = 10, .launches = 50, .call = 400, .kernel = 450) },
    { "lost_core", FIELDS(BUSY, .about = "\"chokepoint\":{\"core_wait_share\":0.4}"),
      FIELDS(BUSY, .about = "\"chokepoint\":{\"core_wait_share\":0.05}") },
    /* The program's own threads want the cores; or other programs have them, or a wait is all. */
    { "oversubscribed_host", FIELDS(BUSY, .about = SCHEDULED("7", "0.3", "5.5")),
      FIELDS(BUSY, .about = SCHEDULED("7", "0.3", "1.9")) },
    { "lost_core", FIELDS(BUSY, .about = SCHEDULED("7", "0.3", "1.9")),
      FIELDS(BUSY, .about = SCHEDULED("7", "0.3", "5.5")) },
    { "oversubscribed_host", FIELDS(BUSY, .about = SCHEDULED("2", "0.3", "2.5")),
      FIELDS(BUSY, .about = SCHEDULED("0.2", "0.3", "2.5")) },
    { "oversubscribed_host", FIELDS(BUSY, .about = SCHEDULED("2", "0.12", "2.5")),
      FIELDS(BUSY, .about = SCHEDULED("2", "0.08", "2.5")) },
    { "uneven_steps", FIELDS(LONG_BUSY, .steps = 20, .slow_every = 4, .slow_kernel = 80),
      FIELDS(LONG_BUSY, .steps = 20, .slow_every = 4, .slow_kernel = 55) },
    { "uneven_steps", /* waits for data explain themselves; seven steps show little */
      FIELDS(LONG_BUSY, .steps = 8, .slow_every = 4, .slow_kernel = 80),
      FIELDS(LONG_BUSY, .steps = 20, .slow_every = 4, .slow_loading = 4000) },
    { "uneven_steps", FIELDS(LONG_BUSY, .steps = 8, .slow_every = 4, .slow_kernel = 80),
      FIELDS(LONG_BUSY, .steps = 7, .slow_every = 4, .slow_kernel = 80) },
    { "small_kernels",
      FIELDS(.steps = 10, .launches = 64, .passes = 16, .operator_time = 2, .call = 8, .kernel = 5),
      FIELDS(.steps = 10, .launches = 64, .passes = 1, .operator_time = 2, .call = 8,
             .kernel = 5) },
    { "initialisation", FIELDS(BUSY, .first_call = 4000), FIELDS(BUSY, .first_call = 900) },
    { "pageable_copy",
      FIELDS(BUSY, .copies = 1, .copy = 200, .copy_call = 200, .copy_bytes = 1 << 20,
             .copy_name = "Memcpy HtoD (Pageable -> Device)"),
      /* Small ones are staged at once. */
      FIELDS(BUSY, .copies = 1, .copy = 200, .copy_call = 2, .copy_bytes = 1 << 10,
             .copy_name = "Memcpy HtoD (Pageable -> Device)") },
    { "exposed_copy", FIELDS(BUSY, .copies = 1, .copy = 300, .copy_call = 2, .copy_bytes = 1 << 20),
      FIELDS(BUSY, .copies = 1, .copy = 30, .copy_call = 2, .copy_bytes = 1 << 20) },
    { "small_copies", FIELDS(BUSY, .copies = 30, .copy = 5, .copy_call = 5, .copy_bytes = 1 << 10),
      FIELDS(BUSY, .copies = 4, .copy = 50, .copy_call = 5, .copy_bytes = 1 << 10) },
    /* Copies that do not say how large they are may be large. */
    { "small_copies", FIELDS(BUSY, .copies = 30, .copy = 5, .copy_call = 5, .copy_bytes = 1 << 10),
      FIELDS(BUSY, .copies = 30, .copy = 5, .copy_call = 5) },
    { "exposed_copy", FIELDS(BUSY, .copies = 30, .copy = 5, .copy_call = 5),
      FIELDS(BUSY, .copies = 30, .copy = 5, .copy_call = 5, .copy_bytes = 1 << 10) },
    { "device_copies",
      FIELDS(BUSY, .copies = 20, .copy = 10, .copy_call = 2, .copy_bytes = 1 << 20,
             .copy_name = DEVICE_COPY),
      FIELDS(BUSY, .copies = 20, .copy = 2, .copy_call = 2, .copy_bytes = 1 << 20,
             .copy_name = DEVICE_COPY) },
    { "device_copies",
      FIELDS(BUSY, .copies = 20, .copy = 10, .copy_call = 2, .copy_name = DEVICE_COPY),
      FIELDS(BUSY, .copies = 20, .copy = 10, .copy_call = 2) },
    { "host_round_trip", FIELDS(BUSY, .trips = 1),
      FIELDS(BUSY, .copies = 2, .copy = 30, .copy_call = 2) },
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = MATRIX_KERNEL),
      FIELDS(BUSY, .kernel_name = "ampere_bf16_s16816gemm_bf16_128x64_tn") },
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = "gemm_f32_nn_64x64x64", .about = UNITS("1")),
      FIELDS(BUSY, .kernel_name = "gemm_f32_nn_64x64x64", .about = UNITS("0")) },
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = "gemm_f32_nt_64x64x64_b8", .about = UNITS("1")),
      FIELDS(BUSY, .kernel_name = "gemm_f32_nt_32x64x64_b8", .about = UNITS("1")) },
    /* 600 us less 0.3 times what the other kernels take. */
    { "fp32_matmul",
      FIELDS(BUSY, .kernel_name = "gemm_f32_nn_64x64x64", .about = UNITS("1"),
             .optimizer_launches = 1, .optimizer_kernel = 1400),
      FIELDS(BUSY, .kernel_name = "gemm_f32_nn_64x64x64", .about = UNITS("1"),
             .optimizer_launches = 1, .optimizer_kernel = 1800) },
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = MATRIX_KERNEL),
      FIELDS(BUSY, .kernel_name = MATRIX_KERNEL, .about = OLD_GPU) },
    /* An MI300, by Tensile; and Composable Kernel, which sums in fp32. */
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = "Cijk_Ailk_Bljk_SB_MT128x128x16", .about = MI300),
      FIELDS(BUSY, .kernel_name = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV", .about = MI300) },
    { "fp32_matmul",
      FIELDS(BUSY, .kernel_name = "Cijk_Alik_Bljk_S_B_Bias_HA_S_SAV", .about = MI300),
      FIELDS(BUSY, .kernel_name = "ck::kernel_gemm<ck::f8_t, float>", .about = MI300) },
    /* Sums in fp32 make no product of a shorter type one of fp32. */
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = "void gemmSN_NN_kernel<float, float, float>"),
      FIELDS(BUSY, .kernel_name = "void gemmSN_NN_kernel<float, __nv_bfloat16, float>") },
    { "fp32_matmul", FIELDS(BUSY, .kernel_name = "void conv2d_grouped_direct_kernel<float, float>"),
      FIELDS(BUSY, .kernel_name = "void deep_gemm::sm90_fp8_gemm_1d2d_impl<64u>(float*)") },
    { "fp64_matmul", FIELDS(BUSY, .kernel_name = "cutlass_80_tensorop_d884gemm_64x64_16x4_nn"),
      FIELDS(BUSY, .kernel_name = MATRIX_KERNEL) },
    { "fp64_matmul", FIELDS(BUSY, .kernel_name = "void gemmSN_NN_kernel<double, 128, 2>"),
      /* Fused Adam in fp32, whose rates are double. */
      FIELDS(BUSY,
             .kernel_name = "multi_tensor_apply_kernel<AdamFunctor<float>, double, double>") },
    /* Tensile's; and the types of arguments behind others, of PyTorch's and of one that counts. */
    { "fp64_matmul", FIELDS(BUSY, .kernel_name = "Cijk_Ailk_Bljk_DB_MT64x64x16", .about = MI300),
      FIELDS(BUSY, .kernel_name = "Cijk_Ailk_Bljk_SB_MT64x64x16", .about = MI300) },
    { "fp64_matmul",
      FIELDS(BUSY, .kernel_name = "void cunn_SoftMaxForward<2, double, double, double>"),
      FIELDS(BUSY, .kernel_name = "void count_kernel(int*, double)") },
    { "fp64_matmul",
      FIELDS(BUSY, .kernel_name = "elementwise<gelu()::{lambda(double)#1}>", .about = OLD_GPU),
      FIELDS(BUSY, .kernel_name = "elementwise<gelu()::{lambda(float)#1}>", .about = OLD_GPU) },
    { "layout_conversions",
      FIELDS(BUSY, .kernel_name = "void cudnn::ops::nchwToNhwcKernel<float, float>"),
      FIELDS(BUSY, .kernel_name = "sm80_xmma_fprop_implicit_gemm_nhwckrsc_nhwc") },
    { "padding_waste", FIELDS(BUSY, .samples = 8, .tokens = 300, .padded_tokens = 212),
      /* Rounding to 8 alone. */
      FIELDS(BUSY, .samples = 64, .tokens = 313, .padded_tokens = 199) },
    { "naive_attention", FIELDS(BUSY, .kernel_name = "softmax_forward_f32"),
      FIELDS(BUSY, .kernel_name = "cunn_LogSoftMaxForward") },
    { "naive_attention",
      FIELDS(BUSY, .kernel_name = "void softmax_warp_forward<float, float, 10, false, false>"),
      FIELDS(BUSY, .kernel_name = "void moe_topk_softmax_kernel<float, 64>") },
    { "optimizer_overhead", FIELDS(BUSY, .optimizer_launches = 10, .optimizer_kernel = 40),
      FIELDS(BUSY, .optimizer_launches = 1, .optimizer_kernel = 150) },
    /* Three of four updates per step could go. */
    { "optimizer_overhead",
      FIELDS(BUSY, .optimizer_launches = 1, .optimizer_kernel = 25, .updates = 4),
      FIELDS(BUSY, .optimizer_launches = 4, .optimizer_kernel = 25) },
    { "unfused_ops", FIELDS(BUSY, .kernel_name = "vectorized_elementwise_kernel"),
      FIELDS(BUSY, .kernel_name = "bias_gelu_forward_f32") },
    /* Half of 108 SMs are 54. One that is shorter than 10 us is not all its work. */
    { "small_grid", FIELDS(BUSY, .grid = 53), FIELDS(BUSY, .grid = 54) },
    { "small_grid", FIELDS(.steps = 10, .launches = 100, .call = 2, .kernel = 10, .grid = 8),
      FIELDS(.steps = 10, .launches = 100, .call = 2, .kernel = 9, .grid = 8) },
    /* Neither the device nor the kernel tells; or the device has one SM. */
    { "small_grid", FIELDS(BUSY, .grid = 8), FIELDS(BUSY) },
    { "small_grid", FIELDS(BUSY, .grid = 8), FIELDS(BUSY, .grid = 8, .about = OLD_GPU) },
    { "small_grid", FIELDS(BUSY, .grid = 8), FIELDS(BUSY, .grid = 1, .about = ONE_SM) },
    { "device_wait", FIELDS(BUSY, .stall = 40), FIELDS(BUSY, .stall = 3) },
    { "device_bound", FIELDS(BUSY),
      FIELDS(.steps = 10, .launches = 20, .operator_time = 40, .call = 2, .kernel = 20) },
    /* A single kernel is all there is of its time, and tells nothing. */
    { "device_bound", FIELDS(.steps = 10, .launches = 1, .call = 2, .kernel = 50, .no_steps = true),
      FIELDS(.steps = 1, .launches = 9, .call = 2, .kernel = 50, .no_steps = true) },
    { "insufficient_data",
      FIELDS(.steps = 1, .launches = 9, .call = 2, .kernel = 50, .no_steps = true), FIELDS(BUSY) },
    { "low_utilisation",
      FIELDS(.steps = 10, .launches = 20, .operator_time = 40, .call = 2, .kernel = 20),
      FIELDS(.steps = 10, .launches = 20, .operator_time = 15, .call = 2, .kernel = 20) },
    /* A whole trace that took no time was not idle either. */
    { "low_utilisation",
      FIELDS(.steps = 1, .launches = 2, .operator_time = 40, .call = 2, .kernel = 2,
             .no_steps = true),
      FIELDS(.steps = 1, .launches = 1, .call = 2, .kernel = 0, .no_steps = true) },
    { "exposed_communication", FIELDS(BUSY, .communication = 300),
      FIELDS(BUSY, .communication = 80) },
    /* As many bytes in fewer messages; or as many messages, of which DistributedDataParallel sends
     * none smaller; or sent by forward too. */
    { "small_messages", FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256),
      FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560) },
    { "small_messages", FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 1024),
      FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 1025) },
    { "small_messages", FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256),
      FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256, .split = true) },
    /* Their sizes are not stated; or they bring parameters. */
    { "small_messages", FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256),
      FIELDS(BACKWARD, .messages = 40, .message = 12) },
    { "small_messages",
      FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256,
             .collective = "_reduce_scatter_base"),
      FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256,
             .collective = "_allgather_base") },
    /* Time that larger messages would save is not lost to missing overlap. */
    { "exposed_communication", FIELDS(BACKWARD, .messages = 4, .message = 120, .message_kib = 2560),
      FIELDS(BACKWARD, .messages = 40, .message = 12, .message_kib = 256) },
    { "insufficient_data", FIELDS(BACKWARD, .messages = 4, .message = 12),
      FIELDS(BACKWARD, .messages = 4, .message = 12, .message_kib = 256) },
    /* 40% of a step, or 19%; or there are four micro-batches per rank already. */
    { "pipeline_bubble", FIELDS(PIPELINE, .about = RANK_OF_4, .message = 500),
      FIELDS(PIPELINE, .about = RANK_OF_4, .message = 180) },
    { "pipeline_bubble", FIELDS(PIPELINE, .about = RANK_OF_4, .message = 500, .passes = 15),
      FIELDS(PIPELINE, .about = RANK_OF_4, .message = 500, .passes = 16) },
    { "exposed_communication", FIELDS(PIPELINE, .about = RANK_OF_4, .message = 500, .passes = 16),
      FIELDS(PIPELINE, .about = RANK_OF_4, .message = 500, .passes = 15) },
    { "exposed_communication", FIELDS(BACKWARD, .messages = 2, .message_kib = 4096, .message = 180),
      FIELDS(PIPELINE, .about = RANK_OF_4, .message = 180) },
    /* Experts exchange with all ranks. NCCL's kernel for that is the same, so where it is all that
     * is stated, operators must tell. */
    { "pipeline_bubble", FIELDS(PIPELINE, .message = 500),
      FIELDS(BACKWARD, .messages = 2, .message = 500, .message_kib = 64, .collective = "all_to_all",
             .message_kernel = "ncclDevKernel_SendRecv") },
    { "pipeline_bubble",
      FIELDS(BACKWARD, .messages = 2, .message = 500, .message_kernel = "ncclDevKernel_SendRecv",
             .pause = 5, .pause_name = "c10d::recv_"),
      FIELDS(BACKWARD, .messages = 2, .message = 500, .message_kernel = "ncclDevKernel_SendRecv",
             .pause = 5, .pause_name = "c10d::alltoall_base_") },
    /* Two states of 200 MiB each, of which three of four ranks need none: 300 MiB of 1 GiB. Or 90
       MiB. */
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 6144) },
    /* Ten messages are of the last of 16 passes alone, but may be two of each of five. */
    { "replicated_state",
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480, .passes = 16),
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480, .passes = 5) },
    /* Gradients are divided; or parameters come back, or are the buffers of normalisations. */
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480,
             .collective = "_reduce_scatter_base") },
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480,
             .returned = "_allgather_base") },
    /* Nobody knows what the optimizer keeps, or how many ranks there are; or forward sends as
     * much. */
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(BACKWARD, .about = RANK_OF_4, .messages = 10, .message_kib = 20480) },
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(ADAM, .messages = 10, .message_kib = 20480, .about = LONE_GPU) },
    { "replicated_state", FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480),
      FIELDS(ADAM, .about = RANK_OF_4, .messages = 10, .message_kib = 20480, .split = true) },
    { "activation_memory", FIELDS(BUSY, .allocated_kib = 600000, .peak_kib = 980000),
      FIELDS(BUSY, .allocated_kib = 600000, .peak_kib = 900000) },
    /* Full, but not of what goes away within a step. */
    { "activation_memory", FIELDS(BUSY, .allocated_kib = 900000, .peak_kib = 980000),
      FIELDS(BUSY, .allocated_kib = 970000, .peak_kib = 980000) },
    { "memory_headroom", FIELDS(BUSY, .allocated_kib = 200000, .peak_kib = 500000),
      FIELDS(BUSY, .allocated_kib = 200000, .peak_kib = 540000) },
    /* Reserved is as good as used: a cache that is in pieces has no room. */
    { "memory_headroom",
      FIELDS(BUSY, .allocated_kib = 200000, .peak_kib = 300000, .reserved_kib = 500000),
      FIELDS(BUSY, .allocated_kib = 200000, .peak_kib = 300000, .reserved_kib = 540000) },
    /* A larger batch helps neither long kernels, nor a loader, nor a CPU. */
    { "memory_headroom",
      FIELDS(.steps = 10, .launches = 20, .call = 2, .kernel = 90, .allocated_kib = 1000),
      FIELDS(.steps = 10, .launches = 20, .call = 2, .kernel = 110, .allocated_kib = 1000) },
    { "memory_headroom", FIELDS(BUSY, .allocated_kib = 1000, .wait_every = 1, .loading = 90),
      FIELDS(BUSY, .allocated_kib = 1000, .wait_every = 1, .loading = 150) },
    { "memory_headroom", FIELDS(BUSY, .allocated_kib = 1000, .about = OLD_GPU),
      FIELDS(BUSY, .allocated_kib = 1000, .about = UNITS("1")) },
    { "memory_growth", FIELDS(BUSY, .allocated_kib = 1000, .growth_kib = 10),
      FIELDS(BUSY, .allocated_kib = 1000, .peak_kib = 5000) },
    /* Each step may keep a number. */
    { "memory_growth", FIELDS(BUSY, .allocated_kib = 80000, .growth_kib = 1),
      FIELDS(BUSY, .allocated_kib = 110000, .growth_kib = 1) },
    { "fragmentation", FIELDS(BUSY, .allocated_kib = 500000, .reserved_kib = 700000),
      FIELDS(BUSY, .allocated_kib = 500, .reserved_kib = 2048) },
    { "allocation_churn", FIELDS(BUSY, .allocations = 20, .allocation = 100),
      FIELDS(BUSY, .allocations = 1, .allocation = 100) },
    /* An allocator that fills itself in the first steps is none that allocates in every one. */
    { "allocation_churn", FIELDS(BUSY, .allocations = 40, .allocation = 100, .allocating_steps = 6),
      FIELDS(BUSY, .allocations = 40, .allocation = 100, .allocating_steps = 4) },
    { "allocation_churn", FIELDS(BUSY, .allocations = 4, .allocation = 1000, .no_steps = true),
      FIELDS(BUSY, .allocations = 4, .allocation = 2000, .no_steps = true, .allocating_steps = 2) },
    { "allocation_churn",
      FIELDS(BUSY, .allocations = 3, .allocation = 600, .long_allocation = 20000),
      FIELDS(BUSY, .allocations = 3, .allocation = 10, .long_allocation = 20000) },
    /* The same operators take three times as long in one step of a host, or not quite. */
    { "uneven_steps",
      FIELDS(.alone = true, .steps = 6, .launches = 12, .operator_time = 100, .slow_step = 4,
             .slow_kernel = 300),
      FIELDS(.alone = true, .steps = 6, .launches = 12, .operator_time = 100, .slow_step = 4,
             .slow_kernel = 250) },
    /* One number per step may be a loss that is logged. */
    { "values_read",
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 2),
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 1) },
    { "values_read",
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 2),
      FIELDS(BUSY, .items = 2) }, /* where there is a device, the waits themselves are seen */
    /* Samples are numbers of the host anywhere. */
    { "values_read",
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 2),
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 64,
             .items_in = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__") },
    { "values_read",
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 2),
      FIELDS(.alone = true, .steps = 10, .launches = 9, .operator_time = 100, .items = 12,
             .items_in = "Optimizer.step#Adam.step") },
    { "no_device_activity", FIELDS(.steps = 10, .loading = 100), FIELDS(BUSY) },
    { "uneven_devices", FIELDS(BUSY, .other_device = 100), FIELDS(BUSY, .other_device = 600) },
    { "empty_recording", FIELDS(.steps = 0, .no_calls = true),
      FIELDS(.steps = 10, .loading = 100) },
    { "insufficient_data", FIELDS(LONG_BUSY, .steps = 2), FIELDS(BUSY) },
    { "insufficient_data", FIELDS(BUSY, .no_calls = true), FIELDS(BUSY) },
    { "insufficient_data", FIELDS(BUSY, .lost = 2), FIELDS(BUSY, .lost = 1) },
    { "insufficient_data", FIELDS(BUSY, .no_steps = true), FIELDS(BUSY) },
};

/* Whose traces are not loops of this kind. */
static const char *const elsewhere[] = { "garbage_collection", "graph_recapture", "recompilation",
                                         "small_operators",    "host_computes",   "straggler",
                                         "unread_device",      "host_outside" };

static bool has_case(const char *id)
{
    if (rule_find(id)->judge == NULL)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (strcmp(cases[i].id, id) == 0)
            return true;
    for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
        if (strcmp(elsewhere[i], id) == 0)
            return true;
    return false;
}

TEST(every_rule_fires_and_has_a_near_miss)
{
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (!has_case(rule->id))
            fail_msg("%s has no trace that shows it", rule->id);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check(cases[i].id, &cases[i].fires, true);
        check(cases[i].id, &cases[i].misses, false);
    }
}

/* Only minor findings follow information: such information names what sets the pace, or says that
 * the trace tells little. The headline is about the first finding, if that says what limits the
 * run. Returns whether anything follows information at all. */
static bool is_in_order(const struct made_loop *loop)
{
    struct found found = found_judge(loop);
    const struct finding *items = found.findings.items;
    enum bottleneck word = found.findings.headline.bottleneck;
    bool informs = false, follows = false;
    char text[4096];

    found_list(&found, text, sizeof text);
    for (int64_t i = 0; i < found.findings.count; i++) {
        if (items[i].severity == SEVERITY_INFORMATION) {
            informs = true;
            if (items[i].bottleneck == BOTTLENECK_NONE)
                break;
        } else if (informs && items[i].severity > SEVERITY_MINOR)
            fail_msg("%s comes after information; found:%s", items[i].id, text);
        follows = follows || (informs && items[i].severity > SEVERITY_INFORMATION);
    }
    if (found.findings.count > 0 && items[0].bottleneck != BOTTLENECK_NONE &&
        items[0].bottleneck != word)
        fail_msg("the headline says %s; found:%s", bottleneck_name(word), text);
    return follows;
}

TEST(what_gains_little_follows_what_sets_the_pace)
{
    int follow = 0;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        follow += is_in_order(&cases[i].fires) + is_in_order(&cases[i].misses);
    assert_true(follow > 0);
}
