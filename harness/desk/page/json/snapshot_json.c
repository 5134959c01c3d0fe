/* Snapshots of PyTorch's memory as JSON: what each device holds, in curves, sites and findings. A
 * curve is arrays of numbers, one for each member of its points. */
#include "harness/desk/page/json/diagnosis_json.h"

#include "harness/desk/diagnosis/rules/rules.h"

#include <stddef.h>
#include <string.h>

enum { DIGITS = 15 }; /* of a double: bytes and microseconds stay whole */

/* A member of all points, less a number, as an array; `offset`: where it is in a point. */
static cJSON *points_json(struct json *json, const struct snapshot_device *device, size_t offset,
                          int64_t less)
{
    double values[SNAPSHOT_POINTS];

    for (int64_t i = 0; i < device->point_count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&device->points[i] + offset, sizeof value);
        values[i] = (double)(value - less);
    }
    return json_series(json, values, device->point_count, DIGITS);
}

#define AT(member) offsetof(struct snapshot_point, member)

static cJSON *curve_json(struct json *json, const struct snapshot_device *device)
{
    return JSON_OBJECT(json, KEY("has_times", (bool)(device->end_us > device->start_us)),
                       KEY("start_us", device->start_us), KEY("end_us", device->end_us),
                       KEY("at_us", points_json(json, device, AT(time_us), device->start_us)),
                       KEY("event", points_json(json, device, AT(event), 0)),
                       KEY("live_bytes", points_json(json, device, AT(live), 0)),
                       KEY("reserved_bytes", points_json(json, device, AT(reserved), 0)));
}

static void add_sites(struct json *json, cJSON *to, const struct snapshot *snapshot,
                      const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "sites");

    for (int64_t i = 0; i < device->site_count; i++) {
        const struct snapshot_site *site = &device->sites[i];
        size_t at = AT(of_site) + (size_t)i * sizeof device->points->of_site[0];
        JSON_ROW(json, array, KEY("line", intern_text(snapshot->names, site->name)),
                 KEY("at_peak_bytes", site->at_peak), KEY("first_bytes", site->first),
                 KEY("last_bytes", site->last), KEY("allocations", site->count),
                 KEY("bytes", i < SNAPSHOT_HOLDERS ? points_json(json, device, at, 0)
                                                   : json_array(json, NULL, NULL)));
    }
}

static void add_calls(struct json *json, cJSON *to, const struct snapshot *snapshot,
                      const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "calls");

    for (int64_t i = 0; i < device->call_count; i++) {
        const struct snapshot_call *call = &device->calls[i];
        JSON_ROW(json, array, KEY("line", intern_text(snapshot->names, call->name)),
                 KEY("depth", call->depth), KEY("start_bytes", call->start),
                 KEY("bytes", call->bytes));
    }
}

static void add_findings(struct json *json, cJSON *to, const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "findings");

    for (int i = 0; i < device->finding_count; i++) {
        const struct snapshot_finding *finding = &device->findings[i];
        JSON_ROW(json, array, KEY("id", finding->id), KEY("title", rule_find(finding->id)->title),
                 KEY("severity", finding->is_critical ? "critical" : "major"),
                 KEY("evidence", finding->evidence), KEY("advice", finding->advice));
    }
}

static void add_ooms(struct json *json, cJSON *to, const struct snapshot_device *device)
{
    cJSON *array = json_array(json, to, "out_of_memory");

    for (int64_t i = 0; i < device->oom_count && i < SNAPSHOT_OOMS; i++) {
        const struct snapshot_oom *oom = &device->ooms[i];
        JSON_ROW(json, array, KEY("event", oom->event),
                 KEY("at_us", oom->time_us - device->start_us), KEY("asked_bytes", oom->asked),
                 KEY("device_free_bytes", oom->device_free), KEY("live_bytes", oom->live),
                 KEY("reserved_bytes", oom->reserved));
    }
}

static void add_device(struct json *json, cJSON *array, const struct snapshot *snapshot,
                       const struct snapshot_device *device)
{
    cJSON *object = JSON_ROW(
        json, array, KEY("device", device->device), KEY("events", device->event_count),
        KEY("start_bytes", device->live_start), KEY("peak_bytes", device->live_peak),
        KEY("peak_event", device->peak_event), KEY("end_bytes", device->live_end),
        KEY("before_bytes", device->before), KEY("reserved_bytes", device->reserved),
        KEY("rounding_bytes", device->rounding), KEY("free_whole_bytes", device->free_whole),
        KEY("free_pieces_bytes", device->free_pieces),
        KEY("largest_piece_bytes", device->largest_piece), KEY("pool_bytes", device->pool_reserved),
        KEY("segments", device->segment_count), KEY("segments_taken", device->segment_alloc_count),
        KEY("segments_given_back", device->segment_free_count),
        KEY("steps", device->has_steps ? device->mark_count : 0), KEY("grown_bytes", device->grown),
        KEY("curve", curve_json(json, device)));
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
        cJSON *devices = json_array(json, NULL, NULL);
        for (int j = 0; j < snapshot->device_count; j++)
            add_device(json, devices, snapshot, &snapshot->devices[j]);
        JSON_ROW(json, array, KEY("file", files[i].path),
                 KEY("is_joined", (bool)(&files[i] == joined)), KEY("bytes", snapshot->bytes),
                 KEY("expandable_segments", snapshot->expandable), KEY("devices", devices));
    }
}
