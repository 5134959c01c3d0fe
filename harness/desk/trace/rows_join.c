#include "harness/desk/trace/rows_join.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

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
