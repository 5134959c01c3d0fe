/* chokepoint diagnose: what a trace shows, ours or other profilers', and what to do about it.
 *
 * chokepoint_desk.h reads and judges all; then one page, or one JSON, has all of them. A file that
 * cannot be read does not stop the others: it is named at once and counted for the exit code.
 * --fail-on makes a check of it, whose lines come after the page. */
#include "harness/base/figures/number.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/desk/analysis/excerpt.h"
#include "harness/desk/chokepoint_desk.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/files/trace_paths.h"
#include "harness/desk/trace/trace_file.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- --fail-on=LEVEL: a diagnosis as a check --- */

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

/* FAILED: a trace (only number `only`, if that is 0 or more) has a finding of that severity or
 * above; else UNTOLD: one tells too little to be judged. A line on `page` names each, and the
 * trace. */
static enum gate_end fail_on_end(const struct page *page, const struct diagnosis *diagnosis,
                                 int only, enum severity level)
{
    enum gate_end end = GATE_PASSED;

    for (int which = 0; which < diagnosis->count; which++) {
        const struct findings *findings = &diagnosis->findings[which];
        const char *why = unjudged(diagnosis, which);
        if (only >= 0 && which != only)
            continue;
        if (why != NULL) {
            page_paragraph(page, INK_BAD, "Cannot tell: %s %s", diagnosis->paths[which], why);
            end = end == GATE_FAILED ? end : GATE_UNTOLD;
        }
        for (int64_t i = 0; i < findings->count; i++) {
            if (findings->items[i].severity < level)
                continue;
            char cost[96] = "";
            if (findings->items[i].lost_ns_per_step > 0)
                snprintf(cost, sizeof cost, ", %.4g us per step",
                         findings->items[i].lost_ns_per_step / 1e3);
            page_paragraph(page, INK_BAD, "Not passed: %s (%s%s, %s confidence) in %s",
                           findings->items[i].id, severity_name(findings->items[i].severity), cost,
                           confidence_name(findings->items[i].confidence), diagnosis->paths[which]);
            end = GATE_FAILED;
        }
    }
    return end;
}

/* --- The command --- */

struct diagnose {
    struct flags flags;
    struct chokepoint_view view;
    enum severity fail_on; /* SEVERITY_INFORMATION: it was not given */
};

enum { SORT_NAMES = 400 };

/* One of several files or folders: the others are read all the same. */
static void skip(void *context)
{
    (void)context;
    status_context("%s", command_diagnose.name);
    command_print_error();
}

/* As a check, whose lines follow the page; beside JSON they go to standard error. */
static void check_findings(const struct diagnose *options, const struct diagnosis *diagnosis,
                           int only, int *exit_code)
{
    struct page page = options->flags.format == FORMAT_JSON
                           ? page_console(stderr, options->flags.color)
                           : flags_page(&options->flags);

    if (options->fail_on == SEVERITY_INFORMATION)
        return;
    *exit_code = fail_on_end(&page, diagnosis, only, options->fail_on);
    if (!snapshots_pass(&page, diagnosis, options->fail_on))
        *exit_code = GATE_FAILED;
}

static enum status print(const struct diagnose *options, struct chokepoint_desk *desk,
                         int *exit_code)
{
    enum status status = STATUS_OK;
    const struct chokepoint_view *view = &options->view;
    struct page page = flags_page(&options->flags);
    char *text = NULL;
    int only;

    TRY_OUT(chokepoint_desk_look(desk, view, &only));
    if (desk->diagnosis.count + desk->diagnosis.snapshot_count == 0)
        goto out;
    if (options->flags.format == FORMAT_JSON) {
        TRY_OUT(chokepoint_desk_json(desk, view, &text));
        fputs(text, stdout);
    } else {
        TRY_OUT(chokepoint_desk_page(desk, view, &page));
    }
    check_findings(options, &desk->diagnosis, only, exit_code);

out:
    free(text);
    return status;
}

static enum status run_diagnose(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct diagnose *options = context;
    const struct flags *flags = &options->flags;
    struct chokepoint_desk *desk = NULL;

    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE,
             "a trace is missing: give files, folders of them, or - for standard input; %s run "
             "writes some to chokepoint-result/traces",
             program_invocation_name);
    TRY(chokepoint_desk_open(&desk, flags->arguments, flags->argument_count, skip, NULL));
    TRY_OUT(print(options, desk, exit_code));
    if (desk->skipped > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d files%s could not be read", desk->skipped, desk->given,
                 desk->skipped_arguments > 0 ? " and folders" : "");

out:
    chokepoint_desk_close(desk);
    return status;
}

/* The names are those of PyTorch's own table. */
static enum status take_sort(void *member, const struct option_row *row, const char *value)
{
    char names[SORT_NAMES] = "";

    if (span_order_find(value, member))
        return STATUS_OK;
    for (int i = SPANS_BY_DEFAULT + 1; i < SPANS_ORDER_COUNT; i++)
        text_join(names, sizeof names, ", ", "%s", span_order_name((enum span_order)i));
    FAIL(STATUS_BAD_USAGE, "--%s=%s: PyTorch sorts by %s", row->name, value, names);
}

/* 0 stands for all rows. */
static enum status take_top(void *member, const struct option_row *row, const char *value)
{
    int *rows = member;

    TRY(value_count(rows, row, value));
    if (*rows == 0)
        *rows = INT_MAX;

    return STATUS_OK;
}

/* One step, if none is given. */
static enum status take_timeline(void *member, const struct option_row *row, const char *value)
{
    return value_count(member, row, value != NULL ? value : "1");
}

static enum status take_rank(void *member, const struct option_row *row, const char *value)
{
    struct diagnose *diagnose = member;

    diagnose->view.has_rank = true;
    return number_integer(&diagnose->view.rank, row->name, value, 0, INT_MAX);
}

static enum status take_what_if(void *member, const struct option_row *row, const char *value)
{
    (void)row;
    return what_if_choice_read(member, value);
}

static const struct option_row options[] = {
    { "sort", "KEY",
      "order of operators, as in PyTorch's table(sort_by=KEY): self_cuda_time_total, "
      "cpu_time_total, count, "
      "self_cpu_memory_usage ...",
      2, take_sort, .offset = offsetof(struct diagnose, view.tables.order) },
    { "top", "N", "rows of each table; 0: all", 2, take_top,
      .offset = offsetof(struct diagnose, view.tables.rows), .least = 0, .most = 1000000 },
    { "rank", "N", "of a run's traces: the page of that rank, with its tables", 2, take_rank,
      .offset = 0 },
    FLAG_FORMAT("console|json|markdown"),
    { "timeline", "STEPS", "draw what happened when, in that many steps which stand for all: 1", 2,
      take_timeline, .optional = true, .offset = offsetof(struct diagnose, view.timeline),
      .least = 1, .most = EXCERPT_STEPS },
    { "what-if", "CAUSE,CAUSE",
      "the trace replayed without these findings: the step that is left; without a name: without "
      "those of the trace, alone and together",
      2, take_what_if, .optional = true, .offset = offsetof(struct diagnose, view.what_if) },
    { "checklist", NULL,
      "seven questions of the guides on the speed of training, each answered by this trace's "
      "figures",
      2, value_boolean, .offset = offsetof(struct diagnose, view.checklist) },
    { "thresholds", NULL, "this trace's figure, good, bad and the source, for every rule", 2,
      value_boolean, .offset = offsetof(struct diagnose, view.thresholds) },
    { "fail-on", "minor|major|critical",
      "exit with 1 if there is a finding of this severity or above, or a trace tells too little", 3,
      value_choice, .offset = offsetof(struct diagnose, fail_on), .least = SEVERITY_MINOR },
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_diagnose = {
    .name = "diagnose",
    .text = "say what is wrong, from traces",
    .arguments = "TRACE...",
    .help = "Reads traces and says where the time of a step went, what is wrong, what it costs, "
            "what to do about it and what that would gain. Traces are those of `run`, `train "
            "--trace` and `exec --trace`, or of PyTorch's profiler: JSON, plain or gzip, of any "
            "size. They may be exports of Nsight Systems too (nsys export --type=sqlite), or its "
            "reports, which nsys exports first if it is there. A snapshot of PyTorch's memory "
            "(torch.cuda.memory._dump_snapshot()) has a page of its own; beside one trace it is "
            "taken for one of the same run, and both have one page. A folder stands for the "
            "traces in it, or else in its folders, a result.json for those beside it, - for "
            "standard input. FOLDER/traces/NAME finds the trace of that name that the last run "
            "wrote, though its folder be traces-2. Files that are the ranks of one run "
            "have one page together; others, which come after them, are judged alone.\v"
            "Examples:\n"
            "  chokepoint diagnose chokepoint-result/traces/item_sync.before.json.gz\n"
            "  chokepoint diagnose worker0.pt.trace.json --format=markdown > diagnosis.md\n"
            "  chokepoint diagnose chokepoint-result --format=json\n"
            "  chokepoint diagnose worker0.pt.trace.json --timeline\n"
            "  chokepoint diagnose worker0.pt.trace.json --format=json --timeline=3\n"
            "  chokepoint diagnose worker0.pt.trace.json --what-if=host_sync,data_loading\n"
            "  chokepoint diagnose worker0.pt.trace.json --checklist\n"
            "  chokepoint diagnose ranks/ --rank=3\n"
            "  chokepoint diagnose report1.sqlite\n"
            "  chokepoint diagnose snapshot.pickle\n"
            "  chokepoint diagnose worker0.pt.trace.json snapshot.pickle\n"
            "  chokepoint diagnose worker0.pt.trace.json --fail-on=major\n"
            "\n" EXIT_CODES("all was read, whatever it shows",
                            "with --fail-on, a finding is as severe; the last lines name it",
                            "with --fail-on, a trace is incomplete or tells too little"),
    .options = options,
    .context_size = sizeof(struct diagnose),
    .run = run_diagnose,
};
