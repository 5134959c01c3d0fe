#include "tests/kineto_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- Reading ------------------------------------------------------------------------------------ */

struct kineto_file kineto_file_read(const char *path)
{
    struct kineto_file file = { 0 };
    gzFile stream = gzopen(path, "rb");
    size_t room = 1 << 20, length = 0;
    int got;

    assert_non_null(stream);
    file.text = malloc(room);
    while ((got = gzread(stream, file.text + length, (unsigned)(room - length - 1))) > 0) {
        length += (size_t)got;
        if (room - length < 4096)
            file.text = realloc(file.text, room *= 2);
        assert_non_null(file.text);
    }
    assert_int_equal(got, 0);
    assert_int_equal(gzclose(stream), Z_OK);
    file.text[length] = '\0';
    assert_int_equal(strlen(file.text), length);
    file.root = cJSON_ParseWithOpts(file.text, NULL, true);
    assert_non_null(file.root);
    file.events = cJSON_GetObjectItemCaseSensitive(file.root, "traceEvents");
    assert_true(cJSON_IsArray(file.events));
    return file;
}

void kineto_file_release(struct kineto_file *file)
{
    cJSON_Delete(file->root);
    free(file->text);
    memset(file, 0, sizeof *file);
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Microseconds with three decimals lie far below 2^53 ns: rounding gives back what was written. */
static int64_t exact_ns(const cJSON *number)
{
    assert_true(cJSON_IsNumber(number) && fabs(number->valuedouble) < 0x1p53 / 1000);
    return llround(number->valuedouble * 1000);
}

static int64_t integer_or(const cJSON *number, int64_t otherwise)
{
    return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : otherwise;
}

static struct trace_event read_event(const cJSON *json)
{
    const cJSON *category = member(json, "cat"), *duration = member(json, "dur");
    const cJSON *args = member(json, "args");
    struct trace_event event = {
        .json = json,
        .args = args,
        .phase = cJSON_GetStringValue(member(json, "ph"))[0],
        .category = cJSON_IsString(category) ? category->valuestring : "",
        .name = cJSON_GetStringValue(member(json, "name")),
        .pid = integer_or(member(json, "pid"), -2),
        .tid = integer_or(member(json, "tid"), -2),
        .start_ns = exact_ns(member(json, "ts")),
        .correlation = integer_or(member(args, "correlation"), 0),
    };

    assert_non_null(event.name);
    assert_true(event.pid >= -1 && event.tid >= -1);
    event.end_ns = event.start_ns + (duration != NULL ? exact_ns(duration) : 0);
    assert_int_equal(duration != NULL, event.phase == 'X');
    return event;
}

struct trace_events trace_events_of(const struct kineto_file *file)
{
    struct trace_events events = { 0 };
    const cJSON *json;

    events.list = calloc((size_t)cJSON_GetArraySize(file->events) + 1, sizeof *events.list);
    assert_non_null(events.list);
    cJSON_ArrayForEach(json, file->events)
    {
        const char *phase = cJSON_GetStringValue(member(json, "ph"));
        assert_true(phase != NULL && strlen(phase) == 1 && strchr("XisfM", phase[0]) != NULL);
        if (phase[0] != 'M')
            events.list[events.count++] = read_event(json);
    }
    return events;
}

void trace_events_release(struct trace_events *events)
{
    free(events->list);
    memset(events, 0, sizeof *events);
}

bool event_is(const struct trace_event *event, const char *category)
{
    return strcmp(event->category, category) == 0;
}

bool event_is_work(const struct trace_event *event)
{
    return event_is(event, "kernel") || event_is(event, "gpu_memcpy") ||
           event_is(event, "gpu_memset");
}

static bool is_call(const struct trace_event *event)
{
    return event_is(event, "cuda_runtime") || event_is(event, "cuda_driver");
}

int64_t event_integer(const struct trace_event *event, const char *argument)
{
    const cJSON *number = member(event->args, argument);

    if (!cJSON_IsNumber(number))
        fail_msg("%s %s has no number \"%s\"", event->category, event->name, argument);
    return (int64_t)number->valuedouble;
}

const char *event_text(const struct trace_event *event, const char *argument)
{
    const cJSON *text = member(event->args, argument);

    if (!cJSON_IsString(text))
        fail_msg("%s %s has no text \"%s\"", event->category, event->name, argument);
    return text->valuestring;
}

int count_events(const struct trace_events *events, const char *category)
{
    int count = 0;

    for (int i = 0; i < events->count; i++) count += event_is(&events->list[i], category);
    return count;
}

const struct trace_event *the_event(const struct trace_events *events, const char *category,
                                    const char *name)
{
    const struct trace_event *found = NULL;

    for (int i = 0; i < events->count; i++)
        if (event_is(&events->list[i], category) && strcmp(events->list[i].name, name) == 0) {
            assert_null(found);
            found = &events->list[i];
        }
    if (found == NULL)
        fail_msg("no %s called %s", category, name);
    return found;
}

/* --- Rules -------------------------------------------------------------------------------------- */

/* "12.345", also "-0.500", and nothing else, after every "ts" and "dur". */
void check_times_have_three_decimals(const struct kineto_file *file)
{
    static const char *const keys[] = { "\"ts\":", "\"dur\":" };
    int found = 0;

    for (int k = 0; k < 2; k++)
        for (const char *at = file->text; (at = strstr(at, keys[k])) != NULL; found++) {
            size_t whole, fraction;
            at += strlen(keys[k]);
            at += *at == '-';
            whole = strspn(at, "0123456789");
            assert_true(whole >= 1 && (whole == 1 || at[0] != '0') && at[whole] == '.');
            at += whole + 1;
            fraction = strspn(at, "0123456789");
            assert_int_equal(fraction, 3);
            assert_true(at[fraction] == ',' || at[fraction] == '}');
        }
    assert_true(found > 0);
}

static const char *const device_arguments[] = { "device", "context", "stream", "correlation" };
static const char *const kernel_arguments[] = { "queued",        "registers per thread",
                                                "shared memory", "blocks per SM",
                                                "warps per SM",  "est. achieved occupancy %" };
static const char *const copy_arguments[] = { "bytes", "memory bandwidth (GB/s)" };
static const char *const step_arguments[] = { "samples", "tokens", "padded tokens", "flops" };

static void check_arguments(const struct trace_event *event, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) event_integer(event, names[i]);
}

static void check_three(const struct trace_event *event, const char *name)
{
    const cJSON *sizes = member(event->args, name), *size;

    assert_true(cJSON_IsArray(sizes) && cJSON_GetArraySize(sizes) == 3);
    cJSON_ArrayForEach(size, sizes) assert_true(cJSON_IsNumber(size) && size->valuedouble >= 1);
}

/* Each kind of event has what readers of PyTorch's traces take for granted. */
void check_members_of_events(const struct trace_events *events)
{
    static const char *const known[] = { "cpu_op",       "user_annotation",   "gpu_user_annotation",
                                         "kernel",       "gpu_memcpy",        "gpu_memset",
                                         "cuda_runtime", "cuda_driver",       "cuda_sync",
                                         "ac2g",         "cpu_instant_event", "overhead" };

    for (int i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->list[i];
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && !event_is(event, known[k])) k++;
        if (k == sizeof known / sizeof known[0])
            fail_msg("unknown category \"%s\"", event->category);
        assert_int_equal(event->phase == 's' || event->phase == 'f', event_is(event, "ac2g"));
        assert_int_equal(event->phase == 'i', event_is(event, "cpu_instant_event"));
        assert_true(event->end_ns >= event->start_ns && event->start_ns >= 0);
        if (event_is_work(event)) {
            check_arguments(event, device_arguments, 4);
            assert_int_equal(event->pid, event_integer(event, "device"));
            assert_int_equal(event->tid, event_integer(event, "stream"));
        }
        if (event_is(event, "kernel")) {
            check_arguments(event, kernel_arguments, 6);
            check_three(event, "grid");
            check_three(event, "block");
        }
        if (event_is(event, "gpu_memcpy") || event_is(event, "gpu_memset"))
            check_arguments(event, copy_arguments, 2);
        if (is_call(event))
            assert_true(event->correlation > 0);
        if (event_is(event, "user_annotation") && strncmp(event->name, "ProfilerStep#", 13) == 0)
            check_arguments(event, step_arguments, 4);
        if (event_is(event, "cpu_op"))
            assert_int_equal(cJSON_GetArraySize(member(event->args, "Input Dims")),
                             cJSON_GetArraySize(member(event->args, "Input type")));
    }
}

/* By row of the display, then by start, outer first; of equal ones the first in the file is the outer. */
static int by_place(const void *a, const void *b)
{
    const struct trace_event *x = *(const struct trace_event *const *)a,
                             *y = *(const struct trace_event *const *)b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

static struct trace_event **sorted(const struct trace_events *events, int *count)
{
    struct trace_event **list = calloc((size_t)events->count + 1, sizeof *list);

    assert_non_null(list);
    *count = 0;
    for (int i = 0; i < events->count; i++)
        if (events->list[i].phase == 'X')
            list[(*count)++] = &events->list[i];
    qsort(list, (size_t)*count, sizeof(struct trace_event *), by_place);
    return list;
}

/* On one row of the display two intervals are apart, or one holds the other. Two of device work, of
 * phases or of calls never hold each other on the same stream or thread: but calls may lie in phases. */
void check_intervals_nest(const struct trace_events *events)
{
    const struct trace_event *open[64];
    int count, depth = 0;
    struct trace_event **list = sorted(events, &count);

    for (int i = 0; i < count; i++) {
        const struct trace_event *event = list[i];
        while (depth > 0 &&
               (open[depth - 1]->pid != event->pid || open[depth - 1]->tid != event->tid ||
                open[depth - 1]->end_ns <= event->start_ns))
            depth--;
        if (depth > 0 && open[depth - 1]->end_ns < event->end_ns)
            fail_msg("%s %s and %s %s overlap in part", open[depth - 1]->category,
                     open[depth - 1]->name, event->category, event->name);
        if (depth > 0 && event_is_work(open[depth - 1]))
            fail_msg("%s lies in %s", event->name, open[depth - 1]->name);
        assert_true(depth < 64);
        open[depth++] = event;
    }
    free(list);
}

static int by_correlation(const void *a, const void *b)
{
    const struct trace_event *x = *(const struct trace_event *const *)a,
                             *y = *(const struct trace_event *const *)b;

    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* Runtime and driver calls by correlation; ids are given once. */
static const struct trace_event **calls_of(const struct trace_events *events, int *count)
{
    const struct trace_event **calls = calloc((size_t)events->count + 1, sizeof *calls);

    assert_non_null(calls);
    *count = 0;
    for (int i = 0; i < events->count; i++)
        if (is_call(&events->list[i]))
            calls[(*count)++] = &events->list[i];
    qsort(calls, (size_t)*count, sizeof *calls, by_correlation);
    for (int i = 1; i < *count; i++) assert_true(calls[i - 1]->correlation < calls[i]->correlation);
    return calls;
}

static const struct trace_event *call_of(const struct trace_event **calls, int count,
                                         const struct trace_event *work)
{
    const struct trace_event **found =
        bsearch(&work, calls, (size_t)count, sizeof *calls, by_correlation);

    return found != NULL ? *found : NULL;
}

/* Exactly one call has caused a piece of device work, and began before it. A call has caused one piece,
 * but for the launch of a graph. */
void check_work_joins_one_call(const struct trace_events *events)
{
    int count;
    const struct trace_event **calls = calls_of(events, &count);
    int *caused = calloc((size_t)events->count + 1, sizeof *caused);

    assert_non_null(caused);
    for (int i = 0; i < events->count; i++) {
        const struct trace_event *work = &events->list[i], *call;
        if (!event_is_work(work) && !event_is(work, "cuda_sync"))
            continue;
        call = call_of(calls, count, work);
        if (call == NULL)
            fail_msg("no call has caused %s", work->name);
        assert_true(call->start_ns <= work->start_ns);
        if (!event_is_work(work))
            continue;
        caused[call - events->list]++;
        if (strcmp(call->name, "cudaGraphLaunch") == 0)
            assert_true(event_integer(work, "graph id") > 0);
        else
            assert_int_equal(caused[call - events->list], 1);
    }
    free(caused);
    free(calls);
}

/* Each call that caused work has one arrow, from its start to the start of the first of it. */
void check_flows_pair_up(const struct trace_events *events)
{
    int count;
    const struct trace_event **calls = calls_of(events, &count);
    int64_t *first = calloc((size_t)events->count + 1, sizeof *first);
    int *ends = calloc((size_t)events->count + 1, sizeof *ends);
    int starts = 0, finishes = 0, causes = 0;

    assert_true(first != NULL && ends != NULL);
    for (int i = 0; i < events->count; i++) {
        const struct trace_event *work = &events->list[i], *call;
        if (!event_is_work(work))
            continue;
        call = call_of(calls, count, work);
        causes += first[call - events->list] == 0;
        if (first[call - events->list] == 0 || work->start_ns < first[call - events->list] - 1)
            first[call - events->list] = work->start_ns + 1; /* 0 is none */
    }
    for (int i = 0; i < events->count; i++) {
        const struct trace_event *flow = &events->list[i], *call;
        struct trace_event id = { 0 };
        if (!event_is(flow, "ac2g"))
            continue;
        id.correlation = integer_or(member(flow->json, "id"), 0);
        call = call_of(calls, count, &id);
        assert_non_null(call);
        if (flow->phase == 's') {
            starts++;
            assert_true(flow->start_ns == call->start_ns && flow->tid == call->tid);
            assert_true(first[call - events->list] > 0);
        } else {
            finishes++;
            assert_int_equal(flow->start_ns, first[call - events->list] - 1);
            assert_string_equal(cJSON_GetStringValue(member(flow->json, "bp")), "e");
        }
        ends[call - events->list] += flow->phase == 's' ? 1 : 100;
    }
    for (int i = 0; i < events->count; i++) assert_true(ends[i] == 0 || ends[i] == 101);
    assert_int_equal(starts, causes);
    assert_int_equal(finishes, causes);
    free(calls);
    free(first);
    free(ends);
}

static int64_t external_of(const struct trace_event *event)
{
    return integer_or(member(event->args, "External id"), 0);
}

static bool is_span(const struct trace_event *event)
{
    return event_is(event, "cpu_op") || event_is(event, "user_annotation");
}

/* Host spans are numbered without a gap. A call carries the number of the innermost one around it, found
 * here by looking at all of them, and its work carries the same. */
void check_external_ids(const struct trace_events *events)
{
    int count, spans = 0, highest = 0, call_count;
    struct trace_event **list = sorted(events, &count);
    const struct trace_event **calls = calls_of(events, &call_count);
    const struct trace_event *open[64];
    int depth = 0;

    for (int i = 0; i < count; i++) {
        const struct trace_event *event = list[i];
        while (depth > 0 &&
               (open[depth - 1]->pid != event->pid || open[depth - 1]->tid != event->tid ||
                open[depth - 1]->end_ns < event->start_ns ||
                (open[depth - 1]->end_ns == event->start_ns && is_span(event))))
            depth--;
        if (is_span(event)) {
            int external = (int)external_of(event);
            assert_true(external > 0);
            highest = external > highest ? external : highest;
            spans++;
            assert_true(depth < 64);
            open[depth++] = event;
        } else if (is_call(event)) {
            assert_int_equal(external_of(event), depth > 0 ? external_of(open[depth - 1]) : 0);
        } else if (event_is_work(event)) {
            assert_int_equal(external_of(event), external_of(call_of(calls, call_count, event)));
        }
    }
    assert_int_equal(spans, highest);
    free(list);
    free(calls);
}

/* An annotation on a stream spans exactly the work that was launched in it. */
void check_projections(const struct trace_events *events)
{
    int call_count;
    const struct trace_event **calls = calls_of(events, &call_count);

    for (int p = 0; p < events->count; p++) {
        const struct trace_event *projection = &events->list[p], *annotation = NULL;
        int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
        if (!event_is(projection, "gpu_user_annotation"))
            continue;
        for (int i = 0; i < events->count; i++)
            if (event_is(&events->list[i], "user_annotation") &&
                external_of(&events->list[i]) == external_of(projection))
                annotation = &events->list[i];
        assert_non_null(annotation);
        assert_string_equal(annotation->name, projection->name);
        for (int i = 0; i < events->count; i++) {
            const struct trace_event *work = &events->list[i], *call;
            if (!event_is_work(work) || work->tid != projection->tid)
                continue;
            call = call_of(calls, call_count, work);
            if (call->tid != annotation->tid || call->start_ns < annotation->start_ns ||
                call->start_ns > annotation->end_ns)
                continue;
            start_ns = work->start_ns < start_ns ? work->start_ns : start_ns;
            end_ns = work->end_ns > end_ns ? work->end_ns : end_ns;
        }
        assert_true(projection->start_ns == start_ns && projection->end_ns == end_ns);
    }
    free(calls);
}

/* Each block's row gives the totals after it, by category and in all. */
void check_memory_adds_up(const struct trace_events *events)
{
    int64_t all = -1, sum_of_categories = 0, last_ns = 0;
    struct {
        const char *name;
        int64_t allocated;
    } categories[16];
    int count = 0;

    for (int i = 0; i < events->count; i++) {
        const struct trace_event *event = &events->list[i];
        int64_t bytes;
        int c = 0;
        if (event->phase != 'i' || strcmp(event->name, "[memory]") != 0)
            continue;
        assert_true(event->start_ns >= last_ns);
        last_ns = event->start_ns;
        bytes = event_integer(event, "Bytes");
        while (c < count && strcmp(categories[c].name, event_text(event, "Category")) != 0) c++;
        if (c == count) { /* A category's first row only says what there is. */
            assert_int_equal(bytes, 0);
            assert_true(count < 16);
            categories[count].name = event_text(event, "Category");
            categories[count++].allocated = event_integer(event, "Category Allocated");
            sum_of_categories += categories[c].allocated;
            all = event_integer(event, "Total Allocated");
            continue;
        }
        if (bytes == 0)
            continue;
        categories[c].allocated += bytes;
        all += bytes;
        assert_int_equal(categories[c].allocated, event_integer(event, "Category Allocated"));
        assert_int_equal(all, event_integer(event, "Total Allocated"));
        assert_true(event_integer(event, "Total Reserved") >= all);
        assert_true(event_integer(event, "Addr") > 0);
        sum_of_categories += bytes;
        assert_int_equal(sum_of_categories, all);
    }
}

void check_trace(const struct kineto_file *file, const struct trace_events *events)
{
    check_times_have_three_decimals(file);
    check_members_of_events(events);
    check_intervals_nest(events);
    check_work_joins_one_call(events);
    check_flows_pair_up(events);
    check_external_ids(events);
    check_projections(events);
    check_memory_adds_up(events);
}
