/* Failing on purpose: CHOKEPOINT_FAIL=alloc:17 makes the 17th device allocation fail, so that every
 * error path can be walked. CHOKEPOINT_FAIL=flip:gelu_backward:17 fails nothing: it flips a bit of
 * what the 17th launch of that kernel computed, so that what must find such bits can be
 * tried. Several may be given, separated by commas. */
#pragma once

#include "harness/device/device.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* kind, what the call returns. These calls count: device_alloc; host_alloc; stream_create;
 * event_create; both copies; device_memset; device_launch; device_gemm; graph_begin, graph_end and
 * graph_launch; the synchronisation of a stream, an event or the device. `kernel` counts kernels
 * and GEMMs together; the one that is hit is queued and fails on the device, so that its error
 * surfaces at the next synchronisation. */
#define FAULTS(X)                                                                                  \
    X(alloc, DEVICE_OUT_OF_MEMORY)                                                                 \
    X(host_alloc, OUT_OF_MEMORY)                                                                   \
    X(stream, DEVICE_ERROR)                                                                        \
    X(event, DEVICE_ERROR)                                                                         \
    X(copy, DEVICE_ERROR)                                                                          \
    X(memset, DEVICE_ERROR)                                                                        \
    X(launch, DEVICE_ERROR)                                                                        \
    X(gemm, DEVICE_ERROR)                                                                          \
    X(graph, DEVICE_ERROR)                                                                         \
    X(sync, DEVICE_ERROR)                                                                          \
    X(kernel, DEVICE_ERROR)

enum fault {
#define FAULT_ID(name, status) FAULT_##name,
    FAULTS(FAULT_ID)
#undef FAULT_ID
        FAULT_COUNT
};

enum { FAULTS_MAX = 16 };

/* In place of an enum kernel: device_gemm(). */
enum { FLIP_GEMM = KERNEL_COUNT };

struct faults {
    int count;
    struct planned_fault {
        enum fault kind;
        int64_t call;           /* the one that fails, from 1 on */
        _Atomic int64_t so_far; /* calls of this kind */
    } planned[FAULTS_MAX];
    int flip_count;
    struct planned_flip {
        int kernel; /* an enum kernel, or FLIP_GEMM */
        int64_t call;
        uint64_t place; /* which bit of the output, modulo the output's bits; 0 if not given */
        _Atomic int64_t so_far; /* launches outside of captures */
    } flips[FAULTS_MAX];
};

/* From the variable's text: KIND:N, flip:KERNEL:N or flip:KERNEL:N:PLACE, where KERNEL is one of
 * kernels.h or gemm. NULL or "" plans nothing. BAD_USAGE names the kinds there are. */
enum status faults_parse(struct faults *faults, const char *text);

/* Counts a call of `kind`. Returns the call's number, from 1 on, if it must fail, else 0. */
int64_t faults_hit(struct faults *faults, enum fault kind);

/* The same, as a failure that says it was injected. */
enum status faults_check(struct faults *faults, enum fault kind);

/* Counts a launch of `kernel`. Whether it is one whose output gets a wrong bit, and which. */
bool faults_flip(struct faults *faults, int kernel, uint64_t *place);

/* The program's own records of an open device: struct device_counters, counted from several
 * threads, and what is to fail. */
struct device_ledger {
#define LEDGER_COUNTER(name) _Atomic int64_t name;
    DEVICE_COUNTERS(LEDGER_COUNTER)
#undef LEDGER_COUNTER
    struct faults faults;
};

/* --- Flipping a bit of what a kernel computed --- */

/* Once the kernel is done, the bit's byte is copied to the host, changed, and copied back: so it
 * works on every device. The bit is one of the kernel's first output; of partial column sums, one
 * of the first part.
 *
 * To be called once the work is queued. Nothing happens unless a flip of this call was planned, and
 * where the stream is captured, whose work is still to be done. */
enum status flip_kernel(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments);
enum status flip_gemm(struct stream *stream, const struct gemm *gemm);
