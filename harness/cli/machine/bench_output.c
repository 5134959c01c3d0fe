/* The rows of `bench`: a document for programs, a table for people. One document is kept from the
 * beginning: the context first, then the rows as far as they came. It is written to the file now
 * and then, so that whatever ends the program, the file is whole, and to standard output at the
 * end. People get the same rows in Google Benchmark's columns. */
#include "harness/cli/machine/bench_output.h"

#include "harness/base/clock.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/bench/counters.h"
#include "harness/bench/device_context.h"
#include "harness/device/many_ranks.h"
#include "harness/text/machine_context.h"
#include "harness/text/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between two updates of the file while rows are measured. */
static const int64_t UPDATE_NS = 2000000000;

typedef enum status write_file(const char *path, const char *text, size_t bytes);

/* `write` tries the path or writes the text: both fail with the name of the option. */
static enum status save(struct bench_output *output, write_file *write)
{
    enum status status = STATUS_OK;
    const char *file = output->options.file;
    char *text = NULL;

    output->saved_ns = clock_ns();
    if (file == NULL)
        goto out;
    TRY_OUT(json_print(&output->json, output->root, &text));
    TRY_OUT(write(file, text, strlen(text)));

out:
    if (status == STATUS_IO)
        status_context("--benchmark_out=%.100s", file);
    free(text);
    return status;
}

/* As text, as Google Benchmark writes what users add to its context. Nothing for a limit that was
 * not measured. */
static void add_number_text(struct json *json, cJSON *context, const char *name, double value)
{
    char text[32];

    if (!(value > 0))
        return;
    snprintf(text, sizeof text, "%.4g", value);
    json_text(json, context, name, text);
}

/* The user's words for the machine; of two with one key the first counts. On the console too. */
static void add_users(struct bench_output *output, cJSON *context)
{
    bool shown = output->options.format == FORMAT_CONSOLE && ranks_rank() == 0;
    char key[128], value[512];

    for (int i = 0; i < output->options.context_count; i++)
        for (const char *at = output->options.contexts[i]; *at != '\0';) {
            int length = (int)strcspn(at, ","), name = (int)strcspn(at, "=");
            snprintf(key, sizeof key, "%.*s", name, at);
            snprintf(value, sizeof value, "%.*s", length - name - 1, at + name + 1);
            if (!cJSON_HasObjectItem(context, key)) {
                json_text(&output->json, context, key, value);
                if (shown)
                    fprintf(stderr, "%s: %s\n", key, value);
            }
            at += length + (at[length] == ',');
        }
}

static void add_context(struct bench_output *output, struct device *device,
                        const struct roofs *roofs)
{
    struct json *json = &output->json;
    struct device_health health;
    struct machine machine;
    cJSON *context = json_object(json, output->root, "context");
    char name[64];

    machine_read(&machine, "");
    machine_context(&machine, json, context);
    health = device_health(device);
    device_context(json, context, device_properties(device), &health);
    add_number_text(json, context, "roof_bytes_per_second", roofs->bytes_per_second);
    for (int i = 0; i < ROOF_PEAKS; i++) {
        snprintf(name, sizeof name, "roof_flops_per_second_%s", roof_peak_name(i));
        add_number_text(json, context, name, roofs->flops_per_second[i]);
    }
    if (ranks_count() > 1)
        add_number_text(json, context, "ranks", ranks_count());
    add_users(output, context);
}

/* On standard error, as Google Benchmark does, so that standard output is the table alone. */
static void print_context(const struct device *device, const struct roofs *roofs)
{
    char sentence[512];

    fprintf(stderr, "%s\n", device_properties(device)->name);
    if (!(roofs->bytes_per_second > 0))
        return;
    snprintf(sentence, sizeof sentence, "Measured limits: copies %.3g GB/s",
             roofs->bytes_per_second * 1e-9);
    for (int i = 0; i < ROOF_PEAKS; i++)
        if (roofs->flops_per_second[i] > 0)
            text_append(sentence, sizeof sentence, ", products in %s %.3g GFLOP/s",
                        roof_peak_name(i), roofs->flops_per_second[i] * 1e-9);
    wrap_print(stderr, 0, 2, wrap_room(stderr), sentence);
}

enum status bench_output_open(struct bench_output *output,
                              const struct bench_output_options *options, int name_width,
                              struct device *device, const struct roofs *roofs)
{
    /* Aggregates add theirs to the name. */
    bool aggregates = options->aggregates_only || options->display_aggregates_only;
    int suffix = options->all_repetitions || aggregates ? (int)strlen("_median") : 0;

    output->options = *options;
    output->console = (struct bench_console){ .console = console_open(stdout, options->color),
                                              .name_width = name_width + suffix,
                                              .all_repetitions = options->all_repetitions,
                                              .aggregates_only = aggregates,
                                              .tabular = options->tabular };
    if (options->time_unit > 0)
        output->console.unit = &bench_units[options->time_unit - 1];
    output->root = json_object(&output->json, NULL, NULL);
    add_context(output, device, roofs);
    output->benchmarks = json_array(&output->json, output->root, "benchmarks");
    output->ours = json_object(&output->json, output->root, "chokepoint");
    output->failures = json_array(&output->json, output->ours, "failures");
    output->skipped = json_array(&output->json, output->ours, "skipped");
    TRY(save(output, atomic_file_try));
    if (options->format == FORMAT_CONSOLE && ranks_rank() == 0)
        print_context(device, roofs);

    return STATUS_OK;
}

void bench_output_close(struct bench_output *output)
{
    cJSON_Delete(output->root);
    *output = (struct bench_output){ .root = NULL };
}

static void note(struct bench_output *output, cJSON *list, const char *name, const char *member,
                 const char *why)
{
    JSON_ROW(&output->json, list, KEY("name", name), KEY(member, why));
}

/* A bench that fails leaves no row, since a row of time 0 would spoil the file for other tools; nor
 * does one that an interrupt left without a repetition. */
static void put_row(struct bench_output *output, const struct bench_row *row, bool aggregates_only)
{
    int unit = output->options.time_unit;

    if (row->lack != NULL)
        note(output, output->skipped, row->result.name, "reason", row->lack);
    else if (row->status != STATUS_OK)
        note(output, output->failures, row->result.name, "error", row->failure);
    else if (row->result.count > 0)
        bench_rows_add(&output->json, output->benchmarks, &row->result, row->family, row->instance,
                       &bench_units[unit > 0 ? unit - 1 : 0], aggregates_only);
}

static void put_rows(struct bench_output *output, const struct bench_row *rows, int count,
                     bool aggregates_only)
{
    cJSON *const lists[] = { output->benchmarks, output->failures, output->skipped };

    /* All rows anew, as each may have more repetitions than before. */
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        while (cJSON_GetArraySize(lists[i]) > 0) cJSON_DeleteItemFromArray(lists[i], 0);
    for (int i = 0; i < count; i++) put_row(output, &rows[i], aggregates_only);
}

enum status bench_output_update(struct bench_output *output, const struct bench_row *rows,
                                int count)
{
    put_rows(output, rows, count, output->options.aggregates_only);
    return save(output, atomic_file_write);
}

bool bench_output_is_due(const struct bench_output *output)
{
    return output->options.file != NULL && clock_ns() - output->saved_ns >= UPDATE_NS;
}

enum status bench_output_rows(struct bench_output *output, const struct bench_row *rows, int count,
                              const struct machine_ranks *standings, const char *where)
{
    const struct bench_output_options *options = &output->options;
    struct page page = options->format == FORMAT_MARKDOWN ? page_markdown(stdout)
                                                          : page_console(stdout, options->color);

    for (int i = 0; i < count && options->format == FORMAT_CONSOLE; i++) {
        if (rows[i].lack != NULL)
            bench_console_skip(&output->console, rows[i].result.name, rows[i].lack);
        else if (rows[i].status != STATUS_OK)
            bench_console_failure(&output->console, rows[i].result.name, rows[i].failure);
        else if (rows[i].result.count > 0)
            bench_console_row(&output->console, &rows[i].result);
    }
    if (where != NULL)
        machine_ranks_json(&output->json, output->ours, "row", standings);
    if (where != NULL && options->format != FORMAT_JSON)
        machine_ranks_page(&page, standings, where);
    TRY(bench_output_update(output, rows, count));
    /* From here on the document is what is displayed. */
    if (options->display_aggregates_only)
        put_rows(output, rows, count, true);

    return STATUS_OK;
}

enum status bench_output_end(struct bench_output *output)
{
    return output->options.format == FORMAT_JSON ? json_to_stdout(&output->json, output->root)
                                                 : STATUS_OK;
}
