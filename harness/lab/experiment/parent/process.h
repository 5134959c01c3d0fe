/* A child process, and everything that can go wrong with it.
 *
 * The child inherits a descriptor to write lines to. Its standard input is empty. The end of its
 * standard output and error is kept for the message if it fails. The child leads a process group of
 * its own: a timeout or an interruption then also ends what it started, and the terminal's Ctrl-C
 * reaches only the parent. When the parent dies, the child dies too. */
#pragma once

#include "harness/base/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { PROCESS_RECORD_FD = 3 }; /* the descriptor for lines, in the child */

struct process {
    const char *program;          /* a path; it gets our own name as argv[0] */
    const char *const *arguments; /* from argv[1] on; ends with NULL */
    double timeout_seconds;       /* from its start on; line() may change it; 0: none */
    int kept;                     /* a descriptor, at least 5, that the child keeps open; 0: none */
    bool softly; /* it starts others, and ends them if it gets SIGTERM and the time to do so. Its
                  * temporary files are in a folder of their own, which is removed with what it may
                  * leave. */
    const volatile sig_atomic_t *stop; /* NULL: none; checked every 100 ms and after a signal */
    void (*line)(void *context, const char *line); /* each whole line, without its newline */
    void *context;
};

enum process_end {
    PROCESS_EXITED,      /* code: the exit code */
    PROCESS_SIGNALLED,   /* code: the signal */
    PROCESS_TIMED_OUT,   /* ended by us */
    PROCESS_INTERRUPTED, /* ended by us because *stop became nonzero */
};

struct process_report {
    enum process_end end;
    int code;
    char last_words[480]; /* the end of its output and errors, on one line; "" if there were none.
                             If a rank said what failed, its sentence: the launcher says much after
                             it. */
};

/* Starts the child, hands over its lines and waits for its end, which is no error here, however it
 * came. A line longer than 64 MiB is dropped, and so is a last line without a newline. IO when the
 * program cannot be started, OUT_OF_MEMORY. No child is left in any case. */
enum status process_run(const struct process *child, struct process_report *report);

/* How it ended as a clause: "ended by signal 11 (Segmentation fault)". */
void process_describe(const struct process_report *report, char *text, size_t size);
