/* The rungs of a ladder in child processes: a tracing child for each diagnosis, and a timing child
 * for each fix, as `run` starts them. A crash or a hang costs one rung. */
#pragma once

#include "harness/base/system/scratch_folder.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "harness/lab/search/ladder.h"

struct ladder_children {
    struct protocol protocol; /* `traces` is set by ladder_children_open() */
    double budget_seconds;    /* of the ladder */
    const char *program;      /* of the children */
    const volatile sig_atomic_t *stop;
    experiment_progress *progress; /* NULL: none */
    void *progress_context;

    int64_t begin_ns;
    struct scratch_folder folder; /* of the traces; removed when closed */
};

/* Begins the time, and makes a folder for traces in TMPDIR. IO, BAD_USAGE. */
enum status ladder_children_open(struct ladder_children *children);

/* Without a report. Its calls return INTERRUPTED once *stop is not 0; INTERNAL where a trace could
 * not be made. */
struct ladder_probe ladder_children_probe(struct ladder_children *children);

/* All zeros are allowed. */
void ladder_children_close(struct ladder_children *children);
