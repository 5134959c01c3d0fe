/* The parts of benches, and that each of the list passes its own check and gives all back. */
#include "benches/benches.h"
#include "benches/parts/operand.h"
#include "benches/roofs.h"
#include "harness/bench/bench_measure.h"
#include "harness/device/driver.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <math.h>

TEST(a_roof_is_what_takes_longer_bytes_or_flops)
{
    static const struct {
        enum roof roof;
        int64_t bytes, flops;
        double bus_factor, roof_ns;
    } cases[] = {
        { ROOF_NONE, 1000, 1000, 0, 0 },       { ROOF_MEMORY, 1000, 1 << 20, 0, 100 },
        { ROOF_MEMORY, 1000, 0, 0.75, 150 }, /* sent, and received */
        { ROOF_PRODUCTS, 1000, 1000, 0, 100 }, { ROOF_PRODUCTS, 1000, 5000, 0, 250 },
    };
    const struct roofs roofs = { 1e10, { 2e10, 0, 0, 0 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bench bench = { .roof = cases[i].roof, .dtype = DTYPE_F32 };
        struct bench_result result = { .bytes = cases[i].bytes,
                                       .flops = cases[i].flops,
                                       .bus_factor = cases[i].bus_factor };
        roofs_apply(&roofs, &bench, &result);
        assert_float_equal(result.roof_ns, cases[i].roof_ns, 1e-9);
    }
}

TEST(limits_are_measured_once_and_only_where_they_bound)
{
    struct device *device = *state;
    const struct bench memory = { .roof = ROOF_MEMORY }, none = { .roof = ROOF_NONE };
    struct roofs roofs = { 0, { 0 } };

    roofs_measure(&roofs, &none, device);
    assert_true(roofs.bytes_per_second == 0);
    roofs_measure(&roofs, &memory, device);
    assert_true(roofs.bytes_per_second > 1e8);
    for (int i = 0; i < ROOF_PEAKS; i++) assert_true(roofs.flops_per_second[i] == 0);
    roofs.bytes_per_second = 7;
    roofs_measure(&roofs, &memory, device);
    assert_true(roofs.bytes_per_second == 7);
}

TEST(a_share_of_an_unknown_ceiling_is_unknown)
{
    const struct roofs roofs = { 1e10, { 2e10, 0, 3e10, -1 } };

    assert_int_equal(roof_peak_find("bf16"), 2);
    assert_int_equal(roof_peak_find("fp64"), ROOF_PEAKS);
    assert_float_equal(roofs_ceilings(&roofs, roof_peak_find("bf16")).flops_per_second, 3e10, 0);
    assert_float_equal(roofs_ceilings(&roofs, 0).bytes_per_second, 1e10, 0);
    assert_float_equal(ceiling_share(5e9, 2e10), 0.25, 1e-9);
    assert_true(isnan(ceiling_share(5e9, roofs_ceilings(&roofs, 1).flops_per_second)));
    assert_true(isnan(ceiling_share(5e9, roofs_ceilings(&roofs, 3).flops_per_second)));
    assert_true(isnan(ceiling_share(NAN, 1)));
}

TEST(a_quick_measurement_leaves_what_is_known)
{
    struct roofs roofs = { 7, { 0, 0, 8, 0 } };

    roofs_measure_quickly(&roofs, 2, *state);
    assert_true(roofs.bytes_per_second == 7 && roofs.flops_per_second[2] == 8);
    roofs_measure_quickly(&roofs, 0, *state);
    assert_true(roofs.flops_per_second[0] > 1e8);
    assert_true(roofs.bytes_per_second == 7 && roofs.flops_per_second[1] == 0);
}

static const struct bench *bench_named(const char *name)
{
    for (int i = 0; i < bench_count; i++)
        if (strcmp(benches[i]->name, name) == 0)
            return benches[i];
    fail_msg("there is no bench %s", name);
    return NULL;
}

/* The step counts what the benches of its products count: then shares of a ceiling compare. */
TEST(the_steps_products_count_as_their_benches_do)
{
    static const struct {
        const char *bench, *op;
    } pairs[] = {
        { "gemm_qkv_fp32", "block0.qkv_linear" },
        { "gemm_out_fp32", "block0.projection_linear" },
        { "gemm_up_fp32", "block0.expand_linear" },
        { "gemm_down_fp32", "block0.contract_linear" },
    };
    struct training *training = open_training(*state, "model=balanced precision=fp32");
    const struct encoder *encoder = training->encoder;
    const struct bench_settings settings = { .iterations = 1, .repetitions = 1, .seed = 1 };
    struct bench_result result;

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        int found = 0;
        assert_ok(bench_measure(&result, bench_named(pairs[i].bench), encoder->shape.width, *state,
                                &settings));
        for (int op = 0; op < encoder->op_count; op++) {
            if (strcmp(encoder->ops[op].name, pairs[i].op) != 0)
                continue;
            assert_int_equal(encoder->ops[op].forward.flops, result.flops);
            assert_int_equal(encoder->ops[op].forward.bytes, result.bytes);
            found++;
        }
        assert_int_equal(found, 1);
    }
    training_close(training);
}

/* All copies together are four caches, they do not overlap, and each takes its turn. */
TEST(a_cold_row_comes_back_to_data_only_after_four_caches_of_other_data)
{
    enum { COUNT = 1 << 16, BYTES = COUNT * 4 };
    struct device *device = *state;
    const struct bench cold = { .name = "x_cold", .cold = true }, warm = { .name = "x" };
    struct bench_work work = { .bench = &cold, .device = device, .copies = 1 };
    struct operand operand = { .count = 0 };
    int64_t cache = device_properties(device)->cache_bytes;

    assert_ok(stream_create(device, &work.stream));
    operands_rotate(&work, BYTES);
    assert_true((int64_t)work.copies * BYTES >= 4 * (cache > 0 ? cache : 1));
    assert_ok(operand_open(&operand, &work, DTYPE_F32, COUNT));
    for (int i = 0; i < work.copies; i++) {
        int64_t copy = operands_next(&work);
        assert_int_equal(copy, i);
        assert_true((char *)operand_at(&operand, copy) == operand.device + (size_t)i * BYTES);
    }
    assert_int_equal(operands_next(&work), 0);
    bench_free(&work);
    work.bench = &warm;
    operands_rotate(&work, BYTES);
    assert_int_equal(work.copies, 1);
    stream_destroy(work.stream);
}

/* Operands are read back as they were written, copies too; they are not zeros, and take as many
 * different values as the type has between -1 and 1. */
TEST(operands_hold_random_values_that_are_exact_in_their_type)
{
    static const struct {
        enum dtype dtype;
        double step;
    } cases[] = { { DTYPE_F32, 0x1p-23 }, { DTYPE_BF16, 0x1p-7 }, { DTYPE_F16, 0x1p-10 } };
    enum { COUNT = 1 << 15 };
    struct device *device = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct bench bench = { .name = "x" };
        struct bench_work work = { .bench = &bench, .device = device, .copies = 2 };
        struct operand operand = { .count = 0 };
        double squares = 0, first, least = 1, most = -1;

        work.random = random_seed(1, i);
        assert_ok(stream_create(device, &work.stream));
        assert_ok(operand_open(&operand, &work, cases[i].dtype, COUNT));
        first = operand_value(&operand, 0);
        memset(operand.host, 0, COUNT * dtype_bytes(cases[i].dtype));
        operand.device += operand.stride; /* the second copy */
        assert_ok(operand_read(&operand, &work));
        operand.device -= operand.stride;
        assert_true(operand_value(&operand, 0) == first);
        for (int64_t j = 0; j < COUNT; j++) {
            double value = operand_value(&operand, j);
            assert_true(fmod(value, cases[i].step) == 0 && fabs(value) <= 1);
            squares += value * value / COUNT;
            least = fmin(least, value);
            most = fmax(most, value);
        }
        assert_true(squares > 0.32 && squares < 0.35); /* a third */
        assert_true(least < -0.99 && most > 0.99);
        bench_free(&work);
        stream_destroy(work.stream);
    }
}

static bool is_lacking(const struct bench *bench, struct device *device)
{
    return bench->lack != NULL && bench->lack(bench, device_properties(device)) != NULL;
}

/* Rows of each bench, from the smallest on, which is all that a sanitizer needs. */
#ifdef __SANITIZE_ADDRESS__
enum { ROWS_MOST = 1 };
#else
enum { ROWS_MOST = BENCH_ARGUMENTS };
#endif

/* Each row of each bench: set up, which checks the result, and one iteration. A cold row takes four
 * times the cache, which on a server is gigabytes: here the cache is said to be so small that the
 * smallest cold row has some copies. */
TEST(every_bench_passes_its_own_check_and_gives_all_back)
{
    enum { SMALL_CACHE = 1 << 20 };
    struct device *device = *state;
    int64_t cache = device->properties.cache_bytes;
    struct bench_settings settings = bench_settings_default();
    struct memory_info before, after;
    struct bench_result result;

    settings.iterations = 1;
    settings.repetitions = 1;
    device->properties.cache_bytes = SMALL_CACHE;
    assert_ok(device_memory_info(device, &before));
    for (int i = 0; i < bench_count; i++) {
        const struct bench *bench = benches[i];
        int count;
        const int64_t *arguments = bench_arguments(bench, device_properties(device), &count);
        if (is_lacking(bench, device))
            continue;
        for (int j = 0; j < count && j < ROWS_MOST; j++) {
            if (bench_measure(&result, bench, arguments[j], device, &settings) != STATUS_OK)
                fail_msg("%s: %s", result.name, status_last()->text);
            assert_int_equal(result.count, 1);
            assert_true(result.real_ns[0] > 0);
            assert_true(bench->roof == ROOF_NONE || result.bytes > 0);
            assert_true(bench->roof != ROOF_PRODUCTS || result.flops > 0);
        }
    }
    device->properties.cache_bytes = cache;
    assert_ok(device_memory_info(device, &after));
    assert_int_equal(after.used, before.used);
}

/* One row with the `call`-th call of a kind failing. True when that call was made. */
static bool fails_cleanly(const struct bench *bench, const char *kind, int call)
{
    struct bench_settings settings = bench_settings_default();
    const struct device_options options = { .spin_ns = 0 };
    struct device *failing = NULL;
    struct bench_result result;
    struct memory_info info;
    enum status status;
    char fault[40];
    int count;

    settings.iterations = 1;
    settings.repetitions = 1;
    snprintf(fault, sizeof fault, "%s:%d", kind, call);
    setenv("CHOKEPOINT_FAIL", fault, 1);
    status = device_open(&failing, "cpu", &options);
    unsetenv("CHOKEPOINT_FAIL");
    assert_int_equal(status, STATUS_OK);
    status =
        bench_measure(&result, bench, bench_arguments(bench, device_properties(failing), &count)[0],
                      failing, &settings);
    if (status != STATUS_OK && strstr(status_last()->text, "injected") == NULL)
        fail_msg("%s with %s: %s", bench->name, fault, status_last()->text);
    if (device_memory_info(failing, &info) != STATUS_OK || info.used != 0)
        fail_msg("%s with %s: %lld bytes are left", bench->name, fault, (long long)info.used);
    assert_int_equal(result.count, status == STATUS_OK);
    device_close(failing);
    return status != STATUS_OK;
}

/* Cold rows are the same code with more data. */
TEST(whatever_call_fails_a_bench_says_so_and_gives_all_back)
{
    static const char *const kinds[] = { "alloc", "host_alloc", "stream", "event",
                                         "copy",  "memset",     "launch", "gemm",
                                         "graph", "sync",       "kernel" };
    enum { CALLS = 6 };
    struct device *device = *state;
    int failed = 0;

    for (int i = 0; i < bench_count; i++) {
        if (benches[i]->cold || is_lacking(benches[i], device))
            continue;
        for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++)
            for (int call = 1; call <= CALLS && fails_cleanly(benches[i], kinds[kind], call);
                 call++)
                failed++;
    }
    assert_true(failed > 10 * bench_count);
}

TEST(names_are_different_and_those_of_cold_rows_say_so)
{
    for (int i = 0; i < bench_count; i++) {
        assert_true((strstr(benches[i]->name, "_cold") != NULL) == benches[i]->cold);
        for (int j = 0; j < i; j++) assert_string_not_equal(benches[i]->name, benches[j]->name);
    }
}

TEST(a_check_lets_neither_a_wrong_value_nor_nan_pass)
{
    uint16_t bf16[] = { 0x3f80, 0x3f81 }; /* 1 and what comes next */
    const struct operand operand = { .dtype = DTYPE_BF16, .count = 2, .host = bf16 };

    assert_ok(value_check("x", 3, 1.05, 1, 0.1));
    assert_int_equal(value_check("x", 3, 1.2, 1, 0.1), STATUS_INTERNAL);
    assert_string_equal(status_last()->text, "x computes wrongly: element 3 is 1.2, not 1");
    assert_int_equal(value_check("x", 3, NAN, 1, 0.1), STATUS_INTERNAL);
    assert_int_equal(value_check("x", 3, 1, NAN, 0.1), STATUS_INTERNAL);
    assert_ok(operand_check(&operand, "x", 1, 1.004, 0));
    assert_int_equal(operand_check(&operand, "x", 1, 1.02, 0), STATUS_INTERNAL);
    assert_int_equal(operand_check(&operand, "x", 0, -1, 0), STATUS_INTERNAL);
}

TESTS_WITH(open_device, close_device)
