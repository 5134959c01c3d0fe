/* Snapshots of PyTorch's memory among the files that `diagnose` is given. */
#pragma once

#include "harness/cli/traces/trace_paths.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/page.h"

/* Whether a file is one, by its first bytes; only a regular file can be. */
bool snapshot_is(const char *path);

struct snapshots {
    const char **paths;
    int path_count;
    struct snapshot_file *files; /* those that were read */
    int count;
};

/* Moves the paths of snapshots out of `paths`; release in every case. */
enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths);
void snapshots_release(struct snapshots *snapshots);

/* Reads them. One that cannot be read is passed to `skip`, or if that is NULL ends it. */
enum status snapshots_read(struct snapshots *snapshots, void (*skip)(void *context), void *context);

/* Whether none but `joined` has a finding of that severity or above. A line names each that has. */
bool snapshots_pass(const struct page *page, const struct snapshots *snapshots,
                    const struct snapshot_file *joined, enum severity level);
