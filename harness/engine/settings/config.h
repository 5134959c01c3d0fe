/* Every setting of the training step: one sub-struct per module, and a module gets only its own.
 *
 * Settings are read and printed as text by the one table in knobs.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* --- The model. knobs_resolve() replaces 0 by the role's size, from the table in roles.c. --- */

enum model_role { ROLE_LIGHT, ROLE_BALANCED, ROLE_HEAVY };
enum precision { PRECISION_AUTO, PRECISION_FP32, PRECISION_TF32, PRECISION_BF16, PRECISION_FP16 };
enum elementwise { ELEMENTWISE_FUSED, ELEMENTWISE_UNFUSED, ELEMENTWISE_EPILOGUE };
/* The samples that backward takes: all, or those whose loss is at least the mean of their
 * micro-batch. SELECTION_COUNTED: the host reads how many these are. SELECTION_MASKED: the device
 * skips the others. */
enum selection { SELECTION_ALL, SELECTION_COUNTED, SELECTION_MASKED };
enum attention { ATTENTION_NAIVE, ATTENTION_FUSED };

struct model_config {
    enum model_role role;
    int part, parts; /* this rank's of as many parts of the blocks, counted from 0; parts 0: all */
    int batch;       /* samples per update; 0: by role */
    int tokens;      /* per sample, including the class token; 0: by role */
    int width;       /* 0: by role; a multiple of ROW_MULTIPLE */
    int blocks;      /* 0: by role */
    int patch;       /* images: side in pixels, a multiple of 8; 0: by role. Sequences: 0 */
    int head_width;  /* elements of one attention head; 0: by role */
    int crop;        /* images: side as loaded over the side that the model sees */
    int classes;     /* set from the data */
    enum precision precision;
    bool fp64_linear; /* layers cast their factors to fp64, and the product back */
    enum elementwise elementwise;
    bool gelu_on_host; /* forward only */
    enum attention attention;
    bool strided_heads;
    enum selection selection;
    int experts; /* of a mixture in place of each block's MLP, on all ranks together; 0: none */
    double router_skew;    /* what the last expert's gate has in addition at first, in the choice */
    bool balances_experts; /* by a bias of the router's choice */
    int expert_part, expert_parts; /* this rank's of as many equal parts of the experts */
    int checkpointing; /* blocks per segment: only its input is kept, and backward computes the rest
                          again (Megatron-LM's --recompute-method=uniform with so many
                          --recompute-num-layers); 0: all activations are kept */
};

/* --- Data and the loader --- */

enum data_kind { DATA_IMAGES, DATA_SEQUENCES, DATA_AUTO /* until knobs_resolve: by role */ };

/* Notes on each sample in the host's memory, which whoever loads one looks up (sample_index.h). */
enum index_form { INDEX_NONE, INDEX_OBJECTS, INDEX_ARRAYS };

struct dataset_config {
    enum data_kind kind;
    enum index_form index;
    char folder[512]; /* images: the user's; "": the generated set */
    int image_size;   /* images: side in pixels, as they are loaded */
    int jpeg_pixels;  /* images: side of the files in pixels; 0: the user's, as they are */
    bool scales;      /* images: the decoder shrinks larger files */
    int threads;      /* images: of the library that resizes each, at least 1 */
    bool drops_cache; /* images: a file's pages leave the host's memory before it is read */
    bool in_shards;   /* images: files are read from shards, many at once (shards.h) */
    bool uneven;      /* images: a few files are many times as large; generated ones only */
    int tokens;       /* sequences: the longest, including the class token (id 0) at position 0 */
    int vocabulary;   /* sequences: ids 0 .. vocabulary - 1 */
    uint64_t seed;    /* sequences; the generated images are the same for every seed */
};

/* INPUT_RESIDENT: batches are in device memory before the timing begins (the step puts them there,
 * from a loader with INPUT_DECODED). INPUT_LOADED: the same in host memory, so that they are only
 * copied. INPUT_CACHED: samples are decoded once, before the timing, and batches are assembled from
 * host memory. INPUT_DECODED: samples are read and decoded every time. */
enum input { INPUT_RESIDENT, INPUT_LOADED, INPUT_CACHED, INPUT_DECODED };

/* Samples of an epoch of generated images: batches of any power of two divide them. */
enum { GENERATED_TRAIN = 1024 };

/* At most so much of an epoch is resident. */
enum { RESIDENT_BYTES = 64 << 20, RESIDENT_BATCHES = 128 };

/* How far samples are padded. PADDING_MAX_LENGTH: all of them to the model's tokens.
 * PADDING_LONGEST: those of a micro-batch to the longest among them. Images have no padding. */
enum padding { PADDING_MAX_LENGTH, PADDING_LONGEST };

struct batching_config {
    enum padding padding;
    int pad_to_multiple_of; /* tokens; PADDING_LONGEST only, as the next one */
    bool group_by_length;   /* an update's samples go into its micro-batches sorted by length */
    int max_tokens;         /* of a micro-batch, with its padding; 0: all have as many samples */
    int micro_batches;      /* per update, at most; set by knobs_resolve */
    bool wide_pixels;       /* images: bytes are widened to fp32 before they are copied */
};

/* Who puts a batch together. COLLATE_LOOP: workers only read its files, so that they are in the
 * host's memory; the training thread decodes them, pads, and fills the batch. */
enum collate { COLLATE_WORKERS, COLLATE_LOOP };

struct loader_config {
    enum input input;
    enum collate collate;
    int workers;  /* threads; 0: the caller loads. -N until knobs_resolve: N per core of the host */
    int prefetch; /* batches that a worker keeps ready or in progress, at least 1 */
    bool persistent_workers; /* no: threads end with the epoch and new ones start */
    bool gives_way;          /* workers run only while no other thread wants their core */
    bool remembers; /* what is decoded once: for loaders that are opened often (sample_cache.h) */
    struct batching_config batching;
    uint64_t seed;
    int64_t first_batch; /* where the seed's order is entered: the number of a batch */
    int part, parts; /* this loader's of as many equal parts of each batch, counted from 0; parts 0:
                        all */
};

/* --- Copies of batches to the device --- */

/* TRANSFER_OVERLAPPED: on a stream of its own, while the compute stream is still busy with earlier
 * steps; compute waits for it on the device. TRANSFER_INLINE: asynchronously on the compute stream.
 * TRANSFER_BLOCKING: the host waits. */
enum transfer_mode { TRANSFER_OVERLAPPED, TRANSFER_INLINE, TRANSFER_BLOCKING };

struct transfer_config {
    enum transfer_mode mode;
    bool pinned;           /* batches are in pinned host memory */
    bool pinned_once;      /* and are loaded into it; no: the loop allocates it for each, and copies
                              there what was loaded */
    bool one_copy;         /* one copy per batch; no: one per tensor */
    int batches_in_flight; /* batches of host memory that copies may still be reading from */
};

/* --- The optimizer --- */

enum optimizer_form {
    OPTIMIZER_MULTI_TENSOR, /* one kernel for all tensors */
    OPTIMIZER_PER_TENSOR,   /* one kernel per tensor */
    OPTIMIZER_UNFUSED,      /* six kernels per tensor */
};

struct optimizer_config {
    enum optimizer_form form;
    double rate;          /* learning rate after warm-up */
    double decay;         /* of weights; biases, norms and positions have none */
    double max_norm;      /* clipping; 0: none */
    bool clips_on_device; /* no: the host reads the norm and decides */
    int warmup;           /* updates over which the rate rises linearly */
    bool reads_overflow;  /* fp16: the host decides whether to skip; no: the device does */
    int scale_interval;   /* fp16: good updates in a row after which the loss scale is doubled */
};

/* --- Device memory --- */

enum allocation_mode { ALLOCATION_CACHING, ALLOCATION_STREAM_ORDERED, ALLOCATION_DIRECT };

/* How large the device allocations of ALLOCATION_CACHING are, and when a free block is cut.
 * SEGMENTS_ROUNDED: small blocks share segments of 2 MiB, larger ones get one of a multiple of 2
 * MiB, and more than 1 MiB of it must be left to be cut off. SEGMENTS_POOLED: the same, but blocks
 * below 10 MiB are cut from segments of 20 MiB, as in PyTorch. SEGMENTS_EXACT: as large as the
 * block that is asked for, and any rest is cut off. */
enum segments { SEGMENTS_ROUNDED, SEGMENTS_POOLED, SEGMENTS_EXACT };

enum { MEMORY_BUDGET_ROLE = -1 };

struct allocator_config {
    enum allocation_mode mode;
    enum segments segments;
    int64_t budget; /* bytes the step may reserve; 0: what the device has; MEMORY_BUDGET_ROLE: until
                       knobs_resolve, what the role just fits into */
    int empty_cache_every; /* steps between two calls of allocator_trim(); 0: never */
};

/* --- Launches --- */

/* LAUNCH_BLOCKING: eager, and every launch waits for its end. LAUNCH_AUTO: until knobs_resolve, by
 * role. */
enum launch_mode { LAUNCH_EAGER, LAUNCH_GRAPH, LAUNCH_BLOCKING, LAUNCH_AUTO };

/* If samples are padded to different lengths, each needs a graph of its own. GRAPHS_PER_SHAPE:
 * captured once and kept. GRAPHS_LATEST: only the latest is kept, and the others are captured
 * anew. */
enum graphs { GRAPHS_PER_SHAPE, GRAPHS_LATEST };

enum { ACCUMULATE_FIT = 0 };

struct launch_config {
    enum launch_mode mode;
    enum graphs graphs;
    int accumulate;   /* micro-batches per step, fewer with max_tokens; ACCUMULATE_FIT until
                         knobs_resolve: as few as the memory budget has room for */
    bool one_update;  /* per step; no: one per micro-batch */
    bool two_streams; /* in backward, for the two products of a linear layer; not in a graph */
};

/* --- Reading the loss, and logging it --- */

enum { LOSS_RING = 1024 }; /* losses kept on the device: those of the last so many steps */

/* Each loss that is read becomes a line of a log. LOGGING_SYNCED: the loop forces it to disk.
 * LOGGING_POSTED: the loop sends it to a service and waits for the answer. The other two: a thread
 * does so. */
enum logging_mode {
    LOGGING_NONE,
    LOGGING_SYNCED,
    LOGGING_QUEUED,
    LOGGING_POSTED,
    LOGGING_POSTED_QUEUED
};

/* For a thread that writes; or else the loop waits for each line. */
static inline bool logging_is_queued(enum logging_mode mode)
{
    return mode == LOGGING_QUEUED || mode == LOGGING_POSTED_QUEUED;
}

static inline bool logging_is_posted(enum logging_mode mode)
{
    return mode == LOGGING_POSTED || mode == LOGGING_POSTED_QUEUED;
}

/* Who counts the samples of each step that are classified right. ACCURACY_HOST: the host, of logits
 * and labels that it waits for at the end of every step. ACCURACY_DEVICE: a kernel; the sum is read
 * when a window has ended. */
enum accuracy_mode { ACCURACY_NONE, ACCURACY_HOST, ACCURACY_DEVICE };

/* How the loop times its own steps. TIMER_QUEUED: until their work is queued. TIMER_DONE: until the
 * device has done it, which the host waits for. TIMER_COLD: in the same way, but only the first
 * steps of the run. */
enum timer { TIMER_NONE, TIMER_QUEUED, TIMER_COLD, TIMER_DONE };
enum { TIMER_COLD_STEPS = 8 };

/* How the loop compares its steps with themselves (self_comparison.h). SELF_COMPARISON_ONE: one
 * with one. SELF_COMPARISON_PAIRS: in pairs, by an interval. */
enum self_comparison { SELF_COMPARISON_NONE, SELF_COMPARISON_ONE, SELF_COMPARISON_PAIRS };

/* GARBAGE_COLLECTED: the host has a heap of objects and makes records that die, and every
 * collection of these goes through all. GARBAGE_FROZEN: the same, but the heap is left out. */
enum garbage_mode { GARBAGE_NONE, GARBAGE_COLLECTED, GARBAGE_FROZEN };
enum { COLLECT_EVERY = 10 }; /* steps */

/* Each step adds its predictions to a table, which begins anew with every epoch. It is written to a
 * file: PREDICTIONS_REWRITTEN: as a whole, after each step. PREDICTIONS_APPENDED: the step's rows,
 * after those that are there. */
enum predictions_mode { PREDICTIONS_NONE, PREDICTIONS_REWRITTEN, PREDICTIONS_APPENDED };

/* KEPT_NUMBER: the ring keeps the loss as a number. KEPT_GRAPH: so does it, but all activations
 * that backward read stay allocated as well, until an epoch begins. */
enum kept_loss { KEPT_NUMBER, KEPT_GRAPH };

struct logging_config {
    int loss_every; /* steps between blocking reads of the loss, at least 1 */
    enum logging_mode log;
    enum kept_loss kept;
    enum garbage_mode garbage;
    int collect_every; /* steps; 0: never. Set by knobs_resolve */
    enum accuracy_mode accuracy;
    int read_logits_every; /* steps; 0: never. Set by knobs_resolve */
    enum predictions_mode predictions;
    int predictions_every; /* as read_logits_every */
    int validate_every;    /* steps between evaluations of all held-out samples; 0: never */
    enum timer timer;
    enum self_comparison self_comparison;
    bool profiles; /* every pass with its call stack (stack_profiler.h) */
};

/* --- Saving the training state --- */

/* SAVING_ASYNCHRONOUS: copies are queued to pinned memory, a thread writes them. SAVING_BLOCKING:
 * the step waits for every copy and for the write. */
enum saving_mode { SAVING_ASYNCHRONOUS, SAVING_BLOCKING };

struct saving_config {
    enum saving_mode mode;
    int save_every; /* steps between two saves; 0: never */
    /* the user's, for the state at the end too; "": a file that leaves no trace */
    char folder[512];
    char resume[512]; /* the folder with the state to go on from; "": from the beginning */
};

/* --- Many ranks --- */

/* ALLREDUCE_OVERLAP: a bucket as soon as its gradients are there, while backward goes on. */
enum allreduce { ALLREDUCE_AFTER_BACKWARD, ALLREDUCE_OVERLAP };

/* PARAMETERS_SHARDED: each rank keeps a part of every block's, and gathers the others' before it
 * uses them. PARAMETERS_PREFETCHED: the same, while the block before computes. Both shard the
 * optimizer's state as well. */
enum kept_parameters { PARAMETERS_WHOLE, PARAMETERS_SHARDED, PARAMETERS_PREFETCHED };

struct ranks_config {
    int count; /* processes that train together */
    enum allreduce allreduce;
    int bucket_mb;     /* MiB of gradients that one all-reduce adds up; 0: those of one tensor */
    bool one_sync;     /* gradients are added up once an update; no: after each micro-batch */
    bool bucket_view;  /* gradients are parts of the buckets; no: they are copied into them and back
                        */
    bool shards_state; /* of the optimizer: each rank has that of its part of every bucket */
    enum kept_parameters parameters;
    bool pipeline; /* each has a part of the blocks and all samples; no: all blocks and a part of
                      the samples */
    int uncached_rank; /* counted from 1: with INPUT_CACHED its input is INPUT_DECODED; 0: none */
};

struct training_config {
    struct model_config model;
    struct dataset_config data;
    struct loader_config loader;
    struct transfer_config transfer;
    struct optimizer_config optimizer;
    struct allocator_config allocator;
    struct launch_config launch;
    struct logging_config logging;
    struct saving_config saving;
    struct ranks_config ranks;
    uint64_t seed;
};
