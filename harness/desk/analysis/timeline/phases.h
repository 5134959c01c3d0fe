/* Phases of steps: the time of each on the host, and that of the device work which it launched.
 *
 * A phase is an annotation inside a step, on the step's thread: of our own names, or those that
 * PyTorch gives by itself ("enumerate(DataLoader)#...", "Optimizer.step#..."), or frameworks
 * ("save_checkpoint"). Nested annotations count for both of their phases; if both are of one phase,
 * they count once. An optimizer's step is without the forward and backward passes in it
 * (struct closure, below).
 *
 * Work belongs to the phase in which its call begins. PyTorch runs the backward pass on threads of
 * its own while the caller waits in its annotation, so a call on another thread belongs to
 * "backward" while that lasts, and to no other phase. Durations are summed: work that runs at once
 * on two streams counts twice. */
#pragma once

#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/analysis/timeline/timeline.h"

/* Forward and backward passes that run inside an optimizer's step: optimizer.step(closure), as
 * Lightning does it and LBFGS needs it. The optimizer's annotation covers them, and only the rest
 * of it is the optimizer's own.
 *
 * The recorder of `record` marks each call of a closure. Other traces tell by what is in the
 * step: all until its first backward pass belongs to the closure, and after that whatever
 * autograd saw, in this thread or in those that run backward. */
struct closures {
    struct intervals times; /* merged; of all threads */
    int64_t host_ns;        /* how long they took */
    int64_t device_ns;      /* durations of the work that their thread launched in them */
};

struct closures closures_of(struct arena *arena, const struct timeline *timeline);

/* The recorder's mark. */
#define NAME_OF_CLOSURE "Optimizer.closure"

enum phase {
    PHASE_DATA, /* the wait for the next batch */
    PHASE_H2D,  /* its copy to the device */
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_OPTIMIZER,
    PHASE_GRAPH, /* a captured step: forward, backward and optimizer in one launch */
    PHASE_LOG,
    PHASE_SAVE,
    PHASE_COUNT
};

struct phase_usage {
    int64_t host_ns; /* within the step */
    int64_t times;   /* it began there */
    int64_t device_ns;
    int64_t work_count;
};

struct phase_mean { /* over all steps, also those without that phase */
    double host_ns, device_ns, work_count;
};

struct phases {
    struct closures closures;
    struct phase_usage (*steps)[PHASE_COUNT]; /* as in struct steps */
    int64_t step_count;
    bool seen[PHASE_COUNT];
    struct intervals times[PHASE_COUNT];  /* when the thread was in it; merged */
    struct phase_mean means[PHASE_COUNT]; /* zeros without steps */
};

/* The thread is that of the first step. */
struct phases phases_of(struct arena *arena, const struct timeline *timeline,
                        const struct steps *steps);

/* The phase that an annotation of that name is; false: none. */
bool phase_of_name(const char *name, enum phase *phase);

const char *phase_name(enum phase phase); /* "forward" */
