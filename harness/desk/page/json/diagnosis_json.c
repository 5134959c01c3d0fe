#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/analysis/tables/roofline.h"
#include "harness/desk/diagnosis/digest/diagnosis_members.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/page/json/checklist_json.h"
#include "harness/desk/page/json/memory_json.h"
#include "harness/desk/page/json/ranks_json.h"
#include "harness/desk/page/json/snapshot_json.h"
#include "harness/desk/page/json/timeline_json.h"
#include "harness/desk/page/json/what_if_json.h"
#include "harness/text/catalogue.h"

#include <math.h>

enum { SCHEMA = 1, OPERATORS_MOST = 100, DIGITS = 15 };

/* Those that show the finding, the best one first. */
static void add_scenarios(struct json *json, cJSON *to, const char *finding)
{
    cJSON *array = json_array(json, to, "scenarios");
    const char *name;

    for (int i = 0; (name = catalogue_scenario(finding, i)) != NULL; i++)
        json_text(json, array, NULL, name);
}

void place_json(struct json *json, cJSON *to, const char *name, const struct call_place *place)
{
    struct members members = { .json = json, .object = to };

    place_member(&members, name, place);
}

cJSON *finding_json(struct json *json, cJSON *array, const struct finding *finding)
{
    cJSON *object = json_object(json, array, NULL);

    members_write(json, object, finding_members, finding);
    add_scenarios(json, object, finding->id);
    return object;
}

void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings)
{
    cJSON *array = json_array(json, to, name);

    for (int64_t i = 0; i < findings->count; i++) finding_json(json, array, &findings->items[i]);
}

static void add_device(struct json *json, cJSON *object, const struct facts *facts)
{
    const struct event_device *device = facts->device;
    cJSON *to = json_object(json, object, "device");

    json_text(json, to, "name", device != NULL && device->name[0] != '\0' ? device->name : NULL);
    json_integer(json, to, "count", facts->summary->timeline.device_count);
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
    for (int doing = 0; doing < HOST_DOING_COUNT; doing++)
        after_wait_ns += idle->all.drained_ns[doing];
    json_integer(json, to, "after_wait_ns", after_wait_ns);
}

static void add_durations(struct json *json, cJSON *to, struct arena *arena,
                          const struct steps *steps)
{
    double *durations = ARENA_NEW(arena, double, steps->count);

    for (int64_t i = 0; i < steps->count; i++) durations[i] = (double)steps->items[i].duration_ns;
    json_numbers(json, to, "duration_ns", durations, steps->count, DIGITS);
}

static void add_steps(struct json *json, cJSON *object, struct arena *arena,
                      const struct summary *summary)
{
    const struct steps *steps = &summary->steps;
    const struct trace_cost *cost = &summary->trace->cost;
    cJSON *to = json_object(json, object, "steps");
    bool any = steps->count > 0;

    json_integer(json, to, "count", steps->count);
    json_number(json, to, "mean_ns", any ? steps->mean_ns : NAN);
    json_number(json, to, "min_ns", any ? (double)steps->min_ns : NAN);
    json_number(json, to, "max_ns", any ? (double)steps->max_ns : NAN);
    json_number(json, to, "median_ns", any ? steps->median_ns : NAN);
    json_number(json, to, "untraced_ns", cost->step_ns > 0 ? cost->step_ns : NAN);
    members_write(json, json_object(json, to, "parts"), step_parts_members, steps);
    add_durations(json, to, arena, steps);
}

static void add_span(struct json *json, cJSON *array, const struct summary *summary,
                     const struct span_row *row)
{
    cJSON *to = json_object(json, array, NULL);
    bool memory = summary->spans.has_memory;

    json_text(json, to, "name", trace_file_name(summary->trace, row->name));
    json_bool(json, to, "is_call", row->is_call);
    json_integer(json, to, "count", row->count);
    json_integer(json, to, "replayed_count", row->replayed_count);
    json_integer(json, to, "host_total_ns", row->host_total_ns);
    json_integer(json, to, "host_self_ns", row->host_self_ns);
    json_integer(json, to, "device_total_ns", row->device_total_ns);
    json_integer(json, to, "device_self_ns", row->device_self_ns);
    json_number(json, to, "host_bytes", memory ? (double)row->host_bytes : NAN);
    json_number(json, to, "host_self_bytes", memory ? (double)row->host_self_bytes : NAN);
    json_number(json, to, "device_bytes", memory ? (double)row->device_bytes : NAN);
    json_number(json, to, "device_self_bytes", memory ? (double)row->device_self_bytes : NAN);
    json_number(json, to, "flops", row->flops > 0 ? (double)row->flops : NAN);
}

/* Operators and calls, or annotations. */
static void add_spans(struct json *json, cJSON *object, struct arena *arena,
                      const struct summary *summary, bool phases, const struct table_choice *choice)
{
    const struct spans *spans = &summary->spans;
    const struct span_row **sorted = ARENA_NEW(arena, const struct span_row *, spans->count);
    cJSON *array;
    int64_t left = choice->rows > 0 ? choice->rows : OPERATORS_MOST, count = 0;

    spans_sort(sorted, spans, choice->order);
    for (int64_t i = 0; i < spans->count; i++) count += spans->rows[i].is_phase == phases;
    json_integer(json, object, phases ? "annotation_count" : "operator_count", count);
    array = json_array(json, object, phases ? "annotations" : "operators");
    for (int64_t i = 0; i < spans->count && left > 0; i++)
        if (sorted[i]->is_phase == phases) {
            add_span(json, array, summary, sorted[i]);
            left--;
        }
}

static void add_kinds(struct json *json, cJSON *object, const struct summary *summary,
                      const struct table_choice *choice)
{
    const struct operator_kinds *kinds = &summary->operator_kinds;
    int64_t most = choice->rows > 0 ? choice->rows : OPERATORS_MOST;
    cJSON *array;

    json_integer(json, object, "operator_kind_count", kinds->count);
    array = json_array(json, object, "operator_kinds");
    for (int64_t i = 0; i < kinds->count && i < most; i++) {
        const struct operator_kind *kind = &kinds->rows[i];
        struct roofline roofline =
            roofline_of(&summary->trace->ceilings, kind->flops, kind->bytes,
                        (double)(kinds->device_ns > 0 ? kind->device_ns : kind->host_ns));
        cJSON *to = json_object(json, array, NULL);
        json_text(json, to, "name", kind->name);
        json_text(json, to, "input_dims",
                  kind->dims != 0 ? trace_file_name(summary->trace, kind->dims) : NULL);
        json_integer(json, to, "count", kind->count);
        json_integer(json, to, "device_ns", kind->device_ns);
        json_integer(json, to, "host_ns", kind->host_ns);
        json_number(json, to, "flops", kind->flops > 0 ? (double)kind->flops : NAN);
        json_number(json, to, "bytes", kind->bytes > 0 ? (double)kind->bytes : NAN);
        json_text(json, to, "bound", bound_name(roofline.bound));
        json_number(json, to, "bound_share", roofline.share);
    }
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

/* Three numbers of a launch; null where the trace does not state them. */
static void add_shape(struct json *json, cJSON *to, const char *name, const uint32_t shape[3])
{
    cJSON *array;

    if (shape == NULL || shape[0] == 0) {
        json_text(json, to, name, NULL);
        return;
    }
    array = json_array(json, to, name);
    for (int i = 0; i < 3; i++) json_integer(json, array, NULL, shape[i]);
}

static void add_launch_of(struct json *json, cJSON *to, const struct trace_file *trace,
                          const struct trace_event *event)
{
    const struct event_kernel *kernel =
        event->kind == EVENT_KIND_KERNEL && event->detail != NO_DETAIL
            ? &trace->kernels[event->detail]
            : NULL;

    add_shape(json, to, "grid", kernel != NULL ? kernel->grid : NULL);
    add_shape(json, to, "block", kernel != NULL ? kernel->block : NULL);
}

static void add_kernels(struct json *json, cJSON *to, const struct summary *summary)
{
    cJSON *array = json_array(json, to, "kernels");
    double all_ns = 0;

    for (int64_t i = 0; i < summary->kernels.count; i++)
        all_ns += (double)summary->kernels.rows[i].total_ns;
    for (int64_t i = 0; i < summary->kernels.count; i++) {
        const struct kernel_row *row = &summary->kernels.rows[i];
        cJSON *object = json_object(json, array, NULL);
        bool moves = row->bytes_ns > 0;
        json_text(json, object, "name", trace_file_name(summary->trace, row->name));
        json_text(json, object, "kind", work_kind_name(row->kind));
        json_integer(json, object, "count", row->count);
        json_integer(json, object, "total_ns", row->total_ns);
        json_number(json, object, "mean_ns", (double)row->total_ns / (double)row->count);
        json_integer(json, object, "min_ns", row->min_ns);
        json_integer(json, object, "max_ns", row->max_ns);
        json_number(json, object, "share", (double)row->total_ns / all_ns);
        json_number(json, object, "blocks_per_sm", row->blocks_per_sm);
        json_number(json, object, "occupancy_percent", row->occupancy_percent);
        json_number(json, object, "bytes", moves ? (double)row->bytes : NAN);
        json_number(json, object, "gb_per_second",
                    moves ? (double)row->bytes / (double)row->bytes_ns : NAN);
        json_bool(json, object, "pageable", row->pageable);
        add_launch_of(json, object, summary->trace, row->longest);
    }
}

/* "matrix products" and so on; of the layers also what is usual, if that can be compared. */
static void add_mix(struct json *json, cJSON *to, const struct mix *mix)
{
    cJSON *object, *array;

    if (!mix->is_transformer) {
        json_text(json, to, "mix", NULL);
        return;
    }
    object = json_object(json, to, "mix");
    array = json_array(json, object, "kinds");
    for (int kind = 0; kind < MIX_COUNT; kind++) {
        cJSON *row = json_object(json, array, NULL);
        json_text(json, row, "name", mix_name(kind));
        json_integer(json, row, "count", mix->count[kind]);
        json_integer(json, row, "total_ns", mix->ns[kind]);
        json_number(json, row, "share", (double)mix->ns[kind] / (double)mix->all_ns);
    }
    array = json_array(json, object, "layers");
    for (int i = 0; i < MIX_GROUP_COUNT; i++) {
        cJSON *row = json_object(json, array, NULL);
        json_text(json, row, "name", mix_group_name((enum mix_group)i));
        json_number(json, row, "share", mix_share(mix, (enum mix_group)i));
        json_number(json, row, "usual_share", mix->trains ? mix_usual[i] : NAN);
    }
    json_text(json, object, "source", mix->trains ? mix_source : NULL);
}

void headline_json(struct json *json, cJSON *object, const struct headline *headline)
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
    cJSON *object = json_object(json, writing->traces, NULL);

    json_text(json, object, "file", diagnosis->paths[which]);
    json_text(json, object, "lines_from", diagnosis->lines_from[which]);
    json_bool(json, object, "partial", diagnosis->traces[which]->partial);
    members_write(json, object, origin_members, summary->trace);
    add_device(json, object, &diagnosis->facts[which]);
    members_write(json, json_object(json, object, "soundness"), soundness_members,
                  &summary->soundness);
    members_write(json, object, usage_members, &summary->timeline.all);
    add_devices(json, object, &summary->timeline);
    add_window(json, object, &summary->idle, diagnosis_busy_share(diagnosis, which));
    add_steps(json, object, scratch, summary);
    members_write(json, object, phases_members, &summary->phases);
    add_launches(json, object, &summary->launches);
    add_kernels(json, object, summary);
    add_mix(json, object, &summary->mix);
    add_spans(json, object, scratch, summary, false, &diagnosis->tables);
    add_spans(json, object, scratch, summary, true, &diagnosis->tables);
    add_kinds(json, object, summary, &diagnosis->tables);
    memory_json(json, object, scratch, summary);
    if (summary->digest == NULL)
        gaps_json(json, object, scratch, summary);
    else
        add_not_held(json, object);
    if (writing->timeline_steps > 0)
        timeline_json(json, object, scratch, summary, writing->timeline_steps);
    headline_json(json, object, &findings->headline);
    add_thresholds(json, object, findings);
    json_text(json, object, "healthy", findings->healthy[0] != '\0' ? findings->healthy : NULL);
    findings_json(json, object, "findings", findings);
    checklist_json(json, object, diagnosis, which);
    what_if_json(json, object, diagnosis, which);
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
    ranks_json(json, root, diagnosis);
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
