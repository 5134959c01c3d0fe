/* The order of the checks matters: rows that are no events go first, then times of device work,
 * then steps. The timeline is made again whenever a check has changed times. */
#include "harness/desk/analysis/soundness/soundness.h"

#include "harness/base/figures/quantity.h"
#include "harness/desk/analysis/soundness/mends.h"

#include <stdio.h>
#include <string.h>

static const char *const names[SOUND_CHECK_COUNT] = {
    [SOUND_WHOLE] = "whole",         [SOUND_TIMES] = "times",
    [SOUND_DURATIONS] = "durations", [SOUND_DUPLICATES] = "duplicates",
    [SOUND_STREAMS] = "streams",     [SOUND_CLOCK] = "clock",
    [SOUND_CYCLES] = "cycles",       [SOUND_ANNOTATIONS] = "annotations",
    [SOUND_BEGINNING] = "beginning", [SOUND_PROCESSES] = "processes",
    [SOUND_DEVICES] = "devices",     [SOUND_RECORDER] = "recorder",
};

const char *sound_check_name(enum sound_check check)
{
    return (unsigned)check < SOUND_CHECK_COUNT ? names[check] : "unknown";
}

const char *trust_name(enum trust trust)
{
    static const char *const texts[] = { "whole", "less", "little" };

    return (unsigned)trust < ARRAY_SIZE(texts) ? texts[trust] : "unknown";
}

enum trust trust_without(int64_t count, int64_t all)
{
    const double least = 0.01, most = 0.1;
    double share = all > 0 ? (double)count / (double)all : 0;

    return share < least ? TRUST_WHOLE : share < most ? TRUST_LESS : TRUST_LITTLE;
}

enum trust soundness_trust(const struct soundness *soundness, double idle_ns)
{
    const double most = 0.1; /* of the idle time, as in trust_without() */
    double doubt_ns = (double)soundness->rows[SOUND_CLOCK].doubt_ns;
    enum trust trust =
        idle_ns > 0 && doubt_ns > most * idle_ns ? soundness->rows[SOUND_CLOCK].trust : TRUST_WHOLE;

    for (int i = 0; i < SOUND_CHECK_COUNT; i++)
        if (i != SOUND_CLOCK && soundness->rows[i].trust > trust)
            trust = soundness->rows[i].trust;
    return trust;
}

static void note_processes(struct sound_row *row, const struct trace_file *trace)
{
    row->count = trace->part_count;
    if (row->count == 0)
        return;
    snprintf(row->found, sizeof row->found, "%lld processes %s in this file", (long long)row->count,
             trace->ranks_by_process ? "launch work" : "mark steps");
    snprintf(row->mended, sizeof row->mended, "each is taken for a rank; this is process %lld",
             (long long)trace->part_process);
}

static void note_devices(struct sound_row *row, const struct timeline *timeline)
{
    if (timeline->device_count < 2)
        return;
    row->count = timeline->device_count;
    snprintf(row->found, sizeof row->found,
             "%lld devices work in this process: a device counts as busy while any of them works",
             (long long)timeline->device_count);
}

/* Its cost is a share of the recording; what it said is quoted. */
static void note_recorder(struct sound_row *row, const struct timeline *timeline)
{
    const struct trace_file *trace = timeline->trace;
    int64_t whole_ns = timeline->all.span_ns;
    size_t length;

    if (trace->recorder == NULL || (trace->recorder_ns == 0 && trace->recorder_said[0] == '\0'))
        return;
    row->count = 1;
    row->trust = trace->recorder_lost ? TRUST_LESS : TRUST_WHOLE;
    snprintf(row->found, sizeof row->found, "%s", trace->recorder);
    length = strlen(row->found);
    if (trace->recorder_ns > 0 && whole_ns > 0)
        snprintf(row->found + length, sizeof row->found - length,
                 " itself took %s of the host's time, %.1f%% of the recording",
                 quantity_time((double)trace->recorder_ns).text,
                 100 * (double)trace->recorder_ns / (double)whole_ns);
    else if (trace->recorder_ns > 0)
        snprintf(row->found + length, sizeof row->found - length,
                 " itself took %s of the host's time",
                 quantity_time((double)trace->recorder_ns).text);
    length = strlen(row->found);
    if (trace->recorder_said[0] != '\0')
        snprintf(row->found + length, sizeof row->found - length, "%s says \"%s\"",
                 trace->recorder_ns > 0 ? ", and" : "", trace->recorder_said);
}

static void mend_steps(struct sound_row *rows, struct arena *arena, struct trace_file *trace,
                       struct timeline *timeline)
{
    SCRATCH_ARENA(scratch, arena);
    struct marks marks = marks_of(scratch, trace);
    bool moved = mend_cycles(&rows[SOUND_CYCLES], arena, trace, &marks), cut;

    if (moved)
        marks = marks_of(scratch, trace);
    cut = mend_annotations(&rows[SOUND_ANNOTATIONS], trace, &marks);
    if (moved || cut)
        *timeline = timeline_of(arena, trace);
    mend_beginning(&rows[SOUND_BEGINNING], timeline, &marks);
}

struct timeline sound_timeline_of(struct arena *arena, struct trace_file *trace,
                                  struct soundness *soundness)
{
    struct sound_row *rows = soundness->rows;
    struct timeline timeline;

    *soundness = (struct soundness){ .trust = TRUST_WHOLE };
    mend_whole(&rows[SOUND_WHOLE], trace);
    mend_times(&rows[SOUND_TIMES], trace);
    mend_duplicates(&rows[SOUND_DUPLICATES], arena, trace);
    timeline = timeline_of(arena, trace);
    mend_durations(&rows[SOUND_DURATIONS], &timeline);
    if (mend_streams(&rows[SOUND_STREAMS], arena, trace, &timeline))
        timeline = timeline_of(arena, trace);
    if (mend_clock(&rows[SOUND_CLOCK], arena, trace, &timeline))
        timeline = timeline_of(arena, trace);
    mend_steps(rows, arena, trace, &timeline);
    note_processes(&rows[SOUND_PROCESSES], trace);
    note_devices(&rows[SOUND_DEVICES], &timeline);
    note_recorder(&rows[SOUND_RECORDER], &timeline);
    for (int i = 0; i < SOUND_CHECK_COUNT; i++)
        if (rows[i].trust > soundness->trust)
            soundness->trust = rows[i].trust;
    return timeline;
}
