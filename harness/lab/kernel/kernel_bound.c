/* Each part of a multiprocessor has a rate (kernel_counts.h), and a kernel asks so
 * much of it: the time is the amount over the rate of all multiprocessors that have a block. The
 * parts work at the same time, so the kernel takes as long as the slowest, or longer.
 *
 * Only what ptxas cannot leave out counts: sums and products, accesses, exchanges and barriers, but
 * no moves, conversions, comparisons and arithmetic of addresses. The L1 cache moves 128 bytes a
 * clock, as shared memory does, which is the same memory, and takes 64 of the L2 cache. The L2
 * cache may have what it can hold already, and may keep it: only bytes beyond come from memory for
 * sure.
 */
#include "harness/lab/kernel/kernel_bound.h"

#include <math.h>

enum { WARP = 32, ISSUED_PER_CLOCK = 4, L1_SECTORS_PER_CLOCK = 4, L2_BYTES_PER_CLOCK = 64 };

const struct bound_row bound_rows[BOUND_PART_COUNT] = {
#define BOUND_ROW(id, name, unit) { name, unit },
    BOUND_PARTS(BOUND_ROW)
};

/* The parts that instructions of one kind need. */
static const struct {
    enum bound_part part;
    enum simt_work work;
} pipes[] = { { BOUND_FP32, SIMT_FP32 },
              { BOUND_FP16, SIMT_FP16 },
              { BOUND_FP64, SIMT_FP64 },
              { BOUND_SPECIAL, SIMT_SPECIAL },
              { BOUND_EXCHANGE, SIMT_EXCHANGE } };

/* In clocks of one multiprocessor, but for memory. */
static void add_clocks(struct kernel_bound *bound, const struct kernel_facts *facts)
{
    const struct simt_mix *mix = &facts->outcome->mix;
    const struct simt_counts *counts = &facts->outcome->counts;
    double *amount = bound->amount, *clocks = bound->ns;

    amount[BOUND_ISSUE] = (double)(mix->of[SIMT_TENSOR] + mix->of[SIMT_MEMORY] + counts->barriers);
    for (size_t i = 0; i < ARRAY_SIZE(pipes); i++) {
        double instructions = (double)mix->of[pipes[i].work];
        amount[pipes[i].part] = instructions;
        amount[BOUND_ISSUE] += instructions;
        clocks[pipes[i].part] = instructions * WARP / facts->architecture->lanes[pipes[i].work];
    }
    clocks[BOUND_ISSUE] = amount[BOUND_ISSUE] / ISSUED_PER_CLOCK;
    for (int type = 0; type < SIMT_MATRICES; type++) {
        amount[BOUND_TENSOR] += (double)mix->matrix_products[type];
        clocks[BOUND_TENSOR] +=
            (double)mix->matrix_products[type] / facts->architecture->matrix_products[type];
    }
    amount[BOUND_SHARED] = clocks[BOUND_SHARED] = (double)simt_accesses_sum(counts->shared).touched;
    amount[BOUND_L1] =
        (double)(counts->global[SIMT_LOADS].touched + simt_accesses_sum(counts->local).touched);
    clocks[BOUND_L1] = amount[BOUND_L1] / L1_SECTORS_PER_CLOCK;
}

/* Bytes of the arrays, each once: into multiprocessors or out of them, and to or from memory. */
static void add_bytes(struct kernel_bound *bound, const struct kernel_facts *facts, double bytes_hz)
{
    const struct architecture *gpu = facts->architecture;
    const struct kernel_outcome *outcome = facts->outcome;
    double read = 0, written = 0, all;

    for (int i = 0; i < outcome->array_count; i++) {
        read += (double)outcome->arrays[i].footprint.read;
        written += (double)outcome->arrays[i].footprint.written;
    }
    all = read + written;
    bound->amount[BOUND_L2] = read > written ? read : written;
    bound->ns[BOUND_L2] = bound->amount[BOUND_L2] / bytes_hz * 1e9;
    bound->amount[BOUND_MEMORY] = all > gpu->cache_bytes ? all - gpu->cache_bytes : 0;
    bound->ns[BOUND_MEMORY] = bound->amount[BOUND_MEMORY] / gpu->memory_bytes_per_s * 1e9;
    bound->cold_ns = all / gpu->memory_bytes_per_s * 1e9;
    bound->flops_per_byte = all > 0 ? (double)outcome->mix.flops / all : NAN;
}

struct kernel_bound kernel_bound_of(const struct kernel_facts *facts)
{
    const struct architecture *gpu = facts->architecture;
    double grid = (double)kernel_run_blocks(facts->run),
           busy_hz = (grid < gpu->multiprocessors ? grid : gpu->multiprocessors) * gpu->clock_hz;
    struct kernel_bound bound = { .by = BOUND_FP32 };

    add_clocks(&bound, facts);
    for (int part = 0; part < BOUND_PART_COUNT; part++) bound.ns[part] *= 1e9 / busy_hz;
    add_bytes(&bound, facts, L2_BYTES_PER_CLOCK * busy_hz);
    for (int part = 0; part < BOUND_PART_COUNT; part++)
        if (bound.ns[part] > bound.ns[bound.by])
            bound.by = (enum bound_part)part;
    if (bound.cold_ns < bound.ns[bound.by])
        bound.cold_ns = bound.ns[bound.by];
    return bound;
}
