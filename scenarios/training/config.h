/* Every setting of the training step: one sub-struct a module, and a module sees only its own.
 *
 * Settings are read and printed as text by the one table in knobs.h. */
#ifndef SCENARIOS_TRAINING_CONFIG_H
#define SCENARIOS_TRAINING_CONFIG_H

#include "scenarios/training/dataset.h"
#include "scenarios/training/loader.h"
#include "scenarios/training/logging.h"
#include "scenarios/training/memory.h"
#include "scenarios/training/model.h"
#include "scenarios/training/optimizer.h"
#include "scenarios/training/transfer.h"

enum launch_mode { LAUNCH_EAGER, LAUNCH_GRAPH, LAUNCH_AUTO /* until knobs_resolve: by role */ };

struct launch_config {
    enum launch_mode mode;
    int accumulate; /* micro-batches an update */
};

struct training_config {
    struct model_config model;
    struct dataset_config data;
    struct loader_config loader;
    struct transfer_config transfer;
    struct optimizer_config optimizer;
    struct memory_config memory;
    struct launch_config launch;
    struct logging_config logging;
    uint64_t seed;
};

#endif
