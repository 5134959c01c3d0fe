/* The table of an epoch's predictions, as text in a file: a row for each sample that was trained
 * on. It has the label, the logits, and the probabilities that these stand for, as many digits as a
 * double needs. The file has the same bytes after each step, whether all rows are written again or
 * those of the step come behind the others. */
#pragma once

#include "harness/base/status.h"
#include "harness/engine/settings/config.h"

#include <stdint.h>

struct prediction_table;

/* Room for `rows`. IO. */
enum status prediction_table_open(struct prediction_table **table, int64_t rows, int classes,
                                  enum predictions_mode mode);
void prediction_table_close(struct prediction_table *table); /* NULL is allowed */

/* Begins the table anew. */
void prediction_table_clear(struct prediction_table *table);

/* Adds a row, whose logits the caller fills in: [classes]. */
float *prediction_table_add(struct prediction_table *table, int32_t label);

/* Writes the rows that were added since the last call, or all; *bytes: how many these are. IO. */
enum status prediction_table_write(struct prediction_table *table, int64_t *bytes);
