/* The time of a step, as parts that sum to it exactly, with each part's time in every
 * step.
 *
 * The window of `idle` (idle.h) is split. Each moment goes to the first of these that is going on:
 * 1. A kernel that computes; if there are several, the one that began first. Its part is named
 *    after the kind of its operator (host_operators.h), so that the part stays the same if the
 *    kernel gets another name. If the trace does not tell the operator, the part is "optimizer" for
 *    kernels launched in that phase, and else the kernel's name.
 * 2. Communication, then a copy, then a memset, each by name.
 * 3. Idle time, by its cause (idle.h). Three causes are one here, launching: time outside of
 *    events, in operators and in calls that launch. A gap that began while the host waited for the
 *    device says so: "loading after a wait" costs time because the host did not load while the
 *    device worked.
 *
 * If the host computes itself, outermost operators take the place of kernels, and the rest is split
 * by what the loop's thread did (PART_HOST).
 *
 * Work is split between steps by time, and so is the rest of a host that computes. A gap counts in
 * the step in which it begins. A step begins with the first computation that was launched in it,
 * because the host may be several steps ahead of the device, and ends where the next one begins;
 * the first and the last step reach to the ends of the window. */
#pragma once

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
    char name[KIND_NAME_SIZE]; /* "mm", "loading after a wait" */
    uint32_t kernel;           /* that takes most of a computation, trace_file_name(); 0: none */
    int64_t count;             /* of its work; 0 of idle time */
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

/* The summary must live longer. */
struct time_parts time_parts_of(struct arena *arena, const struct summary *summary);
