/* A trace file as a stranger reads it: inflated, parsed as JSON, and checked against the rules of the
 * format and of time. */
#ifndef TESTS_KINETO_FILE_H
#define TESTS_KINETO_FILE_H

#include "tests/cmocka_prelude.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct kineto_file {
    char *text;
    cJSON *root;
    const cJSON *events;
};

/* An event ("X", "i", "s", "f") with its times in exact nanoseconds. */
struct trace_event {
    const cJSON *json, *args;
    char phase;
    const char *category, *name; /* "" where there is none */
    int64_t pid, tid;
    int64_t start_ns, end_ns;
    int64_t correlation; /* 0: none */
};

struct trace_events {
    struct trace_event *list;
    int count;
};

/* Fails the test when it cannot be read. Release both. */
struct kineto_file kineto_file_read(const char *path);
void kineto_file_release(struct kineto_file *file);

/* All events but names of threads, in the file's order. */
struct trace_events trace_events_of(const struct kineto_file *file);
void trace_events_release(struct trace_events *events);

bool event_is(const struct trace_event *event, const char *category);
bool event_is_work(const struct trace_event *event); /* a kernel, copy or memset */
int64_t event_integer(const struct trace_event *event, const char *argument); /* it must be there */
const char *event_text(const struct trace_event *event, const char *argument);
int count_events(const struct trace_events *events, const char *category);

/* The only event of that category and name. */
const struct trace_event *the_event(const struct trace_events *events, const char *category,
                                    const char *name);

/* What holds for every trace, whatever was traced; each fails the test. */
void check_times_have_three_decimals(const struct kineto_file *file);
void check_members_of_events(const struct trace_events *events);
void check_intervals_nest(const struct trace_events *events);
void check_work_joins_one_call(const struct trace_events *events);
void check_flows_pair_up(const struct trace_events *events);
void check_external_ids(const struct trace_events *events);
void check_projections(const struct trace_events *events);
void check_memory_adds_up(const struct trace_events *events);
void check_trace(const struct kineto_file *file, const struct trace_events *events); /* all of it */

#endif
