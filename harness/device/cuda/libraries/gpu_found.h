/* Finds the GPU, and says why if there is none to use. */
#pragma once

#include "harness/base/status.h"

#include <driver_types.h>
#include <stdbool.h>

/* The findings about driver and GPUs. A later member is valid if the earlier ones are good. */
struct gpu_found {
    char driver_missing[128]; /* why libcuda.so.1 does not load; "" where it does */
    int driver_version;       /* 13000 for CUDA 13.0 */
    char driver_release[80];  /* "580.65.06"; "" if unknown */
    cudaError_t count_error;  /* of the calls that ask for driver and GPUs */
    int count;
    const char *visible;    /* CUDA_VISIBLE_DEVICES, or NULL */
    char name[96];          /* of the GPU asked for */
    int compute_capability; /* 90 for 9.0 */
    bool prohibited;        /* its compute mode refuses every process */
};

void gpu_look(struct gpu_found *found, int index);

/* OK, or the sentence that says what is missing and what to do: NO_LIBRARY for the driver,
 * NO_DEVICE for the GPU, UNSUPPORTED for one that is too old. */
enum status gpu_verdict(const struct gpu_found *found, int index);
