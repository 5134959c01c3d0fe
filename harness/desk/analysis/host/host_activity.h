/* The activity of host threads at any moment, as far as the trace shows.
 *
 * The innermost of a thread's nested events counts. Everything within loading, logging or saving
 * counts as that, except calls of the runtime within the first two: a loop that reads a loss to log
 * it waits for the device, while a save waits for its own copies. A moment that no event covers is
 * HOST_OUTSIDE: the program's own code, or a thread that sleeps.
 *
 * Time outside of events, in operators and in calls is launching overhead only if the host is about
 * to launch. First uses (first_uses.h), captures that come again (captures.h) and pauses (pauses.h)
 * are kept apart from that. */
#pragma once

#include "harness/desk/analysis/timeline/captures.h"
#include "harness/desk/analysis/timeline/first_uses.h"
#include "harness/desk/analysis/timeline/timeline.h"
#include "harness/desk/trace/trace_file.h"

/* --- Open events --- */

enum { OPEN_DEPTH = 1024 }; /* deeper ones are left out */

/* The events of a thread that are open in a sweep over them (timeline.host), each within the one
 * before. Start with zeros. */
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

/* --- What the host does --- */

enum host_kind {
    HOST_OUTSIDE,
    HOST_OPERATOR, /* an operator or a phase that is none of the others */
    HOST_LOADING,  /* waiting for data, or preparing it */
    HOST_LOGGING,
    HOST_SAVING,
    HOST_LAUNCHING,  /* a call that launches, or any other call that none of the following names */
    HOST_COPYING,    /* a copy's call: staging of pageable memory shows here */
    HOST_ALLOCATING, /* of the device or of pinned memory, also releases */
    HOST_WAITING, /* for the device: synchronisation, and copies and launches that return when done;
                   * on a host alone for messages, while no event of its own covers it */
    /* Instead of HOST_OUTSIDE, HOST_OPERATOR and HOST_LAUNCHING: */
    HOST_FIRST_USE, /* what is done once, and what the profiler does itself */
    HOST_CAPTURING, /* again and again */
    HOST_WORKING,   /* something else than launching, or nothing that is recorded */
    HOST_KIND_COUNT
};

struct host_segment {
    int64_t start_ns, end_ns;
    uint32_t track;
    enum host_kind activity;
};

struct host_activity {
    struct host_segment *items; /* by track, then start; disjoint; as events show it */
    int64_t count;
    const struct trace_event **waits; /* the calls of HOST_WAITING, by track, then start */
    int64_t wait_count;
    bool launches_wait; /* half of the launches or more return when their kernel is done */
    bool has_loop;
    uint32_t loop; /* the track of the steps, or else that of the most launches; of a host alone, of
                      the most events */
    struct intervals first_uses, captures, pauses; /* of all threads, disjoint */
    /* of a host alone, between processes: of all threads, and disjoint from these */
    struct intervals messages;
    struct intervals held;    /* launches of the loop that wait while another thread allocates */
    struct intervals logging; /* of all threads, waits and calls in it included */
    int64_t pause_ns;         /* the shortest pause before an operator that launches (pauses.h) */
};

/* Without pauses, which pauses_find() adds. The timeline and its trace must live longer. */
struct host_activity host_activity_of(struct arena *arena, const struct timeline *timeline,
                                      const struct first_uses *uses,
                                      const struct captures *captures);

/* From the first row of the loop's thread to its last, with all work of the device in between. */
struct interval host_activity_span(const struct host_activity *activity,
                                   const struct timeline *timeline);

/* Adds to `ns` how long the thread did what between two moments; what it did outside is filled by
 * what the loop's thread did then, since a thread that only helps sleeps in between. */
void host_activity_between(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                           int64_t end_ns, int64_t ns[HOST_KIND_COUNT]);

/* Visits the same time piece by piece, in order. */
typedef void host_piece_visit(void *context, int64_t start_ns, int64_t end_ns,
                              enum host_kind activity);
void host_activity_visit(const struct host_activity *activity, uint32_t track, int64_t start_ns,
                         int64_t end_ns, host_piece_visit *visit, void *context);

/* The wait of that thread which contains the moment, at its end too; NULL: it did not wait. */
const struct trace_event *host_activity_wait(const struct host_activity *activity, uint32_t track,
                                             int64_t at_ns);

/* The activity of calls, or of operators and annotations, of that name, wherever they are. */
enum host_kind host_kind_of_name(const char *name, bool is_call);

/* The same for each name of a trace, worked out when it is asked for first. */
struct host_name {
    bool is_known, is_copy, is_allocation;
    uint8_t call, span; /* enum host_kind */
};
struct host_names {
    const struct trace_file *trace;
    struct host_name *items; /* [names of the trace] */
};
struct host_names host_names_open(struct arena *arena, const struct trace_file *trace);
const struct host_name *host_name_of(const struct host_names *names, uint32_t name);

const char *host_kind_name(enum host_kind activity); /* "launching" */
