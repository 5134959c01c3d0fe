/* The counts of launches. While a kernel runs, each straight run of instructions counts how often
 * it was executed, and each access what it touched; the sums are made when somebody asks. */
#include "harness/simt/simt_machine.h"

#include <string.h>

enum simt_access access_of(const struct instruction *row)
{
    return row->run == lanes_atomic ? SIMT_ATOMICS : row->stores ? SIMT_STORES : SIMT_LOADS;
}

static void add_accesses(struct simt_accesses *to, const struct simt_accesses *of)
{
#define ADD(name) to->name += of->name;
    SIMT_ACCESS_COUNTS(ADD)
#undef ADD
}

/* A row is counted as often as the step that it is part of: instructions that always run together
 * have one counter, so that counting is cheap. */
void count_row(struct simt_counts *counts, const struct simt_kernel *kernel,
               const struct instruction *row, const struct step_counts *step)
{
    int64_t at = row - kernel->code;

    if (!row->helper) {
        counts->instructions += step->times;
        counts->lanes += step->lanes;
        counts->alone += step->alone;
    }
    if (row->kind == BRANCH && row->predicate >= 0) {
        counts->branches += step->times;
        counts->diverged += step->diverged;
    }
    if (row->kind == BARRIER) {
        const struct barrier_counts *barrier = &kernel->barrier_counts[at];
        counts->barriers += step->times;
        counts->passed += barrier->passed;
        counts->needed += kernel->shares_global ? barrier->passed : barrier->needed;
    }
    if (row->slot >= 0) {
        const struct access_counts *access = &kernel->accesses[row->slot];
        enum simt_access kind = access_of(row);
        add_accesses(&counts->global[kind], &access->of[COUNTED_GLOBAL]);
        add_accesses(&counts->shared[kind], &access->of[COUNTED_SHARED]);
        add_accesses(&counts->local[kind], &access->of[COUNTED_LOCAL]);
        counts->waits += row->waits ? access->of[COUNTED_GLOBAL].requests : 0;
    }
}

enum status executed_rows(const struct simt_kernel *kernel, executed_visit *visit, void *to)
{
    for (int64_t i = 0; i < kernel->count; i++) {
        const struct step_counts *step = &kernel->steps[i];
        int64_t length = kernel->code[i].straight > 0 ? kernel->code[i].straight : 1;
        for (int64_t k = i; step->times > 0 && k < i + length; k++)
            TRY(visit(to, kernel, &kernel->code[k], step));
    }
    return STATUS_OK;
}

static enum status add_to_sum(void *sum, const struct simt_kernel *kernel,
                              const struct instruction *row, const struct step_counts *step)
{
    count_row(sum, kernel, row, step);
    return STATUS_OK;
}

static struct simt_counts sum_kernel(const struct simt_kernel *kernel)
{
    struct simt_counts counts = { .launches = kernel->launches, .warps = kernel->warps };

    executed_rows(kernel, add_to_sum, &counts);
    return counts;
}

struct simt_accesses simt_accesses_sum(const struct simt_accesses *of)
{
    struct simt_accesses all = { 0 };

    for (int access = 0; access < SIMT_ACCESSES; access++) add_accesses(&all, &of[access]);
    return all;
}

struct simt_counts simt_counts_of(struct simt *simt, const struct simt_kernel *kernel)
{
    struct simt_counts counts;

    pthread_mutex_lock(&simt->lock);
    counts = sum_kernel(kernel);
    pthread_mutex_unlock(&simt->lock);
    return counts;
}

void simt_counts_clear(struct simt *simt)
{
    pthread_mutex_lock(&simt->lock);
    for (struct module *module = simt->modules; module != NULL; module = module->next)
        for (struct simt_kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next) {
            kernel->launches = kernel->warps = 0;
            memset(kernel->steps, 0, (size_t)kernel->count * sizeof *kernel->steps);
            memset(kernel->accesses, 0, (size_t)kernel->slots * sizeof *kernel->accesses);
            kernel->shares_global = false;
            if (kernel->barrier_counts != NULL)
                memset(kernel->barrier_counts, 0,
                       (size_t)kernel->count * sizeof *kernel->barrier_counts);
        }
    pthread_mutex_unlock(&simt->lock);
}

static void print_row(FILE *to, const char *name, const struct simt_counts *counts)
{
    struct simt_accesses global = simt_accesses_sum(counts->global);

    fprintf(to, "%-34s %8llu %9llu %12llu %6.2f %9llu %7.2f %7.2f\n", name,
            (unsigned long long)counts->launches, (unsigned long long)counts->warps,
            (unsigned long long)counts->instructions,
            simt_ratio(counts->lanes, counts->instructions), (unsigned long long)global.requests,
            simt_ratio(global.wanted, global.requests),
            simt_ratio(global.touched, global.requests));
}

void simt_counts_print(struct simt *simt, FILE *to)
{
    struct simt_counts all = { 0 };

    fprintf(to, "%-34s %8s %9s %12s %6s %9s %7s %7s\n", "kernel", "launches", "warps",
            "instructions", "lanes", "requests", "wanted", "touched");
    pthread_mutex_lock(&simt->lock);
    for (struct module *module = simt->modules; module != NULL; module = module->next)
        for (struct simt_kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next) {
            struct simt_counts counts = sum_kernel(kernel);
            if (counts.launches == 0)
                continue;
            print_row(to, kernel->name, &counts);
            all.launches += counts.launches;
            all.warps += counts.warps;
            all.instructions += counts.instructions;
            all.lanes += counts.lanes;
            for (int access = 0; access < SIMT_ACCESSES; access++)
                add_accesses(&all.global[access], &counts.global[access]);
        }
    pthread_mutex_unlock(&simt->lock);
    print_row(to, "all", &all);
}
