/* CUPTI, loaded when a device is opened to record its activity, and at no other time: a process
 * that is timed never has it. The facts are those of the headers of CUDA 13 and of NVIDIA's "CUPTI"
 * guide. */
#pragma once

#include "harness/base/status.h"

#include <cupti.h>

/* member, symbol */
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(get_version, cuptiGetVersion)                                                                \
    X(result_text, cuptiGetResultString)                                                           \
    X(callback_name, cuptiGetCallbackName)                                                         \
    X(subscribe, cuptiSubscribe_v2)                                                                \
    X(unsubscribe, cuptiUnsubscribe)                                                               \
    X(enable_domain, cuptiEnableDomain)                                                            \
    X(set_thread_id_type, cuptiSetThreadIdType)                                                    \
    X(register_clock, cuptiActivityRegisterTimestampCallback)                                      \
    X(register_buffers, cuptiActivityRegisterCallbacks)                                            \
    X(enable, cuptiActivityEnable)                                                                 \
    X(disable, cuptiActivityDisable)                                                               \
    X(enable_runtime_call, cuptiActivityEnableRuntimeApi)                                          \
    X(enable_driver_call, cuptiActivityEnableDriverApi)                                            \
    X(enable_failed_syncs, cuptiActivityEnableAllSyncRecords)                                      \
    X(next_record, cuptiActivityGetNextRecord)                                                     \
    X(flush, cuptiActivityFlushAll)                                                                \
    X(get_dropped, cuptiActivityGetNumDroppedRecords)

struct cupti {
#define CUPTI_MEMBER(member, symbol) __typeof__(&symbol) member;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

/* Loads the library once for the process (plugin/library.h). It stays loaded: CUPTI of CUDA 13.0
 * crashes when it is closed. NO_LIBRARY says what is missing, or that it is CUPTI of another
 * CUDA. */
enum status cupti_load(const struct cupti **cupti);

/* OK, or NO_LIBRARY with what CUPTI said of `call` and what to do. `other` is what it said of the
 * tool that is there already; "" or NULL: nothing. */
enum status cupti_check(const struct cupti *cupti, CUptiResult result, const char *call,
                        const char *other);
