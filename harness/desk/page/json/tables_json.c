/* The tables of a trace as JSON: kernels and what they are of, operators and annotations, and
 * memory over time. A digest has none of them, and their members are empty. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/analysis/tables/memory_curve.h"
#include "harness/desk/analysis/tables/spans.h"

#include <math.h>

enum { OPERATORS_MOST = 100, DIGITS = 15 }; /* of a double: bytes and nanoseconds stay whole */

/* --- Kernels --- */

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

static void add_kernels(struct json *json, cJSON *to, const struct summary *summary)
{
    cJSON *array = json_array(json, to, "kernels");
    double all_ns = 0;

    for (int64_t i = 0; i < summary->kernels.count; i++)
        all_ns += (double)summary->kernels.rows[i].total_ns;
    for (int64_t i = 0; i < summary->kernels.count; i++) {
        const struct kernel_row *row = &summary->kernels.rows[i];
        cJSON *object = json_object(json, array, NULL);
        const struct trace_event *longest = row->longest;
        const struct event_kernel *launch =
            longest->kind == EVENT_KIND_KERNEL && longest->detail != NO_DETAIL
                ? &summary->trace->kernels[longest->detail]
                : NULL;
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
        add_shape(json, object, "grid", launch != NULL ? launch->grid : NULL);
        add_shape(json, object, "block", launch != NULL ? launch->block : NULL);
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

/* --- Operators --- */

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

/* --- Memory --- */

static void bytes(struct json *json, cJSON *to, const char *name, int64_t value)
{
    json_number(json, to, name, value >= 0 ? (double)value : (double)NAN);
}

static void add_categories(struct json *json, cJSON *object, const struct summary *summary,
                           const struct memory_device *device, const struct memory_samples *samples)
{
    cJSON *array = json_array(json, object, "categories");

    for (int64_t i = 0; i < device->category_count; i++) {
        const struct memory_category *category = &device->categories[i];
        cJSON *of_category = json_object(json, array, NULL);
        json_text(json, of_category, "name", trace_file_name(summary->trace, category->name));
        json_integer(json, of_category, "at_peak_bytes", category->at_peak);
        json_integer(json, of_category, "peak_bytes", category->peak);
        json_numbers(json, of_category, "bytes", samples->categories + i * samples->count,
                     samples->count, DIGITS);
    }
}

static void add_device(struct json *json, cJSON *array, struct arena *arena,
                       const struct summary *summary, const struct memory_device *device)
{
    const struct event_device *about = trace_file_device(summary->trace, device->device);
    cJSON *object = json_object(json, array, NULL), *curve;
    struct memory_samples samples =
        memory_samples_of(arena, &summary->memory, device, summary->trace, MEMORY_JSON_POINTS);
    int64_t limit = about == NULL                    ? 0
                    : about->memory_budget_bytes > 0 ? about->memory_budget_bytes
                                                     : about->memory_bytes;

    json_integer(json, object, "device", device->device);
    json_bool(json, object, "stated", device->stated);
    bytes(json, object, "limit_bytes", limit > 0 ? limit : -1);
    json_integer(json, object, "peak_bytes", device->peak);
    json_integer(json, object, "peak_at_ns", device->peak_at_ns);
    bytes(json, object, "reserved_at_peak_bytes", device->reserved_at_peak);
    bytes(json, object, "reserved_peak_bytes", device->reserved_peak);
    json_integer(json, object, "first_bytes", device->first);
    json_integer(json, object, "last_bytes", device->last);
    add_categories(json, object, summary, device, &samples);
    curve = json_object(json, object, "curve");
    json_integer(json, curve, "point_count", device->point_count);
    json_integer(json, curve, "start_ns", samples.start_ns);
    json_numbers(json, curve, "at_ns", samples.at_ns, samples.count, DIGITS);
    json_numbers(json, curve, "allocated_bytes", samples.allocated, samples.count, DIGITS);
    json_numbers(json, curve, "reserved_bytes", samples.reserved, samples.count, DIGITS);
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
