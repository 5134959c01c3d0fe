/* A child process and everything that can go wrong with it.
 *
 * The child gets a descriptor to write lines to. Its standard input is empty; what it writes to standard
 * output and error is kept, the last of it, for the message when it fails. It leads a process group of
 * its own, so that a timeout or an interruption ends whatever it started, and so that the terminal's
 * Ctrl-C reaches only the parent. When the parent dies, however, the child dies too. */
#ifndef HARNESS_EXPERIMENT_PARENT_PROCESS_H
#define HARNESS_EXPERIMENT_PARENT_PROCESS_H

#include "harness/base/status.h"

#include <signal.h>
#include <stddef.h>

enum { CHILD_RECORD_FD = 3 }; /* the descriptor for lines, in the child */

struct child {
    const char *program;               /* a path */
    const char *const *arguments;      /* from argv[1] on; ends with NULL */
    double timeout_seconds;            /* 0: none */
    const volatile sig_atomic_t *stop; /* NULL: none; looked at every 100 ms and after a signal */
    void (*line)(void *context, const char *line); /* each whole line, without its newline */
    void *context;
};

enum child_end {
    CHILD_EXITED,      /* code: the exit code */
    CHILD_SIGNALLED,   /* code: the signal */
    CHILD_TIMED_OUT,   /* ended by us */
    CHILD_INTERRUPTED, /* ended by us because *stop became nonzero */
};

struct child_report {
    enum child_end end;
    int code;
    char last_words
        [480]; /* the last lines of its output and errors, on one line; "" when there were none */
};

/* Starts the child, hands over its lines and waits for its end, which is no error here, whatever it was.
 * Lines longer than 64 MiB, and a last line without a newline, are dropped. IO when the program cannot be
 * started, OUT_OF_MEMORY. No child is left in any case. */
enum status child_run(const struct child *child, struct child_report *report);

/* How it ended as a clause: "ended by signal 11 (Segmentation fault)". */
void child_describe(const struct child_report *report, char *text, size_t size);

#endif
