/* The events of a thread that are open in a sweep over them (timeline.host), each within the one
 * before. */
#pragma once

#include "harness/desk/trace/trace_file.h"

enum { OPEN_DEPTH = 1024 }; /* deeper ones are left out */

/* Start with zeros. */
struct open_events {
    const struct trace_event *items[OPEN_DEPTH];
    int depth;
    int64_t cursor_ns;
};

/* Between two moments event number `innermost` was the innermost. */
typedef void open_events_visit(void *context, int innermost, int64_t start_ns, int64_t end_ns);

/* Closes the events that end before `next` begins, the innermost first, and shows the time from the
 * cursor on, which moves to the beginning of `next`. If `next` is of another thread, or NULL, all
 * events are closed. `visit` may be NULL. */
void open_events_advance(struct open_events *open, const struct trace_event *next,
                         open_events_visit *visit, void *context);

/* Opens an event, after that. Returns its number; -1: it is too deep. */
int open_events_push(struct open_events *open, const struct trace_event *event);
