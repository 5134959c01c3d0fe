/* The answers of the management library, over a stand-in for it. A process loads it once, so each
 * case is one run of this program, with the stand-in's folder in LD_LIBRARY_PATH:
 *
 *     test_nvml complete|lacking|empty|missing */
#include "harness/device/cuda/libraries/nvml.h"
#include "harness/device/cuda/libraries/pci.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_machine.h"

#include <math.h>

static const char address[] = "00000000:65:00.0";

static struct device_health health_at(const char *where)
{
    struct device_health health = device_health_unknown;
    struct nvml *nvml = nvml_open(where);

    assert_non_null(nvml);
    nvml_health(nvml, &health);
    nvml_close(nvml);
    return health;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" says nothing of \"%s\"", text, part);
}

/* Everything that a reading tells, as one list: which of it is known. */
enum { READINGS = 24 };

static int readings(const struct device_health *health, bool known[READINGS])
{
    int count = 0;

    known[count++] = isfinite(health->now.clock_mhz);
    known[count++] = isfinite(health->now.memory_clock_mhz);
    known[count++] = isfinite(health->now.temperature_c);
    known[count++] = isfinite(health->now.power_w);
    known[count++] = isfinite(health->now.energy_j);
    known[count++] = isfinite(health->now.power_limited_ns);
    known[count++] = isfinite(health->now.thermal_limited_ns);
    known[count++] = health->now.limits >= 0;
    known[count++] = isfinite(health->clock_max_mhz);
    known[count++] = isfinite(health->memory_clock_max_mhz);
    known[count++] = isfinite(health->power_limit_w);
    known[count++] = health->ecc >= 0;
    known[count++] = health->ecc_uncorrected >= 0;
    known[count++] = health->pcie_generation >= 0;
    known[count++] = health->pcie_generation_max >= 0;
    known[count++] = health->pcie_width >= 0;
    known[count++] = health->pcie_width_max >= 0;
    known[count++] = health->mig >= 0;
    known[count++] = health->persistence >= 0;
    known[count++] = health->exclusive >= 0;
    known[count++] = health->other_processes >= 0;
    known[count++] = health->other_bytes >= 0;
    known[count++] = health->numa_node >= 0;
    known[count++] = health->local_cores[0] != '\0';
    assert_int_equal(count, READINGS);
    count = 0;
    for (int i = 0; i < READINGS; i++) count += known[i];
    return count;
}

enum { ANSWERED = READINGS - 2 }; /* the place of the slot is Linux's to tell */

static int known_of(const struct device_health *health)
{
    bool known[READINGS];

    return readings(health, known);
}

/* --- Complete --- */

static void every_reading_is_what_the_library_answered(void **state)
{
    struct device_health health = health_at(address);

    assert_string_equal(health.source, "NVML, driver 580.65.06");
    assert_string_equal(health.trouble, "");
    assert_true(health.now.clock_mhz == 1755 && health.clock_max_mhz == 1980);
    assert_true(health.now.memory_clock_mhz == 2619 && health.memory_clock_max_mhz == 3201);
    assert_true(health.now.temperature_c == 61);
    assert_true(fabs(health.now.power_w - 412.345) < 1e-9 && health.power_limit_w == 700);
    assert_true(health.now.energy_j > 0 && health_at(address).now.energy_j > health.now.energy_j);
    assert_true(health.now.power_limited_ns == 0 && health.now.thermal_limited_ns == 0);
    assert_int_equal(health.now.limits, 0);
    assert_int_equal(health.ecc, 1);
    assert_int_equal(health.ecc_uncorrected, 3);
    assert_int_equal(health.pcie_generation, 4);
    assert_int_equal(health.pcie_generation_max, 5);
    assert_int_equal(health.pcie_width, 8);
    assert_int_equal(health.pcie_width_max, 16);
    assert_int_equal(health.mig, 0);
    assert_int_equal(health.persistence, 1);
    assert_int_equal(health.exclusive, 0);
    setenv("FAKE_NVML_COMPUTE_MODE", "3", 1);
    assert_int_equal(health_at(address).exclusive, 1);
    unsetenv("FAKE_NVML_COMPUTE_MODE");
    assert_int_equal(known_of(&health), ANSWERED);
}

/* By the reasons' bits in NVIDIA's reference guide. */
static void reasons_become_limits(void **state)
{
    static const struct {
        const char *reasons;
        int limits;
    } cases[] = {
        { "0x0", 0 },
        { "0x1", LIMIT_IDLE },
        { "0x2", LIMIT_SETTING },
        { "0x4", LIMIT_POWER },
        { "0x8", LIMIT_HARDWARE },
        { "0x10", LIMIT_SETTING },
        { "0x20", LIMIT_THERMAL },
        { "0x48", LIMIT_THERMAL },
        { "0x88", LIMIT_POWER },
        { "0x100", LIMIT_SETTING },
        { "0x25", LIMIT_IDLE | LIMIT_POWER | LIMIT_THERMAL },
        { "0x40000000", 0 }, /* not known yet */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE_NVML_REASONS", cases[i].reasons, 1);
        assert_int_equal(health_at(address).now.limits, cases[i].limits);
    }
    unsetenv("FAKE_NVML_REASONS");
}

/* A function that fails leaves its own readings unknown; all else is as it was. */
static void a_function_that_fails_costs_its_own_readings_only(void **state)
{
    static const struct {
        const char *function;
        int readings;
    } cases[] = {
        { "nvmlDeviceGetClockInfo", 2 },
        { "nvmlDeviceGetMaxClockInfo", 2 },
        { "nvmlDeviceGetCurrentClocksEventReasons", 1 },
        { "nvmlDeviceGetViolationStatus", 2 },
        { "nvmlDeviceGetTemperature", 1 },
        { "nvmlDeviceGetPowerUsage", 1 },
        { "nvmlDeviceGetTotalEnergyConsumption", 1 },
        { "nvmlDeviceGetEnforcedPowerLimit", 1 },
        { "nvmlDeviceGetEccMode", 1 },
        { "nvmlDeviceGetComputeMode", 1 },
        { "nvmlDeviceGetTotalEccErrors", 1 },
        { "nvmlDeviceGetCurrPcieLinkGeneration", 1 },
        { "nvmlDeviceGetMaxPcieLinkGeneration", 1 },
        { "nvmlDeviceGetCurrPcieLinkWidth", 1 },
        { "nvmlDeviceGetMaxPcieLinkWidth", 1 },
        { "nvmlDeviceGetMigMode", 1 },
        { "nvmlDeviceGetPersistenceMode", 1 },
        { "nvmlDeviceGetComputeRunningProcesses_v3", 2 },
        { "nvmlDeviceGetGraphicsRunningProcesses_v3", 0 },
        { "nvmlSystemGetDriverVersion", 0 },
        { "nvmlShutdown", 0 },
        { "nvmlDeviceGetHandleByPciBusId_v2", ANSWERED },
        { "nvmlInit_v2", ANSWERED },
        { "all", ANSWERED },
    };
    static const int errors[] = { 1, 2, 3, 4, 6, 7, 9, 10, 13, 15, 16, 17, 18, 25, 999 };
    char fails[96];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
            struct device_health health;
            snprintf(fails, sizeof fails, "%s:%d", cases[i].function, errors[e]);
            setenv("FAKE_NVML_FAILS", fails, 1);
            health = health_at(address);
            if (known_of(&health) != ANSWERED - cases[i].readings)
                fail_msg("%s: %d readings are known", fails, known_of(&health));
            if (cases[i].readings == ANSWERED)
                assert_true(health.trouble[0] != '\0' || errors[e] == 3 || errors[e] == 4 ||
                            errors[e] == 7 || errors[e] == 13);
        }
    unsetenv("FAKE_NVML_FAILS");
}

static void a_gpu_that_is_lost_is_called_so(void **state)
{
    struct nvml *nvml = nvml_open(address);
    struct device_health health = device_health_unknown;

    setenv("FAKE_NVML_FAILS", "all:15", 1);
    nvml_health(nvml, &health);
    assert_int_equal(known_of(&health), 0);
    assert_has(health.trouble, "GPU is lost (15)");
    unsetenv("FAKE_NVML_FAILS");
    nvml_close(nvml);
}

static void what_a_gpu_does_not_have_is_no_trouble(void **state)
{
    struct device_health health;

    setenv("FAKE_NVML_FAILS", "nvmlDeviceGetEccMode:3", 1);
    health = health_at(address);
    assert_int_equal(health.ecc, -1);
    assert_string_equal(health.trouble, "");
    unsetenv("FAKE_NVML_FAILS");
}

static void no_gpu_at_the_address_is_said(void **state)
{
    struct device_health health = health_at("00000000:ee:00.0");

    assert_int_equal(known_of(&health), 0);
    assert_has(health.trouble, "find");
}

static void other_processes_are_counted_without_this_one(void **state)
{
    static const struct {
        const char *processes;
        int others;
        int64_t gibibytes; /* -1: unknown */
    } cases[] = {
        { "own", 1, 1 },       /* the one that draws */
        { "own,7", 1, 1 },     /* is the same */
        { "own,7,8,9", 3, 3 }, /* compute */
        { "5,6", 2, -1 },      /* numbers of another namespace: one of the three is this process */
        { "own,07,8", 2, -1 }, /* the driver does not say how much */
        { "", -1, -1 },        /* hidden */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device_health health;
        setenv("FAKE_NVML_PROCESSES", cases[i].processes, 1);
        health = health_at(address);
        assert_int_equal(health.other_processes, cases[i].others);
        assert_int_equal(health.other_bytes,
                         cases[i].gibibytes < 0 ? -1 : cases[i].gibibytes << 30);
    }
    unsetenv("FAKE_NVML_PROCESSES");
}

static void more_processes_than_fit_are_unknown(void **state)
{
    struct device_health health;
    char list[4096] = "own";

    for (int i = 0; i < 300; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",%d", 1000 + i);
    setenv("FAKE_NVML_PROCESSES", list, 1);
    health = health_at(address);
    assert_int_equal(health.other_processes, -1);
    assert_int_equal(health.other_bytes, -1);
    assert_string_equal(health.trouble, "");
    unsetenv("FAKE_NVML_PROCESSES");
}

static void the_drivers_release_is_told_without_a_gpu(void **state)
{
    char release[80];

    setenv("FAKE_NVML_DRIVER", "550.54.15", 1);
    assert_true(nvml_driver_release(release, sizeof release));
    assert_string_equal(release, "550.54.15");
    unsetenv("FAKE_NVML_DRIVER");
    setenv("FAKE_NVML_FAILS", "nvmlInit_v2:18", 1);
    assert_false(nvml_driver_release(release, sizeof release));
    assert_string_equal(release, "");
    unsetenv("FAKE_NVML_FAILS");
}

/* --- Lacking, empty, missing --- */

static void functions_that_are_not_there_leave_unknown(void **state)
{
    struct device_health health = health_at(address);
    char release[80];

    assert_int_equal(known_of(&health), 0);
    assert_string_equal(health.source, "NVML");
    assert_string_equal(health.trouble, "");
    assert_false(nvml_driver_release(release, sizeof release));
}

static void a_library_without_its_start_is_not_used(void **state)
{
    struct device_health health = health_at(address);

    assert_int_equal(known_of(&health), 0);
    assert_has(health.trouble, "has no nvmlInit_v2");
}

static void a_missing_library_is_named(void **state)
{
    char release[80];

    for (int i = 0; i < 2; i++) { /* The second try says the same. */
        struct device_health health = health_at(address);
        assert_int_equal(known_of(&health), 0);
        assert_string_equal(health.source, "");
        assert_has(health.trouble, "libnvidia-ml.so.1");
    }
    assert_false(nvml_driver_release(release, sizeof release));
}

/* --- Link and NUMA node --- */

#define SLOT "sys/bus/pci/devices/0001:0a:00.0/"

static void the_slots_node_and_cores_are_linuxs(void **state)
{
    const char *root = made_machine_root();
    char cores[96];
    int node;

    made_machine_put(SLOT "vendor", "0x10de\n");
    pci_locality(root, 1, 10, 0, &node, cores, sizeof cores);
    assert_int_equal(node, -1);
    assert_string_equal(cores, "");
    made_machine_put(SLOT "numa_node", "1\n");
    made_machine_put(SLOT "local_cpulist", "48-95,144-191\n");
    pci_locality(root, 1, 10, 0, &node, cores, sizeof cores);
    assert_int_equal(node, 1);
    assert_string_equal(cores, "48-95,144-191");
}

static void the_distance_between_nodes_is_the_firmwares(void **state)
{
    const char *root = made_machine_root();
    static const struct {
        int from, to, distance;
    } cases[] = { { 0, 0, 10 }, { 0, 2, 21 },  { 2, 0, 31 },  { 2, 2, 11 },
                  { 0, 1, 21 }, { -1, 0, -1 }, { 0, -1, -1 }, { 1, 0, -1 } };

    /* Node 1 is missing. */
    made_machine_put("sys/devices/system/node/node0/distance", "10 21\n");
    made_machine_put("sys/devices/system/node/node2/distance", "31 11\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(pci_numa_distance(root, cases[i].from, cases[i].to), cases[i].distance);
    made_machine_put("sys/devices/system/node/node0/distance", "10\n");
    assert_int_equal(pci_numa_distance(root, 0, 2), -1);
}

static void an_address_is_written_as_nvml_takes_it(void **state)
{
    char text[PCI_ADDRESS];

    pci_address(text, 0, 0x65, 0);
    assert_string_equal(text, "00000000:65:00.0");
    pci_address(text, 0x10000, 0xc1, 0x1f);
    assert_string_equal(text, "00010000:c1:1f.0");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest complete[] = {
        cmocka_unit_test(every_reading_is_what_the_library_answered),
        cmocka_unit_test(reasons_become_limits),
        cmocka_unit_test(a_function_that_fails_costs_its_own_readings_only),
        cmocka_unit_test(a_gpu_that_is_lost_is_called_so),
        cmocka_unit_test(what_a_gpu_does_not_have_is_no_trouble),
        cmocka_unit_test(no_gpu_at_the_address_is_said),
        cmocka_unit_test(other_processes_are_counted_without_this_one),
        cmocka_unit_test(more_processes_than_fit_are_unknown),
        cmocka_unit_test(the_drivers_release_is_told_without_a_gpu),
        cmocka_unit_test_setup_teardown(the_slots_node_and_cores_are_linuxs, made_machine_open,
                                        made_machine_close),
        cmocka_unit_test_setup_teardown(the_distance_between_nodes_is_the_firmwares,
                                        made_machine_open, made_machine_close),
        cmocka_unit_test(an_address_is_written_as_nvml_takes_it),
    };
    const struct CMUnitTest lacking[] = {
        cmocka_unit_test(functions_that_are_not_there_leave_unknown),
    };
    const struct CMUnitTest empty[] = {
        cmocka_unit_test(a_library_without_its_start_is_not_used),
    };
    const struct CMUnitTest missing[] = {
        cmocka_unit_test(a_missing_library_is_named),
    };
    const char *is = argc > 1 ? argv[1] : "";

    if (strcmp(is, "complete") == 0)
        return cmocka_run_group_tests_name("NVML", complete, NULL, NULL);
    if (strcmp(is, "lacking") == 0)
        return cmocka_run_group_tests_name("an NVML that lacks functions", lacking, NULL, NULL);
    if (strcmp(is, "empty") == 0)
        return cmocka_run_group_tests_name("an NVML without a start", empty, NULL, NULL);
    if (strcmp(is, "missing") == 0)
        return cmocka_run_group_tests_name("no NVML", missing, NULL, NULL);
    fprintf(stderr, "usage: test_nvml complete|lacking|empty|missing\n");
    return 2;
}
