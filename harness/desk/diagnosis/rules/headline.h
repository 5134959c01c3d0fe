/* The bottleneck of a run, in a word that programs can read and in a sentence.
 *
 * The word is the bottleneck of the finding that says what limits the run, as findings_limit()
 * chooses it. So the headline never contradicts the findings. If no finding says it, the trace
 * leaves it open. */
#pragma once

#include <stdbool.h>

/* BOTTLENECK_NONE is that of rules about something else: a larger batch that fits, say. */
#define BOTTLENECKS(X)                                                                             \
    X(NONE, "none")                                                                                \
    X(UNCLEAR, "unclear")         /* the trace is too short, or no known cause explains it */      \
    X(UNSUPPORTED, "unsupported") /* a device or a profiler that is not read */                    \
    X(DEVICE, "device")           /* what the device computes */                                   \
    X(HOST, "host")               /* what the host computes, where there is no device */           \
    X(LAUNCHING, "launching")     /* and what each operator costs beside its work */               \
    X(LOADING, "loading")                                                                          \
    X(HOST_WORK, "host_work")                                                                      \
    X(WAITING, "waiting") /* the host for the device, which then waits for the host */             \
    X(COPIES, "copies")                                                                            \
    X(COMMUNICATION, "communication")                                                              \
    X(ALLOCATION, "allocation") /* and all else of memory */                                       \
    X(FIRST_USE, "first_use")

enum bottleneck {
#define BOTTLENECK_ENUM(id, name) BOTTLENECK_##id,
    BOTTLENECKS(BOTTLENECK_ENUM)
#undef BOTTLENECK_ENUM
};

const char *bottleneck_name(enum bottleneck bottleneck); /* "first_use" */

bool bottleneck_computes(
    enum bottleneck bottleneck); /* DEVICE or HOST: all but that waits for it */

struct headline {
    enum bottleneck bottleneck; /* never BOTTLENECK_NONE */
    double share;   /* of a step: lost time, or time that the device is busy; NAN: unknown */
    char text[280]; /* a sentence */

    bool is_information; /* about a device that sets the pace, or about the trace: nothing to fix */
};

struct facts;
struct finding;

/* Says the finding that limits the run, with its facts; NULL: none does. */
struct headline headline_of(const struct finding *limit, const struct facts *facts);
