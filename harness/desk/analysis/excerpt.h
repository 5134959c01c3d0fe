/* A part of a timeline to be drawn: some steps that stand for all, and in rows what the host and
 * the devices did in them.
 *
 * Chosen are those neighbours among the steps whose breakdown (steps.h) is closest to the mean of
 * all: the sum over the parts of how much both differ; the first of equals. Where nothing marks
 * steps, it is the whole window of idle.h, or all that the host did where no device worked.
 *
 * A picture has fewer pixels than a trace has events. So neighbours in a row become one bar as long
 * as that bar, with the gaps between them, is shorter than an EXCERPT_PARTS-th of the excerpt: a
 * row has at most twice as many bars, and those that overlap others. A bar has the name and the
 * category of its longest event, and says how many it stands for. */
#pragma once

#include "harness/desk/analysis/summary.h"

enum {
    EXCERPT_PARTS = 2000,
    EXCERPT_DEPTH = 4,   /* rows of operators per thread; those nested deeper are left out */
    EXCERPT_TRACKS = 32, /* threads and streams each; the others are counted only */
    EXCERPT_STEPS = 100, /* at most */
};

enum excerpt_kind {
    EXCERPT_STEP,
    EXCERPT_PHASE,    /* of the thread with the loop; category: enum phase */
    EXCERPT_OPERATOR, /* and annotations that are no phase; category: enum host_kind */
    EXCERPT_CALL,     /* of runtime and driver; category: enum host_kind */
    EXCERPT_WORK,     /* of a stream; category: enum work_kind */
    EXCERPT_IDLE,     /* no device works; category: enum gap_cause; no name */
    EXCERPT_KIND_COUNT
};

struct excerpt_bar {
    int64_t start_ns, end_ns;
    int64_t count;
    int64_t covered_ns; /* the sum of the events' durations */
    int64_t longest_ns; /* of them */
    uint32_t name;      /* trace_file_name() */
    int category;       /* what it counts as: excerpt_category_name() */
};

struct excerpt_row {
    enum excerpt_kind kind;
    int64_t process, thread; /* device and stream of work; of steps and idle time nothing */
    bool is_loop;            /* the thread whose steps these are */
    int depth;               /* of operators: 0 is the outermost */
    int64_t first_bar, bar_count;
};

struct excerpt {
    int64_t start_ns, end_ns; /* bars may begin before and end after it */
    int64_t first_step, step_count;
    struct excerpt_row *rows; /* without bars: none; the loop's thread before the others */
    int64_t row_count;
    struct excerpt_bar *bars; /* by row, then start */
    int64_t bar_count;
    int64_t tracks_left_out;
};

/* At most `steps` steps, at least one. The summary must live longer. */
struct excerpt excerpt_of(struct arena *arena, const struct summary *summary, int64_t steps);

const char *excerpt_kind_name(enum excerpt_kind kind); /* "operators" */
const char *excerpt_category_name(enum excerpt_kind kind,
                                  int category); /* "computation"; NULL: none */
