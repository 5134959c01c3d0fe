/* Forward and backward passes that run inside an optimizer's step: optimizer.step(closure), as
 * Lightning does it and LBFGS needs it. The optimizer's annotation covers them, and only the rest
 * of it is the optimizer's own.
 *
 * The recorder of `record` marks each call of a closure. Other traces tell by what is in the
 * step: all until its first backward pass belongs to the closure, and after that whatever
 * autograd saw, in this thread or in those that run backward. */
#pragma once

#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/timeline.h"

struct closures {
    struct intervals times; /* merged; of all threads */
    int64_t host_ns;        /* how long they took */
    int64_t device_ns;      /* durations of the work that their thread launched in them */
};

struct closures closures_of(struct arena *arena, const struct timeline *timeline);

/* The recorder's mark. */
#define NAME_OF_CLOSURE "Optimizer.closure"
