/* The buffer that records a traced run in memory until it is written.
 *
 * A device hands its activity to the sink that trace_sink() gives; the training step adds its own
 * rows: operators, steps and memory. Any thread may record at any time. A thread appends to a chunk
 * of its own and takes a lock only for a new chunk, so a record costs a copy of about 150 bytes.
 * Memory is bounded: rows that find no room are dropped and counted.
 *
 * Names and operations are kept as pointers. They live at least as long as the device and the
 * training that recorded them: write the trace before closing either. */
#pragma once

#include "harness/base/status.h"
#include "harness/device/types/activity.h"
#include "harness/recording/graph_spans.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

enum { TRACE_INPUTS = 8 };

/* One tensor that an operator reads. */
struct trace_input {
    int64_t rows, width; /* rows 0: it has one dimension */
    const char *type;    /* as PyTorch's profiler names it: "float", "c10::BFloat16" */
};

/* The properties of an operator that are the same at every call. */
struct trace_operation {
    char name[64];    /* "block0.qkv", "block0.qkv backward" */
    int64_t sequence; /* the same for a pass and its backward pass */
    int64_t bytes;    /* least traffic: each tensor read or written once */
    int64_t flops;    /* multiplications and additions of its products */
    bool backward;
    int input_count;
    struct trace_input inputs[TRACE_INPUTS];
};

struct trace_operator {
    const struct trace_operation *operation;
    int64_t start_ns, end_ns; /* on the host */
    uint32_t thread;
};

/* One training step, from the start of its loading to the start of the next step's. */
struct trace_step {
    int64_t number;
    int64_t start_ns, end_ns;
    uint32_t thread;
    int64_t samples;
    int64_t tokens;        /* that carry data */
    int64_t padded_tokens; /* padding: tokens + padded_tokens are computed */
    int64_t flops;         /* of all its operators */
};

/* A block that the step's allocator gives out (bytes > 0) or takes back (bytes < 0). `bytes` 0
 * states what is allocated when the recording begins. Totals are those after it. */
struct trace_memory {
    int64_t at_ns;
    uint32_t thread;
    uint64_t address;
    int64_t bytes;
    const char *category;
    int64_t category_allocated; /* of this category */
    int64_t allocated, reserved;
};

/* A launch of a graph whose spans are known. The file has them as annotations of the stream. */
struct trace_replay {
    const struct graph_spans *spans;
    int64_t start_ns, end_ns; /* of the launch, on the host */
    uint32_t thread;
};

enum trace_kind { TRACE_ACTIVITY, TRACE_OPERATOR, TRACE_STEP, TRACE_MEMORY, TRACE_REPLAY };

struct trace_row {
    enum trace_kind kind;
    union {
        struct activity activity;
        struct trace_operator call;
        struct trace_step step;
        struct trace_memory memory;
        struct trace_replay replay;
    };
};

/* An empty trace that is not recording. It holds at most `bytes_max` of rows, at least one chunk;
 * 0: 256 MiB, about 1.8 million rows. */
enum status trace_open(struct trace **trace, int64_t bytes_max);

/* The device must be closed before, or record nothing any more. NULL is allowed. */
void trace_close(struct trace *trace);

/* For device_options. While the trace is not recording, a record costs one load of a flag. */
struct activity_sink trace_sink(struct trace *trace);

/* Forgets all rows and records from now on. No device work may be under way, here and at the end:
 * then the trace has every launch with all the work that it caused. Activity that began earlier is
 * left out. */
void trace_begin(struct trace *trace);
void trace_end(struct trace *trace); /* a second time: nothing */

/* The time, or 0, without reading a clock, when `trace` is NULL or not recording. The functions
 * below take it as the start; with 0 they do nothing. */
int64_t trace_clock(const struct trace *trace);
void trace_add_operator(struct trace *trace, const struct trace_operation *operation,
                        int64_t start_ns);
void trace_add_step(struct trace *trace,
                    const struct trace_step *step); /* end and thread: now, here */
void trace_add_memory(struct trace *trace, const struct trace_memory *memory); /* likewise */
/* The spans are kept as a pointer, like names. */
void trace_add_replay(struct trace *trace, const struct graph_spans *spans, int64_t start_ns);

int64_t trace_start_ns(const struct trace *trace); /* of the recording; clock_ns() */
int64_t trace_end_ns(const struct trace *trace);
int64_t trace_start_wall_ns(const struct trace *trace); /* the same moment since 1970 */
int64_t trace_row_count(const struct trace *trace);
int64_t trace_dropped(const struct trace *trace); /* that found no room, here or in the device */

/* All rows, thread by thread in pieces, each thread's in the order in which they ended. Start with
 * a cursor of zeros; NULL is the end. Only after trace_end(). */
struct trace_cursor {
    const void *chunk;
    int index;
    bool started;
};
const struct trace_row *trace_next(const struct trace *trace, struct trace_cursor *cursor);
