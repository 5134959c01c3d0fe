/* Collectives, made of messages between ranks.
 *
 * They are made here, and not left to MPI's own, for the order of additions: MPI only advises that
 * a reduction gives the same bits each time (MPI 4.0, 6.9.1, "advice to implementors"). A sum here
 * is always that of rank 0's element, rank 1's, and so on. Long data goes round by round: every
 * rank adds up its own part, and then all take each other's, which moves as many bytes as a ring.
 * Short data goes from each rank to each, and all add it up. */
#pragma once

#include "harness/device/mpi/mpi_channel.h"

/* Runs a collective among the ranks of a channel, whose lock the caller holds; returns when this
 * rank's part is done. DEVICE_ERROR: MPI failed, or a rank never came; BAD_USAGE: a message is too
 * long; OUT_OF_MEMORY. */
enum status collectives_run(struct channel *channel, const struct collective *collective);
