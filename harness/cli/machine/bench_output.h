/* Where `bench` puts its rows: standard output, for people or as JSON, and a file. */
#pragma once

#include "benches/roofs.h"
#include "harness/bench/bench_console.h"
#include "harness/bench/rounds.h"
#include "harness/cli/job/job_flags.h"
#include "harness/fleet/machine_rank.h"
#include "harness/text/json.h"

struct bench_output_options {
    enum format format; /* of standard output: Markdown: of standings alone */
    enum color color;
    bool all_repetitions; /* on the console: a line each, and their aggregates */
    const char *file;     /* NULL: none */

    /* Google Benchmark's flags. */
    bool aggregates_only, display_aggregates_only; /* the second not in the file */
    bool tabular;
    int time_unit; /* of bench_units, from 1; 0: ns, and on the console each time has its own */
    const char *contexts[16]; /* "key=value,..." */
    int context_count;
};

struct bench_output {
    struct bench_output_options options;
    struct bench_console console;
    struct json json;
    cJSON *root, *benchmarks, *ours, *failures, *skipped; /* the others belong to root */
    int64_t saved_ns; /* when the file was last written, or tried */
};

/* Tries to write the file, so that what cannot be written is known before anything is measured, but
 * leaves an older one as it is; and on the console says what is measured: the device and its
 * limits. All zero before; close it whatever comes of it. */
enum status bench_output_open(struct bench_output *output,
                              const struct bench_output_options *options, int name_width,
                              struct device *device, const struct roofs *roofs);
void bench_output_close(struct bench_output *output);

/* Whether there is a file, and it is older than two seconds. */
bool bench_output_is_due(const struct bench_output *output);

/* Writes the file, with the results so far: rows that have a repetition. Nothing is printed. */
enum status bench_output_update(struct bench_output *output, const struct bench_row *rows,
                                int count);

/* The same once they are done or interrupted, and prints them first: they stay on the console when
 * the file cannot be written. `standings` are those of the rows among the files in `where`; `where`
 * NULL: there are none. */
enum status bench_output_rows(struct bench_output *output, const struct bench_row *rows, int count,
                              const struct machine_ranks *standings, const char *where);

/* After the last row: JSON on standard output, where that was asked for. */
enum status bench_output_end(struct bench_output *output);
