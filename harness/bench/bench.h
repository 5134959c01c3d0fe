/* A bench: one capability of a device, as a const row at the end of its file. benches/benches.c lists
 * them.
 *
 * The loop that is timed is the bench's own: `run` repeats its body `iterations` times and returns when
 * all of that work is done. So an iteration costs the body and a loop counter, and two readings of the
 * clock are shared by all of them. */
#ifndef HARNESS_BENCH_BENCH_H
#define HARNESS_BENCH_BENCH_H

#include "harness/device/device.h"
#include "harness/status/random.h"

enum { BENCH_ARGUMENTS = 6 };

/* What a bench works with, and what it says of its work. */
struct bench_work {
    struct device *device;
    struct stream *stream;
    int64_t argument; /* the N of "name/N"; 0 where the bench takes none */
    struct random random;

    /* Of one iteration, set by `set_up`; 0: the rate means nothing. Bytes are those that are read and
     * those that are written. */
    int64_t bytes, flops, items;
    void *own; /* the bench's, zeroed, own_bytes large */
};

struct bench {
    const char *name;                   /* "lat_launch" */
    const char *text;                   /* what an iteration is: one line */
    int64_t arguments[BENCH_ARGUMENTS]; /* a row each, up to the first 0; none: one row without */
    size_t own_bytes;

    /* Makes what the body needs, and runs it once to check that it does what it claims: INTERNAL with
     * both values where it does not. `tear_down` is called whatever came of it. */
    enum status (*set_up)(struct bench_work *work);
    enum status (*run)(struct bench_work *work, int64_t iterations);
    void (*tear_down)(struct bench_work *work); /* may be NULL */
};

#endif
