/* The parts of a training run, for the files that step, measure and evaluate it, and for tests that
 * look inside. */
#pragma once

#include "harness/engine/model/encoder.h"
#include "harness/engine/model/model_optimizer.h"
#include "harness/engine/step/measuring/phase_times.h"
#include "harness/engine/step/measuring/stack_profiler.h"
#include "harness/engine/step/parts/micro_batches.h"
#include "harness/engine/step/parts/transfer.h"
#include "harness/engine/step/periodic.h"
#include "harness/engine/step/ranks/gradient_buckets.h"
#include "harness/engine/step/ranks/pipeline.h"
#include "harness/engine/step/training.h"

/* Spans of a graph stay as long as it, and while somebody traces until the training is closed:
 * traces keep pointers to them. */
struct graph_notes {
    struct graph_spans spans;
    struct graph_notes *next;
};

/* The graph of steps whose samples are padded to one length. */
struct step_graph {
    struct graph *graph;        /* NULL: not captured, or not any more */
    struct graph_spans *spans;  /* of the graph; one of those of the training */
    int64_t steps;              /* done or queued */
    int64_t device_allocations; /* of the allocator, when its memory was enough for a capture */
};

struct training {
    struct device *device;
    struct training_config config;
    struct stream *compute;
    struct side_stream side; /* NULL members: there is one stream */
    struct dataset *dataset;
    struct loader *loader;     /* NULL once all batches are kept */
    const struct batch *ahead; /* fetched for the next step; NULL: none */
    struct resident *resident;
    struct allocator *allocator;
    struct transfer *transfer;
    struct encoder *encoder;
    struct micro_batches *micro_batches;
    struct gradient_buckets *buckets; /* NULL: there is one rank, or a pipeline of them */
    struct pipeline *pipeline;        /* NULL: there is none */
    struct optimizer *optimizer;
    struct batch_layout layout; /* of all micro-batches of a step together */
    struct step_graph *graphs;  /* [tokens + 1][TRANSFER_INPUTS] */
    int64_t captures;           /* of graphs */
    struct graph_notes *notes;  /* the newest capture's first */
    struct graph_spans *spans;  /* of the capture under way; NULL: none */
    int64_t transfer_ns;        /* host time spent copying batches, in all */
    int64_t steps;              /* done or queued, with those before first_step */
    int64_t first_step;         /* of this run; above 0 where it goes on from a saved state */
    int64_t submission_ns;      /* host time spent queueing device work, in all */
    int64_t saves, save_ns;     /* the same of saving the state */
    int64_t log_lines, log_ns;  /* the same of writing the log */
    int64_t table_bytes;        /* written of the table of predictions, in all */
    int64_t reported_ns, reported_steps; /* by the loop's own stopwatch, in all */
    int64_t left_bytes;                  /* device memory that steps left allocated, in all */
    struct event **step_events; /* recorded at the end of steps while a window is open; or NULL */
    struct phase_times *phases;
    bool times_phases;                 /* in the step that is under way, where it is not a graph */
    struct trace *trace;               /* NULL: nothing is recorded */
    int64_t tokens, padded_tokens;     /* in all steps done or queued */
    int64_t micro_batches_taken;       /* the same */
    int64_t model_flops;               /* the same: program_model_flops() */
    struct stack_profiler *profiler;   /* of the loop's own; NULL: none */
    struct tensor_sums *sums;          /* NULL: none are taken */
    int64_t damaged;                   /* found while batches were made resident */
    const volatile sig_atomic_t *stop; /* NULL: none */
#define TRAINING_MEMBER(name) struct name *name;
    PERIODICS(TRAINING_MEMBER)
#undef TRAINING_MEMBER
};

/* launch.c */
enum status training_open_graphs(struct training *training);
void training_close_graphs(struct training *training);

/* The parts of a step, in order. */
enum status training_load(struct training *training);   /* data and h2d */
enum status training_submit(struct training *training); /* forward, backward, optimizer */

/* Device memory, [LOSS_RING]: step N writes its loss to N % LOSS_RING. */
float *training_loss_ring(const struct training *training);

/* Activations that the losses of this epoch keep; NULL: they keep none. */
struct saved_blocks *training_loss_graphs(const struct training *training);

/* Frees these where an epoch begins. */
enum status training_forget_losses(struct training *training);

/* Training samples that were classified right so far, if they are counted; else 0. Waits for the
 * device. */
enum status training_right(struct training *training, int64_t *right);

/* Micro-batch number `micro` of the step's input. */
struct op_context training_context(const struct training *training, int micro);
