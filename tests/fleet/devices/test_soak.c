/* Soaking: equal bits, a wrong one found and named, errors, an early end, and the rows of readings
 * that are made up. */
#include "harness/base/random.h"
#include "harness/device/driver.h"
#include "harness/device/faults.h"
#include "harness/fleet/devices/soak.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>

/* Small enough for a stand-in, too. */
static const char small[] = "model=light blocks=1 batch=2";

enum { OPENED = 2 /* runs of a part before its first iteration */ };

static const struct device_properties a_gpu = { .is_gpu = true }, a_cpu = { .is_gpu = false };

static void soaked(struct soak *soak, const char *faults, double seconds)
{
    const struct soak_plan plan = { .seconds = seconds, .settings = small };
    struct device *device;

    setenv("CHOKEPOINT_FAIL", faults, 1);
    OK(test_device_open(&device, NULL));
    OK(soak_run(soak, device, &plan));
    device_close(device);
    unsetenv("CHOKEPOINT_FAIL");
}

static void assert_row(const struct checks *checks, const char *name, enum check_status status,
                       const char *value)
{
    const struct check *row = checks_find(checks, name);

    if (row == NULL)
        fail_msg("there is no row %s", name);
    if (row->status != status || strstr(row->value, value) == NULL)
        fail_msg("%s is %s, \"%s\"; expected %s, \"%s\"", name, check_status_name(row->status),
                 row->value, check_status_name(status), value);
    assert_int_equal(row->advice[0] == '\0', status == CHECK_OK);
}

TEST(a_device_that_is_well_computes_the_same_each_time)
{
    struct checks checks = { .count = 0 };
    struct soak soak;

    soaked(&soak, "", 0.5);
    soak_check(&checks, &soak, &a_cpu);
    assert_true(soak.seconds >= 0.5);
    assert_row(&checks, "soak_time", CHECK_OK, "of 0.5 s");
    for (int i = 0; i < SOAK_PARTS; i++) {
        assert_true(soak.parts[i].iterations >= 1);
        assert_int_equal(soak.parts[i].iterations, soak.parts[0].iterations);
        assert_int_equal(soak.parts[i].differing, 0);
        assert_true(soak_step_ns(&soak.parts[i]) > 0);
    }
    assert_row(&checks, "soak_fp32_bits", CHECK_OK, "equal");
    assert_row(&checks, "soak_bf16_bits", CHECK_OK, "equal");
    assert_row(&checks, "soak_ecc", CHECK_NONE, "-");
    soak_release(&soak);
}

/* Launches of the kernel in an iteration, the same in both precisions, each of which has three. */
static int64_t launches_each(int kernel, const char *name)
{
    char flip[64];
    const struct soak_plan plan = { .seconds = 1e-9, .settings = small };
    struct device *device;
    struct soak soak;
    int64_t all;

    snprintf(flip, sizeof flip, "flip:%s:%lld", name, 1ll << 40);
    setenv("CHOKEPOINT_FAIL", flip, 1);
    OK(test_device_open(&device, NULL));
    OK(soak_run(&soak, device, &plan));
    all = device->ledger->faults.flips[0].so_far;
    assert_int_equal(device->ledger->faults.flips[0].kernel, kernel);
    soak_release(&soak);
    device_close(device);
    unsetenv("CHOKEPOINT_FAIL");
    assert_int_equal(all % (SOAK_PARTS * (OPENED + 1) * SOAK_STEPS), 0);
    return all / (SOAK_PARTS * (OPENED + 1));
}

/* In the first iteration of either precision, which the rows must name, with the step, and the
 * other must not. */
TEST(a_wrong_bit_is_found_in_each_precision)
{
    static const struct {
        int kernel;
        const char *name;
    } kernels[] = {
        { FLIP_GEMM, "gemm" },
        { KERNEL_layernorm_forward, "layernorm_forward" },
        { KERNEL_softmax_backward, "softmax_backward" },
        { KERNEL_adamw_multi, "adamw_multi" },
        { KERNEL_token_embedding_backward, "token_embedding_backward" },
    };
    const char *most = getenv("CHOKEPOINT_TEST_FLIPS");
    struct random random = random_seed(test_seed(), 0);
    int count = most != NULL ? atoi(most) : 5;

    for (int i = 0; i < SOAK_PARTS * count; i++) {
        int part = i % SOAK_PARTS, k = i / SOAK_PARTS % (int)ARRAY_SIZE(kernels);
        int64_t each = launches_each(kernels[k].kernel, kernels[k].name);
        int64_t number = (int64_t)random_below(&random, (uint32_t)each);
        struct checks checks = { .count = 0 };
        struct soak soak;
        const struct soak_part *hit = &soak.parts[part], *other = &soak.parts[1 - part];
        char flip[96], name[40];

        snprintf(flip, sizeof flip, "flip:%s:%lld:%llu", kernels[k].name,
                 (long long)((SOAK_PARTS * OPENED + part) * each + number + 1),
                 (unsigned long long)random_bits(&random));
        soaked(&soak, flip, 0.05);
        soak_check(&checks, &soak, &a_cpu);
        print_message("%s %s: step %d, %s, after %s\n", hit->precision, flip, hit->difference.step,
                      hit->difference.tensor, hit->difference.after);
        assert_int_equal(other->differing, 0);
        assert_int_equal(hit->differing, 1);
        assert_int_equal(hit->first, 1);
        assert_int_equal(hit->difference.step, 1 + number / (each / SOAK_STEPS));
        snprintf(name, sizeof name, "soak_%s_bits", hit->precision);
        assert_row(&checks, name, CHECK_FAIL, hit->difference.tensor);
        assert_non_null(strstr(checks_find(&checks, name)->advice, "first in iteration 1, step "));
        assert_int_equal(checks.counts[CHECK_FAIL], 1);
        soak_release(&soak);
    }
}

TEST(an_error_of_the_device_ends_its_precision)
{
    struct checks checks = { .count = 0 };
    const struct soak_plan plan = { .seconds = 1e-9, .settings = small };
    struct device *device;
    struct soak soak;
    char fault[64];
    int64_t gemms;

    gemms = launches_each(FLIP_GEMM, "gemm");
    snprintf(fault, sizeof fault, "gemm:%lld", (long long)(SOAK_PARTS * OPENED * gemms + 1));
    soaked(&soak, fault, 0.1);
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_fp32_bits", CHECK_FAIL, "failed");
    assert_non_null(strstr(checks_find(&checks, "soak_fp32_bits")->advice, "injected"));
    assert_row(&checks, "soak_bf16_bits", CHECK_OK, "equal");
    soak_release(&soak);

    /* Memory that is not there: the other precision is soaked all the same. */
    checks = (struct checks){ .count = 0 };
    soaked(&soak, "alloc:1,alloc:2", 0.1);
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_fp32_bits", CHECK_NONE, "unknown");
    assert_row(&checks, "soak_bf16_bits", CHECK_OK, "equal");
    soak_release(&soak);

    /* Nothing runs. */
    checks = (struct checks){ .count = 0 };
    setenv("CHOKEPOINT_FAIL", "stream:1,stream:2", 1);
    OK(test_device_open(&device, NULL));
    OK(soak_run(&soak, device, &plan));
    device_close(device);
    unsetenv("CHOKEPOINT_FAIL");
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_time", CHECK_FAIL, "0.0 of 0.0 s");
    assert_row(&checks, "soak_fp32_bits", CHECK_FAIL, "failed");
    soak_release(&soak);
}

static void note_progress(void *context, const struct soak *soak)
{
    int64_t *iterations = context;

    *iterations = soak->parts[0].iterations;
}

TEST(a_soak_that_is_stopped_has_its_rows)
{
    const volatile sig_atomic_t stop = 1;
    int64_t iterations = 0;
    const struct soak_plan plan = { .seconds = 3600,
                                    .settings = small,
                                    .stop = &stop,
                                    .progress = note_progress,
                                    .context = &iterations };
    struct checks checks = { .count = 0 };
    struct device *device;
    struct soak soak;

    OK(test_device_open(&device, NULL));
    OK(soak_run(&soak, device, &plan));
    device_close(device);
    soak_check(&checks, &soak, &a_cpu);
    assert_int_equal(iterations, 1);
    assert_row(&checks, "soak_time", CHECK_LOW, "of 3600.0 s");
    assert_row(&checks, "soak_fp32_bits", CHECK_OK, "equal");
    assert_row(&checks, "soak_fp32_drift", CHECK_NONE, "unknown");
    soak_release(&soak);
}

TEST(the_last_tenth_is_compared_with_the_first)
{
    static double times[100];
    struct soak soak = { .seconds = 10,
                         .planned_seconds = 10,
                         .parts = { { .precision = "fp32", .iterations = 100, .step_ns = times },
                                    { .precision = "bf16", .iterations = 49, .step_ns = times } } };
    struct checks checks = { .count = 0 };

    for (int i = 0; i < 100; i++) times[i] = i < 10 ? 1000 : i < 90 ? 2000 : 1200;
    times[95] = 1e9; /* One pause is no drift. */
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_fp32_step", CHECK_OK, "2 us");
    assert_row(&checks, "soak_fp32_drift", CHECK_LOW, "+20.0%");
    assert_true(fabs(checks_find(&checks, "soak_fp32_drift")->number - 20) < 1e-9);
    assert_row(&checks, "soak_bf16_drift", CHECK_NONE, "unknown");
    soak.disturbed = true;
    checks = (struct checks){ .count = 0 };
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_fp32_drift", CHECK_NONE, "+20.0%");
    for (int i = 90; i < 100; i++) times[i] = 1099;
    checks = (struct checks){ .count = 0 };
    soak_check(&checks, &soak, &a_cpu);
    assert_row(&checks, "soak_fp32_drift", CHECK_OK, "+9.9%");
}

/* --- Readings --- */

static struct device_health reading(double mhz, double celsius, double watts, int limits)
{
    struct device_health health = device_health_unknown;

    health.now.clock_mhz = mhz;
    health.now.temperature_c = celsius;
    health.now.power_w = watts;
    health.now.limits = limits;
    health.now.thermal_limited_ns = 5e9;
    health.clock_max_mhz = 1980;
    health.ecc = 1;
    health.ecc_uncorrected = 3;
    return health;
}

static void check_readings(struct checks *checks, const struct device_health *all, int count)
{
    struct soak soak = { .planned_seconds = 1 };

    soak_readings_begin(&soak.readings, &all[0]);
    for (int i = 1; i < count; i++) soak_readings_add(&soak.readings, &all[i]);
    *checks = (struct checks){ .count = 0 };
    soak_readings_check(checks, &soak.readings, a_gpu.is_gpu);
}

/* The first reading is from before the load: idle, cool, and with old errors. */
TEST(readings_are_of_the_load)
{
    struct device_health all[4] = { reading(210, 95, 900, LIMIT_IDLE | LIMIT_THERMAL),
                                    reading(1900, 60, 650, 0), reading(1755, 71, 700, LIMIT_IDLE),
                                    reading(1890, 70, 690, 0) };
    struct checks checks;

    check_readings(&checks, all, 4);
    assert_row(&checks, "soak_clock", CHECK_OK, "1755 to 1900 of 1980 MHz");
    assert_row(&checks, "soak_temperature", CHECK_OK, "71 C");
    assert_row(&checks, "soak_power", CHECK_OK, "700 W");
    assert_row(&checks, "soak_throttle", CHECK_OK, "none");
    assert_row(&checks, "soak_ecc", CHECK_OK, "0 new");

    all[2].now.limits = LIMIT_POWER; /* Only for a while. */
    check_readings(&checks, all, 4);
    assert_row(&checks, "soak_throttle", CHECK_LOW, "power");
    all[2].now.limits = 0;
    all[3].now.thermal_limited_ns += 1; /* Between two readings. */
    check_readings(&checks, all, 4);
    assert_row(&checks, "soak_throttle", CHECK_FAIL, "thermal");
    all[2].now.temperature_c = 85;
    all[3].ecc_uncorrected = 5;
    check_readings(&checks, all, 4);
    assert_row(&checks, "soak_temperature", CHECK_LOW, "85 C");
    assert_row(&checks, "soak_ecc", CHECK_FAIL, "2 new");
    for (int i = 0; i < 4; i++) all[i].ecc = 0;
    check_readings(&checks, all, 4);
    assert_row(&checks, "soak_ecc", CHECK_NONE, "unknown");
}

TEST(readings_that_are_missing_have_one_reason)
{
    struct device_health all[2] = { device_health_unknown, device_health_unknown };
    struct checks checks;

    strcpy(all[1].trouble, "libnvidia-ml.so.1 is not there");
    check_readings(&checks, all, 2);
    assert_int_equal(checks.count, 5);
    assert_int_equal(checks.counts[CHECK_NONE], 5);
    for (int i = 0; i < checks.count; i++)
        assert_string_equal(checks.rows[i].advice, all[1].trouble);
    soak_readings_check(&checks, &(struct soak_readings){ .count = 0 }, true);
    assert_int_equal(checks.counts[CHECK_NONE], 10);
}

static int find_device(void **state)
{
    struct device *device = NULL;

    OK(test_device_open(&device, NULL));
    device_close(device);
    return 0;
}

TESTS_WITH(find_device, NULL)
