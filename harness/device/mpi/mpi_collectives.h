/* Collectives, made of messages between ranks.
 *
 * They are made here, and not left to MPI's own, for the order of additions: MPI only advises that
 * a reduction gives the same bits each time (MPI 4.0, 6.9.1, "advice to implementors"). A sum here
 * is always that of rank 0's element, rank 1's, and so on. Long data goes round by round: every
 * rank adds up its own part, and then all take each other's, which moves as many bytes as a ring.
 * Short data goes from each rank to each, and all add it up. */
#pragma once

#include "harness/device/ranks_driver.h"

#include <mpi.h>

#include <pthread.h>
#include <stddef.h>

/* --- Messages between ranks, over MPI --- */

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

/* --- Collectives --- */

/* Runs a collective among the ranks of a channel, whose lock the caller holds; returns when this
 * rank's part is done. DEVICE_ERROR: MPI failed, or a rank never came; BAD_USAGE: a message is too
 * long; OUT_OF_MEMORY. */
enum status collectives_run(struct channel *channel, const struct collective *collective);
