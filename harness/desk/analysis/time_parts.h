/* Where the time of a step went, as parts that sum to it exactly, with each part's time in every step.
 *
 * The window of `idle` (idle.h) is split. A moment belongs to the first of these that is under way then:
 * - a kernel that computes; of several the one that began first. Its part is its operator's kind
 *   (operator_kinds.h), where the trace tells, so that a kernel under another name stays in its part; else
 *   "optimizer" for what is launched in that phase, or the kernel's name.
 * - communication, a copy, a memset: by name
 * - nothing: idle time, by its cause (idle.h). Time outside of events, in operators and in calls that launch is
 *   one cause here: launching. In a gap that began while the host waited for the device, that wait is part of the
 *   cause: "loading after a wait" costs time because the host did not do it while the device worked.
 *
 * If the host computes itself, outermost operators take the place of kernels, and the rest is split by what
 * the loop's thread did (PART_HOST).
 *
 * A piece of work or of such a rest counts in each step for the time that is in it. A step begins with the first
 * computation that was launched in it, since the host may be several steps ahead of the device, and ends where the next
 * begins; the first and the last one reach to the ends of the window. A gap counts in the step in which it begins. */
#ifndef HARNESS_DESK_ANALYSIS_TIME_PARTS_H
#define HARNESS_DESK_ANALYSIS_TIME_PARTS_H

#include "harness/desk/analysis/summary.h"

enum part_kind {
    PART_COMPUTATION,
    PART_COMMUNICATION,
    PART_COPY,
    PART_MEMSET,
    PART_IDLE,
    PART_HOST, /* of a host that computes itself: what is in no operator */
    PART_KIND_COUNT
};

const char *part_kind_name(enum part_kind kind); /* "computation" */

struct time_part {
    enum part_kind kind;
    char name
        [KIND_NAME_SIZE]; /* an operator's kind, a kernel, a copy, or a cause: "loading", "loading after a wait" */
    uint32_t
        kernel; /* of computation: the kernel that takes most of it, trace_file_name(); 0: none */
    int64_t count; /* of its work; 0 of idle time */
    int64_t total_ns;
    int64_t *step_ns; /* [step_count], its own; their sum is total_ns */
};

struct time_parts {
    struct time_part *items; /* by total_ns, the longest first */
    int64_t count;
    int64_t window_ns;  /* the sum of all */
    int64_t step_count; /* at least 1 */
    bool has_steps;     /* false: nothing marks them, and the window stands for one */
};

/* OUT_OF_MEMORY. The summary must have been made. Release in every case. */
enum status time_parts_make(struct time_parts *parts, const struct summary *summary);
void time_parts_release(struct time_parts *parts);

#endif
