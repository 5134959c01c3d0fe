/* The tables of an export, row by row, with columns by their names, as SQLite reads them.
 *
 * The file is not trusted. It is opened read only and unlocked, and nothing is written beside it.
 * Only tables and their stored columns are used: no view, trigger, virtual table or generated
 * column runs. A table ends as damaged if its rows do not count up, and a file that leads SQLite in
 * circles ends by a bound on its work. Memory does not depend on the file: SQLite keeps 2 MB of
 * pages, and a value has at most DATABASE_VALUE_BYTES.
 *
 * Errors: IO; BAD_INPUT: the file is damaged or is not read, the sentence says why;
 * OUT_OF_MEMORY. */
#pragma once

#include "harness/base/status.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;

enum { DATABASE_VALUE_BYTES = 16 << 20 };

/* The values of the row are those of the columns, as asked for; NULL where the table lacks one. */
typedef enum status database_visit(void *context, sqlite3_value **row);

/* Whether a file that begins so is a database. */
bool database_begins(const char *bytes, size_t count);

enum status database_open(struct database **opened, const char *path);
void database_close(struct database *database); /* NULL is allowed */

int64_t database_bytes(const struct database *database); /* of the file */

/* Whether a table has a name of that pattern of GLOB. */
enum status database_has(struct database *database, const char *pattern, bool *has);

/* Visits the rows of a table by their numbers; none if there is no such table. `columns`: `count`
 * names, 64 at most. Ends early with the status of a visit that is not OK. */
enum status database_scan(struct database *database, const char *table, const char *const *columns,
                          int count, database_visit *visit, void *context);

/* The number of the row that is being visited. */
int64_t database_row(const struct database *database);

/* The value as a whole number, or `otherwise`: it is none, or beyond 64 bits. */
int64_t database_integer(sqlite3_value *value, int64_t otherwise);

/* The value, which lives as long as the row, and its length if `length` is not NULL; NULL: it is no
 * text. */
const char *database_text(sqlite3_value *value, size_t *length);
