/* One sweep per thread finds the operators that count, with a stack of those that are open; nodes of the
 * backward pass are then joined with their operators, and all are sorted by what they have in common. */
#include "harness/desk/analysis/tables/operator_kinds.h"

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/replayed.h"

#include <stdio.h>
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
    enum role *roles;   /* by name */
    int64_t *device_ns; /* by event: the work that a call caused */
    int64_t *item_of;   /* by event: the item it is, or is in; NONE. NULL: not wanted */
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

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

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

    if (begins(name, node_prefix))
        return ROLE_NODE;
    if (length > ending && strcmp(name + length - ending, named_backward) == 0)
        return ROLE_NAMED_BACKWARD;
    for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
        if (begins(name, wrappers[i]))
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
        if (begins(name, prefixes[i]))
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

/* Before PyTorch 1.9 nothing is around the backward pass of an operator, which names its forward thread. */
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
    const struct trace_file *trace = timeline->trace;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->call != NULL) {
            int64_t *ns = &gathering->device_ns[work->call - trace->events];
            *ns = intervals_sum_ns(*ns, work->event->end_ns - work->event->start_ns);
        }
    }
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        close_items(gathering, event);
        if (event->kind == EVENT_KIND_OPERATOR) {
            take_operator(gathering, event);
        } else if (trace_event_is_call(event) && gathering->depth > 0) {
            struct counted *item = &gathering->items[gathering->stack[gathering->depth - 1]];
            note_item(gathering, event, item - gathering->items);
            item->device_ns =
                intervals_sum_ns(item->device_ns, gathering->device_ns[event - trace->events]);
        }
    }
}

/* Operators that launches of graphs ran. */
static void add_replayed(struct gathering *gathering, const struct replayed *replayed)
{
    for (int64_t i = 0; i < replayed->count; i++) {
        if (replayed->items[i].is_phase)
            continue;
        note_item(gathering, replayed->items[i].event, gathering->count);
        gathering->items[gathering->count++] =
            (struct counted){ .event = replayed->items[i].event,
                              .forward = NONE,
                              .device_ns = replayed->items[i].total_ns,
                              .counts = true };
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

static int by_candidates(const void *left, const void *right)
{
    const struct forward_thread *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

static int by_nodes(const void *left, const void *right)
{
    const struct numbered_thread *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

/* Nodes name the thread of their operator by a number that no other row has, so threads are matched by how
 * much they do: the more operators, the more nodes. */
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

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (gathering->items[gathering->candidates[middle]].event->start_ns < node->start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == thread->first)
        return NONE;
    first = gathering->run[low - 1];
    high = low;
    low = first;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct counted *item = &gathering->items[gathering->candidates[middle]];
        if (forward_sequence(gathering, item->event) <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
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

/* What an item has in common with others of its kind, before numbers in names are left out. */
struct key {
    uint32_t name, dims;
    bool backward;
    int64_t item;
};

static int by_key(const void *left, const void *right)
{
    const struct key *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->dims != b->dims)
        return a->dims < b->dims ? -1 : 1;
    if (a->backward != b->backward)
        return a->backward ? 1 : -1;
    return (a->item > b->item) - (a->item < b->item);
}

static int by_name(const void *left, const void *right)
{
    const struct operator_kind *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->dims > b->dims) - (a->dims < b->dims);
}

static int by_time(const void *left, const void *right)
{
    const struct operator_kind *a = left, *b = right;

    if (a->device_ns != b->device_ns)
        return a->device_ns > b->device_ns ? -1 : 1;
    if (a->host_ns != b->host_ns)
        return a->host_ns > b->host_ns ? -1 : 1;
    return by_name(left, right);
}

static void add_to(struct operator_kind *kind, const struct operator_kind *more)
{
    kind->count += more->count;
    kind->device_ns = intervals_sum_ns(kind->device_ns, more->device_ns);
    kind->host_ns = intervals_sum_ns(kind->host_ns, more->host_ns);
    kind->flops = intervals_sum_ns(kind->flops, more->flops);
    kind->bytes = intervals_sum_ns(kind->bytes, more->bytes);
}

static enum status find_keys(const struct gathering *gathering, struct key **found)
{
    enum status status = STATUS_OK;
    struct key *keys = malloc(((size_t)gathering->count + 1) * sizeof *keys);

    *found = keys;
    if (keys == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld operators", (long long)gathering->count);
    for (int64_t i = 0; i < gathering->count; i++) {
        const struct counted *item = &gathering->items[i];
        const struct trace_event *event =
            item->forward != NONE ? gathering->items[item->forward].event : item->event;
        const struct event_operator *stated = stated_of(gathering, event);
        keys[i] = (struct key){ .name = event->name,
                                .dims = stated != NULL ? stated->dims : 0,
                                .backward = item->forward != NONE,
                                .item = i };
    }
    qsort(keys, (size_t)gathering->count, sizeof *keys, by_key);

out:
    return status;
}

/* Whether key number `i` is not of the same kind as the one before it. */
static bool is_new(const struct key *keys, int64_t i)
{
    return i == 0 || keys[i].name != keys[i - 1].name || keys[i].dims != keys[i - 1].dims ||
           keys[i].backward != keys[i - 1].backward;
}

/* Adds up neighbours of one name and shape; returns how many rows are left. */
static int64_t merge(struct operator_kind *rows, int64_t count)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++)
        if (kept > 0 && by_name(&rows[kept - 1], &rows[i]) == 0)
            add_to(&rows[kept - 1], &rows[i]);
        else
            rows[kept++] = rows[i];
    return kept;
}

static int64_t row_named(const struct operator_kinds *kinds, const struct operator_kind *like)
{
    int64_t row = 0;

    while (row < kinds->count && by_name(&kinds->rows[row], like) != 0) row++;
    return row;
}

/* Turns items of events into rows of them. */
static enum status find_rows(const struct operator_kinds *kinds, const struct gathering *gathering,
                             const struct key *keys)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = gathering->timeline->trace;
    int64_t *rows, row = NONE;

    if (gathering->item_of == NULL)
        return STATUS_OK;
    rows = malloc(((size_t)gathering->count + 1) * sizeof *rows);
    if (rows == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld operators", (long long)gathering->count);
    for (int64_t i = 0; i < gathering->count; i++) {
        struct operator_kind like = { .dims = keys[i].dims };
        if (is_new(keys, i)) {
            kind_name(like.name, trace_file_name(trace, keys[i].name), keys[i].backward);
            row = row_named(kinds, &like);
        }
        rows[keys[i].item] = row;
    }
    for (int64_t i = 0; i < trace->event_count; i++)
        if (gathering->item_of[i] != NONE)
            gathering->item_of[i] = rows[gathering->item_of[i]];

out:
    free(rows);
    return status;
}

static enum status group(struct operator_kinds *kinds, const struct gathering *gathering)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = gathering->timeline->trace;
    struct key *keys = NULL;
    size_t different = 1;

    TRY(find_keys(gathering, &keys));
    for (int64_t i = 0; i < gathering->count; i++) different += is_new(keys, i);
    kinds->rows = calloc(different, sizeof *kinds->rows);
    if (kinds->rows == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for kinds of %lld operators",
             (long long)gathering->count);
    for (int64_t i = 0; i < gathering->count; i++) {
        const struct counted *item = &gathering->items[keys[i].item];
        struct operator_kind one = { .dims = keys[i].dims,
                                     .count = item->counts,
                                     .device_ns = item->device_ns,
                                     .host_ns = item->host_ns,
                                     .flops = item->flops,
                                     .bytes = item->bytes };
        if (is_new(keys, i)) {
            kind_name(one.name, trace_file_name(trace, keys[i].name), keys[i].backward);
            kinds->rows[kinds->count++] = one;
        } else {
            add_to(&kinds->rows[kinds->count - 1], &one);
        }
        kinds->device_ns = intervals_sum_ns(kinds->device_ns, one.device_ns);
        kinds->host_ns = intervals_sum_ns(kinds->host_ns, one.host_ns);
    }
    qsort(kinds->rows, (size_t)kinds->count, sizeof *kinds->rows, by_name);
    kinds->count = merge(kinds->rows, kinds->count);
    qsort(kinds->rows, (size_t)kinds->count, sizeof *kinds->rows, by_time);
    TRY(find_rows(kinds, gathering, keys));

out:
    free(keys);
    return status;
}

/* Before anything else: NONE for every event. */
static enum status want_items(struct gathering *gathering, const struct trace_file *trace)
{
    enum status status = STATUS_OK;
    size_t size = ((size_t)trace->event_count + 1) * sizeof *gathering->item_of;

    gathering->item_of = malloc(size);
    if (gathering->item_of == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld events", (long long)trace->event_count);
    for (int64_t i = 0; i < trace->event_count; i++) gathering->item_of[i] = NONE;

out:
    return status;
}

/* What is needed until all items are found and joined: most of the memory. */
static void release_search(struct gathering *gathering)
{
    free(gathering->roles);
    free(gathering->device_ns);
    free(gathering->candidates);
    free(gathering->run);
    gathering->roles = NULL;
    gathering->device_ns = gathering->candidates = gathering->run = NULL;
}

enum status operator_kinds_make(struct operator_kinds *kinds, const struct timeline *timeline,
                                int64_t **row_of)
{
    enum status status = STATUS_OK;
    const struct trace_file *trace = timeline->trace;
    size_t names = (size_t)trace_file_name_count(trace) + 1, operators = 1;
    struct gathering *gathering = calloc(1, sizeof *gathering);
    struct replayed replayed = { NULL, 0, NULL };

    *kinds = (struct operator_kinds){ .rows = NULL };
    if (row_of != NULL)
        *row_of = NULL;
    TRY(replayed_make(&replayed, timeline));
    operators += (size_t)replayed.count;
    for (int64_t i = 0; i < timeline->host_count; i++)
        operators += timeline->host[i]->kind == EVENT_KIND_OPERATOR;
    if (gathering == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for kinds of %zu operators", operators);
    gathering->timeline = timeline;
    if (row_of != NULL)
        TRY(want_items(gathering, trace));
    gathering->roles = calloc(names, sizeof *gathering->roles);
    gathering->device_ns = calloc((size_t)trace->event_count + 1, sizeof *gathering->device_ns);
    gathering->items = malloc(operators * sizeof *gathering->items);
    gathering->candidates = malloc(operators * sizeof *gathering->candidates);
    gathering->run = malloc(operators * sizeof *gathering->run);
    if (gathering->roles == NULL || gathering->device_ns == NULL || gathering->items == NULL ||
        gathering->candidates == NULL || gathering->run == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for kinds of %zu operators", operators);
    for (uint32_t i = 0; i + 1 < names; i++)
        gathering->roles[i] = role_of(trace_file_name(trace, i));
    find_items(gathering);
    add_replayed(gathering, &replayed);
    join_nodes(gathering);
    release_search(gathering);
    TRY(group(kinds, gathering));
    if (row_of != NULL) {
        *row_of = gathering->item_of;
        gathering->item_of = NULL;
    }

out:
    replayed_release(&replayed);
    if (gathering != NULL) {
        release_search(gathering);
        free(gathering->item_of);
        free(gathering->items);
    }
    free(gathering);
    return status;
}

void operator_kinds_release(struct operator_kinds *kinds)
{
    free(kinds->rows);
    *kinds = (struct operator_kinds){ .rows = NULL };
}
