/* The rack of each node: from a file with lines "NODE RACK", or by a pattern in its name. */
#pragma once

#include "harness/fleet/job/job.h"

#include <regex.h>

struct rack_row {
    const char *node, *rack;
};

struct job_racks {
    char *text; /* of the file */
    struct rack_row *rows;
    int64_t count, room;
    regex_t pattern; /* instead of the file */
    bool by_pattern;
};

/* `from` is a file, or "/PATTERN/", POSIX extended: the rack is what its parentheses match, or all
 * of it. IO, BAD_INPUT: a line is not as above; BAD_USAGE: the pattern is wrong. Close in every
 * case. */
enum status job_racks_open(struct job_racks *racks, const char *from);
void job_racks_close(struct job_racks *racks);

/* Sets racks and rack_count of the job, and the rack of its nodes and ranks. `racks` must live
 * longer. Within arena_run(). */
void job_racks_set(struct job *job, const struct job_racks *racks);
