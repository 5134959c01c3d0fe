/* A rank's steps and collectives as a digest holds them, to be laid beside those of thousands of
 * others.
 *
 * A collective is known on all ranks of its group by the group, its step and its number among the
 * group's in that step. If there are more than a digest has room for, every so many of a step are
 * kept: as all ranks of a group have equally many, they keep the same ones. */
#pragma once

#include "harness/desk/analysis/summary.h"

enum { RECORD_STEPS = 256, RECORD_GROUPS = 64, RECORD_COLLECTIVES = 1500 };

/* Collectives of a process group, in order. */
struct record_group {
    const char *name, *about, *ranks; /* as the trace states them; "": not stated */
    const char *kind;       /* the collective that it has most: "allreduce"; "": not stated */
    int64_t size;           /* 0: not stated */
    int64_t total;          /* in the trace's steps */
    int64_t every;          /* of a step, that many stand for one that is kept */
    int64_t count;          /* kept */
    int64_t *step;          /* [count], among the record's steps */
    int64_t *start_ns, *ns; /* [count] */
    int64_t *own_ns; /* [count], since the collective that was kept before, of any group: not in
                        collectives */
    int64_t *bytes;  /* [count]; -1: not stated */
};

/* Times count from `clock_ns`, the beginning of the first step. */
struct rank_record {
    const char *source; /* the file of the trace */
    const char *node;   /* the machine that recorded it */
    const char *job;    /* "": not named */
    int64_t clock_ns;   /* on the rank's own clock; since 1970 if the trace says so */
    int64_t step_count, step_total;
    int64_t *number, *start_ns, *ns; /* [step_count] */
    int64_t *tokens;                 /* [step_count]; -1: not stated */
    int64_t *part_ns;                /* [step_count][STEP_PART_COUNT] */
    struct record_group *groups;
    int64_t group_count;
};

/* At most `most` collectives. Texts that the caller gives must live longer. */
struct rank_record rank_record_of(struct arena *arena, const struct summary *summary, int64_t most);
