/* From the fields of events to the rows of a trace. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/read/kineto/event_parser.h"
#include "harness/desk/trace/trace_rows.h"

#include <stdbool.h>
#include <stdint.h>

/* `rows` is the caller's; the others start with zeros. */
struct kineto_events {
    struct trace_rows *rows;
    struct event_half *halves; /* [half_count], of events that are written as two */
    int64_t half_count, half_room;
    bool has_named_tracks; /* a process or thread has a text for a number */
};

void kineto_events_release(struct kineto_events *events);

/* Adds what one event says, or counts it. OUT_OF_MEMORY. */
enum status kineto_events_add(struct kineto_events *events, const struct event_fields *fields,
                              int64_t offset);

/* Adds what was gathered beside this from the next part of the file, as trace_rows_join() adds its
 * rows; *joined false: it cannot be added, and all is as it was. Events that were added are no
 * longer in `later`. OUT_OF_MEMORY. */
enum status kineto_events_join(struct kineto_events *events, struct kineto_events *later,
                               struct joined_numbers *numbers, bool *joined);

/* When all are there: gives events that are written as two halves their end, and drops those
 * without a second half. */
void kineto_events_settle(struct kineto_events *events);

/* Takes an event that is not kept (unread_devices.c). *device becomes what it tells of, a constant
 * such as "an MTIA", unless an event before told more. */
void unread_device_note(const char **device, const struct event_fields *fields);
