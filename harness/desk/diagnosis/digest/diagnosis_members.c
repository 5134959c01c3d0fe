/* The diagnosis of a trace, member by member. Names and order are those of its JSON, which users
 * read (docs/diagnosis.md); a digest has the same under the same names. */
#include "harness/desk/diagnosis/digest/diagnosis_members.h"

#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>

/* --- The file --- */

void origin_members(struct members *members, void *object)
{
    struct trace_file *trace = object;
    bool is_digest = members->reading || trace->digest != NULL;
    int64_t damaged_at = trace->bad_count > 0 ? trace->bad_offset : -1;

    member_text_or_null(members, "partial_reason", trace->partial_reason,
                        sizeof trace->partial_reason);
    member_count(members, "events", is_digest ? &trace->digest_events : &trace->event_count);
    member_count(members, "text_bytes", &trace->text_bytes);
    member_count(members, "damaged_events", &trace->bad_count);
    member_count_or_null(members, "damaged_at_byte", &damaged_at);
    if (members->reading)
        trace->bad_offset = damaged_at;
    member_text_or_null(members, "damaged_reason", trace->bad_reason, sizeof trace->bad_reason);
    member_count(members, "stray_events", &trace->stray_count);
    member_count(members, "dropped_records", &trace->dropped_count);
    member_count_or_null(members, "rank", &trace->rank);
    member_count_or_null(members, "world_size", &trace->world_size);
}

struct sound_check_row {
    enum sound_check check;
    struct sound_row *row;
};

static void sound_check_members(struct members *members, void *object)
{
    const struct sound_check_row *check = object;
    struct sound_row *row = check->row;
    const char *name = sound_check_name(check->check);

    if (!members->reading)
        member_string(members, "name", &name);
    member_count(members, "count", &row->count);
    MEMBER_WORD(members, "trust", &row->trust, enum trust, TRUST_LITTLE + 1, trust_name);
    member_count(members, "doubt_ns", &row->doubt_ns);
    member_text_or_null(members, "found", row->found, sizeof row->found);
    member_text_or_null(members, "mended", row->mended, sizeof row->mended);
}

/* Every check, whether or not it found something, in the order of the enum. */
void soundness_members(struct members *members, void *object)
{
    struct soundness *soundness = object;
    struct sound_check_row checks[SOUND_CHECK_COUNT];
    int64_t count = SOUND_CHECK_COUNT;

    for (int i = 0; i < SOUND_CHECK_COUNT; i++)
        checks[i] = (struct sound_check_row){ (enum sound_check)i, &soundness->rows[i] };
    MEMBER_WORD(members, "trust", &soundness->trust, enum trust, TRUST_LITTLE + 1, trust_name);
    member_rows(members, "checks", checks, &count, sizeof checks[0], SOUND_CHECK_COUNT,
                sound_check_members);
}

/* --- Times --- */

static void idle_causes_members(struct members *members, void *object)
{
    struct usage *usage = object;

    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
        member_count(members, idle_cause_name((enum idle_cause)cause),
                     &usage->idle_cause_ns[cause]);
}

void usage_members(struct members *members, void *object)
{
    struct usage *usage = object;

    member_count(members, "span_ns", &usage->span_ns);
    member_count(members, "busy_ns", &usage->busy_ns);
    member_count(members, "idle_ns", &usage->idle_ns);
    member_count(members, "compute_ns", &usage->kind_ns[WORK_COMPUTATION]);
    member_count(members, "communication_ns", &usage->kind_ns[WORK_COMMUNICATION]);
    member_count(members, "exposed_communication_ns", &usage->communication_exposed_ns);
    member_count(members, "exposed_copy_ns", &usage->copy_exposed_ns);
    member_object(members, "idle", idle_causes_members, usage);
}

void step_parts_members(struct members *members, void *object)
{
    struct steps *steps = object;

    for (int part = 0; part < STEP_PART_COUNT; part++)
        member_number(members, step_part_name((enum step_part)part), &steps->mean_part_ns[part]);
}

struct phase_row {
    enum phase phase;
    struct phase_mean mean;
};

static void phase_members(struct members *members, void *object)
{
    struct phase_row *row = object;

    MEMBER_WORD(members, "name", &row->phase, enum phase, PHASE_COUNT, phase_name);
    member_number(members, "host_ns", &row->mean.host_ns);
    member_number(members, "device_ns", &row->mean.device_ns);
    member_number(members, "work_count", &row->mean.work_count);
}

/* Those that the trace has. */
void phases_members(struct members *members, void *object)
{
    struct phases *phases = object;
    struct phase_row rows[PHASE_COUNT] = { 0 };
    int64_t count = 0;

    for (int i = 0; !members->reading && i < PHASE_COUNT; i++)
        if (phases->seen[i])
            rows[count++] = (struct phase_row){ (enum phase)i, phases->means[i] };
    member_rows(members, "phases", rows, &count, sizeof rows[0], PHASE_COUNT, phase_members);
    for (int64_t i = 0; members->reading && i < count; i++) {
        phases->seen[rows[i].phase] = true;
        phases->means[rows[i].phase] = rows[i].mean;
    }
}

/* --- Findings --- */

/* The id of a rule, which is a constant; one that this program does not know is read as none. */
static void id_member(struct members *members, const char *name, const char **id)
{
    const char *text = members->reading ? NULL : *id;
    const struct rule *rule;

    member_string(members, name, &text);
    if (!members->reading)
        return;
    rule = text != NULL ? rule_find(text) : NULL;
    *id = rule != NULL ? rule->id : NULL;
}

static void place_members(struct members *members, void *object)
{
    struct call_place *place = object;
    int64_t line = place->line > 0 ? place->line : -1;
    int64_t last_line = place->last_line > 0 ? place->last_line : -1;
    char text[CALL_PLACE_TEXT];

    MEMBER_WORD(members, "kind", &place->kind, enum call_place_kind, PLACE_OPERATOR + 1,
                call_place_kind_name);
    member_text_or_null(members, "file", place->file, sizeof place->file);
    member_count_or_null(members, "line", &line);
    member_count_or_null(members, "last_line", &last_line);
    member_text(members, "function", place->function, sizeof place->function);
    member_text_or_null(members, "call", place->call, sizeof place->call);
    member_number(members, "share", &place->share);
    if (members->reading) {
        place->line = line > 0 ? line : 0;
        place->last_line = last_line > 0 ? last_line : 0;
        return;
    }
    call_place_text(text, sizeof text, place);
    member_text(members, "text", text, sizeof text);
}

void place_member(struct members *members, const char *name, const struct call_place *place)
{
    bool is_known = place->kind != PLACE_UNKNOWN;

    member_known_object(members, name, place_members, place, &is_known);
}

void finding_members(struct members *members, void *object)
{
    struct finding *finding = object;

    id_member(members, "id", &finding->id);
    MEMBER_WORD(members, "bottleneck", &finding->bottleneck, enum bottleneck,
                BOTTLENECK_FIRST_USE + 1, bottleneck_name);
    MEMBER_WORD(members, "severity", &finding->severity, enum severity, SEVERITY_CRITICAL + 1,
                severity_name);
    member_number(members, "lost_ns_per_step", &finding->lost_ns_per_step);
    member_number(members, "predicted_gain", &finding->predicted_gain);
    member_bool(members, "predicted_gain_at_least", &finding->gain_is_least);
    member_bool(members, "predicted_gain_at_most", &finding->gain_is_most);
    id_member(members, "once_fixed", &finding->once_fixed);
    MEMBER_WORD(members, "confidence", &finding->confidence, enum confidence, CONFIDENCE_HIGH + 1,
                confidence_name);
    member_text(members, "evidence", finding->evidence, sizeof finding->evidence);
    member_string(members, "advice", &finding->advice);
    member_string(members, "title", &finding->title);
    member_bool(members, "of_whole", &finding->of_whole);
    member_count(members, "once_in_steps", &finding->once_in_steps);
    place_member(members, "where", &finding->where);
    place_member(members, "library", &finding->library);
}

void threshold_members(struct members *members, void *object)
{
    struct threshold *threshold = object;
    struct judged *judged = &threshold->judged;
    bool any = members->reading || judged->what != NULL;
    double none = NAN;

    id_member(members, "id", &threshold->id);
    member_bool(members, "found", &threshold->found);
    member_string(members, "figure", &judged->what);
    member_number(members, "value", any ? &judged->value : &none);
    member_number(members, "good", any ? &judged->good : &none);
    member_number(members, "bad", any ? &judged->bad : &none);
}

static void next_fix_pair(struct members *members, struct next_fix *next)
{
    const char *const *pair = next->pair;
    int64_t count = ARRAY_SIZE(next->pair);

    member_strings(members, "pair", &pair, &count, ARRAY_SIZE(next->pair));
    for (int64_t i = 0; members->reading && i < (int64_t)ARRAY_SIZE(next->pair); i++) {
        const struct rule *rule = i < count ? rule_find(pair[i]) : NULL;
        next->pair[i] = rule != NULL ? rule->id : NULL;
    }
}

void next_fix_members(struct members *members, void *object)
{
    struct next_fix *next = object;

    id_member(members, "first", &next->first);
    id_member(members, "second", &next->second);
    member_number(members, "gain", &next->gain);
    next_fix_pair(members, next);
    member_number(members, "pair_gain", &next->pair_gain);
    if (members->reading &&
        (next->second == NULL || next->pair[0] == NULL || next->pair[1] == NULL))
        next->first = NULL;
}
