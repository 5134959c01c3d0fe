/* All scenarios. A new one is a file, a line in CMakeLists.txt and a line here. */
#include "scenarios/scenario.h"

/* names, in the order of `list`: core scenarios first */
#define CORE(X)                                                                                    \
    X(loader_workers)                                                                              \
    X(small_batch)                                                                                 \
    X(precision)                                                                                   \
    X(checkpointing)                                                                               \
    X(launch_overhead)                                                                             \
    X(item_sync)
#define OTHERS(X)                                                                                  \
    X(graph_recapture)                                                                             \
    X(padding)                                                                                     \
    X(loader_prefetch)                                                                             \
    X(too_many_workers)                                                                            \
    X(slow_collate)                                                                                \
    X(worker_respawn)                                                                              \
    X(unfused_optimizer)                                                                           \
    X(naive_attention)                                                                             \
    X(pageable_copies)                                                                             \
    X(blocking_copies)                                                                             \
    X(many_small_copies)                                                                           \
    X(unfused_elementwise)                                                                         \
    X(optimizer_every_step)                                                                        \
    X(strict_fp32)                                                                                 \
    X(host_clipping)                                                                               \
    X(host_round_trip)                                                                             \
    X(allocation_churn)                                                                            \
    X(fragmentation)                                                                               \
    X(leak)                                                                                        \
    X(cache_flush)                                                                                 \
    X(blocking_logger)                                                                             \
    X(blocking_save)

#define DECLARE(name) extern const struct scenario scenario_##name;
CORE(DECLARE)
OTHERS(DECLARE)

#define ROW(name) &scenario_##name,
const struct scenario *const scenarios[] = { CORE(ROW) OTHERS(ROW) NULL };

#define ONE(name) +1
const int scenarios_core = 0 CORE(ONE);
