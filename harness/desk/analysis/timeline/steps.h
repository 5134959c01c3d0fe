/* Steps: how long each took, and what filled it.
 *
 * A step is an annotation "ProfilerStep#N" of the host. Its breakdown goes by priority, as in
 * torch_tb_profiler (event_parser.py, ProfileRole): a moment belongs to the first part in the list
 * below that is under way, so the parts sum to the step exactly, and data loading that is hidden
 * behind device work counts as nothing.
 *
 * Unlike there, a step ends where its annotation ends and not with the last kernel that it
 * launched: so steps never overlap, and add up to the time they took. How far its work reaches is
 * work_end_ns.
 *
 * If the host computes itself, messages between its processes are communication, and have priority
 * over what is computed at the same time. They are not device work. */
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"

enum step_part {
    STEP_KERNEL, /* that does not communicate */
    STEP_COPY,
    STEP_MEMSET,
    STEP_COMMUNICATION,
    STEP_RUNTIME, /* calls of the runtime and the driver */
    STEP_DATA_LOADING,
    STEP_HOST, /* operators and phases */
    STEP_OTHER,
    STEP_PART_COUNT
};

struct step {
    int64_t number;
    const struct trace_event *event;
    int64_t duration_ns;
    int64_t part_ns[STEP_PART_COUNT]; /* their sum is duration_ns */
    int64_t busy_ns;                  /* of all device work within it */
    int64_t blocks; /* of the kernels that it launched: the size of its work; 0: unknown */
    /* end of the last work that it launched, perhaps after the step; 0: none */
    int64_t work_end_ns;
};

struct steps {
    struct step *items; /* by start */
    int64_t count;
    double mean_ns, median_ns;
    double mean_part_ns[STEP_PART_COUNT]; /* their sum is mean_ns; NAN: there are no steps */
    int64_t min_ns, max_ns;
    /* The name of the steps if nothing marks them: that of the first region, or of the
     * work that each begins with (unmarked_steps.h). NULL, both: they are marked. */
    const char *region, *anchor;
};

/* The timeline and its trace must live longer. */
struct steps steps_of(struct arena *arena, const struct timeline *timeline);

/* The same for regions in the order of time, none within another: they are numbered from 0 on. */
struct steps steps_of_regions(struct arena *arena, const struct timeline *timeline,
                              const struct trace_event *const *regions, int64_t count);

/* Whether an event marks a step, as the host annotated it; in 2021 annotations were filed under
 * operators. */
bool step_is_marked(const struct trace_file *trace, const struct trace_event *event,
                    int64_t *number);

/* The last step that has begun by that moment, whether or not it has ended. -1: none. */
int64_t steps_last_begun(const struct steps *steps, int64_t at_ns);

/* The step at that moment; of overlapping steps of several threads, the one that began last. -1:
 * none. */
int64_t steps_find(const struct steps *steps, int64_t at_ns);

const char *step_part_name(enum step_part part); /* "data_loading" */
