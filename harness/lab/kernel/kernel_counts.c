/* Counts come from the machine that executed the kernel; which warps fit on a multiprocessor, and
 * in how many waves a grid runs, follow from the kernel's needs and the architecture. */
#include "harness/lab/kernel/kernel_counts.h"

#include <math.h>

/* Each limit of a multiprocessor allows some number of blocks, and the least of these fits. */
enum {
    WARP = 32,
    REGISTER_UNIT = 256,    /* a warp's registers come in these */
    SHARED_UNIT = 128,      /* and a block's shared memory in these */
    SHARED_RESERVED = 1024, /* the system's own, of each block */
    MOST_REGISTERS = 255    /* ptxas spills beyond */
};

/* The limits of a multiprocessor; a block may ask for all of its shared memory but one KiB. */
#define LIMITS(shared_kib) 64, 32, 65536, (shared_kib)*1024, (shared_kib - 1) * 1024

/* Lanes of a multiprocessor and clock, which are alike but for sums and products. A half
 * instruction of two elements is one lane's. */
#define LANES(fp32, fp64)                                                                          \
    {                                                                                              \
        [SIMT_FP32] = fp32, [SIMT_FP16] = 128, [SIMT_FP64] = fp64, [SIMT_SPECIAL] = 16,            \
        [SIMT_EXCHANGE] = 32                                                                       \
    }

/* The clocks are the boost of the A100's data sheet and the most that an H100's and a B200's driver
 * allow (nvidia-smi -q -d CLOCK; a B200's is unverified). */
const struct architecture architectures[ARCH_COUNT] = {
    [ARCH_80] = { 80, "A100", 108, LIMITS(164), 1.41e9, 2.039e12, 40 << 20, LANES(64, 32),
                  .matrix_products = { 1024, 512, 2048, 64 } },
    [ARCH_90] = { 90, "H100", 132, LIMITS(228), 1.98e9, 3.35e12, 50 << 20, LANES(128, 64),
                  .matrix_products = { 2048, 1024, 4096, 128 } },
    [ARCH_100] = { 100, "B200", 148, LIMITS(228), 1.965e9, 8e12, 126 << 20, LANES(128, 64),
                   .matrix_products = { 4096, 2048, 8192, 64 } },
};

int architecture_find(int number)
{
    int arch = ARCH_COUNT - 1;

    while (arch >= 0 && architectures[arch].number != number) arch--;
    return arch;
}

const char *residency_limit_text(enum residency_limit limit)
{
    static const char *const texts[] = {
#define RESIDENCY_LIMIT_TEXT(name, text) text,
        RESIDENCY_LIMITS(RESIDENCY_LIMIT_TEXT)
#undef RESIDENCY_LIMIT_TEXT
    };

    return texts[limit];
}

static int up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Registers are given to warps, in each of the four parts of a multiprocessor; a block has all its
 * warps or none. */
static int blocks_by_registers(const struct architecture *of, int warps, int registers)
{
    int each = up(registers * WARP, REGISTER_UNIT), parts = 4;

    return of->registers / parts / each * parts / warps;
}

enum status residency_of(struct residency *residency, const struct architecture *architecture,
                         uint64_t grid_blocks, int threads, int registers, int shared_bytes)
{
    int warps = up(threads, WARP) / WARP;
    int shared = up(shared_bytes + SHARED_RESERVED, SHARED_UNIT), allowed[RESIDENCY_LIMIT_COUNT];

    if (shared_bytes > architecture->block_shared_bytes)
        FAIL(STATUS_BAD_USAGE, "a block wants %d bytes of shared memory; sm_%d has %d for it",
             shared_bytes, architecture->number, architecture->block_shared_bytes);
    if (registers > MOST_REGISTERS)
        registers = MOST_REGISTERS;
    allowed[RESIDENCY_WARPS] = architecture->warps / warps;
    allowed[RESIDENCY_BLOCKS] = architecture->blocks;
    allowed[RESIDENCY_REGISTERS] =
        blocks_by_registers(architecture, warps, registers > 0 ? registers : 1);
    allowed[RESIDENCY_SHARED] = architecture->shared_bytes / shared;
    *residency = (struct residency){ .most_warps = architecture->warps };
    for (int limit = 1; limit < RESIDENCY_LIMIT_COUNT; limit++)
        if (allowed[limit] < allowed[residency->limit])
            residency->limit = (enum residency_limit)limit;
    residency->blocks = allowed[residency->limit];
    residency->warps = residency->blocks * warps;
    if (residency->blocks == 0)
        FAIL(STATUS_BAD_USAGE, "no block of %d threads with %d registers each fits on sm_%d",
             threads, registers, architecture->number);
    residency->wave = (int64_t)residency->blocks * architecture->multiprocessors;
    residency->waves = ((int64_t)grid_blocks + residency->wave - 1) / residency->wave;
    residency->last = (int64_t)grid_blocks - (residency->waves - 1) * residency->wave;
    return STATUS_OK;
}

/* The share of all places in all waves that a block has. */
double residency_filled(const struct residency *residency)
{
    double blocks = (double)((residency->waves - 1) * residency->wave + residency->last);

    return blocks / (double)(residency->waves * residency->wave);
}

struct kernel_facts kernel_facts_of(const struct kernel_run *run,
                                    const struct kernel_outcome *outcome, int arch,
                                    struct kernel_needs needs)
{
    struct kernel_facts facts = { .run = run,
                                  .outcome = outcome,
                                  .architecture = &architectures[arch],
                                  .needs = needs,
                                  .is_from_ptxas = needs.registers > 0 };

    if (!facts.is_from_ptxas)
        facts.needs.registers = outcome->shape.registers;
    if (residency_of(&facts.residency, facts.architecture, kernel_run_blocks(run),
                     (int)(run->threads[0] * run->threads[1] * run->threads[2]),
                     facts.needs.registers,
                     outcome->shape.shared_bytes + (int)run->shared_bytes) != STATUS_OK)
        facts.residency.warps = 0;
    return facts;
}

const struct kernel_count_row kernel_counts[] = {
#define COUNT_ROW(id, name, unit, meaning, metric, value)                                          \
    [KERNEL_COUNT_##id] = { name, unit, meaning, metric },
    KERNEL_COUNTS(COUNT_ROW)
};

/* NaN if there was nothing to count, which is null in JSON. */
static double ratio(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : NAN;
}

void kernel_counts_read(double values[KERNEL_COUNT_COUNT], const struct kernel_facts *facts)
{
    const struct kernel_outcome *outcome = facts->outcome;
    const struct simt_counts *counts = &outcome->counts;
    const struct simt_accesses *loads = &counts->global[SIMT_LOADS],
                               *stores = &counts->global[SIMT_STORES];
    const struct simt_accesses shared = simt_accesses_sum(counts->shared);
    const struct residency *residency = &facts->residency;
    double waves = (double)kernel_run_blocks(facts->run) / (double)residency->wave;
    uint64_t atomics_on_a_word = 0;

    for (int i = 0; i < outcome->array_count; i++)
        if (outcome->arrays[i].footprint.atomic_most > atomics_on_a_word)
            atomics_on_a_word = outcome->arrays[i].footprint.atomic_most;
    values[KERNEL_COUNT_NONE] = NAN;
#define READ_COUNT(id, name, unit, meaning, metric, value)                                         \
    values[KERNEL_COUNT_##id] = (double)(value);
    KERNEL_COUNTS(READ_COUNT)
}
