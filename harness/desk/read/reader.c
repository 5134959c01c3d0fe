/* The file is read in windows of text. The splitter cuts a window into events, the parser turns each event
 * into fields, and the fields become rows of tables. Only one window and one event are in memory at a time,
 * so a file of any size can be read; the tables grow by doubling, so the cost is linear. */
#include "harness/desk/read/reader.h"

#include "harness/base/words/intern.h"
#include "harness/desk/read/frame_table.h"
#include "harness/desk/read/inflate_window.h"
#include "harness/desk/read/kineto/decimal.h"
#include "harness/desk/read/kineto/event_pairs.h"
#include "harness/desk/read/kineto/event_splitter.h"
#include "harness/desk/read/kineto/message.h"
#include "harness/desk/read/read_ahead.h"
#include "harness/desk/read/unread_devices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METADATA_MAX = 4096, TRACKS_MAX = 1 << 20 };
enum { DIMS_MAX = 1000 }; /* of their text: more than 100 tensors */
enum { EVENTS_MAX = 50000000 };

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

struct reading {
    struct trace_file *file;
    struct event_parser *parser;
    struct splitter splitter;
    struct event_pairs pairs;
    struct frame_table frames;
    int64_t events_max;
    int64_t event_room, track_room, kernel_room, block_room, step_room, operator_room,
        metadata_room;
    uint32_t last_track;   /* the previous event's, which is mostly the next one's too */
    uint32_t *track_slots; /* number + 1; 0: free */
    int64_t track_slot_count;
    bool full;
};

/* --- Tables that grow --- */

/* Makes room for one more element of `size` bytes in *table. */
static enum status grow(void *table, int64_t count, int64_t *room, size_t size)
{
    enum status status = STATUS_OK;
    void *old, *grown;
    int64_t more = *room > 0 ? 2 * *room : 64;

    if (count < *room)
        goto out;
    memcpy(&old, table, sizeof old);
    grown = realloc(old, (size_t)more * size);
    if (grown == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld rows of a trace", (long long)more);
    memcpy(table, &grown, sizeof grown);
    *room = more;

out:
    return status;
}

static uint64_t track_hash(struct event_track track)
{
    uint64_t hash = (uint64_t)track.process * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash = (hash ^ (uint64_t)track.thread) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) + track.on_device;
}

static bool same_track(struct event_track a, struct event_track b)
{
    return a.on_device == b.on_device && a.process == b.process && a.thread == b.thread;
}

static enum status grow_track_slots(struct reading *reading)
{
    enum status status = STATUS_OK;
    const struct trace_file *file = reading->file;
    int64_t count = reading->track_slot_count > 0 ? 2 * reading->track_slot_count : 64;
    uint32_t *slots = calloc((size_t)count, sizeof *slots);

    if (slots == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the threads and streams of a trace");
    for (int64_t i = 0; i < file->track_count; i++) {
        uint64_t slot = track_hash(file->tracks[i]) & (uint64_t)(count - 1);
        while (slots[slot] != 0) slot = (slot + 1) & (uint64_t)(count - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(reading->track_slots);
    reading->track_slots = slots;
    reading->track_slot_count = count;

out:
    return status;
}

/* The number of a track, which is added if it is new. Events mostly come in runs of one track, so the last
 * one is tried before the hash table (open addressing, at most half full). */
static enum status find_track(struct reading *reading, struct event_track track, uint32_t *number)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    uint64_t slot, mask;

    *number = reading->last_track;
    if (file->track_count > 0 && same_track(file->tracks[*number], track))
        goto out;
    if (2 * (file->track_count + 1) > reading->track_slot_count)
        TRY(grow_track_slots(reading));
    mask = (uint64_t)(reading->track_slot_count - 1);
    for (slot = track_hash(track) & mask; reading->track_slots[slot] != 0;
         slot = (slot + 1) & mask) {
        *number = reading->track_slots[slot] - 1;
        if (same_track(file->tracks[*number], track))
            goto out;
    }
    if (file->track_count == TRACKS_MAX) { /* No real trace has them; memory stays bounded. */
        *number = TRACKS_MAX - 1;
        goto out;
    }
    TRY(grow(&file->tracks, file->track_count, &reading->track_room, sizeof *file->tracks));
    *number = (uint32_t)file->track_count;
    file->tracks[file->track_count++] = track;
    reading->track_slots[slot] = *number + 1;

out:
    reading->last_track = *number;
    return status;
}

/* --- From fields to rows --- */

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

/* The number of a process or thread. Traces name them in three ways: 7, "stream 7", and "CPU functions".
 * The last becomes a negative number by its place in the table of names; -1 means that none is named. */
static enum status identity(struct reading *reading, struct event_text text, int64_t *number)
{
    enum status status = STATUS_OK;
    size_t digits = text.length;
    uint32_t name;

    *number = -1;
    if (text.bytes == NULL || decimal_integer(text.bytes, text.length, number))
        goto out;
    while (digits > 0 && text.bytes[digits - 1] >= '0' && text.bytes[digits - 1] <= '9') digits--;
    if (digits > 0 && text.bytes[digits - 1] == ' ' &&
        decimal_integer(text.bytes + digits, text.length - digits, number))
        goto out;
    TRY(intern_add(reading->file->names, text.bytes, text.length, &name));
    *number = -2 - (int64_t)name;

out:
    return status;
}

static bool on_device(enum event_kind kind)
{
    return kind == EVENT_KIND_KERNEL || kind == EVENT_KIND_MEMCPY || kind == EVENT_KIND_MEMSET ||
           kind == EVENT_KIND_SYNC || kind == EVENT_KIND_GPU_ANNOTATION;
}

/* The track of device work is its device and stream, as its arguments tell, because profilers put other
 * numbers into pid and tid; the track of everything else is a process and a thread. */
static enum status track_of(struct reading *reading, const struct event_fields *fields,
                            enum event_kind kind, uint32_t *number)
{
    enum status status = STATUS_OK;
    struct event_track track = { .on_device = on_device(kind) };

    TRY(identity(reading, fields->pid, &track.process));
    TRY(identity(reading, fields->tid, &track.thread));
    if (track.on_device) {
        track.process = number_or(fields, EVENT_DEVICE, track.process);
        track.thread = number_or(fields, EVENT_STREAM, track.thread);
    }
    TRY(find_track(reading, track, number));

out:
    return status;
}

static enum status add_kernel(struct reading *reading, const struct event_fields *fields,
                              struct trace_event *event)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    struct event_kernel *kernel;

    TRY(grow(&file->kernels, file->kernel_count, &reading->kernel_room, sizeof *file->kernels));
    event->detail = (int32_t)file->kernel_count;
    kernel = &file->kernels[file->kernel_count++];
    *kernel = (struct event_kernel){ .registers = (uint32_t)number_or(fields, EVENT_REGISTERS, 0),
                                     .shared_bytes = (uint32_t)number_or(fields, EVENT_SHARED, 0),
                                     .blocks_per_sm = fields->blocks_per_sm,
                                     .warps_per_sm = fields->warps_per_sm,
                                     .occupancy_percent = fields->occupancy_percent,
                                     .graph = number_or(fields, EVENT_GRAPH, 0) };
    if (fields->grid.known && fields->block.known) {
        memcpy(kernel->grid, fields->grid.size, sizeof kernel->grid);
        memcpy(kernel->block, fields->block.size, sizeof kernel->block);
    }
    if (fields->collective.bytes != NULL)
        TRY(intern_add(file->names, fields->collective.bytes, fields->collective.length,
                       &kernel->collective));

out:
    return status;
}

static enum status add_block(struct reading *reading, const struct event_fields *fields,
                             struct trace_event *event)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    struct event_block *block;

    TRY(grow(&file->blocks, file->block_count, &reading->block_room, sizeof *file->blocks));
    event->detail = (int32_t)file->block_count;
    block = &file->blocks[file->block_count++];
    *block = (struct event_block){ .on_device = number_or(fields, EVENT_DEVICE_TYPE, 0) !=
                                                0, /* c10::DeviceType: 0 is the CPU */
                                   .device = number_or(fields, EVENT_DEVICE_ID, -1),
                                   .address = (uint64_t)number_or(fields, EVENT_ADDRESS, 0),
                                   .allocated = number_or(fields, EVENT_ALLOCATED, -1),
                                   .reserved = number_or(fields, EVENT_RESERVED, -1),
                                   .category_allocated =
                                       number_or(fields, EVENT_CATEGORY_ALLOCATED, -1) };
    if (fields->memory_category.bytes != NULL)
        TRY(intern_add(file->names, fields->memory_category.bytes, fields->memory_category.length,
                       &block->category));

out:
    return status;
}

static enum status add_step(struct reading *reading, const struct event_fields *fields,
                            struct trace_event *event)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;

    TRY(grow(&file->steps, file->step_count, &reading->step_room, sizeof *file->steps));
    event->detail = (int32_t)file->step_count;
    file->steps[file->step_count++] =
        (struct event_step){ .samples = number_or(fields, EVENT_SAMPLES, -1),
                             .tokens = number_or(fields, EVENT_TOKENS, -1),
                             .padded_tokens = number_or(fields, EVENT_PADDED_TOKENS, -1),
                             .flops = number_or(fields, EVENT_FLOPS, -1) };

out:
    return status;
}

/* The same dimensions are the same text, however the file spells them. */
static enum status add_dims(struct intern *names, struct event_text dims, uint32_t *name)
{
    enum status status = STATUS_OK;
    char text[DIMS_MAX + 4];
    size_t length = 0;

    for (size_t i = 0; i < dims.length && length < DIMS_MAX; i++)
        if (strchr(" \t\r\n", dims.bytes[i]) == NULL)
            text[length++] = dims.bytes[i];
    if (length == DIMS_MAX) {
        memcpy(text + length, "...", 3);
        length += 3;
    }
    TRY(intern_add(names, text, length, name));

out:
    return status;
}

static bool states_something(const struct event_fields *fields)
{
    return number_or(fields, EVENT_FLOPS, 0) > 0 || has(fields, EVENT_SEQUENCE) ||
           fields->dims.bytes != NULL;
}

static enum status add_operator(struct reading *reading, const struct event_fields *fields,
                                struct trace_event *event)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    int64_t thread = number_or(fields, EVENT_FORWARD_THREAD, 0);
    struct event_operator *one;

    TRY(grow(&file->operators, file->operator_count, &reading->operator_room,
             sizeof *file->operators));
    event->detail = (int32_t)file->operator_count;
    one = &file->operators[file->operator_count++];
    *one = (struct event_operator){ .flops = number_or(fields, EVENT_FLOPS, 0),
                                    .sequence = number_or(fields, EVENT_SEQUENCE, -1) };
    if (one->flops < 0)
        one->flops = 0;
    if (thread > 0 && thread <= INT32_MAX)
        one->forward_thread = (int32_t)thread;
    if (fields->dims.bytes != NULL)
        TRY(add_dims(file->names, fields->dims, &one->dims));

out:
    return status;
}

static enum status add_event(struct reading *reading, const struct event_fields *fields,
                             enum event_kind kind)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    struct trace_event event = { .kind = kind, .detail = NO_DETAIL };

    if (file->event_count == reading->events_max) {
        reading->full = true;
        goto out;
    }
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
    TRY(track_of(reading, fields, kind, &event.track));
    TRY(intern_add(file->names, fields->name.bytes, fields->name.length, &event.name));
    if (kind == EVENT_KIND_KERNEL)
        TRY(add_kernel(reading, fields, &event));
    else if (kind == EVENT_KIND_MEMORY)
        TRY(add_block(reading, fields, &event));
    else if (kind == EVENT_KIND_ANNOTATION && has(fields, EVENT_SAMPLES))
        TRY(add_step(reading, fields, &event));
    else if (kind == EVENT_KIND_OPERATOR && states_something(fields))
        TRY(add_operator(reading, fields, &event));
    if (kind == EVENT_KIND_OPERATOR && fields->phase == 'X')
        TRY(frame_table_add(&reading->frames, file->names, fields, event.track));
    TRY(grow(&file->events, file->event_count, &reading->event_room, sizeof *file->events));
    file->events[file->event_count++] = event;

out:
    return status;
}

static enum status add_call(struct reading *reading, const struct event_fields *fields)
{
    enum status status = STATUS_OK;
    uint32_t track;

    if (reading->frames.count >= reading->events_max) {
        reading->full = true;
        goto out;
    }
    TRY(track_of(reading, fields, EVENT_KIND_OPERATOR, &track));
    TRY(frame_table_add(&reading->frames, reading->file->names, fields, track));

out:
    return status;
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

/* Counts broken events, and keeps the reason of the first in the file. The first is not the first to be
 * noted: events without an end are noted when the file has been read. */
static void note_bad(struct trace_file *file, int64_t offset, const char *reason)
{
    if (file->bad_count++ > 0 && offset >= file->bad_offset)
        return;
    file->bad_offset = offset;
    snprintf(file->bad_reason, sizeof file->bad_reason, "%s", reason);
}

/* Notes one half of an event that is written as two, "B" and "E". Halves are matched when the file has been
 * read, since an end may stand before its beginning. `owner` is the number of the event, or NOT_KEPT. */
static enum status add_half(struct reading *reading, const struct event_fields *fields,
                            int64_t offset, int64_t owner)
{
    enum status status = STATUS_OK;
    struct event_half half = {
        .at_ns = fields->start_ns, .offset = offset, .is_end = fields->phase == 'E', .owner = owner
    };

    if (reading->pairs.count / 2 >= reading->events_max) {
        reading->full = true;
        goto out;
    }
    TRY(identity(reading, fields->pid, &half.process));
    TRY(identity(reading, fields->tid, &half.thread));
    TRY(event_pairs_add(&reading->pairs, half));

out:
    return status;
}

static enum status keep(struct reading *reading, const struct event_fields *fields, int64_t offset,
                        const char *reason)
{
    enum status status = STATUS_OK;
    enum event_kind kind;
    int64_t count = reading->file->event_count;

    if (reason == NULL)
        reason = missing_field(fields);
    if (reason != NULL) {
        note_bad(reading->file, offset, reason);
        goto out;
    }
    kind = kind_of(fields);
    if (kind != EVENT_KIND_COUNT) {
        TRY(add_event(reading, fields, kind));
    } else if (frame_is_call(fields)) {
        reading->file->other_count++;
        TRY(add_call(reading, fields));
    } else if (fields->phase != 'E') {
        reading->file->other_count++;
        unread_device_note(&reading->file->unread_device, fields);
    }
    if (fields->phase == 'B' || fields->phase == 'E')
        TRY(add_half(reading, fields, offset,
                     reading->file->event_count > count ? count : NOT_KEPT));

out:
    return status;
}

/* The splitter calls this first for each event. */
static enum status on_whole_event(void *context, const char *bytes, size_t most, int64_t offset,
                                  const char **end)
{
    struct reading *reading = context;
    struct event_fields fields;

    *end = NULL;
    return event_parse(reading->parser, bytes, most, &fields, end) == NULL
               ? keep(reading, &fields, offset, NULL)
               : STATUS_OK;
}

/* And this for those that were none then. A broken event is counted and left out: one of them must not cost
 * the reader the rest of the trace. */
static enum status on_event(void *context, const char *bytes, size_t length, int64_t offset,
                            const char *reason)
{
    struct reading *reading = context;
    struct event_fields fields;
    const char *end;

    if (bytes != NULL)
        reason = event_parse(reading->parser, bytes, length, &fields, &end);
    return keep(reading, &fields, offset, reason);
}

/* Gives events that are written as two halves their end, and drops those without a second half. */
static void settle_pairs(struct reading *reading)
{
    struct trace_file *file = reading->file;
    int64_t kept = 0;

    event_pairs_match(&reading->pairs);
    for (int64_t i = 0; i < reading->pairs.count; i++) {
        const struct event_half *half = &reading->pairs.halves[i];
        if (!half->paired)
            note_bad(file, half->offset,
                     half->is_end ? "it ends what never began" : "it begins and never ends");
        else if (half->owner != NOT_KEPT)
            file->events[half->owner].end_ns = half->end_ns;
    }
    if (reading->pairs.count == 0)
        return;
    for (int64_t i = 0; i < file->event_count; i++)
        if (file->events[i].end_ns != OPEN_NS)
            file->events[kept++] = file->events[i];
    file->event_count = kept;
}

enum { STRAY_SAMPLES = 1001 };
#define STRAY_NS (INT64_C(86400) * 1000000000) /* a day: no profiler records as long */

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* A damaged time stamp may be a valid number, decades away, which the whole trace would then last. The median of
 * samples from all of the file tells when the others were. */
static void settle_strays(struct trace_file *file)
{
    int64_t samples[STRAY_SAMPLES], median_ns, kept = 0;
    int64_t count = file->event_count < STRAY_SAMPLES ? file->event_count : STRAY_SAMPLES;

    if (count < 3) /* either of two may be the damaged one */
        return;
    for (int64_t i = 0; i < count; i++)
        samples[i] = file->events[i * file->event_count / count].start_ns;
    qsort(samples, (size_t)count, sizeof *samples, by_value);
    median_ns = samples[count / 2];
    for (int64_t i = 0; i < file->event_count; i++) {
        const struct trace_event *event = &file->events[i];
        if (event->start_ns >= median_ns - STRAY_NS && event->end_ns <= median_ns + STRAY_NS)
            file->events[kept++] = *event;
    }
    file->stray_count = file->event_count - kept;
    file->event_count = kept;
}

/* If no event has a correlation, as with some of ROCm's tracers, a call and its work share the external id.
 * In other traces that id is the operator's, which several calls share, so it must not be used there. */
static void settle_correlations(struct trace_file *file)
{
    for (int64_t i = 0; i < file->event_count; i++)
        if (file->events[i].correlation != 0)
            return;
    for (int64_t i = 0; i < file->event_count; i++)
        if (trace_event_is_call(&file->events[i]) || trace_event_is_device_work(&file->events[i]))
            file->events[i].correlation = file->events[i].external;
}

/* The rows become the file's. */
static enum status settle_frames(struct reading *reading)
{
    enum status status = STATUS_OK;

    TRY(frame_table_settle(&reading->frames, reading->file->track_count));
    reading->file->frames = reading->frames.rows;
    reading->file->frame_count = reading->frames.count;
    reading->frames = (struct frame_table){ .rows = NULL };

out:
    return status;
}

/* --- Metadata --- */

static enum status keep_metadata(struct reading *reading, const char *key, const char *bytes,
                                 size_t length)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    struct trace_metadata member = { NULL, NULL };

    TRY(grow(&file->metadata, file->metadata_count, &reading->metadata_room,
             sizeof *file->metadata));
    member.key = strdup(key);
    member.json = strndup(bytes, length);
    if (member.key == NULL || member.json == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for \"%s\" of a trace", key);
    file->metadata[file->metadata_count++] = member;
    member = (struct trace_metadata){ NULL, NULL };

out:
    free(member.key);
    free(member.json);
    return status;
}

/* Reads our own member "chokepoint". */
static void take_ours(struct reading *reading, const char *bytes, size_t length)
{
    struct trace_cost *cost = &reading->file->cost;
    struct trace_ceilings *ceilings = &reading->file->ceilings;
    struct event_parser *parser = reading->parser;
    double step_us = 0, traced_us = 0;

    event_parse_member(parser, bytes, length, "steps", &cost->steps);
    event_parse_member(parser, bytes, length, "windows", &cost->windows);
    event_parse_fraction(parser, bytes, length, "step_time_us", &step_us);
    event_parse_fraction(parser, bytes, length, "traced_step_time_us", &traced_us);
    event_parse_fraction(parser, bytes, length, "tracing_spread", &cost->spread);
    event_parse_fraction(parser, bytes, length, "peak_flops_per_second",
                         &ceilings->flops_per_second);
    event_parse_fraction(parser, bytes, length, "copy_bytes_per_second",
                         &ceilings->bytes_per_second);
    if (step_us > 0 && traced_us > 0) {
        cost->step_ns = 1000 * step_us;
        cost->traced_step_ns = 1000 * traced_us;
    }
}

static enum status on_metadata(void *context, const char *key, const char *bytes, size_t length)
{
    enum status status = STATUS_OK;
    struct reading *reading = context;
    struct trace_file *file = reading->file;

    while (length > 0 && strchr(" \t\r\n", bytes[length - 1]) != NULL) length--;
    if (file->metadata_count == METADATA_MAX)
        goto out;
    TRY(keep_metadata(reading, key, bytes, length));
    if (strcmp(key, "deviceProperties") == 0)
        file->device_count =
            event_parse_devices(reading->parser, bytes, length, file->devices, TRACE_FILE_DEVICES);
    else if (strcmp(key, "baseTimeNanoseconds") == 0)
        decimal_integer(bytes, length, &file->base_ns);
    else if (strcmp(key, "distributedInfo") == 0) {
        event_parse_member(reading->parser, bytes, length, "rank", &file->rank);
        event_parse_member(reading->parser, bytes, length, "world_size", &file->world_size);
    } else if (strcmp(key, "droppedRecords") == 0)
        decimal_integer(bytes, length, &file->dropped_count);
    else if (strcmp(key, "chokepoint") == 0)
        take_ours(reading, bytes, length);

out:
    return status;
}

/* --- The file --- */

/* Decides, at the end of the text, whether it was a whole trace, a partial one (which is worth reading all
 * the same), or not a trace at all. */
static enum status judge(struct reading *reading, const char *path, const char *damage)
{
    enum status status = STATUS_OK;
    struct trace_file *file = reading->file;
    const struct splitter *splitter = &reading->splitter;
    long long bytes = (long long)splitter->offset;

    file->text_bytes = splitter->offset;
    if (splitter->place == SPLITTER_BEFORE)
        FAIL(STATUS_BAD_INPUT, "%s is not a trace: %s", path,
             damage != NULL ? damage : "there is no text in it");
    if (!splitter->events_seen)
        FAIL(STATUS_BAD_INPUT,
             "%s is not a trace: it ends at byte %lld without \"traceEvents\"%s%s", path, bytes,
             damage != NULL ? "; " : "", damage != NULL ? damage : "");
    if (splitter->strays > 0)
        note_bad(file, splitter->stray_at, "it is not an object");
    if (file->event_count + file->other_count == 0 && file->bad_count > 0)
        FAIL(STATUS_BAD_INPUT, "%s is not a trace: nothing in it is an event; at byte %lld: %s",
             path, (long long)file->bad_offset, file->bad_reason);
    file->partial = damage != NULL || splitter->place != SPLITTER_AFTER || reading->full;
    if (damage != NULL)
        snprintf(file->partial_reason, sizeof file->partial_reason, "%s", damage);
    else if (reading->full)
        snprintf(file->partial_reason, sizeof file->partial_reason,
                 "only the first %lld events were kept", (long long)reading->events_max);
    else if (file->partial)
        snprintf(file->partial_reason, sizeof file->partial_reason,
                 "it ends at byte %lld, before its last bracket", bytes);

out:
    return status;
}

static enum status read_all(struct reading *reading, struct inflate_window *window)
{
    enum status status = STATUS_OK;
    struct read_ahead *ahead = NULL;
    const char *bytes;
    size_t count;

    TRY(read_ahead_open(&ahead, window));
    do {
        TRY(read_ahead_next(ahead, &bytes, &count));
        TRY(splitter_feed(&reading->splitter, bytes, count));
    } while (count > 0);

out:
    read_ahead_close(ahead);
    return status;
}

enum status trace_file_read(struct trace_file **trace, const char *path,
                            const struct trace_file_limits *limits)
{
    enum status status = STATUS_OK;
    struct reading reading = { .events_max = limits != NULL ? limits->events : 0 };
    struct inflate_window *window = NULL;
    uint32_t none;

    *trace = NULL;
    if (reading.events_max <= 0)
        reading.events_max = EVENTS_MAX;
    splitter_init(&reading.splitter,
                  (struct splitter_sink){ on_whole_event, on_event, on_metadata, &reading });
    TRY(inflate_window_open(&window, path));
    reading.file = calloc(1, sizeof *reading.file);
    reading.parser = event_parser_open();
    if (reading.file == NULL || reading.parser == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to read %s", path);
    reading.file->rank = reading.file->world_size = -1;
    reading.file->cost.spread = NAN;
    TRY(intern_open(&reading.file->names, NAME_BYTES));
    TRY(intern_add(reading.file->names, "", 0, &none));
    TRY(read_all(&reading, window));
    settle_pairs(&reading);
    settle_strays(reading.file);
    settle_correlations(reading.file);
    TRY(settle_frames(&reading));
    TRY(judge(&reading, path, inflate_window_damage(window)));
    *trace = reading.file;
    reading.file = NULL;

out:
    if (status != STATUS_OK)
        status_context("reading %s", path);
    splitter_release(&reading.splitter);
    event_pairs_release(&reading.pairs);
    free(reading.frames.rows);
    free(reading.track_slots);
    event_parser_close(reading.parser);
    inflate_window_close(window);
    trace_file_close(reading.file);
    return status;
}

void trace_file_close(struct trace_file *trace)
{
    if (trace == NULL)
        return;
    for (int64_t i = 0; i < trace->metadata_count; i++) {
        free(trace->metadata[i].key);
        free(trace->metadata[i].json);
    }
    free(trace->metadata);
    free(trace->events);
    free(trace->tracks);
    free(trace->kernels);
    free(trace->blocks);
    free(trace->operators);
    free(trace->frames);
    free(trace->steps);
    intern_close(trace->names);
    free(trace);
}

const char *trace_file_name(const struct trace_file *trace, uint32_t name)
{
    return intern_text(trace->names, name);
}

uint32_t trace_file_name_count(const struct trace_file *trace)
{
    return intern_count(trace->names);
}

const char *trace_file_metadata(const struct trace_file *trace, const char *key)
{
    for (int64_t i = trace->metadata_count; i-- > 0;)
        if (strcmp(trace->metadata[i].key, key) == 0)
            return trace->metadata[i].json;
    return NULL;
}

const struct event_device *trace_file_device(const struct trace_file *trace, int64_t id)
{
    for (int i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return &trace->devices[i];
    return NULL;
}

double trace_file_overhead(const struct trace_file *trace)
{
    return trace->cost.step_ns > 0 ? trace->cost.traced_step_ns / trace->cost.step_ns - 1 : NAN;
}

bool trace_event_is_device_work(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_KERNEL || event->kind == EVENT_KIND_MEMCPY ||
           event->kind == EVENT_KIND_MEMSET;
}

bool trace_event_is_call(const struct trace_event *event)
{
    return event->kind == EVENT_KIND_RUNTIME || event->kind == EVENT_KIND_DRIVER;
}
