/* Joins rows of two parts of a file that were read side by side.
 *
 * The rows of the later part are numbered by names and tracks of their own. Joined, all is as if
 * one reader had read both parts one after the other: names and tracks get their numbers in the
 * order in which the file has them. */
#ifndef HARNESS_DESK_TRACE_ROWS_JOIN_H
#define HARNESS_DESK_TRACE_ROWS_JOIN_H

#include "harness/desk/trace/trace_rows.h"

#include <stdbool.h>

/* The numbers that the later part's names and tracks have in the earlier one. Start with zeros. */
struct joined_numbers {
    uint32_t *names, *tracks;
    int64_t name_count, track_count; /* of those that were joined already */
    int64_t name_room, track_room;
};

void joined_numbers_release(struct joined_numbers *numbers);

/* Whether that is so. It is not if rows would have been left out, or if what `later` has depends on
 * what came before. */
bool trace_rows_can_join(const struct trace_rows *rows, const struct trace_rows *later);

/* Moves the rows of `later` to the end of `rows`. `later` keeps its names and tracks, so that more
 * can be read into it; `numbers` belongs to it. OUT_OF_MEMORY. */
enum status trace_rows_join(struct trace_rows *rows, struct trace_rows *later,
                            struct joined_numbers *numbers);

#endif
