/* Collectives of N bytes, in place: how long they take where all ranks enter them together.
 *
 * `bytes_per_second` is the algorithm bandwidth of NVIDIA's nccl-tests, N over the time.
 * `bus_bytes_per_second` is their bus bandwidth, which compares with the speed of a link whatever
 * the number of ranks: what a rank has to send, and to receive, over the time (nccl-tests,
 * doc/PERFORMANCE.md). N is the whole, of which a rank's part is one in as many as there are ranks.
 *
 * An all-reduce adds to what the one before it left, so after a hundred of them the sums are
 * infinite: that takes no other time. */
#include "harness/bench/bench.h"
#include "harness/device/many_ranks.h"

#include <math.h>

static const char *lack(const struct bench *bench, const struct device_properties *device)
{
    (void)bench;
    (void)device;
    return ranks_count() > 1 ? NULL : "it takes several ranks: --ranks=2";
}

/* Bytes that each rank sends, and receives, per byte of the whole. */
static double bus_factor(enum collective_kind kind, int ranks)
{
    double others = (double)(ranks - 1) / ranks;

    return kind == COLLECTIVE_ALL_REDUCE ? 2 * others : others;
}

static enum status collective_run(struct bench_work *work, int64_t iterations)
{
    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(device_collective(work->stream, work->own));
    return stream_synchronize(work->stream);
}

/* Whole numbers, whose sum is the same in any order. */
static float value(int rank, int64_t i)
{
    return (float)((i * 7 + rank * 13) % 97);
}

/* The value of element `i` when all are done; NaN: anything. */
static float expected(const struct collective *collective, int64_t i)
{
    int owner = (int)(i * ranks_count() / collective->count);
    float sum = 0;

    if (collective->kind == COLLECTIVE_ALL_GATHER)
        return value(owner, i);
    if (collective->kind == COLLECTIVE_REDUCE_SCATTER && owner != ranks_rank())
        return NAN;
    for (int rank = 0; rank < ranks_count(); rank++) sum += value(rank, i);
    return sum;
}

static enum status collective_check(struct bench_work *work, float *host)
{
    const struct collective *collective = work->own;
    size_t bytes = (size_t)collective->count * sizeof *host;

    for (int64_t i = 0; i < collective->count; i++) host[i] = value(ranks_rank(), i);
    TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, collective->data, host, bytes));
    TRY(collective_run(work, 1));
    TRY(device_copy(work->stream, COPY_DEVICE_TO_HOST, host, collective->data, bytes));
    for (int64_t i = 0; i < collective->count; i++) {
        float wanted = expected(collective, i);
        if (!(host[i] == wanted) && !isnan(wanted))
            FAIL(STATUS_INTERNAL, "rank %d: element %lld of %lld is %g, not %g", ranks_rank(),
                 (long long)i, (long long)collective->count, (double)host[i], (double)wanted);
    }

    return STATUS_OK;
}

static enum status collective_set_up(struct bench_work *work)
{
    struct collective *collective = work->own;
    int64_t ranks = ranks_count();
    void *device, *host;

    collective->kind = (enum collective_kind)work->bench->variant;
    collective->count = work->argument / (int64_t)sizeof(float) / ranks * ranks;
    work->bytes = collective->count * (int64_t)sizeof(float);
    work->bus_factor = bus_factor(collective->kind, ranks_count());
    TRY(bench_alloc(work, BENCH_DEVICE, (size_t)work->bytes, &device));
    TRY(bench_alloc(work, BENCH_PAGEABLE, (size_t)work->bytes, &host));
    collective->data = device;
    return collective_check(work, host);
}

#define COLL(name_, kind, text_)                                                                   \
    const struct bench bench_coll_##name_ = {                                                      \
        .name = "coll_" #name_,                                                                    \
        .text = text_,                                                                             \
        .variant = COLLECTIVE_##kind,                                                              \
        .communicates = true,                                                                      \
        .roof = ROOF_MEMORY,                                                                       \
        .arguments = { 4 << 10, 64 << 10, 1 << 20, 16 << 20 },                                     \
        .arguments_large = { 4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20 },                    \
        .own_bytes = sizeof(struct collective),                                                    \
        .lack = lack,                                                                              \
        .set_up = collective_set_up,                                                               \
        .run = collective_run,                                                                     \
    }

COLL(allreduce, ALL_REDUCE, "N bytes of each rank added up, on all ranks");
COLL(allgather, ALL_GATHER, "the parts of all ranks, N bytes together, on all ranks");
COLL(reducescatter, REDUCE_SCATTER, "N bytes of each rank added up, a part of the sum on each");
