/* Counts come from the machine that executed the kernel; which warps fit on a multiprocessor, and
 * in how many waves a grid runs, follow from the kernel's needs and the architecture. */
#include "harness/lab/kernel/kernel_counts.h"

#include <math.h>

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
