/* One pass over the work. The line through the shortest of the smallest messages and the shortest of the largest
 * needs no more than these two to be kept. */
#include "harness/desk/analysis/timeline/messages.h"

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/phases.h"

#include <math.h>
#include <string.h>

/* If sizes differ by less, it is not known how time grows with them. */
#define BYTES_RATIO_LEAST 4

struct sized {
    int64_t bytes, ns;
};

struct sweep {
    struct messages *messages;
    const struct timeline *timeline;
    const struct steps *steps;
    bool marked;               /* with the phase "backward" */
    struct intervals backward; /* merged: that phase, or else nodes of the loop's thread */
    struct sized smallest, largest;
    int64_t shortest_ns;
};

enum message_kind message_kind_of(const char *collective, const char *kernel)
{
    /* The names of c10d's process groups, and those of NCCL's kernels. Names that scatter or gather come before
     * those that they contain. */
    static const struct {
        const char *part;
        enum message_kind is;
    } parts[] = {
        { "reduce_scatter", MESSAGE_REDUCE_SCATTER }, { "ReduceScatter", MESSAGE_REDUCE_SCATTER },
        { "allreduce", MESSAGE_ALL_REDUCE },          { "all_reduce", MESSAGE_ALL_REDUCE },
        { "AllReduce", MESSAGE_ALL_REDUCE },          { "allgather", MESSAGE_ALL_GATHER },
        { "all_gather", MESSAGE_ALL_GATHER },         { "AllGather", MESSAGE_ALL_GATHER },
        { "broadcast", MESSAGE_BROADCAST },           { "Broadcast", MESSAGE_BROADCAST },
    };
    const char *name = collective[0] != '\0' ? collective : kernel;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (strstr(name, parts[i].part) != NULL)
            return parts[i].is;
    return MESSAGE_OTHER;
}

static bool is_in_backward(const struct sweep *sweep, const struct trace_event *call)
{
    if (call == NULL || steps_find(sweep->steps, call->start_ns) < 0)
        return false;
    return intervals_contain(&sweep->backward, call->start_ns) ||
           (!sweep->marked && call->track != sweep->steps->items[0].event->track);
}

static void find_backward(struct sweep *sweep, struct arena *scratch)
{
    static const char node[] = "autograd::engine::evaluate_function";
    const struct trace_file *trace = sweep->timeline->trace;
    uint32_t names = trace_file_name_count(trace), loop = sweep->steps->items[0].event->track;
    bool *is_node = ARENA_NEW(scratch, bool, names);

    sweep->backward = phase_times(scratch, PHASE_BACKWARD, sweep->timeline, sweep->steps);
    sweep->marked = sweep->backward.count > 0;
    if (sweep->marked)
        return;
    for (uint32_t i = 0; i < names; i++)
        is_node[i] = strncmp(trace_file_name(trace, i), node, sizeof node - 1) == 0;
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->kind == EVENT_KIND_OPERATOR && event->track == loop && is_node[event->name])
            intervals_add(&sweep->backward, event->start_ns, event->end_ns);
    }
    intervals_merge(&sweep->backward);
}

static void take_size(struct sweep *sweep, struct sized one)
{
    if (one.bytes < sweep->smallest.bytes ||
        (one.bytes == sweep->smallest.bytes && one.ns < sweep->smallest.ns))
        sweep->smallest = one;
    if (one.bytes > sweep->largest.bytes ||
        (one.bytes == sweep->largest.bytes && one.ns < sweep->largest.ns))
        sweep->largest = one;
    sweep->shortest_ns = interval_earlier(sweep->shortest_ns, one.ns);
}

static void take_message(struct sweep *sweep, const struct work *work, bool in_backward)
{
    const struct trace_file *trace = sweep->timeline->trace;
    const struct trace_event *event = work->event;
    uint32_t stated = event->kind == EVENT_KIND_KERNEL && event->detail != NO_DETAIL
                          ? trace->kernels[event->detail].collective
                          : 0;
    enum message_kind kind = message_kind_of(stated != 0 ? trace_file_name(trace, stated) : "",
                                             trace_file_name(trace, event->name));
    struct message_sum *sum =
        in_backward ? &sweep->messages->backward[kind] : &sweep->messages->elsewhere[kind];

    sum->count++;
    if (event->bytes < 0)
        return;
    sum->sized_count++;
    sum->bytes = intervals_sum_ns(sum->bytes, event->bytes);
    if (in_backward && (kind == MESSAGE_ALL_REDUCE || kind == MESSAGE_REDUCE_SCATTER))
        take_size(sweep, (struct sized){ event->bytes, event->end_ns - event->start_ns });
}

static double fixed_ns(const struct sweep *sweep)
{
    const struct sized *small = &sweep->smallest, *large = &sweep->largest;
    double per_byte;

    if (large->bytes / BYTES_RATIO_LEAST < small->bytes || large->bytes == 0)
        return (double)sweep->shortest_ns;
    per_byte = (double)(large->ns - small->ns) / (double)(large->bytes - small->bytes);
    return fmin((double)sweep->shortest_ns,
                fmax(0, (double)small->ns - per_byte * (double)small->bytes));
}

struct messages messages_of(struct arena *arena, const struct timeline *timeline,
                            const struct steps *steps)
{
    struct messages messages = { .fixed_ns = NAN, .shortest_ns = NAN };
    struct arena *scratch;
    struct sweep sweep = { .messages = &messages,
                           .timeline = timeline,
                           .steps = steps,
                           .smallest = { INT64_MAX, INT64_MAX },
                           .largest = { -1, INT64_MAX },
                           .shortest_ns = INT64_MAX };

    if (steps->count == 0 || timeline->all.kind_ns[WORK_COMMUNICATION] == 0)
        return messages;
    scratch = arena_scratch(arena);
    find_backward(&sweep, scratch);
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        bool in_backward = is_in_backward(&sweep, work->call);
        if (work->kind == WORK_COMMUNICATION && work->call != NULL)
            take_message(&sweep, work, in_backward);
        else if (work->kind == WORK_COMPUTATION && in_backward)
            messages.backward_ns =
                intervals_sum_ns(messages.backward_ns, work->event->end_ns - work->event->start_ns);
    }
    if (sweep.largest.bytes >= 0) {
        messages.shortest_ns = (double)sweep.shortest_ns;
        messages.fixed_ns = fixed_ns(&sweep);
    }
    arena_close(scratch);
    return messages;
}
