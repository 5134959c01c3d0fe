/* Arrays grow by doubling. Sizes are checked for overflow here, so that no caller has to. */
#include "harness/base/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 8 };

static bool rows_fit(int64_t count, size_t row_bytes)
{
    size_t bytes;

    return count >= 0 && !__builtin_mul_overflow((size_t)count, row_bytes, &bytes) &&
           bytes <= PTRDIFF_MAX;
}

static enum status no_memory(int64_t count, size_t row_bytes)
{
    return status_fail(STATUS_OUT_OF_MEMORY, __FILE__, __LINE__,
                       "no memory left for %lld x %zu bytes", (long long)count, row_bytes);
}

/* The pointers are copied as bytes: `rows` points to one of any type. */
enum status rows_grow_bytes(void *rows, int64_t count, int64_t *room, size_t row_bytes)
{
    int64_t more = *room > INT64_MAX / 2 ? count : 2 * *room;
    void *old, *grown;

    if (count <= *room)
        return STATUS_OK;
    if (more < ROOM_LEAST)
        more = ROOM_LEAST;
    if (more < count)
        more = count;
    memcpy(&old, rows, sizeof old);
    grown = rows_fit(more, row_bytes) ? realloc(old, (size_t)more * row_bytes) : NULL;
    if (grown == NULL)
        return no_memory(more, row_bytes);
    memcpy(rows, &grown, sizeof grown);
    *room = more;
    return STATUS_OK;
}

enum status rows_make_bytes(void *rows, int64_t count, size_t row_bytes)
{
    void *made =
        rows_fit(count, row_bytes) ? calloc(count > 0 ? (size_t)count : 1, row_bytes) : NULL;

    memcpy(rows, &made, sizeof made);
    return made != NULL ? STATUS_OK : no_memory(count, row_bytes);
}
