/* The headline, and which finding comes first. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"

#include <math.h>

TEST(the_headline_is_the_first_finding_that_limits_the_run)
{
    static const struct {
        struct made_loop loop;
        const char *word;
        double share; /* of a step; below 0: unknown */
        const char *text;
    } headlines[] = {
        { FIELDS(BUSY), "device", 1, "The device sets the pace: it is busy for 100% of the step." },
        { FIELDS(BUSY, .loading = 1500, .wait_every = 1), "loading", 0.6,
          "The step waits for data: 60% of the step." },
        { FIELDS(BUSY, .loading = 800, .wait_every = 1), "waiting", 0.44,
          "The host waits for the device in every step: 45% of the step." },
        { FIELDS(.steps = 10, .launches = 50, .operator_time = 6, .call = 4, .kernel = 5),
          "launching", 0.5, "The device waits for launches: 50% of the step." },
        { FIELDS(BUSY, .kernel_name = MATRIX_KERNEL), "device", 1,
          "The device sets the pace, busy for 100% of the step; fp32 matrix products leave the "
          "matrix units unused: 88% of the step." },
        { FIELDS(BUSY, .grid = 27), "device", 1,
          "The device sets the pace, busy for 100% of the step; kernels leave most of the device's "
          "SMs without a block: at most 75% of the step." },
        { FIELDS(BUSY, .communication = 800, .operator_time = 30), "communication", 0.44,
          "Exposed communication: 44% of the step." },
        { FIELDS(BUSY, .loading = 1500, .allocated_kib = 1000, .growth_kib = 10), "allocation", -1,
          "Memory grows with every step: a leak." },
        { FIELDS(.steps = 10, .launches = 20, .call = 2, .kernel = 50, .stall = 40), "unclear",
          0.44, "The device is idle although work is queued: 44% of the step." },
        { FIELDS(BUSY, .loading = 1500, .wait_every = 1, .no_calls = true), "unclear", -1,
          "The device is idle for 60% of the step, and no known cause explains it." },
        { FIELDS(.steps = 10, .loading = 100), "unclear", -1, "The trace shows no device work." },
        /* Few are few, whether or not a step is marked around them. */
        { FIELDS(.steps = 1, .launches = 9, .call = 2, .kernel = 9, .pause = 900), "unclear", -1,
          "The trace lacks information: 9 kernels and copies are too few to judge by" },
        { FIELDS(.steps = 1, .launches = 9, .call = 2, .kernel = 9, .no_steps = true), "unclear",
          -1, "The trace lacks information: 9 kernels and copies are too few to judge by" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(headlines); i++) {
        struct found found = found_judge(&headlines[i].loop);
        const struct headline *headline = &found.findings.headline;
        bool share_is_right = headlines[i].share < 0
                                  ? isnan(headline->share)
                                  : fabs(headline->share - headlines[i].share) <= 0.02;
        if (strcmp(bottleneck_name(headline->bottleneck), headlines[i].word) != 0 ||
            !share_is_right ||
            strncmp(headline->text, headlines[i].text, strlen(headlines[i].text)) != 0)
            fail_msg("case %zu: %s, %.3f: %s", i, bottleneck_name(headline->bottleneck),
                     headline->share, headline->text);
    }
}

/* A device that is busy for 87% of a step, or 80%, comes before what gains little, and is the
 * headline; one of 67% is not. */
TEST(a_device_that_sets_the_pace_comes_before_what_gains_little)
{
    static const struct {
        struct made_loop loop;
        const char *word, *first, *second;
    } cases_of_pace[] = {
        { FIELDS(BUSY, .loading = 150, .wait_every = 1), "device", "device_bound", "host_sync" },
        { FIELDS(BUSY, .loading = 250, .wait_every = 1), "waiting", "host_sync", "device_bound" },
        { FIELDS(BUSY, .loading = 500, .wait_every = 1), "waiting", "host_sync", "data_loading" },
        /* Time that the device could save is not more; a finding that costs much always is. */
        { FIELDS(BUSY, .loading = 100, .wait_every = 1, .optimizer_launches = 7,
                 .optimizer_kernel = 50),
          "device", "device_bound", "optimizer_overhead" },
        { FIELDS(.steps = 10, .launches = 64, .passes = 16, .call = 26, .kernel = 25,
                 .kernel_name = "sgemm", .about = OLD_GPU),
          "launching", "small_kernels", "device_bound" },
        /* A bound comes after what is lost in any case. */
        { FIELDS(BUSY, .stall = 40, .grid = 27), "unclear", "device_wait", "small_grid" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases_of_pace); i++) {
        struct found found = found_judge(&cases_of_pace[i].loop);
        const char *word = bottleneck_name(found.findings.headline.bottleneck);
        char text[4096];
        found_list(&found, text, sizeof text);
        if (found.findings.count < 2 ||
            strcmp(found.findings.items[0].id, cases_of_pace[i].first) != 0 ||
            strcmp(found.findings.items[1].id, cases_of_pace[i].second) != 0 ||
            strcmp(word, cases_of_pace[i].word) != 0)
            fail_msg("case %zu: %s; found:%s", i, word, text);
    }
}

/* Five kernels of 16 ms fill a device; five of 10 us may be anything. */
TEST(a_handful_of_kernels_tells_if_they_fill_the_device)
{
    struct made_loop loop = {
        .steps = 1, .launches = 5, .call = 2, .kernel = 16000, .no_steps = true
    };
    struct found found = found_judge(&loop);

    assert_string_equal(found.findings.items[0].id, "device_bound");
    assert_int_equal(found.findings.headline.bottleneck, BOTTLENECK_DEVICE);
    loop.kernel = 10;
    found = found_judge(&loop);
    assert_string_equal(found.findings.items[0].id, "insufficient_data");
    assert_int_equal(found.findings.headline.bottleneck, BOTTLENECK_UNCLEAR);
    assert_null(found_find(&found, "device_bound"));
}

/* C++ puts a kernel's arguments behind its name, and may put it into no namespace. */
TEST(a_kernel_is_named_without_its_arguments)
{
    struct made_loop loop = { BUSY, .kernel_name =
                                        "void (anonymous namespace)::fill<float>(float*, int)" };
    struct found found = found_judge(&loop);

    assert_non_null(strstr(found_find(&found, "device_bound")->evidence,
                           "is void (anonymous namespace)::fill<float>, with 100%"));
}

/* --- Hosts that compute --- */

/* Steps of 1000 us of a host alone: `count` times the operators of `names`, each of `time` us, at
 * even distances: none of the pauses between them is longer than the others. */
struct made_host {
    const char *names[4];
    int count, time;
    bool no_steps;
    int logging, pause; /* us at the end of each step: a span "log", nothing */
};

static struct found judge_host_with(const struct made_host *host, const char *members)
{
    made_begin_with(members);
    for (int i = 0; i < 4; i++) {
        int now = 1000 * i, kinds = 0;
        char step[40];
        while (kinds < 4 && host->names[kinds] != NULL) kinds++;
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        if (!host->no_steps)
            made_add("user_annotation", step, 100, 100, now, now + 1000, 0);
        for (int j = 0; j < host->count; j++)
            for (int k = 0; k < kinds; k++) {
                made_add("cpu_op", host->names[k], 100, 100, now, now + host->time, 0);
                now += (1000 - host->logging - host->pause) / (host->count * kinds);
            }
        if (host->logging > 0)
            made_add("user_annotation", "log", 100, 100, now, now + host->logging, 0);
    }
    return found_judge_trace(made_analyse());
}

static struct found judge_host(const struct made_host *host)
{
    return judge_host_with(host, "\"schemaVersion\":1");
}

/* Steps of 1000 us, of which the loader takes 800: `loading` small operators within, and 10
 * outside. */
static struct found judge_loader(int loading, const char *members)
{
    made_begin_with(members);
    for (int i = 0; i < 4; i++) {
        int start = 1000 * i;
        made_step(i, start, start + 1000);
        made_add("user_annotation", "enumerate(DataLoader)#next", 100, 100, start, start + 800, 0);
        for (int j = 0; j < loading; j++)
            made_add("cpu_op", "aten::mul", 100, 100, start + 8 * j, start + 8 * j + 6, 0);
        for (int j = 0; j < 10; j++)
            made_add("cpu_op", "aten::mm", 100, 100, start + 800 + 20 * j, start + 820 + 20 * j, 0);
    }
    return found_judge_trace(made_analyse());
}

/* A tracer takes its time where most events are. */
TEST(loading_costs_what_it_takes_without_the_tracer)
{
#define COST(step_us)                                                                              \
    "\"chokepoint\":{\"schema\":1,\"steps\":4,\"windows\":3,\"step_time_us\":" step_us             \
    ",\"traced_step_time_us\":1000}"
#define TIMED(untraced, traced)                                                                    \
    "\"chokepoint\":{\"schema\":1,\"steps\":4,\"windows\":3,\"step_time_us\":500"                  \
    ",\"traced_step_time_us\":1000,\"loading_share\":" untraced                                    \
    ",\"traced_loading_share\":" traced "}"
    static const struct {
        const char *members;
        int loading;
        double lost_us;
        const char *said;
    } loaders[] = {
        { COST("950"), 88, 800 - 50.0 * 89 / 99, "tracer's, with 90% of the loop's events" },
        { COST("995"), 0, 800 - 5.0 * 1 / 11, NULL },
        /* 1 us per event, and the rest of the 400 for other reasons. */
        { COST("600"), 88, (800 - 89.0) * 600 / (1000 - 99),
          "89 us of the loading is the tracer's" },
        { COST("1000"), 88, 800, NULL },
        { "\"schemaVersion\":1", 88, 800, NULL },
        /* Timed; the last was not, so its events tell. */
        { TIMED("0.6", "0.8"), 88, 300,
          "loading is 60% of a step without the tracer, 80% with it" },
        { TIMED("0.6", "0.4"), 88, 500,
          "loading is 60% of a step without the tracer, 40% with it" },
        { TIMED("0.78", "0.8"), 88, 390, NULL },
        /* One long wait in the recording, and none before. */
        { TIMED("0.08,\"mean_loading_share\":0.1", "0.08"), 88, 50, NULL },
        { TIMED("0", "0"), 88, (800 - 89.0) * 500 / (1000 - 99),
          "89 us of the loading is the tracer's" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(loaders); i++) {
        struct found found = judge_loader(loaders[i].loading, loaders[i].members);
        const struct finding *finding = found_find(&found, "data_loading");
        assert_true(fabs(finding->lost_ns_per_step / 1e3 - loaders[i].lost_us) < 2);
        assert_true((strstr(finding->evidence, " tracer") != NULL) == (loaders[i].said != NULL));
        if (loaders[i].said != NULL)
            assert_non_null(strstr(finding->evidence, loaders[i].said));
    }
}

TEST(a_host_alone_is_judged_by_its_operators)
{
    static const struct {
        struct made_host host;
        const char *word, *first, *text;
    } hosts[] = {
        { { { "aten::mm" }, 20, 45, false, 0, 0 },
          "host",
          "host_computes",
          "The host sets the pace: it is busy for 90% of the step." },
        { { { "aten::mm" }, 20, 50, true, 0, 0 },
          "host",
          "host_computes",
          "The host sets the pace: it is busy for 100% of the trace." },
        { { { "aten::mm" }, 20, 30, false, 0, 0 },
          "unclear",
          "no_device_activity",
          "The host is in no operator for 40% of the step" },
        { { { "aten::mm" }, 10, 30, false, 0, 600 },
          "host_work",
          "host_work",
          "The loop does other work than its operators: " },
        /* An operator's own cost is 5 us at most. */
        { { { "aten::mm" }, 90, 10, false, 0, 0 },
          "launching",
          "small_operators",
          "Operators cost more than what they compute: 45% of the step." },
        { { { "aten::mm" }, 80, 12, false, 0, 0 },
          "host",
          "host_computes",
          "The host sets the pace" },
        { { { "aten::mm" }, 9, 4, false, 0, 0 },
          "unclear",
          "no_device_activity",
          "The host is in no" },
        /* As with a device: what gains little comes after. */
        { { { "aten::mm" }, 9, 100, false, 100, 0 }, "host", "host_computes", "The host sets the" },
        { { { "aten::mm" }, 9, 90, false, 100, 0 }, "host", "host_computes", "The host sets the" },
        { { { "aten::mm" }, 9, 70, false, 100, 0 }, "host_work", "logging_gap", "The step waits" },
        /* 25 us of scores and 45 of products; a softmax behind a layer is a choice; a fused
           operator. */
        { { { "aten::bmm", "aten::_softmax", "aten::bmm", "aten::mm" }, 10, 25, false, 0, 0 },
          "host",
          "naive_attention",
          "The host sets the pace, busy for 100% of the step; attention stores its scores in "
          "memory: 25% of the step." },
        { { { "aten::mm", "aten::_softmax", "aten::bmm", "aten::mm" }, 10, 25, false, 0, 0 },
          "host",
          "host_computes",
          "The host sets the pace: " },
        { { { "aten::bmm", "aten::_log_softmax", "aten::bmm" }, 10, 33, false, 0, 0 },
          "host",
          "host_computes",
          "The host sets the pace: " },
    };

    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        struct found found = judge_host(&hosts[i].host);
        const struct headline *headline = &found.findings.headline;
        if (strcmp(bottleneck_name(headline->bottleneck), hosts[i].word) != 0 ||
            strcmp(found.findings.items[0].id, hosts[i].first) != 0 ||
            strncmp(headline->text, hosts[i].text, strlen(hosts[i].text)) != 0)
            fail_msg("case %zu: %s, %s: %s", i, found.findings.items[0].id,
                     bottleneck_name(headline->bottleneck), headline->text);
        assert_true((found.findings.healthy[0] != '\0') ==
                    (strcmp(hosts[i].first, "host_computes") == 0 &&
                     findings_first(&found.findings) == NULL));
    }
}

/* An activation of several operators. In place they are an optimizer's; small ones cost by their
 * number. */
/* The same loop, with a trace of a GPU whose rows are missing: nothing can be said of the
 * bottleneck. The default of init_process_group() names NCCL on any machine. */
TEST(a_host_that_had_a_device_is_not_judged_alone)
{
    static const struct {
        struct made_host host;
        const char *members, *word;
    } hosts[] = {
        { { { "aten::mm" }, 10, 30, false, 0, 600 }, "\"schemaVersion\":1", "host_work" },
        { { { "aten::mm", "aten::record_stream" }, 10, 15, false, 0, 600 },
          "\"schemaVersion\":1",
          "unclear" },
        { { { "aten::mm", "nccl:all_to_all" }, 10, 15, false, 0, 600 },
          "\"schemaVersion\":1",
          "unclear" },
        { { { "aten::mm" }, 10, 30, false, 0, 600 },
          "\"distributedInfo\":{\"backend\":\"nccl\"}",
          "unclear" },
        { { { "aten::mm" }, 10, 30, false, 0, 600 },
          "\"distributedInfo\":{\"backend\":\"cpu:gloo,cuda:nccl\"}",
          "host_work" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        struct found found = judge_host_with(&hosts[i].host, hosts[i].members);
        const struct finding *first = &found.findings.items[0];
        bool is_missing = strcmp(hosts[i].word, "unclear") == 0;
        assert_string_equal(bottleneck_name(found.findings.headline.bottleneck), hosts[i].word);
        assert_int_equal(strcmp(first->id, "no_device_activity") == 0, is_missing);
        assert_int_equal(strstr(first->evidence, "its rows are missing") != NULL, is_missing);
        assert_int_equal(found.findings.count, is_missing ? 1 : found.findings.count);
    }
}

/* Where nothing is wrong, the operators that take longest are the answer. */
TEST(a_host_that_computes_names_its_longest_operators)
{
    const struct made_host host = {
        { "aten::mm", "aten::mm", "aten::bmm", "aten::add" }, 5, 45, false, 0, 0
    };
    struct found found = judge_host(&host);

    assert_string_equal(found.findings.items[0].id, "host_computes");
    assert_non_null(strstr(found.findings.items[0].evidence,
                           "; of their own time 50% in aten::mm, 25% in aten::bmm, 25% in "
                           "aten::add"));
    assert_int_equal(found.findings.items[0].where.kind, PLACE_OPERATOR);
}

/* Who calls scaled_dot_product_attention is not told to call it. */
TEST(attention_that_took_its_math_path_is_told_why)
{
    const struct made_host plain = {
        { "aten::bmm", "aten::_softmax", "aten::bmm" }, 10, 33, false, 0, 0
    };
    const struct made_host math = { { "aten::bmm", "aten::_softmax", "aten::bmm",
                                      "aten::_scaled_dot_product_attention_math" },
                                    10,
                                    25,
                                    false,
                                    0,
                                    0 };
    struct found stored = judge_host(&plain), fell_back = judge_host(&math);

    assert_non_null(strstr(found_find(&stored, "naive_attention")->advice, "use fused attention"));
    assert_non_null(
        strstr(found_find(&fell_back, "naive_attention")->advice, "took its math path"));
}

/* The loop computes for 300 us of each step and waits for 700, in which another thread sends
 * gradients for 600. */
TEST(messages_of_a_host_alone_are_communication)
{
    struct found found;
    const struct finding *first;

    made_begin_with("\"schemaVersion\":1");
    for (int i = 0; i < 10; i++) {
        int start = 1000 * i;
        made_step(i, start, start + 1000);
        for (int j = 0; j < 10; j++)
            made_add("cpu_op", "aten::mm", 100, 100, start + 30 * j, start + 30 * j + 30, 0);
        made_add("user_annotation", "gloo:all_reduce", 100, 200, start + 350, start + 950, 0);
    }
    found = found_judge_trace(made_analyse());
    first = &found.findings.items[0];
    assert_string_equal(first->id, "exposed_communication");
    assert_string_equal(bottleneck_name(found.findings.headline.bottleneck), "communication");
    assert_true(fabs(first->lost_ns_per_step / 1000 - 600) <= 10);
    assert_true(found_find(&found, "host_work") == NULL ||
                found_find(&found, "host_work")->lost_ns_per_step < 110e3);
}

TEST(activations_in_pieces_are_found_on_a_host_alone)
{
    static const struct {
        struct made_host host;
        bool found;
    } cases[] = {
        { { { "aten::mul", "aten::tanh", "aten::mm" }, 10, 33, false, 0, 0 }, true },
        { { { "aten::mul_", "aten::addcmul_", "aten::mm" }, 10, 33, false, 0, 0 }, false },
        { { { "aten::mul", "aten::tanh", "aten::mm" }, 4, 80, false, 0, 0 }, false },
        { { { "aten::mul", "aten::tanh", "aten::mm" }, 70, 4, false, 0, 0 }, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct found found = judge_host(&cases[i].host);
        if ((found_find(&found, "unfused_ops") != NULL) != cases[i].found)
            fail_msg("case %zu", i);
    }
}

/* Another program takes the core for 4 ms, in one operator of a hundred. */
TEST(interruptions_do_not_make_operators_large)
{
    struct found found;
    int now = 0;

    made_begin_with("\"schemaVersion\":1");
    for (int i = 0; i < 400; i++) {
        int time = i % 100 == 50 ? 4000 : 3;
        made_add("cpu_op", "aten::add", 100, 100, now, now + time, 0);
        now += time;
    }
    found = found_judge_trace(made_analyse());
    assert_string_equal(found.findings.items[0].id, "small_operators");
}

/* --- Devices that are not read --- */

static void begin_steps_of_operators(const char *category)
{
    made_begin_with("\"deviceProperties\":[]");
    for (int i = 0; i < 4; i++) {
        made_step(i, 1000 * i, 1000 * (i + 1));
        for (int j = 0; j < 20; j++) {
            int at = 1000 * i + 50 * j;
            made_add("cpu_op", "aten::mm", 100, 100, at, at + 8, 0);
            made_add(category, "work", 0, 7, at + 8, at + 48, 20 * i + j + 1);
        }
    }
}

/* Kineto's categories. Where the work is "kernel", as that of Intel's GPUs is, the device is
 * read. */
TEST(a_device_that_is_not_read_is_all_that_is_said)
{
    static const struct {
        const char *category, *device;
    } devices[] = {
        { "mtia_ccp_events", "an MTIA" },
        { "hpu_op", "Gaudi" },
        { "kernel", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        struct found found;
        begin_steps_of_operators(devices[i].category);
        found = found_judge_trace(made_analyse());
        if (devices[i].device != NULL) {
            assert_int_equal(found.findings.count, 1);
            assert_string_equal(found.findings.items[0].id, "unread_device");
            assert_int_equal(found.findings.headline.bottleneck, BOTTLENECK_UNSUPPORTED);
            assert_non_null(strstr(found.findings.headline.text, devices[i].device));
        } else {
            assert_null(found_find(&found, "unread_device"));
            assert_int_equal(found.findings.headline.bottleneck, BOTTLENECK_DEVICE);
        }
    }
}

/* XLA's profiler gives no categories, only names of processes. PyTorch's gives "python" and "GPU
 * 0". */
TEST(another_profiler_is_told_by_its_processes)
{
    static const struct {
        const char *processes[2];
        const char *category, *said;
    } profilers[] = {
        { FIELDS("/host:CPU", "/device:TPU:0"), "", "a TPU" },
        { FIELDS("/device:TPU:0", "/host:CPU"), "", "a TPU" },
        { FIELDS("/host:CPU", "/device:GPU:0 (NVIDIA A100)"), "", "a GPU, by XLA's" },
        { FIELDS("/host:CPU", ""), "", "a host, by XLA's" },
        { FIELDS("/job:localhost/replica:0/task:0/device:GPU:0 Compute", ""), "Op",
          "TensorFlow's" },
        { FIELDS("Python", "Ascend Hardware"), "cpu_op", "an Ascend NPU" },
        { FIELDS("CPU HIP API", "GPU0"), "", "rocprof" },
        { FIELDS("python", ""), "POSIX", "DFTracer" },
        { FIELDS("some program", ""), "its own", "not known" },
        { FIELDS("python", "GPU 0"), "cpu_op", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(profilers); i++) {
        struct found found;
        made_begin();
        for (int process = 0; process < 2; process++)
            made_add_process(process, profilers[i].processes[process]);
        for (int j = 0; j < 20; j++)
            made_add(profilers[i].category, "fusion", 1, 3, 100 * j, 100 * j + 90, 0);
        found = found_judge_trace(made_analyse());
        assert_true((found_find(&found, "unread_device") != NULL) == (profilers[i].said != NULL));
        if (profilers[i].said != NULL)
            assert_non_null(strstr(found.findings.headline.text, profilers[i].said));
    }
}
