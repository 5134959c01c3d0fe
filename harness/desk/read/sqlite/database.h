/* A database of SQLite, read only: whole tables, row by row, with columns by their names.
 *
 * It follows "Database File Format" (sqlite.org/fileformat2.html), as far as an export needs:
 * tables with row numbers, in UTF-8, without a write-ahead log that waits beside the file. There is
 * no SQL. Memory does not depend on the file: pages are read one at a time, and of a row at most
 * DATABASE_ROW_BYTES. No page is read twice in a scan, so pages that point in circles end it.
 *
 * Errors: IO; BAD_INPUT: the file is damaged or uses what is not read, the sentence says what and
 * where; OUT_OF_MEMORY. */
#ifndef HARNESS_DESK_READ_SQLITE_DATABASE_H
#define HARNESS_DESK_READ_SQLITE_DATABASE_H

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

enum { DATABASE_ROW_BYTES = 1 << 20, DATABASE_COLUMNS = 64 /* of one scan */ };

enum database_type {
    DATABASE_NULL,
    DATABASE_INTEGER,
    DATABASE_REAL,
    DATABASE_TEXT,
    DATABASE_BYTES
};

struct database_value {
    enum database_type type;
    int64_t integer;
    double real;
    const char *bytes; /* of text, which no zero ends, and of bytes; they live during the call */
    size_t length;
};

struct database_row {
    int64_t number; /* the row's, which is also the value of an INTEGER PRIMARY KEY */
    int64_t offset; /* in the file */
    /* as asked for; DATABASE_NULL where the table lacks the column */
    const struct database_value *values;
};

typedef enum status database_visit(void *context, const struct database_row *row);

/* Whether a file that begins so is a database. */
bool database_begins(const char *bytes, size_t count);

enum status database_open(struct database **opened, const char *path);
void database_close(struct database *database); /* NULL is allowed */

bool database_has(const struct database *database, const char *table);

/* The name of table `number`; NULL: there are fewer. */
const char *database_table(const struct database *database, int64_t number);

int64_t database_bytes(const struct database *database); /* of the file */

/* Visits the rows of a table by their numbers; none if there is no such table. `columns`: `count`
 * names. Ends early with the status of a visit that is not OK. */
enum status database_scan(struct database *database, const char *table, const char *const *columns,
                          int count, database_visit *visit, void *context);

/* The value as a whole number, or `otherwise`: it is none, or beyond 64 bits. */
int64_t database_integer(const struct database_value *value, int64_t otherwise);

bool database_text_is(const struct database_value *value, const char *text);

#endif
