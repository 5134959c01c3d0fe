/* bench --against FILE|DIR: each row beside the same row of other machines with this device, or of
 * earlier runs. */
#ifndef HARNESS_CLI_MACHINE_BENCH_AGAINST_H
#define HARNESS_CLI_MACHINE_BENCH_AGAINST_H

#include "harness/bench/rounds.h"
#include "harness/cli/fleet/machine_files.h"
#include "harness/fleet/machine_rank.h"

struct bench_against {
    const char *where; /* a file of bench, or a folder of them; NULL: none, and nothing below does
                          anything */
    struct machine_files files;
    struct fleet fleet;
    struct machine_ranks standings;
};

/* Before anything is measured, so that a name that is wrong is said at once. Errors of
 * machine_files.h. */
enum status bench_against_read(struct bench_against *against);

/* Rows without a repetition are left out. A row's figure is its flops per second if it is a
 * product, else its bytes per second, and its time where it moves none. OUT_OF_MEMORY. */
enum status bench_against_place(struct bench_against *against,
                                const struct device_properties *device,
                                const struct bench_row *rows, int count);
void bench_against_release(struct bench_against *against);

#endif
