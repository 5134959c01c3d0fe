/* Work that a training step does only every N steps, once its device work is queued: reading the
 * loss, for example. Each is one row, so that the step itself names none of them.
 *
 * A new one is its file NAME.c with the row periodic_NAME, and its name in PERIODICS. */
#pragma once

#include "harness/engine/settings/config.h"

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct training;

struct periodic {
    const char *phase; /* its name in traces */
    size_t every;      /* offset in struct training_config of an int: steps per run; 0: never */
    enum status (*open)(struct training *training);
    enum status (*run)(struct training *training); /* after step training->steps is queued */
    enum status (*pause)(
        struct training *training);           /* waits for work beside the steps; NULL: none */
    void (*close)(struct training *training); /* also of what was opened only in part */
    bool keeps_up; /* more of such work takes no longer, so in a long training no step waits for it:
                      no window does either */
};

/* In the order in which they run. One with something to remember has open() and close(), and keeps
 * a struct NAME of its own in training->NAME. */
#define PERIODICS(X)                                                                               \
    X(accuracy)                                                                                    \
    X(predictions)                                                                                 \
    X(logging)                                                                                     \
    X(saving)                                                                                      \
    X(cache_emptying)                                                                              \
    X(garbage)                                                                                     \
    X(validation)

#define PERIODIC_ROW(name) extern const struct periodic periodic_##name;
PERIODICS(PERIODIC_ROW)
#undef PERIODIC_ROW

/* For training.c: all rows' `open`, those `run` that are due, all `pause`, all `close`.
 * periodic_finish() leaves out the pauses of those that keep up. */
enum status periodic_open(struct training *training);
enum status periodic_run(struct training *training);
enum status periodic_finish(struct training *training);
enum status periodic_pause(struct training *training);
void periodic_close(struct training *training);
