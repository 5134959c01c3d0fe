/* The command line of a child: `chokepoint exec NAME ...`, in one place. */
#ifndef HARNESS_EXPERIMENT_PARENT_ARGUMENTS_H
#define HARNESS_EXPERIMENT_PARENT_ARGUMENTS_H

#include "harness/experiment/protocol.h"
#include "scenarios/scenario.h"

enum { ARGUMENTS_MOST = 30 };

struct arguments {
    const char *list[ARGUMENTS_MOST]; /* from argv[1] on; ends with NULL */
    char texts[ARGUMENTS_MOST][32];   /* numbers that the list points to: do not copy the struct */
};

/* What a timing child is started with. Points into scenario and protocol, which must live as long. */
void arguments_exec(struct arguments *arguments, const struct scenario *scenario,
                    const struct protocol *protocol);

/* What a tracing child is started with; 0 for what it is to measure itself. Points into `path`, too. */
void arguments_trace(struct arguments *arguments, const struct scenario *scenario,
                     const struct protocol *protocol, enum variant variant, const char *path,
                     int jpeg_pixels, double step_time_us);

#endif
