/* Where `bench` puts its rows: standard output, for people or as JSON, and a file. */
#ifndef HARNESS_CLI_BENCH_OUTPUT_H
#define HARNESS_CLI_BENCH_OUTPUT_H

#include "benches/roofs.h"
#include "harness/bench/bench_console.h"
#include "harness/bench/rounds.h"
#include "harness/cli/flags.h"
#include "harness/text/json.h"

enum { BENCH_CONTEXT_MAX = 32 };

struct bench_output_options {
    enum format format; /* of standard output: console or JSON */
    enum color color;
    const struct time_unit *unit; /* NULL: ns in JSON, and its own for each time on the console */
    enum bench_lines lines;
    bool aggregates_only; /* in JSON */
    bool tabular;
    const char *file; /* NULL: none */
    enum format file_format;
    const char *context[BENCH_CONTEXT_MAX]; /* "key=value", the user's; the first NULL ends them */
};

struct bench_output {
    struct bench_output_options options;
    struct bench_console console, file_console;
    char *file_text; /* what file_console has printed */
    size_t file_bytes;
    struct json json;
    cJSON *root, *benchmarks, *failures, *skipped; /* the last three belong to root */
};

/* Writes the file, without rows, so that what cannot be written is known before anything is measured,
 * and on the console says what is measured: device, its limits, the user's context. BAD_USAGE when a key
 * of that context is taken. All zero before; close it whatever comes of it. */
enum status bench_output_open(struct bench_output *output,
                              const struct bench_output_options *options, int name_width,
                              struct device *device, const struct roofs *roofs);
void bench_output_close(struct bench_output *output);

/* Writes the file anew, with what the rows have so far. Nothing is printed. */
enum status bench_output_update(struct bench_output *output, const struct bench_row *rows,
                                int count);

/* The same once they are done, and prints them. */
enum status bench_output_rows(struct bench_output *output, const struct bench_row *rows, int count);

/* After the last row: JSON on standard output, where that was asked for. */
enum status bench_output_end(struct bench_output *output);

#endif
