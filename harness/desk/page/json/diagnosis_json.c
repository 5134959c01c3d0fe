/* The document of a diagnosis: the run, if traces are the ranks of one, then each trace. What
 * digests have, too, is in diagnosis_members.h; tables and pictures of a trace have files of their
 * own. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/diagnosis/checklist.h"
#include "harness/desk/diagnosis/digest/diagnosis_members.h"
#include "harness/desk/page/diagnosis_ranks.h"
#include "harness/text/catalogue.h"

#include <math.h>

enum { SCHEMA = 1, DIGITS = 15 };

void place_json(struct json *json, cJSON *to, const char *name, const struct call_place *place)
{
    struct members members = { .json = json, .object = to };

    place_member(&members, name, place);
}

static cJSON *add_finding(struct json *json, cJSON *array, const struct finding *finding)
{
    cJSON *object = json_object(json, array, NULL), *scenarios;
    const char *name;

    members_write(json, object, finding_members, finding);
    scenarios = json_array(json, object, "scenarios"); /* that show it, the best one first */
    for (int i = 0; (name = catalogue_scenario(finding->id, i)) != NULL; i++)
        json_text(json, scenarios, NULL, name);
    return object;
}

void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings)
{
    cJSON *array = json_array(json, to, name);

    for (int64_t i = 0; i < findings->count; i++) add_finding(json, array, &findings->items[i]);
}

static void add_devices(struct json *json, cJSON *object, const struct timeline *timeline)
{
    cJSON *array = json_array(json, object, "devices");

    for (int64_t i = 0; i < timeline->device_count; i++) {
        cJSON *to = json_object(json, array, NULL);
        json_integer(json, to, "device", timeline->devices[i].device);
        json_integer(json, to, "busy_ns", timeline->devices[i].usage.busy_ns);
        json_integer(json, to, "work_count", timeline->devices[i].usage.work_count);
    }
}

/* The window in which idle time has causes, and these. */
static void add_window(struct json *json, cJSON *object, const struct idle *idle, double busy_share)
{
    cJSON *to = json_object(json, object, "window"), *causes;
    int64_t after_wait_ns = 0;

    json_integer(json, to, "start_ns", idle->start_ns);
    json_integer(json, to, "end_ns", idle->end_ns);
    json_integer(json, to, "busy_ns", idle->busy_ns);
    json_integer(json, to, "idle_ns", idle->all.idle_ns);
    json_number(json, to, "busy_share", busy_share);
    causes = json_object(json, to, "causes");
    for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
        json_integer(json, causes, gap_cause_name(cause), gap_cause_ns(&idle->all, cause));
    for (int activity = 0; activity < HOST_KIND_COUNT; activity++)
        after_wait_ns += idle->all.drained_ns[activity];
    json_integer(json, to, "after_wait_ns", after_wait_ns);
}

/* The steps that costs are of: where none are marked, the optimizer's calls may count. */
static void add_steps(struct json *json, cJSON *object, struct arena *arena,
                      const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;
    const struct trace_cost *cost = &facts->summary->trace->cost;
    cJSON *to = json_object(json, object, "steps");
    double *durations = ARENA_NEW(arena, double, steps->count);
    bool any = steps->count > 0;

    json_integer(json, to, "count", facts_of_whole(facts) ? 0 : llround(facts->steps));
    json_number(json, to, "mean_ns",
                any                     ? steps->mean_ns
                : facts_of_whole(facts) ? NAN
                                        : facts->step_ns);
    json_number(json, to, "min_ns", any ? (double)steps->min_ns : NAN);
    json_number(json, to, "max_ns", any ? (double)steps->max_ns : NAN);
    json_number(json, to, "median_ns", any ? steps->median_ns : NAN);
    json_number(json, to, "untraced_ns", cost->step_ns > 0 ? cost->step_ns : NAN);
    members_write(json, json_object(json, to, "parts"), step_parts_members, steps);
    for (int64_t i = 0; i < steps->count; i++) durations[i] = (double)steps->items[i].duration_ns;
    json_numbers(json, to, "duration_ns", durations, steps->count, DIGITS);
}

static void add_launches(struct json *json, cJSON *object, const struct launches *launches)
{
    cJSON *to = json_object(json, object, "launches");
    double count = (double)launches->count; /* means of none are null */

    json_integer(json, to, "count", launches->count);
    json_number(json, to, "mean_host_ns", (double)launches->host_ns / count);
    json_number(json, to, "mean_delay_ns", (double)launches->delay_ns / count);
    json_integer(json, to, "max_delay_ns", launches->delay_max_ns);
    json_integer(json, to, "short_count", launches->short_count);
    json_integer(json, to, "queue_max", launches->queue_max);
}

static void add_headline(struct json *json, cJSON *object, const struct headline *headline)
{
    json_text(json, object, "bottleneck", bottleneck_name(headline->bottleneck));
    json_number(json, object, "bottleneck_share", headline->share);
    json_text(json, object, "headline", headline->text);
}

static void add_thresholds(struct json *json, cJSON *to, const struct findings *findings)
{
    cJSON *array = json_array(json, to, "thresholds");

    for (int64_t i = 0; i < findings->threshold_count; i++) {
        cJSON *object = json_object(json, array, NULL);
        members_write(json, object, threshold_members, &findings->thresholds[i]);
        json_text(json, object, "source", findings->thresholds[i].source);
    }
}

/* The seven questions and their answers; `which` -1: of the run. */
static void add_checklist(struct json *json, cJSON *to, const struct diagnosis *diagnosis,
                          int which)
{
    struct checklist checklist = checklist_of_diagnosis(diagnosis, which);
    cJSON *array = json_array(json, to, "checklist");

    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_row *row = &checklist.rows[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "id", checklist_questions[i].id);
        json_text(json, object, "question", checklist_questions[i].text);
        json_text(json, object, "answer", answer_name(row->answer));
        json_text(json, object, "figures", row->figures);
        json_text(json, object, "finding", row->finding != NULL ? row->finding->id : NULL);
    }
}

/* --- What if --- */

static void add_causes(struct json *json, cJSON *to, const struct what_if *what_if, unsigned set)
{
    cJSON *array = json_array(json, to, "causes");

    for (int i = 0; i < what_if->cause_count; i++)
        if (set >> i & 1)
            json_text(json, array, NULL, what_if->causes[i]->id);
}

static void add_what_if(struct json *json, cJSON *trace, const struct what_if *what_if)
{
    const struct what_if_row *recorded = &what_if->recorded;
    bool any = what_if->row_count > 0;
    cJSON *to = json_object(json, trace, "what_if"), *rows;

    json_text(json, to, "why", any ? NULL : what_if->why);
    add_causes(json, to, what_if, ~0U);
    json_number(json, to, "recorded_ns", any ? recorded->step_ns : NAN);
    json_number(json, to, "recorded_busy_ns", any ? recorded->busy_ns : NAN);
    rows = json_array(json, to, "rows");
    for (int i = 0; i < what_if->row_count; i++) {
        const struct what_if_row *row = &what_if->rows[i];
        cJSON *object = json_object(json, rows, NULL);
        add_causes(json, object, what_if, row->causes);
        json_number(json, object, "step_ns", row->step_ns);
        json_number(json, object, "busy_ns", row->busy_ns);
        json_number(json, object, "gain", recorded->step_ns / row->step_ns);
    }
}

static void add_what_ifs(struct json *json, cJSON *trace, const struct diagnosis *diagnosis,
                         int which)
{
    const struct next_fix *next = &diagnosis->findings[which].next;
    struct members members = { .json = json, .object = trace };
    bool is_known = next->first != NULL;
    struct what_if what_if;

    member_known_object(&members, "next", next_fix_members, next, &is_known);
    if (!diagnosis->what_if.asked) {
        json_text(json, trace, "what_if", NULL);
        return;
    }
    what_if =
        what_if_of(&diagnosis->findings[which], &diagnosis->facts[which], &diagnosis->what_if);
    add_what_if(json, trace, &what_if);
}

/* --- Ranks --- */

static void add_slow(struct json *json, cJSON *to, const struct diagnosis *diagnosis)
{
    const struct slow_rank *slow = &diagnosis->together->slow;
    char text[SLOW_RANK_TEXT];
    cJSON *object, *array;

    if (slow->which < 0) {
        json_text(json, to, "slow_rank", NULL);
        return;
    }
    object = json_object(json, to, "slow_rank");
    json_integer(json, object, "rank", diagnosis->traces[slow->which]->rank);
    array = json_array(json, object, "as_slow");
    for (int i = 0; i < diagnosis->run_count; i++)
        if (i != slow->which && rank_is_slow(slow, &diagnosis->together->figures[i]))
            json_integer(json, array, NULL, diagnosis->traces[i]->rank);
    json_number(json, object, "communication_ns", slow->least_ns);
    json_number(json, object, "others_communication_ns", slow->typical_ns);
    json_number(json, object, "lost_ns", slow->lost_ns);
    json_text(json, object, "part",
              slow->part < STEP_PART_COUNT ? step_part_name(slow->part) : NULL);
    json_number(json, object, "part_ns", slow->part < STEP_PART_COUNT ? slow->part_ns : NAN);
    json_number(json, object, "others_part_ns",
                slow->part < STEP_PART_COUNT ? slow->part_typical_ns : NAN);
    json_bool(json, object, "matters", slow_rank_matters(slow));
    slow_rank_text(text, sizeof text, diagnosis);
    json_text(json, object, "text", text);
}

static void add_rank(struct json *json, cJSON *array, const struct diagnosis *diagnosis, int which)
{
    const struct rank_figures *figures = &diagnosis->together->figures[which];
    const struct finding *finding = diagnosis_rank_finding(diagnosis, which);
    cJSON *object = json_object(json, array, NULL);

    json_integer(json, object, "rank", diagnosis->traces[which]->rank);
    json_text(json, object, "file", diagnosis->paths[which]);
    json_bool(json, object, "compared", figures->is_compared);
    json_number(json, object, "step_ns", figures->step_ns);
    json_number(json, object, "busy_share", figures->busy_share);
    json_number(json, object, "compute_ns", figures->compute_ns);
    json_number(json, object, "communication_ns", figures->communication_ns);
    json_number(json, object, "exposed_communication_ns", figures->exposed_ns);
    json_number(json, object, "data_loading_ns", figures->part_ns[STEP_DATA_LOADING]);
    json_number(json, object, "waits_ns", figures->waits_ns);
    json_text(json, object, "first_finding", finding != NULL ? finding->id : NULL);
}

static void add_run_finding(struct json *json, cJSON *array, const struct diagnosis *diagnosis,
                            int64_t number)
{
    const struct finding_spread *spread = &diagnosis->run.spreads[number];
    const struct finding *finding = &diagnosis->run.findings.items[number];
    cJSON *object = add_finding(json, array, finding), *ranks;

    json_integer(json, object, "rank", diagnosis->traces[spread->which]->rank);
    ranks = json_array(json, object, "ranks");
    for (int i = 0; i < diagnosis->run_count; i++)
        if (findings_find(&diagnosis->findings[i], finding->id) != NULL)
            json_integer(json, ranks, NULL, diagnosis->traces[i]->rank);
    json_number(json, object, "least_lost_ns_per_step", spread->least_ns);
    json_number(json, object, "most_lost_ns_per_step", spread->most_ns);
}

static void add_run(struct json *json, cJSON *to, const struct diagnosis *diagnosis)
{
    cJSON *run, *array;

    if (diagnosis->run_count == 0) {
        json_text(json, to, "run", NULL);
        return;
    }
    run = json_object(json, to, "run");
    json_integer(json, run, "world_size", diagnosis->traces[0]->world_size);
    array = json_array(json, run, "missing_ranks");
    for (int64_t rank = 0; rank < diagnosis->traces[0]->world_size; rank++)
        if (diagnosis_rank(diagnosis, rank) < 0)
            json_integer(json, array, NULL, rank);
    json_number(json, run, "step_ns",
                diagnosis->together->slow.which >= 0 ? diagnosis->together->slow.step_ns : NAN);
    add_headline(json, run, &diagnosis->run.findings.headline);
    add_slow(json, run, diagnosis);
    array = json_array(json, run, "ranks");
    for (int i = diagnosis_next_rank(diagnosis, -1); i >= 0;
         i = diagnosis_next_rank(diagnosis, diagnosis->traces[i]->rank))
        add_rank(json, array, diagnosis, i);
    array = json_array(json, run, "findings");
    for (int64_t i = 0; i < diagnosis->run.findings.count; i++)
        add_run_finding(json, array, diagnosis, i);
    add_checklist(json, run, diagnosis, -1);
}

/* --- All --- */

/* Members of a digest that are empty because it does not hold them. */
static void add_not_held(struct json *json, cJSON *to)
{
    static const char *const names[] = { "kernels",        "mix",    "operators", "annotations",
                                         "operator_kinds", "memory", "gaps",      "timeline",
                                         "what_if" };
    cJSON *array;

    json_array(json, to, "gaps");
    array = json_array(json, to, "not_held");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) json_text(json, array, NULL, names[i]);
}

struct writing {
    struct json json;
    cJSON *traces;
    const struct diagnosis *diagnosis;
    int which, timeline_steps;
};

static void add_trace(struct arena *arena, void *context)
{
    struct writing *writing = context;
    struct json *json = &writing->json;
    const struct diagnosis *diagnosis = writing->diagnosis;
    int which = writing->which;
    const struct summary *summary = &diagnosis->summaries[which];
    const struct findings *findings = &diagnosis->findings[which];
    struct arena *scratch = arena_scratch(arena);
    const struct event_device *device = diagnosis->facts[which].device;
    cJSON *object = json_object(json, writing->traces, NULL), *to;

    json_text(json, object, "file", diagnosis->paths[which]);
    json_text(json, object, "lines_from", diagnosis->lines_from[which]);
    json_bool(json, object, "partial", diagnosis->traces[which]->partial);
    members_write(json, object, origin_members, summary->trace);
    to = json_object(json, object, "device");
    json_text(json, to, "name", device != NULL && device->name[0] != '\0' ? device->name : NULL);
    json_integer(json, to, "count", summary->timeline.device_count);
    members_write(json, json_object(json, object, "soundness"), soundness_members,
                  &summary->soundness);
    members_write(json, object, usage_members, &summary->timeline.all);
    add_devices(json, object, &summary->timeline);
    add_window(json, object, &summary->idle, diagnosis_busy_share(diagnosis, which));
    add_steps(json, object, scratch, &diagnosis->facts[which]);
    members_write(json, object, phases_members, &summary->phases);
    add_launches(json, object, &summary->launches);
    tables_json(json, object, scratch, summary, &diagnosis->tables);
    if (summary->digest == NULL)
        gaps_json(json, object, scratch, summary);
    else
        add_not_held(json, object);
    if (writing->timeline_steps > 0)
        timeline_json(json, object, scratch, summary, writing->timeline_steps);
    add_headline(json, object, &findings->headline);
    add_thresholds(json, object, findings);
    json_text(json, object, "healthy", findings->healthy[0] != '\0' ? findings->healthy : NULL);
    findings_json(json, object, "findings", findings);
    add_checklist(json, object, diagnosis, which);
    add_what_ifs(json, object, diagnosis, which);
    arena_close(scratch);
}

enum status diagnosis_json(const struct diagnosis *diagnosis, int only, int timeline_steps,
                           char **text)
{
    struct writing writing = { .diagnosis = diagnosis, .timeline_steps = timeline_steps };
    struct json *json = &writing.json;
    cJSON *root = json_object(json, NULL, NULL);
    enum status status = STATUS_OK;

    *text = NULL;
    json_integer(json, root, "schema", SCHEMA);
    json_bool(json, root, "is_run", diagnosis->run_count > 0);
    add_run(json, root, diagnosis);
    writing.traces = json_array(json, root, "traces");
    for (writing.which = 0; writing.which < diagnosis->count; writing.which++)
        if (only < 0 || writing.which == only)
            TRY_OUT(arena_run(diagnosis->arenas[writing.which], add_trace, &writing));
    snapshots_json(json, root, diagnosis->snapshots, diagnosis->snapshot_count, diagnosis->joined);
    TRY_OUT(json_print(json, root, text));

out:
    cJSON_Delete(root);
    return status;
}
