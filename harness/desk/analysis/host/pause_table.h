/* Names for what the host did in pauses (pauses.h) while no device worked.
 *
 * A moment belongs to the outermost operator around it, else to the innermost annotation that marks
 * no step, else to a call of the runtime. Threads that launch are asked, and the one that marks
 * steps. The rest of the idle time in pauses is recorded nowhere: the program's own code, or
 * sleep. */
#ifndef HARNESS_DESK_ANALYSIS_HOST_PAUSE_TABLE_H
#define HARNESS_DESK_ANALYSIS_HOST_PAUSE_TABLE_H

#include "harness/desk/analysis/host/host_activity.h"

struct pause_row {
    uint32_t name;
    enum event_kind kind; /* of its first event */
    int64_t ns;
};

struct pause_table {
    struct pause_row *rows; /* the longest first */
    int64_t count;
    struct intervals times; /* the parts of pauses in which no device worked; merged */
};

struct pause_table pause_table_of(struct arena *arena, const struct timeline *timeline,
                                  const struct host_activity *host);

#endif
