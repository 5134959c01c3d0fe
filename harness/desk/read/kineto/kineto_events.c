/* An event's fields become rows. Categories are those of Kineto; "B" and "E" are joined at the
 * end. */
#include "harness/desk/read/kineto/kineto_events.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/status.h"
#include "harness/desk/read/kineto/event_parser.h"
#include "harness/desk/read/kineto/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Events that are written as two halves --- */

/* "B" where an interval begins, "E" where it ends.
 *
 * On a thread such intervals nest, so an end belongs to the last beginning before it that has no
 * end yet (Chrome's trace event format, "duration events"). The format wants a thread's halves in
 * the order of time; here they may come in any order, and only those of one moment count in the
 * order of the file. */
struct event_half {
    int64_t process, thread;
    int64_t at_ns;
    int64_t offset; /* in the file */
    bool is_end;
    int64_t owner; /* the number of the event that begins here, or NOT_KEPT */

    /* Found by match_halves(). */
    bool paired;
    int64_t end_ns; /* of a beginning that is paired */
    int64_t below;  /* the beginning around this one, while they are matched; -1: none */
};

static enum status keep_half(struct kineto_events *events, const struct event_half *half)
{
    TRY(rows_grow(&events->halves, events->half_count + 1, &events->half_room));
    events->halves[events->half_count++] = *half;

    return STATUS_OK;
}

COMPARATOR(by_thread_and_time, struct event_half,
           ASCENDING(process) ?: ASCENDING(thread) ?: ASCENDING(at_ns) ?: ASCENDING(offset))

/* Says of each half whether it has its other half. They are sorted by thread and time; one pass
 * with a stack then joins them. The stack is a chain through the halves themselves (`below`), so
 * matching needs no memory of its own. */
static void match_halves(struct event_half *halves, int64_t count)
{
    int64_t top = -1;

    if (count == 0)
        return;
    qsort(halves, (size_t)count, sizeof *halves, by_thread_and_time);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && (halves[i - 1].process != halves[i].process ||
                      halves[i - 1].thread != halves[i].thread))
            top = -1;
        if (!halves[i].is_end) {
            halves[i].below = top;
            top = i;
        } else if (top >= 0) {
            halves[top].end_ns = halves[i].at_ns;
            halves[top].paired = halves[i].paired = true;
            top = halves[top].below;
        }
    }
}

/* --- Messages between ranks --- */

/* The message of a collective between ranks, as PyTorch's profiler has stated it since 2.3 in the
 * arguments of NCCL's kernels, which have them from the operator "record_param_comms"
 * (libkineto/src/output_json.cpp): how many elements it takes in and gives out, and of what
 * type. */

/* Names of types are those of PyTorch (c10/core/ScalarType.h). */

static int64_t bytes_of_type(struct event_text type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = { { "Float", 4 },
                  { "BFloat16", 2 },
                  { "Half", 2 },
                  { "Double", 8 },
                  { "Long", 8 },
                  { "Int", 4 },
                  { "Short", 2 },
                  { "Char", 1 },
                  { "Byte", 1 },
                  { "Bool", 1 },
                  { "ComplexFloat", 8 },
                  { "ComplexDouble", 16 },
                  { "UInt16", 2 },
                  { "UInt32", 4 },
                  { "UInt64", 8 },
                  { "ComplexHalf", 4 },
                  { "Float8_e5m2", 1 },
                  { "Float8_e4m3fn", 1 },
                  { "Float8_e5m2fnuz", 1 },
                  { "Float8_e4m3fnuz", 1 } };

    for (size_t i = 0; type.bytes != NULL && i < ARRAY_SIZE(types); i++)
        if (type.length == strlen(types[i].name) &&
            memcmp(type.bytes, types[i].name, type.length) == 0)
            return types[i].bytes;
    return 0;
}

static int64_t elements(const struct event_fields *fields, enum event_number number)
{
    return (fields->present >> number & 1) != 0 ? fields->numbers[number] : -1;
}

/* Its bytes: of what goes in or comes out, whichever is more, as a gather's result and what a
 * scatter starts from are the whole. -1: not stated, or of a type that is not known. */
static int64_t message_bytes(const struct event_fields *fields)
{
    int64_t in = elements(fields, EVENT_MESSAGE_IN), out = elements(fields, EVENT_MESSAGE_OUT);
    int64_t most = in > out ? in : out, bytes = most >= 0 ? bytes_of_type(fields->data_type) : 0;

    return bytes > 0 && most <= INT64_MAX / bytes ? most * bytes : -1;
}

/* --- Events --- */

enum { DIMS_MAX = 1000 }; /* of their text: more than 100 tensors */

/* The largest time, plus or minus, so that the difference of two times fits in 64 bits. */
#define TIME_MAX_NS INT64_C(4000000000000000000)

/* The end of an event whose "E" was not seen yet. */
#define OPEN_NS INT64_MIN

enum { NOT_KEPT = -1 }; /* an owner of a half */

/* The kinds of events by their category, with the spellings of 2021 (PyTorch 1.8). */
static const struct {
    const char *category;
    size_t length;
    enum event_kind kind;
} kinds[] = {
#define KIND(category, kind)                                                                       \
    {                                                                                              \
        category, sizeof category - 1, EVENT_KIND_##kind                                           \
    }
    KIND("cpu_op", OPERATOR),
    KIND("Operator", OPERATOR),
    KIND("kernel", KERNEL),
    KIND("Kernel", KERNEL),
    KIND("cuda_runtime", RUNTIME),
    KIND("Runtime", RUNTIME),
    KIND("hip_runtime", RUNTIME),
    KIND("cuda_driver", DRIVER),
    KIND("hip_driver", DRIVER),
    KIND("xpu_runtime", RUNTIME),
    KIND("xpu_driver", DRIVER),
    KIND("privateuse1_runtime", RUNTIME),
    KIND("privateuse1_driver", DRIVER),
    KIND("gpu_memcpy", MEMCPY),
    KIND("Memcpy", MEMCPY),
    KIND("gpu_memset", MEMSET),
    KIND("Memset", MEMSET),
    KIND("user_annotation", ANNOTATION),
    KIND("gpu_user_annotation", GPU_ANNOTATION),
    KIND("cuda_sync", SYNC),
    KIND("overhead", OVERHEAD),
#undef KIND
};

static bool text_is(struct event_text text, const char *word, size_t length)
{
    return text.length == length && memcmp(text.bytes, word, length) == 0;
}

static bool has(const struct event_fields *fields, enum event_number number)
{
    return (fields->present >> number & 1) != 0;
}

static int64_t number_or(const struct event_fields *fields, enum event_number number,
                         int64_t otherwise)
{
    return has(fields, number) ? fields->numbers[number] : otherwise;
}

/* No text is the name "". */
static enum status add_name(struct kineto_events *events, struct event_text text, uint32_t *name)
{
    return trace_rows_name(events->rows, text.bytes, text.length, name);
}

/* The number of a process or thread. Traces name them in three ways: 7, "stream 7", and "CPU
 * functions". The last becomes a negative number by its place in the table of names; -1 means that
 * none is named. */
static enum status identity(struct kineto_events *events, struct event_text text, int64_t *number)
{
    size_t digits = text.length;
    uint32_t name;

    *number = -1;
    if (text.bytes == NULL || decimal_integer(text.bytes, text.length, number))
        return STATUS_OK;
    /* Scripts that merge ranks write "[TP0] 7": the number alone would be that of another rank as
     * well. */
    if (memchr(text.bytes, '[', text.length) != NULL)
        digits = 0;
    while (digits > 0 && text.bytes[digits - 1] >= '0' && text.bytes[digits - 1] <= '9') digits--;
    if (digits > 0 && text.bytes[digits - 1] == ' ' &&
        decimal_integer(text.bytes + digits, text.length - digits, number))
        return STATUS_OK;
    TRY(add_name(events, text, &name));
    *number = -2 - (int64_t)name;
    events->has_named_tracks = true;

    return STATUS_OK;
}

static bool on_device(enum event_kind kind)
{
    return kind == EVENT_KIND_KERNEL || kind == EVENT_KIND_MEMCPY || kind == EVENT_KIND_MEMSET ||
           kind == EVENT_KIND_SYNC || kind == EVENT_KIND_GPU_ANNOTATION;
}

/* The track of device work is its device and stream, as its arguments tell, because profilers put
 * other numbers into pid and tid; the track of everything else is a process and a thread. */
static enum status track_of(struct kineto_events *events, const struct event_fields *fields,
                            enum event_kind kind, uint32_t *number)
{
    struct event_track track = { .on_device = on_device(kind) };

    TRY(identity(events, fields->pid, &track.process));
    TRY(identity(events, fields->tid, &track.thread));
    track.row_process = track.process;
    if (track.on_device) {
        track.process = number_or(fields, EVENT_DEVICE, track.process);
        track.thread = number_or(fields, EVENT_STREAM, track.thread);
    }
    return trace_rows_track(events->rows, track, number);
}

/* --- Details --- */

/* NaN: unknown. PyTorch writes 0 for a kernel with more shared memory than a block may have without
 * asking for it, as those of cuDNN for sm_90; so it is unknown if the grid alone has a warp per
 * multiprocessor, of 64 at most. */
static float occupancy_percent(const struct event_fields *fields)
{
    bool cannot_be = fields->occupancy_percent == 0 && fields->warps_per_sm >= 1;

    return cannot_be ? NAN : fields->occupancy_percent;
}

static enum status add_kernel(struct kineto_events *events, const struct event_fields *fields,
                              int32_t *detail)
{
    struct event_kernel kernel = { .registers = (uint32_t)number_or(fields, EVENT_REGISTERS, 0),
                                   .shared_bytes = (uint32_t)number_or(fields, EVENT_SHARED, 0),
                                   .blocks_per_sm = fields->blocks_per_sm,
                                   .warps_per_sm = fields->warps_per_sm,
                                   .occupancy_percent = occupancy_percent(fields),
                                   .group_size = number_or(fields, EVENT_GROUP_SIZE, 0),
                                   .graph = number_or(fields, EVENT_GRAPH, 0) };

    if (fields->grid.known && fields->block.known) {
        memcpy(kernel.grid, fields->grid.size, sizeof kernel.grid);
        memcpy(kernel.block, fields->block.size, sizeof kernel.block);
    }
    if (fields->collective.bytes != NULL)
        TRY(add_name(events, fields->collective, &kernel.collective));
    if (fields->group_name.bytes != NULL)
        TRY(add_name(events, fields->group_name, &kernel.group_name));
    if (fields->group_about.bytes != NULL)
        TRY(add_name(events, fields->group_about, &kernel.group_about));
    if (fields->group_ranks.bytes != NULL)
        TRY(add_name(events, fields->group_ranks, &kernel.group_ranks));
    return trace_rows_kernel(events->rows, &kernel, detail);
}

static enum status add_block(struct kineto_events *events, const struct event_fields *fields,
                             int32_t *detail)
{
    struct event_block block = { .on_device = number_or(fields, EVENT_DEVICE_TYPE, 0) !=
                                              0, /* c10::DeviceType: 0 is the CPU */
                                 .device = number_or(fields, EVENT_DEVICE_ID, -1),
                                 .address = (uint64_t)number_or(fields, EVENT_ADDRESS, 0),
                                 .allocated = number_or(fields, EVENT_ALLOCATED, -1),
                                 .reserved = number_or(fields, EVENT_RESERVED, -1),
                                 .category_allocated =
                                     number_or(fields, EVENT_CATEGORY_ALLOCATED, -1) };

    if (fields->memory_category.bytes != NULL)
        TRY(add_name(events, fields->memory_category, &block.category));
    return trace_rows_block(events->rows, &block, detail);
}

static enum status add_step(struct kineto_events *events, const struct event_fields *fields,
                            int32_t *detail)
{
    struct event_step step = { .samples = number_or(fields, EVENT_SAMPLES, -1),
                               .tokens = number_or(fields, EVENT_TOKENS, -1),
                               .padded_tokens = number_or(fields, EVENT_PADDED_TOKENS, -1),
                               .flops = number_or(fields, EVENT_FLOPS, -1) };

    return trace_rows_step(events->rows, &step, detail);
}

/* The same dimensions are the same text, however the file spells them. */
static enum status add_dims(struct kineto_events *events, struct event_text dims, uint32_t *name)
{
    char text[DIMS_MAX + 4];
    size_t length = 0;

    for (size_t i = 0; i < dims.length && length < DIMS_MAX; i++)
        if (!json_is_blank(dims.bytes[i]))
            text[length++] = dims.bytes[i];
    if (length == DIMS_MAX) {
        memcpy(text + length, "...", 3);
        length += 3;
    }
    return add_name(events, (struct event_text){ text, length }, name);
}

static bool is_text(const char *bytes, const char *end, const char *word)
{
    return (size_t)(end - bytes) == strlen(word) && memcmp(bytes, word, strlen(word)) == 0;
}

/* Whether inputs are double, and none are shorter: a rate that is a double is not what is computed.
 */
static bool are_double(struct event_text types)
{
    const char *at = types.bytes, *end = at + types.length, *to;
    bool found = false;

    for (; at != NULL && (at = memchr(at, '"', (size_t)(end - at))) != NULL; at = to + 1) {
        to = memchr(at + 1, '"', (size_t)(end - at - 1));
        if (to == NULL || is_text(at + 1, to, "float") || is_text(at + 1, to, "c10::Half") ||
            is_text(at + 1, to, "c10::BFloat16"))
            return false;
        found = found || is_text(at + 1, to, "double");
    }
    return found;
}

static bool states_something(const struct event_fields *fields)
{
    return number_or(fields, EVENT_FLOPS, 0) > 0 || has(fields, EVENT_SEQUENCE) ||
           fields->dims.bytes != NULL || are_double(fields->types);
}

static enum status add_operator(struct kineto_events *events, const struct event_fields *fields,
                                int32_t *detail)
{
    int64_t thread = number_or(fields, EVENT_FORWARD_THREAD, 0);
    struct event_operator one = { .flops = number_or(fields, EVENT_FLOPS, 0),
                                  .sequence = number_or(fields, EVENT_SEQUENCE, -1),
                                  .is_double = are_double(fields->types) };

    if (one.flops < 0)
        one.flops = 0;
    if (thread > 0 && thread <= INT32_MAX)
        one.forward_thread = (int32_t)thread;
    if (fields->dims.bytes != NULL)
        TRY(add_dims(events, fields->dims, &one.dims));
    return trace_rows_operator(events->rows, &one, detail);
}

/* --- Calls of Python's functions --- */

static bool text_begins(const char *bytes, const char *end, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(end - bytes) >= length && memcmp(bytes, word, length) == 0;
}

static bool is_hexadecimal(char digit)
{
    return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
}

/* Copies the name without " at 0x7f12..."; returns the copy's length. */
static size_t without_addresses(char copy[NAME_BYTES], struct event_text name)
{
    const char *at = name.bytes, *end = name.bytes + name.length;
    size_t length = 0;

    while (at < end && length < NAME_BYTES)
        if (*at == ' ' && text_begins(at, end, " at 0x"))
            for (at += strlen(" at 0x"); at < end && is_hexadecimal(*at);) at++;
        else
            copy[length++] = *at++;
    return length;
}

/* The name of a call or a stack. A built-in method's name has the address of its object, which is
 * another one for each tensor. Without it the same methods have the same name, and the table of
 * names stays small. */
static enum status add_frame_name(struct kineto_events *events, struct event_text name,
                                  uint32_t *number)
{
    char copy[NAME_BYTES];

    if (name.length > 0 &&
        name.bytes[0] == '<') /* "<built-in method item of Tensor object at 0x...>" */
        name = (struct event_text){ copy, without_addresses(copy, name) };
    return add_name(events, name, number);
}

static bool is_call(const struct event_fields *fields)
{
    static const char category[] = "python_function";

    return fields->phase == 'X' && text_is(fields->category, category, strlen(category));
}

/* A row for an event that is a call, or an operator that states its stack; any other event is
 * passed over. */
static enum status add_frame(struct kineto_events *events, const struct event_fields *fields,
                             uint32_t track)
{
    bool is_stack = !is_call(fields);
    struct event_frame frame;

    if (is_stack && (fields->call_stack.length == 0 || events->rows->has_calls))
        return STATUS_OK;
    frame = (struct event_frame){ .start_ns = fields->start_ns,
                                  .end_ns = fields->start_ns + fields->duration_ns,
                                  .track = track,
                                  .is_stack = is_stack };
    TRY(add_frame_name(events, is_stack ? fields->call_stack : fields->name, &frame.name));
    TRY(add_name(events, fields->call_from, &frame.from));
    return trace_rows_frame(events->rows, &frame);
}

static enum status add_call(struct kineto_events *events, const struct event_fields *fields)
{
    struct trace_rows *rows = events->rows;
    uint32_t track;

    rows->file->other_count++;
    if (!trace_rows_have_room(rows, rows->file->frame_count))
        return STATUS_OK;
    TRY(track_of(events, fields, EVENT_KIND_OPERATOR, &track));
    return add_frame(events, fields, track);
}

/* --- Events --- */

/* Adds all that an event has besides its name, track and times. */
static enum status add_details(struct kineto_events *events, const struct event_fields *fields,
                               struct trace_event *event)
{
    if (event->kind == EVENT_KIND_KERNEL)
        TRY(add_kernel(events, fields, &event->detail));
    else if (event->kind == EVENT_KIND_MEMORY)
        TRY(add_block(events, fields, &event->detail));
    else if (event->kind == EVENT_KIND_ANNOTATION && has(fields, EVENT_SAMPLES))
        TRY(add_step(events, fields, &event->detail));
    else if (event->kind == EVENT_KIND_OPERATOR && states_something(fields))
        TRY(add_operator(events, fields, &event->detail));
    if (event->kind == EVENT_KIND_OPERATOR && fields->phase == 'X')
        TRY(add_frame(events, fields, event->track));

    return STATUS_OK;
}

static enum status add_event(struct kineto_events *events, const struct event_fields *fields,
                             enum event_kind kind)
{
    struct trace_rows *rows = events->rows;
    struct trace_event event = { .kind = kind, .detail = NO_DETAIL };

    if (!trace_rows_have_room(rows, rows->file->event_count))
        return STATUS_OK;
    event.start_ns = fields->start_ns;
    event.end_ns = fields->start_ns;
    if (fields->phase == 'X') /* an instant has no duration, whatever it says */
        event.end_ns += fields->duration_ns;
    else if (fields->phase == 'B')
        event.end_ns = OPEN_NS;
    event.correlation = number_or(
        fields, kind == EVENT_KIND_GPU_ANNOTATION ? EVENT_GRAPH_LAUNCH : EVENT_CORRELATION, 0);
    event.external = number_or(fields, EVENT_EXTERNAL, number_or(fields, EVENT_EXTERNAL_2021, 0));
    event.bytes = number_or(fields, EVENT_BYTES, number_or(fields, EVENT_BYTES_MEMORY, -1));
    if (event.bytes < 0 && kind == EVENT_KIND_KERNEL)
        event.bytes = message_bytes(fields);
    TRY(track_of(events, fields, kind, &event.track));
    TRY(add_name(events, fields->name, &event.name));
    TRY(add_details(events, fields, &event));
    return trace_rows_event(rows, &event);
}

/* The kind of an event; EVENT_KIND_COUNT if events like it are not kept. */
static enum event_kind kind_of(const struct event_fields *fields)
{
    if (fields->phase == 'i' || fields->phase == 'I') /* without a category in 2021 */
        return text_is(fields->name, "[memory]", strlen("[memory]")) ? EVENT_KIND_MEMORY
                                                                     : EVENT_KIND_COUNT;
    if (fields->phase != 'X' && fields->phase != 'B')
        return EVENT_KIND_COUNT;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (text_is(fields->category, kinds[i].category, kinds[i].length))
            return kinds[i].kind;
    /* PyTorch's autograd profiler, the one before Kineto, has no categories. */
    return text_is(fields->pid, "CPU functions", strlen("CPU functions")) ? EVENT_KIND_OPERATOR
                                                                          : EVENT_KIND_COUNT;
}

/* The reason why an event is broken; NULL if it is not. */
static const char *missing_field(const struct event_fields *fields)
{
    if (fields->phase == 0)
        return "it has no ph";
    if (fields->phase == 'M')
        return NULL;
    if (!fields->has_start)
        return "it has no ts";
    if (fields->phase == 'X' && !fields->has_duration)
        return "it has no dur";
    if (fields->phase == 'X' && fields->duration_ns < 0)
        return "its dur is negative";
    if (fields->start_ns < -TIME_MAX_NS || fields->start_ns > TIME_MAX_NS ||
        fields->duration_ns > TIME_MAX_NS - fields->start_ns)
        return "its time is beyond the year 2096";
    return NULL;
}

/* Notes one half of an event that is written as two, "B" and "E". Halves are matched when the file
 * has been read, since an end may stand before its beginning. `owner` is the number of the event,
 * or NOT_KEPT. */
static enum status add_half(struct kineto_events *events, const struct event_fields *fields,
                            int64_t offset, int64_t owner)
{
    struct event_half half = {
        .at_ns = fields->start_ns, .offset = offset, .is_end = fields->phase == 'E', .owner = owner
    };

    if (!trace_rows_have_room(events->rows, events->half_count / 2))
        return STATUS_OK;
    TRY(identity(events, fields->pid, &half.process));
    TRY(identity(events, fields->tid, &half.thread));
    return keep_half(events, &half);
}

enum status kineto_events_add(struct kineto_events *events, const struct event_fields *fields,
                              int64_t offset)
{
    struct trace_file *file = events->rows->file;
    int64_t count = file->event_count;
    const char *missing = missing_field(fields);
    enum event_kind kind;

    if (missing != NULL) {
        trace_rows_bad(events->rows, offset, missing);
        return STATUS_OK;
    }
    kind = kind_of(fields);
    if (kind != EVENT_KIND_COUNT) {
        TRY(add_event(events, fields, kind));
    } else if (is_call(fields)) {
        TRY(add_call(events, fields));
    } else if (fields->phase != 'E') {
        file->other_count++;
        file->name_count += fields->phase == 'M';
        unread_device_note(&file->unread_device, fields);
    }
    if (fields->phase == 'B' || fields->phase == 'E')
        TRY(add_half(events, fields, offset, file->event_count > count ? count : NOT_KEPT));

    return STATUS_OK;
}

enum status kineto_events_join(struct kineto_events *events, struct kineto_events *later,
                               struct joined_numbers *numbers, bool *joined)
{
    int64_t count = events->rows->file->event_count;

    /* A named track's number is that of its name, and `later` has others. */
    *joined = !later->has_named_tracks && trace_rows_can_join(events->rows, later->rows) &&
              (events->half_count + later->half_count) / 2 <= events->rows->rows_max;
    if (!*joined)
        return STATUS_OK;
    for (int64_t i = 0; i < later->half_count; i++) {
        struct event_half half = later->halves[i];
        half.owner += half.owner != NOT_KEPT ? count : 0;
        TRY(keep_half(events, &half));
    }
    later->half_count = 0;
    return trace_rows_join(events->rows, later->rows, numbers);
}

void kineto_events_settle(struct kineto_events *events)
{
    struct trace_file *file = events->rows->file;
    int64_t kept = 0;

    match_halves(events->halves, events->half_count);
    for (int64_t i = 0; i < events->half_count; i++) {
        const struct event_half *half = &events->halves[i];
        if (!half->paired)
            trace_rows_bad(events->rows, half->offset,
                           half->is_end ? "it ends what never began" : "it begins and never ends");
        else if (half->owner != NOT_KEPT)
            file->events[half->owner].end_ns = half->end_ns;
    }
    if (events->half_count == 0)
        return;
    for (int64_t i = 0; i < file->event_count; i++)
        if (file->events[i].end_ns != OPEN_NS)
            file->events[kept++] = file->events[i];
    file->event_count = kept;
}

void kineto_events_release(struct kineto_events *events)
{
    free(events->halves);
}
