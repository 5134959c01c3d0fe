/* A training loop's trace, made by following a host thread and one stream: the host does one thing
 * after the other, the device works what was launched in order, and a wait ends when the device is
 * done. A loop does what it was given; times are microseconds, per step unless they say
 * otherwise. */
#pragma once

#include "tests/fixtures/made/made_trace.h"

struct made_loop {
    /* members of the trace beside its events; NULL: a GPU of 1 GB, see the source */
    const char *about;
    int steps;
    int loading; /* in the phase "data" */
    int slow_every,
        slow_loading; /* every so many steps, the last of them, loading takes that instead */
    int slow_more;    /* so many steps after each of those, too */
    int epoch;        /* every so many steps, the last of them asks the loader twice */
    int slow_step;    /* this one too, counted from 1; 0: none */
    int copies, copy, copy_call; /* how many; each on the device; each call on the host */
    int copy_bytes;
    const char *copy_name; /* NULL: a pinned one to the device */
    bool copies_block;     /* their calls last until they are done */
    int pause;             /* before the launches, in which the host does something else */
    int pause_growth; /* with each step that takes so much longer, and once more as before after
                         `epoch` steps */
    const char *pause_name; /* of an operator that does it; NULL: nothing is recorded */
    int passes; /* phases "forward" that the launches are spread over; 0: no such phase */
    int launches;
    int operator_time, call, kernel; /* of each launch: on the host before it, its call, its work */
    int first_call;                  /* of the first launch of all; 0: as any */
    int late_every, late_call; /* every so many launches, the last of them, the call takes that */
    int slow_kernel; /* every kernel of a slow step takes that, without a device every operator; 0:
                        as any */
    int flops[2];    /* thousands, in turns: each takes the device 1 us more; 0: not stated */
    int stall;       /* the device waits before each kernel, though it is queued */
    int grid;        /* blocks of each kernel; 0: not stated */
    const char *kernel_name;                  /* NULL: one of no kind */
    int optimizer_launches, optimizer_kernel; /* in the phase "optimizer", on top */
    int updates;                /* phases "optimizer", each with those launches; 0: one */
    int other_device;           /* a kernel on device 1, beside the launches */
    int communication;          /* a kernel on the same stream */
    int backward;               /* a kernel in the phase "backward"; 0: no such phase */
    int messages, message;      /* between ranks, in that phase; each on the device */
    int message_kib;            /* 0: not stated */
    const char *collective;     /* NULL: "allreduce" */
    const char *message_kernel; /* NULL: NCCL's all-reduce */
    bool split;                 /* before that phase as many */
    const char *returned;       /* one as large as all of them after the optimizer; NULL: none */
    int trips;                  /* to the host and back within the step, 1 MiB */
    int wait_every;             /* steps; 0: only at the end of all */
    int wait_amid;              /* steps, before the optimizer; 0: none */
    int wait_launches;          /* waits after every so many launches too; 0: none */
    int reads; /* numbers that the host copies to itself after the wait, each with a wait */
    int logging, saving;         /* after the wait */
    bool log_waits;              /* the log waits for the device first */
    int allocations, allocation; /* calls before the launches, releases in turns, each one's time */
    int long_allocation;         /* of the first in the third step; 0: as any */
    int allocating_steps;        /* the first so many; 0: all */
    int releases; /* after the launches: each waits for the device, and takes `allocation` then */
    bool launches_block; /* their calls last on until their kernels are done */
    int lost;            /* kernels that are not recorded, of ten */
    int tokens, padded_tokens, samples;
    int allocated_kib, peak_kib, growth_kib, reserved_kib; /* memory rows, if allocated_kib > 0 */
    bool no_steps, no_calls;
    bool alone; /* there is no device: launches are operators alone, and nothing waits or is copied
                 */
    int items;  /* numbers that such a loop reads, 2 us each */
    const char *items_in; /* the annotation that they are in; NULL: none */
};

/* --- Parts of loops --- */

/* The device is busy throughout, and nothing else is to be said of it. */
#define LONG_BUSY .launches = 20, .call = 2, .kernel = 50
#define BUSY      .steps = 10, LONG_BUSY

/* With 500 us of backward. */
#define BACKWARD BUSY, .backward = 500

/* It computes products. */
#define MATRIX_KERNEL "ampere_sgemm_128x64_nn"

/* A GPU without tensor cores, and a CPU that has matrix units for bf16 or none. */
#define OLD_GPU                                                                                    \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"Quadro GP100\",\"totalGlobalMem\":1073741824,"     \
    "\"computeMajor\":6,\"computeMinor\":0}]"
#define UNITS(has)                                                                                 \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"CPU device\",\"kind\":\"cpu\",\"totalGlobalMem\":" \
    "1073741824,\"bf16MatrixUnits\":" has ",\"fp16MatrixUnits\":0,\"tf32\":0,\"hostCores\":2,"     \
    "\"sharesHostCores\":1}]"

struct analysed made_loop(const struct made_loop *loop);
