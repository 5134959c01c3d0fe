/* Reads the digests of a job's ranks, one after the other: memory is that of their steps and
 * collectives. */
#pragma once

#include "harness/fleet/job/job.h"

struct job_ranks {
    struct arena *arena;
    struct job_rank *ranks; /* [count] */
    int64_t *worlds;        /* [count], ranks of the job as each digest states it */
    int64_t count, room, world_room;
};

/* Adds the digests of a file. IO, BAD_INPUT: it cannot be read, or a digest of it is broken; the
 * sentence says which, and those before it stay. OUT_OF_MEMORY. `path` must live longer. */
enum status job_read(struct job_ranks *ranks, const char *path);
