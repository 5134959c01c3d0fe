/* The files of the other machines are read before anything is measured; each row of this run is
 * placed among theirs at the end. */
#include "harness/cli/machine/bench_against.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/system/machine.h"
#include "harness/bench/counters.h"

#include <stdlib.h>
#include <string.h>

enum status bench_against_read(struct bench_against *against)
{
    if (against->where == NULL)
        return STATUS_OK;
    TRY(machine_files_find(&against->files, "bench", &against->where, 1));
    TRY(machine_files_read(&against->files, node_read_bench, &against->fleet));

    return STATUS_OK;
}

static struct own_figure figure_of(const struct bench_row *row)
{
    const struct bench_result *result = &row->result;
    const char *name = row->bench->roof == ROOF_PRODUCTS ? "flops_per_second" : "bytes_per_second";
    double values[BENCH_REPETITIONS_MAX];

    for (int i = 0; i < BENCH_COUNTERS; i++) {
        const struct bench_counter *counter = &bench_counters[i];
        if (strcmp(counter->name, name) != 0 || !bench_counter_is_known(counter, result))
            continue;
        bench_counter_values(counter, result, values);
        return (struct own_figure){ result->name, counter->unit,
                                    stats_median(values, result->count) };
    }
    return (struct own_figure){ result->name, "ns", stats_median(result->real_ns, result->count) };
}

enum status bench_against_place(struct bench_against *against,
                                const struct device_properties *device,
                                const struct bench_row *rows, int count)
{
    enum status status = STATUS_OK;
    struct own_figure *figures = NULL;
    struct machine machine;
    char kind[512];
    int measured = 0;

    if (against->where == NULL)
        goto out;
    TRY_OUT(rows_make(&figures, count));
    for (int i = 0; i < count; i++)
        if (rows[i].result.count > 0)
            figures[measured++] = figure_of(&rows[i]);
    machine_read(&machine, "");
    node_kind(kind, sizeof kind, device->name, machine.cpu_model);
    TRY_OUT(machine_ranks_make(&against->standings, figures, measured, &against->fleet, kind));

out:
    free(figures);
    return status;
}

void bench_against_release(struct bench_against *against)
{
    machine_ranks_release(&against->standings);
    fleet_release(&against->fleet);
    machine_files_release(&against->files);
}
