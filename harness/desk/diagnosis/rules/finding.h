/* A finding: one thing that is wrong with a training run, and its cost. The data alone, for those
 * who keep or print findings and do not make them (findings.h). */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/analysis/host/call_place.h"

#include <stdbool.h>
#include <stdint.h>

/* The bottleneck of a run, in a word that programs can read and in a sentence.
 *
 * The word is the bottleneck of the finding that says what limits the run, as findings_limit()
 * chooses it. So the headline never contradicts the findings. If no finding says it, the trace
 * leaves it open. */

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

enum severity { SEVERITY_INFORMATION, SEVERITY_MINOR, SEVERITY_MAJOR, SEVERITY_CRITICAL };

const char *severity_name(enum severity severity); /* "major" */

enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };

const char *confidence_name(enum confidence confidence); /* "high" */

/* The figure that a rule compared with its bounds. Where `good` is the larger one, more is
 * better. */
struct judged {
    /* "lost share of a step"; NULL: nothing that has bounds, or nothing in this trace */
    const char *what;
    double value, good, bad; /* good up to `good`, bad from `bad` on */
};

struct finding {
    const char *id, *title, *advice; /* constants */
    enum bottleneck bottleneck;      /* of its rule; NONE: it says nothing of what limits the run */
    enum severity severity;
    enum confidence confidence;
    double lost_ns_per_step; /* of the untraced step where the trace tells; NAN: not of time */
    double predicted_gain;   /* step time before / after the advice; 1: none; NAN: cannot say */
    bool of_whole;           /* the trace marks no steps: a step is all of it */
    int64_t once_in_steps;   /* of what is done once: the recorded steps, whose sum of lost times
                                is the cost; 0: each step has it, or none are marked */
    bool gain_is_least;      /* what the trace does not tell would add to the gain */
    bool gain_is_most;       /* it would take from the gain, and from the lost time, maybe all */
    bool shares_time;        /* another finding has the same time, whose fault it is */
    bool is_replayed;        /* the gain is that of a replay */
    double replayed_share; /* the part of what its change gains that is its own; 0: the gain is the
                              lost time */
    const char *behind;    /* id of a rule whose change is assumed to be made, since it comes
                              first; NULL: none */
    double least_step_ns;  /* no step gets shorter by its advice; 0: nothing is known */
    /* Id of the finding that hides this one, whose numbers are of the step that is left when that
     * one is fixed; NULL: of the step as it is. */
    const char *once_fixed;
    /* If a whole program was recorded: the mean of all its steps, of which the lost time is a part.
     * 0: the lost time is a part of the trace's step. */
    double mean_step_ns;
    struct judged judged;
    char evidence[480];        /* in numbers, a sentence */
    struct call_place where;   /* most of the cost comes from there */
    struct call_place library; /* and there, in what is called by that line of the user's */
};

/* Before the gain: "at least ", "at most ", or nothing. */
const char *finding_gain_bound(const struct finding *finding);

/* Follows the gain: why a finding is minor though its share of the step makes others major; "": it
 * is not. */
const char *finding_why_minor(const struct finding *finding);

/* A rule, whether or not it found something. */
struct threshold {
    const char *id, *source; /* constants; source: with the threshold in words */
    bool found;
    struct judged judged;
};

/* The gain that is left after the first finding's fix, and that of two fixes together. */
struct next_fix {
    const char *first,
        *second; /* ids, the first ones of which replays know the change; NULL: there are no two */
    double gain; /* of the second, after the first */
    const char *pair[2]; /* the two of the first four whose fixes gain most together */
    double pair_gain;
};

struct findings {
    struct headline headline;
    struct next_fix next;
    struct finding *items; /* in the order in which they matter (findings.c) */
    int64_t count;
    double left_step_ns; /* that the first one leaves when it is fixed; 0: it hides no others */
    struct threshold *thresholds; /* of all rules, in the order of their tables; NULL: not kept */
    int64_t threshold_count;
    char healthy[480]; /* why the trace is thought healthy; "": a finding that is not information
                        * stands, or the trace does not tell */
};

/* The first that can be fixed: information, which may stand before it, cannot. NULL: there is
 * none. */
const struct finding *findings_first(const struct findings *findings);

const struct finding *findings_find(const struct findings *findings,
                                    const char *id); /* NULL: it is not among them */

/* The items alone, for whoever needs them longer than the trace's memory is there.
 * OUT_OF_MEMORY. */
enum status findings_copy(struct findings *copy, const struct findings *findings);
void findings_release(struct findings *copy);
