/* A trace, whatever the format of its file: events, their tracks and details, devices, names.
 *
 * An event is a row of fixed size; rows that say nothing about time or memory (flows, names of
 * processes) are counted and left out. Times are integer nanoseconds on the file's own clock;
 * base_ns is its zero. */
#pragma once

#include "harness/base/figures/hardware_counters.h"
#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_kind {
    EVENT_KIND_OPERATOR,       /* cpu_op; "Operator" in 2021 */
    EVENT_KIND_ANNOTATION,     /* of the host: steps and phases */
    EVENT_KIND_GPU_ANNOTATION, /* the same, projected to a stream: no device work */
    EVENT_KIND_RUNTIME,        /* a call of the runtime: cudaLaunchKernel, hipLaunchKernel */
    EVENT_KIND_DRIVER,         /* a call of the driver: cuLaunchKernel */
    EVENT_KIND_KERNEL,
    EVENT_KIND_MEMCPY,
    EVENT_KIND_MEMSET,
    EVENT_KIND_SYNC,     /* a wait, as the device sees it: no device work */
    EVENT_KIND_OVERHEAD, /* what profiling cost */
    EVENT_KIND_MEMORY,   /* an allocator gave or took a block */
    EVENT_KIND_COUNT
};

enum { NO_DETAIL = -1 };

struct trace_event {
    int64_t start_ns, end_ns;
    int64_t correlation; /* of a call and its device work; 0: none. A graph's work shares one, and
                          * what is annotated of a launched graph */
    int64_t external;    /* 0: none */
    /* copied, set, sent to other ranks, or allocated (< 0: released); -1: not stated */
    int64_t bytes;
    uint32_t name;  /* trace_file_name() */
    uint32_t track; /* in trace_file.tracks */
    int32_t detail; /* in kernels, blocks, steps or operators, by kind; NO_DETAIL */
    enum event_kind kind;
};

/* The place of events: a host thread, or a stream of a device. */
struct event_track {
    bool on_device;
    int64_t process;     /* pid, or the device's number */
    int64_t row_process; /* the pid of its rows: of a device mostly its number, of merged traces
                            each rank's own */
    int64_t thread;      /* tid, or the stream */
};

struct event_kernel {
    uint32_t grid[3], block[3]; /* 0: unknown */
    uint32_t registers, shared_bytes;
    float blocks_per_sm, warps_per_sm, occupancy_percent; /* NAN: unknown */
    uint32_t collective; /* "allreduce"; trace_file_name(); 0, "": unknown */
    /* Its process group: the name, the description ("default_pg") and the ranks ("[0, 1]"), as
     * trace_file_name(); 0: unknown. */
    uint32_t group_name, group_about, group_ranks;
    int64_t group_size;
    int64_t graph; /* 0: of none */
};

struct event_block { /* of memory */
    bool on_device;
    uint32_t category; /* trace_file_name(); 0, "": unknown */
    int64_t device;
    uint64_t address;                                /* 0: unknown */
    int64_t allocated, reserved, category_allocated; /* after it; -1: unknown */
};

struct event_operator { /* of those that state any of it */
    int64_t flops;      /* multiplications and additions; 0: unknown */
    bool is_double;     /* of its inputs some are fp64, and none of a shorter floating type */
    /* A pass and its backward pass have the same number, which counts up on a thread (PyTorch's
     * at::sequence_number); -1: unknown. */
    int64_t sequence;
    int32_t forward_thread; /* of a backward pass: PyTorch's number of the forward pass's thread;
                               else 0 */
    uint32_t dims; /* "[[8,32],[96,32],[]]", of its inputs; trace_file_name(); 0, "": unknown */
};

/* A call of a function, as Python saw it (PyTorch's with_stack=True): calls of a thread nest. They
 * may outnumber all events, so they are rows of their own, and smaller ones. */
struct event_frame {
    int64_t start_ns, end_ns;
    uint32_t name; /* "train.py(12): log_loss", "<built-in method item of Tensor object>", without
                      addresses */
    /* "train.py:34", the line that called it; 0, "": unknown, as before PyTorch 2.10 */
    uint32_t from;
    uint32_t track; /* in trace_file.tracks */
    bool is_stack;  /* an operator: its name is "Call stack", the innermost call first, split by ";"
                     */
};

struct event_step { /* our own numbers; -1: unknown */
    int64_t samples, tokens, padded_tokens, flops;
};

/* The cost of tracing, which only our own traces state: medians over windows of `steps` steps,
 * without a tracer and with this one. */
struct trace_cost {
    int64_t steps, windows;
    double step_ns, traced_step_ns; /* 0: not measured */
    double loading_share,
        traced_loading_share;  /* of a step, within fetches of a DataLoader; 0: not measured */
    double mean_loading_share; /* the same without a tracer, as a mean and no median */
    /* The part of the loader's time in which it waits for files, and computes (decodes, transforms,
     * collates): of its workers, or of the loop where that loads. 0: not measured. */
    double loader_reads_share, loader_computes_share;
    /* The part of a step in which the loop's thread wanted a core and had none, without a tracer;
     * and the part of the time that all threads of the process wanted in which they had one. 0:
     * not measured. */
    double core_wait_share, got_core_share;
    /* How often per step the loop's thread was taken off its core though it had more to do; how
     * many cores all threads of the process and of its loader's workers wanted on average, and how
     * many it may use. 0: not measured. */
    double involuntary_switches, wanted_cores, cores;
    double spread;      /* of the windows of a kind, over their median; NAN: unknown */
    double other_cores; /* that other programs used meanwhile, on average; NAN: unknown */
};

/* The limits of the device that our own traces state (kineto.h); 0: not known. */
struct trace_ceilings {
    double flops_per_second, bytes_per_second;
};

/* A device. Values that the file does not state are 0, or -1 where 0 means something. */
struct event_device {
    int64_t id;
    char name[96];
    int64_t memory_bytes;
    int64_t memory_budget_bytes; /* that the step may reserve of them */
    int multiprocessors, warp_lanes;
    int compute_major, compute_minor; /* NVIDIA's compute capability, or the 9.0 of AMD's gfx90a */

    /* In our own traces only, as the device's properties have them. */
    char isa[64]; /* "sm_90"; "": unknown */
    int host_cores, shares_host_cores;
    int64_t launch_ns; /* host time of an eager launch */
    int bf16_matrix_units, fp16_matrix_units, tf32,
        fused_attention; /* 1: yes, 0: no, -1: unknown */
};

struct arena;

struct trace_metadata {
    char *key, *json;
};

enum { TRACE_FILE_DEVICES = 64 };

enum { NAME_BYTES = 4095 }; /* longer names are cut */

struct trace_file {
    struct trace_event *events; /* in the file's order */
    int64_t event_count;
    struct event_track *tracks;
    int64_t track_count;
    struct event_kernel *kernels;
    int64_t kernel_count;
    struct event_block *blocks;
    int64_t block_count;
    struct event_step *steps;
    int64_t step_count;
    struct event_operator *operators;
    int64_t operator_count;
    /* in the file's order; those of stacks only where there are no others */
    struct event_frame *frames;
    int64_t frame_count;

    struct event_device devices[TRACE_FILE_DEVICES];
    int device_count;
    int64_t base_ns;       /* of the time since 1970; 0: unknown */
    int64_t rank;          /* -1: unknown */
    int64_t world_size;    /* -1: unknown */
    int64_t dropped_count; /* rows that the recorder had no room for */
    struct trace_cost cost;
    struct trace_ceilings ceilings;
    struct hardware_counters counters; /* of steps without a tracer; only our own traces state it */
    struct trace_metadata *metadata; /* every member beside the events; of a key given twice both */
    int64_t metadata_count;

    int64_t other_count; /* valid events that are not among `events` */
    int64_t name_count;  /* of them, those that name processes and threads, and are no events of a
                            recording */
    const char *unread_device; /* whose rows are not read: a constant; NULL: none */
    /* The recorder, if it is not PyTorch's: its name, a constant; the time that its own work took
     * on the host, in total; what it says of itself, and whether it says that events were lost. */
    const char *recorder; /* NULL: PyTorch's profiler, or ours */
    int64_t recorder_ns;
    char recorder_said[240];
    bool recorder_lost;
    uint32_t step_range; /* the name of the first range that marks a step by a name of its own; 0:
                            none */
    int64_t whole_graph_count; /* kernels that stand for a whole graph, whose own kernels are not
                                  recorded */
    bool ranks_by_process;     /* each process whose work is here is a rank, whatever it marks */

    /* events that are left out because their time is 0, or far from all others */
    int64_t stray_count;
    int64_t bad_count;  /* skipped */
    int64_t bad_offset; /* of the first one, in the text; -1: bad_reason says where it is */
    char bad_reason[120];
    bool partial;
    char partial_reason[240];
    int64_t text_bytes; /* after inflating */

    int64_t part_count; /* the processes of its file, each of which is a trace; 0: it is all of the
                           file */
    int64_t part_process; /* the number of this one */
    int *part_owners; /* traces that share all tables but events and frames; NULL: this one has its
                         own */

    /* The line of a digest that stands for a trace (diagnosis/digest/digest.h): then there are no
     * rows, but so many events were there. Texts of the file lie in the arena. NULL: it is a
     * trace. */
    char *digest;
    int64_t digest_events;
    struct arena *digest_arena;

    struct intern *names;
};

/* Makes a trace for each of `count` processes of its file, 2 or more: `event_part` and `frame_part`
 * say which an event and a frame is of. They are ranks 0 to count - 1 of one run. parts[0] is
 * `trace` itself, which keeps its own events only; close all. OUT_OF_MEMORY: parts are NULL, and
 * `trace` is as it was. */
enum status trace_file_split(struct trace_file *trace, const int64_t *processes, int64_t count,
                             const int32_t *event_part, const int32_t *frame_part,
                             struct trace_file **parts);

/* NULL is allowed. */
void trace_file_close(struct trace_file *trace);

/* Names are cut at 4095 bytes. */
const char *trace_file_name(const struct trace_file *trace, uint32_t name);
uint32_t trace_file_name_count(const struct trace_file *trace);

/* "at byte 12: it has no ph", of the first broken event. */
void trace_file_first_bad(const struct trace_file *trace, char text[160]);

/* JSON text, strings with their quotes; NULL: the file has no such member. */
const char *trace_file_metadata(const struct trace_file *trace, const char *key);

/* The device of that number, or one that is like it: scripts that merge traces keep the head of
 * one, and so a device that is not described is taken for one of those that are, if these have one
 * name. NULL: the file does not tell. */
const struct event_device *trace_file_device(const struct trace_file *trace, int64_t id);

/* How much longer a step took because it was traced, as a share of it untraced: 0.02 is 2%. NAN:
 * the file does not say. */
double trace_file_overhead(const struct trace_file *trace);

/* Whether other programs used more than a tenth of the cores while the trace was recorded, or the
 * loop's thread waited for its core for as much of its time: what host and device lost to each
 * other then is not what they lose alone. */
#define TRACE_CORE_WAIT_MOST 0.1
bool trace_file_is_disturbed(const struct trace_file *trace);

/* Kernels, copies and memsets. */
static inline bool trace_event_is_device_work(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_KERNEL || event->kind == EVENT_KIND_MEMCPY ||
           event->kind == EVENT_KIND_MEMSET;
}

/* Calls of the runtime and of the driver. */
static inline bool trace_event_is_call(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_RUNTIME || event->kind == EVENT_KIND_DRIVER;
}

/* In the order of tracks and starts: whether it comes before another, or begins when that does. */
static inline bool trace_event_begins_by(const struct trace_event *event,
                                         const struct trace_event *other)
{
    return event->track != other->track ? event->track < other->track
                                        : event->start_ns <= other->start_ns;
}
