/* Tables grow by doubling. A track is looked up in a hash table, but mostly is the one of the event
 * before. */
#include "harness/desk/trace/trace_rows.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRACKS_MAX = 1 << 20 };

/* --- Tables that grow --- */

/* Adds a row to *table, which doubles if it is full. */
static inline enum status add_row(void *table, int64_t *count, int64_t *room, const void *row,
                                  size_t size)
{
    char *rows;

    memcpy(&rows, table, sizeof rows);
    if (*count == *room) {
        TRY(rows_grow_bytes(table, *count + 1, room, size));
        memcpy(&rows, table, sizeof rows);
    }
    memcpy(rows + (size_t)*count * size, row, size);
    ++*count;

    return STATUS_OK;
}

#define ADD(table, row)                                                                            \
    add_row(&rows->file->table##s, &rows->file->table##_count, &rows->table##_room, row,           \
            sizeof *rows->file->table##s)

enum status trace_rows_event(struct trace_rows *rows, const struct trace_event *event)
{
    return ADD(event, event);
}

enum status trace_rows_kernel(struct trace_rows *rows, const struct event_kernel *kernel,
                              int32_t *detail)
{
    *detail = (int32_t)rows->file->kernel_count;
    return ADD(kernel, kernel);
}

enum status trace_rows_block(struct trace_rows *rows, const struct event_block *block,
                             int32_t *detail)
{
    *detail = (int32_t)rows->file->block_count;
    return ADD(block, block);
}

enum status trace_rows_step(struct trace_rows *rows, const struct event_step *step, int32_t *detail)
{
    *detail = (int32_t)rows->file->step_count;
    return ADD(step, step);
}

enum status trace_rows_operator(struct trace_rows *rows, const struct event_operator *stated,
                                int32_t *detail)
{
    *detail = (int32_t)rows->file->operator_count;
    return ADD(operator, stated);
}

enum status trace_rows_frame(struct trace_rows *rows, const struct event_frame *frame)
{
    rows->has_calls = rows->has_calls || !frame->is_stack;
    return ADD(frame, frame);
}

enum status trace_rows_metadata(struct trace_rows *rows, const char *key, const char *json,
                                size_t length)
{
    enum status status = STATUS_OK;
    struct trace_metadata member = { strdup(key), strndup(json, length) };

    if (member.key == NULL || member.json == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for \"%s\" of a trace", key);
    TRY_OUT(add_row(&rows->file->metadata, &rows->file->metadata_count, &rows->metadata_room,
                    &member, sizeof member));
    member = (struct trace_metadata){ NULL, NULL };

out:
    free(member.key);
    free(member.json);
    return status;
}

/* --- Tracks --- */

static uint64_t track_hash(struct event_track track)
{
    uint64_t hash = (uint64_t)track.process * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash = (hash ^ (uint64_t)track.thread) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) + track.on_device;
}

static bool same_track(struct event_track a, struct event_track b)
{
    return a.on_device == b.on_device && a.process == b.process && a.thread == b.thread &&
           a.row_process == b.row_process;
}

static enum status grow_track_slots(struct trace_rows *rows)
{
    const struct trace_file *file = rows->file;
    int64_t count = rows->track_slot_count > 0 ? 2 * rows->track_slot_count : 64;
    uint32_t *slots = calloc((size_t)count, sizeof *slots);

    if (slots == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the threads and streams of a trace");
    for (int64_t i = 0; i < file->track_count; i++) {
        uint64_t slot = track_hash(file->tracks[i]) & (uint64_t)(count - 1);
        while (slots[slot] != 0) slot = (slot + 1) & (uint64_t)(count - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(rows->track_slots);
    rows->track_slots = slots;
    rows->track_slot_count = count;

    return STATUS_OK;
}

/* Events mostly come in runs of one track, so the last one is tried before the hash table (open
 * addressing, at most half full). */
enum status trace_rows_track(struct trace_rows *rows, struct event_track track, uint32_t *number)
{
    enum status status = STATUS_OK;
    struct trace_file *file = rows->file;
    uint64_t slot, mask;

    *number = rows->last_track;
    if (file->track_count > 0 && same_track(file->tracks[*number], track))
        goto out;
    if (2 * (file->track_count + 1) > rows->track_slot_count)
        TRY_OUT(grow_track_slots(rows));
    mask = (uint64_t)rows->track_slot_count - 1;
    for (slot = track_hash(track) & mask; rows->track_slots[slot] != 0; slot = (slot + 1) & mask) {
        *number = rows->track_slots[slot] - 1;
        if (same_track(file->tracks[*number], track))
            goto out;
    }
    if (file->track_count == TRACKS_MAX) { /* No real trace has them; memory stays bounded. */
        *number = TRACKS_MAX - 1;
        goto out;
    }
    *number = (uint32_t)file->track_count;
    TRY_OUT(ADD(track, &track));
    rows->track_slots[slot] = *number + 1;

out:
    rows->last_track = *number;
    return status;
}

/* --- The file --- */

void trace_rows_bad(struct trace_rows *rows, int64_t offset, const char *reason)
{
    struct trace_file *file = rows->file;

    if (file->bad_count++ > 0 && offset >= file->bad_offset)
        return;
    file->bad_offset = offset;
    snprintf(file->bad_reason, sizeof file->bad_reason, "%s", reason);
}

void trace_rows_partial(struct trace_rows *rows, const char *format, ...)
{
    struct trace_file *file = rows->file;
    va_list arguments;

    if (file->partial)
        return;
    file->partial = true;
    va_start(arguments, format);
    vsnprintf(file->partial_reason, sizeof file->partial_reason, format, arguments);
    va_end(arguments);
}

enum { STRAY_SAMPLES = 1001 };
#define STRAY_NS      (INT64_C(86400) * 1000000000) /* a day: no profiler records as long */
#define STRAY_NEAR_NS INT64_C(1000000000)

/* A time of 0 is no time, unless the clock of the file begins there. */
static bool is_zero(const struct trace_event *event)
{
    return event->start_ns == 0;
}

/* The times, without those of 0, of samples from all of the file, sorted. Returns how many there
 * are. */
static int64_t take_samples(const struct trace_file *file, int64_t samples[STRAY_SAMPLES])
{
    int64_t most = file->event_count < STRAY_SAMPLES ? file->event_count : STRAY_SAMPLES, count = 0;

    for (int64_t i = 0; i < most; i++) {
        const struct trace_event *event = &file->events[i * file->event_count / most];
        if (!is_zero(event))
            samples[count++] = event->start_ns;
    }
    sort_int64(samples, count);
    return count;
}

static bool is_stray(const struct trace_event *event, int64_t first_ns, int64_t last_ns)
{
    return event->start_ns < first_ns || event->end_ns > last_ns;
}

static int64_t count_strays(const struct trace_file *file, int64_t first_ns, int64_t last_ns)
{
    int64_t count = 0;

    for (int64_t i = 0; i < file->event_count; i++)
        count += is_stray(&file->events[i], first_ns, last_ns);
    return count;
}

/* The first start of an event, and the last end. */
struct extent {
    int64_t start_ns, end_ns;
};

static struct extent extent_of(const struct trace_file *file)
{
    struct extent extent = { INT64_MAX, INT64_MIN };

    for (int64_t i = 0; i < file->event_count; i++) {
        const struct trace_event *event = &file->events[i];
        extent.start_ns = event->start_ns < extent.start_ns ? event->start_ns : extent.start_ns;
        extent.end_ns = event->end_ns > extent.end_ns ? event->end_ns : extent.end_ns;
    }
    return extent;
}

static bool has_strays(const struct extent *extent, int64_t first_ns, int64_t last_ns)
{
    return extent->start_ns < first_ns || extent->end_ns > last_ns;
}

static void remove_strays(struct trace_file *file, struct extent *extent, int64_t first_ns,
                          int64_t last_ns)
{
    int64_t kept = 0;

    if (!has_strays(extent, first_ns, last_ns))
        return;
    for (int64_t i = 0; i < file->event_count; i++)
        if (!is_stray(&file->events[i], first_ns, last_ns))
            file->events[kept++] = file->events[i];
    file->stray_count += file->event_count - kept;
    file->event_count = kept;
    *extent = extent_of(file);
}

/* A damaged time stamp may be a valid number, decades away, which the whole trace would then last.
 * The median of samples from all of the file tells when the others were. Times of 0 are damaged if
 * that is not near, however many they are. A few that are nearer than a day are damaged if they are
 * ten times as far away as nearly all others are spread. */
static void settle_strays(struct trace_file *file)
{
    int64_t samples[STRAY_SAMPLES], median_ns, spread_ns, near_ns, count;
    struct extent extent;

    if (file->event_count < 3) /* either of two may be the damaged one */
        return;
    count = take_samples(file, samples);
    if (count == 0)
        return;
    extent = extent_of(file);
    median_ns = samples[count / 2];
    if (median_ns > STRAY_NEAR_NS && samples[0] > STRAY_NEAR_NS)
        remove_strays(file, &extent, 1, INT64_MAX);
    remove_strays(file, &extent, median_ns - STRAY_NS, median_ns + STRAY_NS);
    spread_ns = samples[count - 1 - count / 50] - samples[count / 50];
    if (spread_ns > STRAY_NS / 10)
        return;
    near_ns = STRAY_NEAR_NS + 10 * spread_ns;
    if (has_strays(&extent, median_ns - near_ns, median_ns + near_ns) &&
        20 * count_strays(file, median_ns - near_ns, median_ns + near_ns) < file->event_count)
        remove_strays(file, &extent, median_ns - near_ns, median_ns + near_ns);
}

/* If no event has a correlation, as with some of ROCm's tracers, a call and its work share the
 * external id. In other traces that id is the operator's, which several calls share, so it must not
 * be used there. */
static void settle_correlations(struct trace_file *file)
{
    for (int64_t i = 0; i < file->event_count; i++)
        if (file->events[i].correlation != 0)
            return;
    for (int64_t i = 0; i < file->event_count; i++)
        if (trace_event_is_call(&file->events[i]) || trace_event_is_device_work(&file->events[i]))
            file->events[i].correlation = file->events[i].external;
}

COMPARATOR(by_place, struct event_frame,
           ASCENDING(track) ?: ASCENDING(start_ns) ?: DESCENDING(end_ns))

/* PyTorch writes one thread after the other, and then there is nothing to do. */
static bool is_sorted(const struct trace_file *file, bool *seen)
{
    for (int64_t i = 0; i < file->frame_count; i++) {
        const struct event_frame *row = &file->frames[i];
        bool same = i > 0 && row->track == row[-1].track;
        if (same ? by_place(row - 1, row) > 0 : seen[row->track])
            return false;
        seen[row->track] = true;
    }
    return true;
}

static enum status settle_frames(struct trace_rows *rows)
{
    enum status status = STATUS_OK;
    struct trace_file *file = rows->file;
    bool *seen = calloc((size_t)file->track_count + 1, sizeof *seen);
    int64_t kept = 0;

    if (seen == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for %lld threads", (long long)file->track_count);
    for (int64_t i = 0; i < file->frame_count; i++)
        if (!file->frames[i].is_stack || !rows->has_calls) {
            if (kept != i)
                file->frames[kept] = file->frames[i];
            kept++;
        }
    file->frame_count = kept;
    if (!is_sorted(file, seen))
        sort_items(file->frames, file->frame_count, sizeof *file->frames, by_place);

out:
    free(seen);
    return status;
}

enum status trace_rows_settle(struct trace_rows *rows)
{
    settle_strays(rows->file);
    settle_correlations(rows->file);
    TRY(settle_frames(rows));
    if (rows->full)
        trace_rows_partial(rows, "only the first %lld events were kept", (long long)rows->rows_max);

    return STATUS_OK;
}

enum status trace_rows_open(struct trace_rows *rows, int64_t rows_max)
{
    uint32_t unknown; /* the name "" has number 0 */

    *rows = (struct trace_rows){ .rows_max = rows_max };
    TRY(rows_make(&rows->file, 1));
    rows->file->rank = rows->file->world_size = -1;
    rows->file->cost.spread = NAN;
    rows->file->cost.other_cores = NAN;
    rows->file->counters = HARDWARE_COUNTERS_UNKNOWN;
    TRY(intern_open(&rows->file->names, NAME_BYTES));
    return intern_add(rows->file->names, "", 0, &unknown);
}

void trace_rows_release(struct trace_rows *rows)
{
    trace_file_close(rows->file);
    free(rows->track_slots);
    *rows = (struct trace_rows){ .file = NULL };
}

/* --- Rows of two readers become one trace --- */

void joined_numbers_release(struct joined_numbers *numbers)
{
    free(numbers->names);
    free(numbers->tracks);
    *numbers = (struct joined_numbers){ NULL };
}

static bool has_stacks(const struct trace_file *file)
{
    for (int64_t i = 0; i < file->frame_count; i++)
        if (file->frames[i].is_stack)
            return true;
    return false;
}

bool trace_rows_can_join(const struct trace_rows *rows, const struct trace_rows *later)
{
    const struct trace_file *file = rows->file, *more = later->file;

    return !later->full && file->event_count + more->event_count <= rows->rows_max &&
           file->frame_count + more->frame_count <= rows->rows_max && more->metadata_count == 0 &&
           more->unread_device == NULL && !(rows->has_calls && has_stacks(more));
}

/* --- Numbers --- */

static enum status number_names(struct trace_rows *rows, const struct trace_rows *later,
                                struct joined_numbers *numbers)
{
    int64_t count = trace_file_name_count(later->file);

    TRY(rows_grow(&numbers->names, count, &numbers->name_room));
    for (; numbers->name_count < count; numbers->name_count++) {
        const char *name = trace_file_name(later->file, (uint32_t)numbers->name_count);
        TRY(trace_rows_name(rows, name, strlen(name), &numbers->names[numbers->name_count]));
    }

    return STATUS_OK;
}

static enum status number_tracks(struct trace_rows *rows, const struct trace_rows *later,
                                 struct joined_numbers *numbers)
{
    TRY(rows_grow(&numbers->tracks, later->file->track_count, &numbers->track_room));
    for (; numbers->track_count < later->file->track_count; numbers->track_count++)
        TRY(trace_rows_track(rows, later->file->tracks[numbers->track_count],
                             &numbers->tracks[numbers->track_count]));

    return STATUS_OK;
}

/* --- Tables --- */

/* Moves `*more_count` rows to the end of *table. */
static enum status move_rows(void *table, int64_t *count, int64_t *room, const void *more,
                             int64_t *more_count, size_t size)
{
    char *rows;

    if (*more_count == 0)
        return STATUS_OK;
    TRY(rows_grow_bytes(table, *count + *more_count, room, size));
    memcpy(&rows, table, sizeof rows);
    memcpy(rows + (size_t)*count * size, more, (size_t)*more_count * size);
    *count += *more_count;
    *more_count = 0;

    return STATUS_OK;
}

#define MOVE(table)                                                                                \
    move_rows(&rows->file->table##s, &rows->file->table##_count, &rows->table##_room,              \
              later->file->table##s, &later->file->table##_count, sizeof *rows->file->table##s)

/* Where the details of a kind of event begin; NULL: it has none. */
static const int64_t *details_of(const struct trace_file *file, enum event_kind kind)
{
    switch (kind) {
    case EVENT_KIND_KERNEL:
        return &file->kernel_count;
    case EVENT_KIND_MEMORY:
        return &file->block_count;
    case EVENT_KIND_ANNOTATION:
        return &file->step_count;
    case EVENT_KIND_OPERATOR:
        return &file->operator_count;
    default:
        return NULL;
    }
}

static void renumber_events(const struct trace_file *file, struct trace_file *more,
                            const struct joined_numbers *numbers)
{
    for (int64_t i = 0; i < more->event_count; i++) {
        struct trace_event *event = &more->events[i];
        event->name = numbers->names[event->name];
        event->track = numbers->tracks[event->track];
        if (event->detail != NO_DETAIL)
            event->detail += (int32_t)*details_of(file, event->kind);
    }
}

static void renumber_details(struct trace_file *more, const uint32_t *names)
{
    for (int64_t i = 0; i < more->kernel_count; i++) {
        struct event_kernel *kernel = &more->kernels[i];
        kernel->collective = names[kernel->collective];
        kernel->group_name = names[kernel->group_name];
        kernel->group_about = names[kernel->group_about];
        kernel->group_ranks = names[kernel->group_ranks];
    }
    for (int64_t i = 0; i < more->block_count; i++)
        more->blocks[i].category = names[more->blocks[i].category];
    for (int64_t i = 0; i < more->operator_count; i++)
        more->operators[i].dims = names[more->operators[i].dims];
}

static void renumber_frames(struct trace_file *more, const struct joined_numbers *numbers)
{
    for (int64_t i = 0; i < more->frame_count; i++) {
        struct event_frame *frame = &more->frames[i];
        frame->name = numbers->names[frame->name];
        frame->from = numbers->names[frame->from];
        frame->track = numbers->tracks[frame->track];
    }
}

static void join_counts(struct trace_rows *rows, struct trace_file *more)
{
    int64_t bad = more->bad_count;

    rows->file->other_count += more->other_count;
    rows->file->name_count += more->name_count;
    more->other_count = more->name_count = more->bad_count = 0;
    if (bad == 0)
        return;
    trace_rows_bad(rows, more->bad_offset, more->bad_reason);
    rows->file->bad_count += bad - 1;
}

enum status trace_rows_join(struct trace_rows *rows, struct trace_rows *later,
                            struct joined_numbers *numbers)
{
    TRY(number_names(rows, later, numbers));
    TRY(number_tracks(rows, later, numbers));
    renumber_events(rows->file, later->file, numbers);
    renumber_details(later->file, numbers->names);
    renumber_frames(later->file, numbers);
    TRY(MOVE(event));
    TRY(MOVE(kernel));
    TRY(MOVE(block));
    TRY(MOVE(step));
    TRY(MOVE(operator));
    TRY(MOVE(frame));
    rows->has_calls = rows->has_calls || later->has_calls;
    join_counts(rows, later->file);

    return STATUS_OK;
}
