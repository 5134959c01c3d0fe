/* Snapshots of PyTorch's memory among the files that `diagnose` is given. */
#ifndef HARNESS_CLI_TRACES_SNAPSHOTS_H
#define HARNESS_CLI_TRACES_SNAPSHOTS_H

#include "harness/cli/traces/trace_paths.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/text/page.h"

struct snapshots {
    const char **paths;
    int count;
};

/* Moves the paths of snapshots out of `paths`; release in every case. */
enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths);
void snapshots_release(struct snapshots *snapshots);

/* Prints a page for each, or all as one JSON document if `page` is NULL. *found: one has a finding of that severity or
 * above; SEVERITY_INFORMATION: nobody asks. A file that cannot be read is passed to `skip`, or if that is NULL ends it. */
enum status snapshots_print(const struct snapshots *snapshots, const struct page *page, int rows,
                            enum severity fail_on, bool *found, void (*skip)(void *context),
                            void *context);

#endif
