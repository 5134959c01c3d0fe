/* The columns of a table, out of the text of its CREATE TABLE. */
#ifndef HARNESS_DESK_READ_SQLITE_TABLE_COLUMNS_H
#define HARNESS_DESK_READ_SQLITE_TABLE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

struct table_column {
    const char *name; /* without its quotes, as it stands in the text; no zero ends it */
    size_t length;
    bool is_row_number; /* INTEGER PRIMARY KEY: rows store nothing for it */
};

typedef void table_column_visit(void *context, int number, const struct table_column *column);

/* Visits the columns of `sql`, in their order. Text that is no such statement has none. */
void table_columns(const char *sql, size_t length, table_column_visit *visit, void *context);

/* Whether it has that name; case does not matter, as in SQL. */
bool table_column_is(const struct table_column *column, const char *name);

#endif
