/* One sweep per thread finds the operators that count, with a stack of those that are open; nodes
 * of the backward pass are then joined with their operators, and all are counted by what they have
 * in common. */
#include "harness/desk/analysis/tables/host_operators.h"

#include "harness/base/bisect.h"
#include "harness/base/hash.h"
#include "harness/base/sort.h"
#include "harness/base/system/triple_table.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/captures.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256, THREADS = 64, NONE = -1 };

static const char node_prefix[] = "autograd::engine::evaluate_function: ";
static const char named_backward[] = " backward"; /* what our own traces say of one */

/* The kind that a name has. Each name is looked at once. */
enum role { ROLE_OPERATOR, ROLE_NODE, ROLE_WRAPPER, ROLE_NAMED_BACKWARD };

/* An operator that counts. */
struct counted {
    const struct trace_event *event;
    int64_t forward; /* of a node: the item of its operator; NONE: not found */
    int64_t device_ns, host_ns, flops, bytes;
    bool is_node;
    bool has_backward; /* a node of it was counted */
    bool counts;       /* as a call */
};

/* Operators of a thread that gradients may be asked of: a range of `candidates`. */
struct forward_thread {
    int64_t first, count;
};

/* PyTorch's number of a thread, and how many nodes name it. */
struct numbered_thread {
    int32_t number;
    int64_t count;
    int thread; /* in `threads`; NONE */
};

struct gathering {
    const struct timeline *timeline;
    enum role *roles; /* by name */
    struct caused_time caused;
    int64_t *item_of; /* by event: the item it is, or is in; NONE. NULL: not wanted */
    struct counted *items;
    int64_t count;
    int64_t stack[DEPTH];
    int depth;

    int64_t *candidates; /* items, by thread and start */
    int64_t *run;        /* of each: where its run of rising numbers begins */
    int64_t candidate_count;
    struct forward_thread threads[THREADS];
    int thread_count;
    struct numbered_thread numbers[THREADS];
    int number_count;
};

/* --- Names --- */

/* Operators that only hold others: of training loops, of parallel modules, of compiled ones. */
static enum role role_of(const char *name)
{
    static const char *const wrappers[] = {
        "Optimizer.",
        "enumerate(",
        "DataParallel.",
        "DistributedDataParallel.",
        "FullyShardedDataParallel.",
        "FSDP::",
        "Torch-Compiled Region",
        "## Call CompiledFxGraph",
        "CompiledFunction",
    };

    size_t length = strlen(name), ending = sizeof named_backward - 1;

    if (name_begins(name, node_prefix))
        return ROLE_NODE;
    if (length > ending && strcmp(name + length - ending, named_backward) == 0)
        return ROLE_NAMED_BACKWARD;
    for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
        if (name_begins(name, wrappers[i]))
            return ROLE_WRAPPER;
    return name_is_hidden(name) ? ROLE_WRAPPER : ROLE_OPERATOR;
}

/* "block0.qkv" is "block*.qkv": numbers that a dot ends, in names that are no function's. */
static void kind_name(char text[KIND_NAME_SIZE], const char *name, bool backward)
{
    static const char *const prefixes[] = { node_prefix, "aten::", "torch::autograd::" };
    const char *ending = backward ? named_backward : "";
    size_t length = 0, most = KIND_NAME_SIZE - 1 - strlen(ending);
    bool plain;

    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        if (name_begins(name, prefixes[i]))
            name += strlen(prefixes[i]);
    plain = strpbrk(name, ":(/<") == NULL;
    while (*name != '\0' && length < most) {
        size_t digits = plain ? strspn(name, "0123456789") : 0;
        if (digits > 0 && name[digits] == '.') {
            text[length++] = '*';
            name += digits;
        } else if (digits > 0) {
            while (digits-- > 0 && length < most) text[length++] = *name++;
        } else {
            text[length++] = *name++;
        }
    }
    for (; length > 0 && (*name & 0xc0) == 0x80; name--) length--; /* no half of a character */
    memcpy(text + length, ending, strlen(ending) + 1);
}

static const struct event_operator *stated_of(const struct gathering *gathering,
                                              const struct trace_event *event)
{
    const struct trace_file *trace = gathering->timeline->trace;

    return event->detail != NO_DETAIL ? &trace->operators[event->detail] : NULL;
}

/* The number that the operator began with, if gradients may be asked of it; -1. */
static int64_t forward_sequence(const struct gathering *gathering, const struct trace_event *event)
{
    const struct event_operator *stated = stated_of(gathering, event);

    return stated != NULL && stated->forward_thread == 0 ? stated->sequence : -1;
}

/* --- Operators that count --- */

static void note_item(struct gathering *gathering, const struct trace_event *event, int64_t item)
{
    if (gathering->item_of != NULL)
        gathering->item_of[event - gathering->timeline->trace->events] = item;
}

static void close_items(struct gathering *gathering, const struct trace_event *next)
{
    while (gathering->depth > 0) {
        const struct trace_event *top =
            gathering->items[gathering->stack[gathering->depth - 1]].event;
        if (next->track == top->track && next->start_ns < top->end_ns)
            return;
        gathering->depth--;
    }
}

/* Before PyTorch 1.9 nothing is around the backward pass of an operator, which names its forward
 * thread. */
static bool is_node(const struct gathering *gathering, const struct trace_event *event,
                    const struct counted *around)
{
    const struct event_operator *stated = stated_of(gathering, event);

    return gathering->roles[event->name] == ROLE_NODE ||
           (around == NULL && gathering->roles[event->name] == ROLE_OPERATOR && stated != NULL &&
            stated->forward_thread > 0);
}

static bool is_counted(const struct gathering *gathering, const struct trace_event *event,
                       const struct counted *around)
{
    return around == NULL || gathering->roles[event->name] == ROLE_NODE ||
           (around->is_node && forward_sequence(gathering, event) >= 0);
}

static void take_operator(struct gathering *gathering, const struct trace_event *event)
{
    const struct event_operator *stated = stated_of(gathering, event);
    struct counted *item =
        gathering->depth > 0 ? &gathering->items[gathering->stack[gathering->depth - 1]] : NULL;

    if (gathering->roles[event->name] == ROLE_WRAPPER)
        return;
    if (is_counted(gathering, event, item) && gathering->depth < DEPTH) {
        bool node = is_node(gathering, event, item);
        int64_t end_ns = event->end_ns;
        if (item != NULL) {
            end_ns = end_ns < item->event->end_ns ? end_ns : item->event->end_ns;
            item->host_ns -= end_ns - event->start_ns;
        }
        note_item(gathering, event, gathering->count);
        gathering->stack[gathering->depth++] = gathering->count;
        item = &gathering->items[gathering->count++];
        *item = (struct counted){ .event = event,
                                  .forward = NONE,
                                  .host_ns = event->end_ns - event->start_ns,
                                  .is_node = node,
                                  .counts = true };
    }
    if (item == NULL)
        return;
    if (stated != NULL)
        item->flops = intervals_sum_ns(item->flops, stated->flops);
    if (event->bytes > 0)
        item->bytes = intervals_sum_ns(item->bytes, event->bytes);
}

static void find_items(struct gathering *gathering)
{
    const struct timeline *timeline = gathering->timeline;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (!timeline_counts(timeline, event))
            continue;
        close_items(gathering, event);
        if (event->kind == EVENT_KIND_OPERATOR) {
            take_operator(gathering, event);
        } else if (trace_event_is_call(event) && gathering->depth > 0) {
            struct counted *item = &gathering->items[gathering->stack[gathering->depth - 1]];
            note_item(gathering, event, item - gathering->items);
            item->device_ns = intervals_sum_ns(
                item->device_ns, caused_ns(&gathering->caused, event - timeline->trace->events));
        }
    }
}

/* --- Backward passes --- */

static void find_candidates(struct gathering *gathering)
{
    struct forward_thread *thread = NULL;

    for (int64_t i = 0; i < gathering->count; i++) {
        const struct trace_event *event = gathering->items[i].event;
        int64_t at = gathering->candidate_count, sequence = forward_sequence(gathering, event);
        const struct trace_event *last;
        if (gathering->items[i].is_node || sequence < 0)
            continue;
        last = thread != NULL ? gathering->items[gathering->candidates[at - 1]].event : NULL;
        if (last == NULL || last->track != event->track) {
            if (gathering->thread_count == THREADS)
                return;
            thread = &gathering->threads[gathering->thread_count++];
            *thread = (struct forward_thread){ .first = at };
            last = NULL;
        }
        gathering->run[at] = last != NULL && forward_sequence(gathering, last) <= sequence
                                 ? gathering->run[at - 1]
                                 : at;
        gathering->candidates[gathering->candidate_count++] = i;
        thread->count++;
    }
}

static struct numbered_thread *numbered(struct gathering *gathering, int32_t number)
{
    for (int i = 0; i < gathering->number_count; i++)
        if (gathering->numbers[i].number == number)
            return &gathering->numbers[i];
    if (gathering->number_count == THREADS)
        return NULL;
    gathering->numbers[gathering->number_count] =
        (struct numbered_thread){ .number = number, .thread = NONE };
    return &gathering->numbers[gathering->number_count++];
}

COMPARATOR(by_candidates, struct forward_thread, DESCENDING(count))

COMPARATOR(by_nodes, struct numbered_thread, DESCENDING(count))

/* Nodes name the thread of their operator by a number that no other row has, so threads are matched
 * by how much they do: the more operators, the more nodes. */
static void match_threads(struct gathering *gathering)
{
    for (int64_t i = 0; i < gathering->count; i++) {
        const struct event_operator *stated = stated_of(gathering, gathering->items[i].event);
        struct numbered_thread *thread;
        if (!gathering->items[i].is_node || stated == NULL || stated->forward_thread == 0)
            continue;
        thread = numbered(gathering, stated->forward_thread);
        if (thread != NULL)
            thread->count++;
    }
    qsort(gathering->threads, (size_t)gathering->thread_count, sizeof *gathering->threads,
          by_candidates);
    qsort(gathering->numbers, (size_t)gathering->number_count, sizeof *gathering->numbers,
          by_nodes);
    for (int i = 0; i < gathering->number_count && i < gathering->thread_count; i++)
        gathering->numbers[i].thread = i;
}

/* The last candidate before `node` that began with `sequence` or a lower number; NONE. */
static int64_t forward_of(const struct gathering *gathering, const struct forward_thread *thread,
                          const struct trace_event *node, int64_t sequence)
{
    int64_t low = thread->first, high = thread->first + thread->count, first;

    BISECT(low, high, i,
           gathering->items[gathering->candidates[i]].event->start_ns < node->start_ns);
    if (low == thread->first)
        return NONE;
    first = gathering->run[low - 1];
    high = low;
    low = first;
    BISECT(low, high, i,
           forward_sequence(gathering, gathering->items[gathering->candidates[i]].event) <=
               sequence);
    return low > first ? gathering->candidates[low - 1] : NONE;
}

static void join_nodes(struct gathering *gathering)
{
    find_candidates(gathering);
    match_threads(gathering);
    for (int64_t i = 0; i < gathering->count; i++) {
        struct counted *item = &gathering->items[i];
        const struct event_operator *stated = stated_of(gathering, item->event);
        const struct numbered_thread *thread;
        if (!item->is_node || stated == NULL || stated->sequence < 0 || stated->forward_thread == 0)
            continue;
        thread = numbered(gathering, stated->forward_thread);
        if (thread == NULL || thread->thread == NONE)
            continue;
        item->forward = forward_of(gathering, &gathering->threads[thread->thread], item->event,
                                   stated->sequence);
        if (item->forward != NONE) {
            struct counted *forward = &gathering->items[item->forward];
            item->counts = !forward->has_backward;
            forward->has_backward = true;
        }
    }
}

/* --- Kinds --- */

COMPARATOR(by_time, struct operator_kind,
           DESCENDING(device_ns) ?: DESCENDING(host_ns) ?: strcmp(a->name, b->name)
           ?: ASCENDING(dims))

/* The kinds so far. Names that differ in the number of their layer spell the same kind. */
struct grouping {
    const struct gathering *gathering;
    struct arena *arena, *scratch;
    struct operator_kinds *kinds;
    int64_t room;                  /* for rows */
    struct triple_table known;     /* of each row */
    struct triple_table spellings; /* name, shape, and whether it is a backward pass */
    uint32_t *row_of;              /* by spelling */
    int64_t spelling_room;
};

/* Two kinds have another name, which is known by its hash, or another shape. */
static struct triple key_of(const struct operator_kind *kind)
{
    uint64_t hash = hash_add(HASH_EMPTY, kind->name, strlen(kind->name));

    return (struct triple){ (uint32_t)(hash >> 32), (uint32_t)hash, kind->dims };
}

static uint32_t row_spelt(struct grouping *grouping, struct triple spelling)
{
    struct operator_kinds *kinds = grouping->kinds;
    uint32_t count = grouping->spellings.count,
             number = triple_table_add(&grouping->spellings, spelling);
    struct operator_kind kind = { .dims = spelling.b };

    if (number < count)
        return grouping->row_of[number];
    kind_name(kind.name, trace_file_name(grouping->gathering->timeline->trace, spelling.a),
              spelling.c != 0);
    ARENA_ROOM(grouping->scratch, grouping->row_of, number, grouping->spelling_room);
    grouping->row_of[number] = triple_table_add(&grouping->known, key_of(&kind));
    if (grouping->row_of[number] == kinds->count) {
        ARENA_ROOM(grouping->arena, kinds->rows, kinds->count, grouping->room);
        kinds->rows[kinds->count++] = kind;
    }
    return grouping->row_of[number];
}

/* The kind of a node is that of its operator. */
static uint32_t row_of_item(struct grouping *grouping, const struct counted *item)
{
    const struct gathering *gathering = grouping->gathering;
    const struct trace_event *event =
        item->forward != NONE ? gathering->items[item->forward].event : item->event;
    const struct event_operator *stated = stated_of(gathering, event);

    return row_spelt(grouping, (struct triple){ event->name, stated != NULL ? stated->dims : 0,
                                                item->forward != NONE });
}

/* Turns items of events into rows of them, where these stand now. */
static void find_rows(struct grouping *grouping)
{
    const struct gathering *gathering = grouping->gathering;
    const struct operator_kinds *kinds = grouping->kinds;
    int64_t *places = ARENA_NEW(grouping->scratch, int64_t, kinds->count);

    for (int64_t i = 0; i < kinds->count; i++)
        places[triple_table_add(&grouping->known, key_of(&kinds->rows[i]))] = i;
    for (int64_t i = 0; i < gathering->timeline->trace->event_count; i++)
        if (gathering->item_of[i] != NONE)
            gathering->item_of[i] =
                places[row_of_item(grouping, &gathering->items[gathering->item_of[i]])];
}

static struct operator_kinds group(struct arena *arena, struct arena *scratch,
                                   const struct gathering *gathering)
{
    struct operator_kinds kinds = { .count = 0 };
    struct grouping grouping = { .gathering = gathering,
                                 .arena = arena,
                                 .scratch = scratch,
                                 .kinds = &kinds,
                                 .known.arena = scratch,
                                 .spellings.arena = scratch };

    for (int64_t i = 0; i < gathering->count; i++) {
        const struct counted *item = &gathering->items[i];
        uint32_t row = row_of_item(&grouping, item);
        struct operator_kind *kind = &kinds.rows[row];
        kind->count += item->counts;
        kind->device_ns = intervals_sum_ns(kind->device_ns, item->device_ns);
        kind->host_ns = intervals_sum_ns(kind->host_ns, item->host_ns);
        kind->flops = intervals_sum_ns(kind->flops, item->flops);
        kind->bytes = intervals_sum_ns(kind->bytes, item->bytes);
        kinds.device_ns = intervals_sum_ns(kinds.device_ns, item->device_ns);
        kinds.host_ns = intervals_sum_ns(kinds.host_ns, item->host_ns);
    }
    if (kinds.count > 0)
        qsort(kinds.rows, (size_t)kinds.count, sizeof *kinds.rows, by_time);
    if (gathering->item_of != NULL)
        find_rows(&grouping);
    return kinds;
}

/* The search needs most of the memory, and only until all items are found and joined. */
static void search(struct gathering *gathering, struct arena *scratch, int64_t operators,
                   const struct replayed *replayed)
{
    const struct trace_file *trace = gathering->timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    SCRATCH_ARENA(own, scratch);

    gathering->roles = ARENA_NEW(own, enum role, names);
    gathering->caused = timeline_caused_time(own, gathering->timeline);
    gathering->candidates = ARENA_NEW(own, int64_t, operators);
    gathering->run = ARENA_NEW(own, int64_t, operators);
    for (uint32_t i = 0; i < names; i++) gathering->roles[i] = role_of(trace_file_name(trace, i));
    find_items(gathering);
    for (int64_t i = 0; i < replayed->count; i++) { /* operators that launches of graphs ran */
        const struct replayed_span *span = &replayed->items[i];
        if (span->is_phase)
            continue;
        note_item(gathering, span->event, gathering->count);
        gathering->items[gathering->count++] = (struct counted){
            .event = span->event, .forward = NONE, .device_ns = span->total_ns, .counts = true
        };
    }
    join_nodes(gathering);
}

struct operator_kinds operator_kinds_of(struct arena *arena, const struct timeline *timeline,
                                        int64_t **row_of)
{
    SCRATCH_ARENA(scratch, arena);
    struct replayed replayed = replayed_of(scratch, timeline);
    struct gathering gathering = { .timeline = timeline };
    int64_t operators = replayed.count;

    for (int64_t i = 0; i < timeline->host_count; i++)
        operators += timeline->host[i]->kind == EVENT_KIND_OPERATOR;
    gathering.items = ARENA_NEW(scratch, struct counted, operators);
    if (row_of != NULL)
        *row_of = gathering.item_of = ARENA_NEW(arena, int64_t, timeline->trace->event_count);
    for (int64_t i = 0; row_of != NULL && i < timeline->trace->event_count; i++)
        gathering.item_of[i] = NONE;
    search(&gathering, scratch, operators, &replayed);
    return group(arena, scratch, &gathering);
}
