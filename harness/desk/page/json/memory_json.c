#include "harness/desk/page/json/memory_json.h"

#include "harness/desk/analysis/tables/memory_samples.h"

#include <math.h>

enum { DIGITS = 15 }; /* of a double: bytes and nanoseconds stay whole */

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

void memory_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary)
{
    cJSON *array = json_array(json, to, "memory");

    for (int64_t i = 0; i < summary->memory.device_count; i++)
        add_device(json, array, arena, summary, &summary->memory.devices[i]);
}
