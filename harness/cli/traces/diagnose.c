/* chokepoint diagnose: what a trace shows, ours or other profilers', and what to do about it.
 *
 * The paths are found first (trace_paths.h), snapshots of memory are told from traces, and
 * diagnosis_make() reads and judges all traces; then one page, or one JSON, has all of them. A file
 * that cannot be read does not stop the others: it is named at once and counted for the exit code.
 * --fail-on makes a check of it, whose lines come after the page. */
#include "harness/base/figures/number.h"
#include "harness/base/words/nearest.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/record_folder.h"
#include "harness/cli/traces/trace_paths.h"
#include "harness/desk/analysis/excerpt.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/desk/page/snapshot_page.h"
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

/* Whether no trace (only number `only`, if that is 0 or more) has a finding of that severity or
 * above, and each tells enough to be judged. A line on `page` names each of those that do, and the
 * trace. */
static bool fail_on_passes(const struct page *page, const struct diagnosis *diagnosis, int only,
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
            char cost[96] = "";
            if (findings->items[i].lost_ns_per_step > 0)
                snprintf(cost, sizeof cost, ", %.4g us per step",
                         findings->items[i].lost_ns_per_step / 1e3);
            page_paragraph(page, INK_BAD, "Not passed: %s (%s%s, %s confidence) in %s",
                           findings->items[i].id, severity_name(findings->items[i].severity), cost,
                           confidence_name(findings->items[i].confidence), diagnosis->paths[which]);
            passes = false;
        }
    }
    return passes;
}

/* --- The command --- */

struct diagnose {
    struct flags flags;
    int timeline; /* steps; 0: none */
    bool thresholds, checklist;
    struct table_choice tables;
    struct what_if_choice what_if;
    bool has_rank;
    int64_t rank;          /* whose page it is */
    enum severity fail_on; /* SEVERITY_INFORMATION: it was not given */
};

enum { SORT_NAMES = 400, CAUSES_MOST = 24, CAUSE_NAME = 24 };

/* One of several files or folders: the others are read all the same. */
static void skip(void *context)
{
    int *skipped = context;

    status_context("%s", command_diagnose.name);
    command_print_error();
    (*skipped)++;
}

/* The trace that is printed; -1: all of them. */
static enum status find_rank(int *only, const struct diagnose *options,
                             const struct diagnosis *diagnosis)
{
    *only = options->has_rank ? diagnosis_rank(diagnosis, options->rank) : -1;
    if (options->has_rank && *only < 0)
        FAIL(STATUS_BAD_USAGE, "--rank=%lld: none of the traces is of that rank",
             (long long)options->rank);
    if (options->what_if.asked && *only < 0 && diagnosis->run_count > 0 &&
        options->flags.format != FORMAT_JSON)
        FAIL(STATUS_BAD_USAGE,
             "--what-if: the traces are ranks of one run, and a replay is of one of them: name it "
             "with --rank=N");

    return STATUS_OK;
}

/* As a check, whose lines follow the page; beside JSON they go to standard error. */
static void check_findings(const struct diagnose *options, const struct diagnosis *diagnosis,
                           const struct snapshots *snapshots, int only, int *exit_code)
{
    struct page page = options->flags.format == FORMAT_JSON
                           ? page_console(stderr, options->flags.color)
                           : flags_page(&options->flags);

    if (options->fail_on == SEVERITY_INFORMATION)
        return;
    if (!fail_on_passes(&page, diagnosis, only, options->fail_on))
        *exit_code = 1;
    if (!snapshots_pass(&page, snapshots, diagnosis->joined, options->fail_on))
        *exit_code = 1;
}

/* Pages of snapshots come after those of traces. */
static enum status print_pages(const struct diagnose *options, const struct diagnosis *diagnosis,
                               const struct diagnosis_view *view)
{
    struct page page = flags_page(&options->flags);
    bool first = diagnosis->count == 0;

    TRY(diagnosis_page(&page, diagnosis, view));
    for (int i = 0; i < diagnosis->snapshot_count; i++) {
        const struct snapshot_file *file = &diagnosis->snapshots[i];
        /* A snapshot that was joined to its trace is on the page of that trace. */
        if (file == diagnosis->joined)
            continue;
        if (!first && !page.markdown)
            fputc('\n', stdout);
        first = false;
        snapshot_page(&page, file, options->tables.rows, false);
    }
    return STATUS_OK;
}

static enum status print(const struct diagnose *options, const struct diagnosis *diagnosis,
                         const struct snapshots *snapshots, int *exit_code)
{
    enum status status = STATUS_OK;
    struct diagnosis_view view = { .timeline = options->timeline,
                                   .thresholds = options->thresholds,
                                   .checklist = options->checklist };
    char *text = NULL;

    TRY_OUT(find_rank(&view.only, options, diagnosis));
    if (options->flags.format == FORMAT_JSON) {
        TRY_OUT(diagnosis_json(diagnosis, view.only, options->timeline, &text));
        fputs(text, stdout);
    } else {
        TRY_OUT(print_pages(options, diagnosis, &view));
    }
    check_findings(options, diagnosis, snapshots, view.only, exit_code);

out:
    free(text);
    return status;
}

/* A digest has no events to draw or to replay. */
static enum status refuse_digests(const struct diagnose *options, const struct diagnosis *diagnosis)
{
    for (int i = 0; i < diagnosis->count; i++)
        if (diagnosis->traces[i]->digest != NULL &&
            (options->timeline > 0 || options->what_if.asked))
            FAIL(STATUS_BAD_USAGE, "--%s: %s is a digest, which holds no events: give the trace",
                 options->timeline > 0 ? "timeline" : "what-if", diagnosis->paths[i]);

    return STATUS_OK;
}

/* A trace and a snapshot are one run's. */
static enum status take_snapshots(struct diagnosis *diagnosis, struct snapshots *snapshots,
                                  bool alone, int *skipped)
{
    TRY(snapshots_read(snapshots, alone ? NULL : skip, skipped));
    diagnosis->snapshots = snapshots->files;
    diagnosis->snapshot_count = snapshots->count;
    if (diagnosis->count == 1 && snapshots->count == 1)
        TRY(snapshot_join(diagnosis, &snapshots->files[0]));

    return STATUS_OK;
}

static enum status run_diagnose(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct diagnose *options = context;
    const struct flags *flags = &options->flags;
    struct trace_paths paths = { .takes_snapshots = true };
    struct diagnosis diagnosis = { .count = 0 };
    struct snapshots snapshots = { .count = 0 };
    struct stack_lines lines = { .count = 0 };
    struct program_times program;
    int skipped = 0;

    if (flags->argument_count == 0)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "a trace is missing: give files, folders of them, or - for standard input; %s run "
                 "writes some to chokepoint-result/traces",
                 program_invocation_name);
    /* A single file that cannot be read is the failure of the command; one of several is passed
     * over, and counted. */
    TRY_OUT(trace_paths_make(&paths, flags->arguments, flags->argument_count,
                             flags->argument_count > 1 ? skip : NULL, &skipped));
    TRY_OUT(snapshots_take(&snapshots, &paths));
    if (paths.count > 0)
        TRY_OUT(diagnosis_make(&diagnosis, paths.items, paths.count,
                               paths.count + paths.skipped > 1 ? skip : NULL, &skipped));
    if (diagnosis.count == 1 && record_folder_program(&program, diagnosis.paths[0])) {
        struct finding found[PROGRAM_FINDINGS];
        const struct facts *facts = &diagnosis.facts[0];
        int count;
        if (facts->has_steps && facts->device != NULL)
            program.busy_s = facts->busy_ns / 1e9;
        count = program_times_judge(found, &program);
        diagnosis.program = &program;
        if (count > 0)
            TRY_OUT(diagnosis_join(&diagnosis, 0, found, count));
    }
    diagnosis.tables = options->tables;
    diagnosis.what_if = options->what_if;
    /* The traces with stacks that `record` wrote beside these give their lines of code. */
    TRY_OUT(stack_lines_take(&lines, &diagnosis, skip, &skipped));
    TRY_OUT(refuse_digests(options, &diagnosis));
    TRY_OUT(
        take_snapshots(&diagnosis, &snapshots, paths.count + snapshots.path_count == 1, &skipped));
    if (diagnosis.count + snapshots.count > 0)
        TRY_OUT(print(options, &diagnosis, &snapshots, exit_code));
    if (skipped > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d files%s could not be read", skipped,
                 paths.count + snapshots.path_count + paths.skipped,
                 paths.skipped > 0 ? " and folders" : "");

out:
    stack_lines_release(&lines);
    diagnosis_release(&diagnosis);
    snapshots_release(&snapshots);
    trace_paths_release(&paths);
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

    diagnose->has_rank = true;
    return number_integer(&diagnose->rank, row->name, value, 0, INT_MAX);
}

/* A finding whose change replays know. */
static enum status find_cause(const struct rule **found, const char *name)
{
    const char *ids[CAUSES_MOST], *near;
    const struct rule *rule;
    char known[CAUSES_MOST * CAUSE_NAME] = "";
    int count = 0;

    *found = rule_find(name);
    if (*found != NULL && rule_is_replayed(*found))
        return STATUS_OK;
    for (int i = 0; (rule = rule_at(i)) != NULL; i++)
        if (rule_is_replayed(rule) && count < CAUSES_MOST) {
            text_join(known, sizeof known, ", ", "%s", rule->id);
            ids[count++] = rule->id;
        }
    if (*found != NULL)
        FAIL(STATUS_BAD_USAGE, "--what-if=%s: no replay knows that change, but those of %s", name,
             known);
    near = nearest_name(name, ids, count);
    FAIL(STATUS_BAD_USAGE, "--what-if: there is no cause %.60s; %s%s%s",
         name[0] != '\0' ? name : "\"\"", near != NULL ? "did you mean " : "replays know ",
         near != NULL ? near : known, near != NULL ? "?" : "");
}

/* Names between commas; none: the first findings, in all combinations. */
static enum status take_what_if(void *member, const struct option_row *row, const char *value)
{
    struct what_if_choice *choice = member;
    (void)row;

    *choice = (struct what_if_choice){ .asked = true };
    while (value != NULL) {
        size_t length = strcspn(value, ",");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)length, value);
        if (choice->count == WHAT_IF_CAUSES)
            FAIL(STATUS_BAD_USAGE, "--what-if: at most %d causes", WHAT_IF_CAUSES);
        TRY(find_cause(&choice->rules[choice->count], name));
        for (int i = 0; i < choice->count; i++)
            if (choice->rules[i] == choice->rules[choice->count])
                FAIL(STATUS_BAD_USAGE, "--what-if: %s is named twice", name);
        choice->count++;
        value = value[length] == ',' ? value + length + 1 : NULL;
    }

    return STATUS_OK;
}

static const struct option_row options[] = {
    { "sort", "KEY",
      "order of operators, as in PyTorch's table(sort_by=KEY): self_cuda_time_total, "
      "cpu_time_total, count, "
      "self_cpu_memory_usage ...",
      2, take_sort, .offset = offsetof(struct diagnose, tables.order) },
    { "top", "N", "rows of each table; 0: all", 2, take_top,
      .offset = offsetof(struct diagnose, tables.rows), .least = 0, .most = 1000000 },
    { "rank", "N", "of a run's traces: the page of that rank, with its tables", 2, take_rank,
      .offset = 0 },
    FLAG_FORMAT("console|json|markdown"),
    { "timeline", "STEPS", "draw what happened when, in that many steps which stand for all: 1", 2,
      take_timeline, .optional = true, .offset = offsetof(struct diagnose, timeline), .least = 1,
      .most = EXCERPT_STEPS },
    { "what-if", "CAUSE,CAUSE",
      "the trace replayed without these findings: the step that is left; without a name: without "
      "those of the trace, alone and together",
      2, take_what_if, .optional = true, .offset = offsetof(struct diagnose, what_if) },
    { "checklist", NULL,
      "seven questions of the guides on the speed of training, each answered by this trace's "
      "figures",
      2, value_boolean, .offset = offsetof(struct diagnose, checklist) },
    { "thresholds", NULL, "this trace's figure, good, bad and the source, for every rule", 2,
      value_boolean, .offset = offsetof(struct diagnose, thresholds) },
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
            "traces in "
            "it, a result.json for those beside it, - for "
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
            "\n"
            "The exit code is 0 when the traces were read, whatever they show, even if one is "
            "incomplete; 1 when --fail-on is given and found something, which the last lines name; "
            "2 when one could not be read: the others are printed all the same.",
    .options = options,
    .context_size = sizeof(struct diagnose),
    .run = run_diagnose,
};
