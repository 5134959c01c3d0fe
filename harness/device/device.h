/* The device: the functions that a CUDA GPU and the embedded CPU device both have.
 *
 * The calls are CUDA's runtime calls under their own names less the prefix: work is queued on a
 * stream and the call returns at once unless its comment says that it blocks. An error of queued
 * work surfaces at the next synchronisation of its stream and stays (CUDA: "sticky"). Sizes are in
 * bytes, times in nanoseconds. The host must not touch device memory, on any device.
 *
 * The functions check their arguments, count (struct device_counters) and hand over to the driver:
 * one const row of functions that a plugin exports (driver.h). All may be called from several
 * threads, but a stream is captured and an object destroyed by one thread only. */
#pragma once

#include "harness/base/figures/hardware_counters.h"
#include "harness/base/status.h"
#include "harness/device/types/activity.h"
#include "harness/device/types/collective.h"
#include "harness/device/types/dtype.h"
#include "harness/device/types/health.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;
struct stream;
struct event;
struct graph;
struct ptx_kernel;

/* How fp32 products are computed: strict fp32, or rounded to tf32 where the device has it. */
enum math { MATH_STRICT, MATH_TF32 };

enum copy_kind { COPY_HOST_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_DEVICE_TO_DEVICE };

/* ALLOCATE_DIRECT is cudaMalloc/cudaFree: the free waits for the device. ALLOCATE_STREAM_ORDERED is
 * cudaMallocAsync/cudaFreeAsync: in order with the stream's work, from a pool that keeps memory. */
enum allocation { ALLOCATE_DIRECT, ALLOCATE_STREAM_ORDERED };

struct device_options {
    int64_t memory_bytes; /* CPU device: its capacity. CUDA: refuse to use more. 0: the default */
    int spin_ns;      /* CPU device: how long an idle worker spins before it sleeps; < 0: default */
    bool no_doorbell; /* CPU device: leave out the system call of every launch; for the bench */
    struct activity_sink sink;
};

/* Every property, once: the struct, the records between processes and result files are made from
 * this list, in its order. Users of the table say what becomes of a text, an int, an int64_t, a
 * bool and a double. */
#define DEVICE_FIELDS(TEXT, INT, INT64, BOOL, DOUBLE)                                              \
    TEXT(kind, 8)           /* "cpu" or "cuda": what --device said */                              \
    TEXT(name, 96)          /* "CPU device (AMD EPYC, 2 cores)", "NVIDIA H200" */                  \
    TEXT(isa, 64)           /* what the kernels were built for: "avx512bf16", "sm_90" */           \
    TEXT(gemm_library, 64)  /* "oneDNN 2.6.3", "cuBLAS 13.0.2" */                                  \
    INT(index)              /* of the GPU; 0 on the CPU device */                                  \
    INT(peers)              /* other GPUs that this process sees (peer.h) */                       \
    INT64(memory_bytes)     /* capacity */                                                         \
    INT(multiprocessors)    /* SMs; the CPU device: 1, the worker of a stream */                   \
    INT(warp_lanes)         /* threads in a warp; 1 on the CPU device */                           \
    INT(host_cores)         /* this process may run on */                                          \
    BOOL(shares_host_cores) /* the CPU device: host and device work compete */                     \
    DOUBLE(launch_ns)       /* measured at open: host time of one eager launch, median */          \
    INT(spin_ns)            /* as in the options */                                                \
    BOOL(doorbell)          /* the CPU device: a launch makes a system call, as a driver does */   \
    BOOL(bf16_matrix_units) /* bf16 GEMM is at least twice as fast as fp32 */                      \
    BOOL(fp16_matrix_units)                                                                        \
    BOOL(tf32)                                                                                     \
    BOOL(fused_attention)   /* by a library: device_attention() may be planned */                  \
    INT(compute_capability) /* 90 for sm_90; 0 on the CPU device */                                \
    INT64(cache_bytes)      /* the cache before the memory: a GPU's L2; 0: unknown */              \
    INT(memory_bus_bits)    /* of the device memory; 0: unknown */                                 \
    INT(cuda_runtime)       /* the runtime in use, 13000 for CUDA 13.0; 0: unknown, or no GPU */   \
    INT(cuda_driver)        /* the newest CUDA that the driver supports, likewise */               \
    INT(attention_cuda)     /* the CUDA that the attention library was built for, likewise */      \
    TEXT(attention_library, 160) /* "cuDNN 9.19.0", or why there is none; "" on the CPU device */

/* How the program treats a device. Code tests these and never the kind's name, so a new kind of
 * device only sets them. They travel between processes and appear in no file. */
#define DEVICE_TRAITS(BOOL, DOUBLE)                                                                \
    BOOL(is_gpu)                 /* memory and a link of its own, NVML's readings */               \
    BOOL(is_large)               /* models, tensors and products of a whole GPU's size */          \
    BOOL(clocks_rise_with_work)  /* slow after idling: keep it busy before timing it */            \
    BOOL(gemm_epilogues)         /* by a library: device_gemm() may be asked for them */           \
    DOUBLE(window_seconds_least) /* a shorter window is too noisy to compare; 0: any length does   \
                                  */

struct device_properties {
#define TEXT(field, size) char field[size];
#define INT(field)        int field;
#define INT64(field)      int64_t field;
#define BOOL(field)       bool field;
#define DOUBLE(field)     double field;
    DEVICE_FIELDS(TEXT, INT, INT64, BOOL, DOUBLE)
    DEVICE_TRAITS(BOOL, DOUBLE)
#undef TEXT
#undef INT
#undef INT64
#undef BOOL
#undef DOUBLE
};

/* The raw device allocations, direct and stream-ordered together. */
struct memory_info {
    int64_t capacity;
    int64_t used;      /* allocated and not freed */
    int64_t reserved;  /* used, and what the stream-ordered pool keeps */
    int64_t free;      /* capacity - reserved */
    int64_t peak_used; /* since open or the last memory_trim */
};

/* Successful calls of the host since open. Calls that fail and calls recorded into a graph are not
 * counted. The metrics are differences over a window. */
#define DEVICE_COUNTERS(X)                                                                         \
    X(launches) /* eager kernels and GEMMs */                                                      \
    X(graph_launches)                                                                              \
    X(copies)                                                                                      \
    X(copy_bytes_h2d)                                                                              \
    X(copy_bytes_d2h)                                                                              \
    X(copy_bytes_d2d)                                                                              \
    X(memsets)                                                                                     \
    X(synchronizations) /* calls that block until work is done, and copies that wait */            \
    X(event_records)                                                                               \
    X(collectives)                                                                                 \
    X(collective_bytes) /* that each works on */                                                   \
    X(allocations)      /* device memory, both ways */                                             \
    X(frees)                                                                                       \
    X(host_allocations)

struct device_counters {
#define DEVICE_COUNTER(name) int64_t name;
    DEVICE_COUNTERS(DEVICE_COUNTER)
#undef DEVICE_COUNTER
};

/* The kernel of a product computes this besides, while it has c or b at hand; the names are those
 * of cuBLASLt. GELU is that of kernels/model/gelu.h. Values are rounded to the type of c only where
 * they are stored. */
enum epilogue {
    EPILOGUE_NONE,
    EPILOGUE_BIAS,          /* c = op(a) op(b) + bias */
    EPILOGUE_GELU_AUX_BIAS, /* aux = op(a) op(b) + bias, c = gelu(aux) */
    EPILOGUE_DGELU,         /* c = op(a) op(b) * gelu'(aux) */
    EPILOGUE_BGRAD,         /* c = op(a) op(b), bias = the sums of op(b) over k */
    EPILOGUE_COUNT
};

/* Row-major c = op(a) op(b), or c += op(a) op(b); `batch` products at the given strides.
 *
 * op(a) is [m, k], op(b) is [k, n], c is [m, n]; lda is the elements from one row of a, as it is
 * stored, to the next: at least k, or m where transpose_a. Strides are in elements from one
 * product's matrix to the next and may be 0 for a and b. Sums are in fp32, those of fp64 in fp64.
 *
 * An epilogue takes one product, not of fp64, which is not added to c. */
struct gemm {
    void *c;
    const void *a, *b;
    int m, n, k, batch;
    int lda, ldb, ldc;
    int64_t stride_a, stride_b, stride_c;
    bool transpose_a, transpose_b;
    bool accumulate;
    enum dtype dtype_ab, dtype_c; /* dtype_c is dtype_ab, or DTYPE_F32 of 16 bits */
    enum math math;
    enum epilogue epilogue;
    void *bias; /* [n], in the type of c, as aux; NULL where the epilogue has none */
    void *aux;  /* [m, n], rows ldc apart */
};

/* Attention by a library of the device: y = softmax(scale * q k') v, for each head of each sample,
 * without its scores in memory. q, k, v, y and their gradients are [samples, heads, tokens, width];
 * or, where `packed`, q, k and v are parts of one tensor [samples, tokens, 3, heads, width], their
 * gradients of another, and y and dy are [samples, tokens, heads, width], as the linear layers
 * around attention have them. Forward writes y and statistics, fp32 [samples, heads, tokens], which
 * backward reads; backward writes dq, dk, dv. `lengths` [samples] says how many keys count; it is
 * NULL, and all count, exactly where shape.lengths is false. `workspace` has the size that
 * device_attention_plan() gave and must live until the work is done. Results may differ from run to
 * run in the last place. */
struct attention_shape {
    int samples, heads, tokens, width;
    bool lengths;
    enum dtype dtype;
    bool packed;
};
struct fused_attention {
    struct attention_shape shape;
    bool backward;
    float scale;
    void *y;
    float *statistics;
    const void *q, *k, *v;
    const int32_t *lengths;
    const void *dy;
    void *dq, *dk, *dv;
    void *workspace;
};

/* The values that --device takes, for --help. */
#define DEVICE_NAMES "auto|cpu|cuda[:N]"

/* Opens the device called "auto" (a GPU where one answers, else the CPU device), "cpu", "cuda" or
 * "cuda:N". `options` may be NULL. Errors: NO_DEVICE and NO_LIBRARY say what is missing. */
enum status device_open(struct device **device, const char *name,
                        const struct device_options *options);
void device_close(struct device *device); /* waits for all work; NULL is allowed */

/* The name that opens this very device again: "cpu", "cuda:1". */
void device_name_print(char *name, size_t size, const struct device_properties *properties);

/* Why the last device that was opened as "auto" is not the GPU which is in sight, as a driver or a
 * device file; "" where it is one, or none is in sight. Valid until "auto" is opened again. */
const char *device_fallback(void);

/* The same sight below `root`, for a test; "" is this machine. */
bool device_gpu_in_sight(const char *root);

/* Whether `name` asks for a GPU, before any device is open. "auto" does not. */
bool device_name_wants_gpu(const char *name);

const struct device_properties *device_properties(const struct device *device);
struct device_counters device_counters(const struct device *device);
enum status device_memory_info(struct device *device, struct memory_info *info);

/* Gives what pools keep back to the device and sets peak_used to used. Waits for all work. */
enum status device_memory_trim(struct device *device);

/* Clocks, limits and the like, which decide the device's speed (health.h). Neither waits for
 * work. */
struct device_vitals device_vitals(struct device *device);
struct device_health device_health(struct device *device);

/* Waits for everything queued on every stream; the oldest error of any of them comes back. */
enum status device_synchronize(struct device *device);

/* Memory is at least 256-byte aligned and not cleared. Out of memory: DEVICE_OUT_OF_MEMORY, which
 * says how much was asked, used and free. `stream` may be NULL for ALLOCATE_DIRECT. Freeing NULL is
 * allowed. */
enum status device_alloc(struct device *device, struct stream *stream, enum allocation how,
                         size_t bytes, void **memory);
enum status device_free(struct device *device, struct stream *stream, enum allocation how,
                        void *memory);

/* Host memory for copies. Only from pinned memory is an asynchronous copy asynchronous. */
enum status host_alloc(struct device *device, bool pinned, size_t bytes, void **memory);
enum status host_free(struct device *device, bool pinned, void *memory);

enum status stream_create(struct device *device, struct stream **stream);
void stream_destroy(struct stream *stream); /* waits for its work; NULL is allowed */
enum status stream_synchronize(struct stream *stream);

/* Whether every launch on the stream waits for its end, as all do under CUDA_LAUNCH_BLOCKING=1.
 * Each wait counts as a synchronisation. Not during a capture. */
void stream_set_blocking(struct stream *stream, bool blocking);
struct device *stream_device(const struct stream *stream);

/* Makes later work of `stream` wait for the event's last record, on the device: no host waits. */
enum status stream_wait_event(struct stream *stream, struct event *event);

enum status event_create(struct device *device, bool timing, struct event **event);
void event_destroy(struct event *event);

/* During a capture of the stream the record becomes a node, made anew by every launch of the graph:
 * the event must live as long as the graph, and synchronising with the stream, not with the event,
 * waits for it (CUDA: cudaEventRecordExternal). */
enum status event_record(struct event *event, struct stream *stream);
enum status event_synchronize(struct event *event);

/* STATUS_OK when the work before the record is done (or nothing was recorded), STATUS_NOT_READY
 * (without a recorded error) when it is not; anything else is the stream's error. */
enum status event_query(struct event *event);

/* Device time between two records of timing events that are both done. */
enum status event_elapsed(struct event *from, struct event *to, double *elapsed_ns);

/* cudaMemcpyAsync. From pageable host memory it is staged: the host copies into a pinned buffer
 * before the call returns; to pageable host memory it returns when the copy is done. */
enum status device_copy_async(struct stream *stream, enum copy_kind kind, void *to,
                              const void *from, size_t bytes);

/* cudaMemcpy on that stream's work: waits for the stream first; to the host it returns when done,
 * from pageable host memory it may return once the bytes are staged. */
enum status device_copy(struct stream *stream, enum copy_kind kind, void *to, const void *from,
                        size_t bytes);

enum status device_memset(struct stream *stream, void *memory, int byte, size_t bytes);

/* Queues kernel `kernel` on `count` rows or elements (its shape in kernels.h). `arguments` is the
 * kernel's struct, copied before the call returns. Element counts and row widths must be multiples
 * of ROW_MULTIPLE: anything else is BAD_USAGE. */
enum status device_launch(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                          const void *arguments, size_t size);

/* LAUNCH(stream, DTYPE_BF16, layernorm_forward, rows, .y = y, .x = x, .width = width) */
#define LAUNCH(stream, dtype, name, count, ...)                                                    \
    device_launch(stream, KERNEL_##name, dtype, count, &(const struct name){ __VA_ARGS__ },        \
                  sizeof(struct name))

/* Kernels that come as PTX, which the driver compiles for its GPU as they are loaded. `text` ends
 * with a NUL and is read in the call; `name` is of a kernel in it. UNSUPPORTED: the device executes
 * no PTX, or the driver is too old for it. */
enum status device_ptx_load(struct device *device, const char *text, const char *name,
                            struct ptx_kernel **kernel);
void device_ptx_free(struct ptx_kernel *kernel); /* when its work is done; NULL is allowed */

/* Queues it. arguments[i] points to the value of parameter i, which is copied before the call
 * returns. */
struct ptx_launch {
    unsigned blocks[3], threads[3];
    void **arguments;
};
enum status device_ptx_launch(struct stream *stream, struct ptx_kernel *kernel,
                              const struct ptx_launch *launch);

/* With an epilogue, UNSUPPORTED or NO_LIBRARY says why the device's library has no kernel for it;
 * nothing is queued then. The kernel is chosen once for all products of the same sizes and types,
 * and kept. */
enum status device_gemm(struct stream *stream, const struct gemm *gemm);

/* Prepares both passes, outside of any capture, so that device_attention() allocates nothing. A
 * second call for the same shape only returns the size of the workspace again. UNSUPPORTED gives
 * the reason if the device has no library that can do it; use kernels/model/tiled_attention.h
 * then. */
enum status device_attention_plan(struct device *device, const struct attention_shape *shape,
                                  size_t *workspace_bytes);
enum status device_attention(struct stream *stream, const struct fused_attention *attention);

/* Whether `ranks` processes of this machine could communicate, the first on this device and the
 * others on those after it; for who is about to start them. UNSUPPORTED; NO_DEVICE: there are not
 * so many; NO_LIBRARY. */
enum status device_check_ranks(struct device *device, int ranks);

/* Queues a collective of all ranks (many_ranks.h), which all must queue in the same order. One at a
 * time runs on a device. UNSUPPORTED: the device cannot communicate. BAD_USAGE: no job was joined.
 * A capture records it on CUDA; CAPTURE on the CPU device. An error that comes while it runs
 * surfaces at the next wait. */
enum status device_collective(struct stream *stream, const struct collective *collective);

/* cudaStreamBeginCapture in thread-local mode: kernels, GEMMs, copies of pinned or device memory,
 * memsets and records of events queued on the stream by this thread are recorded instead of run.
 * Synchronising the stream or allocating directly meanwhile is CAPTURE and invalidates the capture:
 * the end reports it. */
enum status graph_begin(struct stream *stream);
enum status graph_end(struct stream *stream, struct graph **graph); /* instantiated */
enum status graph_launch(struct stream *stream, struct graph *graph);
int graph_nodes(const struct graph *graph);
/* Nodes that the open capture of the stream has so far; node ids of activity.h count them from 0.
 * -1: none is open, or the device does not number them so. */
int graph_captured_nodes(const struct stream *stream);
void graph_destroy(struct graph *graph); /* after its last launch is done; NULL is allowed */

/* A named interval of this thread, which traces show (an NVTX range on CUDA). `name` must outlive
 * the device. Every push needs its pop, in the reverse order. */
void phase_push(struct device *device, const char *name);
void phase_pop(struct device *device);

/* For a profiler that is attached to the process (nsys, ncu): what it may capture alone
 * (cudaProfilerStart and cudaProfilerStop), and a named interval of this thread that only it sees
 * (an NVTX range). Devices without such profilers ignore them; no record of ours shows them. */
void device_profile(struct device *device, bool on);
void range_push(struct device *device, const char *name);
void range_pop(struct device *device);

/* Hands the records so far to the sink. A device may keep records until then. Records of work that
 * is still running are lost, so synchronise first. NO_LIBRARY, DEVICE_ERROR: recording has
 * failed. */
enum status device_activity_flush(struct device *device);

/* Reads the device's own counters between the two calls, on a device that was opened with a sink;
 * nothing is recorded from the start on. After an OK start the stop must follow. UNSUPPORTED: the
 * device has none, or nobody asked for them (CHOKEPOINT_CUPTI). NO_LIBRARY: they may not be read,
 * with the reason; *counters is unknown then. */
enum status device_counters_start(struct device *device);
enum status device_counters_stop(struct device *device, struct hardware_counters *counters);
