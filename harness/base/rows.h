/* Arrays of rows: one that grows by doubling, so that adding to it costs a constant on average, and
 * one of a known length. free() releases both.
 *
 * The one failure is OUT_OF_MEMORY, for sizes that overflow too, with one sentence for all arrays;
 * the expression that TRY() notes says which one it was. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Makes room for at least `count` rows in *rows, which has room for *room of them (NULL and 0 at
 * first). New rows are not initialised. On failure both stay as they are. */
#define rows_grow(rows, count, room)                                                               \
    rows_grow_bytes((rows), (int64_t)(count), (room), sizeof **(rows))
enum status rows_grow_bytes(void *rows, int64_t count, int64_t *room, size_t row_bytes);

/* A new array of `count` rows, all zero, in *rows; not NULL even if count is 0. NULL on failure. */
#define rows_make(rows, count) rows_make_bytes((rows), (int64_t)(count), sizeof **(rows))
enum status rows_make_bytes(void *rows, int64_t count, size_t row_bytes);
