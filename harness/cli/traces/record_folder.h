/* The folder that `record` writes: traces of PyTorch's profiler, those with stacks below stacks/,
 * and record.json, which says what was run and how it ended. The recorder (scripts/recorder) leaves
 * a note per process in notes/. */
#pragma once

#include "harness/base/status.h"

#include <stdio.h>

/* The program that was run, and how it ended. */
struct recorded_program {
    const char *const *words; /* ends with NULL */
    int wait_status;          /* as of waitpid() */
};

/* Makes the folder ready, and removes the recording that is in it: the traces that it names, and
 * its notes. Follows no link. A rank of the launch that records there joins it. *lock says that
 * somebody records here, until it is closed. BAD_USAGE: it has other files or traces, or another
 * recording is under way; IO. */
enum status record_folder_begin(const char *folder, int *lock);

/* Prints a sentence for each process of this program whose recording is missing or short. The last
 * of those that record here writes record.json in place of the notes; *traces: how many there are,
 * 0 for all but the last. Closes the lock. IO, OUT_OF_MEMORY. */
enum status record_folder_end(const char *folder, int lock, const struct recorded_program *command,
                              FILE *to, int *traces);
