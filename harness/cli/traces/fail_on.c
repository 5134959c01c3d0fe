#include "harness/cli/traces/fail_on.h"

#include "harness/desk/trace/trace_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Why a trace cannot be judged, so that it would pass every check; NULL: it can. */
static const char *unjudged(const struct diagnosis *diagnosis, int which)
{
    const struct findings *findings = &diagnosis->findings[which];

    if (diagnosis->traces[which]->partial)
        return "is incomplete";
    if (findings->headline.bottleneck == BOTTLENECK_UNSUPPORTED)
        return "is of a device or a profiler that is not read";
    for (int64_t i = 0; i < findings->count; i++)
        if (findings->items[i].bottleneck == BOTTLENECK_UNCLEAR)
            return "tells too little to be judged";
    return NULL;
}

static void print_finding(const struct page *page, const char *path, const struct finding *finding)
{
    char cost[96] = "";

    if (finding->lost_ns_per_step > 0)
        snprintf(cost, sizeof cost, ", %.4g us per step", finding->lost_ns_per_step / 1e3);
    page_paragraph(page, INK_BAD, "Not passed: %s (%s%s, %s confidence) in %s", finding->id,
                   severity_name(finding->severity), cost, confidence_name(finding->confidence),
                   path);
}

bool fail_on_passes(const struct page *page, const struct diagnosis *diagnosis, int only,
                    enum severity level)
{
    bool passes = true;

    for (int which = 0; which < diagnosis->count; which++) {
        const struct findings *findings = &diagnosis->findings[which];
        const char *why = unjudged(diagnosis, which);
        if (only >= 0 && which != only)
            continue;
        if (why != NULL) {
            page_paragraph(page, INK_BAD, "Not passed: %s %s", diagnosis->paths[which], why);
            passes = false;
        }
        for (int64_t i = 0; i < findings->count; i++) {
            if (findings->items[i].severity < level)
                continue;
            print_finding(page, diagnosis->paths[which], &findings->items[i]);
            passes = false;
        }
    }
    return passes;
}
