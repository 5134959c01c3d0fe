/* One pass over the work. The line through the shortest of the smallest messages and the shortest
 * of the largest needs no more than these two to be kept. */
#include "harness/desk/analysis/timeline/messages.h"

#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <string.h>

/* If sizes differ by less, it is not known how time grows with them. */
#define BYTES_RATIO_LEAST 4

/* All-reduces of activations (tensor parallelism) have more: a row of them for each of many
 * tokens. */
#define NUMBERS_BYTES (1 << 20)

struct sized {
    int64_t bytes, ns;
};

struct sweep {
    struct messages *messages;
    const struct timeline *timeline;
    const struct steps *steps;
    const struct phases *phases;
    bool marked;               /* with the phase "backward" */
    struct intervals backward; /* merged: that phase, or else nodes of the loop's thread */
    bool names_peers;          /* the trace has sends or receives by name */
    bool has_peers;
    struct intervals peers;
    struct sized smallest, largest;
    int64_t shortest_ns;
    bool computes_backward, has_sent; /* since backward began last */
};

enum message_kind message_kind_of(const char *collective, const char *kernel)
{
    /* The names of c10d's process groups, and those of NCCL's kernels. Names that scatter or gather
     * come before those that they contain. */
    static const struct {
        const char *part;
        enum message_kind is;
    } parts[] = {
        { "reduce_scatter", MESSAGE_REDUCE_SCATTER },
        { "ReduceScatter", MESSAGE_REDUCE_SCATTER },
        { "allreduce", MESSAGE_ALL_REDUCE },
        { "all_reduce", MESSAGE_ALL_REDUCE },
        { "AllReduce", MESSAGE_ALL_REDUCE },
        { "allgather", MESSAGE_ALL_GATHER },
        { "all_gather", MESSAGE_ALL_GATHER },
        { "AllGather", MESSAGE_ALL_GATHER },
        { "broadcast", MESSAGE_BROADCAST },
        { "Broadcast", MESSAGE_BROADCAST },
        { "batch_isend_irecv", MESSAGE_POINT_TO_POINT },
        { "SendRecv", MESSAGE_POINT_TO_POINT },
    };
    const char *name = collective[0] != '\0' ? collective : kernel;

    if (strcmp(name, "send") == 0 || strcmp(name, "recv") == 0)
        return MESSAGE_POINT_TO_POINT;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (strstr(name, parts[i].part) != NULL)
            return parts[i].is;
    return MESSAGE_OTHER;
}

/* Where nothing is stated, what sends and receives is one (messages.h). */
static bool is_exchange(const char *collective, const char *kernel)
{
    static const char *const parts[] = { "all_to_all", "alltoall", "AllToAll", "A2A",
                                         "a2a_",       "all2all",  "deep_ep::" };

    return name_has_one(collective, parts, ARRAY_SIZE(parts)) ||
           name_has_one(kernel, parts, ARRAY_SIZE(parts)) ||
           (collective[0] == '\0' && strstr(kernel, "SendRecv") != NULL);
}

/* Without marks, what another thread than the loop's launches within a step is of the backward
 * pass, for which PyTorch has a thread of its own. */
static bool is_in_backward(const struct sweep *sweep, const struct trace_event *call)
{
    if (call == NULL || steps_find(sweep->steps, call->start_ns) < 0)
        return false;
    return intervals_contain(&sweep->backward, call->start_ns) ||
           (!sweep->marked && call->track != sweep->steps->items[0].event->track);
}

/* If nothing marks the phase, the nodes that autograd runs on the loop's thread do. */
static void find_backward(struct sweep *sweep, struct arena *scratch)
{
    static const char node[] = "autograd::engine::evaluate_function";
    const struct trace_file *trace = sweep->timeline->trace;
    uint32_t names = trace_file_name_count(trace), loop = sweep->steps->items[0].event->track;
    bool *is_node = ARENA_NEW(scratch, bool, names);

    sweep->marked = sweep->phases->seen[PHASE_BACKWARD];
    if (sweep->marked) {
        sweep->backward = sweep->phases->times[PHASE_BACKWARD];
        return;
    }
    sweep->backward.arena = scratch;
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

/* The last rank of a pipeline is done first, and waits for the others where all agree on a number:
 * the norm of all gradients, say. */
static bool meets_after_pipeline(enum message_kind kind, const struct trace_event *event,
                                 bool in_backward)
{
    return kind == MESSAGE_ALL_REDUCE && !in_backward && event->bytes >= 0 &&
           event->bytes <= NUMBERS_BYTES;
}

static void take_message(struct sweep *sweep, const struct work *work, bool in_backward)
{
    int64_t ns = work->event->end_ns - work->event->start_ns;
    const struct trace_file *trace = sweep->timeline->trace;
    const struct trace_event *event = work->event;
    uint32_t stated = event->kind == EVENT_KIND_KERNEL && event->detail != NO_DETAIL
                          ? trace->kernels[event->detail].collective
                          : 0;
    enum message_kind kind = message_kind_of(stated != 0 ? trace_file_name(trace, stated) : "",
                                             trace_file_name(trace, event->name));
    struct message_sum *sum;

    if (kind == MESSAGE_POINT_TO_POINT && stated == 0 && !sweep->names_peers)
        kind = MESSAGE_OTHER;
    sweep->messages->exchanges +=
        kind == MESSAGE_OTHER &&
        is_exchange(trace_file_name(trace, stated), trace_file_name(trace, event->name));
    if (kind == MESSAGE_POINT_TO_POINT)
        sweep->has_peers = true;
    if ((kind == MESSAGE_POINT_TO_POINT || meets_after_pipeline(kind, event, in_backward)) &&
        event->end_ns > sweep->timeline->from_ns)
        intervals_add(&sweep->peers, interval_later(event->start_ns, sweep->timeline->from_ns),
                      event->end_ns);
    sum = in_backward ? &sweep->messages->backward[kind] : &sweep->messages->elsewhere[kind];

    sum->count++;
    if (sweep->computes_backward && !sweep->has_sent &&
        (kind == MESSAGE_ALL_REDUCE || kind == MESSAGE_REDUCE_SCATTER)) {
        sweep->has_sent = true;
        sweep->messages->sendings++;
    }
    if (intervals_contain(&sweep->phases->times[PHASE_OPTIMIZER], work->call->start_ns))
        sweep->messages->optimizer_ns = intervals_sum_ns(sweep->messages->optimizer_ns, ns);
    if (event->bytes < 0)
        return;
    sum->sized_count++;
    sum->bytes = intervals_sum_ns(sum->bytes, event->bytes);
    if (in_backward && (kind == MESSAGE_ALL_REDUCE || kind == MESSAGE_REDUCE_SCATTER))
        take_size(sweep, (struct sized){ event->bytes, ns });
}

/* By c10d's operators, and by the annotations of its process group: "nccl:send 0->1". */
static bool names_peers(const struct trace_file *trace)
{
    static const char *const beginnings[] = { "c10d::send", "c10d::recv", "nccl:send",
                                              "nccl:recv" };
    uint32_t names = trace_file_name_count(trace);

    for (uint32_t i = 0; i < names; i++)
        for (size_t b = 0; b < ARRAY_SIZE(beginnings); b++)
            if (strncmp(trace_file_name(trace, i), beginnings[b], strlen(beginnings[b])) == 0)
                return true;
    return false;
}

/* The time of messages between peers in which the device computes nothing. */
static int64_t exposed_ns(struct sweep *sweep, struct arena *scratch)
{
    struct intervals computing = { .arena = scratch };
    int64_t ns = 0;

    for (int64_t i = 0; i < sweep->timeline->work_count; i++) {
        const struct work *work = &sweep->timeline->work[i];
        if (work->kind == WORK_COMPUTATION)
            intervals_add(&computing, work->event->start_ns, work->event->end_ns);
    }
    intervals_merge(&computing);
    intervals_merge(&sweep->peers);
    for (int64_t i = 0; i < sweep->peers.count; i++) {
        const struct interval *peer = &sweep->peers.items[i];
        ns += peer->end_ns - peer->start_ns -
              intervals_within_ns(&computing, peer->start_ns, peer->end_ns);
    }
    return ns;
}

/* Where the line meets a message of no bytes. No message is shorter than the shortest. */
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
                            const struct steps *steps, const struct phases *phases)
{
    struct messages messages = { .fixed_ns = NAN, .shortest_ns = NAN };
    struct arena *scratch;
    struct sweep sweep = { .messages = &messages,
                           .timeline = timeline,
                           .steps = steps,
                           .phases = phases,
                           .smallest = { INT64_MAX, INT64_MAX },
                           .largest = { -1, INT64_MAX },
                           .shortest_ns = INT64_MAX };

    if (steps->count == 0 || timeline->all.kind_ns[WORK_COMMUNICATION] == 0)
        return messages;
    scratch = arena_scratch(arena);
    sweep.peers.arena = scratch;
    sweep.names_peers = names_peers(timeline->trace);
    find_backward(&sweep, scratch);
    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        bool in_backward = is_in_backward(&sweep, work->call);
        if (work->kind == WORK_COMMUNICATION && work->call != NULL)
            take_message(&sweep, work, in_backward);
        else if (work->kind == WORK_COMPUTATION && in_backward)
            messages.backward_ns =
                intervals_sum_ns(messages.backward_ns, work->event->end_ns - work->event->start_ns);
        if (work->kind == WORK_COMPUTATION) {
            sweep.has_sent = sweep.has_sent && in_backward;
            sweep.computes_backward = in_backward;
        }
    }
    if (sweep.has_peers)
        messages.peer_exposed_ns = exposed_ns(&sweep, scratch);
    if (sweep.largest.bytes >= 0) {
        messages.shortest_ns = (double)sweep.shortest_ns;
        messages.fixed_ns = fixed_ns(&sweep);
    }
    arena_close(scratch);
    return messages;
}
