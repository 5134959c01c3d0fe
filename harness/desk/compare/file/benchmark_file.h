/* A file of benchmark results as Google Benchmark and this program write them, or one of another
 * tool (other_tools.h), read for one metric.
 *
 * Rows are benchmarks (row_names.h), each with one value per repetition. If a file has aggregates
 * only (--benchmark_report_aggregates_only), a row has no values but the median that the file
 * states, or the mean. A repetition that failed or was skipped, took no time, or has no such number
 * gives no value. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/compare/file/workload.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct benchmark_row {
    const char *name; /* the file's */
    struct workload work;
    double *values; /* [count], times in us; the row's own */
    int count;
    int64_t room;      /* of values */
    double median;     /* of the values, or as the file states it; NaN: nothing was measured */
    double deviation;  /* relative, between repetitions; NaN: not known */
    const char *label; /* of its first repetition; "": it has none */
    const char *date;  /* when it was measured; "": when the context says */
    double iterations; /* the fewest of a repetition; 0: not known */
    int repetitions;   /* that `deviation` was estimated from */
    int lost;          /* repetitions without a value, or that the file should have and has not */
    int failed;        /* of these */
    char reason[160];  /* what they did: "failed: out of memory"; "": none was lost */
};

struct benchmark_file {
    const char *path; /* the caller's */
    cJSON *root;
    const cJSON *context;
    struct benchmark_row *rows; /* in the order of the file */
    int count;
    struct row_names *names;
};

/* The metrics that are times; others are counters by their names in the file. */
#define BENCHMARK_TIME "real_time"
bool benchmark_metric_is_time(const char *metric); /* real_time and cpu_time, in us */

/* Reads `path`, or `path`/result.json where it is a folder. `metric` is a time or the name of a
 * counter. BAD_INPUT when it is not such a file or has an unknown time unit; IO when it cannot be
 * read. */
enum status benchmark_file_read(struct benchmark_file *file, const char *path, const char *metric);
void benchmark_file_release(struct benchmark_file *file); /* all zero is allowed */

/* NULL: the file has no such row. */
const struct benchmark_row *benchmark_file_row(const struct benchmark_file *file, const char *name);

/* A member of the context as text: "" when there is none. `size` is that of `text`. */
void benchmark_file_context(const struct benchmark_file *file, const char *key, char *text,
                            size_t size);

/* A date as files have it, "2026-11-20T21:21:34+00:00", in seconds since 1970; NaN: it is none. */
double benchmark_date(const char *text);

/* us in the unit of that name: ns, us, ms, s; NaN: there is no such unit. */
double benchmark_time_unit(const char *name);

/* Names of the numbers that the rows of the file have, times first: "real_time, cpu_time, bytes";
 * may be "". */
void benchmark_file_metrics(const struct benchmark_file *file, char *text, size_t size);

/* The aggregates of a file that has no row, as it has only some of which no time of a run can be
 * told: "max, p99"; "" when there are none. */
void benchmark_file_aggregates(const struct benchmark_file *file, char *text, size_t size);
