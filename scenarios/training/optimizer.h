/* AdamW over all parameters, in three forms, with clipping by the gradient's norm. */
#ifndef SCENARIOS_TRAINING_OPTIMIZER_H
#define SCENARIOS_TRAINING_OPTIMIZER_H

#include "scenarios/training/memory.h"

enum optimizer_form {
    OPTIMIZER_MULTI_TENSOR, /* one kernel for all tensors */
    OPTIMIZER_PER_TENSOR,   /* one kernel a tensor */
    OPTIMIZER_UNFUSED,      /* six kernels a tensor */
};

struct optimizer_config {
    enum optimizer_form form;
    double rate;     /* learning rate after warm-up */
    double decay;    /* of weights; biases, norms and positions have none */
    double max_norm; /* clipping; 0: none */
    int warmup;      /* updates over which the rate rises linearly */
};

#endif
