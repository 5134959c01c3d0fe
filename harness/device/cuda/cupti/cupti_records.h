/* From CUPTI's records to the trace's: `struct activity`, in the CPU device's words.
 *
 * Records of different threads come in no order, so those of one flush are read twice: first their calls
 * are noted, then each record is translated, and what does not say its thread (waits, memory) has it from
 * the call of the same correlation. One call may leave two records of one correlation, the runtime's and
 * inside it the driver's, or one under each of two names: the first runtime record is shown. */
#ifndef HARNESS_DEVICE_CUDA_CUPTI_CUPTI_RECORDS_H
#define HARNESS_DEVICE_CUDA_CUPTI_CUPTI_RECORDS_H

#include "harness/device/activity.h"
#include "harness/device/cuda/cupti/cupti_calls.h"
#include "harness/device/cuda/cupti/cupti_names.h"

#include <driver_types.h>
#include <stddef.h>

struct cupti_call {
    uint64_t start;
    uint32_t correlation, thread;
    bool runtime;
};

/* Begin with the first four members set and the others zero. */
struct cupti_records {
    const struct cupti_calls *calls;
    struct cupti_names *names;
    uint32_t device;                  /* of waits, whose records name none */
    const struct cudaDeviceProp *gpu; /* that device; NULL: no occupancy can be told */
    struct cupti_call *noted;
    size_t count, room;
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
void cupti_records_drop(const CUpti_Activity *record);

void cupti_records_release(struct cupti_records *records); /* what was noted */

#endif
