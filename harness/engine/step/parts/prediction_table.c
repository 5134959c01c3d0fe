/* Rows are kept as numbers, and printed whenever they are written, as a logger does. */
#include "harness/engine/step/parts/prediction_table.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/engine/step/parts/scratch_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_BYTES = 26 }; /* ",-1.2345678901234567e-05", and a label */

struct prediction_table {
    enum predictions_mode mode;
    int classes;
    int file;
    int64_t count, written; /* rows */
    int32_t *labels;
    float *logits; /* [rows][classes] */
    char *text;    /* room for all rows */
};

enum status prediction_table_open(struct prediction_table **opened, int64_t rows, int classes,
                                  enum predictions_mode mode)
{
    enum status status = STATUS_OK;
    struct prediction_table *table;

    *opened = NULL;
    TRY_OUT(rows_make(&table, 1));
    table->mode = mode;
    table->classes = classes;
    table->file = -1;
    TRY_OUT(rows_make(&table->labels, rows));
    TRY_OUT(rows_make(&table->logits, rows * classes));
    TRY_OUT(rows_make(&table->text, rows * (2 * classes + 1) * NUMBER_BYTES));
    TRY_OUT(scratch_file_open(&table->file, "the table of predictions", "predictions=none"));
    *opened = table;
    table = NULL;

out:
    prediction_table_close(table);
    return status;
}

void prediction_table_close(struct prediction_table *table)
{
    if (table == NULL)
        return;
    if (table->file >= 0)
        close(table->file);
    free(table->labels);
    free(table->logits);
    free(table->text);
    free(table);
}

void prediction_table_clear(struct prediction_table *table)
{
    table->count = table->written = 0;
}

float *prediction_table_add(struct prediction_table *table, int32_t label)
{
    table->labels[table->count] = label;
    return &table->logits[table->count++ * table->classes];
}

static char *print_row(char *at, int label, const float *logits, int classes)
{
    double most = -INFINITY, sum = 0;

    for (int c = 0; c < classes; c++) most = fmax(most, (double)logits[c]);
    for (int c = 0; c < classes; c++) sum += exp((double)logits[c] - most);
    at += snprintf(at, NUMBER_BYTES, "%d", label);
    for (int c = 0; c < classes; c++) at += snprintf(at, NUMBER_BYTES, ",%.17g", (double)logits[c]);
    for (int c = 0; c < classes; c++)
        at += snprintf(at, NUMBER_BYTES, ",%.17g", exp((double)logits[c] - most) / sum);
    *at++ = '\n';
    return at;
}

static bool begins_file(const struct prediction_table *table)
{
    return ftruncate(table->file, 0) == 0 && lseek(table->file, 0, SEEK_SET) == 0;
}

enum status prediction_table_write(struct prediction_table *table, int64_t *bytes)
{
    int64_t first = table->mode == PREDICTIONS_REWRITTEN ? 0 : table->written;
    char *at = table->text;

    for (int64_t i = first; i < table->count; i++)
        at = print_row(at, (int)table->labels[i], &table->logits[i * table->classes],
                       table->classes);
    *bytes = at - table->text;
    table->written = table->count;
    if ((first == 0 && !begins_file(table)) || !write_all(table->file, table->text, (size_t)*bytes))
        FAIL(STATUS_IO,
             "the table of predictions in %s cannot be written: %s; make room there, set TMPDIR to "
             "another folder, or predictions=none",
             scratch_folder(), strerror(errno));

    return STATUS_OK;
}
