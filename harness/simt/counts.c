/* The counts of launches. */
#include "harness/simt/simt_machine.h"

#include <string.h>

static struct simt_counts sum(const struct simt_kernel *kernel)
{
    struct simt_counts counts = { .launches = kernel->launches, .warps = kernel->warps };

    for (int64_t i = 0; i < kernel->count; i++) {
        const struct instruction *row = &kernel->code[i];
        const struct step_counts *step = &kernel->steps[i];
        uint64_t length = row->straight > 0 ? (uint64_t)row->counted : !row->helper;
        counts.instructions += step->times * length;
        counts.lanes += step->lanes * length;
        if (row->kind == BRANCH && row->predicate >= 0) {
            counts.branches += step->times;
            counts.diverged += step->diverged;
        }
        if (row->slot < 0)
            continue;
        if (row->space == SPACE_SHARED) {
            counts.shared_requests += kernel->accesses[row->slot].requests;
            counts.shared_passes += kernel->accesses[row->slot].sectors;
            counts.shared_wanted += kernel->accesses[row->slot].wanted;
        } else {
            counts.requests += kernel->accesses[row->slot].requests;
            counts.sectors += kernel->accesses[row->slot].sectors;
            counts.wanted += kernel->accesses[row->slot].wanted;
        }
    }
    return counts;
}

struct simt_counts simt_counts_of(struct simt *simt, const struct simt_kernel *kernel)
{
    struct simt_counts counts;

    pthread_mutex_lock(&simt->lock);
    counts = sum(kernel);
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
        }
    pthread_mutex_unlock(&simt->lock);
}

static double ratio(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

static void print_row(FILE *to, const char *name, const struct simt_counts *counts)
{
    fprintf(to, "%-34s %8llu %9llu %12llu %6.2f %9llu %7.2f %7.2f\n", name,
            (unsigned long long)counts->launches, (unsigned long long)counts->warps,
            (unsigned long long)counts->instructions, ratio(counts->lanes, counts->instructions),
            (unsigned long long)counts->requests, ratio(counts->wanted, counts->requests),
            ratio(counts->sectors, counts->requests));
}

void simt_counts_print(struct simt *simt, FILE *to)
{
    struct simt_counts all = { 0 };

    fprintf(to, "%-34s %8s %9s %12s %6s %9s %7s %7s\n", "kernel", "launches", "warps",
            "instructions", "lanes", "requests", "wanted", "touched");
    pthread_mutex_lock(&simt->lock);
    for (struct module *module = simt->modules; module != NULL; module = module->next)
        for (struct simt_kernel *kernel = module->kernels; kernel != NULL; kernel = kernel->next) {
            struct simt_counts counts = sum(kernel);
            if (counts.launches == 0)
                continue;
            print_row(to, kernel->name, &counts);
            all.launches += counts.launches;
            all.warps += counts.warps;
            all.instructions += counts.instructions;
            all.lanes += counts.lanes;
            all.requests += counts.requests;
            all.wanted += counts.wanted;
            all.sectors += counts.sectors;
        }
    pthread_mutex_unlock(&simt->lock);
    print_row(to, "all", &all);
}
