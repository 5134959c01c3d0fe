/* A digest's line, which only this program reads: numbers are exact, and what is read is checked as
 * that of strangers is. */
#include "harness/desk/diagnosis/digest/diagnosis_members.h"

enum { STEPS_MOST = 1 << 20, TRACKS_MOST = 4096, COLLECTIVES_MOST = 1 << 16 };

/* --- The file --- */

static void device_members(struct members *members, void *object)
{
    struct event_device *device = object;

    member_any(members, "id", &device->id);
    member_text(members, "name", device->name, sizeof device->name);
    member_any(members, "memory", &device->memory_bytes);
    member_any(members, "budget", &device->memory_budget_bytes);
    member_int(members, "host_cores", &device->host_cores, -1, 1 << 20);
    member_int(members, "shares_host_cores", &device->shares_host_cores, -1, 1);
}

/* Whether all that the file has are rows of another profiler. */
static void foreign_member(struct members *members, struct trace_file *trace)
{
    bool foreign = trace->event_count == 0 && trace->frame_count == 0 &&
                   trace->other_count > trace->name_count;

    member_bool(members, "foreign", &foreign);
    if (members->reading)
        trace->other_count = trace->name_count + foreign;
}

void trace_head_members(struct members *members, void *object)
{
    struct trace_head *head = object;
    struct trace_file *trace = head->trace;
    int64_t devices = trace->device_count;

    member_bool(members, "partial", &trace->partial);
    origin_members(members, trace);
    member_any(members, "base_ns", &trace->base_ns);
    member_count(members, "cost_steps", &trace->cost.steps);
    member_count(members, "cost_windows", &trace->cost.windows);
    member_number(members, "cost_step_ns", &trace->cost.step_ns);
    member_number(members, "cost_traced_step_ns", &trace->cost.traced_step_ns);
    member_number(members, "cost_spread", &trace->cost.spread);
    member_number(members, "cost_other_cores", &trace->cost.other_cores);
    member_string(members, "recorder", &trace->recorder);
    member_string(members, "unread_device", &trace->unread_device);
    member_string(members, "step_range", &head->step_range);
    foreign_member(members, trace);
    member_rows(members, "devices", trace->devices, &devices, sizeof trace->devices[0],
                TRACE_FILE_DEVICES, device_members);
    if (members->reading)
        trace->device_count = (int)devices;
}

/* --- The summary --- */

static void whole_usage_members(struct members *members, void *object)
{
    struct usage *usage = object;

    usage_members(members, usage);
    member_count(members, "work_count", &usage->work_count);
    member_any(members, "start_ns", &usage->start_ns);
    member_integer(members, "end_ns", &usage->end_ns, usage->start_ns, INT64_MAX);
    member_count(members, "kernel_ns", &usage->kernel_ns);
    member_counts(members, "kind_ns", usage->kind_ns, WORK_KIND_COUNT);
    member_count(members, "memory_ns", &usage->memory_ns);
    member_count(members, "communication_overlap_ns", &usage->communication_overlap_ns);
    member_count(members, "exposed_memory_ns", &usage->memory_exposed_ns);
}

static void track_members(struct members *members, void *object)
{
    struct track_usage *track = object;

    member_any(members, "device", &track->device);
    member_any(members, "stream", &track->stream);
    member_object(members, "usage", whole_usage_members, &track->usage);
}

static void step_members(struct members *members, void *object)
{
    struct step *step = object;

    member_any(members, "n", &step->number);
    member_count(members, "ns", &step->duration_ns);
}

static void steps_members(struct members *members, void *object)
{
    struct steps *steps = object;

    member_number(members, "mean_ns", &steps->mean_ns);
    member_number(members, "median_ns", &steps->median_ns);
    member_object(members, "parts", step_parts_members, steps);
    member_count(members, "min_ns", &steps->min_ns);
    member_count(members, "max_ns", &steps->max_ns);
    member_string(members, "region", &steps->region);
    member_string(members, "anchor", &steps->anchor);
    MEMBER_ROWS(members, "items", &steps->items, &steps->count, STEPS_MOST, step_members);
}

static void launches_members(struct members *members, void *object)
{
    struct launches *launches = object;

    member_count(members, "count", &launches->count);
    member_count(members, "host_ns", &launches->host_ns);
    member_any(members, "delay_ns", &launches->delay_ns);
    member_any(members, "max_delay_ns", &launches->delay_max_ns);
    member_count(members, "short_count", &launches->short_count);
    member_count(members, "queue_max", &launches->queue_max);
}

static void messages_members(struct members *members, void *object)
{
    enum { SUM = 3 };
    struct messages *messages = object;
    struct message_sum *sums[] = { messages->backward, messages->elsewhere };
    static const char *const names[] = { "backward", "elsewhere" };

    for (int which = 0; which < 2; which++) {
        int64_t numbers[MESSAGE_COUNT * SUM];
        for (int i = 0; i < MESSAGE_COUNT; i++) {
            numbers[i * SUM] = sums[which][i].count;
            numbers[i * SUM + 1] = sums[which][i].sized_count;
            numbers[i * SUM + 2] = sums[which][i].bytes;
        }
        member_counts(members, names[which], numbers, MESSAGE_COUNT * SUM);
        for (int i = 0; i < MESSAGE_COUNT; i++)
            sums[which][i] = (struct message_sum){ numbers[i * SUM], numbers[i * SUM + 1],
                                                   numbers[i * SUM + 2] };
    }
    member_count(members, "backward_ns", &messages->backward_ns);
    member_count(members, "sendings", &messages->sendings);
    member_count(members, "exchanges", &messages->exchanges);
    member_number(members, "fixed_ns", &messages->fixed_ns);
    member_number(members, "shortest_ns", &messages->shortest_ns);
}

static void idle_members(struct members *members, void *object)
{
    struct idle *idle = object;

    member_any(members, "start_ns", &idle->start_ns);
    member_integer(members, "end_ns", &idle->end_ns, idle->start_ns, INT64_MAX);
    member_count(members, "busy_ns", &idle->busy_ns);
    member_number(members, "paced_ns", &idle->paced_ns);
    member_count(members, "late_ns", &idle->late_ns);
    member_count(members, "idle_ns", &idle->all.idle_ns);
    member_count(members, "queued_ns", &idle->all.queued_ns);
    member_count(members, "stalled_ns", &idle->all.stalled_ns);
    member_count(members, "unknown_ns", &idle->all.unknown_ns);
    member_counts(members, "free_ns", idle->all.free_ns, HOST_KIND_COUNT);
    member_counts(members, "drained_ns", idle->all.drained_ns, HOST_KIND_COUNT);
    member_count(members, "drained", &idle->all.drained_count);
    member_count(members, "longest_ns", &idle->all.longest_ns);
}

void summary_members(struct members *members, void *object)
{
    struct summary *summary = object;
    struct timeline *timeline = &summary->timeline;

    member_object(members, "soundness", soundness_members, &summary->soundness);
    member_count(members, "work_count", &timeline->work_count);
    member_bool(members, "host_alone", &timeline->host_alone);
    member_object(members, "all", whole_usage_members, &timeline->all);
    MEMBER_ROWS(members, "devices", &timeline->devices, &timeline->device_count, TRACKS_MOST,
                track_members);
    member_object(members, "usage", whole_usage_members, &summary->usage);
    member_object(members, "steps", steps_members, &summary->steps);
    member_object(members, "launches", launches_members, &summary->launches);
    phases_members(members, &summary->phases);
    member_object(members, "messages", messages_members, &summary->messages);
    member_object(members, "idle", idle_members, &summary->idle);
    member_count(members, "operators", &summary->operators.count);
}

/* --- Findings --- */

void facts_members(struct members *members, void *object)
{
    struct facts *facts = object;

    member_bool(members, "has_steps", &facts->has_steps);
    member_number(members, "steps", &facts->steps);
    member_number(members, "window_ns", &facts->window_ns);
    member_number(members, "step_ns", &facts->step_ns);
    member_number(members, "busy_ns", &facts->busy_ns);
    member_number(members, "launches", &facts->launches);
    member_bool(members, "lacks_work", &facts->lacks_work);
    member_bool(members, "trains", &facts->program.trains);
    member_bool(members, "serves", &facts->program.serves);
    member_number(members, "passes", &facts->passes);
    member_number(members, "median_step_ns", &facts->median_step_ns);
}

static void ordered_finding_members(struct members *members, void *object)
{
    struct finding *finding = object;

    finding_members(members, finding);
    member_bool(members, "shares_time", &finding->shares_time);
    member_bool(members, "is_replayed", &finding->is_replayed);
}

/* A finding has an id that this program knows, and that none before it has. */
static bool is_new(const struct findings *findings, const struct finding *finding)
{
    return finding->id != NULL && findings_find(findings, finding->id) == NULL;
}

/* Keeps those that are known, and all rules in the order of their tables. */
static void keep_known(struct findings *findings, struct arena *arena)
{
    const struct threshold *read = findings->thresholds;
    int64_t items = findings->count, thresholds = findings->threshold_count;
    const struct rule *rule;

    findings->count = 0;
    findings->threshold_count = rule_count();
    findings->thresholds = ARENA_NEW(arena, struct threshold, rule_count());
    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        struct threshold *threshold = &findings->thresholds[i];
        for (int64_t j = 0; j < thresholds; j++)
            if (read[j].id == rule->id)
                *threshold = read[j];
        threshold->id = rule->id;
        threshold->source = rule->threshold;
        for (int64_t j = 0; j < items; j++)
            if (findings->items[j].id == rule->id)
                findings->items[j].judged = threshold->judged;
    }
    for (int64_t i = 0; i < items; i++)
        if (is_new(findings, &findings->items[i]))
            findings->items[findings->count++] = findings->items[i];
}

void findings_members(struct members *members, void *object)
{
    struct findings *findings = object;
    bool has_next = findings->next.first != NULL;

    MEMBER_ROWS(members, "items", &findings->items, &findings->count, rule_count(),
                ordered_finding_members);
    member_number(members, "left_step_ns", &findings->left_step_ns);
    MEMBER_ROWS(members, "thresholds", &findings->thresholds, &findings->threshold_count,
                rule_count(), threshold_members);
    member_known_object(members, "next", next_fix_members, &findings->next, &has_next);
    if (members->reading)
        keep_known(findings, members->arena);
}

/* --- Steps and collectives --- */

/* An array whose length is that of the first one. */
static void column(struct members *members, const char *name, int64_t **values, int64_t count)
{
    if (members->reading)
        *values = ARENA_NEW(members->arena, int64_t, count);
    member_integers(members, name, *values, count);
}

static void length_member(struct members *members, const char *name, int64_t *count, int64_t most)
{
    int number = (int)*count;

    member_int(members, name, &number, 0, (int)most);
    *count = number;
}

/* Starts are stored as differences, which are short. */
static void starts_column(struct members *members, const char *name, int64_t **starts,
                          int64_t count)
{
    if (!members->reading)
        for (int64_t i = count; i-- > 1;) (*starts)[i] -= (*starts)[i - 1];
    column(members, name, starts, count);
    for (int64_t i = 1; i < count; i++)
        if (__builtin_add_overflow((*starts)[i], (*starts)[i - 1], &(*starts)[i]))
            (*starts)[i] = 0;
}

static void group_members(struct members *members, void *object)
{
    struct record_group *group = object;

    member_string(members, "name", &group->name);
    member_string(members, "about", &group->about);
    member_string(members, "ranks", &group->ranks);
    member_string(members, "kind", &group->kind);
    member_count(members, "size", &group->size);
    member_count(members, "total", &group->total);
    member_integer(members, "every", &group->every, 1, INT64_MAX);
    length_member(members, "count", &group->count, COLLECTIVES_MOST);
    column(members, "step", &group->step, group->count);
    starts_column(members, "start_ns", &group->start_ns, group->count);
    column(members, "ns", &group->ns, group->count);
    column(members, "own_ns", &group->own_ns, group->count);
    column(members, "bytes", &group->bytes, group->count);
    if (members->reading && (group->name == NULL || group->about == NULL || group->ranks == NULL ||
                             group->kind == NULL))
        group->name = group->about = group->ranks = group->kind = "";
}

/* Steps that the record does not have would be read beyond its end. */
static void check_steps(struct record_group *group, int64_t steps)
{
    for (int64_t i = 0; i < group->count; i++)
        if (group->step[i] < 0 || group->step[i] >= steps)
            group->step[i] = 0;
}

void record_members(struct members *members, void *object)
{
    struct rank_record *record = object;

    member_string(members, "source", &record->source);
    member_string(members, "node", &record->node);
    member_string(members, "job", &record->job);
    member_any(members, "clock_ns", &record->clock_ns);
    member_count(members, "steps", &record->step_total);
    length_member(members, "step_count", &record->step_count, RECORD_STEPS);
    column(members, "number", &record->number, record->step_count);
    starts_column(members, "start_ns", &record->start_ns, record->step_count);
    column(members, "ns", &record->ns, record->step_count);
    column(members, "tokens", &record->tokens, record->step_count);
    column(members, "part_ns", &record->part_ns, record->step_count * STEP_PART_COUNT);
    MEMBER_ROWS(members, "groups", &record->groups, &record->group_count, RECORD_GROUPS,
                group_members);
    for (int64_t i = 0; i < record->group_count; i++)
        check_steps(&record->groups[i], record->step_count);
    if (members->reading && (record->source == NULL || record->node == NULL || record->job == NULL))
        record->source = record->node = record->job = "";
}
