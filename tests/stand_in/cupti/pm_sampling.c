/* CUPTI's PM sampling, a part of the stand-in for CUPTI: calls out of order or with the wrong size
 * fail, as the headers have it, and samples are made up: the first is of an idle GPU, and in all
 * others SMs are active for 80% of the time, matrix units for 40%, and the memory for 60%, with 50%
 * of the warps that fit. CHOKEPOINT_FAKE_CUPTI makes each function fail, or
 *
 *     samples=N   that were taken; 4 otherwise
 *     passes=N    that more than two metrics take
 *     overflow=1  the hardware's buffer was full
 *     vgpu=1      the device is a virtual GPU, which is not supported */
#include "tests/stand_in/listener.h"

#include <cupti.h>

#if CUPTI_API_VERSION >= 130000

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <math.h>
#include <string.h>

enum { AVAILABLE_BYTES = 24, CONFIG_BYTES = 40, IMAGE_BYTES = 64, AT_ONCE = 2 };

static struct {
    bool begun, enabled, configured, running, stopped, clear;
    size_t metrics, decoded, populated; /* `populated`: samples in the image */
    int hosts;
} state;

static const uint8_t *image;

#define FUNCTION(name, type)                                                                       \
    __attribute__((visibility("default"))) CUptiResult CUPTIAPI name(type *p);                     \
    __attribute__((visibility("default"))) CUptiResult CUPTIAPI name(type *p)

/* The parameters' size, what must be so, and what the environment says. */
#define EXPECT(name, type, condition)                                                              \
    do {                                                                                           \
        if (stand_in_told(name, 0) != 0)                                                           \
            return (CUptiResult)stand_in_told(name, 0);                                            \
        if (p->structSize != type##_STRUCT_SIZE || p->pPriv != NULL)                               \
            return CUPTI_ERROR_INVALID_PARAMETER;                                                  \
        if (!(condition))                                                                          \
            return CUPTI_ERROR_INVALID_OPERATION;                                                  \
    } while (0)

static CUpti_Profiler_Host_Object *host_object(void)
{
    return (CUpti_Profiler_Host_Object *)(void *)&state.hosts;
}

static CUpti_PmSampling_Object *sampling_object(void)
{
    return (CUpti_PmSampling_Object *)(void *)&state.enabled;
}

FUNCTION(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params)
{
    EXPECT("cuptiProfilerInitialize", CUpti_Profiler_Initialize_Params, !state.begun);
    memset(&state, 0, sizeof state);
    state.begun = true;
    return CUPTI_SUCCESS;
}

/* All that was opened is closed by then. */
FUNCTION(cuptiProfilerDeInitialize, CUpti_Profiler_DeInitialize_Params)
{
    EXPECT("cuptiProfilerDeInitialize", CUpti_Profiler_DeInitialize_Params,
           state.begun && !state.enabled && state.hosts == 0);
    state.begun = false;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerDeviceSupported, CUpti_Profiler_DeviceSupported_Params)
{
    bool vgpu = stand_in_told("vgpu", 0) != 0;

    EXPECT("cuptiProfilerDeviceSupported", CUpti_Profiler_DeviceSupported_Params,
           state.begun && p->api == CUPTI_PROFILER_PM_SAMPLING);
    p->architecture = p->confidentialCompute = p->wsl = p->sli = p->cmp =
        CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    p->vGpu = p->isSupported =
        vgpu ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiDeviceGetChipName, CUpti_Device_GetChipName_Params)
{
    EXPECT("cuptiDeviceGetChipName", CUpti_Device_GetChipName_Params, state.begun);
    p->pChipName = "GH100";
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingGetCounterAvailability, CUpti_PmSampling_GetCounterAvailability_Params)
{
    EXPECT("cuptiPmSamplingGetCounterAvailability", CUpti_PmSampling_GetCounterAvailability_Params,
           state.begun);
    if (p->pCounterAvailabilityImage == NULL)
        p->counterAvailabilityImageSize = AVAILABLE_BYTES;
    else
        memset(p->pCounterAvailabilityImage, 1, AVAILABLE_BYTES);
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostInitialize, CUpti_Profiler_Host_Initialize_Params)
{
    EXPECT("cuptiProfilerHostInitialize", CUpti_Profiler_Host_Initialize_Params,
           p->profilerType == CUPTI_PROFILER_TYPE_PM_SAMPLING &&
               p->pCounterAvailabilityImage[AVAILABLE_BYTES - 1] == 1 && state.hosts == 0);
    state.hosts++;
    state.metrics = 0;
    p->pHostObject = host_object();
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params)
{
    EXPECT("cuptiProfilerHostDeinitialize", CUpti_Profiler_Host_Deinitialize_Params,
           p->pHostObject == host_object() && state.hosts == 1);
    state.hosts--;
    return CUPTI_SUCCESS;
}

static bool is_metric(const char *name)
{
    return strncmp(name, "sm__", 4) == 0 || strncmp(name, "dram__", 6) == 0;
}

FUNCTION(cuptiProfilerHostConfigAddMetrics, CUpti_Profiler_Host_ConfigAddMetrics_Params)
{
    EXPECT("cuptiProfilerHostConfigAddMetrics", CUpti_Profiler_Host_ConfigAddMetrics_Params,
           p->pHostObject == host_object());
    for (size_t i = 0; i < p->numMetrics; i++)
        if (!is_metric(p->ppMetricNames[i]))
            return CUPTI_ERROR_INVALID_PARAMETER;
    state.metrics += p->numMetrics;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostGetConfigImageSize, CUpti_Profiler_Host_GetConfigImageSize_Params)
{
    EXPECT("cuptiProfilerHostGetConfigImageSize", CUpti_Profiler_Host_GetConfigImageSize_Params,
           p->pHostObject == host_object());
    p->configImageSize = CONFIG_BYTES;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostGetConfigImage, CUpti_Profiler_Host_GetConfigImage_Params)
{
    EXPECT("cuptiProfilerHostGetConfigImage", CUpti_Profiler_Host_GetConfigImage_Params,
           p->pHostObject == host_object() && p->configImageSize == CONFIG_BYTES);
    memset(p->pConfigImage, 2, CONFIG_BYTES);
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostGetNumOfPasses, CUpti_Profiler_Host_GetNumOfPasses_Params)
{
    EXPECT("cuptiProfilerHostGetNumOfPasses", CUpti_Profiler_Host_GetNumOfPasses_Params,
           p->configImageSize == CONFIG_BYTES && p->pConfigImage[CONFIG_BYTES - 1] == 2);
    p->numOfPasses = state.metrics > 2 ? (size_t)stand_in_told("passes", 1) : 1;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingEnable, CUpti_PmSampling_Enable_Params)
{
    EXPECT("cuptiPmSamplingEnable", CUpti_PmSampling_Enable_Params, state.begun && !state.enabled);
    state.enabled = true;
    p->pPmSamplingObject = sampling_object();
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params)
{
    EXPECT("cuptiPmSamplingDisable", CUpti_PmSampling_Disable_Params, state.enabled);
    state.enabled = false;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params)
{
    EXPECT("cuptiPmSamplingSetConfig", CUpti_PmSampling_SetConfig_Params,
           p->pPmSamplingObject == sampling_object() && p->configSize == CONFIG_BYTES &&
               p->pConfig[0] == 2 && p->samplingInterval > 0 && p->hardwareBufferSize > 0);
    state.configured = true;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingGetCounterDataSize, CUpti_PmSampling_GetCounterDataSize_Params)
{
    EXPECT("cuptiPmSamplingGetCounterDataSize", CUpti_PmSampling_GetCounterDataSize_Params,
           p->numMetrics == state.metrics && p->maxSamples > 0);
    p->counterDataSize = IMAGE_BYTES;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingStart, CUpti_PmSampling_Start_Params)
{
    EXPECT("cuptiPmSamplingStart", CUpti_PmSampling_Start_Params,
           state.configured && !state.running);
    state.running = true;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params)
{
    EXPECT("cuptiPmSamplingStop", CUpti_PmSampling_Stop_Params, state.running);
    state.running = false;
    state.stopped = true;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingCounterDataImageInitialize,
         CUpti_PmSampling_CounterDataImage_Initialize_Params)
{
    EXPECT("cuptiPmSamplingCounterDataImageInitialize",
           CUpti_PmSampling_CounterDataImage_Initialize_Params,
           p->counterDataSize == IMAGE_BYTES && state.stopped);
    memset(p->pCounterData, 3, IMAGE_BYTES);
    image = p->pCounterData;
    state.clear = true;
    return CUPTI_SUCCESS;
}

/* A few at a time. */
FUNCTION(cuptiPmSamplingDecodeData, CUpti_PmSampling_DecodeData_Params)
{
    size_t left = (size_t)stand_in_told("samples", 4) - state.decoded;

    EXPECT("cuptiPmSamplingDecodeData", CUpti_PmSampling_DecodeData_Params,
           state.clear && p->pCounterDataImage == image);
    state.populated = left < AT_ONCE ? left : AT_ONCE;
    state.decoded += state.populated;
    state.clear = false;
    p->overflow = stand_in_told("overflow", 0) != 0;
    p->decodeStopReason = left > AT_ONCE ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                         : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiPmSamplingGetCounterDataInfo, CUpti_PmSampling_GetCounterDataInfo_Params)
{
    EXPECT("cuptiPmSamplingGetCounterDataInfo", CUpti_PmSampling_GetCounterDataInfo_Params,
           p->pCounterDataImage == image);
    p->numTotalSamples = p->numPopulatedSamples = p->numCompletedSamples = state.populated;
    return CUPTI_SUCCESS;
}

FUNCTION(cuptiProfilerHostEvaluateToGpuValues, CUpti_Profiler_Host_EvaluateToGpuValues_Params)
{
    static const double busy[] = { 80, 40, 60, 50 }, idle[] = { 0, 0, 0, NAN };
    size_t sample = state.decoded - state.populated + p->rangeIndex;

    EXPECT("cuptiProfilerHostEvaluateToGpuValues", CUpti_Profiler_Host_EvaluateToGpuValues_Params,
           p->pHostObject == host_object() && p->rangeIndex < state.populated &&
               p->numMetrics == state.metrics);
    for (size_t i = 0; i < p->numMetrics; i++)
        p->pMetricValues[i] = sample == 0 ? idle[i] : busy[i];
    return CUPTI_SUCCESS;
}

#endif
