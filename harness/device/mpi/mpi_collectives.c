/* Collectives over the messages of MPI. A channel has room for ROUND_FLOATS floats from each rank,
 * so each collective is a series of rounds. A round cuts its elements into one part per rank; in it
 * every rank exchanges one message with each other rank. Sums of 16-bit types are made in fp32 and
 * rounded once. */
#include "harness/device/mpi/mpi_collectives.h"

#include "harness/device/cpu/arithmetic/convert.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT_FLOATS = 1024, /* up to here one round costs less than two */
    BLOCK = 1024,        /* elements that are widened at once */
};

/* Some of the elements. */
struct part {
    int64_t first, count;
};

/* Rank `rank`'s of `ranks` parts of `count` elements: in order, and equal where they can be. */
static struct part part_of(int64_t count, int rank, int ranks)
{
    int64_t first = count * rank / ranks;

    return (struct part){ first, count * (rank + 1) / ranks - first };
}

/* At most `most` elements of the part, from its element `at` on. */
static struct part part_slice(struct part part, int64_t at, int64_t most)
{
    int64_t skipped = at < part.count ? at : part.count, left = part.count - skipped;

    return (struct part){ part.first + skipped, left < most ? left : most };
}

/* One round: `data` and the part of each rank in it, or the whole of it to and from everybody. */
struct round {
    struct channel *channel;
    char *data;
    const struct part *parts; /* [count], by rank */
    enum dtype dtype;
};

static size_t bytes_of(const struct round *round, int64_t count)
{
    return (size_t)count * dtype_bytes(round->dtype);
}

static void *received_from(const struct channel *channel, int rank)
{
    return channel->received + (size_t)rank * ROUND_FLOATS;
}

/* In the order of ranks, on every rank: floating-point sums depend on the order, and all must
 * agree. */
static void add_floats(const struct channel *channel, float *own, int64_t count)
{
    float *sum = channel->sum;

    for (int rank = 0; rank < channel->place.count; rank++) {
        const float *from = rank == channel->place.rank ? own : received_from(channel, rank);
        if (rank == 0)
            memcpy(sum, from, (size_t)count * sizeof *sum);
        else
            for (int64_t i = 0; i < count; i++) sum[i] += from[i];
    }
    memcpy(own, sum, (size_t)count * sizeof *sum);
}

/* In fp32, and rounded once. */
static void add_halves(const struct channel *channel, uint16_t *own, int64_t count,
                       enum dtype dtype)
{
    float sum[BLOCK], term[BLOCK];

    for (int64_t at = 0; at < count; at += BLOCK) {
        long block = (long)(count - at < BLOCK ? count - at : BLOCK);
        for (int rank = 0; rank < channel->place.count; rank++) {
            const uint16_t *from = rank == channel->place.rank ? own : received_from(channel, rank);
            convert_widen(rank == 0 ? sum : term, from + at, dtype, 1, block, block);
            for (long i = 0; rank > 0 && i < block; i++) sum[i] += term[i];
        }
        convert_narrow(own + at, sum, dtype, 1, block, block);
    }
}

/* own = the sum over ranks of what was received from them, and own in its place. */
static void add_up(const struct round *round, struct part own)
{
    void *data = round->data + bytes_of(round, own.first);

    if (round->dtype == DTYPE_F32)
        add_floats(round->channel, data, own.count);
    else
        add_halves(round->channel, data, own.count, round->dtype);
}

static struct message scatter_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[round->channel->place.rank],
                      *theirs = &round->parts[peer];

    return (struct message){
        .send = round->data + bytes_of(round, theirs->first),
        .send_bytes = bytes_of(round, theirs->count),
        .receive = received_from(round->channel, peer),
        .receive_bytes = bytes_of(round, own->count),
    };
}

static struct message gather_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[round->channel->place.rank],
                      *theirs = &round->parts[peer];

    return (struct message){
        .send = round->data + bytes_of(round, own->first),
        .send_bytes = bytes_of(round, own->count),
        .receive = round->data + bytes_of(round, theirs->first),
        .receive_bytes = bytes_of(round, theirs->count),
    };
}

static struct message whole_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[round->channel->place.rank];

    return (struct message){
        .send = round->data + bytes_of(round, own->first),
        .send_bytes = bytes_of(round, own->count),
        .receive = received_from(round->channel, peer),
        .receive_bytes = bytes_of(round, own->count),
    };
}

static struct message broadcast_message(const void *context, int peer)
{
    const struct round *round = context;
    const struct part *own = &round->parts[round->channel->place.rank];
    size_t bytes = bytes_of(round, own->count);
    char *data = round->data + bytes_of(round, own->first);

    return (struct message){
        .send = data,
        .send_bytes = round->channel->place.rank == 0 ? bytes : 0,
        .receive = data,
        .receive_bytes = peer == 0 ? bytes : 0,
    };
}

/* Every rank's part, at most ROUND_FLOATS of it at a time. */
static enum status run_parts(struct channel *channel, const struct collective *collective)
{
    enum status status = STATUS_OK;
    struct part *parts = malloc((size_t)channel->place.count * sizeof *parts);
    struct round round = { channel, collective->data, parts, collective->dtype };
    int64_t longest = (collective->count + channel->place.count - 1) / channel->place.count;

    if (parts == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the parts of %d ranks", channel->place.count);
    for (int64_t at = 0; at < longest; at += ROUND_FLOATS) {
        for (int rank = 0; rank < channel->place.count; rank++)
            parts[rank] = part_slice(part_of(collective->count, rank, channel->place.count), at,
                                     ROUND_FLOATS);
        if (collective->kind != COLLECTIVE_ALL_GATHER) {
            TRY_OUT(channel_exchange(channel, scatter_message, &round));
            add_up(&round, parts[channel->place.rank]);
        }
        if (collective->kind != COLLECTIVE_REDUCE_SCATTER)
            TRY_OUT(channel_exchange(channel, gather_message, &round));
    }

out:
    free(parts);
    return status;
}

/* The whole of the data, from each rank to each, or from the first to all. */
static enum status run_whole(struct channel *channel, const struct collective *collective)
{
    enum status status = STATUS_OK;
    bool adds = collective->kind != COLLECTIVE_BROADCAST;

    struct part *parts = calloc((size_t)channel->place.count, sizeof *parts), *own = NULL;
    struct round round = { channel, collective->data, parts, collective->dtype };

    if (parts == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the parts of %d ranks", channel->place.count);
    own = &parts[channel->place.rank];
    for (int64_t at = 0; at < collective->count; at += ROUND_FLOATS) {
        *own = part_slice((struct part){ 0, collective->count }, at, ROUND_FLOATS);
        TRY_OUT(channel_exchange(channel, adds ? whole_message : broadcast_message, &round));
        if (adds)
            add_up(&round, *own);
    }

out:
    free(parts);
    return status;
}

/* The message to and from one other rank, whole: if it were sent in parts, each part would wait for
 * its counterpart. */
static struct message peer_message(const void *context, int peer)
{
    const struct collective *collective = context;
    size_t bytes = (size_t)collective->count * dtype_bytes(collective->dtype);
    bool sends = collective->kind != COLLECTIVE_RECV, takes = collective->kind != COLLECTIVE_SEND;

    if (peer != collective->peer)
        return (struct message){ 0 };
    return (struct message){
        .send = collective->data,
        .send_bytes = sends ? bytes : 0,
        .receive = sends ? collective->received : collective->data,
        .receive_bytes = takes ? bytes : 0,
    };
}

static enum status check_length(int64_t count, enum dtype dtype)
{
    if (count > INT_MAX / (int64_t)dtype_bytes(dtype))
        FAIL(STATUS_BAD_USAGE, "a message of %lld elements has more than the 2 GiB that one may",
             (long long)count);

    return STATUS_OK;
}

static enum status run_message(struct channel *channel, const struct collective *collective)
{
    TRY(check_length(collective->count, collective->dtype));
    return channel_exchange(channel, peer_message, collective);
}

/* Piece `index` of each rank. */
struct pieces {
    const struct collective *collective;
    int index;
};

static struct message piece_message(const void *context, int peer)
{
    const struct pieces *pieces = context;
    const struct collective *collective = pieces->collective;
    const struct collective_piece *piece =
        &collective->pieces[peer * collective->rank_pieces + pieces->index];
    size_t element = dtype_bytes(collective->dtype);

    return (struct message){
        .send = (const char *)collective->data + (size_t)piece->sent_first * element,
        .send_bytes = (size_t)piece->sent * element,
        .receive = (char *)collective->received + (size_t)piece->received_first * element,
        .receive_bytes = (size_t)piece->received * element,
    };
}

static enum status run_all_to_all(struct channel *channel, const struct collective *collective)
{
    for (int i = 0; i < channel->place.count * collective->rank_pieces; i++) {
        TRY(check_length(collective->pieces[i].sent, collective->dtype));
        TRY(check_length(collective->pieces[i].received, collective->dtype));
    }
    for (int i = 0; i < collective->rank_pieces; i++) {
        const struct pieces pieces = { collective, i };
        struct message own = piece_message(&pieces, channel->place.rank);
        memcpy(own.receive, own.send, own.send_bytes);
        TRY(channel_exchange(channel, piece_message, &pieces));
    }

    return STATUS_OK;
}

static enum status run_for_all(struct channel *channel, const struct collective *collective)
{
    bool whole = collective->kind == COLLECTIVE_BROADCAST ||
                 (collective->kind == COLLECTIVE_ALL_REDUCE && collective->count <= SHORT_FLOATS);

    return whole ? run_whole(channel, collective) : run_parts(channel, collective);
}

enum status collectives_run(struct channel *channel, const struct collective *collective)
{
    return collective_has_peer(collective)             ? run_message(channel, collective)
           : collective->kind == COLLECTIVE_ALL_TO_ALL ? run_all_to_all(channel, collective)
                                                       : run_for_all(channel, collective);
}
