/* Snapshots of PyTorch's memory as JSON: what each device holds, in curves, sites and findings. A
 * curve is arrays of numbers, one for each member of its points. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/diagnosis/rules/rules.h"

#include <stddef.h>
#include <string.h>

enum { DIGITS = 15 }; /* of a double: bytes and microseconds stay whole */

/* A member of all points, less a number, as an array; `offset`: where it is in a point. */
static void add_points(struct json *json, cJSON *to, const char *name,
                       const struct snapshot_device *device, size_t offset, int64_t less)
{
    double values[SNAPSHOT_POINTS];

    for (int64_t i = 0; i < device->point_count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&device->points[i] + offset, sizeof value);
        values[i] = (double)(value - less);
    }
    json_numbers(json, to, name, values, device->point_count, DIGITS);
}

#define AT(member) offsetof(struct snapshot_point, member)

static void add_sites(struct json *json, cJSON *to, const struct snapshot *snapshot,
                      const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "sites");

    for (int64_t i = 0; i < device->site_count; i++) {
        const struct snapshot_site *site = &device->sites[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "line", intern_text(snapshot->names, site->name));
        json_integer(json, object, "at_peak_bytes", site->at_peak);
        json_integer(json, object, "first_bytes", site->first);
        json_integer(json, object, "last_bytes", site->last);
        json_integer(json, object, "allocations", site->count);
        if (i < SNAPSHOT_HOLDERS)
            add_points(json, object, "bytes", device,
                       AT(of_site) + (size_t)i * sizeof device->points->of_site[0], 0);
        else
            json_array(json, object, "bytes");
    }
}

static void add_calls(struct json *json, cJSON *to, const struct snapshot *snapshot,
                      const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "calls");

    for (int64_t i = 0; i < device->call_count; i++) {
        const struct snapshot_call *call = &device->calls[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "line", intern_text(snapshot->names, call->name));
        json_integer(json, object, "depth", call->depth);
        json_integer(json, object, "start_bytes", call->start);
        json_integer(json, object, "bytes", call->bytes);
    }
}

static void add_findings(struct json *json, cJSON *to, const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "findings");

    for (int i = 0; i < device->finding_count; i++) {
        const struct snapshot_finding *finding = &device->findings[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "id", finding->id);
        json_text(json, object, "title", rule_find(finding->id)->title);
        json_text(json, object, "severity", finding->is_critical ? "critical" : "major");
        json_text(json, object, "evidence", finding->evidence);
        json_text(json, object, "advice", finding->advice);
    }
}

static void add_ooms(struct json *json, cJSON *to, const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "out_of_memory");

    for (int64_t i = 0; i < device->oom_count && i < SNAPSHOT_OOMS; i++) {
        const struct snapshot_oom *oom = &device->ooms[i];
        cJSON *object = json_object(json, array, NULL);
        json_integer(json, object, "event", oom->event);
        json_integer(json, object, "at_us", oom->time_us - device->start_us);
        json_integer(json, object, "asked_bytes", oom->asked);
        json_integer(json, object, "device_free_bytes", oom->device_free);
        json_integer(json, object, "live_bytes", oom->live);
        json_integer(json, object, "reserved_bytes", oom->reserved);
    }
}

static void add_device(struct json *json, cJSON *array, const struct snapshot *snapshot,
                       const struct snapshot_device *device)
{
    cJSON *object = json_object(json, array, NULL), *curve;

    json_integer(json, object, "device", device->device);
    json_integer(json, object, "events", device->event_count);
    json_integer(json, object, "start_bytes", device->live_start);
    json_integer(json, object, "peak_bytes", device->live_peak);
    json_integer(json, object, "peak_event", device->peak_event);
    json_integer(json, object, "end_bytes", device->live_end);
    json_integer(json, object, "before_bytes", device->before);
    json_integer(json, object, "reserved_bytes", device->reserved);
    json_integer(json, object, "rounding_bytes", device->rounding);
    json_integer(json, object, "free_whole_bytes", device->free_whole);
    json_integer(json, object, "free_pieces_bytes", device->free_pieces);
    json_integer(json, object, "largest_piece_bytes", device->largest_piece);
    json_integer(json, object, "pool_bytes", device->pool_reserved);
    json_integer(json, object, "segments", device->segment_count);
    json_integer(json, object, "segments_taken", device->segment_alloc_count);
    json_integer(json, object, "segments_given_back", device->segment_free_count);
    json_integer(json, object, "steps", device->has_steps ? device->mark_count : 0);
    json_integer(json, object, "grown_bytes", device->grown);
    curve = json_object(json, object, "curve");
    json_bool(json, curve, "has_times", device->end_us > device->start_us);
    json_integer(json, curve, "start_us", device->start_us);
    json_integer(json, curve, "end_us", device->end_us);
    add_points(json, curve, "at_us", device, AT(time_us), device->start_us);
    add_points(json, curve, "event", device, AT(event), 0);
    add_points(json, curve, "live_bytes", device, AT(live), 0);
    add_points(json, curve, "reserved_bytes", device, AT(reserved), 0);
    add_ooms(json, object, device);
    add_sites(json, object, snapshot, device);
    add_calls(json, object, snapshot, device);
    add_findings(json, object, device);
}

void snapshots_json(struct json *json, cJSON *to, const struct snapshot_file *files, int count,
                    const struct snapshot_file *joined)
{
    cJSON *array = json_array(json, to, "snapshots");

    for (int i = 0; i < count; i++) {
        const struct snapshot *snapshot = &files[i].snapshot;
        cJSON *object = json_object(json, array, NULL), *devices;
        json_text(json, object, "file", files[i].path);
        json_bool(json, object, "is_joined", &files[i] == joined);
        json_integer(json, object, "bytes", snapshot->bytes);
        json_bool(json, object, "expandable_segments", snapshot->expandable);
        devices = json_array(json, object, "devices");
        for (int j = 0; j < snapshot->device_count; j++)
            add_device(json, devices, snapshot, &snapshot->devices[j]);
    }
}
