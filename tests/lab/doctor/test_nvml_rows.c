/* The rows of doctor when NVML lacks a function or refuses to answer, over the stand-in for it.
 *
 * A process loads the library once, so each case is a child of this program, in which dlsym() does
 * not find the function (the linker turns its calls into the one here) or the stand-in's function
 * fails. */
#include "harness/device/cuda/libraries/nvml.h"
#include "harness/fleet/devices/soak.h"
#include "harness/lab/doctor/gpu.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <sys/wait.h>
#include <unistd.h>

static const char *lacked = "";

void *__real_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol);
void *__wrap_dlsym(void *library, const char *symbol)
{
    return strcmp(symbol, lacked) == 0 ? NULL : __real_dlsym(library, symbol);
}

#define ALL                                                                                        \
    {                                                                                              \
        "gpu_clock", "gpu_throttle", "gpu_temperature", "gpu_power", "gpu_ecc", "gpu_link",        \
            "gpu_mig", "gpu_persistence", "gpu_compute_mode", "gpu_others", "soak_clock",          \
            "soak_temperature", "soak_power", "soak_throttle", "soak_ecc"                          \
    }
enum { ROWS = 15 };

/* The rows that need the function. */
static const struct {
    const char *function, *rows[ROWS];
} cases[] = {
    { "nvmlDeviceGetClockInfo", { "gpu_clock", "soak_clock" } },
    { "nvmlDeviceGetMaxClockInfo", { "gpu_clock" } },
    { "nvmlDeviceGetCurrentClocksEventReasons", { "gpu_throttle" } },
    { "nvmlDeviceGetViolationStatus", { NULL } },
    { "nvmlDeviceGetTemperature", { "gpu_temperature", "soak_temperature" } },
    { "nvmlDeviceGetPowerUsage", { "gpu_power", "soak_power" } },
    { "nvmlDeviceGetTotalEnergyConsumption", { NULL } },
    { "nvmlDeviceGetEnforcedPowerLimit", { "gpu_power" } },
    { "nvmlDeviceGetEccMode", { NULL } }, /* errors count all the same */
    { "nvmlDeviceGetTotalEccErrors", { "gpu_ecc", "soak_ecc" } },
    { "nvmlDeviceGetCurrPcieLinkGeneration", { "gpu_link" } },
    { "nvmlDeviceGetMaxPcieLinkGeneration", { "gpu_link" } },
    { "nvmlDeviceGetCurrPcieLinkWidth", { "gpu_link" } },
    { "nvmlDeviceGetMaxPcieLinkWidth", { "gpu_link" } },
    { "nvmlDeviceGetMigMode", { "gpu_mig" } },
    { "nvmlDeviceGetPersistenceMode", { "gpu_persistence" } },
    { "nvmlDeviceGetComputeMode", { "gpu_compute_mode" } },
    { "nvmlDeviceGetComputeRunningProcesses_v3", { "gpu_others" } },
    { "nvmlDeviceGetGraphicsRunningProcesses_v3", { NULL } },
    { "nvmlSystemGetDriverVersion", { NULL } },
    { "nvmlErrorString", { NULL } },
    { "nvmlShutdown", { NULL } },
    { "nvmlDeviceGetHandleByPciBusId_v2", ALL },
    { "nvmlInit_v2", ALL },
};

static bool needs(size_t at, const char *row)
{
    for (int i = 0; i < ROWS && cases[at].rows[i] != NULL; i++)
        if (strcmp(cases[at].rows[i], row) == 0)
            return true;
    return false;
}

/* How many rows are wrong: n/a although they could be told, or the other way round, or without a
 * reason. */
static int wrong_rows(size_t at)
{
    static const struct device_properties gpu = { .is_gpu = true };
    static const char *const rows[ROWS] = ALL;
    struct device_health health = device_health_unknown;
    struct soak_readings readings;
    struct nvml *nvml = nvml_open("00000000:65:00.0");
    struct checks checks = { .count = 0 };
    int wrong = 0;

    nvml_health(nvml, &health);
    nvml_close(nvml);
    gpu_check_health(&checks, &gpu, &health, "0-3", NULL);
    soak_readings_begin(&readings, &health);
    soak_readings_add(&readings, &health);
    soak_readings_check(&checks, &readings, true);
    for (int i = 0; i < ROWS; i++) {
        const struct check *row = checks_find(&checks, rows[i]);
        if ((row->status == CHECK_NONE) == needs(at, rows[i]) &&
            (row->status != CHECK_NONE || row->advice[0] != '\0'))
            continue;
        fprintf(stderr, "%s is %s, \"%s\" (%s)\n", rows[i], check_status_name(row->status),
                row->value, row->advice);
        wrong++;
    }
    return wrong;
}

/* `result`: of a function that refuses; 0: it is not there. */
static void try_case(size_t at, int result)
{
    char fails[96];
    int outcome;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        snprintf(fails, sizeof fails, "%s:%d", cases[at].function, result);
        if (result != 0)
            setenv("FAKE_NVML_FAILS", fails, 1);
        else
            lacked = cases[at].function;
        _exit(wrong_rows(at));
    }
    assert_int_equal(waitpid(child, &outcome, 0), child);
    if (!WIFEXITED(outcome) || WEXITSTATUS(outcome) != 0)
        fail_msg("%s, %d", cases[at].function, result);
}

TEST(a_function_that_is_not_there_makes_its_rows_not_applicable)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) try_case(i, 0);
}

/* Not supported, no permission, unknown error, and a GPU that is lost. */
TEST(a_function_that_refuses_makes_its_rows_not_applicable)
{
    static const int results[] = { 3, 4, 999, 15 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t r = 0; r < ARRAY_SIZE(results); r++) try_case(i, results[r]);
}
