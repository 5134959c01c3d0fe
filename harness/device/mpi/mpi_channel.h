/* Messages between ranks, over MPI. */
#pragma once

#include "harness/device/ranks_driver.h"

#include <mpi.h>

#include <pthread.h>
#include <stddef.h>

enum {
    ROUND_FLOATS =
        64 << 10 /* of a rank's part: 256 KiB, which fit a core's cache; narrow elements as many */
};

/* A communicator of its own, for one collective at a time: whoever uses it holds the lock. */
struct channel {
    struct ranks_place place; /* of this rank */
    MPI_Comm communicator;
    pthread_mutex_t lock;
    MPI_Request *requests; /* [2 * place.count] */
    int *peers;            /* [2 * place.count], of the requests */
    float *received;       /* [place.count * ROUND_FLOATS] */
    float *sum;            /* [ROUND_FLOATS] */
};

/* The bytes that a rank sends to another, and the room for those that it gets. */
struct message {
    const void *send;
    void *receive;
    size_t send_bytes, receive_bytes;
};

/* `message` says what this rank exchanges with `peer`; either way may be empty. */
typedef struct message message_fn(const void *context, int peer);

/* Exchanges messages with all other ranks and waits for them, in mpi.c. DEVICE_ERROR: MPI failed,
 * or a rank never came. */
enum status channel_exchange(struct channel *channel, message_fn *message, const void *context);
