/* Kinds of traces that people publish and no loop of our own is like: cuts of a recording, a single
 * pass whose layers repeat, much host and little device, and messages of several kinds. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

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

TEST(work_that_waits_for_what_came_before_the_recording_costs_nothing)
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
}

TEST(a_wait_that_ends_the_recording_is_no_finding)
{
    struct found found;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "known", 7, 100 + 100 * i,
                      i % 10 == 9 ? 180 + 100 * i : 200 + 100 * i, 40 + i);
    made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, 200, 2300, 0);
    found = found_judge_trace(made_analyse());
    assert_null(found_find(&found, "host_sync"));
}

/* Marks that end long before the work which they launched. */
TEST(no_share_is_beyond_the_whole)
{
    struct found found;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 4; i++) {
        made_step(i, 100 * i, 100 * i + 100);
        for (int k = 0; k < 5; k++)
            made_add_work("kernel", "known", 7, 1000 * (5 * i + k) + 50, 1000 * (5 * i + k) + 1050,
                          100 * i + 10 * k);
    }
    found = found_judge_trace(made_analyse());
    check_says(need(&found, "device_bound")->evidence, "busy for 100% of the step");
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

TEST(layers_of_one_pass_are_no_steps)
{
    struct found guessed = judge_layers(false), marked = judge_layers(true);

    assert_non_null(guessed.summary.steps.anchor);
    assert_null(found_find(&guessed, "memory_growth"));
    assert_null(found_find(&guessed, "uneven_steps"));
    need(&marked, "memory_growth");
}

/* Two steps with two kernels: nearly all of them is a load, or a half is. */
TEST(two_steps_that_one_cause_fills_are_enough)
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
}

TEST(what_the_host_does_beside_the_device_is_said_once)
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
    }
}

/* An engine waits for requests for most of the time. Each third of its steps has prompts. */
static struct found judge_serving(const char *decode, const char *prefill)
{
    made_begin_with(OLD_GPU);
    for (int i = 0; i < 12; i++) {
        int at = 5000 * i;
        made_add("user_annotation", prefill != NULL && i % 3 == 0 ? prefill : decode, 100, 100, at,
                 at + 1000, 0);
        for (int k = 0; k < 3; k++)
            made_add_work("kernel", "gemm", 7, at + 50 + 300 * k, at + 350 + 300 * k,
                          at + 10 + 2 * k);
    }
    return found_judge_trace(made_analyse());
}

/* One step is none to take a mean of, but it is marked. */
TEST(a_single_step_of_an_engine_is_named)
{
    struct found found;
    const struct finding *lacks;

    made_begin_with(OLD_GPU);
    made_add("user_annotation", "execute_16_context_0(0)_generation_16(16)", 100, 100, 0, 500, 0);
    made_add("user_annotation", "step[DECODE bs=16]", 100, 100, 5, 400, 0);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "gemm", 7, 100 + 100 * i, 200 + 100 * i, 10 + 2 * i);
    found = found_judge_trace(made_analyse());
    lacks = need(&found, "insufficient_data");
    check_says(lacks->evidence, "1 step of the engine (step[DECODE bs=16])");
    assert_null(strstr(lacks->evidence, "no steps are marked"));
    check_says(need(&found, "device_bound")->advice, "decode");
}

TEST(steps_of_an_engine_are_known_by_their_names)
{
    static const struct {
        const char *decode, *prefill;
        bool are_steps;
    } cases[] = {
        { "step[DECODE bs=16]", NULL, true },
        { "step[DECODE bs=16]", "step[EXTEND bs=2 toks=900]", true },
        { "execute_context_0(0)_generation_16(16)", "execute_context_1(88_7)_generation_3(3)",
          true },
        { "handle request", NULL, false }, /* a fifth of the time may be a part of a step */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge_serving(cases[i].decode, cases[i].prefill);
        const struct finding *lacks = found_find(&found, "insufficient_data");
        assert_int_equal(found.summary.steps.region != NULL, cases[i].are_steps);
        if (cases[i].are_steps)
            assert_int_equal(found.summary.steps.count, 12);
        if (cases[i].prefill != NULL)
            check_says(lacks->evidence, "over 4 steps that prefill and 8 that only decode");
        else if (cases[i].are_steps && lacks != NULL)
            assert_null(strstr(lacks->evidence, "no steps are marked"));
    }
}

/* --- Compilations --- */

/* Ten steps of 1 ms, in some of which the host compiles for 600 us. */
static struct found judge_compilations(const char *in)
{
    made_begin_with(OLD_GPU);
    for (int i = 0; i < 10; i++) {
        int start = 1000 * i;
        made_step(i, start, start + 1000);
        if (in[i] == 'c')
            made_add("user_annotation", "_compile.compile_inner (dynamo_timed)", 100, 100,
                     start + 10, start + 610, 0);
        for (int k = 0; k < 3; k++)
            made_add_work("kernel", "triton_poi_fused_0", 7, start + 650 + 100 * k,
                          start + 750 + 100 * k, start + 620 + 10 * k);
    }
    return found_judge_trace(made_analyse());
}

TEST(compilations_that_come_back_are_not_done_once)
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
    }
}

/* --- Whose time it is --- */

/* Ten steps of a kernel, between which the host takes so long, for what rows of its own tell. */
static struct found judge_pauses(const char *category, const char *name, int pause, int longer)
{
    int at = 0;

    made_begin_with(OLD_GPU);
    for (int i = 0; i < 10; i++) {
        int start = at;
        for (int k = 0; k < 10; k++)
            made_add_work("kernel", "gemm", 7, at + 20 + 50 * k, at + 70 + 50 * k, at + 2 * k);
        at += 520 + pause + longer * i;
        if (category != NULL)
            made_add(category, name, category[0] == 'o' ? 999 : 100, 100, at - pause, at, 0);
        made_step(i, start, at);
    }
    return found_judge_trace(made_analyse());
}

TEST(time_of_the_profiler_and_of_collections_is_named)
{
    struct found profiler = judge_pauses("overhead", "Activity Buffer Request", 700, 0);
    struct found driver = judge_pauses("overhead", "Command Buffer Full", 700, 0);
    struct found garbage = judge_pauses("python_function", "Python GC", 700, 0);

    check_says(need(&profiler, "insufficient_data")->evidence, "the profiler itself");
    assert_null(found_find(&profiler, "host_work"));
    assert_string_equal(profiler.findings.items[0].id, "insufficient_data");
    need(&driver, "host_work");
    assert_string_equal(garbage.findings.items[0].id, "garbage_collection");
    check_says(need(&garbage, "garbage_collection")->evidence, "collects garbage");
    check_says(need(&garbage, "garbage_collection")->advice, "gc.freeze()");
    assert_null(found_find(&garbage, "host_work"));
    assert_null(found_find(&driver, "garbage_collection"));
}

TEST(steps_that_get_longer_are_told_from_uneven_ones)
{
    struct found longer = judge_pauses(NULL, NULL, 100, 80),
                 even = judge_pauses(NULL, NULL, 100, 0);

    check_says(need(&longer, "uneven_steps")->title, "longer than the one before");
    check_says(need(&longer, "uneven_steps")->evidence, "they take 80 us more");
    assert_null(found_find(&even, "uneven_steps"));
}

/* Weights that are copied before the first kernel, or a batch before each second one. */
TEST(what_is_copied_before_all_kernels_is_copied_once)
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
    }
}

/* In each step a thread pins memory for 3 ms, and a launch of the loop waits for it, or does not.
 */
TEST(launches_that_wait_for_an_allocation_elsewhere_are_told_from_slow_ones)
{
    for (int beside = 0; beside < 2; beside++) {
        struct found found;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 8; i++) {
            int at = 4000 * i;
            made_step(i, at, at + 4000);
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
            check_says(need(&found, "allocation_churn")->evidence,
                       "1 call per step allocates or releases memory");
            check_says(need(&found, "allocation_churn")->evidence, "wait for cudaHostAlloc");
            assert_string_equal(found.findings.items[0].id, "allocation_churn");
        } else {
            assert_null(found_find(&found, "allocation_churn"));
        }
    }
}

/* In each step memory is taken and given back, and an operator launches six kernels, each of which
 * is waited for by its event: cuDNN tries six algorithms, or another operator waits. */
TEST(trials_of_algorithms_are_named)
{
    static const char *const operators[] = { "aten::cudnn_convolution", "aten::index" };

    for (size_t k = 0; k < ARRAY_SIZE(operators); k++) {
        struct found found;
        const struct finding *churn;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 8; i++) {
            int at = 3000 * i;
            made_step(i, at, at + 3000);
            made_add("cpu_op", operators[k], 100, 100, at + 5, at + 2700, 0);
            made_add("cuda_runtime", "cudaMalloc", 100, 100, at + 10, at + 310, 0);
            for (int j = 0; j < 6; j++) {
                int launch = at + 320 + 220 * j;
                made_add_work("kernel", "conv", 7, launch + 5, launch + 205, launch);
                made_add("cuda_runtime", "cudaEventSynchronize", 100, 100, launch + 3, launch + 206,
                         0);
            }
            made_add("cuda_runtime", "cudaFree", 100, 100, at + 2000, at + 2600, 0);
        }
        found = found_judge_trace(made_analyse());
        churn = need(&found, "allocation_churn");
        assert_int_equal(strstr(churn->advice, "cudnn.benchmark = False") != NULL, k == 0);
        assert_int_equal(strstr(churn->evidence, "6 times per step the host waits") != NULL,
                         k == 0);
    }
}

/* --- Loading --- */

/* Steps that load for 1800 us before 200 us of work; for 1000 us of that the loop does this. */
static struct found judge_loading(const char *category, const char *name, const char *members)
{
    made_begin_with(members);
    for (int i = 0; i < 10; i++) {
        int at = 2000 * i;
        made_step(i, at, at + 2000);
        made_add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 100, 100, at, at + 1800, 0);
        made_add("python_function", "train.py(7): __getitem__", 100, 100, at, at + 1790, 0);
        made_add(category, name, 100, 100, at + 100, at + 1100, 0);
        for (int k = 0; k < 2; k++)
            made_add_work("kernel", "gemm", 7, at + 1810 + 90 * k, at + 1900 + 90 * k,
                          at + 1801 + 3 * k);
    }
    return found_judge_trace(made_analyse());
}

#define LOADER(reads, computes)                                                                    \
    OLD_GPU ",\"chokepoint\":{\"loader_reads_share\":" reads                                       \
            ",\"loader_computes_share\":" computes "}"
#define CORES(wanted, reads)                                                                       \
    OLD_GPU ",\"chokepoint\":{\"loader_reads_share\":" reads ",\"wanted_cores\":" wanted           \
            ",\"cores\":2}"

TEST(the_loader_is_told_by_what_it_does)
{
    static const struct {
        const char *category, *name, *members, *evidence, *advice;
    } cases[] = {
        { "python_function", "<method 'read' of '_io.BufferedReader' objects>", OLD_GPU,
          "waiting for files", "larger files" },
        { "python_function", "<method 'decode' of 'ImagingDecoder' objects>", OLD_GPU, "decoding",
          "decode less" },
        { "python_function", "torch/utils/data/_utils/collate.py(88): collate", OLD_GPU,
          "putting batches together", "put batches together" },
        { "cpu_op", "aten::stack", OLD_GPU, "putting batches together", "put batches together" },
        /* Nothing tells; or workers do, which no trace shows, and little of either. */
        { "python_function", "train.py(9): work", OLD_GPU, NULL, "prepare the next input" },
        { "python_function", "train.py(9): work", LOADER("0.8", "0.1"), "80% of loading is",
          "larger files" },
        { "python_function", "train.py(9): work", LOADER("0.1", "0.7"), "70% of loading is",
          "decode less" },
        { "python_function", "train.py(9): work", LOADER("0.4", "0.4"), NULL,
          "prepare the next input" },
        /* More threads have no core to run on, unless they only wait for files. */
        { "python_function", "train.py(9): work", CORES("8", "0.1"), "want 8 cores, of 2",
          "no more threads than cores" },
        { "python_function", "train.py(9): work", CORES("8", "0.8"), "80% of loading is",
          "larger files" },
        { "python_function", "train.py(9): work", CORES("2.1", "0.1"), NULL,
          "prepare the next input" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge_loading(cases[i].category, cases[i].name, cases[i].members);
        const struct finding *finding = need(&found, "data_loading");
        check_says(finding->advice, cases[i].advice);
        if (cases[i].evidence != NULL)
            check_says(finding->evidence, cases[i].evidence);
        else
            assert_null(strstr(finding->evidence, "of loading is"));
    }
}

/* --- Double precision --- */

/* Products on the device of that compute capability. */
static struct found judge_products(const char *capability)
{
    char device[200];

    snprintf(device, sizeof device,
             "\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\",\"totalGlobalMem\":1073741824,%s}]",
             capability);
    made_begin_with(device);
    for (int i = 0; i < 20; i++)
        made_add_work("kernel", "volta_dgemm_128x64_nt", 7, 100 + 100 * i, 200 + 100 * i, 40 + i);
    return found_judge_trace(made_analyse());
}

TEST(doubles_cost_what_the_device_says)
{
    struct found half = judge_products("\"computeMajor\":7,\"computeMinor\":0");
    struct found games = judge_products("\"computeMajor\":8,\"computeMinor\":9");

    assert_float_equal(need(&half, "fp64_matmul")->predicted_gain, 2, 0.01);
    assert_null(strstr(need(&half, "fp64_matmul")->advice, "tf32"));
    assert_float_equal(need(&games, "fp64_matmul")->predicted_gain, 32, 0.5);
    check_says(need(&games, "fp64_matmul")->evidence, "fp32 at 64 times the rate");
    check_says(need(&games, "fp64_matmul")->advice, "tf32");
    assert_string_equal(games.findings.items[0].id, "fp64_matmul");
}

/* Steps of 20 products on the host, whose inputs have these types. */
static struct found judge_types(const char *types)
{
    char arguments[120];

    snprintf(arguments, sizeof arguments, "\"Input type\":%s", types);
    made_begin();
    for (int i = 0; i < 10; i++) {
        made_step(i, 2000 * i, 2000 * i + 2000);
        for (int k = 0; k < 19; k++)
            made_add_with("cpu_op", "aten::mm", 100, 100, 2000 * i + 100 * k,
                          2000 * i + 100 * k + 99, 0, arguments);
    }
    return found_judge_trace(made_analyse());
}

TEST(doubles_of_a_host_are_told_by_the_types_of_inputs)
{
    static const struct {
        const char *types;
        bool are_double;
    } cases[] = {
        { "[\"double\",\"double\"]", true },
        { "[[\"double\",\"double\"],\"Scalar\"]", true },
        { "[\"float\",\"double\"]", false }, /* a rate */
        { "[\"float\",\"float\"]", false },
        { "[\"long int\",\"\"]", false },
        { "\"double\"", false }, /* no list */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge_types(cases[i].types);
        if (cases[i].are_double)
            assert_float_equal(need(&found, "fp64_matmul")->predicted_gain, 1.9, 0.05);
        else
            assert_null(found_find(&found, "fp64_matmul"));
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
        made_step(i, start, at);
    }
    return found_judge_trace(made_analyse());
}

TEST(gradients_are_sent_once_per_update)
{
    struct found each = judge_passes(4, 4), last = judge_passes(2, 1);

    check_says(need(&each, "exposed_communication")->advice, "no_sync()");
    assert_float_equal(need(&each, "exposed_communication")->predicted_gain, 16 / 13.0F, 0.02);
    check_says(need(&last, "exposed_communication")->advice, "buckets");
}

/* Two messages per step of as many bytes as the parameters have, if that is stated. */
static struct found judge_bytes(bool stated)
{
    made_begin_with(
        "\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\",\"totalGlobalMem\":1073741824}]");
    if (stated)
        made_add_instant("[memory]", 1,
                         "\"Device Type\":1,\"Device Id\":0,\"Addr\":1,\"Bytes\":0,"
                         "\"Total Allocated\":1048576,\"Total Reserved\":1048576,"
                         "\"Category\":\"parameters\",\"Category Allocated\":1048576");
    for (int i = 0; i < 6; i++) {
        int at = 1000 * i;
        made_step(i, at, at + 1000);
        made_add("user_annotation", "backward", 100, 100, at + 5, at + 90, 0);
        made_add_work("kernel", "gemm", 7, at + 100, at + 300, at + 10);
        for (int k = 0; k < 2; k++) {
            made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, at + 20 + 10 * k,
                     at + 25 + 10 * k, 5000 + 2 * i + k);
            made_add_with("kernel", "ncclDevKernel_AllReduce_Sum_f32", 0, 8, at + 300 + 200 * k,
                          at + 490 + 200 * k, 5000 + 2 * i + k,
                          "\"Collective name\":\"allreduce\",\"In msg nelems\":262144,"
                          "\"Out msg nelems\":262144,\"dtype\":\"Float\"");
        }
    }
    return found_judge_trace(made_analyse());
}

TEST(bytes_that_are_sent_stand_beside_those_of_the_parameters)
{
    struct found stated = judge_bytes(true), unknown = judge_bytes(false);

    check_says(need(&stated, "exposed_communication")->evidence,
               "backward reduces 2.00 MiB per step, 2 times the parameters' 1.00 MiB");
    check_says(need(&unknown, "exposed_communication")->evidence, "reduces 2.00 MiB per step;");
}

TEST(advice_fits_what_is_sent_and_who_trains)
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
    }
}
