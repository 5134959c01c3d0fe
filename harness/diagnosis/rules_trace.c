/* Findings of the trace itself: what it cannot tell. */
#include "harness/diagnosis/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool judge_no_device_activity(struct finding *finding, const struct facts *facts)
{
    if (facts->summary->timeline.work_count > 0)
        return false;
    finding->severity = facts->summary->timeline.host_alone ? SEVERITY_MINOR : SEVERITY_MAJOR;
    snprintf(finding->evidence, sizeof finding->evidence,
             "of %lld events none is a kernel, a copy or a memset%s",
             (long long)facts->summary->trace->event_count,
             facts->summary->timeline.host_alone ? ", and no device is described or called" : "");
    return true;
}

static void say(struct finding *finding, const char *sentence)
{
    size_t length = strlen(finding->evidence);

    snprintf(finding->evidence + length, sizeof finding->evidence - length, "%s%s",
             length > 0 ? "; " : "", sentence);
}

enum { STEPS_LEAST = 3 };

static bool judge_insufficient_data(struct finding *finding, const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    const struct trace_file *trace = summary->trace;
    char text[300];

    finding->evidence[0] = '\0';
    if (trace->partial) {
        snprintf(text, sizeof text, "the trace is not whole: %.200s", trace->partial_reason);
        say(finding, text);
    }
    if (trace->dropped_count > 0) {
        snprintf(text, sizeof text, "the recorder dropped %lld records",
                 (long long)trace->dropped_count);
        say(finding, text);
    }
    if (trace->bad_count > 0) {
        snprintf(text, sizeof text, "%lld events are broken", (long long)trace->bad_count);
        say(finding, text);
    }
    if (summary->timeline.host_alone && !facts->has_steps && trace->event_count > 0)
        say(finding, "no steps are marked (profiler.step()), so nothing tells what the loop does");
    if (summary->timeline.work_count > 0) {
        if (facts_are_few(facts)) {
            snprintf(text, sizeof text, "%lld kernels and copies are too few to judge by",
                     (long long)summary->timeline.work_count);
            say(finding, text);
        }
        if (!facts->has_steps)
            say(finding, facts_of_whole(facts)
                             ? "no steps are marked (profiler.step()), so figures are of the whole"
                             : "no steps are marked (profiler.step()), so the optimizer's calls "
                               "count as steps");
        else if (summary->steps.count < STEPS_LEAST)
            say(finding, "fewer than 3 steps are no steady state");
        if (summary->launches.count == 0)
            say(finding, "the host's calls are missing, so nothing says why the device is idle");
        else if (summary->launches.orphan_count * 10 > summary->timeline.work_count)
            say(finding, "of more than a tenth of the device's work the call is missing");
        if (facts->lacks_work) {
            snprintf(text, sizeof text,
                     "of %lld launches the work of %lld is missing, so the device only seems idle",
                     (long long)(summary->launches.count + summary->launches.lost_count),
                     (long long)summary->launches.lost_count);
            say(finding, text);
        }
        if (trace->device_count == 0)
            say(finding,
                "the device is not described, so its abilities and its memory are unknown");
    }
    finding_informs(finding);
    return finding->evidence[0] != '\0';
}

const struct rule rules_of_trace[] = {
    { "no_device_activity", "The trace shows no work of a device",
      "record the device as well (ProfilerActivity.CUDA); on GPUs, see that CUPTI is found",
      "without work of the device there is nothing to judge", judge_no_device_activity },
    { "insufficient_data", "The trace does not tell everything",
      "record at least 3 whole steps with calls of the host, and let the file be finished",
      "what rules need", judge_insufficient_data },
    { 0 },
};
