/* CUPTI as a library: from where it is loaded, what is said when it is not there or refuses, and
 * whether the toolkit's own is laid out as the collector reads it. A process loads it once, so each
 * case is one run of this program, told apart by its argument:
 *
 *     test_cupti missing|empty|version|dated|newer|refusing|real
 *
 * The stand-in for CUPTI and an empty library come in LD_LIBRARY_PATH, CUDA_HOME or VIRTUAL_ENV. */
#include "harness/device/cuda/cupti/cupti.h"

#include "harness/device/cuda/cupti/cupti_collector.h"
#include "harness/device/cuda/cupti/cupti_records.h"
#include "harness/device/cuda/cupti/pm_sampling.h"
#include "harness/device/plugin/library.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/stand_in/cupti_newest.h"

#define FILE_NAME "libcupti.so." LIBRARY_TEXT(CHOKEPOINT_CUDA_MAJOR)
#define IS_13     (CHOKEPOINT_CUDA_MAJOR == 13)

#include <dlfcn.h>
#include <math.h>
#if CUPTI_API_VERSION >= 130000
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#endif

static void assert_says(const char *part)
{
    if (strstr(status_last()->text, part) == NULL)
        fail_msg("the error says \"%s\", nothing of \"%s\"", status_last()->text, part);
}

static void a_missing_library_is_named_with_what_to_do(void **state)
{
    const struct cupti *cupti = NULL;

    for (int i = 0; i < 2; i++) { /* The second try says the same. */
        assert_int_equal(cupti_load(&cupti), STATUS_NO_LIBRARY);
        assert_null(cupti);
        assert_says(FILE_NAME);
        assert_says("file too short");
        assert_says("CUDA_HOME");
        assert_says("the timing is unaffected");
    }
}

static void a_library_that_lacks_functions_is_refused(void **state)
{
    const struct cupti *cupti = NULL;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(cupti_load(&cupti), STATUS_NO_LIBRARY);
        assert_null(cupti);
        assert_says(FILE_NAME " has no cupti");
        assert_says(IS_13 ? "CUDA 13.0 or newer" : "CUDA 12.4 or newer");
    }
}

static void another_major_version_is_refused(void **state)
{
    static const struct {
        const char *told, *says; /* NULL: it is taken */
    } cases[] = {
        { "version=21", "version 21" }, /* CUDA 12.3 */
        { "version=140000", "version 140000" },
        /* CUDA 12.9 counted in another way. */
        { IS_13 ? "version=28" : "version=130001", IS_13 ? "version 28" : "version 130001" },
        { IS_13 ? "version=130200" : "version=28", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct cupti *cupti = NULL;
        setenv("CHOKEPOINT_FAKE_CUPTI", cases[i].told, 1);
        assert_int_equal(cupti_load(&cupti), cases[i].says != NULL ? STATUS_NO_LIBRARY : STATUS_OK);
        if (cases[i].says != NULL)
            assert_says(cases[i].says);
        else
            assert_non_null(cupti);
    }
}

static uint32_t version_loaded(void)
{
    const struct cupti *cupti = NULL;
    uint32_t version = 0;

    assert_ok(cupti_load(&cupti));
    assert_int_equal(cupti->get_version(&version), CUPTI_SUCCESS);
    return version;
}

/* CUDA 13.0 before Update 1 comes first in both, and a newer one from pip in the second. */
static void a_dated_one_will_do_where_there_is_no_other(void **state)
{
    assert_int_equal(version_loaded(), 130000);
    assert_int_equal(version_loaded(), 130000);
}

static void a_newer_one_elsewhere_is_taken(void **state)
{
    assert_int_equal(version_loaded(), CUPTI_API_VERSION);
}

static const struct cudaDeviceProp gpu;

/* cupti.c says what the errors mean. */
static void each_refusal_says_what_to_do_and_leaves_nothing_running(void **state)
{
    static const struct {
        const char *failing, *says;
    } cases[] = {
        { "subscribe=39",
          IS_13 ? "CUPTI for another tool is there already" : "cuptiSubscribe said" },
        { "subscribe=39", "CUDA_INJECTION64_PATH" },
        { "subscribe=15", "driver " LIBRARY_TEXT(CHOKEPOINT_CUDA_DRIVER) },
        { "subscribe=999", "nvidia-smi" },
        { "subscribe=41", "confidential computing" },
        { "subscribe=43", "MIG" },
        { "subscribe=45", "WSL" },
        { "subscribe=12345", "12345" },
        { "subscribe=12345,cuptiGetResultString=1", "an error without a name" },
        { "cuptiEnableDomain=1", "cuptiEnableDomain said" },
        { "cuptiSetThreadIdType=1", "cuptiSetThreadIdType said" },
        { "cuptiActivityRegisterTimestampCallback=11", "cuptiActivityRegisterTimestampCallback" },
#if CUPTI_API_VERSION >= CUPTI_WITH_SYNC_CHOICE
        { "cuptiActivityEnableAllSyncRecords=1", "cuptiActivityEnableAllSyncRecords" },
#endif
        { "cuptiActivityRegisterCallbacks=999", "cuptiActivityRegisterCallbacks" },
        { "cuptiActivityEnable=35", "NVreg_RestrictProfilingToAdminUsers=0" },
        { "cuptiActivityEnable=26", "dcgmi" },
        { "cuptiActivityEnable=40", "hypervisor" },
        { "cuptiActivityEnable=2", "7.5" },
#if CUPTI_API_VERSION >= CUPTI_WITH_CALL_CHOICE
        { "cuptiActivityEnableRuntimeApi=1", "cuptiActivityEnableRuntimeApi said" },
        { "cuptiActivityEnableDriverApi=1", "cuptiActivityEnableDriverApi said" },
#endif
        { "cuptiActivitySetAttribute=1", "cuptiActivitySetAttribute said" },
    };

    setenv("CHOKEPOINT_CUPTI", "buffers=1", 1);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setenv("CHOKEPOINT_FAKE_CUPTI", cases[i].failing, 1);
        assert_int_equal(cupti_collector_start(0, &gpu), STATUS_NO_LIBRARY);
        assert_says(cases[i].says);
        assert_says("the timing is unaffected");
        assert_ok(cupti_collector_flush()); /* Nobody records. */
        cupti_collector_stop();
        setenv("CHOKEPOINT_FAKE_CUPTI", "", 1); /* Who still subscribed would be in the way. */
        if (cupti_collector_start(0, &gpu) != STATUS_OK)
            fail_msg("after %s: %s", cases[i].failing, status_last()->text);
        assert_int_equal(cupti_collector_start(1, &gpu), STATUS_BAD_USAGE);
        assert_says("another device");
        cupti_collector_stop();
    }
}

static void switches_are_a_list_of_names_and_numbers(void **state)
{
    static const char *const wrong[] = { "nodes",       "nodes=",    "nodes=2",  "nodes=-1",
                                         "nodes=0;",    "speed=1",   "nodes=0 ", "=1",
                                         "buffers=257", "nodes=0,,", "nodes=0x1" };
    struct cupti_switches switches;

    assert_ok(cupti_switches_read(&switches, NULL));
    assert_memory_equal(&switches, &cupti_switches_otherwise, sizeof switches);
    assert_ok(cupti_switches_read(&switches, "buffers=16,driver=0"));
    assert_int_equal(switches.buffers, 16);
    assert_int_equal(switches.driver, 0);
    assert_int_equal(switches.nodes, 1);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (cupti_switches_read(&switches, wrong[i]) != STATUS_BAD_USAGE)
            fail_msg("\"%s\" is taken", wrong[i]);
    setenv("CHOKEPOINT_CUPTI", "nodes=2", 1);
    assert_int_equal(cupti_collector_start(0, &gpu), STATUS_BAD_USAGE);
    assert_says("device_buffers=N");
    unsetenv("CHOKEPOINT_CUPTI");
}

#if CUPTI_API_VERSION >= 130000
static void counters_are_means_over_all_samples(void **state)
{
    static const struct {
        const char *told;
        double sm, tensor, dram, occupancy;
    } cases[] = {
        { "", 0.6, 0.3, 0.45, 0.5 }, /* the first of four samples is of an idle GPU */
        { "samples=9", 0.8 * 8 / 9, 0.4 * 8 / 9, 0.6 * 8 / 9, 0.5 },
        { "passes=2", 0.6, 0.3, NAN, NAN }, /* two metrics are all that one pass can read */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pm_sampling *sampling;
        struct hardware_counters counters;
        setenv("CHOKEPOINT_FAKE_CUPTI", cases[i].told, 1);
        assert_ok(pm_sampling_start(&sampling, 0, 90));
        assert_ok(pm_sampling_stop(sampling, &counters));
        assert_float_equal(counters.sm_active, cases[i].sm, 1e-9);
        assert_float_equal(counters.tensor_active, cases[i].tensor, 1e-9);
        if (isnan(cases[i].dram)) {
            assert_true(isnan(counters.dram_throughput) && isnan(counters.occupancy));
            continue;
        }
        assert_float_equal(counters.dram_throughput, cases[i].dram, 1e-9);
        assert_float_equal(counters.occupancy, cases[i].occupancy, 1e-9);
    }
}

/* And all is closed: the next start succeeds. */
static void counters_that_may_not_be_read_say_why(void **state)
{
    static const struct {
        const char *told, *says;
    } starting[] = {
        { "cuptiProfilerInitialize=999", "cuptiProfilerInitialize said" },
        { "vgpu=1", "virtual GPU" },
        { "cuptiPmSamplingGetCounterAvailability=35", "NVreg_RestrictProfilingToAdminUsers=0" },
        { "cuptiProfilerHostConfigAddMetrics=1", "cuptiProfilerHostConfigAddMetrics said" },
        { "cuptiPmSamplingEnable=26", "dcgmi" },
        { "cuptiPmSamplingSetConfig=8", "cuptiPmSamplingSetConfig said" },
        { "cuptiPmSamplingStart=35", "NVreg_RestrictProfilingToAdminUsers=0" },
    }, stopping[] = {
        { "cuptiPmSamplingStop=999", "cuptiPmSamplingStop said" },
        { "overflow=1", "is full" },
        { "samples=0", "no sample" },
        { "cuptiProfilerHostEvaluateToGpuValues=1", "EvaluateToGpuValues said" },
    };
    struct pm_sampling *sampling;
    struct hardware_counters counters;

    for (size_t i = 0; i < ARRAY_SIZE(starting); i++) {
        setenv("CHOKEPOINT_FAKE_CUPTI", starting[i].told, 1);
        assert_int_equal(pm_sampling_start(&sampling, 0, 90), STATUS_NO_LIBRARY);
        assert_null(sampling);
        assert_says(starting[i].says);
        setenv("CHOKEPOINT_FAKE_CUPTI", "", 1);
        assert_ok(pm_sampling_start(&sampling, 0, 80));
        assert_ok(pm_sampling_stop(sampling, &counters));
    }
    for (size_t i = 0; i < ARRAY_SIZE(stopping); i++) {
        setenv("CHOKEPOINT_FAKE_CUPTI", "", 1);
        assert_ok(pm_sampling_start(&sampling, 0, 90));
        setenv("CHOKEPOINT_FAKE_CUPTI", stopping[i].told, 1);
        assert_int_equal(pm_sampling_stop(sampling, &counters), STATUS_NO_LIBRARY);
        assert_says(stopping[i].says);
        assert_false(hardware_counters_known(&counters));
    }
    setenv("CHOKEPOINT_FAKE_CUPTI", "", 1);
}
#endif

static struct {
    int64_t records, dropped;
} told;

static void count_record(void *context, const struct activity *activity)
{
    (void)context;
    (void)activity;
    told.records++;
}

static void count_dropped(void *context, int64_t records)
{
    (void)context;
    told.dropped += records;
}

static void what_is_dropped_cut_or_given_up_is_told(void **state)
{
    static const struct {
        const char *failing;
        int64_t dropped;
        enum status status;
    } cases[] = {
        { "", 0, STATUS_OK },
        { "dropped=7", 7, STATUS_OK },
        { "cut=1", 1, STATUS_OK },
        { "cut=1,dropped=7", 8, STATUS_OK },
        { "cuptiActivityFlushAll=999", 0, STATUS_NO_LIBRARY },
        { "cuptiActivityGetNumDroppedRecords=1", 0, STATUS_NO_LIBRARY },
        { "fatal=1", 0, STATUS_DEVICE_ERROR },
    };
    struct activity_sink sink = { .record = count_record, .dropped = count_dropped };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setenv("CHOKEPOINT_FAKE_CUPTI", "", 1);
        told.records = told.dropped = 0;
        assert_ok(cupti_collector_start(0, &gpu));
        assert_ok(cupti_collector_show(sink));
        assert_int_equal(told.records, 0);
        setenv("CHOKEPOINT_FAKE_CUPTI", cases[i].failing, 1);
        assert_int_equal(cupti_collector_flush(), cases[i].status);
        assert_int_equal(told.dropped, cases[i].dropped);
        if (cases[i].status == STATUS_OK)
            assert_int_equal(told.records, 1); /* what the flush cost */
        cupti_collector_stop();
    }
    setenv("CHOKEPOINT_FAKE_CUPTI", "fatal=1", 1);
    assert_ok(cupti_collector_start(0, &gpu));
    assert_int_equal(cupti_collector_flush(), STATUS_DEVICE_ERROR);
    assert_says("the GPU has gone");
    cupti_collector_stop();
}

/* The stand-in ends the process if the next session reads it. */
static void a_buffer_that_comes_late_is_not_of_the_next_session(void **state)
{
    setenv("CHOKEPOINT_FAKE_CUPTI", "late=1", 1);
    assert_ok(cupti_collector_start(0, &gpu));
    cupti_collector_stop();
    setenv("CHOKEPOINT_FAKE_CUPTI", "", 1);
    assert_ok(cupti_collector_start(0, &gpu));
    assert_ok(cupti_collector_flush());
    cupti_collector_stop();
}

/* The toolkit's own library, which answers these without a driver. */
static void the_librarys_records_are_as_long_as_the_headers_say_or_longer(void **state)
{
    static const struct {
        CUpti_ActivityKind kind;
        size_t bytes;
    } records[] = {
        { CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI) },
        { CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI) },
        { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(newest_kernel) },
        { CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(newest_copy) },
        { CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4) },
        { CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4) },
        { CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(newest_wait) },
        { CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(newest_memory) },
        { CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(newest_overhead) },
        { CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2) },
    };
    const struct cupti *cupti = *state;
    _Alignas(8) static uint8_t bytes[4096];

    for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
        CUpti_Activity *at = NULL, head = { records[i].kind };
        uint8_t *next;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes, &head, sizeof head);
        assert_int_equal(cupti->next_record(bytes, sizeof bytes, &at), CUPTI_SUCCESS);
        assert_ptr_equal(at, bytes);
        /* A second one is where the first one ends, for the library to find. */
        for (next = bytes + 8; next < bytes + 1024; next += 8) {
            at = (CUpti_Activity *)(void *)bytes;
            memset(bytes + sizeof head, 0, sizeof bytes - sizeof head);
            memcpy(next, &head, sizeof head);
            if (cupti->next_record(bytes, sizeof bytes, &at) == CUPTI_SUCCESS)
                break;
        }
        assert_ptr_equal(at, next);
        if ((size_t)(next - bytes) < records[i].bytes)
            fail_msg("records of kind %d are %td bytes long, not %zu", (int)records[i].kind,
                     next - bytes, records[i].bytes);
    }
}

static void the_library_has_the_calls_that_this_device_makes(void **state)
{
    static struct cupti_calls calls;
    static const struct {
        uint32_t id;
        const char *name;
    } expected[] = {
        { CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, "cudaLaunchKernel" },
#if CHOKEPOINT_CUDA_MAJOR >= 13
        { CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000, "cudaLaunchKernel" },
#endif
        { CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, "cudaLaunchKernelExC" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020, "cudaMallocFromPoolAsync" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize" },
        { CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, "cudaEventSynchronize" },
    };

    cupti_calls_find(&calls, *state);
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_non_null(calls.runtime[expected[i].id]);
        assert_string_equal(calls.runtime[expected[i].id], expected[i].name);
    }
    assert_null(calls.runtime[CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020]);
    assert_string_equal(calls.driver[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel], "cuLaunchKernel");
    assert_string_equal(calls.driver[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx], "cuLaunchKernelEx");
    assert_null(calls.driver[CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent]);
}

#if CUPTI_API_VERSION >= 130000
#define LOAD(name) __typeof__(&name) p_##name = (__typeof__(&name))(uintptr_t)dlsym(library, #name)

static size_t passes_of(void *library, const char *chip, const char **metrics, size_t count)
{
    LOAD(cuptiProfilerHostInitialize);
    LOAD(cuptiProfilerHostConfigAddMetrics);
    LOAD(cuptiProfilerHostGetConfigImageSize);
    LOAD(cuptiProfilerHostGetConfigImage);
    LOAD(cuptiProfilerHostGetNumOfPasses);
    LOAD(cuptiProfilerHostDeinitialize);
    CUpti_Profiler_Host_Initialize_Params open = {
        .structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
        .profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
        .pChipName = chip
    };
    CUpti_Profiler_Host_ConfigAddMetrics_Params add = {
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
        .ppMetricNames = metrics,
        .numMetrics = count
    };
    CUpti_Profiler_Host_GetConfigImageSize_Params size = {
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE
    };
    CUpti_Profiler_Host_GetConfigImage_Params get = {
        .structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE
    };
    CUpti_Profiler_Host_GetNumOfPasses_Params number = {
        .structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE
    };
    CUpti_Profiler_Host_Deinitialize_Params close = {
        .structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE
    };

    assert_int_equal(p_cuptiProfilerHostInitialize(&open), CUPTI_SUCCESS);
    add.pHostObject = size.pHostObject = get.pHostObject = close.pHostObject = open.pHostObject;
    assert_int_equal(p_cuptiProfilerHostConfigAddMetrics(&add), CUPTI_SUCCESS);
    assert_int_equal(p_cuptiProfilerHostGetConfigImageSize(&size), CUPTI_SUCCESS);
    get.configImageSize = number.configImageSize = size.configImageSize;
    get.pConfigImage = number.pConfigImage = malloc(size.configImageSize);
    assert_int_equal(p_cuptiProfilerHostGetConfigImage(&get), CUPTI_SUCCESS);
    assert_int_equal(p_cuptiProfilerHostGetNumOfPasses(&number), CUPTI_SUCCESS);
    p_cuptiProfilerHostDeinitialize(&close);
    free(get.pConfigImage);
    return number.numOfPasses;
}

/* The library plans for chips that are not here. */
static void one_pass_reads_all_counters_on_the_gpus_of_today(void **state)
{
    static const char *const chips[] = { "GA100", "GA102", "AD102", "GH100", "GB100", "GB202" };
    const char *metrics[] = {
#define METRIC(member, text, metric) metric,
        HARDWARE_COUNTERS(METRIC)
#undef METRIC
    };
    void *library = dlopen(CUPTI_LIBRARY, RTLD_NOW | RTLD_NOLOAD);

    if (library == NULL) /* it was found by its path */
        skip();
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* it loads another one with RTLD_DEEPBIND, which ends a program under a sanitizer */
#endif
    for (size_t i = 0; i < ARRAY_SIZE(chips); i++)
        assert_int_equal(passes_of(library, chips[i], metrics, ARRAY_SIZE(metrics)), 1);
    dlclose(library);
}
#endif

static int load_real(void **state)
{
    const struct cupti *cupti;

    if (cupti_load(&cupti) != STATUS_OK) {
        printf("skipped: %s\n", status_last()->text);
        exit(77);
    }
    *state = (void *)cupti;
    return 0;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest missing[] = {
        cmocka_unit_test(a_missing_library_is_named_with_what_to_do),
    };
    const struct CMUnitTest empty[] = {
        cmocka_unit_test(a_library_that_lacks_functions_is_refused),
    };
    const struct CMUnitTest version[] = {
        cmocka_unit_test(another_major_version_is_refused),
    };
    const struct CMUnitTest dated[] = {
        cmocka_unit_test(a_dated_one_will_do_where_there_is_no_other),
    };
    const struct CMUnitTest newer[] = {
        cmocka_unit_test(a_newer_one_elsewhere_is_taken),
    };
    const struct CMUnitTest refusing[] = {
        cmocka_unit_test(each_refusal_says_what_to_do_and_leaves_nothing_running),
        cmocka_unit_test(switches_are_a_list_of_names_and_numbers),
#if CUPTI_API_VERSION >= 130000
        cmocka_unit_test(counters_are_means_over_all_samples),
        cmocka_unit_test(counters_that_may_not_be_read_say_why),
#endif
        cmocka_unit_test(what_is_dropped_cut_or_given_up_is_told),
        cmocka_unit_test(a_buffer_that_comes_late_is_not_of_the_next_session),
    };
    const struct CMUnitTest real[] = {
        cmocka_unit_test(the_librarys_records_are_as_long_as_the_headers_say_or_longer),
        cmocka_unit_test(the_library_has_the_calls_that_this_device_makes),
#if CUPTI_API_VERSION >= 130000
        cmocka_unit_test(one_pass_reads_all_counters_on_the_gpus_of_today),
#endif
    };
    const char *which = count == 2 ? arguments[1] : "";

    if (strcmp(which, "missing") == 0)
        return cmocka_run_group_tests_name("no CUPTI", missing, NULL, NULL);
    if (strcmp(which, "empty") == 0)
        return cmocka_run_group_tests_name("CUPTI that lacks functions", empty, NULL, NULL);
    if (strcmp(which, "version") == 0)
        return cmocka_run_group_tests_name("CUPTI of another CUDA", version, NULL, NULL);
    if (strcmp(which, "dated") == 0)
        return cmocka_run_group_tests_name("CUPTI of CUDA 13.0", dated, NULL, NULL);
    if (strcmp(which, "newer") == 0)
        return cmocka_run_group_tests_name("CUPTI of CUDA 13.0 and a newer one", newer, NULL, NULL);
    if (strcmp(which, "refusing") == 0)
        return cmocka_run_group_tests_name("CUPTI that refuses", refusing, NULL, NULL);
    if (strcmp(which, "real") == 0)
        return cmocka_run_group_tests_name("the toolkit's CUPTI", real, load_real, NULL);
    fprintf(stderr, "usage: test_cupti missing|empty|version|dated|newer|refusing|real\n");
    return 2;
}
