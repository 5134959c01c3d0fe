/* A diagnosis traces the settings as they are, as the variant before of a scenario that changes
 * nothing; a rung is a scenario whose change is the fix. */
#include "harness/lab/search/ladder.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"
#include "harness/lab/experiment/parent/variant_diagnosis.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rung gets at least so much time, though the ladder's ends before; and at most as much, or a
 * quarter of the ladder's if that is more: one that takes longer is left out. */
static const double SECONDS_LEAST = 10, SECONDS_MOST = 30;

/* The windows of the block are so many times as long as those of a rung: its gain is the smallest,
 * and so the hardest to tell from noise. */
static const double BLOCK_WINDOWS = 2;

enum status ladder_children_open(struct ladder_children *children)
{
    children->begin_ns = clock_ns();
    TRY(scratch_folder_make(&children->folder, "chokepoint-ladder"));
    children->protocol.traces = children->folder.path;

    return STATUS_OK;
}

static enum status diagnose_now(void *context, const struct scenario *now,
                                struct findings *findings, double *step_time_us)
{
    enum status status = STATUS_OK;
    struct ladder_children *children = context;
    struct scenario_result *result;
    struct variant_diagnosis *made;
    char trace[PATH_MAX + 128];

    TRY_OUT(rows_make(&result, 1));
    result->scenario = now;
    result->protocol = children->protocol;
    made = &result->diagnoses[VARIANT_BEFORE];
    TRY_OUT(variant_trace_make(result, VARIANT_BEFORE, children->program, children->stop));
    if (children->stop != NULL && *children->stop != 0)
        FAIL_OUT(STATUS_INTERRUPTED, "interrupted while the settings were traced");
    if (result->tracing[VARIANT_BEFORE].file[0] == '\0')
        FAIL_OUT(STATUS_INTERNAL, "the settings could not be traced: %s",
                 result->tracing[VARIANT_BEFORE].reason);
    variant_diagnosis_make(result);
    snprintf(trace, sizeof trace, "%s/%s", children->folder.path,
             result->tracing[VARIANT_BEFORE].file);
    unlink(trace);
    if (!made->made)
        FAIL_OUT(STATUS_INTERNAL, "the trace could not be judged: %s", made->reason);
    *findings = made->findings;
    /* The findings belong to the caller now, and are not released here. */
    memset(&made->findings, 0, sizeof made->findings);
    *step_time_us = result->tracing[VARIANT_BEFORE].step_time_us;

out:
    if (result != NULL)
        scenario_result_release(result);
    free(result);
    return status;
}

static enum status compare_rung(void *context, const struct scenario *rung, bool is_block,
                                double left, struct scenario_result *result)
{
    struct ladder_children *children = context;
    struct protocol protocol = children->protocol;

    protocol.traces = NULL;
    if (is_block) {
        protocol.window_seconds *= BLOCK_WINDOWS;
        protocol.shortest_seconds = 0;
    }
    protocol.most_seconds =
        fmin(fmax(SECONDS_MOST, children->budget_seconds / 4), fmax(left, SECONDS_LEAST));
    return experiment_run(result, children->program, rung, &protocol, children->progress,
                          children->progress_context, children->stop);
}

static double seconds(void *context)
{
    const struct ladder_children *children = context;

    return (double)(clock_ns() - children->begin_ns) * 1e-9;
}

struct ladder_probe ladder_children_probe(struct ladder_children *children)
{
    return (struct ladder_probe){ diagnose_now, compare_rung, seconds, children, NULL, NULL };
}

void ladder_children_close(struct ladder_children *children)
{
    scratch_folder_remove(&children->folder);
}
