/* The health of devices: what throttles, what the host tells, and what a device says of itself. */
#include "harness/base/clock.h"
#include "harness/device/cpu/host_health.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/made/made_machine.h"

#include <math.h>

static struct device_vitals vitals(int limits, double power_ns, double thermal_ns)
{
    struct device_vitals made = device_vitals_unknown;

    made.limits = limits;
    made.power_limited_ns = power_ns;
    made.thermal_limited_ns = thermal_ns;
    return made;
}

TEST(what_throttled_between_two_readings_is_told)
{
    const struct {
        struct device_vitals first, second;
        int throttled;
    } cases[] = {
        { device_vitals_unknown, device_vitals_unknown, 0 },
        { vitals(0, 0, 0), vitals(0, 0, 0), 0 },
        { vitals(LIMIT_IDLE, 5, 5), vitals(LIMIT_SETTING, 5, 5), 0 },
        { vitals(0, 5, 5), vitals(0, 6, 5), LIMIT_POWER },
        { vitals(0, 5, 5), vitals(0, 5, 6), LIMIT_THERMAL },
        { vitals(LIMIT_THERMAL, 0, 0), vitals(LIMIT_POWER, 0, 0), LIMIT_THERMAL | LIMIT_POWER },
        { vitals(-1, NAN, 5), vitals(-1, 7, 9), LIMIT_THERMAL },
        { vitals(-1, NAN, NAN), vitals(LIMIT_HARDWARE | LIMIT_IDLE, NAN, NAN), LIMIT_HARDWARE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(vitals_throttled(&cases[i].first, &cases[i].second), cases[i].throttled);
}

TEST(limits_have_names)
{
    char text[64], small[8];

    assert_string_equal(health_limits_print(text, sizeof text, -1), "unknown");
    assert_string_equal(health_limits_print(text, sizeof text, 0), "none");
    assert_string_equal(health_limits_print(text, sizeof text, LIMIT_THERMAL), "thermal");
    assert_string_equal(health_limits_print(text, sizeof text, 31),
                        "idle, setting, power, thermal, hardware");
    assert_string_equal(health_limits_print(small, sizeof small, 31), "idle...");
}

TEST(unknown_vitals_are_unknown_and_one_that_is_known_is_enough)
{
    struct device_vitals some = device_vitals_unknown;

    assert_false(vitals_are_known(&some));
    some.temperature_c = 0;
    assert_true(vitals_are_known(&some));
    some = device_vitals_unknown;
    some.limits = 0;
    assert_true(vitals_are_known(&some));
}

ON_A_MADE_MACHINE(the_hosts_clock_and_temperature_are_read_where_linux_tells_them)
{
    struct device_health health = device_health_unknown;

    host_health(made_machine_root(), &health);
    assert_true(isnan(health.now.clock_mhz) && isnan(health.clock_max_mhz));
    assert_true(isnan(health.now.temperature_c));
    made_machine_put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2944512\n");
    made_machine_put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
    made_machine_put("sys/class/hwmon/hwmon0/name", "nvme\n");
    made_machine_put("sys/class/hwmon/hwmon0/temp1_input", "35000\n");
    made_machine_put("sys/class/hwmon/hwmon3/name", "k10temp\n");
    made_machine_put("sys/class/hwmon/hwmon3/temp1_input", "61250\n");
    host_health(made_machine_root(), &health);
    assert_true(health.now.clock_mhz == 2944.512 && health.clock_max_mhz == 3700);
    assert_true(health.now.temperature_c == 61.25);
}

/* Nothing is read before a window on the CPU device; on the stand-in for a GPU NVML's stand-in
 * answers. */
TEST_WITH(a_device_tells_its_own, cpu_device_open, cpu_device_close)
{
    const struct cpu_device_test *test = *state;
    const struct device_properties *properties = device_properties(test->device);
    int64_t begin_ns = clock_ns();
    struct device_vitals now = device_vitals(test->device);
    int64_t vitals_ns = clock_ns() - begin_ns;
    struct device_health health = device_health(test->device);

    if (strcmp(properties->kind, "cpu") == 0) {
        assert_false(vitals_are_known(&now));
        assert_string_equal(health.source, "Linux");
        assert_int_equal(health.now.limits, -1);
        assert_int_equal(health.mig, -1);
        assert_int_equal(health.persistence, -1);
        assert_int_equal(properties->cuda_runtime + properties->cuda_driver, 0);
        assert_string_equal(properties->attention_library, "");
    } else if (strstr(properties->name, "stand-in") != NULL) {
        assert_true(now.temperature_c == 61 && now.limits == 0);
        assert_string_equal(health.source, "NVML, driver 580.65.06");
        assert_true(health.power_limit_w == 700);
        assert_int_equal(health.persistence, 1);
        assert_int_equal(properties->cuda_driver, 13000);
        assert_true(properties->cuda_runtime >= 12040);
        assert_string_equal(properties->attention_library, properties->fused_attention
                                                               ? "cuDNN 9.19.0"
                                                               : "built without cuDNN's headers");
        assert_int_equal(properties->attention_cuda,
                         properties->fused_attention ? properties->cuda_runtime : 0);
    } else {
        print_message("%s; trouble: \"%s\"; %.0f of %.0f MHz, %.0f C, %.0f W; vitals in %.0f us\n",
                      health.source, health.trouble, health.now.clock_mhz, health.clock_max_mhz,
                      health.now.temperature_c, health.now.power_w, (double)vitals_ns / 1e3);
        /* A virtual machine may refuse any reading, which is NAN then. */
        assert_false(health.now.clock_mhz <= 0 || health.now.clock_mhz > health.clock_max_mhz);
        assert_false(health.now.temperature_c <= 0 || health.now.temperature_c >= 150);
    }
}
