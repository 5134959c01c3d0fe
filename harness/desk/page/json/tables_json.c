/* The tables of a trace as JSON: kernels and what they are of, operators and annotations, and
 * memory over time. A digest has none of them, and their members are empty. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/analysis/tables/memory_curve.h"
#include "harness/desk/analysis/tables/spans.h"

#include <math.h>

enum { OPERATORS_MOST = 100, DIGITS = 15 }; /* of a double: bytes and nanoseconds stay whole */

/* --- Kernels --- */

/* Three numbers of a launch; null where the trace does not state them. */
static cJSON *shape_json(struct json *json, const uint32_t shape[3])
{
    if (shape == NULL || shape[0] == 0)
        return NULL;
    return json_series(json, (const double[]){ shape[0], shape[1], shape[2] }, 3, DIGITS);
}

/* The launch that is shown is that of the longest call. */
static void add_kernels(struct json *json, cJSON *to, const struct summary *summary)
{
    cJSON *array = json_array(json, to, "kernels");
    double all_ns = 0;

    for (int64_t i = 0; i < summary->kernels.count; i++)
        all_ns += (double)summary->kernels.rows[i].total_ns;
    for (int64_t i = 0; i < summary->kernels.count; i++) {
        const struct kernel_row *row = &summary->kernels.rows[i];
        const struct trace_event *longest = row->longest;
        const struct event_kernel *launch =
            longest->kind == EVENT_KIND_KERNEL && longest->detail != NO_DETAIL
                ? &summary->trace->kernels[longest->detail]
                : NULL;
        bool moves = row->bytes_ns > 0;
        JSON_ROW(json, array, KEY("name", trace_file_name(summary->trace, row->name)),
                 KEY("kind", work_kind_name(row->kind)), KEY("count", row->count),
                 KEY("total_ns", row->total_ns),
                 KEY("mean_ns", (double)row->total_ns / (double)row->count),
                 KEY("min_ns", row->min_ns), KEY("max_ns", row->max_ns),
                 KEY("share", (double)row->total_ns / all_ns),
                 KEY("blocks_per_sm", row->blocks_per_sm),
                 KEY("occupancy_percent", row->occupancy_percent),
                 KEY("bytes", moves ? (double)row->bytes : NAN),
                 KEY("gb_per_second", moves ? (double)row->bytes / (double)row->bytes_ns : NAN),
                 KEY("pageable", row->pageable),
                 KEY("grid", shape_json(json, launch != NULL ? launch->grid : NULL)),
                 KEY("block", shape_json(json, launch != NULL ? launch->block : NULL)));
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
        JSON_ROW(json, array, KEY("name", mix_name(kind)), KEY("count", mix->count[kind]),
                 KEY("total_ns", mix->ns[kind]),
                 KEY("share", (double)mix->ns[kind] / (double)mix->all_ns));
    }
    array = json_array(json, object, "layers");
    for (int i = 0; i < MIX_GROUP_COUNT; i++) {
        JSON_ROW(json, array, KEY("name", mix_group_name((enum mix_group)i)),
                 KEY("share", mix_share(mix, (enum mix_group)i)),
                 KEY("usual_share", mix->trains ? mix_usual[i] : NAN));
    }
    json_text(json, object, "source", mix->trains ? mix_source : NULL);
}

/* --- Operators --- */

static void add_span(struct json *json, cJSON *array, const struct summary *summary,
                     const struct span_row *row)
{
    bool memory = summary->spans.has_memory;

    JSON_ROW(json, array, KEY("name", trace_file_name(summary->trace, row->name)),
             KEY("is_call", row->is_call), KEY("count", row->count),
             KEY("replayed_count", row->replayed_count), KEY("host_total_ns", row->host_total_ns),
             KEY("host_self_ns", row->host_self_ns), KEY("device_total_ns", row->device_total_ns),
             KEY("device_self_ns", row->device_self_ns),
             KEY("host_bytes", memory ? (double)row->host_bytes : NAN),
             KEY("host_self_bytes", memory ? (double)row->host_self_bytes : NAN),
             KEY("device_bytes", memory ? (double)row->device_bytes : NAN),
             KEY("device_self_bytes", memory ? (double)row->device_self_bytes : NAN),
             KEY("flops", row->flops > 0 ? (double)row->flops : NAN));
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
        JSON_ROW(
            json, array, KEY("name", kind->name),
            KEY("input_dims", kind->dims != 0 ? trace_file_name(summary->trace, kind->dims) : NULL),
            KEY("count", kind->count), KEY("device_ns", kind->device_ns),
            KEY("host_ns", kind->host_ns),
            KEY("flops", kind->flops > 0 ? (double)kind->flops : NAN),
            KEY("bytes", kind->bytes > 0 ? (double)kind->bytes : NAN),
            KEY("bound", bound_name(roofline.bound)), KEY("bound_share", roofline.share));
    }
}

/* --- Memory --- */

/* Null for what a trace does not state, which is negative. */
static double known_bytes(int64_t value)
{
    return value >= 0 ? (double)value : (double)NAN;
}

static cJSON *categories_json(struct json *json, const struct summary *summary,
                              const struct memory_device *device,
                              const struct memory_samples *samples)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int64_t i = 0; i < device->category_count; i++) {
        const struct memory_category *category = &device->categories[i];
        const double *bytes = samples->categories + i * samples->count;
        JSON_ROW(json, array, KEY("name", trace_file_name(summary->trace, category->name)),
                 KEY("at_peak_bytes", category->at_peak), KEY("peak_bytes", category->peak),
                 KEY("bytes", json_series(json, bytes, samples->count, DIGITS)));
    }
    return array;
}

static void add_device(struct json *json, cJSON *array, struct arena *arena,
                       const struct summary *summary, const struct memory_device *device)
{
    const struct event_device *about = trace_file_device(summary->trace, device->device);
    struct memory_samples samples =
        memory_samples_of(arena, &summary->memory, device, summary->trace, MEMORY_JSON_POINTS);
    int64_t limit = about == NULL                    ? 0
                    : about->memory_budget_bytes > 0 ? about->memory_budget_bytes
                                                     : about->memory_bytes;

    JSON_ROW(
        json, array, KEY("device", device->device), KEY("stated", device->stated),
        KEY("limit_bytes", known_bytes(limit > 0 ? limit : -1)), KEY("peak_bytes", device->peak),
        KEY("peak_at_ns", device->peak_at_ns),
        KEY("reserved_at_peak_bytes", known_bytes(device->reserved_at_peak)),
        KEY("reserved_peak_bytes", known_bytes(device->reserved_peak)),
        KEY("first_bytes", device->first), KEY("last_bytes", device->last),
        KEY("categories", categories_json(json, summary, device, &samples)),
        KEY("curve",
            JSON_OBJECT(
                json, KEY("point_count", device->point_count), KEY("start_ns", samples.start_ns),
                KEY("at_ns", json_series(json, samples.at_ns, samples.count, DIGITS)),
                KEY("allocated_bytes", json_series(json, samples.allocated, samples.count, DIGITS)),
                KEY("reserved_bytes",
                    json_series(json, samples.reserved, samples.count, DIGITS)))));
}

void tables_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                 const struct table_choice *choice)
{
    cJSON *array;

    add_kernels(json, to, summary);
    add_mix(json, to, &summary->mix);
    add_spans(json, to, arena, summary, false, choice);
    add_spans(json, to, arena, summary, true, choice);
    add_kinds(json, to, summary, choice);
    array = json_array(json, to, "memory");
    for (int64_t i = 0; i < summary->memory.device_count; i++)
        add_device(json, array, arena, summary, &summary->memory.devices[i]);
}
