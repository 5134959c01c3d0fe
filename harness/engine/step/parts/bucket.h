/* Buckets: parameters whose gradients travel between ranks as one, and the parameters themselves
 * where each rank keeps a part of them only. */
#ifndef HARNESS_ENGINE_STEP_PARTS_BUCKET_H
#define HARNESS_ENGINE_STEP_PARTS_BUCKET_H

#include "harness/engine/model/encoder.h"

/* A parameter with its gradient, and the entry of the program after which that is finished. */
struct bucket_member {
    struct parameter *parameter;
    struct tensor *gradient;
    int number; /* of the encoder's parameters */
    int unit;   /* parameter_unit() */
    int ready_at;
    int64_t offset; /* in the bucket, elements */
};

struct bucket {
    char *data;
    float *parameters;   /* NULL: they are where they were, or sharded */
    int64_t elements;    /* with padding */
    int first, count;    /* members */
    int ready_at;        /* the last of its members' */
    struct event *ready; /* recorded when they are */
};

#endif
