/* Several processes in one file: scripts merge the traces of a job's ranks. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/desk/trace/trace_file.h"

/* The processes of a trace that mark steps: if they are several, each is a rank. */
struct processes {
    int64_t *ids;                     /* ascending */
    int64_t count;                    /* 0 if they are fewer than two, and then all is NULL */
    int32_t *event_part, *frame_part; /* the number of its process in `ids` */
};

struct processes processes_of(struct arena *arena, const struct trace_file *trace);
