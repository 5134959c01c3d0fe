/* All scenarios. A new one is a file, a line in CMakeLists.txt and a line here. */
#include "scenarios/scenario.h"

/* names: core scenarios first, then the others in the order of the groups, as `list` prints them */
#define CORE(X)                                                                                    \
    X(loader_workers)                                                                              \
    X(small_batch)                                                                                 \
    X(precision)                                                                                   \
    X(checkpointing)                                                                               \
    X(launch_overhead)                                                                             \
    X(item_sync)
#define OTHERS(X)                                                                                  \
    X(cold_storage)                                                                                \
    X(slow_collate)                                                                                \
    X(oversubscribed_workers)                                                                      \
    X(loader_prefetch)                                                                             \
    X(worker_respawn)                                                                              \
    X(host_leak)                                                                                   \
    X(padding)                                                                                     \
    X(pageable_copies)                                                                             \
    X(blocking_copies)                                                                             \
    X(pinned_in_loop)                                                                              \
    X(many_small_copies)                                                                           \
    X(fp32_copies)                                                                                 \
    X(host_round_trip)                                                                             \
    X(graph_recapture)                                                                             \
    X(garbage_collection)                                                                          \
    X(launch_blocking)                                                                             \
    X(host_clipping)                                                                               \
    X(host_metrics)                                                                                \
    X(data_dependent_shape)                                                                        \
    X(loss_scaling)                                                                                \
    X(double_precision)                                                                            \
    X(strict_fp32)                                                                                 \
    X(naive_attention)                                                                             \
    X(layout_copies)                                                                               \
    X(unfused_elementwise)                                                                         \
    X(serial_streams)                                                                              \
    X(unfused_optimizer)                                                                           \
    X(optimizer_every_step)                                                                        \
    X(memory_for_batch)                                                                            \
    X(allocation_churn)                                                                            \
    X(fragmentation)                                                                               \
    X(leak)                                                                                        \
    X(cache_flush)                                                                                 \
    X(growing_step)                                                                                \
    X(frequent_validation)                                                                         \
    X(network_logger)                                                                              \
    X(blocking_logger)                                                                             \
    X(blocking_save)                                                                               \
    X(exposed_allreduce)                                                                           \
    X(replicated_state)                                                                            \
    X(sharded_parameters)                                                                          \
    X(late_gathers)                                                                                \
    X(expert_imbalance)                                                                            \
    X(pipeline_bubble)                                                                             \
    X(small_buckets)                                                                               \
    X(sync_every_micro_batch)                                                                      \
    X(straggler)                                                                                   \
    X(bucket_copies)                                                                               \
    X(cold_start)                                                                                  \
    X(unsynchronised_timer)                                                                        \
    X(one_sample)                                                                                  \
    X(profiler_overhead)                                                                           \
    X(warm_cache)

#define DECLARE(name) extern const struct scenario scenario_##name;
CORE(DECLARE)
OTHERS(DECLARE)

#define ROW(name) &scenario_##name,
const struct scenario *const scenarios[] = { CORE(ROW) OTHERS(ROW) NULL };

#define ONE(name) +1
const int scenarios_core = 0 CORE(ONE);
