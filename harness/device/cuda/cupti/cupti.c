/* Loads CUPTI, refuses another major version, and turns CUPTI's results into sentences with advice:
 * a table has one row for each result that users have met or may meet. */
#include "harness/device/cuda/cupti/cupti.h"

#include "harness/device/plugin/library.h"

#include <dlfcn.h>

/* CUPTI_API_VERSION is 130001 for CUDA 13.0 Update 1: major, minor, update in two digits each. In
 * CUDA 12 it was a number that grew: 22 for 12.4. */
enum { VERSION_MAJOR = 10000, CUDA_12_4 = 22, CUDA_12_5, CUDA_12_9 = 27, CUDA_13_0_1 = 130001 };
#define MAJOR CHOKEPOINT_CUDA_MAJOR
_Static_assert((CUPTI_API_VERSION < VERSION_MAJOR) == (MAJOR == 12), "CUPTI of another CUDA");
_Static_assert(CUPTI_API_VERSION >= CUDA_12_4, "records of an older CUPTI");

/* In these sentences the timing has been done, or is done by other processes. */
#define NO_TRACE "; no trace was written, and the timing is unaffected"

static const struct row {
    CUptiResult result;
    const char *advice;
} rows[] = {
    { CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
      "another profiler is attached to this process: run without nsys, ncu, cuda-gdb and "
      "compute-sanitizer, or unset CUDA_INJECTION64_PATH" },
    { CUPTI_ERROR_NOT_INITIALIZED,
      "the NVIDIA driver could not be started for CUPTI, or is older "
      "than it: install driver " LIBRARY_TEXT(CHOKEPOINT_CUDA_DRIVER) " or newer" },
    { CUPTI_ERROR_NOT_COMPATIBLE,
      "the NVIDIA driver and CUPTI do not fit together: install a newer driver" },
    { CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
      "this user may not profile: ask for NVreg_RestrictProfilingToAdminUsers=0, or give the "
      "container --cap-add=SYS_ADMIN" },
    { CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
      "the hypervisor does not allow profiling of this virtual GPU: ask its administrator" },
    { CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "CUPTI does not trace this virtual GPU" },
    { CUPTI_ERROR_HARDWARE_BUSY,
      "another tool holds the GPU's counters: dcgmi profile --pause stops DCGM's" },
    { CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
      "nothing can be traced in confidential computing mode" },
    { CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "CUPTI does not trace mining GPUs" },
    /* CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, ..._SLI_... and ..._WSL_..., not in all headers. */
    { (CUptiResult)43, "CUPTI does not trace this MIG instance" },
    { (CUptiResult)44, "CUPTI does not trace GPUs in SLI" },
    { (CUptiResult)45,
      "CUPTI is switched off in WSL: allow access to the counters in NVIDIA's control panel" },
    { CUPTI_ERROR_INVALID_DEVICE, "CUPTI traces GPUs of compute capability 7.5 or newer" },
    { CUPTI_ERROR_DISABLED, "CUPTI was disabled in this process: unset CUDA_INJECTION64_PATH" },
    { CUPTI_ERROR_OUT_OF_MEMORY, "close other programs, or make the model smaller" },
    { CUPTI_ERROR_UNKNOWN,
      "is this libcupti the driver's match, and is the driver loaded? See nvidia-smi" },
};

static struct cupti loaded;

static const struct library_symbol symbols[] = {
#define SYMBOL(member, symbol) { #symbol, (void **)&loaded.member },
    CUPTI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static struct library library;

/* By its version, and by the functions that not every version has. */
static enum status check_version(void)
{
    uint32_t version = 0;

    *(void **)&loaded.enable_runtime_call = dlsym(library.handle, "cuptiActivityEnableRuntimeApi");
    *(void **)&loaded.enable_driver_call = dlsym(library.handle, "cuptiActivityEnableDriverApi");
    *(void **)&loaded.enable_failed_syncs =
        dlsym(library.handle, "cuptiActivityEnableAllSyncRecords");
    TRY(cupti_check(&loaded, loaded.get_version(&version), "cuptiGetVersion", NULL));
    loaded.refusable = version >= CUDA_12_9; /* Kineto's libkineto/src/CuptiActivityApi.cpp */
    loaded.overhead_data = version >= CUDA_12_5;
    if (version < CUDA_12_4 || (version < VERSION_MAJOR ? 12 : version / VERSION_MAJOR) != MAJOR)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: " CUPTI_LIBRARY
             " says that it is version %u; this was built for CUPTI of CUDA %d "
             "(%d): install that, or take the other one out of LD_LIBRARY_PATH" NO_TRACE,
             version, MAJOR, CUPTI_API_VERSION);

    return STATUS_OK;
}

/* CUPTI of 13.0 before Update 1 leaves out the waits of cudaDeviceSynchronize and may crash in a
 * flush ("CUDA Toolkit 13.0 Update 1 Release Notes", CUPTI). */
static bool is_dated(void)
{
    uint32_t version = 0;

    return loaded.get_version(&version) != CUPTI_SUCCESS ||
           (version >= VERSION_MAJOR && version < CUDA_13_0_1);
}

static struct library library = {
    .title = "CUPTI, which traces the GPU,",
    .file = CUPTI_LIBRARY,
    .package = "cuda-cupti of CUDA " LIBRARY_TEXT(MAJOR) ", part of the toolkit",
    .oldest = MAJOR == 12 ? "CUPTI of CUDA 12.4" : "CUPTI of CUDA 13.0",
    .note = NO_TRACE,
    .symbols = symbols,
    .symbol_count = ARRAY_SIZE(symbols),
    .check = check_version,
    .is_dated = is_dated,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

enum status cupti_load(const struct cupti **cupti)
{
    enum status status = library_load(&library);

    if (status == STATUS_OK)
        *cupti = &loaded;
    return status;
}

/* The words of CUPTI for it, and what to do; "" if nobody knows. */
static const char *text_of(const struct cupti *cupti, CUptiResult result, const char **advice)
{
    const char *text = NULL;

    *advice = "";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].result == result)
            *advice = rows[i].advice;
    return cupti->result_text(result, &text) == CUPTI_SUCCESS && text != NULL
               ? text
               : "an error without a name";
}

enum status cupti_check_counting(CUptiResult result, const char *call)
{
    const char *text, *advice;

    if (result == CUPTI_SUCCESS)
        return STATUS_OK;
    text = text_of(&loaded, result, &advice);
    FAIL(STATUS_NO_LIBRARY, "cuda: CUPTI cannot count here: %s said %s (%d)%s%s", call, text,
         (int)result, *advice != '\0' ? "; " : "", advice);
}

enum status cupti_check(const struct cupti *cupti, CUptiResult result, const char *call,
                        const char *other)
{
    const char *text, *advice;

    if (result == CUPTI_SUCCESS)
        return STATUS_OK;
    text = text_of(cupti, result, &advice);
    return status_fail(STATUS_NO_LIBRARY, __FILE__, __LINE__,
                       "cuda: CUPTI cannot trace here: %s said %s (%d)%s%s%s%s%s" NO_TRACE, call,
                       text, (int)result, other != NULL && *other != '\0' ? ", and that " : "",
                       other != NULL ? other : "",
                       other != NULL && *other != '\0' ? " is there already" : "",
                       *advice != '\0' ? "; " : "", advice);
}

#if MAJOR == 12
/* CUDA 12 does not say which tool is there. */
enum status cupti_subscribe(const struct cupti *cupti, CUpti_SubscriberHandle *subscriber,
                            CUpti_CallbackFunc callback)
{
    CUptiResult result = cupti->subscribe(subscriber, callback, NULL);

    if (result != CUPTI_SUCCESS)
        *subscriber = NULL;
    return cupti_check(cupti, result, "cuptiSubscribe", NULL);
}
#else
enum status cupti_subscribe(const struct cupti *cupti, CUpti_SubscriberHandle *subscriber,
                            CUpti_CallbackFunc callback)
{
    char other[2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
    CUpti_SubscriberParams parameters = { .structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                          .subscriberName = "chokepoint",
                                          .oldSubscriberName = other,
                                          .oldSubscriberSize = sizeof other };
    CUptiResult result = cupti->subscribe(subscriber, callback, NULL, &parameters);

    if (result != CUPTI_SUCCESS)
        *subscriber = NULL;
    return cupti_check(cupti, result, "cuptiSubscribe_v2", other);
}
#endif
