/* Measuring many rows in rounds, so that each sees the whole run.
 *
 * A machine changes its speed while it measures, for reasons of its own: the clock, a neighbour on
 * the other half of a core. Repetitions that follow each other see one of its states, and the next
 * run sees another. So a round visits every row, in random order, and a row's repetitions are
 * spread over the run (Google Benchmark's "random interleaving", docs/random_interleaving.md). Each
 * visit sets its row up again: one row at a time holds memory, and the address of that memory,
 * which can decide the speed of a whole run, is drawn again too (Kalibera and Jones, "Rigorous
 * benchmarking in reasonable time", ISMM 2013: repeat at the level that varies). */
#pragma once

#include "harness/bench/bench_measure.h"

struct bench_row {
    const struct bench *bench;
    int64_t argument;
    int family, instance; /* the bench in the list, and the row in the bench, from 0 */
    const char *lack;     /* why the device cannot do it: it is not measured; NULL: it can */

    struct bench_result result;
    enum status status; /* not OK: it failed, and has no repetitions */
    char failure[512];  /* the sentence */
};

/* After each visit: `share` of the work is done, as far as can be told. Called with `round_ended`
 * true when all rows were visited. An error of it ends the rounds. */
typedef enum status bench_rounds_progress(void *context, double share, bool round_ended);

/* Visits the rows until each is done or has failed. The first round goes in the order of the list;
 * the others' is drawn from settings->seed. A row that fails is visited no more, which is no
 * failure of the rounds, unless there are other ranks, which would wait for this one. */
enum status bench_rounds(struct bench_row *rows, int count, struct device *device,
                         const struct bench_settings *settings, bench_rounds_progress *progress,
                         void *context);
