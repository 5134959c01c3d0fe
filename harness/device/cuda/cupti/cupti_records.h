/* From CUPTI's records to the trace's: `struct activity`, in the CPU device's words.
 *
 * Records of different threads come in no order, so those of one flush are read twice: first their
 * calls are noted, then each record is translated, and what does not say its thread (waits, memory)
 * has it from the call of the same correlation. One call may leave two records of one correlation,
 * the runtime's and inside it the driver's, or one under each of two names: the first runtime
 * record is shown.
 *
 * NCCL's kernels say nothing of what they communicate. The launch that is inside a call of NCCL's,
 * by thread and time, tells which message its kernel has. Kernels of graphs, which were launched
 * elsewhere, have none. */
#pragma once

#include "harness/base/status.h"
#include "harness/device/cuda/cupti/cupti.h"
#include "harness/device/types/activity.h"

#include <driver_types.h>
#include <stddef.h>

/* Names that records give, kept once each for as long as somebody may read them: CUPTI's own belong
 * to CUPTI. Kernels' names come mangled. One thread at a time. */
struct cupti_names;

enum status cupti_names_open(struct cupti_names **names); /* OUT_OF_MEMORY */
void cupti_names_close(struct cupti_names *names);        /* NULL is allowed */

/* As it is in C++, "void gemm<float>(int)" for "_Z4gemmIfEvi"; as it is where it is not mangled, or
 * where there is no libstdc++.so.6 to ask. The same string for the same name until the close. NULL
 * is a kernel without a name. Without memory a fixed text comes back. */
const char *cupti_names_kernel(struct cupti_names *names, const char *mangled);

/* The same, never mangled. */
const char *cupti_names_plain(struct cupti_names *names, const char *name);

/* The calls of the host that a trace shows. All of them would be too many: every library asks for
 * the current device and the like, and each record costs. They are known by their names, since
 * their numbers differ between versions of CUDA. */

/* By CUPTI's callback id the call's name without version and variant, "cudaLaunchKernel" for
 * "cudaLaunchKernel_ptsz_v7000"; NULL: it is not recorded. Names live as long as the program. */
struct cupti_calls {
    const char *runtime[CUPTI_RUNTIME_TRACE_CBID_SIZE];
    const char *driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
};

void cupti_calls_find(struct cupti_calls *calls, const struct cupti *cupti);

/* The name as it is recorded; NULL: it is none of the calls. */
const char *cupti_runtime_call(const char *callback_name);
const char *cupti_driver_call(const char *callback_name);

/* A call of NCCL's, and the message that its kernel moves. */
struct cupti_message {
    int64_t start_ns, end_ns; /* of the call */
    uint32_t thread;
    const char *name; /* of struct activity: "allreduce" */
    int64_t bytes;
    enum dtype dtype;
};

struct cupti_call {
    uint64_t start;
    uint32_t correlation, thread;
    bool runtime, query;
    const struct cupti_message *message; /* NULL: it is in no call of NCCL's */
};

/* Begin with the first five members set and the others zero. */
struct cupti_records {
    const struct cupti *cupti; /* what its version's records have */
    const struct cupti_calls *calls;
    struct cupti_names *names;
    uint32_t device;                  /* of waits, whose records name none */
    const struct cudaDeviceProp *gpu; /* that device; NULL: no occupancy can be told */
    struct cupti_call *noted;
    size_t count, room;
    struct cupti_message *messages; /* by time: NCCL takes one call at a time */
    size_t message_count;
};

enum cupti_outcome {
    CUPTI_OUTCOME_SHOWN,  /* *activity is set */
    CUPTI_OUTCOME_HIDDEN, /* a trace does not show it, or shows it already */
    CUPTI_OUTCOME_BROKEN, /* without a time: CUPTI had no room to keep it */
};

/* OUT_OF_MEMORY */
enum status cupti_records_note(struct cupti_records *records, const CUpti_Activity *record);

/* Between the last note and the first translation. */
void cupti_records_join(struct cupti_records *records);

enum cupti_outcome cupti_records_translate(struct cupti_records *records,
                                           const CUpti_Activity *record, struct activity *activity);

/* Frees the memory that only this record refers to; once per record. */
void cupti_records_drop(const struct cupti_records *records, const CUpti_Activity *record);

void cupti_records_release(struct cupti_records *records); /* what was noted, and the messages */

/* How many of an SM's threads a kernel's launch can keep busy at most, by CUDA's own calculator
 * (cuda_occupancy.h), as PyTorch's profiler has it. */

/* 0..1: min(blocks that fit an SM, blocks of the grid per SM) * threads of a block / threads of an
 * SM (Kineto's libkineto/src/DeviceProperties.cpp). `static_bytes` and `dynamic_bytes` are a
 * block's shared memory. 0 where the calculator does not know the GPU. */
float occupancy_of(const struct cudaDeviceProp *gpu, const uint32_t grid[3],
                   const uint32_t block[3], uint32_t registers, uint32_t static_bytes,
                   uint32_t dynamic_bytes);
