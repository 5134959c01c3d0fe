/* Pauses: times in which the host neither gives the device work nor is about to.
 *
 * Between two launches, of whatever threads, the host prepares the second. The innermost operator
 * around that launch belongs to it, up to PAUSE_SURE_NS. Before that operator a loop that does
 * nothing but launch calls into Python and looks at shapes, which takes about as long every time.
 * Time beyond the usual is a pause: the host works on something else, or sleeps. The border is
 * PAUSE_TIMES the median time between launches, at least PAUSE_LEAST_NS and at most PAUSE_SURE_NS.
 * Traces in which the host does nothing else have 99 of 100 such times below 3.5 medians (H100,
 * BERT; GP100, a toy), 2.6 (MI300X, TimeSformer's forward pass) and 2.1 (V100, ResNet-50).
 *
 * Time with a cause of its own (loading, logging, saving, copies, allocations, waits, first uses,
 * captures) is no pause, and does not make one longer.
 *
 * If the host computes itself, operators take the place of launches. */
#pragma once

#include "harness/desk/analysis/host/host_activity.h"
#include "harness/desk/analysis/timeline/launches.h"
#include "harness/desk/analysis/timeline/steps.h"

enum {
    PAUSE_TIMES = 5,
    PAUSE_LEAST_NS = LAUNCH_LONG_CALL_NS, /* a call as long as that is no outlier either */
    PAUSE_SURE_NS = 20 * LAUNCH_LONG_CALL_NS,
};

/* Sets host->pauses and host->pause_ns, once. */
void pauses_find(struct host_activity *host, struct arena *arena, const struct timeline *timeline,
                 const struct steps *steps);

/* --- What the host did in them --- */

/* Names for what the host did in pauses while no device worked.
 *
 * A moment belongs to the outermost operator around it, else to the innermost annotation that marks
 * no step, else to a call of the runtime. Threads that launch are asked, and the one that marks
 * steps. The rest of the idle time in pauses is recorded nowhere: the program's own code, or
 * sleep. */

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
