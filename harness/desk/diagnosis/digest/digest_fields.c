#include "harness/desk/diagnosis/digest/digest_fields.h"

enum { STEPS_MOST = 1 << 20, TRACKS_MOST = 4096, COLLECTIVES_MOST = 1 << 16 };

/* --- The file --- */

static void device_fields(struct fields *fields, void *object)
{
    struct event_device *device = object;

    field_integer(fields, "id", &device->id);
    field_text(fields, "name", device->name, sizeof device->name);
    field_integer(fields, "memory", &device->memory_bytes);
    field_integer(fields, "budget", &device->memory_budget_bytes);
    field_int(fields, "host_cores", &device->host_cores, -1, 1 << 20);
    field_int(fields, "shares_host_cores", &device->shares_host_cores, -1, 1);
}

static void damage_fields(struct fields *fields, struct trace_file *trace)
{
    bool foreign = trace->event_count == 0 && trace->frame_count == 0 &&
                   trace->other_count > trace->name_count;

    field_integer(fields, "dropped", &trace->dropped_count);
    field_integer(fields, "stray", &trace->stray_count);
    field_integer(fields, "bad", &trace->bad_count);
    field_integer(fields, "bad_at", &trace->bad_offset);
    field_text(fields, "bad_reason", trace->bad_reason, sizeof trace->bad_reason);
    field_bool(fields, "partial", &trace->partial);
    field_text(fields, "partial_reason", trace->partial_reason, sizeof trace->partial_reason);
    field_bool(fields, "foreign", &foreign);
    if (fields->reading)
        trace->other_count = trace->name_count + foreign;
}

void trace_head_fields(struct fields *fields, void *object)
{
    struct trace_head *head = object;
    struct trace_file *trace = head->trace;
    int64_t *events = fields->reading ? &trace->digest_events : &trace->event_count;
    int64_t devices = trace->device_count;

    field_integer(fields, "rank", &trace->rank);
    field_integer(fields, "world_size", &trace->world_size);
    field_integer(fields, "events", events);
    field_integer(fields, "text_bytes", &trace->text_bytes);
    field_integer(fields, "base_ns", &trace->base_ns);
    field_integer(fields, "cost_steps", &trace->cost.steps);
    field_integer(fields, "cost_windows", &trace->cost.windows);
    field_number(fields, "cost_step_ns", &trace->cost.step_ns);
    field_number(fields, "cost_traced_step_ns", &trace->cost.traced_step_ns);
    field_number(fields, "cost_spread", &trace->cost.spread);
    field_number(fields, "cost_other_cores", &trace->cost.other_cores);
    field_string(fields, "recorder", &trace->recorder);
    field_string(fields, "unread_device", &trace->unread_device);
    field_string(fields, "step_range", &head->step_range);
    damage_fields(fields, trace);
    field_rows(fields, "devices", trace->devices, &devices, sizeof trace->devices[0],
               TRACE_FILE_DEVICES, device_fields);
    trace->device_count = (int)devices;
}

/* --- The summary --- */

static void sound_row_fields(struct fields *fields, void *object)
{
    struct sound_row *row = object;

    field_integer(fields, "count", &row->count);
    FIELD_ENUM(fields, "trust", &row->trust, enum trust, TRUST_LITTLE + 1);
    field_text(fields, "found", row->found, sizeof row->found);
    field_text(fields, "mended", row->mended, sizeof row->mended);
}

static void sound_fields(struct fields *fields, void *object)
{
    struct soundness *soundness = object;

    FIELD_ENUM(fields, "trust", &soundness->trust, enum trust, TRUST_LITTLE + 1);
    for (int i = 0; i < SOUND_CHECK_COUNT; i++)
        field_object(fields, sound_check_name((enum sound_check)i), sound_row_fields,
                     &soundness->rows[i]);
}

static void usage_fields(struct fields *fields, void *object)
{
    struct usage *usage = object;

    field_integer(fields, "work", &usage->work_count);
    field_integer(fields, "start_ns", &usage->start_ns);
    field_integer(fields, "end_ns", &usage->end_ns);
    field_integer(fields, "span_ns", &usage->span_ns);
    field_integer(fields, "busy_ns", &usage->busy_ns);
    field_integer(fields, "idle_ns", &usage->idle_ns);
    field_integers(fields, "causes_ns", usage->idle_cause_ns, IDLE_CAUSE_COUNT);
    field_integer(fields, "kernel_ns", &usage->kernel_ns);
    field_integers(fields, "kinds_ns", usage->kind_ns, WORK_KIND_COUNT);
    field_integer(fields, "memory_ns", &usage->memory_ns);
    field_integer(fields, "overlap_ns", &usage->communication_overlap_ns);
    field_integer(fields, "exposed_ns", &usage->communication_exposed_ns);
    field_integer(fields, "copy_exposed_ns", &usage->copy_exposed_ns);
    field_integer(fields, "memory_exposed_ns", &usage->memory_exposed_ns);
}

static void track_fields(struct fields *fields, void *object)
{
    struct track_usage *track = object;

    field_integer(fields, "device", &track->device);
    field_integer(fields, "stream", &track->stream);
    field_object(fields, "usage", usage_fields, &track->usage);
}

static void timeline_fields(struct fields *fields, struct timeline *timeline)
{
    field_integer(fields, "work", &timeline->work_count);
    field_bool(fields, "host_alone", &timeline->host_alone);
    field_object(fields, "all", usage_fields, &timeline->all);
    timeline->devices = field_rows(fields, "devices", timeline->devices, &timeline->device_count,
                                   sizeof *timeline->devices, TRACKS_MOST, track_fields);
}

static void step_fields(struct fields *fields, void *object)
{
    struct step *step = object;

    field_integer(fields, "n", &step->number);
    field_integer(fields, "ns", &step->duration_ns);
}

static void steps_fields(struct fields *fields, void *object)
{
    struct steps *steps = object;

    field_number(fields, "mean_ns", &steps->mean_ns);
    field_number(fields, "median_ns", &steps->median_ns);
    field_numbers(fields, "part_ns", steps->mean_part_ns, STEP_PART_COUNT);
    field_integer(fields, "min_ns", &steps->min_ns);
    field_integer(fields, "max_ns", &steps->max_ns);
    field_string(fields, "region", &steps->region);
    field_string(fields, "anchor", &steps->anchor);
    steps->items = field_rows(fields, "items", steps->items, &steps->count, sizeof *steps->items,
                              STEPS_MOST, step_fields);
}

static void launches_fields(struct fields *fields, void *object)
{
    struct launches *launches = object;

    field_integer(fields, "count", &launches->count);
    field_integer(fields, "host_ns", &launches->host_ns);
    field_integer(fields, "delay_ns", &launches->delay_ns);
    field_integer(fields, "delay_max_ns", &launches->delay_max_ns);
    field_integer(fields, "short", &launches->short_count);
    field_integer(fields, "queue_max", &launches->queue_max);
}

struct seen_phase {
    bool *seen;
    struct phase_mean *mean;
};

static void phase_fields(struct fields *fields, void *object)
{
    const struct seen_phase *phase = object;

    field_bool(fields, "seen", phase->seen);
    field_number(fields, "host_ns", &phase->mean->host_ns);
    field_number(fields, "device_ns", &phase->mean->device_ns);
    field_number(fields, "work", &phase->mean->work_count);
}

static void phases_fields(struct fields *fields, void *object)
{
    struct phases *phases = object;

    for (int i = 0; i < PHASE_COUNT; i++) {
        struct seen_phase phase = { &phases->seen[i], &phases->means[i] };
        field_object(fields, phase_name((enum phase)i), phase_fields, &phase);
    }
}

static void messages_fields(struct fields *fields, void *object)
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
        field_integers(fields, names[which], numbers, MESSAGE_COUNT * SUM);
        for (int i = 0; i < MESSAGE_COUNT; i++)
            sums[which][i] = (struct message_sum){ numbers[i * SUM], numbers[i * SUM + 1],
                                                   numbers[i * SUM + 2] };
    }
    field_integer(fields, "backward_ns", &messages->backward_ns);
    field_number(fields, "fixed_ns", &messages->fixed_ns);
    field_number(fields, "shortest_ns", &messages->shortest_ns);
}

static void idle_fields(struct fields *fields, void *object)
{
    struct idle *idle = object;

    field_integer(fields, "start_ns", &idle->start_ns);
    field_integer(fields, "end_ns", &idle->end_ns);
    field_integer(fields, "busy_ns", &idle->busy_ns);
    field_number(fields, "paced_ns", &idle->paced_ns);
    field_integer(fields, "late_ns", &idle->late_ns);
    field_integer(fields, "idle_ns", &idle->all.idle_ns);
    field_integer(fields, "queued_ns", &idle->all.queued_ns);
    field_integer(fields, "stalled_ns", &idle->all.stalled_ns);
    field_integer(fields, "unknown_ns", &idle->all.unknown_ns);
    field_integers(fields, "free_ns", idle->all.free_ns, HOST_DOING_COUNT);
    field_integers(fields, "drained_ns", idle->all.drained_ns, HOST_DOING_COUNT);
    field_integer(fields, "drained", &idle->all.drained_count);
    field_integer(fields, "longest_ns", &idle->all.longest_ns);
}

void summary_fields(struct fields *fields, void *object)
{
    struct summary *summary = object;

    field_object(fields, "soundness", sound_fields, &summary->soundness);
    timeline_fields(fields, &summary->timeline);
    field_object(fields, "usage", usage_fields, &summary->usage);
    field_object(fields, "steps", steps_fields, &summary->steps);
    field_object(fields, "launches", launches_fields, &summary->launches);
    field_object(fields, "phases", phases_fields, &summary->phases);
    field_object(fields, "messages", messages_fields, &summary->messages);
    field_object(fields, "idle", idle_fields, &summary->idle);
    field_integer(fields, "operators", &summary->operators.count);
}

/* --- The answers of the rules --- */

static void facts_fields(struct fields *fields, void *object)
{
    struct facts *facts = object;

    field_bool(fields, "has_steps", &facts->has_steps);
    field_number(fields, "steps", &facts->steps);
    field_number(fields, "window_ns", &facts->window_ns);
    field_number(fields, "step_ns", &facts->step_ns);
    field_number(fields, "busy_ns", &facts->busy_ns);
    field_number(fields, "launches", &facts->launches);
    field_bool(fields, "lacks_work", &facts->lacks_work);
    field_number(fields, "passes", &facts->passes);
    field_number(fields, "median_step_ns", &facts->median_step_ns);
    field_number(fields, "turn_ns", &facts->turn_ns);
}

static void judged_fields(struct fields *fields, struct judged *judged)
{
    field_string(fields, "figure", &judged->what);
    field_number(fields, "value", &judged->value);
    field_number(fields, "good", &judged->good);
    field_number(fields, "bad", &judged->bad);
}

/* The id of a rule, which is a constant. */
static void id_field(struct fields *fields, const char *name, const char **id)
{
    const char *text = *id;
    const struct rule *rule;

    field_string(fields, name, &text);
    rule = text != NULL ? rule_find(text) : NULL;
    *id = rule != NULL ? rule->id : NULL;
}

static void place_fields(struct fields *fields, void *object)
{
    struct call_place *place = object;

    FIELD_ENUM(fields, "kind", &place->kind, enum call_place_kind, PLACE_OPERATOR + 1);
    field_text(fields, "file", place->file, sizeof place->file);
    field_integer(fields, "line", &place->line);
    field_integer(fields, "last_line", &place->last_line);
    field_text(fields, "function", place->function, sizeof place->function);
    field_text(fields, "call", place->call, sizeof place->call);
    field_number(fields, "share", &place->share);
}

static void finding_fields(struct fields *fields, void *object)
{
    struct finding *finding = object;

    id_field(fields, "id", &finding->id);
    field_string(fields, "title", &finding->title);
    field_string(fields, "advice", &finding->advice);
    FIELD_ENUM(fields, "bottleneck", &finding->bottleneck, enum bottleneck,
               BOTTLENECK_FIRST_USE + 1);
    FIELD_ENUM(fields, "severity", &finding->severity, enum severity, SEVERITY_CRITICAL + 1);
    FIELD_ENUM(fields, "confidence", &finding->confidence, enum confidence, CONFIDENCE_HIGH + 1);
    field_number(fields, "lost_ns", &finding->lost_ns_per_step);
    field_number(fields, "gain", &finding->predicted_gain);
    field_bool(fields, "of_whole", &finding->of_whole);
    field_bool(fields, "gain_is_least", &finding->gain_is_least);
    field_bool(fields, "gain_is_most", &finding->gain_is_most);
    field_bool(fields, "is_replayed", &finding->is_replayed);
    field_number(fields, "replayed_share", &finding->replayed_share);
    id_field(fields, "behind", &finding->behind);
    field_number(fields, "least_step_ns", &finding->least_step_ns);
    id_field(fields, "once_fixed", &finding->once_fixed);
    field_text(fields, "evidence", finding->evidence, sizeof finding->evidence);
    field_object(fields, "where", place_fields, &finding->where);
}

/* The answer of one rule. */
struct held_rule {
    const char *id;
    struct finding *finding;
    struct judged *judged;
    bool *shares;
};

static void rule_fields(struct fields *fields, void *object)
{
    const struct held_rule *rule = object;
    bool found = rule->finding->id != NULL;

    judged_fields(fields, rule->judged);
    field_bool(fields, "found", &found);
    if (!found)
        return;
    rule->finding->id = rule->id;
    field_bool(fields, "shares", rule->shares);
    finding_fields(fields, rule->finding);
    rule->finding->id = rule->id;
}

static void rules_fields(struct fields *fields, void *object)
{
    struct held *held = object;
    const struct rule *rule;

    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        struct held_rule answer = { rule->id, &held->asked[i], &held->judged[i], &held->shares[i] };
        if (!rule->asks_ranks)
            field_object(fields, rule->id, rule_fields, &answer);
    }
}

static void hidden_fields(struct fields *fields, struct held *held)
{
    int64_t kept = 0;

    id_field(fields, "hidden_by", &held->hidden_by);
    field_number(fields, "hidden_by_ns", &held->hidden_by_ns);
    field_number(fields, "left_step_ns", &held->left_step_ns);
    field_rows(fields, "hidden", held->hidden, &held->hidden_count, sizeof *held->hidden,
               rule_count(), finding_fields);
    for (int64_t i = 0; i < held->hidden_count; i++)
        if (held->hidden[i].id != NULL)
            held->hidden[kept++] = held->hidden[i];
    held->hidden_count = kept;
}

static void next_fields(struct fields *fields, struct next_fix *next)
{
    id_field(fields, "next_first", &next->first);
    id_field(fields, "next_second", &next->second);
    field_number(fields, "next_gain", &next->gain);
    id_field(fields, "next_pair0", &next->pair[0]);
    id_field(fields, "next_pair1", &next->pair[1]);
    field_number(fields, "next_pair_gain", &next->pair_gain);
    if (next->second == NULL || next->pair[0] == NULL || next->pair[1] == NULL)
        next->first = NULL;
}

void held_fields(struct fields *fields, void *object)
{
    struct held *held = object;
    int count = rule_count();

    if (fields->reading) {
        held->asked = ARENA_NEW(fields->arena, struct finding, count);
        held->judged = ARENA_NEW(fields->arena, struct judged, count);
        held->shares = ARENA_NEW(fields->arena, bool, count);
        held->hidden = ARENA_NEW(fields->arena, struct finding, count);
    }
    field_object(fields, "facts", facts_fields, &held->facts);
    field_object(fields, "rules", rules_fields, held);
    hidden_fields(fields, held);
    next_fields(fields, &held->next);
}

/* --- Steps and collectives --- */

/* An array whose length is that of the first one. */
static void column(struct fields *fields, const char *name, int64_t **values, int64_t count)
{
    if (fields->reading)
        *values = ARENA_NEW(fields->arena, int64_t, count);
    field_integers(fields, name, *values, count);
}

static void length_field(struct fields *fields, const char *name, int64_t *count, int64_t most)
{
    int number = (int)*count;

    field_int(fields, name, &number, 0, (int)most);
    *count = number;
}

/* Starts are stored as differences, which are short. */
static void starts_column(struct fields *fields, const char *name, int64_t **starts, int64_t count)
{
    if (!fields->reading)
        for (int64_t i = count; i-- > 1;) (*starts)[i] -= (*starts)[i - 1];
    column(fields, name, starts, count);
    for (int64_t i = 1; i < count; i++)
        if (__builtin_add_overflow((*starts)[i], (*starts)[i - 1], &(*starts)[i]))
            (*starts)[i] = 0;
}

static void group_fields(struct fields *fields, void *object)
{
    struct record_group *group = object;

    field_string(fields, "name", &group->name);
    field_string(fields, "about", &group->about);
    field_string(fields, "ranks", &group->ranks);
    field_string(fields, "kind", &group->kind);
    field_integer(fields, "size", &group->size);
    field_integer(fields, "total", &group->total);
    field_integer(fields, "every", &group->every);
    length_field(fields, "count", &group->count, COLLECTIVES_MOST);
    column(fields, "step", &group->step, group->count);
    starts_column(fields, "start_ns", &group->start_ns, group->count);
    column(fields, "ns", &group->ns, group->count);
    column(fields, "own_ns", &group->own_ns, group->count);
    column(fields, "bytes", &group->bytes, group->count);
    if (fields->reading && (group->name == NULL || group->about == NULL || group->ranks == NULL ||
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

void record_fields(struct fields *fields, void *object)
{
    struct rank_record *record = object;

    field_string(fields, "source", &record->source);
    field_string(fields, "node", &record->node);
    field_string(fields, "job", &record->job);
    field_integer(fields, "clock_ns", &record->clock_ns);
    field_integer(fields, "steps", &record->step_total);
    length_field(fields, "step_count", &record->step_count, RECORD_STEPS);
    column(fields, "number", &record->number, record->step_count);
    starts_column(fields, "start_ns", &record->start_ns, record->step_count);
    column(fields, "ns", &record->ns, record->step_count);
    column(fields, "tokens", &record->tokens, record->step_count);
    column(fields, "part_ns", &record->part_ns, record->step_count * STEP_PART_COUNT);
    record->groups = field_rows(fields, "groups", record->groups, &record->group_count,
                                sizeof *record->groups, RECORD_GROUPS, group_fields);
    for (int64_t i = 0; i < record->group_count; i++)
        check_steps(&record->groups[i], record->step_count);
    if (fields->reading && (record->source == NULL || record->node == NULL || record->job == NULL))
        record->source = record->node = record->job = "";
}
