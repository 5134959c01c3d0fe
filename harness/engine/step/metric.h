/* The metrics of a training step. Each is one number per window; times and counts are per step, and
 * both variants train on the same samples. */
#pragma once

/* id, name in result files, unit ("" for counts), meaning */
#define METRICS(X)                                                                                 \
    X(STEP_TIME, "step_time", "us",                                                                \
      "wall time per step, on the host's clock around the whole window")                           \
    X(REPORTED_STEP_TIME, "reported_step_time", "us",                                              \
      "time per step by the loop's own stopwatch; not with timer=no")                              \
    X(REPORTED_OVER_TRUE, "reported_over_true", "",                                                \
      "reported_step_time over step_time; not with timer=no")                                      \
    X(FALSE_CALLS, "false_calls", "",                                                              \
      "share of the loop's comparisons of its steps with themselves that call a difference; of "   \
      "other values of self_comparison than none only")                                            \
    X(STEP_TIME_P95, "step_time_p95", "us", "95th percentile of single steps, from device events") \
    X(STEP_VARIATION, "step_variation", "", "standard deviation of single steps over their mean")  \
    X(FORWARD_TIME, "forward_time", "us",                                                          \
      "device time of the forward pass, in the window's last step")                                \
    X(BACKWARD_TIME, "backward_time", "us", "device time of the backward pass, in the same step")  \
    X(COMMUNICATION_WAIT, "communication_wait", "us",                                              \
      "device time that the update waits for other ranks and their gradients after backward, and " \
      "what follows it for their parameters, or in a pipeline or with experts passes for other "   \
      "ranks, in the same step")                                                                   \
    X(PIPELINE_IDLE, "pipeline_idle_share", "",                                                    \
      "slots of a pipeline's rank without a pass, as a share of all, if each pass takes one")      \
    X(BUSIEST_TOKENS, "busiest_rank_tokens", "",                                                   \
      "tokens that experts of the busiest rank compute, over the mean of all ranks, averaged "     \
      "over "                                                                                      \
      "the mixtures of experts; not with experts=none")                                            \
    X(COMMUNICATION_SHARE, "communication_wait_share", "",                                         \
      "communication_wait as a share of backward_time")                                            \
    X(COLLECTIVES_PER_STEP, "collectives_per_step", "",                                            \
      "operations of all ranks together, or messages of two")                                      \
    X(COLLECTIVE_BYTES, "collective_bytes_per_step", "B", "bytes that they work on, on each rank") \
    X(LATE_GRADIENT_BYTES, "late_gradient_bytes_per_step", "B",                                    \
      "bytes of gradients that are sent to other ranks only when backward has ended")              \
    X(LATE_PARAMETER_BYTES, "late_parameter_bytes_per_step", "B",                                  \
      "bytes of parameters that are gathered from all ranks only when a pass needs them; of "      \
      "parameters=sharded or prefetched only")                                                     \
    X(OPTIMIZER_TIME, "optimizer_time", "us", "device time of the update, in the same step")       \
    X(OPTIMIZER_SHARE, "optimizer_share", "",                                                      \
      "optimizer_time as a share of forward, backward and optimizer")                              \
    X(SAMPLES_PER_SECOND, "items_per_second", "/s", "samples trained on per second")               \
    X(TOKENS_PER_SECOND, "tokens_per_second", "/s",                                                \
      "tokens trained on per second, without padding")                                             \
    X(PADDING_SHARE, "padding_share", "", "padding as a share of the tokens computed")             \
    X(MICRO_BATCH, "micro_batch_samples", "", "samples that one pass of forward takes at once")    \
    X(LAUNCHES_PER_STEP, "launches_per_step", "",                                                  \
      "launches of kernels, matrix products and graphs")                                           \
    X(CAPTURES_PER_STEP, "captures_per_step", "", "graphs captured")                               \
    X(OP_BYTES_PER_STEP, "op_bytes_per_step", "B",                                                 \
      "bytes that forward and backward must read and write, in the window's last step")            \
    X(OP_BYTES_PER_SECOND, "op_bytes_per_second", "B/s",                                           \
      "op_bytes_per_step over the time of forward and backward")                                   \
    X(MODEL_FLOPS_PER_STEP, "model_flops_per_step", "",                                            \
      "multiplications and additions of the products of forward and backward, each once")          \
    X(MODEL_FLOPS_PER_SECOND, "model_flops_per_second", "FLOP/s",                                  \
      "model_flops_per_step over step_time")                                                       \
    X(SYNCS_PER_STEP, "syncs_per_step", "", "host calls that block until device work is done")     \
    X(COPIES_PER_STEP, "copies_per_step", "", "copies between host and device, and on the device") \
    X(H2D_BYTES_PER_STEP, "h2d_bytes_per_step", "B", "bytes copied from host to device")           \
    X(D2D_BYTES_PER_STEP, "d2d_bytes_per_step", "B", "bytes copied on the device")                 \
    X(D2H_BYTES_PER_STEP, "d2h_bytes_per_step", "B", "bytes copied from device to host")           \
    X(ALLOCATIONS_PER_STEP, "allocations_per_step", "", "device memory allocations")               \
    X(HOST_ALLOCATIONS, "host_allocations_per_step", "",                                           \
      "allocations of host memory for copies, pinned or pageable")                                 \
    X(HOST_SWITCHES, "host_switches_per_step", "",                                                 \
      "times that a thread of the process waits, or has to leave its core to another thread")      \
    X(CPU_TIME, "process_cpu_time", "us",                                                          \
      "processor time of all threads of the process per step; on the CPU device the device's too") \
    X(SUBMISSION_TIME, "submission_time", "us", "host time spent queueing a step's device work")   \
    X(TRANSFER_TIME, "transfer_time", "us",                                                        \
      "host time spent queueing the copies of a step's batch, or blocked in them")                 \
    X(READS_PER_STEP, "reads_per_step", "",                                                        \
      "files that the loader reads, or shards of many samples")                                    \
    X(READ_TIME, "read_time", "us", "host time that threads of the loader spend reading them")     \
    X(DATA_WAIT, "data_wait", "us", "host time spent waiting for or loading the next batch")       \
    X(DATA_WAIT_SHARE, "data_wait_share", "", "data_wait as a share of step_time")                 \
    X(EPOCH_WAIT, "epoch_wait", "us",                                                              \
      "the part of data_wait that is for the first batches of epochs, per step of the window")     \
    X(LATE_BATCHES, "late_batches", "", "share of batches that the loop had to wait for, or load") \
    X(WORKERS_STARTED, "workers_started_per_step", "", "loader workers started")                   \
    X(LOG_SYNCS_PER_STEP, "log_syncs_per_step", "",                                                \
      "lines of the log that the loop forces to disk or posts itself")                             \
    X(LOG_PAUSE, "log_pause", "us", "host time that the loop spends on a line of the log")         \
    X(TABLE_BYTES, "table_bytes_per_step", "B",                                                    \
      "bytes of the table of predictions that the loop writes; not with predictions=none")         \
    X(SAVE_PAUSE, "save_pause", "us", "host time that the loop spends in a save of the state")     \
    X(SKIPPED_UPDATES, "skipped_updates_per_step", "",                                             \
      "updates skipped because a gradient was not finite; of precision=fp16 only")                 \
    X(ACCURACY, "accuracy", "",                                                                    \
      "share of the window's samples that were classified right; of accuracy=host or device only") \
    X(ACTIVATION_PEAK, "activation_peak_bytes", "B", "most memory held by activations at once")    \
    X(OPTIMIZER_STATE, "optimizer_state_bytes", "B",                                               \
      "memory that the optimizer's running means take, and fp32 weights beside narrower ones")     \
    X(PARAMETERS, "parameter_bytes", "B",                                                          \
      "memory that the model's parameters take between two steps")                                 \
    X(MEMORY_PEAK, "memory_peak_bytes", "B", "most device memory held by the step at once")        \
    X(MEMORY_GROWTH, "memory_growth_bytes", "B", "device memory that a step leaves allocated")     \
    X(MEMORY_RESERVED, "memory_reserved_bytes", "B",                                               \
      "most device memory reserved by the allocator at once")                                      \
    X(RESERVED_RATIO, "reserved_over_allocated", "",                                               \
      "memory_reserved_bytes over memory_peak_bytes")                                              \
    X(INDEX_COPIES, "index_copies_bytes", "B",                                                     \
      "host memory that copies of the index take, which loading threads have of their own, after " \
      "the window; not with index=none")                                                           \
    X(HOST_MEMORY, "host_memory_bytes", "B",                                                       \
      "resident memory of the process after the window, which may hold both variants")

/* METRIC_NONE ends lists of metrics. It is never measured, and its place in an array of
 * [METRIC_COUNT] is not used: loops start at METRIC_FIRST. */
enum metric {
    METRIC_NONE,
#define METRIC_ID(id, name, unit, text) METRIC_##id,
    METRICS(METRIC_ID)
#undef METRIC_ID
        METRIC_COUNT,
    METRIC_FIRST = METRIC_NONE + 1
};

const char *metric_name(enum metric metric);
const char *metric_unit(enum metric metric);
const char *metric_text(enum metric metric);
