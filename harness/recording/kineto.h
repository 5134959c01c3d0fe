/* The trace file that PyTorch's profiler (Kineto) writes: Chrome's trace event format, as JSON.
 *
 * One event per line; everything about the trace as a whole comes first, so that a reader of the
 * stream knows it before the events. It opens in Perfetto, chrome://tracing and
 * HolisticTraceAnalysis.
 *
 * Times are microseconds with three decimals, exact to the nanosecond, since the recording began,
 * which is `baseTimeNanoseconds` since 1970. Rows by category:
 *
 * - cpu_op: an operator, with "Input Dims", "Input type", "Sequence number", "bytes" and "flops".
 * - user_annotation: a phase, or a step "ProfilerStep#N" with "samples", "tokens", "padded tokens"
 *   (padding; tokens are the others) and "flops".
 * - gpu_user_annotation: the same on a stream, from the first work that was launched in it to the
 *   end of the last.
 * - kernel, gpu_memcpy, gpu_memset: pid is the device's number, tid the stream. A kernel that
 *   communicates has "Collective name", "In msg nelems", "Out msg nelems", "dtype", "Group size"
 *   and "Rank", as PyTorch's profiler writes them from 2.3 on.
 *   A node of a graph whose launch was recorded as one piece is "fitted".
 * - cuda_runtime, cuda_driver: pid and tid of the host; "correlation" as on the work it caused.
 * - cuda_sync: a wait. Its tid is -1, since it lasts across work of its stream; "stream" -1: of
 *   all.
 * - ac2g: a flow, s at the call and f at the first work that it caused.
 * - cpu_instant_event: "[memory]" is a block of the step's allocator, whose "Bytes" add up to
 *   "Total Allocated"; 0 bytes: what was allocated at the beginning, one row per category. "[device
 *   memory]" is an allocation from the device itself.
 * - overhead: what tracing cost.
 *
 * "External id" is an operator's or annotation's number, and on a call and its work that of the
 * innermost one in which the call was made. */
#pragma once

#include "harness/device/device.h"
#include "harness/recording/buffer.h"

/* Facts of the trace as a whole. */
struct kineto_about {
    const char *name;     /* traceName: "item_sync.before" */
    const char *settings; /* all knobs as text; NULL: none */
    const struct device_properties *device;
    int64_t memory_budget; /* bytes that the step may reserve; 0: what the device has */

    /* Reached by the device in benches of its own: products in the step's type, copies within its
     * memory (read and written); 0: not known. */
    double peak_flops_per_second, copy_bytes_per_second;

    /* Medians over windows of `steps` steps each, of a device that no tracer was loaded for and of
     * this one; 0: not measured. */
    int64_t steps;
    int windows;
    double step_time_us, traced_step_time_us;
    double spread; /* of the windows of a kind, over their median; NaN: there is only one window */

    /* The part of the loader's time in which it reads files, the rest being spent on decoding; 0:
     * it reads none. */
    double loader_reads_share;

    int rank, ranks; /* of the process; 0 and 1 where it trains alone */

    struct hardware_counters counters; /* of such steps without a tracer; unknown: not read */

    double wanted_cores; /* by all threads of this process meanwhile; NaN: not known */
    int cores;           /* that it may run on */
    double other_cores;  /* that other programs used meanwhile, on average; NaN: not known */
};

/* Writes what was recorded to `path`, compressed where it ends in ".gz": whole, or not at all. Ends
 * the recording. `droppedRecords` is there, and not 0, when records were dropped. IO,
 * OUT_OF_MEMORY. */
enum status kineto_write(const char *path, struct trace *trace, const struct kineto_about *about);
