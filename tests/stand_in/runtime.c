/* The runtime's own part of the stand-in: the lock, errors, and what it says of the GPU. */
#include "tests/stand_in/runtime.h"

#include "harness/device/cuda/libraries/gpu_found.h"

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

/* --- The GPUs --- */

static _Thread_local int current;

int stand_in_device(void)
{
    return current;
}

int stand_in_devices(void)
{
    const char *devices = getenv("STAND_IN_DEVICES");

    return devices != NULL ? atoi(devices) : 1;
}

void gpu_look(struct gpu_found *found, int index)
{
    (void)index;
    *found = (struct gpu_found){ .driver_version = 13000,
                                 .count = stand_in_devices(),
                                 .name = "stand-in for a GPU",
                                 .compute_capability = 80 };
}

enum status gpu_verdict(const struct gpu_found *found, int index)
{
    if (index >= found->count)
        return status_fail(STATUS_NO_DEVICE, __FILE__, __LINE__, "there is no GPU %d", index);
    return lost == cudaSuccess ? STATUS_OK
                               : status_fail(STATUS_DEVICE_ERROR, __FILE__, __LINE__, "lost");
}

cudaError_t cudaSetDevice(int device)
{
    if (device < 0 || device >= stand_in_devices())
        return stand_in_result(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = STAND_IN_MEMORY;
    properties->multiProcessorCount =
        getenv("STAND_IN_MULTIPROCESSORS") != NULL ? atoi(getenv("STAND_IN_MULTIPROCESSORS")) : 1;
    properties->warpSize = 32;
    properties->pciBusID = device;
    return cudaSuccess;
}

/* STAND_IN_PEERS=0: no GPU reaches another's memory. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    const char *peers = getenv("STAND_IN_PEERS");

    if (device < 0 || device >= stand_in_devices() || peer < 0 || peer >= stand_in_devices())
        return stand_in_result(cudaErrorInvalidDevice);
    *can = device != peer && (peers == NULL || atoi(peers) != 0);
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static bool enabled[16][16];
    cudaError_t error = cudaErrorPeerAccessAlreadyEnabled;
    int can = 0;

    if (flags != 0 || current >= 16 || peer >= 16 ||
        cudaDeviceCanAccessPeer(&can, current, peer) != cudaSuccess || !can)
        return stand_in_result(cudaErrorPeerAccessUnsupported);
    stand_in_lock();
    if (!enabled[current][peer])
        error = cudaSuccess;
    enabled[current][peer] = true;
    return stand_in_leave(error);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    (void)device;
    *value = attribute == cudaDevAttrMemoryPoolsSupported ||
             (attribute == cudaDevAttrIntegrated && getenv("STAND_IN_INTEGRATED") != NULL);
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
