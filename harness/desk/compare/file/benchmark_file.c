/* Entries of the JSON are repetitions or aggregates; they are gathered into rows by name. An entry
 * without a value is counted with its reason, so that a row that lost repetitions does not look
 * whole. */
#include "harness/desk/compare/file/benchmark_file.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/file/lenient_json.h"
#include "harness/desk/compare/file/other_tools.h"
#include "harness/desk/compare/file/row_names.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The kind of an entry of `benchmarks`. Before version 1.4 only the name's end tells aggregates. */
enum kind { KIND_REPETITION, KIND_MEAN, KIND_MEDIAN, KIND_STDDEV, KIND_OTHER };

static const struct aggregate {
    const char *name;
    enum kind kind;
} aggregates[] = {
    { "mean", KIND_MEAN }, { "median", KIND_MEDIAN }, { "stddev", KIND_STDDEV },
    { "cv", KIND_OTHER },  { "BigO", KIND_OTHER },    { "RMS", KIND_OTHER },
};

/* Values that the file states for a row, until it is known whether they are needed. */
struct stated {
    double mean, median, deviation;
    int repetitions; /* of the aggregates */
    int announced; /* repetitions that the benchmark has, as they say themselves; 0: they do not */
};

bool benchmark_metric_is_time(const char *metric)
{
    return strcmp(metric, "real_time") == 0 || strcmp(metric, "cpu_time") == 0;
}

/* The kind of an entry, and how many letters of its name are the row's. */
static enum kind kind_of(const cJSON *entry, const char *name, size_t *length)
{
    const char *type = json_text_of(entry, "run_type"),
               *aggregate = json_text_of(entry, "aggregate_name");

    *length = strlen(name);
    if (strcmp(type, "iteration") == 0)
        return KIND_REPETITION;
    for (size_t i = 0; i < ARRAY_SIZE(aggregates); i++) {
        size_t end = strlen(aggregates[i].name);
        bool ends = *length > end + 1 && name[*length - end - 1] == '_' &&
                    strcmp(name + *length - end, aggregates[i].name) == 0;
        if (aggregate[0] != '\0' ? strcmp(aggregate, aggregates[i].name) != 0 : !ends)
            continue;
        *length -= ends ? end + 1 : 0;
        return aggregates[i].kind;
    }
    return type[0] != '\0' || aggregate[0] != '\0' ? KIND_OTHER : KIND_REPETITION;
}

double benchmark_time_unit(const char *name)
{
    static const struct {
        const char *name;
        double us;
    } units[] = { { "ns", 1e-3 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 } };

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (strcmp(name, units[i].name) == 0)
            return units[i].us;
    return NAN;
}

/* us in the entry's unit; a missing one is "s", which is what Google Benchmark's compare.py takes
 * it for. */
static enum status unit_of(const struct benchmark_file *file, const cJSON *entry, double *unit)
{
    const char *name = json_text_of(entry, "time_unit");

    *unit = benchmark_time_unit(name[0] != '\0' ? name : "s");
    if (isnan(*unit))
        FAIL(STATUS_BAD_INPUT,
             "%s: %.100s has the time unit \"%.20s\", which is none of ns, us, ms, s", file->path,
             json_text_of(entry, "name"), name);

    return STATUS_OK;
}

/* The reason of the first loss stands for all. */
static void lose(struct benchmark_row *row, int count, const char *what, const char *message)
{
    if (row->lost == 0)
        snprintf(row->reason, sizeof row->reason, "%s%s%s", what, message[0] != '\0' ? " " : "",
                 message);
    row->lost += count;
}

/* A repetition's value goes to row->values, or why there is none to row->reason. */
static enum status take_repetition(struct benchmark_row *row, const cJSON *entry,
                                   const char *metric, double unit)
{
    double value = json_number_of(entry, metric), iterations = json_number_of(entry, "iterations");

    if (iterations > 0 && !(row->iterations > 0 && row->iterations < iterations))
        row->iterations = iterations;
    if (row->count + row->lost == 0)
        row->label = json_text_of(entry, "label");
    TRY(rows_grow(&row->values, row->count + 1, &row->room));
    row->failed += cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "error_occurred"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "error_occurred")))
        lose(row, 1, "failed:", json_text_of(entry, "error_message"));
    else if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "skipped")))
        lose(row, 1, "skipped:", json_text_of(entry, "skip_message"));
    else if (!isfinite(value))
        lose(row, 1, "had no", metric);
    else if (benchmark_metric_is_time(metric) && !(value > 0))
        lose(row, 1, "took no time", "");
    else
        row->values[row->count++] = value * unit;

    return STATUS_OK;
}

/* Aggregates are kept beside the values: they count only if the row has no repetitions. */
static void take_aggregate(struct stated *stated, const cJSON *entry, const char *metric,
                           enum kind kind, double unit)
{
    double value = json_number_of(entry, metric) * unit,
           repetitions = json_number_of(entry, "iterations");

    if (kind == KIND_MEAN)
        stated->mean = value;
    else if (kind == KIND_MEDIAN)
        stated->median = value;
    else
        stated->deviation = value;
    if (repetitions >= 2 && repetitions < 1e6)
        stated->repetitions = (int)repetitions;
}

/* Fills the row's median and deviation from its values; without any, from the stated aggregates. */
static void finish_row(struct benchmark_row *row, const struct stated *stated, bool is_time)
{
    int there = row->count + row->lost;

    row->median = row->deviation = NAN;
    /* A file that was cut, or filtered, has fewer than its repetitions say. */
    if (there > 0 && there < stated->announced)
        lose(row, stated->announced - there, "are not in the file", "");
    if (row->count > 0) {
        row->median = stats_median(row->values, row->count);
        row->deviation = stats_cv(row->values, row->count);
        row->repetitions = row->count;
    } else if (row->lost == 0) {
        row->median = isfinite(stated->median) ? stated->median : stated->mean;
        row->deviation = stated->deviation / stated->mean;
        row->repetitions = stated->repetitions;
        if (is_time && !(row->median > 0))
            row->median = NAN;
        if (isnan(row->median))
            lose(row, 1, "had no number", "");
    }
    if (!(row->deviation >= 0 && isfinite(row->deviation)) || row->repetitions < 2)
        row->deviation = NAN;
}

/* The row of an entry, and what is stated of it. */
static enum status row_of(struct benchmark_file *file, struct stated *all, const cJSON *entry,
                          const struct row_key *key, struct benchmark_row **row,
                          struct stated **stated)
{
    int number;

    TRY(row_names_take(file->names, key, &number));
    if (number == file->count) {
        file->rows[file->count++] =
            (struct benchmark_row){ .label = "", .date = json_text_of(entry, "date") };
        all[number] = (struct stated){ .mean = NAN, .median = NAN, .deviation = NAN };
    }
    *row = &file->rows[number];
    *stated = &all[number];

    return STATUS_OK;
}

static enum status take_entry(struct benchmark_file *file, struct stated *all, const cJSON *entry,
                              const char *metric)
{
    struct benchmark_row *row;
    struct stated *stated;
    const char *name = json_text_of(entry, "name"), *run_name = json_text_of(entry, "run_name");
    double unit = 1;
    size_t length;
    enum kind kind = kind_of(entry, name, &length);
    struct row_key key = { .name = run_name[0] != '\0' ? run_name : name,
                           .length = run_name[0] != '\0' ? strlen(run_name) : length,
                           .family = json_number_of(entry, "family_index"),
                           .instance = json_number_of(entry, "per_family_instance_index"),
                           .repetition = json_number_of(entry, "repetition_index"),
                           .repetitions = json_number_of(entry, "repetitions"),
                           .part = "rmMd"[kind < KIND_OTHER ? kind : 0] };

    if (kind == KIND_OTHER)
        return STATUS_OK;
    if (name[0] == '\0')
        FAIL(STATUS_BAD_INPUT, "%s: an entry of \"benchmarks\" has no name", file->path);
    if (benchmark_metric_is_time(metric))
        TRY(unit_of(file, entry, &unit));
    TRY(row_of(file, all, entry, &key, &row, &stated));
    if (kind != KIND_REPETITION) {
        take_aggregate(stated, entry, metric, kind, unit);
        return STATUS_OK;
    }
    if (key.repetitions >= 1 && key.repetitions < 1e6 && !isnan(key.repetition))
        stated->announced = (int)key.repetitions;
    return take_repetition(row, entry, metric, unit);
}

static enum status take_entries(struct benchmark_file *file, const cJSON *entries,
                                const char *metric)
{
    enum status status = STATUS_OK;
    int count = cJSON_GetArraySize(entries);
    struct stated *stated = NULL;
    const cJSON *entry;

    TRY_OUT(rows_make(&stated, count));
    TRY_OUT(rows_make(&file->rows, count));
    TRY_OUT(row_names_open(&file->names));
    cJSON_ArrayForEach(entry, entries) TRY_OUT(take_entry(file, stated, entry, metric));
    TRY_OUT(row_names_finish(file->names));
    for (int i = 0; i < file->count; i++) {
        struct benchmark_row *row = &file->rows[i];
        row->name = row_names_text(file->names, i);
        row->work = workload_of_row(file->root, row_names_plain(file->names, i));
        finish_row(row, &stated[i], benchmark_metric_is_time(metric));
    }

out:
    free(stated);
    return status;
}

enum status benchmark_file_read(struct benchmark_file *file, const char *path, const char *metric)
{
    enum status status = STATUS_OK;
    char *inside = NULL;
    const cJSON *entries, *version;
    struct stat info;

    *file = (struct benchmark_file){ .path = path };
    /* A folder of `run` is named as well as the result in it. A pipe there would be waited for
     * forever. */
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        TRY_OUT(text_make(&inside, "%s/result.json", path));
    if (inside != NULL && access(inside, F_OK) == 0 && !is_regular_file(inside))
        FAIL_OUT(STATUS_BAD_INPUT, "%s is not a regular file", inside);
    TRY_OUT(lenient_json_read(&file->root, inside != NULL ? inside : path));
    if (other_tools_by_members(file->root) != NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is %s", path, other_tools_by_members(file->root));
    TRY_OUT(other_tools_convert(&file->root));
    file->context = cJSON_GetObjectItemCaseSensitive(file->root, "context");
    version = cJSON_GetObjectItemCaseSensitive(file->context, "json_schema_version");
    if (version != NULL && json_number_of(file->context, "json_schema_version") != 1)
        FAIL_OUT(STATUS_BAD_INPUT, "%s: json_schema_version is not 1, the one that is known here",
                 path);
    entries = cJSON_GetObjectItemCaseSensitive(file->root, "benchmarks");
    if (!cJSON_IsArray(entries))
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%s is JSON, but no benchmark results: it has no array \"benchmarks\"", path);
    TRY_OUT(take_entries(file, entries, metric));

out:
    free(inside);
    if (status != STATUS_OK)
        benchmark_file_release(file);
    return status;
}

void benchmark_file_release(struct benchmark_file *file)
{
    for (int i = 0; i < file->count; i++) free(file->rows[i].values);
    free(file->rows);
    row_names_close(file->names);
    cJSON_Delete(file->root);
    *file = (struct benchmark_file){ 0 };
}

const struct benchmark_row *benchmark_file_row(const struct benchmark_file *file, const char *name)
{
    int64_t number = row_names_find(file->names, name);

    return number >= 0 ? &file->rows[number] : NULL;
}

void benchmark_file_context(const struct benchmark_file *file, const char *key, char *text,
                            size_t size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->context, key);

    if (cJSON_IsNumber(item))
        snprintf(text, size, "%.15g", item->valuedouble);
    else
        snprintf(text, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

double benchmark_date(const char *text)
{
    struct tm date = { .tm_isdst = 0 };
    long zone;

    if (strptime(text, "%Y-%m-%dT%H:%M:%S%z", &date) == NULL)
        return NAN;
    zone = date.tm_gmtoff; /* timegm() clears it. */
    return (double)timegm(&date) - (double)zone;
}

/* Whether a list of names like "a, b" has this one; the empty name is in each. */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    if (length == 0)
        return true;
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static void list(char *text, size_t size, const char *name)
{
    if (!is_listed(text, name))
        text_join(text, size, ", ", "%s", name);
}

void benchmark_file_metrics(const struct benchmark_file *file, char *text, size_t size)
{
    static const char times[] = "real_time, cpu_time",
                      others[] = "family_index, per_family_instance_index, repetitions, "
                                 "repetition_index, threads, iterations, aggregate_unit";
    const cJSON *entries = cJSON_GetObjectItemCaseSensitive(file->root, "benchmarks"), *entry,
                *item;

    text[0] = '\0';
    /* Times first: they are what most people ask for. */
    for (int pass = 0; pass < 2; pass++)
        cJSON_ArrayForEach(entry, entries) cJSON_ArrayForEach(item, entry)
        {
            if (cJSON_IsNumber(item) && item->string != NULL &&
                is_listed(times, item->string) == (pass == 0) && !is_listed(others, item->string))
                list(text, size, item->string);
        }
}

void benchmark_file_aggregates(const struct benchmark_file *file, char *text, size_t size)
{
    const cJSON *entries = cJSON_GetObjectItemCaseSensitive(file->root, "benchmarks"), *entry;

    text[0] = '\0';
    cJSON_ArrayForEach(entry, entries) if (json_text_of(entry, "aggregate_name")[0] != '\0')
        list(text, size, json_text_of(entry, "aggregate_name"));
}
