/* Release of a trace, its split into one per process, and questions about names and devices. */
#include "harness/desk/trace/trace_file.h"

#include "harness/base/rows.h"
#include "harness/base/system/arena.h"
#include "harness/base/words/intern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parts of a trace share its tables: the last of them releases these. */
static void release_tables(struct trace_file *trace)
{
    if (trace->part_owners != NULL && --*trace->part_owners > 0)
        return;
    for (int64_t i = 0; i < trace->metadata_count; i++) {
        free(trace->metadata[i].key);
        free(trace->metadata[i].json);
    }
    free(trace->metadata);
    free(trace->tracks);
    free(trace->kernels);
    free(trace->blocks);
    free(trace->operators);
    free(trace->steps);
    intern_close(trace->names);
    free(trace->part_owners);
}

void trace_file_close(struct trace_file *trace)
{
    if (trace == NULL)
        return;
    release_tables(trace);
    free(trace->events);
    free(trace->frames);
    free(trace->digest);
    arena_close(trace->digest_arena);
    free(trace);
}

/* --- Parts --- */

/* Takes the events and frames of one process. `to` may be `from` itself: what is kept only moves
 * towards the beginning. */
static void keep_part(struct trace_file *to, const struct trace_file *from, int part,
                      const int32_t *event_part, const int32_t *frame_part)
{
    int64_t events = 0, frames = 0;

    for (int64_t i = 0; i < from->event_count; i++)
        if (event_part[i] == part)
            to->events[events++] = from->events[i];
    for (int64_t i = 0; i < from->frame_count; i++)
        if (frame_part[i] == part)
            to->frames[frames++] = from->frames[i];
    to->event_count = events;
    to->frame_count = frames;
}

/* A copy with the events and frames of one process. */
static enum status copy_part(struct trace_file **copy, const struct trace_file *trace, int part,
                             const int32_t *event_part, const int32_t *frame_part)
{
    struct trace_file *file;
    int64_t events = 0, frames = 0;

    for (int64_t i = 0; i < trace->event_count; i++) events += event_part[i] == part;
    for (int64_t i = 0; i < trace->frame_count; i++) frames += frame_part[i] == part;
    TRY(rows_make(copy, 1));
    file = *copy;
    *file = *trace;
    file->events = NULL;
    file->frames = NULL;
    file->event_count = file->frame_count = 0;
    TRY(rows_make(&file->events, events));
    TRY(rows_make(&file->frames, frames));
    keep_part(file, trace, part, event_part, frame_part);

    return STATUS_OK;
}

/* The copies only: the first part is the trace itself, which is as it was. */
static void discard_parts(struct trace_file **parts, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (parts[i] != NULL) {
            free(parts[i]->events);
            free(parts[i]->frames);
            free(parts[i]);
        }
    for (int64_t i = 0; i < count; i++) parts[i] = NULL;
}

enum status trace_file_split(struct trace_file *trace, const int64_t *processes, int64_t count,
                             const int32_t *event_part, const int32_t *frame_part,
                             struct trace_file **parts)
{
    enum status status = STATUS_OK;
    int *owners = NULL;

    for (int64_t i = 0; i < count; i++) parts[i] = NULL;
    TRY_OUT(rows_make(&owners, 1));
    for (int i = 1; i < count; i++) TRY_OUT(copy_part(&parts[i], trace, i, event_part, frame_part));
    keep_part(trace, trace, 0, event_part, frame_part); /* nothing fails from here on */
    parts[0] = trace;
    *owners = (int)count;
    for (int64_t i = 0; i < count; i++) {
        parts[i]->part_owners = owners;
        parts[i]->part_count = count;
        parts[i]->part_process = processes[i];
        parts[i]->rank = i;
        parts[i]->world_size = count;
    }
    owners = NULL;

out:
    if (status != STATUS_OK)
        discard_parts(parts, count);
    free(owners);
    return status;
}

/* --- Names --- */

const char *trace_file_name(const struct trace_file *trace, uint32_t name)
{
    return intern_text(trace->names, name);
}

uint32_t trace_file_name_count(const struct trace_file *trace)
{
    return intern_count(trace->names);
}

void trace_file_first_bad(const struct trace_file *trace, char text[160])
{
    if (trace->bad_offset >= 0)
        snprintf(text, 160, "at byte %lld: %s", (long long)trace->bad_offset, trace->bad_reason);
    else
        snprintf(text, 160, "%s", trace->bad_reason);
}

const char *trace_file_metadata(const struct trace_file *trace, const char *key)
{
    /* The last of several by that name counts, as for most readers of JSON. */
    for (int64_t i = trace->metadata_count; i-- > 0;)
        if (strcmp(trace->metadata[i].key, key) == 0)
            return trace->metadata[i].json;
    return NULL;
}

/* Whether all devices are of one model, so that each stands for the others. */
static bool are_alike(const struct trace_file *trace)
{
    for (int i = 1; i < trace->device_count; i++)
        if (strcmp(trace->devices[i].name, trace->devices[0].name) != 0)
            return false;
    return trace->device_count > 0;
}

const struct event_device *trace_file_device(const struct trace_file *trace, int64_t id)
{
    for (int i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return &trace->devices[i];
    return id >= 0 && are_alike(trace) ? &trace->devices[0] : NULL;
}

double trace_file_overhead(const struct trace_file *trace)
{
    return trace->cost.step_ns > 0 ? trace->cost.traced_step_ns / trace->cost.step_ns - 1 : NAN;
}

bool trace_file_is_disturbed(const struct trace_file *trace)
{
    int cores = trace->device_count > 0 ? trace->devices[0].host_cores : 0;

    return trace->cost.other_cores > 0.1 * (cores > 0 ? cores : 1) ||
           trace->cost.core_wait_share > TRACE_CORE_WAIT_MOST;
}
