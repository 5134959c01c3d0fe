#include "harness/desk/analysis/timeline/captures.h"

#include "harness/desk/analysis/names/event_names.h"

/* The name of a call tells what it does. A trace has far fewer names than calls, so each name is looked at
 * once. */
enum does { DOES_OTHER, DOES_BEGIN, DOES_END, DOES_INSTANTIATE };

static enum does by_name(const char *name)
{
    return name_begins_capture(name) ? DOES_BEGIN
           : name_ends_capture(name) ? DOES_END
           : name_instantiates(name) ? DOES_INSTANTIATE
                                     : DOES_OTHER;
}

static void find(struct captures *captures, const struct timeline *timeline, const enum does *does)
{
    const struct trace_event *begun = NULL;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (begun != NULL && event->track != begun->track)
            begun = NULL;
        if (!trace_event_is_call(event))
            continue;
        if (does[event->name] == DOES_INSTANTIATE) {
            intervals_add(&captures->taken, event->start_ns, event->end_ns);
            captures->instantiated++;
        }
        if (does[event->name] == DOES_END && begun != NULL) {
            intervals_add(&captures->times, begun->start_ns, event->end_ns);
            intervals_add(&captures->taken, begun->start_ns, event->end_ns);
            captures->count++;
        }
        if (does[event->name] == DOES_BEGIN)
            begun = event;
        else if (does[event->name] == DOES_END)
            begun = NULL;
    }
    intervals_merge(&captures->times);
    intervals_merge(&captures->taken);
}

struct captures captures_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    struct arena *scratch = arena_scratch(arena);
    enum does *does = ARENA_NEW(scratch, enum does, names);
    struct captures captures = { .times.arena = arena, .taken.arena = arena };

    for (uint32_t i = 0; i < names; i++) does[i] = by_name(trace_file_name(timeline->trace, i));
    find(&captures, timeline, does);
    captures.again =
        captures.count >= CAPTURES_REPEAT && steps->count > 0 && captures.count * 5 >= steps->count;
    captures.idle = timeline_idle_within(arena, timeline, &captures.taken);
    arena_close(scratch);
    return captures;
}
