/* Collectives are found in the order of the device's work. If there are more than there is room
 * for, every so many in each step are kept, by their number in the step, which is the same on all
 * ranks. */
#include "harness/desk/diagnosis/digest/rank_record.h"

#include <string.h>

struct recording {
    struct arena *arena;
    const struct summary *summary;
    const struct trace_file *trace;
    struct rank_record *record;
    int64_t every;
    int64_t *in_step, *rooms; /* [RECORD_GROUPS]: collectives of a group in its present step */
};

static void take_steps(struct recording *recording)
{
    struct rank_record *record = recording->record;
    const struct steps *steps = &recording->summary->steps;
    int64_t count = steps->count < RECORD_STEPS ? steps->count : RECORD_STEPS;

    record->step_total = steps->count;
    record->step_count = count;
    record->number = ARENA_NEW(recording->arena, int64_t, count);
    record->start_ns = ARENA_NEW(recording->arena, int64_t, count);
    record->ns = ARENA_NEW(recording->arena, int64_t, count);
    record->tokens = ARENA_NEW(recording->arena, int64_t, count);
    record->part_ns = ARENA_NEW(recording->arena, int64_t, count * STEP_PART_COUNT);
    record->clock_ns = count > 0 ? steps->items[0].event->start_ns : 0;
    for (int64_t i = 0; i < count; i++) {
        const struct step *step = &steps->items[i];
        const struct trace_event *event = step->event;
        record->number[i] = step->number;
        record->start_ns[i] = event->start_ns - record->clock_ns;
        record->ns[i] = step->duration_ns;
        record->tokens[i] = event->kind == EVENT_KIND_ANNOTATION && event->detail != NO_DETAIL
                                ? recording->trace->steps[event->detail].tokens
                                : -1;
        memcpy(record->part_ns + i * STEP_PART_COUNT, step->part_ns, sizeof step->part_ns);
    }
}

/* --- Collectives --- */

static const struct event_kernel *kernel_of(const struct trace_file *trace, const struct work *work)
{
    const struct trace_event *event = work->event;

    return event->kind == EVENT_KIND_KERNEL && event->detail != NO_DETAIL
               ? &trace->kernels[event->detail]
               : NULL;
}

/* The step that a collective was launched in, or else that it runs in; -1: none that is kept. */
static int64_t step_of(const struct recording *recording, const struct work *work)
{
    int64_t at_ns = work->call != NULL ? work->call->start_ns : work->event->start_ns;
    int64_t step = steps_find(&recording->summary->steps, at_ns);

    return step < recording->record->step_count ? step : -1;
}

static const char *stated(const struct trace_file *trace, uint32_t name)
{
    return name != 0 ? trace_file_name(trace, name) : "";
}

/* -1: there are too many groups. */
static int64_t find_group(struct recording *recording, const struct event_kernel *kernel)
{
    struct rank_record *record = recording->record;
    const char *name = kernel != NULL ? stated(recording->trace, kernel->group_name) : "";
    const char *ranks = kernel != NULL ? stated(recording->trace, kernel->group_ranks) : "";
    struct record_group *group;

    for (int64_t i = 0; i < record->group_count; i++)
        if (strcmp(record->groups[i].name, name) == 0 &&
            strcmp(record->groups[i].ranks, ranks) == 0)
            return i;
    if (record->group_count == RECORD_GROUPS)
        return -1;
    group = &record->groups[record->group_count];
    *group = (struct record_group){ .name = name, .ranks = ranks, .about = "", .kind = "" };
    if (kernel != NULL) {
        group->about = stated(recording->trace, kernel->group_about);
        group->kind = stated(recording->trace, kernel->collective);
        group->size = kernel->group_size;
    }
    group->every = recording->every;
    return record->group_count++;
}

static void keep(struct recording *recording, int64_t which, int64_t step, const struct work *work,
                 int64_t own_ns)
{
    struct record_group *group = &recording->record->groups[which];
    int64_t *room = &recording->rooms[which], at = group->count, rooms[4];

    for (int i = 0; i < 4; i++) rooms[i] = *room;
    ARENA_ROOM(recording->arena, group->step, at, *room);
    ARENA_ROOM(recording->arena, group->start_ns, at, rooms[0]);
    ARENA_ROOM(recording->arena, group->ns, at, rooms[1]);
    ARENA_ROOM(recording->arena, group->own_ns, at, rooms[2]);
    ARENA_ROOM(recording->arena, group->bytes, at, rooms[3]);
    group->step[at] = step;
    group->start_ns[at] = work->event->start_ns - recording->record->clock_ns;
    group->ns[at] = work->event->end_ns - work->event->start_ns;
    group->own_ns[at] = own_ns;
    group->bytes[at] = work->event->bytes;
    group->count++;
}

static void take_collectives(struct recording *recording)
{
    const struct timeline *timeline = &recording->summary->timeline;
    int64_t *last = ARENA_NEW(recording->arena, int64_t, RECORD_GROUPS);
    int64_t end_ns = recording->record->clock_ns, own_ns = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        int64_t step, which;
        if (work->kind != WORK_COMMUNICATION || (step = step_of(recording, work)) < 0)
            continue;
        which = find_group(recording, kernel_of(recording->trace, work));
        if (which < 0)
            continue;
        if (work->event->start_ns > end_ns)
            own_ns += work->event->start_ns - end_ns;
        if (work->event->end_ns > end_ns)
            end_ns = work->event->end_ns;
        recording->record->groups[which].total++;
        if (last[which] != step + 1)
            recording->in_step[which] = 0;
        last[which] = step + 1;
        if (recording->in_step[which]++ % recording->every == 0) {
            keep(recording, which, step, work, own_ns);
            own_ns = 0;
        }
    }
}

static int64_t count_collectives(const struct timeline *timeline)
{
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->work_count; i++)
        count += timeline->work[i].kind == WORK_COMMUNICATION;
    return count;
}

struct rank_record rank_record_of(struct arena *arena, const struct summary *summary, int64_t most)
{
    struct rank_record record = { .source = "", .node = "", .job = "" };
    struct recording recording = { .arena = arena,
                                   .summary = summary,
                                   .trace = summary->trace,
                                   .record = &record,
                                   .every = 1 + count_collectives(&summary->timeline) / most };

    record.groups = ARENA_NEW(arena, struct record_group, RECORD_GROUPS);
    recording.in_step = ARENA_NEW(arena, int64_t, RECORD_GROUPS);
    recording.rooms = ARENA_NEW(arena, int64_t, RECORD_GROUPS);
    take_steps(&recording);
    take_collectives(&recording);
    if (summary->trace->base_ns > 0)
        record.clock_ns += summary->trace->base_ns;
    return record;
}
