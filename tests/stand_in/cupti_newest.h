/* How CUPTI's versions differ, for what fills records as the library of these headers would: the
 * newest layout of each record, and functions that older ones lack. */
#pragma once

#include <cupti.h>

/* The first versions with cuptiActivityEnableRuntimeApi() and its like, and with
 * cuptiActivityEnableAllSyncRecords(). */
#define CUPTI_WITH_CALL_CHOICE 23 /* CUDA 12.5 */
#define CUPTI_WITH_SYNC_CHOICE 26 /* CUDA 12.8 */

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 newest_kernel;
#else
typedef CUpti_ActivityKernel9 newest_kernel;
#endif

#if CUPTI_API_VERSION >= CUPTI_WITH_SYNC_CHOICE
typedef CUpti_ActivityMemcpy6 newest_copy;
typedef CUpti_ActivityMemory4 newest_memory;
typedef CUpti_ActivitySynchronization2 newest_wait;
#else
typedef CUpti_ActivityMemcpy5 newest_copy;
typedef CUpti_ActivityMemory3 newest_memory;
typedef CUpti_ActivitySynchronization newest_wait;
#endif

/* Newer ones have `overheadData`, which the client frees. */
#if CUPTI_API_VERSION >= CUPTI_WITH_CALL_CHOICE
typedef CUpti_ActivityOverhead3 newest_overhead;
#define NEWEST_HAS_DATA
#else
typedef CUpti_ActivityOverhead2 newest_overhead;
#endif
