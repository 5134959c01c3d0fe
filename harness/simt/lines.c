/* The counts by line of the source, and the samples. A line is that of the kernel's own file: what
 * a function of a header did counts where it was inlined, which is what a reader of the kernel
 * sees. */
#include "harness/simt/simt_machine.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file of the kernel itself is the one of its first line. */
static int own_file(const struct simt_kernel *kernel)
{
    for (int64_t i = 0; i < kernel->count; i++)
        if (kernel->code[i].line >= 0) {
            const struct source_line *line = &kernel->module->lines[kernel->code[i].line];
            return line->at_line > 0 ? line->at_file : line->file;
        }
    return -1;
}

void line_of(const struct simt_kernel *kernel, const struct instruction *row, const char **file,
             int *line)
{
    const struct module *module = kernel->module;
    const struct source_line *source;
    bool inlined;

    *file = module->name;
    *line = row->text_line;
    if (row->line < 0)
        return;
    source = &module->lines[row->line];
    inlined = source->at_line > 0 && source->file != own_file(kernel);
    *file = file_name(module, inlined ? source->at_file : source->file);
    *line = inlined ? source->at_line : source->line;
}

struct line_table {
    const struct simt_kernel *kernel;
    struct simt_line *rows;
    int64_t count, room;
};

/* The table's row for an instruction's line. From the end, since neighbours often share one. */
static enum status counts_of_line(struct line_table *table, const struct instruction *row,
                                  struct simt_counts **counts)
{
    struct simt_line wanted = { 0 };

    line_of(table->kernel, row, &wanted.file, &wanted.line);
    for (int64_t i = table->count - 1; i >= 0; i--)
        if (table->rows[i].line == wanted.line && strcmp(table->rows[i].file, wanted.file) == 0) {
            *counts = &table->rows[i].counts;
            return STATUS_OK;
        }
    TRY(rows_grow(&table->rows, table->count + 1, &table->room));
    table->rows[table->count] = wanted;
    *counts = &table->rows[table->count++].counts;
    return STATUS_OK;
}

COMPARATOR(by_place, struct simt_line, strcmp(a->file, b->file) ?: ASCENDING(line))

static enum status add_to_line(void *table, const struct simt_kernel *kernel,
                               const struct instruction *row, const struct step_counts *step)
{
    struct simt_counts *counts;

    TRY(counts_of_line(table, row, &counts));
    count_row(counts, kernel, row, step);
    return STATUS_OK;
}

enum status simt_counts_lines(struct simt *simt, const struct simt_kernel *kernel,
                              struct simt_line **lines, int *count)
{
    struct line_table table = { .kernel = kernel };
    enum status status;

    pthread_mutex_lock(&simt->lock);
    status = executed_rows(kernel, add_to_line, &table);
    pthread_mutex_unlock(&simt->lock);
    if (table.count > 0)
        qsort(table.rows, (size_t)table.count, sizeof *table.rows, by_place);
    *lines = table.rows;
    *count = (int)table.count;
    if (status != STATUS_OK) {
        free(table.rows);
        *lines = NULL;
    }
    return status;
}

/* The request that wasted most, with addresses as the host has them. */
static void take_sample(struct simt_sample *sample, const struct simt_kernel *kernel,
                        const struct instruction *row)
{
    const struct access_counts *counts = &kernel->accesses[row->slot];

    *sample = (struct simt_sample){
        .access = access_of(row),
        .shared = counts->sample.shared,
        .counts = counts->of[counts->sample.shared ? COUNTED_SHARED : COUNTED_GLOBAL],
        .mask = counts->sample.mask,
        .bytes = counts->sample.bytes,
        .touched = counts->sample.touched,
        .wanted = counts->sample.wanted
    };
    memcpy(sample->address, counts->sample.address, sizeof sample->address);
    instruction_text(row, sample->instruction, sizeof sample->instruction);
    line_of(kernel, row, &sample->file, &sample->line);
}

/* Accesses that never ran have no lanes in their sample, and are left out. */
enum status simt_counts_samples(struct simt *simt, const struct simt_kernel *kernel,
                                struct simt_sample **samples, int *count)
{
    *count = 0;
    TRY(rows_make(samples, kernel->slots));
    pthread_mutex_lock(&simt->lock);
    for (int64_t i = 0; i < kernel->count; i++) {
        const struct instruction *row = &kernel->code[i];
        if (row->slot >= 0 && kernel->accesses[row->slot].sample.mask != 0)
            take_sample(&(*samples)[(*count)++], kernel, row);
    }
    pthread_mutex_unlock(&simt->lock);
    return STATUS_OK;
}

struct simt_shape simt_shape_of(const struct simt_kernel *kernel)
{
    struct simt_shape shape = { .parameters = kernel->parameters,
                                .shared_bytes = kernel->shared_bytes,
                                .local_bytes = kernel->local_bytes,
                                .most_threads = kernel->most_threads,
                                .registers = kernel->live_words,
                                .barriers = kernel->barriers };

    memcpy(shape.parameter_type, kernel->parameter_type, sizeof shape.parameter_type);
    memcpy(shape.parameter_size, kernel->parameter_size, sizeof shape.parameter_size);
    return shape;
}
