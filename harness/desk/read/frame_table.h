/* The rows of Python's calls, while a trace is read. */
#ifndef HARNESS_DESK_READ_FRAME_TABLE_H
#define HARNESS_DESK_READ_FRAME_TABLE_H

#include "harness/base/status.h"
#include "harness/desk/read/kineto/event_parser.h"

#include <stdbool.h>
#include <stdint.h>

struct event_frame;
struct intern;

enum { NAME_BYTES = 4095 }; /* longer names are cut */

/* Start with zeros. */
struct frame_table {
    struct event_frame *rows;
    int64_t count, room;
    bool has_calls; /* rows of calls, not only of operators with a stack */
};

/* A row for an event that is a call, or an operator that states its stack; any other event is passed over.
 * OUT_OF_MEMORY. */
enum status frame_table_add(struct frame_table *table, struct intern *names,
                            const struct event_fields *fields, uint32_t track);

/* Whether the event is the call of a function. */
bool frame_is_call(const struct event_fields *fields);

/* When all is read: leaves stacks out where there are calls, which say more, and sorts. `track_count`: of the
 * file. OUT_OF_MEMORY. */
enum status frame_table_settle(struct frame_table *table, int64_t track_count);

#endif
