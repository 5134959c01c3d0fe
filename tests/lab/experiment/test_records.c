/* Records: there and back, and whatever a crashed child leaves. */
#include "harness/base/random.h"
#include "harness/lab/experiment/records.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

static struct record sample_repetition(double *step_ns)
{
    struct record record = { .type = RECORD_REPETITION, .variant = VARIANT_AFTER, .index = 3 };
    struct repetition *repetition = &record.repetition;

    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++) repetition->metric[m] = 1.5 * m + 0.1;
    for (int i = 0; i < LOSS_STEPS; i++) repetition->losses[i] = 2.30258512f / (float)(i + 1);
    for (int i = 0; i < 3; i++) step_ns[i] = 1e6 / (i + 3);
    repetition->steps = 40;
    repetition->samples = 320;
    repetition->wall_ns = 123456789012345;
    repetition->cpu_ns = 234567890123456;
    repetition->damaged_samples = 2;
    repetition->warmup_steps = 58;
    repetition->warmed_up = true;
    repetition->step_ns = step_ns;
    repetition->step_count = 3;
    return record;
}

/* The line that was sent, and the record that came back; both are freed at the end of each test. */
static char *line;
static struct record back;

static int forget(void **state)
{
    record_release(&back);
    free(line);
    line = NULL;
    return 0;
}

static void send_and_read(const struct record *sent)
{
    void *none = NULL;

    forget(&none);
    line = record_print(sent);
    assert_non_null(line);
    assert_null(strchr(line, '\n'));
    assert_true(record_parse(&back, line));
    assert_int_equal(back.type, sent->type);
}

TEST(a_repetition_comes_back_as_it_was)
{
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);

    send_and_read(&sent);
    assert_null(strstr(line, metric_name(METRIC_NONE)));
    assert_int_equal(back.variant, VARIANT_AFTER);
    assert_int_equal(back.index, 3);
    assert_true(back.repetition.steps == 40 && back.repetition.samples == 320);
    assert_true(back.repetition.wall_ns == 123456789012345);
    assert_true(back.repetition.cpu_ns == 234567890123456);
    assert_true(back.repetition.damaged_samples == 2 && back.repetition.warmup_steps == 58);
    assert_true(back.repetition.warmed_up);
    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        assert_true(back.repetition.metric[m] == sent.repetition.metric[m]);
    assert_int_equal(back.repetition.step_count, 3);
    for (int i = 0; i < 3; i++) assert_float_equal(back.repetition.step_ns[i], step_ns[i], 1e-6);
    assert_memory_equal(back.repetition.losses, sent.repetition.losses,
                        sizeof sent.repetition.losses);
}

TEST(vitals_come_back_as_they_were_and_unknown_where_there_were_none)
{
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);
    struct device_vitals *vitals = sent.repetition.vitals;

    vitals[0] = device_vitals_unknown;
    vitals[1] = (struct device_vitals){ .clock_mhz = 1755,
                                        .memory_clock_mhz = NAN,
                                        .temperature_c = 61,
                                        .power_w = 412.345,
                                        .power_limited_ns = 1.5e12,
                                        .thermal_limited_ns = 0,
                                        .limits = LIMIT_POWER | LIMIT_IDLE };
    send_and_read(&sent);
    assert_false(vitals_are_known(&back.repetition.vitals[0]));
    assert_true(back.repetition.vitals[1].clock_mhz == 1755);
    assert_true(isnan(back.repetition.vitals[1].memory_clock_mhz));
    assert_true(back.repetition.vitals[1].temperature_c == 61);
    assert_true(back.repetition.vitals[1].power_w == 412.345);
    assert_true(back.repetition.vitals[1].power_limited_ns == 1.5e12);
    assert_true(back.repetition.vitals[1].thermal_limited_ns == 0);
    assert_int_equal(back.repetition.vitals[1].limits, LIMIT_POWER | LIMIT_IDLE);
}

TEST(losses_keep_every_bit)
{
    struct random random = random_seed(test_seed(), 0);
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);

    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < LOSS_STEPS; i++)
            sent.repetition.losses[i] =
                ldexpf(1 + random_uniform(&random), (int)random_below(&random, 250) - 125);
        send_and_read(&sent);
        assert_memory_equal(back.repetition.losses, sent.repetition.losses,
                            sizeof sent.repetition.losses);
    }
}

TEST(what_is_not_finite_is_null_and_comes_back_as_nan)
{
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);

    sent.repetition.metric[METRIC_DATA_WAIT] = NAN;
    sent.repetition.metric[METRIC_STEP_TIME] = INFINITY;
    sent.repetition.losses[2] = -INFINITY;
    step_ns[1] = NAN;
    send_and_read(&sent);
    assert_null(strstr(line, "nan"));
    assert_null(strstr(line, "inf"));
    assert_true(isnan(back.repetition.metric[METRIC_DATA_WAIT]));
    assert_true(isnan(back.repetition.metric[METRIC_STEP_TIME]));
    assert_true(isnan(back.repetition.losses[2]));
    assert_true(isnan(back.repetition.step_ns[1]));
    assert_true(isfinite(back.repetition.losses[1]));
}

TEST(the_cost_of_tracing_comes_back_as_it_was)
{
    struct record sent = { .type = RECORD_TRACING,
                           .tracing = { .steps = 40,
                                        .windows = 3,
                                        .step_time_us = 1234.5678,
                                        .traced_step_time_us = 1240.25,
                                        .spread = 0.0625,
                                        .rows = 123456,
                                        .dropped = 7,
                                        .counters = { 0.75, 0.5, 0.25, 0.125 } } };

    send_and_read(&sent);
    assert_memory_equal(&back.tracing, &sent.tracing, sizeof sent.tracing);
    sent.tracing.counters = HARDWARE_COUNTERS_UNKNOWN;
    strcpy(sent.tracing.counters_reason, "the driver allows it to root alone");
    send_and_read(&sent);
    assert_string_equal(back.tracing.counters_reason, sent.tracing.counters_reason);
    assert_false(hardware_counters_known(&back.tracing.counters));
}

/* Fields are numbered, so that two that change places are noticed, too. */
TEST(every_field_of_a_device_comes_back)
{
    struct record sent;
    int number = 0;

    memset(&sent, 0, sizeof sent); /* padding included: the structs are compared byte by byte */
    sent.type = RECORD_SCENARIO;
#define FILL_TEXT(field, size) snprintf(sent.device.field, size, "t%d", ++number);
#define FILL_INT(field)        sent.device.field = ++number;
#define FILL_INT64(field)      sent.device.field = ++number + (INT64_C(1) << 40);
#define FILL_BOOL(field)       sent.device.field = true;
#define FILL_DOUBLE(field)     sent.device.field = ++number + 0.5;
    DEVICE_FIELDS(FILL_TEXT, FILL_INT, FILL_INT64, FILL_BOOL, FILL_DOUBLE)
    DEVICE_TRAITS(FILL_BOOL, FILL_DOUBLE)
    send_and_read(&sent);

    assert_int_equal(back.device.cuda_runtime, sent.device.cuda_runtime);
    assert_string_equal(back.device.attention_library, sent.device.attention_library);
    assert_memory_equal(&back.device, &sent.device, sizeof sent.device);
}

TEST(device_settings_and_balance_come_back_as_they_were)
{
    struct record sent = {
        .type = RECORD_SCENARIO,
        .device = { .kind = "cuda",
                    .name = "NVIDIA H200 \"test\"",
                    .isa = "sm_90",
                    .gemm_library = "cuBLAS 13",
                    .index = 3,
                    .memory_bytes = 151000000000,
                    .multiprocessors = 132,
                    .warp_lanes = 32,
                    .host_cores = 16,
                    .launch_ns = 2100.5,
                    .spin_ns = -1,
                    .bf16_matrix_units = true,
                    .tf32 = true,
                    .compute_capability = 90 },
        .settings = { "model=balanced workers=0", "model=balanced workers=2" },
        .fp32 = { true, false },
        .balance = { true, 1.5e6, 3e6, 0.5, 96 },
        .window_seconds = 0.3,
    };

    send_and_read(&sent);
    assert_string_equal(back.device.kind, "cuda");
    assert_string_equal(back.device.name, sent.device.name);
    assert_string_equal(back.device.isa, "sm_90");
    assert_string_equal(back.device.gemm_library, "cuBLAS 13");
    assert_true(back.device.memory_bytes == 151000000000);
    assert_int_equal(back.device.index, 3);
    assert_int_equal(back.device.multiprocessors, 132);
    assert_int_equal(back.device.warp_lanes, 32);
    assert_int_equal(back.device.host_cores, 16);
    assert_int_equal(back.device.spin_ns, -1);
    assert_int_equal(back.device.compute_capability, 90);
    assert_true(back.device.launch_ns == 2100.5);
    assert_true(back.device.bf16_matrix_units && back.device.tf32);
    assert_false(back.device.doorbell || back.device.fused_attention ||
                 back.device.shares_host_cores || back.device.fp16_matrix_units);
    assert_string_equal(back.settings[VARIANT_BEFORE], sent.settings[VARIANT_BEFORE]);
    assert_string_equal(back.settings[VARIANT_AFTER], sent.settings[VARIANT_AFTER]);
    assert_true(back.fp32[VARIANT_BEFORE] && !back.fp32[VARIANT_AFTER]);
    assert_true(back.balance.measured && back.balance.ratio == 0.5 &&
                back.balance.host_ns == 1.5e6 && back.balance.device_ns == 3e6);
    assert_int_equal(back.balance.jpeg_pixels, 96);
    assert_true(back.window_seconds == 0.3);
}

TEST(texts_may_hold_anything)
{
    struct record sent = { .type = RECORD_ERROR, .text = "a \"quoted\"\nsecond line\t\\ \x01" };

    send_and_read(&sent);
    assert_string_equal(back.text, sent.text);
}

TEST(no_line_that_was_cut_is_a_record)
{
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);

    send_and_read(&sent);
    record_release(&back);
    for (size_t length = strlen(line); length-- > 0;) {
        line[length] = '\0';
        assert_false(record_parse(&back, line));
    }
}

TEST(garbage_is_no_record)
{
    static const char *const lines[] = {
        "",
        "Segmentation fault",
        "null",
        "[]",
        "3",
        "\"end\"",
        "{}",
        "{\"type\":3}",
        "{\"type\":\"unheard of\"}",
        "{\"type\":\"end\"} trailing",
        "{\"type\":\"end\"}{\"type\":\"end\"}",
        "{\"type\":\"repetition\"}",
        "{\"type\":\"scenario\"}",
        "{\"type\":\"scenario\",\"device\":7}",
        "\xff\xfe\xfd",
    };

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) assert_false(record_parse(&back, lines[i]));
}

/* Replaces `from` in the line by `to`; the caller frees it. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(line, from);
    char *result = malloc(strlen(line) + strlen(to) + 1);

    assert_non_null(at);
    assert_non_null(result);
    sprintf(result, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
    return result;
}

TEST(a_repetition_with_impossible_values_is_refused)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        { "\"index\":3", "\"index\":-1" },
        { "\"index\":3", "\"index\":\"three\"" },
        { "\"variant\":\"after\"", "\"variant\":\"during\"" },
        { "\"losses\":[", "\"losses\":[0," },
        { "\"metrics\":{", "\"metrics\":7,\"m\":{" },
        { "\"steps\":40", "\"steps\":1e300" },
        { "\"steps\":40", "\"steps\":-40" },
        { "\"step_ns\":[", "\"step_ns\":[\"x\"," },
    };
    double step_ns[3];
    struct record sent = sample_repetition(step_ns);

    send_and_read(&sent);
    record_release(&back);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *other = changed(cases[i].from, cases[i].to);
        assert_false(record_parse(&back, other));
        free(other);
    }
}

TEST(writing_tells_when_nobody_reads)
{
    struct record end = { .type = RECORD_END };
    int ends[2];
    char bytes[64] = "";

    assert_int_equal(pipe(ends), 0);
    assert_ok(record_write(ends[1], &end));
    assert_ok(record_write(-1, &end));
    assert_int_equal(read(ends[0], bytes, sizeof bytes), (int)strlen("{\"type\":\"end\"}\n"));
    assert_string_equal(bytes, "{\"type\":\"end\"}\n");
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(record_write(ends[1], &end), STATUS_IO);
    close(ends[1]);
}

TESTS_EACH(NULL, forget)
