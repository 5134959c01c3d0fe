/* CUPTI, loaded when a device is opened to record its activity, and at no other time: a process
 * that is timed never has it. The facts are those of the headers of CUDA 12.4 to 13.0 and of
 * NVIDIA's "CUPTI" guide.
 *
 * CUPTI's versions differ in how a client subscribes, in three functions, and in the layouts of
 * records. Only cupti.c knows of the first; a function that may be missing is NULL; and records are
 * read by the layouts of CUDA 12.4, since newer ones are longer and begin alike. */
#pragma once

#include "harness/base/status.h"

#include <cupti.h>
#include <stdbool.h>

#if CUPTI_API_VERSION < 130000 /* CUDA 12 counted 1, 2, 3 */
#define CUPTI_SUBSCRIBE(X) X(subscribe, cuptiSubscribe)
#else
#define CUPTI_SUBSCRIBE(X) X(subscribe, cuptiSubscribe_v2)
#endif

/* member, symbol */
#define CUPTI_FUNCTIONS(X)                                                                         \
    X(get_version, cuptiGetVersion)                                                                \
    X(result_text, cuptiGetResultString)                                                           \
    X(callback_name, cuptiGetCallbackName)                                                         \
    CUPTI_SUBSCRIBE(X)                                                                             \
    X(unsubscribe, cuptiUnsubscribe)                                                               \
    X(enable_domain, cuptiEnableDomain)                                                            \
    X(set_thread_id_type, cuptiSetThreadIdType)                                                    \
    X(register_clock, cuptiActivityRegisterTimestampCallback)                                      \
    X(register_buffers, cuptiActivityRegisterCallbacks)                                            \
    X(set_attribute, cuptiActivitySetAttribute)                                                    \
    X(enable, cuptiActivityEnable)                                                                 \
    X(disable, cuptiActivityDisable)                                                               \
    X(next_record, cuptiActivityGetNextRecord)                                                     \
    X(flush, cuptiActivityFlushAll)                                                                \
    X(get_dropped, cuptiActivityGetNumDroppedRecords)

#define CUPTI_LIBRARY "libcupti.so." LIBRARY_TEXT(CHOKEPOINT_CUDA_MAJOR) /* of library.h */

struct cupti {
#define CUPTI_MEMBER(member, symbol) __typeof__(&symbol) member;
    CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
    /* NULL: CUPTI is older. Headers of that age do not declare them. */
    CUptiResult(CUPTIAPI *enable_runtime_call)(CUpti_CallbackId id, uint8_t enable);
    CUptiResult(CUPTIAPI *enable_driver_call)(CUpti_CallbackId id, uint8_t enable);
    CUptiResult(CUPTIAPI *enable_failed_syncs)(uint8_t enable);
    bool refusable;     /* it may be refused a buffer; otherwise it may crash then */
    bool overhead_data; /* records of overhead have data, which the client frees */
};

/* Loads the library once for the process (plugin/library.h). It stays loaded: CUPTI of CUDA 13.0
 * crashes when it is closed. NO_LIBRARY says what is missing, or that it is CUPTI of another
 * CUDA. */
enum status cupti_load(const struct cupti **cupti);

/* OK, or NO_LIBRARY with what CUPTI said of `call` and what to do. `other` is what it said of the
 * tool that is there already; "" or NULL: nothing. */
enum status cupti_check(const struct cupti *cupti, CUptiResult result, const char *call,
                        const char *other);

/* Makes this process CUPTI's client, whose `callback` hears of its state, under cupti_check()'s
 * errors. Subscribing shows whether another tool is there: without it, CUPTI silently takes that
 * tool's buffers. */
enum status cupti_subscribe(const struct cupti *cupti, CUpti_SubscriberHandle *subscriber,
                            CUpti_CallbackFunc callback);

/* The same of a call that reads the GPU's counters. */
enum status cupti_check_counting(CUptiResult result, const char *call);
