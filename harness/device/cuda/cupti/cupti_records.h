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

#include "harness/device/cuda/cupti/cupti_calls.h"
#include "harness/device/cuda/cupti/cupti_names.h"
#include "harness/device/types/activity.h"

#include <driver_types.h>
#include <stddef.h>

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
