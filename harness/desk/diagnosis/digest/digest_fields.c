#include "harness/desk/diagnosis/digest/digest_fields.h"

enum { STEPS_MOST = 1 << 20, TRACKS_MOST = 4096, COLLECTIVES_MOST = 1 << 16 };

/* --- The file --- */

static void device_fields(struct members *members, void *object)
{
    struct event_device *device = object;

    member_any(members, "id", &device->id);
    member_text(members, "name", device->name, sizeof device->name);
    member_any(members, "memory", &device->memory_bytes);
    member_any(members, "budget", &device->memory_budget_bytes);
    member_int(members, "host_cores", &device->host_cores, -1, 1 << 20);
    member_int(members, "shares_host_cores", &device->shares_host_cores, -1, 1);
}

static void damage_fields(struct members *members, struct trace_file *trace)
{
    bool foreign = trace->event_count == 0 && trace->frame_count == 0 &&
                   trace->other_count > trace->name_count;

    member_count(members, "dropped", &trace->dropped_count);
    member_count(members, "stray", &trace->stray_count);
    member_count(members, "bad", &trace->bad_count);
    member_any(members, "bad_at", &trace->bad_offset);
    member_text(members, "bad_reason", trace->bad_reason, sizeof trace->bad_reason);
    member_bool(members, "partial", &trace->partial);
    member_text(members, "partial_reason", trace->partial_reason, sizeof trace->partial_reason);
    member_bool(members, "foreign", &foreign);
    if (members->reading)
        trace->other_count = trace->name_count + foreign;
}

void trace_head_fields(struct members *members, void *object)
{
    struct trace_head *head = object;
    struct trace_file *trace = head->trace;
    int64_t *events = members->reading ? &trace->digest_events : &trace->event_count;
    int64_t devices = trace->device_count;

    member_any(members, "rank", &trace->rank);
    member_any(members, "world_size", &trace->world_size);
    member_count(members, "events", events);
    member_count(members, "text_bytes", &trace->text_bytes);
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
    damage_fields(members, trace);
    member_rows(members, "devices", trace->devices, &devices, sizeof trace->devices[0],
                TRACE_FILE_DEVICES, device_fields);
    trace->device_count = (int)devices;
}

/* --- The summary --- */

static void sound_row_fields(struct members *members, void *object)
{
    struct sound_row *row = object;

    member_count(members, "count", &row->count);
    MEMBER_ENUM(members, "trust", &row->trust, enum trust, TRUST_LITTLE + 1);
    member_text(members, "found", row->found, sizeof row->found);
    member_text(members, "mended", row->mended, sizeof row->mended);
}

static void sound_fields(struct members *members, void *object)
{
    struct soundness *soundness = object;

    MEMBER_ENUM(members, "trust", &soundness->trust, enum trust, TRUST_LITTLE + 1);
    for (int i = 0; i < SOUND_CHECK_COUNT; i++)
        member_object(members, sound_check_name((enum sound_check)i), sound_row_fields,
                      &soundness->rows[i]);
}

static void usage_fields(struct members *members, void *object)
{
    struct usage *usage = object;

    member_count(members, "work", &usage->work_count);
    member_any(members, "start_ns", &usage->start_ns);
    member_integer(members, "end_ns", &usage->end_ns, usage->start_ns, INT64_MAX);
    member_count(members, "span_ns", &usage->span_ns);
    member_count(members, "busy_ns", &usage->busy_ns);
    member_count(members, "idle_ns", &usage->idle_ns);
    member_counts(members, "causes_ns", usage->idle_cause_ns, IDLE_CAUSE_COUNT);
    member_count(members, "kernel_ns", &usage->kernel_ns);
    member_counts(members, "kinds_ns", usage->kind_ns, WORK_KIND_COUNT);
    member_count(members, "memory_ns", &usage->memory_ns);
    member_count(members, "overlap_ns", &usage->communication_overlap_ns);
    member_count(members, "exposed_ns", &usage->communication_exposed_ns);
    member_count(members, "copy_exposed_ns", &usage->copy_exposed_ns);
    member_count(members, "memory_exposed_ns", &usage->memory_exposed_ns);
}

static void track_fields(struct members *members, void *object)
{
    struct track_usage *track = object;

    member_any(members, "device", &track->device);
    member_any(members, "stream", &track->stream);
    member_object(members, "usage", usage_fields, &track->usage);
}

static void timeline_fields(struct members *members, struct timeline *timeline)
{
    member_count(members, "work", &timeline->work_count);
    member_bool(members, "host_alone", &timeline->host_alone);
    member_object(members, "all", usage_fields, &timeline->all);
    MEMBER_ROWS(members, "devices", &timeline->devices, &timeline->device_count, TRACKS_MOST,
                track_fields);
}

static void step_fields(struct members *members, void *object)
{
    struct step *step = object;

    member_any(members, "n", &step->number);
    member_count(members, "ns", &step->duration_ns);
}

static void steps_fields(struct members *members, void *object)
{
    struct steps *steps = object;

    member_number(members, "mean_ns", &steps->mean_ns);
    member_number(members, "median_ns", &steps->median_ns);
    member_numbers(members, "part_ns", steps->mean_part_ns, STEP_PART_COUNT);
    member_count(members, "min_ns", &steps->min_ns);
    member_count(members, "max_ns", &steps->max_ns);
    member_string(members, "region", &steps->region);
    member_string(members, "anchor", &steps->anchor);
    MEMBER_ROWS(members, "items", &steps->items, &steps->count, STEPS_MOST, step_fields);
}

static void launches_fields(struct members *members, void *object)
{
    struct launches *launches = object;

    member_count(members, "count", &launches->count);
    member_count(members, "host_ns", &launches->host_ns);
    member_any(members, "delay_ns", &launches->delay_ns);
    member_any(members, "delay_max_ns", &launches->delay_max_ns);
    member_count(members, "short", &launches->short_count);
    member_count(members, "queue_max", &launches->queue_max);
}

struct seen_phase {
    bool *seen;
    struct phase_mean *mean;
};

static void phase_fields(struct members *members, void *object)
{
    const struct seen_phase *phase = object;

    member_bool(members, "seen", phase->seen);
    member_number(members, "host_ns", &phase->mean->host_ns);
    member_number(members, "device_ns", &phase->mean->device_ns);
    member_number(members, "work", &phase->mean->work_count);
}

static void phases_fields(struct members *members, void *object)
{
    struct phases *phases = object;

    for (int i = 0; i < PHASE_COUNT; i++) {
        struct seen_phase phase = { &phases->seen[i], &phases->means[i] };
        member_object(members, phase_name((enum phase)i), phase_fields, &phase);
    }
}

static void messages_fields(struct members *members, void *object)
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
    member_number(members, "fixed_ns", &messages->fixed_ns);
    member_number(members, "shortest_ns", &messages->shortest_ns);
}

static void idle_fields(struct members *members, void *object)
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
    member_counts(members, "free_ns", idle->all.free_ns, HOST_DOING_COUNT);
    member_counts(members, "drained_ns", idle->all.drained_ns, HOST_DOING_COUNT);
    member_count(members, "drained", &idle->all.drained_count);
    member_count(members, "longest_ns", &idle->all.longest_ns);
}

void summary_fields(struct members *members, void *object)
{
    struct summary *summary = object;

    member_object(members, "soundness", sound_fields, &summary->soundness);
    timeline_fields(members, &summary->timeline);
    member_object(members, "usage", usage_fields, &summary->usage);
    member_object(members, "steps", steps_fields, &summary->steps);
    member_object(members, "launches", launches_fields, &summary->launches);
    member_object(members, "phases", phases_fields, &summary->phases);
    member_object(members, "messages", messages_fields, &summary->messages);
    member_object(members, "idle", idle_fields, &summary->idle);
    member_count(members, "operators", &summary->operators.count);
}

/* --- Findings --- */

void facts_fields(struct members *members, void *object)
{
    struct facts *facts = object;

    member_bool(members, "has_steps", &facts->has_steps);
    member_number(members, "steps", &facts->steps);
    member_number(members, "window_ns", &facts->window_ns);
    member_number(members, "step_ns", &facts->step_ns);
    member_number(members, "busy_ns", &facts->busy_ns);
    member_number(members, "launches", &facts->launches);
    member_bool(members, "lacks_work", &facts->lacks_work);
    member_number(members, "passes", &facts->passes);
    member_number(members, "median_step_ns", &facts->median_step_ns);
    member_number(members, "turn_ns", &facts->turn_ns);
}

/* The id of a rule, which is a constant. */
static void id_field(struct members *members, const char *name, const char **id)
{
    const char *text = members->reading ? NULL : *id;
    const struct rule *rule;

    member_string(members, name, &text);
    rule = members->reading && text != NULL ? rule_find(text) : NULL;
    if (members->reading)
        *id = rule != NULL ? rule->id : NULL;
}

static void place_fields(struct members *members, void *object)
{
    struct call_place *place = object;

    MEMBER_ENUM(members, "kind", &place->kind, enum call_place_kind, PLACE_OPERATOR + 1);
    member_text(members, "file", place->file, sizeof place->file);
    member_any(members, "line", &place->line);
    member_any(members, "last_line", &place->last_line);
    member_text(members, "function", place->function, sizeof place->function);
    member_text(members, "call", place->call, sizeof place->call);
    member_number(members, "share", &place->share);
}

static void finding_fields(struct members *members, void *object)
{
    struct finding *finding = object;

    id_field(members, "id", &finding->id);
    member_string(members, "title", &finding->title);
    member_string(members, "advice", &finding->advice);
    MEMBER_ENUM(members, "bottleneck", &finding->bottleneck, enum bottleneck,
                BOTTLENECK_FIRST_USE + 1);
    MEMBER_ENUM(members, "severity", &finding->severity, enum severity, SEVERITY_CRITICAL + 1);
    MEMBER_ENUM(members, "confidence", &finding->confidence, enum confidence, CONFIDENCE_HIGH + 1);
    member_number(members, "lost_ns", &finding->lost_ns_per_step);
    member_number(members, "gain", &finding->predicted_gain);
    member_bool(members, "of_whole", &finding->of_whole);
    member_bool(members, "gain_is_least", &finding->gain_is_least);
    member_bool(members, "gain_is_most", &finding->gain_is_most);
    member_bool(members, "shares_time", &finding->shares_time);
    member_bool(members, "is_replayed", &finding->is_replayed);
    id_field(members, "once_fixed", &finding->once_fixed);
    member_text(members, "evidence", finding->evidence, sizeof finding->evidence);
    member_object(members, "where", place_fields, &finding->where);
}

static void threshold_fields(struct members *members, void *object)
{
    struct threshold *threshold = object;

    id_field(members, "id", &threshold->id);
    member_bool(members, "found", &threshold->found);
    member_string(members, "figure", &threshold->judged.what);
    member_number(members, "value", &threshold->judged.value);
    member_number(members, "good", &threshold->judged.good);
    member_number(members, "bad", &threshold->judged.bad);
}

static void next_fields(struct members *members, void *object)
{
    struct next_fix *next = object;

    id_field(members, "first", &next->first);
    id_field(members, "second", &next->second);
    member_number(members, "gain", &next->gain);
    id_field(members, "pair0", &next->pair[0]);
    id_field(members, "pair1", &next->pair[1]);
    member_number(members, "pair_gain", &next->pair_gain);
    if (members->reading &&
        (next->second == NULL || next->pair[0] == NULL || next->pair[1] == NULL))
        next->first = NULL;
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

void findings_fields(struct members *members, void *object)
{
    struct findings *findings = object;

    MEMBER_ROWS(members, "items", &findings->items, &findings->count, rule_count(), finding_fields);
    member_number(members, "left_step_ns", &findings->left_step_ns);
    MEMBER_ROWS(members, "thresholds", &findings->thresholds, &findings->threshold_count,
                rule_count(), threshold_fields);
    member_object(members, "next", next_fields, &findings->next);
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

static void length_field(struct members *members, const char *name, int64_t *count, int64_t most)
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

static void group_fields(struct members *members, void *object)
{
    struct record_group *group = object;

    member_string(members, "name", &group->name);
    member_string(members, "about", &group->about);
    member_string(members, "ranks", &group->ranks);
    member_string(members, "kind", &group->kind);
    member_count(members, "size", &group->size);
    member_count(members, "total", &group->total);
    member_integer(members, "every", &group->every, 1, INT64_MAX);
    length_field(members, "count", &group->count, COLLECTIVES_MOST);
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

void record_fields(struct members *members, void *object)
{
    struct rank_record *record = object;

    member_string(members, "source", &record->source);
    member_string(members, "node", &record->node);
    member_string(members, "job", &record->job);
    member_any(members, "clock_ns", &record->clock_ns);
    member_count(members, "steps", &record->step_total);
    length_field(members, "step_count", &record->step_count, RECORD_STEPS);
    column(members, "number", &record->number, record->step_count);
    starts_column(members, "start_ns", &record->start_ns, record->step_count);
    column(members, "ns", &record->ns, record->step_count);
    column(members, "tokens", &record->tokens, record->step_count);
    column(members, "part_ns", &record->part_ns, record->step_count * STEP_PART_COUNT);
    MEMBER_ROWS(members, "groups", &record->groups, &record->group_count, RECORD_GROUPS,
                group_fields);
    for (int64_t i = 0; i < record->group_count; i++)
        check_steps(&record->groups[i], record->step_count);
    if (members->reading && (record->source == NULL || record->node == NULL || record->job == NULL))
        record->source = record->node = record->job = "";
}
