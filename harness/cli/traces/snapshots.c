#include "harness/cli/traces/snapshots.h"

#include "harness/base/rows.h"
#include "harness/base/system/own_file.h"
#include "harness/desk/page/json/snapshot_json.h"
#include "harness/desk/page/snapshot_page.h"
#include "harness/desk/read/foreign_file.h"
#include "harness/desk/read/input/read_ahead.h"

#include <stdio.h>
#include <stdlib.h>

/* Only a regular file can be looked into before it is read. */
static bool is_snapshot(const char *path)
{
    struct read_ahead *text = NULL;
    const char *bytes;
    size_t count;
    bool is = is_regular_file(path) && read_ahead_open(&text, path) == STATUS_OK &&
              read_ahead_peek(text, &bytes, &count) == STATUS_OK && file_is_snapshot(bytes, count);

    read_ahead_close(text);
    return is;
}

enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths)
{
    int kept = 0;

    TRY(rows_make(&snapshots->paths, paths->count));
    for (int i = 0; i < paths->count; i++)
        if (is_snapshot(paths->items[i]))
            snapshots->paths[snapshots->count++] = paths->items[i];
        else
            paths->items[kept++] = paths->items[i];
    paths->count = kept;

    return STATUS_OK;
}

void snapshots_release(struct snapshots *snapshots)
{
    for (int i = 0; i < snapshots->count; i++) free((char *)snapshots->paths[i]);
    free(snapshots->paths);
    *snapshots = (struct snapshots){ .count = 0 };
}

static bool has_finding(const struct snapshot *snapshot, enum severity least)
{
    for (int i = 0; i < snapshot->device_count; i++)
        for (int j = 0; j < snapshot->devices[i].finding_count; j++)
            if (least <=
                (snapshot->devices[i].findings[j].is_critical ? SEVERITY_CRITICAL : SEVERITY_MAJOR))
                return true;
    return false;
}

static enum status print_one(const char *path, const struct page *page, int rows, struct json *json,
                             cJSON *array, enum severity fail_on, bool *found)
{
    struct snapshot snapshot;
    enum status status = snapshot_read(&snapshot, path);

    if (status == STATUS_OK && page != NULL)
        snapshot_page(page, &snapshot, path, rows);
    else if (status == STATUS_OK)
        snapshot_json(json, array, &snapshot, path);
    *found = *found || (status == STATUS_OK && fail_on != SEVERITY_INFORMATION &&
                        has_finding(&snapshot, fail_on));
    snapshot_release(&snapshot);
    return status;
}

enum status snapshots_print(const struct snapshots *snapshots, const struct page *page, int rows,
                            enum severity fail_on, bool *found, void (*skip)(void *context),
                            void *context)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = page == NULL ? json_object(&json, NULL, NULL) : NULL, *array = NULL;
    char *text = NULL;

    if (page == NULL) {
        json_integer(&json, root, "schema", 1);
        array = json_array(&json, root, "snapshots");
    }
    for (int i = 0; i < snapshots->count; i++) {
        status = print_one(snapshots->paths[i], page, rows, &json, array, fail_on, found);
        if (status != STATUS_OK && skip == NULL)
            goto out;
        if (status != STATUS_OK)
            skip(context);
    }
    status = STATUS_OK;
    if (page == NULL) {
        TRY_OUT(json_print(&json, root, &text));
        fputs(text, stdout);
    }

out:
    free(text);
    cJSON_Delete(root);
    return status;
}
