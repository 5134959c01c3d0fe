/* The ranks of a job beside each other: thousands of records of digests, joined by their
 * collectives.
 *
 * A collective ends on all ranks of its group together, so that what a rank does between two of
 * them is on its own clock: nothing here compares the clocks of two machines, but to say how they
 * differ. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/desk/diagnosis/digest/rank_record.h"

#include <regex.h>

/* A rank in a collective, in the order in which the rank enters them. */
struct job_entry {
    int32_t meeting; /* in job.meetings */
    int64_t own_ns;  /* before it, not in collectives */
    int64_t ns;      /* in it */
    int64_t end_ns;  /* on the clock of its node */
};

struct job_rank {
    int64_t rank;
    const char *file;
    struct rank_record record;
    int32_t node;  /* in job.nodes */
    int32_t place; /* among the ranks of its node */
    int32_t rack;  /* in job.racks; -1: not known */
    struct job_entry *entries;
    int64_t entry_count;
    /* per step: own time beyond the others' (the median); what it does not wait for */
    double late_ns;
};

/* The same point of each step for all ranks: a collective of groups of one kind and size. */
struct job_group {
    const char *name, *ranks; /* of the process group, as the trace states them */
    const char *kind;         /* "data", "tensor", "pipeline", "expert", or "group" */
    const char *collective;
    int64_t size;
    int64_t member_count; /* that there are digests of */
    int32_t *members;     /* [member_count], in job.ranks */
    int64_t meeting_count;
    double transfer_ns,
        wait_ns;   /* per step: of who comes last, and what members wait beyond it, the mean */
    int64_t bytes; /* per step; 0: not stated */
};

/* A collective of a group. */
struct job_meeting {
    int32_t group, step;
    int32_t slot; /* those with one number are alike: same step, number in it, kind and size of the
                     group */
    int32_t member_count;
    int64_t transfer_ns; /* the least time of a member: that of who comes last */
};

struct job_node {
    const char *name;
    int64_t rank_count;
    int32_t rack;            /* -1: not known */
    double offset_ns, drift; /* of its clock, beyond the median of all; drift: 1e-6 is 1 ppm */
};

struct job {
    struct arena *arena;
    struct job_rank *ranks; /* by number */
    int64_t rank_count, world_size;
    struct job_node *nodes; /* by name */
    int64_t node_count;
    const char **racks; /* their names, if they are known */
    int64_t rack_count;
    struct job_group *groups;
    int64_t group_count;
    struct job_meeting *meetings;
    int64_t meeting_count;
    int64_t slot_count;
    int64_t step_count; /* that all ranks have */
    int64_t *numbers;   /* [step_count], the steps' */
    double step_ns;     /* of the job: the mean of the medians of ranks */
    /* the same, if the collectives are gone through with each rank's own times */
    double replayed_ns;
};

/* Why a digest is not part of the job. */
struct job_stranger {
    const char *file;
    char why[160];
};

/* Joins ranks [count] of one job, which it sorts. Those of another job, world or of no common step,
 * and a rank's second digest, are left out and named in *strangers [*stranger_count]. Within
 * arena_run(). No rank may be left: then rank_count is 0. */
void job_join(struct job *job, struct arena *arena, struct job_rank *ranks,
              const int64_t *world_sizes, int64_t count, struct job_stranger **strangers,
              int64_t *stranger_count);

/* The rack of each node: from a file with lines "NODE RACK", or by a pattern in its name. */
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

/* Reads the digests of a job's ranks, one after the other: memory is that of their steps and
 * collectives. */
struct job_ranks {
    struct arena *arena;
    struct job_rank *ranks; /* [count] */
    int64_t *worlds;        /* [count], ranks of the job as each digest states it */
    int64_t count, room, world_room;
};

/* Adds the digests of a file. IO, BAD_INPUT: it cannot be read, or a digest of it is broken; the
 * sentence says which, and those before it stay. OUT_OF_MEMORY. `path` must live longer. */
enum status job_read(struct job_ranks *ranks, const char *path);
