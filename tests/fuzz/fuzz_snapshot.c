/* A snapshot of memory made of any bytes: whatever they are, reading ends, and what it gives keeps
 * its promises. */
#include "harness/desk/snapshot/snapshot.h"
#include "tests/fuzz/fuzzing.h"

#include <string.h>

static void check_pictures(const struct snapshot *snapshot, const struct snapshot_device *device)
{
    PROMISE(device->point_count <= SNAPSHOT_POINTS);
    for (int64_t i = 0; i < device->point_count; i++) {
        PROMISE(i == 0 || device->points[i].event > device->points[i - 1].event);
        PROMISE(device->points[i].live <= device->live_peak);
        for (int j = 0; j < SNAPSHOT_HOLDERS; j++) PROMISE(device->points[i].of_site[j] >= 0);
    }
    for (int64_t i = 0; i < device->call_count; i++) {
        PROMISE(device->calls[i].name < intern_count(snapshot->names));
        PROMISE(device->calls[i].depth <= (i > 0 ? device->calls[i - 1].depth + 1 : 0));
    }
}

static void check_device(const struct snapshot *snapshot, const struct snapshot_device *device)
{
    PROMISE(device->live_peak >= device->live_start && device->live_start >= 0);
    PROMISE(device->active + device->free_whole + device->free_pieces >= 0);
    PROMISE(device->largest_piece <= device->free_pieces);
    PROMISE(device->peak_event < device->event_count);
    PROMISE(device->finding_count <= SNAPSHOT_FINDINGS);
    for (int i = 0; i < device->finding_count; i++)
        PROMISE(device->findings[i].evidence[0] != '\0' && device->findings[i].advice != NULL);
    for (int64_t i = 0; i < device->site_count; i++) {
        PROMISE(device->sites[i].name < intern_count(snapshot->names));
        PROMISE(device->sites[i].at_peak >= 0);
    }
    check_pictures(snapshot, device);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct snapshot snapshot;

    if (snapshot_read(&snapshot, fuzz_file(0, bytes, size)) == STATUS_OK)
        for (int i = 0; i < snapshot.device_count; i++)
            check_device(&snapshot, &snapshot.devices[i]);
    else
        PROMISE(status_last()->text[0] != '\0');
    snapshot_release(&snapshot);
    return 0;
}
