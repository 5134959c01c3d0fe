/* Snapshots are told from traces by their first bytes, and taken out of the list of paths, so that
 * the rest of it is traces. */
#include "harness/cli/traces/snapshots.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/desk/read/formats.h"
#include "harness/desk/read/input/read_ahead.h"

#include <stdlib.h>

/* Only a regular file can be looked into before it is read. */
bool snapshot_is(const char *path)
{
    struct read_ahead *text = NULL;
    const char *bytes;
    size_t count;
    bool is = is_regular_file(path) && read_ahead_open(&text, path) == STATUS_OK &&
              read_ahead_window(text, 0, &bytes, &count) == STATUS_OK &&
              file_is_snapshot(bytes, count);

    read_ahead_close(text);
    return is;
}

enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths)
{
    int kept = 0;

    TRY(rows_make(&snapshots->paths, paths->count));
    for (int i = 0; i < paths->count; i++)
        if (snapshot_is(paths->items[i]))
            snapshots->paths[snapshots->path_count++] = paths->items[i];
        else
            paths->items[kept++] = paths->items[i];
    paths->count = kept;

    return STATUS_OK;
}

void snapshots_release(struct snapshots *snapshots)
{
    for (int i = 0; i < snapshots->path_count; i++) free((char *)snapshots->paths[i]);
    for (int i = 0; i < snapshots->count; i++) snapshot_release(&snapshots->files[i].snapshot);
    free(snapshots->paths);
    free(snapshots->files);
    *snapshots = (struct snapshots){ .count = 0 };
}

enum status snapshots_read(struct snapshots *snapshots, void (*skip)(void *context), void *context)
{
    TRY(rows_make(&snapshots->files, snapshots->path_count));
    for (int i = 0; i < snapshots->path_count; i++) {
        struct snapshot_file *file = &snapshots->files[snapshots->count];
        enum status status = snapshot_read(&file->snapshot, snapshots->paths[i]);
        file->path = snapshots->paths[i];
        if (status == STATUS_OK) {
            snapshots->count++;
            continue;
        }
        snapshot_release(&file->snapshot);
        if (skip == NULL)
            return status;
        skip(context);
    }
    return STATUS_OK;
}

static bool passes(const struct page *page, const struct snapshot_file *file,
                   const struct snapshot_device *device, enum severity level)
{
    bool passes = true;

    for (int i = 0; i < device->finding_count; i++) {
        const struct snapshot_finding *finding = &device->findings[i];
        enum severity severity = finding->is_critical ? SEVERITY_CRITICAL : SEVERITY_MAJOR;
        if (severity < level)
            continue;
        page_paragraph(page, INK_BAD, "Not passed: %s (%s) of device %lld in %s", finding->id,
                       severity_name(severity), (long long)device->device, file->path);
        passes = false;
    }
    return passes;
}

bool snapshots_pass(const struct page *page, const struct snapshots *snapshots,
                    const struct snapshot_file *joined, enum severity level)
{
    bool all = true;

    for (int i = 0; i < snapshots->count; i++)
        for (int j = 0; j < snapshots->files[i].snapshot.device_count; j++)
            if (&snapshots->files[i] != joined)
                all &= passes(page, &snapshots->files[i], &snapshots->files[i].snapshot.devices[j],
                              level);
    return all;
}
