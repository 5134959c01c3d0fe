/* The model: a transformer encoder with pre-norm blocks, as an array of ops.
 *
 * What is 0 by role is filled in by knobs_resolve(), from the table in roles.c. */
#ifndef SCENARIOS_TRAINING_MODEL_H
#define SCENARIOS_TRAINING_MODEL_H

#include "harness/device/device.h"

#include <stdbool.h>
#include <stdint.h>

enum model_role { ROLE_LIGHT, ROLE_BALANCED, ROLE_HEAVY };
enum precision { PRECISION_AUTO, PRECISION_FP32, PRECISION_TF32, PRECISION_BF16 };
enum elementwise { ELEMENTWISE_FUSED, ELEMENTWISE_UNFUSED };
enum attention { ATTENTION_NAIVE, ATTENTION_FUSED };

struct model_config {
    enum model_role role;
    int batch;      /* samples an update; 0: by role */
    int tokens;     /* a sample, the class token included; 0: by role */
    int width;      /* 0: by role; a multiple of ROW_MULTIPLE */
    int blocks;     /* 0: by role */
    int patch;      /* images: pixels a side, a multiple of 8; 0: by role. Sequences: 0 */
    int head_width; /* elements of one attention head; 0: by role */
    int classes;    /* set from the data */
    enum precision precision;
    enum elementwise elementwise;
    enum attention attention;
    bool checkpointing; /* keep only each block's input, recompute the rest in backward */
};

#endif
