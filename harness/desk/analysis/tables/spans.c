/* One sweep per thread over spans and calls, by start, with a stack of those that are open. */
#include "harness/desk/analysis/tables/spans.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/base/system/arena.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/captures.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/trace/trace_file.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- Memory allocated in a span --- */

/* The bytes allocated, less those released, between two moments: by PyTorch's caching allocators
 * and ours ("[memory]" of a trace), on all threads. */
struct allocated_bytes {
    int64_t host, device;
};

struct allocated_moment {
    int64_t at_ns;
    struct allocated_bytes before; /* since the trace began, without this moment's */
};

struct allocated {
    struct allocated_moment *moments; /* by time; the one after the last has the sum of all */
    int64_t count;
    int64_t near; /* where the last span began: the next one is not far */
};

COMPARATOR(by_time, struct allocated_moment, ASCENDING(at_ns))

/* Sums up to each moment, so that a span costs two searches, which begin where the last one
 * ended. */
static struct allocated allocated_of(struct arena *arena, const struct trace_file *trace)
{
    struct allocated allocated = { .count = 0 };
    struct allocated_bytes sum = { 0, 0 };

    if (trace->block_count == 0)
        return allocated;
    allocated.moments = ARENA_NEW(arena, struct allocated_moment, trace->block_count + 1);
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        struct allocated_moment *moment = &allocated.moments[allocated.count];
        if (event->kind != EVENT_KIND_MEMORY || allocated.count == trace->block_count)
            continue;
        *moment = (struct allocated_moment){ .at_ns = event->start_ns };
        if (trace->blocks[event->detail].on_device)
            moment->before.device = event->bytes;
        else
            moment->before.host = event->bytes;
        allocated.count++;
    }
    sort_items(allocated.moments, allocated.count, sizeof *allocated.moments, by_time);
    for (int64_t i = 0; i <= allocated.count; i++) {
        struct allocated_bytes own = { 0, 0 };
        if (i < allocated.count)
            own = allocated.moments[i].before;
        allocated.moments[i].before = sum;
        sum.host = (int64_t)((uint64_t)sum.host + (uint64_t)own.host);
        sum.device = (int64_t)((uint64_t)sum.device + (uint64_t)own.device);
    }
    return allocated;
}

/* The first moment at or after `at_ns`. */
static int64_t first(const struct allocated *allocated, int64_t at_ns, int64_t near)
{
    int64_t low = 0, high = allocated->count;

    BISECT_NEAR(low, high, near, i, allocated->moments[i].at_ns < at_ns);
    return low;
}

/* Both moments count. */
static struct allocated_bytes allocated_within(struct allocated *allocated, int64_t start_ns,
                                               int64_t end_ns)
{
    struct allocated_bytes from, to;
    int64_t end;

    if (allocated->count == 0)
        return (struct allocated_bytes){ 0, 0 };
    allocated->near = first(allocated, start_ns, allocated->near);
    end = end_ns < INT64_MAX ? first(allocated, end_ns + 1, allocated->near) : allocated->count;
    from = allocated->moments[allocated->near].before;
    to = allocated->moments[end].before;
    return (struct allocated_bytes){
        (int64_t)((uint64_t)to.host - (uint64_t)from.host),
        (int64_t)((uint64_t)to.device - (uint64_t)from.device),
    };
}

/* --- What bounds an operator --- */

const char *bound_name(enum bound bound)
{
    static const char *const names[BOUNDS] = { NULL, "compute", "memory", "cache" };

    return names[bound];
}

struct roofline roofline_of(const struct trace_ceilings *ceilings, int64_t flops, int64_t bytes,
                            double ns)
{
    struct roofline roofline = { BOUND_UNKNOWN, NAN };
    double compute_ns = 1e9 * (double)flops / ceilings->flops_per_second,
           memory_ns = 1e9 * (double)bytes / ceilings->bytes_per_second;

    if (!(ceilings->flops_per_second > 0) || !(ceilings->bytes_per_second > 0) || bytes <= 0 ||
        !(ns > 0))
        return roofline;
    if (compute_ns > ns)
        return roofline;
    if (memory_ns > ns)
        return (struct roofline){ BOUND_CACHE, NAN };
    roofline.bound = compute_ns > memory_ns ? BOUND_COMPUTE : BOUND_MEMORY;
    roofline.share = fmax(compute_ns, memory_ns) / ns;
    return roofline;
}

struct roofline roofline_counted(const struct hardware_counters *counters)
{
    double share = fmax(counters->dram_throughput, counters->tensor_active);

    if (!(share >= 0.6))
        return (struct roofline){ BOUND_UNKNOWN, NAN };
    return (struct roofline){
        share > counters->tensor_active || isnan(counters->tensor_active) ? BOUND_MEMORY
                                                                          : BOUND_COMPUTE,
        fmin(share, 1),
    };
}

void counters_print(char text[COUNTERS_TEXT], const struct hardware_counters *counters)
{
    const char *bound = bound_name(roofline_counted(counters).bound);

    text[0] = '\0';
#define COUNTER(member, name, metric)                                                              \
    if (isfinite(counters->member))                                                                \
        text_join(text, COUNTERS_TEXT, ", ", name " %.0f%%", 100 * counters->member);
    HARDWARE_COUNTERS(COUNTER)
#undef COUNTER
    if (bound != NULL)
        text_append(text, COUNTERS_TEXT, "; near the limit of %s", bound);
}

/* --- Spans --- */

/* Rows with one name. */
enum row_kind { ROW_OPERATOR, ROW_ANNOTATION, ROW_CALL, KINDS };

struct open_span {
    const struct trace_event *event;
    int64_t row;
    int64_t inside;    /* spans and calls directly in it */
    bool has_its_like; /* and one of them is of its own row */
    bool outermost;    /* of its row */
};

struct sweep {
    struct arena *arena, *scratch;
    const struct timeline *timeline;
    struct caused_time caused;
    bool *is_hidden; /* by name */
    int64_t *row_of; /* by name and kind: number + 1; 0: none yet */
    struct span_row *rows;
    int *open_of_row;
    int64_t count, room, open_room;
    struct allocated allocated;
    struct replayed replayed;
    struct open_span stack[SPANS_DEPTH];
    int depth;
};

/* Sums of bytes wrap: a broken file may state any. */
static void add_bytes(int64_t *sum, int64_t bytes)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)bytes);
}

static void take_bytes(int64_t *sum, int64_t bytes)
{
    *sum = (int64_t)((uint64_t)*sum - (uint64_t)bytes);
}

/* --- Rows --- */

/* An operator, an annotation and a call of one name are three rows. */
static int64_t find_row(struct sweep *sweep, uint32_t name, enum row_kind kind)
{
    int64_t *row = &sweep->row_of[(int64_t)name * KINDS + kind];

    if (*row == 0) {
        ARENA_ROOM(sweep->arena, sweep->rows, sweep->count, sweep->room);
        ARENA_ROOM(sweep->scratch, sweep->open_of_row, sweep->count, sweep->open_room);
        sweep->rows[sweep->count] = (struct span_row){ .name = name,
                                                       .is_phase = kind == ROW_ANNOTATION,
                                                       .is_call = kind == ROW_CALL };
        *row = ++sweep->count;
    }
    return *row - 1;
}

/* --- The sweep --- */

/* A span that has nothing in it but one of its own row is one call with that. */
static void close_spans(struct sweep *sweep, const struct trace_event *next)
{
    while (sweep->depth > 0) {
        const struct open_span *top = &sweep->stack[sweep->depth - 1];
        if (next != NULL && next->track == top->event->track && next->start_ns < top->event->end_ns)
            return;
        sweep->open_of_row[top->row]--;
        sweep->rows[top->row].count -= top->inside == 1 && top->has_its_like;
        sweep->depth--;
    }
}

/* Takes from the span around what belongs to the one that begins in it. */
static void take_from_parent(struct sweep *sweep, const struct trace_event *event, int64_t number,
                             struct allocated_bytes memory)
{
    struct open_span *parent = &sweep->stack[sweep->depth - 1];
    struct span_row *row = &sweep->rows[parent->row];
    int64_t end = event->end_ns < parent->event->end_ns ? event->end_ns : parent->event->end_ns;

    row->host_self_ns -= end - event->start_ns;
    take_bytes(&row->host_self_bytes, memory.host);
    take_bytes(&row->device_self_bytes, memory.device);
    parent->inside++;
    parent->has_its_like = parent->has_its_like || parent->row == number;
}

static void open_span(struct sweep *sweep, const struct trace_event *event)
{
    struct allocated_bytes memory;
    struct span_row *row;
    int64_t number, ns = event->end_ns - event->start_ns;
    enum row_kind kind = trace_event_is_call(event)             ? ROW_CALL
                         : event->kind == EVENT_KIND_ANNOTATION ? ROW_ANNOTATION
                                                                : ROW_OPERATOR;
    bool outermost;

    if (sweep->depth == SPANS_DEPTH)
        return;
    number = find_row(sweep, event->name, kind);
    memory = allocated_within(&sweep->allocated, event->start_ns, event->end_ns);
    outermost = sweep->open_of_row[number] == 0;
    row = &sweep->rows[number];
    row->count++;
    row->host_self_ns = intervals_sum_ns(row->host_self_ns, ns);
    add_bytes(&row->host_self_bytes, memory.host);
    add_bytes(&row->device_self_bytes, memory.device);
    if (outermost) {
        row->host_total_ns = intervals_sum_ns(row->host_total_ns, ns);
        add_bytes(&row->host_bytes, memory.host);
        add_bytes(&row->device_bytes, memory.device);
    }
    if (event->kind == EVENT_KIND_OPERATOR && event->detail != NO_DETAIL)
        row->flops =
            intervals_sum_ns(row->flops, sweep->timeline->trace->operators[event->detail].flops);
    if (sweep->depth > 0)
        take_from_parent(sweep, event, number, memory);
    sweep->open_of_row[number]++;
    sweep->stack[sweep->depth++] =
        (struct open_span){ .event = event, .row = number, .outermost = outermost };
}

/* Work counts for all spans around its call, once for each row, and as own work for the innermost.
 */
static void take_work(struct sweep *sweep, const struct trace_event *call)
{
    int64_t index = call - sweep->timeline->trace->events, ns = caused_ns(&sweep->caused, index);
    int64_t inside_ns = sweep->replayed.count > 0 ? sweep->replayed.work_ns[index] : 0;
    bool innermost = true;

    if (ns == 0)
        return;
    for (int i = sweep->depth; i-- > 0;) {
        struct span_row *row = &sweep->rows[sweep->stack[i].row];
        if (row->is_call)
            continue;
        if (sweep->stack[i].outermost)
            row->device_total_ns = intervals_sum_ns(row->device_total_ns, ns);
        if (innermost)
            row->device_self_ns = intervals_sum_ns(row->device_self_ns, ns - inside_ns);
        innermost = false;
    }
}

/* The work of graphs has no time on the host. */
static void add_replayed(struct sweep *sweep)
{
    for (int64_t i = 0; i < sweep->replayed.count; i++) {
        const struct replayed_span *span = &sweep->replayed.items[i];
        int64_t number =
            find_row(sweep, span->event->name, span->is_phase ? ROW_ANNOTATION : ROW_OPERATOR);
        struct span_row *row = &sweep->rows[number];
        row->count++;
        row->replayed_count++;
        row->device_total_ns = intervals_sum_ns(row->device_total_ns, span->total_ns);
        row->device_self_ns = intervals_sum_ns(row->device_self_ns, span->self_ns);
    }
}

COMPARATOR(by_device_time, struct span_row,
           DESCENDING(device_total_ns) ?: DESCENDING(host_total_ns) ?: ASCENDING(name)
           ?: ASCENDING(is_call) ?: ASCENDING(is_phase))

struct spans spans_of(struct arena *arena, const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    uint32_t names = trace_file_name_count(trace);
    SCRATCH_ARENA(scratch, arena);
    struct sweep sweep = { .arena = arena,
                           .scratch = scratch,
                           .timeline = timeline,
                           .caused = timeline_caused_time(scratch, timeline),
                           .is_hidden = ARENA_NEW(scratch, bool, names),
                           .row_of = ARENA_NEW(scratch, int64_t, (int64_t)names * KINDS),
                           .allocated = allocated_of(scratch, trace),
                           .replayed = replayed_of(scratch, timeline) };

    for (uint32_t i = 0; i < names; i++)
        sweep.is_hidden[i] = name_is_hidden(trace_file_name(trace, i));
    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (sweep.is_hidden[event->name] || !timeline_counts(timeline, event))
            continue;
        close_spans(&sweep, event);
        if (trace_event_is_call(event))
            take_work(&sweep, event);
        open_span(&sweep, event);
    }
    close_spans(&sweep, NULL);
    add_replayed(&sweep);
    if (sweep.count > 0)
        qsort(sweep.rows, (size_t)sweep.count, sizeof *sweep.rows, by_device_time);
    return (struct spans){ sweep.rows, sweep.count, sweep.allocated.count > 0 };
}

const struct span_row *spans_find(const struct spans *spans, const struct trace_file *trace,
                                  const char *name, bool begins)
{
    for (int64_t i = 0; i < spans->count; i++) {
        const char *row = trace_file_name(trace, spans->rows[i].name);
        if (spans->rows[i].count == spans->rows[i].replayed_count)
            continue;
        if (begins ? strncmp(row, name, strlen(name)) == 0 : strcmp(row, name) == 0)
            return &spans->rows[i];
    }
    return NULL;
}

/* --- Orders --- */

static const struct {
    const char *name;
    size_t offset; /* of a 64-bit member of a row */
    bool per_call;
} orders[SPANS_ORDER_COUNT] = {
#define ORDER(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct span_row, member), false                                             \
    }
    [SPANS_BY_DEFAULT] = ORDER("", device_total_ns),
    [SPANS_BY_SELF_DEVICE_TIME_TOTAL] = ORDER("self_device_time_total", device_self_ns),
    [SPANS_BY_DEVICE_TIME_TOTAL] = ORDER("device_time_total", device_total_ns),
    [SPANS_BY_DEVICE_TIME] = { "device_time", offsetof(struct span_row, device_total_ns), true },
    [SPANS_BY_SELF_CPU_TIME_TOTAL] = ORDER("self_cpu_time_total", host_self_ns),
    [SPANS_BY_CPU_TIME_TOTAL] = ORDER("cpu_time_total", host_total_ns),
    [SPANS_BY_CPU_TIME] = { "cpu_time", offsetof(struct span_row, host_total_ns), true },
    [SPANS_BY_COUNT] = ORDER("count", count),
    [SPANS_BY_SELF_DEVICE_MEMORY_USAGE] = ORDER("self_device_memory_usage", device_self_bytes),
    [SPANS_BY_DEVICE_MEMORY_USAGE] = ORDER("device_memory_usage", device_bytes),
    [SPANS_BY_SELF_CPU_MEMORY_USAGE] = ORDER("self_cpu_memory_usage", host_self_bytes),
    [SPANS_BY_CPU_MEMORY_USAGE] = ORDER("cpu_memory_usage", host_bytes),
    [SPANS_BY_FLOPS] = ORDER("flops", flops),
#undef ORDER
};

static double value_of(const struct span_row *row, enum span_order order)
{
    int64_t value;

    memcpy(&value, (const char *)row + orders[order].offset, sizeof value);
    return orders[order].per_call ? (double)value / (double)(row->count > 0 ? row->count : 1)
                                  : (double)value;
}

static int by_order(const void *left, const void *right, void *context)
{
    const struct span_row *a = *(const struct span_row *const *)left;
    const struct span_row *b = *(const struct span_row *const *)right;
    enum span_order order = *(const enum span_order *)context;
    double x = value_of(a, order), y = value_of(b, order);

    if (x > y || x < y)
        return x > y ? -1 : 1;
    return (a > b) - (a < b);
}

void spans_sort(const struct span_row **rows, const struct spans *spans, enum span_order order)
{
    for (int64_t i = 0; i < spans->count; i++) rows[i] = &spans->rows[i];
    if (order != SPANS_BY_DEFAULT)
        qsort_r(rows, (size_t)spans->count, sizeof *rows, by_order, &order);
}

const char *span_order_name(enum span_order order)
{
    return (unsigned)order < SPANS_ORDER_COUNT ? orders[order].name : "";
}

/* `name` with the word for a kind of device as "device". */
static void with_device(char *text, size_t size, const char *name)
{
    static const char *const words[] = { "cuda_", "xpu_" };
    size_t length = 0;

    while (*name != '\0' && length + sizeof "device" < size) {
        size_t word = 0;
        for (size_t i = 0; i < ARRAY_SIZE(words) && word == 0; i++)
            word = strncmp(name, words[i], strlen(words[i])) == 0 ? strlen(words[i]) - 1 : 0;
        if (word > 0) {
            memcpy(text + length, "device", 6);
            length += 6;
            name += word;
        } else {
            text[length++] = *name++;
        }
    }
    text[length] = '\0';
}

bool span_order_find(const char *name, enum span_order *order)
{
    char text[64];

    with_device(text, sizeof text, name);
    for (int i = SPANS_BY_DEFAULT + 1; i < SPANS_ORDER_COUNT; i++) {
        *order = (enum span_order)i;
        if (strcmp(text, orders[i].name) == 0)
            return true;
    }
    *order = SPANS_BY_DEFAULT;
    return false;
}
