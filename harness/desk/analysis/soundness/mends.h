/* The checks of soundness.h. Each fills its row, and returns whether it changed the trace. */
#pragma once

#include "harness/desk/analysis/soundness/soundness.h"

/* The trust in `all` events of which `count` were wrong and could not be mended: a hundredth may be
 * chance. */
enum trust trust_without(int64_t count, int64_t all);

/* "1 event is", "7 events are" */
#define SOUND_EVENTS(count) (long long)(count), (count) == 1 ? " is" : "s are"

/* Checks of the rows alone. */
void mend_whole(struct sound_row *row, const struct trace_file *trace);
void mend_times(struct sound_row *row, const struct trace_file *trace);
bool mend_duplicates(struct sound_row *row, struct arena *arena, struct trace_file *trace);

/* Checks of work beside its stream and its calls: the timeline is that of the trace as it is. */
void mend_durations(struct sound_row *row, const struct timeline *timeline);
bool mend_streams(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                  const struct timeline *timeline);
bool mend_clock(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                const struct timeline *timeline);

/* The steps as they are marked, by start. */
struct step_mark {
    int64_t number, start_ns, end_ns;
    uint32_t track;
};

struct marks {
    struct step_mark *items;
    int64_t count;
};

struct marks marks_of(struct arena *arena, const struct trace_file *trace);

/* Checks of the marked steps. */
bool mend_cycles(struct sound_row *row, struct arena *arena, struct trace_file *trace,
                 const struct marks *marks);
bool mend_annotations(struct sound_row *row, struct trace_file *trace, const struct marks *marks);
void mend_beginning(struct sound_row *row, const struct timeline *timeline,
                    const struct marks *marks);
