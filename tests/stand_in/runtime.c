/* The runtime's own part of the stand-in: the lock, errors, and what it says of the GPU. */
#include "tests/stand_in/runtime.h"

#include "harness/device/cuda/gpu_found.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static cudaError_t lost; /* the error of a kernel, for good; under the lock */
static _Thread_local cudaError_t last;

void stand_in_lock(void)
{
    pthread_mutex_lock(&lock);
}

void stand_in_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void stand_in_wait(void)
{
    pthread_cond_wait(&changed, &lock);
}

void stand_in_wake(void)
{
    pthread_cond_broadcast(&changed);
}

cudaError_t stand_in_lost(void)
{
    return lost;
}

void stand_in_lose(cudaError_t error)
{
    if (lost == cudaSuccess)
        lost = error;
}

cudaError_t stand_in_result(cudaError_t error)
{
    if (error != cudaSuccess)
        last = error;
    return error;
}

cudaError_t stand_in_leave(cudaError_t error)
{
    if (lost != cudaSuccess)
        error = lost;
    pthread_mutex_unlock(&lock);
    return stand_in_result(error);
}

void *stand_in_must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* --- The GPU --- */

void gpu_look(struct gpu_found *found, int index)
{
    *found = (struct gpu_found){ .driver_version = 13000,
                                 .count = index + 1,
                                 .name = "stand-in for a GPU",
                                 .compute_capability = 80 };
}

enum status gpu_verdict(const struct gpu_found *found, int index)
{
    (void)found;
    (void)index;
    return lost == cudaSuccess ? STATUS_OK
                               : status_fail(STATUS_DEVICE_ERROR, __FILE__, __LINE__, "lost");
}

cudaError_t cudaSetDevice(int device)
{
    return stand_in_result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = STAND_IN_MEMORY;
    properties->multiProcessorCount = 1;
    properties->warpSize = 32;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMemoryPoolsSupported;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last;

    last = cudaSuccess;
    return error;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure" : "cudaErrorOfTheStandIn";
}

const char *cudaGetErrorString(cudaError_t error)
{
    static _Thread_local char text[32];

    snprintf(text, sizeof text, "error %d", (int)error);
    return text;
}
