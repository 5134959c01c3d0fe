/* The child of each variant says in its records whether the trace is written. */
#include "harness/lab/experiment/parent/variant_diagnosis.h"

#include "harness/lab/experiment/parent/arguments.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "harness/lab/experiment/parent/process.h"
#include "harness/lab/experiment/rank_trace.h"
#include "harness/lab/experiment/records.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The records of one tracing child. */
struct collector {
    struct tracing *tracing;
    bool written;    /* according to its records */
    char text[1024]; /* the reason why not, if it gave one */
    struct record record;
};

static void take_line(void *context, const char *line)
{
    struct collector *collector = context;
    struct record *record = &collector->record;

    if (!record_parse(record, line))
        return;
    if (record->type == RECORD_TRACING) {
        *collector->tracing = record->tracing;
        collector->written = true;
    } else if (record->type == RECORD_ERROR || record->type == RECORD_SKIPPED) {
        memcpy(collector->text, record->text, sizeof collector->text);
    }
    record_release(record);
}

static void explain_no_trace(const struct collector *collector, const struct process_report *report,
                             char *reason, size_t size)
{
    char how[128];

    process_describe(report, how, sizeof how);
    if (report->end == PROCESS_EXITED && report->code == 0)
        snprintf(how, sizeof how, "ended before the trace was written");
    if (collector->text[0] != '\0')
        snprintf(reason, size, "%s", collector->text);
    else
        snprintf(reason, size, "its process %s%s%s", how,
                 report->last_words[0] != '\0' ? "; its last words: " : "", report->last_words);
}

enum status variant_trace_make(struct scenario_result *result, enum variant variant,
                               const char *program, const volatile sig_atomic_t *stop)
{
    const struct protocol *protocol = &result->protocol;
    struct protocol order = *protocol;
    struct tracing *tracing = &result->tracing[variant];
    double step_time_us =
        variant == VARIANT_BEFORE ? result->step_time.before : result->step_time.after;
    struct collector collector = { .tracing = tracing };
    struct arguments arguments;
    struct process_report report;
    char name[sizeof tracing->file], path[PATH_MAX];
    struct process child = { .program = program,
                             .arguments = arguments.list,
                             .timeout_seconds = protocol->timeout_seconds,
                             .kept = protocol->lock,
                             .softly = protocol_ranks(protocol, result->scenario) > 1,
                             .stop = stop,
                             .line = take_line,
                             .context = &collector };

    snprintf(name, sizeof name, "%s.%s.json.gz", result->scenario->name, variant_name(variant));
    if ((size_t)snprintf(path, sizeof path, "%s/%s", protocol->traces, name) >= sizeof path)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one",
             protocol->traces);
    order.jpeg_pixels = result->balance.jpeg_pixels;
    /* A quick run takes the step time from the windows that were timed before; else the child times
     * steps without a tracer itself, so that both times of the overhead come from one process. */
    arguments_trace(&arguments, result->scenario, &order, variant, path,
                    protocol->quick ? step_time_us : 0);
    TRY(process_run(&child, &report));
    tracing->ranks = protocol_ranks(protocol, result->scenario);
    if (collector.written && report.end == PROCESS_EXITED && report.code == 0)
        TRY(rank_trace_name(tracing->file, sizeof tracing->file, name, 0, tracing->ranks));
    else
        explain_no_trace(&collector, &report, tracing->reason, sizeof tracing->reason);

    return STATUS_OK;
}
