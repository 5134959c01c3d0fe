/* A bench: one capability of a device, as a const row at the end of its file. benches/benches.c
 * lists them.
 *
 * The loop that is timed is the bench's own: `run` repeats its body `iterations` times and returns
 * when all of that work is done. So an iteration costs the body and a loop counter, and two
 * readings of the clock are shared by all of them. */
#pragma once

#include "harness/base/random.h"
#include "harness/device/device.h"

#include <signal.h>

enum { BENCH_ARGUMENTS = 6, BENCH_BLOCKS = 16 };

enum bench_memory { BENCH_DEVICE, BENCH_PINNED, BENCH_PAGEABLE }; /* the last two: the host's */

/* The limit of a bench on the device: the least time of an iteration is what the device's own
 * limits, measured in the same run, leave (Williams, Waterman, Patterson: "Roofline", 2009). */
enum roof {
    ROOF_NONE,
    ROOF_MEMORY,  /* its bytes at the speed of a copy; of a collective, what a rank sends and
                     receives */
    ROOF_PRODUCTS /* that, and its flops at the speed of a matrix product of its type */
};

struct bench;

/* The things that a bench works with, and its account of the work. */
struct bench_work {
    const struct bench *bench;
    struct device *device;
    struct stream *stream;
    int64_t argument; /* the N of "name/N"; 0 where the bench takes none */
    struct random random;

    /* Cold rows: the data exists this often, and each iteration takes the next. */
    int copies;
    int64_t next_copy;

    /* Per iteration, set by `set_up`; 0: the rate means nothing. Bytes are those that are read and
     * those that are written. */
    int64_t bytes, flops, items;
    double bus_factor; /* of a collective: bytes that a rank sends, and receives, per byte of
                          `bytes` */
    int64_t timed_ns;  /* .manual_time: `run` adds the time that counts */
    /* Not 0: a signal came, and `run` ends before its next iteration, which may wait for long on a
     * busy machine. Never NULL. */
    const volatile sig_atomic_t *stop;
    void *own; /* the bench's, zeroed, own_bytes large */

    struct {
        enum bench_memory where;
        void *memory;
    } blocks[BENCH_BLOCKS]; /* bench_alloc()'s */
    int block_count;
};

struct bench {
    const char *name; /* "gemm_bf16" */
    const char *text; /* what an iteration is: one line */

    /* A row each, up to the first 0; none: one row without. Large devices take arguments_large
     * where there are any. A cold bench takes its list from the second on: what is small is in a
     * cache. */
    int64_t arguments[BENCH_ARGUMENTS], arguments_large[BENCH_ARGUMENTS];

    enum dtype dtype;
    enum math math;
    int variant; /* which of its file's benches it is */
    bool cold;   /* nothing that an iteration reads is in a cache, as far as `copies` ensures it */
    bool communicates; /* all ranks run it together, and no other bench when there are several */
    bool manual_time;  /* only what `run` adds to timed_ns counts; the name says so */
    enum roof roof;
    size_t own_bytes;

    /* Why this device cannot do it; NULL: it can. NULL for what all can. */
    const char *(*lack)(const struct bench *bench, const struct device_properties *device);

    /* Makes what the body needs, and runs it once to check that it does what it claims: INTERNAL
     * with both values where it does not. `tear_down` is called whatever came of it, when the
     * stream is done, and frees what bench_alloc() did not allocate. Both are called again for each
     * visit (rounds.h). */
    enum status (*set_up)(struct bench_work *work);
    enum status (*run)(struct bench_work *work, int64_t iterations);
    void (*tear_down)(struct bench_work *work); /* may be NULL */
};

/* Memory for set_up. It is freed after tear_down, so the bench need not free it. */
enum status bench_alloc(struct bench_work *work, enum bench_memory where, size_t bytes,
                        void **memory);
void bench_free(struct bench_work *work); /* all of it */
