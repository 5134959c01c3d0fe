/* A host object plans which counters are read and turns them into metrics; a sampling object reads
 * them on the GPU. Samples wait in a buffer of the hardware until the end, and are then decoded
 * into an image, a part at a time. All structs of parameters are zeroed and have their size first
 * (cupti_pmsampling.h, cupti_profiler_host.h). */
#include "harness/device/cuda/cupti/pm_sampling.h"

#include "harness/device/cuda/cupti/cupti.h"

#if CUPTI_API_VERSION >= 130000

#include "harness/device/plugin/library.h"

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                               \
    X(cuptiProfilerInitialize)                                                                     \
    X(cuptiProfilerDeInitialize)                                                                   \
    X(cuptiProfilerDeviceSupported)                                                                \
    X(cuptiDeviceGetChipName)                                                                      \
    X(cuptiProfilerHostInitialize)                                                                 \
    X(cuptiProfilerHostDeinitialize)                                                               \
    X(cuptiProfilerHostConfigAddMetrics)                                                           \
    X(cuptiProfilerHostGetConfigImageSize)                                                         \
    X(cuptiProfilerHostGetConfigImage)                                                             \
    X(cuptiProfilerHostGetNumOfPasses)                                                             \
    X(cuptiProfilerHostEvaluateToGpuValues)                                                        \
    X(cuptiPmSamplingGetCounterAvailability)                                                       \
    X(cuptiPmSamplingEnable)                                                                       \
    X(cuptiPmSamplingDisable)                                                                      \
    X(cuptiPmSamplingSetConfig)                                                                    \
    X(cuptiPmSamplingGetCounterDataSize)                                                           \
    X(cuptiPmSamplingCounterDataImageInitialize)                                                   \
    X(cuptiPmSamplingStart)                                                                        \
    X(cuptiPmSamplingStop)                                                                         \
    X(cuptiPmSamplingDecodeData)                                                                   \
    X(cuptiPmSamplingGetCounterDataInfo)

static struct {
#define MEMBER(function) __typeof__(&function) function;
    FUNCTIONS(MEMBER)
#undef MEMBER
} loaded;

static const struct library_symbol symbols[] = {
#define SYMBOL(function) { #function, (void **)&loaded.function },
    FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static struct library library = {
    .title = "CUPTI, which reads the GPU's counters,",
    .file = CUPTI_LIBRARY,
    .package = "cuda-cupti of CUDA 13, part of the toolkit",
    .oldest = "CUPTI of CUDA 13.0",
    .symbols = symbols,
    .symbol_count = ARRAY_SIZE(symbols),
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static const char *const metrics[] = {
#define METRIC(member, text, metric) metric,
    HARDWARE_COUNTERS(METRIC)
#undef METRIC
};

_Static_assert(sizeof(struct hardware_counters) == ARRAY_SIZE(metrics) * sizeof(double),
               "one each");

enum {
    METRICS = ARRAY_SIZE(metrics),
    INTERVAL = 1000000, /* ns, or system clocks on GPUs without the other trigger */
    SAMPLES = 1024,     /* that an image holds */
    HARDWARE_BYTES = 64 << 20,
};

struct pm_sampling {
    bool initialized;
    CUpti_Profiler_Host_Object *host;
    CUpti_PmSampling_Object *object; /* NULL: not enabled */
    uint8_t *available, *config, *image;
    size_t config_bytes, image_bytes, metrics; /* so many of them are read in one pass */
};

/* The zeroed struct of a call's parameters. */
#define PARAMETERS(type, ...) ((type){ .structSize = type##_STRUCT_SIZE, __VA_ARGS__ })
#define CALL(function, p)     TRY(cupti_check_counting(loaded.function(p), #function))

static enum status make_bytes(uint8_t **bytes, size_t count)
{
    free(*bytes);
    *bytes = calloc(1, count + 1);
    if (*bytes == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the GPU's counters (%zu bytes)", count);

    return STATUS_OK;
}

/* --- Start --- */

static enum status check_device(void)
{
    CUpti_Profiler_DeviceSupported_Params p =
        PARAMETERS(CUpti_Profiler_DeviceSupported_Params, .api = CUPTI_PROFILER_PM_SAMPLING);

    CALL(cuptiProfilerDeviceSupported, &p);
    if (p.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
        FAIL(STATUS_NO_LIBRARY, "cuda: CUPTI cannot count here: it does not %s",
             p.architecture != CUPTI_PROFILER_CONFIGURATION_SUPPORTED ? "on GPUs this old"
             : p.vGpu != CUPTI_PROFILER_CONFIGURATION_SUPPORTED       ? "on this virtual GPU"
             : p.confidentialCompute != CUPTI_PROFILER_CONFIGURATION_SUPPORTED
                 ? "in confidential computing mode"
             : p.wsl != CUPTI_PROFILER_CONFIGURATION_SUPPORTED ? "under WSL"
                                                               : "on GPUs like this one");

    return STATUS_OK;
}

/* A plan for the first `count` metrics. */
static enum status plan(struct pm_sampling *sampling, const char *chip, size_t count,
                        size_t *passes)
{
    CUpti_Profiler_Host_Initialize_Params open = PARAMETERS(
        CUpti_Profiler_Host_Initialize_Params, .profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
        .pChipName = chip, .pCounterAvailabilityImage = sampling->available);
    CUpti_Profiler_Host_ConfigAddMetrics_Params add =
        PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params,
                   .ppMetricNames = (const char **)metrics, .numMetrics = count);
    CUpti_Profiler_Host_GetConfigImageSize_Params size =
        PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, .pPriv = NULL);
    CUpti_Profiler_Host_GetConfigImage_Params get =
        PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, .pPriv = NULL);
    CUpti_Profiler_Host_GetNumOfPasses_Params number =
        PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params, .pPriv = NULL);

    CALL(cuptiProfilerHostInitialize, &open);
    sampling->host = add.pHostObject = size.pHostObject = get.pHostObject = open.pHostObject;
    CALL(cuptiProfilerHostConfigAddMetrics, &add);
    CALL(cuptiProfilerHostGetConfigImageSize, &size);
    TRY(make_bytes(&sampling->config, size.configImageSize));
    sampling->config_bytes = get.configImageSize = number.configImageSize = size.configImageSize;
    get.pConfigImage = number.pConfigImage = sampling->config;
    CALL(cuptiProfilerHostGetConfigImage, &get);
    CALL(cuptiProfilerHostGetNumOfPasses, &number);
    sampling->metrics = count;
    *passes = number.numOfPasses;

    return STATUS_OK;
}

static void close_host(struct pm_sampling *sampling)
{
    CUpti_Profiler_Host_Deinitialize_Params p =
        PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params, .pHostObject = sampling->host);

    if (sampling->host != NULL)
        loaded.cuptiProfilerHostDeinitialize(&p);
    sampling->host = NULL;
}

/* As many metrics as one pass can read: the steps are run once. */
static enum status plan_one_pass(struct pm_sampling *sampling, size_t device)
{
    CUpti_Device_GetChipName_Params chip =
        PARAMETERS(CUpti_Device_GetChipName_Params, .deviceIndex = device);
    CUpti_PmSampling_GetCounterAvailability_Params available =
        PARAMETERS(CUpti_PmSampling_GetCounterAvailability_Params, .deviceIndex = device);
    size_t passes = 0;

    CALL(cuptiDeviceGetChipName, &chip);
    CALL(cuptiPmSamplingGetCounterAvailability, &available);
    TRY(make_bytes(&sampling->available, available.counterAvailabilityImageSize));
    available.pCounterAvailabilityImage = sampling->available;
    CALL(cuptiPmSamplingGetCounterAvailability, &available);
    for (size_t count = METRICS; count > 0 && passes != 1; count--) {
        close_host(sampling);
        TRY(plan(sampling, chip.pChipName, count, &passes));
    }
    if (passes != 1)
        FAIL(STATUS_NO_LIBRARY, "cuda: CUPTI cannot count here: %s reads no counter in one pass",
             chip.pChipName);

    return STATUS_OK;
}

/* GPUs of compute capability 8.0 have no trigger by time (cupti_pmsampling.h). */
static enum status enable(struct pm_sampling *sampling, size_t device, bool by_clock)
{
    CUpti_PmSampling_Enable_Params on =
        PARAMETERS(CUpti_PmSampling_Enable_Params, .deviceIndex = device);
    CUpti_PmSampling_SetConfig_Params set =
        PARAMETERS(CUpti_PmSampling_SetConfig_Params, .configSize = sampling->config_bytes,
                   .pConfig = sampling->config, .hardwareBufferSize = HARDWARE_BYTES,
                   .samplingInterval = INTERVAL,
                   .triggerMode = by_clock ? CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL
                                           : CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
    CUpti_PmSampling_GetCounterDataSize_Params size = PARAMETERS(
        CUpti_PmSampling_GetCounterDataSize_Params, .pMetricNames = (const char **)metrics,
        .numMetrics = sampling->metrics, .maxSamples = SAMPLES);
    CUpti_PmSampling_Start_Params start = PARAMETERS(CUpti_PmSampling_Start_Params, .pPriv = NULL);

    CALL(cuptiPmSamplingEnable, &on);
    sampling->object = set.pPmSamplingObject = size.pPmSamplingObject = start.pPmSamplingObject =
        on.pPmSamplingObject;
    CALL(cuptiPmSamplingSetConfig, &set);
    CALL(cuptiPmSamplingGetCounterDataSize, &size);
    sampling->image_bytes = size.counterDataSize;
    TRY(make_bytes(&sampling->image, sampling->image_bytes));
    CALL(cuptiPmSamplingStart, &start);

    return STATUS_OK;
}

static void close_sampling(struct pm_sampling *sampling)
{
    CUpti_PmSampling_Disable_Params off =
        PARAMETERS(CUpti_PmSampling_Disable_Params, .pPmSamplingObject = sampling->object);
    CUpti_Profiler_DeInitialize_Params end = { CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE,
                                               NULL };

    if (sampling->object != NULL)
        loaded.cuptiPmSamplingDisable(&off);
    close_host(sampling);
    if (sampling->initialized)
        loaded.cuptiProfilerDeInitialize(&end);
    free(sampling->available);
    free(sampling->config);
    free(sampling->image);
    free(sampling);
}

enum status pm_sampling_start(struct pm_sampling **result, int device, int compute_capability)
{
    CUpti_Profiler_Initialize_Params begin = { CUpti_Profiler_Initialize_Params_STRUCT_SIZE, NULL };
    enum status status = STATUS_OK;
    struct pm_sampling *sampling = calloc(1, sizeof *sampling);

    *result = NULL;
    if (sampling == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the GPU's counters");
    TRY_OUT(library_load(&library));
    TRY_OUT(
        cupti_check_counting(loaded.cuptiProfilerInitialize(&begin), "cuptiProfilerInitialize"));
    sampling->initialized = true;
    TRY_OUT(check_device());
    TRY_OUT(plan_one_pass(sampling, (size_t)device));
    TRY_OUT(enable(sampling, (size_t)device, compute_capability == 80));
    *result = sampling;

out:
    if (status != STATUS_OK)
        close_sampling(sampling);
    return status;
}

/* --- Stop --- */

struct sums {
    double percent[METRICS], active, samples;
};

/* The last metric is of the time in which SMs are active (hardware_counters.h). */
static enum status add_sample(const struct pm_sampling *sampling, size_t sample, struct sums *sums)
{
    double values[METRICS] = { 0 };
    CUpti_Profiler_Host_EvaluateToGpuValues_Params p = PARAMETERS(
        CUpti_Profiler_Host_EvaluateToGpuValues_Params, .pHostObject = sampling->host,
        .pCounterDataImage = sampling->image, .counterDataImageSize = sampling->image_bytes,
        .rangeIndex = sample, .ppMetricNames = (const char **)metrics,
        .numMetrics = sampling->metrics, .pMetricValues = values);

    CALL(cuptiProfilerHostEvaluateToGpuValues, &p);
    for (int i = 0; i < METRICS - 1; i++) sums->percent[i] += values[i];
    if (values[0] > 0) /* else it is of no time, and not a number */
        sums->percent[METRICS - 1] += values[0] * values[METRICS - 1];
    sums->active += values[0];
    sums->samples++;

    return STATUS_OK;
}

/* An image full of samples at a time. */
static enum status decode(struct pm_sampling *sampling, struct sums *sums)
{
    CUpti_PmSampling_CounterDataImage_Initialize_Params clear = PARAMETERS(
        CUpti_PmSampling_CounterDataImage_Initialize_Params, .pPmSamplingObject = sampling->object,
        .counterDataSize = sampling->image_bytes, .pCounterData = sampling->image);
    CUpti_PmSampling_DecodeData_Params data = PARAMETERS(
        CUpti_PmSampling_DecodeData_Params, .pPmSamplingObject = sampling->object,
        .pCounterDataImage = sampling->image, .counterDataImageSize = sampling->image_bytes);
    CUpti_PmSampling_GetCounterDataInfo_Params info =
        PARAMETERS(CUpti_PmSampling_GetCounterDataInfo_Params, .pCounterDataImage = sampling->image,
                   .counterDataImageSize = sampling->image_bytes);

    do {
        CALL(cuptiPmSamplingCounterDataImageInitialize, &clear);
        CALL(cuptiPmSamplingDecodeData, &data);
        if (data.overflow)
            FAIL(STATUS_NO_LIBRARY, "cuda: the GPU's buffer of %d MiB for counters is full",
                 HARDWARE_BYTES >> 20);
        CALL(cuptiPmSamplingGetCounterDataInfo, &info);
        for (size_t i = 0; i < info.numCompletedSamples; i++) TRY(add_sample(sampling, i, sums));
    } while (data.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);

    return STATUS_OK;
}

enum status pm_sampling_stop(struct pm_sampling *sampling, struct hardware_counters *counters)
{
    CUpti_PmSampling_Stop_Params stop =
        PARAMETERS(CUpti_PmSampling_Stop_Params, .pPmSamplingObject = sampling->object);
    double shares[METRICS];
    struct sums sums = { 0 };
    enum status status = STATUS_OK;

    *counters = HARDWARE_COUNTERS_UNKNOWN;
    TRY_OUT(cupti_check_counting(loaded.cuptiPmSamplingStop(&stop), "cuptiPmSamplingStop"));
    TRY_OUT(decode(sampling, &sums));
    if (sums.samples == 0)
        FAIL_OUT(STATUS_NO_LIBRARY, "cuda: the GPU wrote no sample of its counters");
    for (size_t i = 0; i < METRICS; i++)
        shares[i] = i >= sampling->metrics ? NAN
                    : i == METRICS - 1     ? sums.percent[i] / sums.active / 100
                                           : sums.percent[i] / sums.samples / 100;
    memcpy(counters, shares, sizeof shares);

out:
    close_sampling(sampling);
    return status;
}

#else

enum status pm_sampling_start(struct pm_sampling **sampling, int device, int compute_capability)
{
    (void)device;
    (void)compute_capability;
    *sampling = NULL;
    FAIL(STATUS_NO_LIBRARY, "cuda: the GPU's counters are read where this was built with CUDA 13");
}

enum status pm_sampling_stop(struct pm_sampling *sampling, struct hardware_counters *counters)
{
    (void)sampling;
    *counters = HARDWARE_COUNTERS_UNKNOWN;
    return STATUS_OK;
}

#endif
