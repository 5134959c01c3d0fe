/* The document of a diagnosis: the run, if traces are the ranks of one, then each trace. The
 * members that digests have too are in diagnosis_members.h; tables and pictures of a trace have
 * files of their own. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/diagnosis/checklist.h"
#include "harness/desk/diagnosis/digest/diagnosis_members.h"
#include "harness/desk/page/diagnosis_page.h"
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

cJSON *findings_json(struct json *json, const struct findings *findings)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int64_t i = 0; i < findings->count; i++) add_finding(json, array, &findings->items[i]);
    return array;
}

static void add_devices(struct json *json, cJSON *object, const struct timeline *timeline)
{
    cJSON *array = json_array(json, object, "devices");

    for (const struct track_usage *track = timeline->devices;
         track < timeline->devices + timeline->device_count; track++)
        JSON_ROW(json, array, KEY("device", track->device), KEY("busy_ns", track->usage.busy_ns),
                 KEY("work_count", track->usage.work_count));
}

/* The window in which idle time has causes, and these. */
static cJSON *window_json(struct json *json, const struct idle *idle, double busy_share)
{
    cJSON *causes = json_object(json, NULL, NULL);
    int64_t after_wait_ns = 0;

    for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
        json_integer(json, causes, gap_cause_name(cause), gap_cause_ns(&idle->all, cause));
    for (int activity = 0; activity < HOST_KIND_COUNT; activity++)
        after_wait_ns += idle->all.drained_ns[activity];
    return JSON_OBJECT(json, KEY("start_ns", idle->start_ns), KEY("end_ns", idle->end_ns),
                       KEY("busy_ns", idle->busy_ns), KEY("idle_ns", idle->all.idle_ns),
                       KEY("busy_share", busy_share), KEY("causes", causes),
                       KEY("after_wait_ns", after_wait_ns));
}

/* The steps that costs are of: where none are marked, the optimizer's calls may count. */
static cJSON *steps_json(struct json *json, struct arena *arena, const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;
    const struct trace_cost *cost = &facts->summary->trace->cost;
    bool of_whole = facts_of_whole(facts);
    double *durations = ARENA_NEW(arena, double, steps->count);
    bool any = steps->count > 0;

    for (int64_t i = 0; i < steps->count; i++) durations[i] = (double)steps->items[i].duration_ns;
    return JSON_OBJECT(json, KEY("count", of_whole ? 0 : llround(facts->steps)),
                       KEY("mean_ns", any        ? steps->mean_ns
                                      : of_whole ? NAN
                                                 : facts->step_ns),
                       KEY("min_ns", any ? (double)steps->min_ns : NAN),
                       KEY("max_ns", any ? (double)steps->max_ns : NAN),
                       KEY("median_ns", any ? steps->median_ns : NAN),
                       KEY("untraced_ns", cost->step_ns > 0 ? cost->step_ns : NAN),
                       KEY("parts", members_object(json, step_parts_members, steps)),
                       KEY("duration_ns", json_series(json, durations, steps->count, DIGITS)));
}

/* NULL: they were not read. */
static cJSON *counters_json(struct json *json, const struct hardware_counters *counters)
{
    struct roofline roofline = roofline_counted(counters);
    char text[COUNTERS_TEXT];

    if (!hardware_counters_known(counters))
        return NULL;
    counters_print(text, counters);
    return JSON_OBJECT(
        json, KEY("sm_active", counters->sm_active), KEY("tensor_active", counters->tensor_active),
        KEY("dram_throughput", counters->dram_throughput), KEY("occupancy", counters->occupancy),
        KEY("bound", bound_name(roofline.bound)), KEY("bound_share", roofline.share),
        KEY("text", text));
}

static cJSON *launches_json(struct json *json, const struct launches *launches)
{
    double count = (double)launches->count; /* means of none are null */

    return JSON_OBJECT(
        json, KEY("count", launches->count), KEY("mean_host_ns", (double)launches->host_ns / count),
        KEY("mean_delay_ns", (double)launches->delay_ns / count),
        KEY("max_delay_ns", launches->delay_max_ns), KEY("short_count", launches->short_count),
        KEY("queue_max", launches->queue_max));
}

static void add_headline(struct json *json, cJSON *object, const struct headline *headline)
{
    JSON_ADD(json, object, KEY("bottleneck", bottleneck_name(headline->bottleneck)),
             KEY("bottleneck_share", headline->share), KEY("headline", headline->text));
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
        JSON_ROW(json, array, KEY("id", checklist_questions[i].id),
                 KEY("question", checklist_questions[i].text),
                 KEY("answer", answer_name(row->answer)), KEY("figures", row->figures),
                 KEY("finding", row->finding != NULL ? row->finding->id : NULL));
    }
}

/* --- What if --- */

static cJSON *causes_json(struct json *json, const struct what_if *what_if, unsigned set)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int i = 0; i < what_if->cause_count; i++)
        if (set >> i & 1)
            json_text(json, array, NULL, what_if->causes[i]->id);
    return array;
}

static cJSON *steps_left_json(struct json *json, const struct what_if *what_if)
{
    const struct what_if_row *recorded = &what_if->recorded;
    bool any = what_if->row_count > 0;
    cJSON *rows = json_array(json, NULL, NULL);

    for (const struct what_if_row *row = what_if->rows; row < what_if->rows + what_if->row_count;
         row++)
        JSON_ROW(json, rows, KEY("causes", causes_json(json, what_if, row->causes)),
                 KEY("step_ns", row->step_ns), KEY("busy_ns", row->busy_ns),
                 KEY("gain", recorded->step_ns / row->step_ns));
    return JSON_OBJECT(json, KEY("why", any ? NULL : what_if->why),
                       KEY("causes", causes_json(json, what_if, ~0U)),
                       KEY("recorded_ns", any ? recorded->step_ns : NAN),
                       KEY("recorded_busy_ns", any ? recorded->busy_ns : NAN), KEY("rows", rows));
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
    JSON_ADD(json, trace, KEY("what_if", steps_left_json(json, &what_if)));
}

/* --- Ranks --- */

static cJSON *slow_json(struct json *json, const struct diagnosis *diagnosis)
{
    const struct slow_rank *slow = &diagnosis->together->slow;
    bool has_part = slow->part < STEP_PART_COUNT;
    char text[SLOW_RANK_TEXT];
    cJSON *array;

    if (slow->which < 0)
        return NULL;
    slow_rank_text(text, sizeof text, diagnosis);
    array = json_array(json, NULL, NULL);
    for (int i = 0; i < diagnosis->run_count; i++)
        if (i != slow->which && rank_is_slow(slow, &diagnosis->together->figures[i]))
            json_integer(json, array, NULL, diagnosis->traces[i]->rank);
    return JSON_OBJECT(
        json, KEY("rank", diagnosis->traces[slow->which]->rank), KEY("as_slow", array),
        KEY("communication_ns", slow->least_ns), KEY("others_communication_ns", slow->typical_ns),
        KEY("lost_ns", slow->lost_ns), KEY("part", has_part ? step_part_name(slow->part) : NULL),
        KEY("part_ns", has_part ? slow->part_ns : NAN),
        KEY("others_part_ns", has_part ? slow->part_typical_ns : NAN),
        KEY("matters", slow_rank_matters(slow)), KEY("text", text));
}

static void add_rank(struct json *json, cJSON *array, const struct diagnosis *diagnosis, int which)
{
    const struct rank_figures *figures = &diagnosis->together->figures[which];
    const struct finding *finding = diagnosis_rank_finding(diagnosis, which);

    JSON_ROW(json, array, KEY("rank", diagnosis->traces[which]->rank),
             KEY("file", diagnosis->paths[which]), KEY("compared", figures->is_compared),
             KEY("step_ns", figures->step_ns), KEY("busy_share", figures->busy_share),
             KEY("compute_ns", figures->compute_ns),
             KEY("communication_ns", figures->communication_ns),
             KEY("exposed_communication_ns", figures->exposed_ns),
             KEY("data_loading_ns", figures->part_ns[STEP_DATA_LOADING]),
             KEY("waits_ns", figures->waits_ns),
             KEY("first_finding", finding != NULL ? finding->id : NULL));
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
    JSON_ADD(json, object, KEY("least_lost_ns_per_step", spread->least_ns),
             KEY("most_lost_ns_per_step", spread->most_ns));
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
    JSON_ADD(json, run, KEY("slow_rank", slow_json(json, diagnosis)));
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
    cJSON *root; /* of a member alone */
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
    SCRATCH_ARENA(scratch, arena);
    const struct event_device *device = diagnosis->facts[which].device;
    cJSON *object = JSON_ROW(json, writing->traces, KEY("file", diagnosis->paths[which]),
                             KEY("lines_from", diagnosis->lines_from[which]),
                             KEY("partial", diagnosis->traces[which]->partial));

    members_write(json, object, origin_members, summary->trace);
    JSON_ADD(
        json, object,
        KEY("device",
            JSON_OBJECT(
                json, KEY("name", device != NULL && device->name[0] != '\0' ? device->name : NULL),
                KEY("count", summary->timeline.device_count))),
        KEY("soundness", members_object(json, soundness_members, &summary->soundness)));
    members_write(json, object, usage_members, &summary->timeline.all);
    add_devices(json, object, &summary->timeline);
    JSON_ADD(
        json, object,
        KEY("window", window_json(json, &summary->idle, diagnosis_busy_share(diagnosis, which))));
    /* By itself: what takes memory of an arena may not return, and would lose a member before. */
    JSON_ADD(json, object, KEY("steps", steps_json(json, scratch, &diagnosis->facts[which])));
    JSON_ADD(json, object, KEY("counters", counters_json(json, &summary->trace->counters)));
    members_write(json, object, phases_members, &summary->phases);
    JSON_ADD(json, object, KEY("launches", launches_json(json, &summary->launches)));
    tables_json(json, object, scratch, summary, &diagnosis->tables);
    if (summary->digest == NULL)
        gaps_json(json, object, scratch, summary);
    else
        add_not_held(json, object);
    if (writing->timeline_steps > 0)
        timeline_json(json, object, scratch, summary, writing->timeline_steps);
    add_headline(json, object, &findings->headline);
    add_thresholds(json, object, findings);
    JSON_ADD(json, object, KEY("healthy", findings->healthy[0] != '\0' ? findings->healthy : NULL),
             KEY("findings", findings_json(json, findings)));
    add_checklist(json, object, diagnosis, which);
    add_what_ifs(json, object, diagnosis, which);
}

enum status diagnosis_json(const struct diagnosis *diagnosis, int only, int timeline_steps,
                           char **text)
{
    struct writing writing = { .diagnosis = diagnosis, .timeline_steps = timeline_steps };
    struct json *json = &writing.json;
    cJSON *root = json_object(json, NULL, NULL);
    enum status status = STATUS_OK;

    *text = NULL;
    JSON_ADD(json, root, KEY("schema", SCHEMA), KEY("is_run", (bool)(diagnosis->run_count > 0)));
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

/* --- One member alone --- */

static enum status write_alone(struct writing *writing,
                               void (*write)(struct arena *arena, void *context), char **text)
{
    enum status status = STATUS_OK;

    *text = NULL;
    TRY_OUT(arena_run(writing->diagnosis->arenas[writing->which], write, writing));
    TRY_OUT(json_print(&writing->json, writing->root, text));

out:
    cJSON_Delete(writing->root);
    return status;
}

static void replay_alone(struct arena *arena, void *context)
{
    struct writing *writing = context;
    const struct diagnosis *diagnosis = writing->diagnosis;
    struct what_if what_if = what_if_of(&diagnosis->findings[writing->which],
                                        &diagnosis->facts[writing->which], &diagnosis->what_if);
    (void)arena;

    writing->root = steps_left_json(&writing->json, &what_if);
}

enum status what_if_json(const struct diagnosis *diagnosis, int which, char **text)
{
    struct writing writing = { .diagnosis = diagnosis, .which = which };

    return write_alone(&writing, replay_alone, text);
}

static void draw_alone(struct arena *arena, void *context)
{
    struct writing *writing = context;
    struct arena *scratch = arena_scratch(arena);

    writing->root = json_object(&writing->json, NULL, NULL);
    timeline_json(&writing->json, writing->root, scratch,
                  &writing->diagnosis->summaries[writing->which], writing->timeline_steps);
    arena_close(scratch);
}

enum status drawing_json(const struct diagnosis *diagnosis, int which, int steps, char **text)
{
    struct writing writing = { .diagnosis = diagnosis, .which = which, .timeline_steps = steps };

    return write_alone(&writing, draw_alone, text);
}
