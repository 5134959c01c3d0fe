/* A snapshot of PyTorch's CUDA allocator (torch.cuda.memory._dump_snapshot()), and what it shows.
 *
 * Its history is a ring that keeps the last events, so it does not begin with empty memory: what
 * was live at its start follows from what is live at its end. Bytes are those that programs asked
 * for, unless a name says reserved. */
#pragma once

#include "harness/base/status.h"
#include "harness/base/words/intern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SNAPSHOT_DEVICES = 64,
    SNAPSHOT_POINTS = 240, /* of the curve, at most */
    SNAPSHOT_HOLDERS = 7,  /* sites that have a curve of their own */
    SNAPSHOT_FINDINGS = 4,
    SNAPSHOT_OOMS = 8, /* that are kept; all are counted */
};

/* Memory by the line of code that asked for it. */
struct snapshot_site {
    uint32_t name; /* intern_text(snapshot->names): "train.py:34 step", or what is known instead */
    int64_t at_peak;     /* bytes */
    int64_t first, last; /* bytes at the first and the last mark, where memory grows */
    int64_t count;       /* of allocations in the history */
};

/* The event of a piece of the history at which most is live. */
struct snapshot_point {
    int64_t event, time_us, live, reserved;
    int64_t of_site[SNAPSHOT_HOLDERS]; /* of live, by the first sites */
};

/* A call on the way to what is live at the peak. The calls that it made follow it, one deeper. */
struct snapshot_call {
    uint32_t name; /* as that of a site */
    int depth;     /* 0: the outermost */
    int64_t start; /* bytes to the left of it */
    int64_t bytes;
};

struct snapshot_oom {
    int64_t event, time_us;
    int64_t asked, device_free, live, reserved;
};

struct snapshot_finding {
    const char *id; /* of a rule (rules.h) */
    bool is_critical;
    char evidence[320];
    const char *advice;
};

struct snapshot_device {
    int64_t device;
    int64_t event_count; /* of the history */
    int64_t live_start, live_peak, live_end,
        before; /* before: of live_peak, from before the history, by lines that are not known */
    int64_t peak_event; /* -1: the start */
    int64_t reserved_at_peak;
    int64_t start_us, end_us;      /* 0, both: the history has no times */
    struct snapshot_point *points; /* [point_count]: of pieces with as many events each */
    int64_t point_count;

    /* At the end, of the segments. */
    int64_t segment_count, reserved, active, rounding;
    int64_t free_whole;  /* in segments that hold nothing */
    int64_t free_pieces; /* in others */
    int64_t largest_piece;
    int64_t pool_reserved; /* of reserved, in pools of CUDA graphs */

    /* In the history. */
    int64_t alloc_count, segment_alloc_count, segment_free_count, oom_count;
    struct snapshot_oom ooms[SNAPSHOT_OOMS];

    struct snapshot_site *sites; /* by at_peak, the most first */
    int64_t site_count;
    struct snapshot_call *calls; /* those of a thousandth of the peak or more */
    int64_t call_count;
    int64_t mark_count; /* of steps, or of falls of live memory if has_steps is false */
    bool has_steps;
    int64_t churn_per_step; /* segments that a step takes, in the second half */
    int64_t grown, grows;   /* bytes from the first mark to the last, and marks that have more than
                               the one before */

    struct snapshot_finding findings[SNAPSHOT_FINDINGS];
    int finding_count;
};

struct snapshot {
    struct intern *names;
    struct snapshot_device devices[SNAPSHOT_DEVICES]; /* those that have anything */
    int device_count;
    bool expandable; /* PyTorch's setting; false if it is not stated */
    int64_t bytes;   /* of the file */
};

struct snapshot_file {
    const char *path;
    struct snapshot snapshot;
};

/* IO; BAD_INPUT: it is no snapshot, the sentence says what and where; OUT_OF_MEMORY. Release in
 * every case. */
enum status snapshot_read(struct snapshot *snapshot, const char *path);
void snapshot_release(struct snapshot *snapshot);
