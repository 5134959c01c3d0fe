/* Fills a trace row by row while a file is read, in whatever format.
 *
 * Rows come in any order. A reader asks for room, adds the names and the track of an event and the
 * row of its details, and then the event itself. At the end trace_rows_settle() does what needs all
 * of them. Statuses are OUT_OF_MEMORY. */
#pragma once

#include "harness/base/status.h"
#include "harness/base/words/intern.h"
#include "harness/desk/trace/trace_file.h"

#include <stdbool.h>
#include <stddef.h>

struct trace_rows {
    struct trace_file *file; /* whoever takes it sets NULL here */
    bool full;               /* a row was left out, as there is no room */
    bool has_calls;          /* frames that are calls, not only stacks of operators */

    /* For trace_rows.c only. */
    int64_t rows_max;
    int64_t event_room, track_room, kernel_room, block_room, step_room, operator_room, frame_room,
        metadata_room;
    uint32_t last_track;   /* the previous event's, which is mostly the next one's too */
    uint32_t *track_slots; /* number + 1; 0: free */
    int64_t track_slot_count;
};

/* `rows_max`: at most that many events, and as many frames, are kept. Release in every case. */
enum status trace_rows_open(struct trace_rows *rows, int64_t rows_max);
void trace_rows_release(struct trace_rows *rows);

/* Whether a table of `count` rows may get another one. If not, the trace is partial. */
static inline bool trace_rows_have_room(struct trace_rows *rows, int64_t count)
{
    rows->full = rows->full || count >= rows->rows_max;
    return count < rows->rows_max;
}

/* The number of a name, a new one if need be. A zero byte in it ends it. */
static inline enum status trace_rows_name(struct trace_rows *rows, const char *bytes, size_t length,
                                          uint32_t *number)
{
    return intern_add(rows->file->names, bytes, length, number);
}

/* The number of a track, a new one if need be. */
enum status trace_rows_track(struct trace_rows *rows, struct event_track track, uint32_t *number);

/* Details of the event that is added next, in the table of its kind; *detail is their number. */
enum status trace_rows_kernel(struct trace_rows *rows, const struct event_kernel *kernel,
                              int32_t *detail);
enum status trace_rows_block(struct trace_rows *rows, const struct event_block *block,
                             int32_t *detail);
enum status trace_rows_step(struct trace_rows *rows, const struct event_step *step,
                            int32_t *detail);
enum status trace_rows_operator(struct trace_rows *rows, const struct event_operator *stated,
                                int32_t *detail);

enum status trace_rows_event(struct trace_rows *rows, const struct trace_event *event);
enum status trace_rows_frame(struct trace_rows *rows, const struct event_frame *frame);

/* A member beside the events; both texts are copied. */
enum status trace_rows_metadata(struct trace_rows *rows, const char *key, const char *json,
                                size_t length);

/* Counts a broken event, and keeps the reason of the first one in the file, which need not be the
 * first that is noted. */
void trace_rows_bad(struct trace_rows *rows, int64_t offset, const char *reason);

/* The trace is partial; the first reason is kept. */
void trace_rows_partial(struct trace_rows *rows, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* When all rows are there: leaves out events whose time is 0 or far from all others, joins calls
 * with their work by the external id if no event has a correlation, and sorts the frames, without
 * stacks if there are calls. */
enum status trace_rows_settle(struct trace_rows *rows);

/* --- Rows of two readers become one trace --- */

/* Joins rows of two parts of a file that were read side by side.
 *
 * The rows of the later part are numbered by names and tracks of their own. Joined, all is as if
 * one reader had read both parts one after the other: names and tracks get their numbers in the
 * order in which the file has them. */

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
