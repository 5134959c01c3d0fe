/* chokepoint compare: result files of one version against those of another, row by row.
 *
 * This file takes the command line apart into two sides, reads the files, and chooses what is done
 * with them: a gate (comparison.h), --explain, which compares traces, or --plan (plan.c). Files of
 * different machines, devices or clocks are refused unless --force is given, since a difference
 * between them would say nothing about the versions. */
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/line/values.h"
#include "harness/desk/compare/comparison_output.h"
#include "harness/desk/files/trace_paths.h"
#include "harness/desk/page/trace_change_page.h"
#include "harness/text/result_traces.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Why new is slower, from traces --- */

/* For --explain, and as one line below a row that got slower. Traces of both sides are paired by
 * the names of their files, and each pair is compared by trace_change.h. One trace on each side
 * makes a pair whatever their names are. */
enum { NAME_MOST = 256 };

/* "item_sync.before" of "traces/item_sync.before.json.gz". */
static void trace_name(char text[NAME_MOST], const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(text, NAME_MOST, "%s", slash != NULL ? slash + 1 : path);
    if (ends_in(text, ".gz"))
        text[strlen(text) - strlen(".gz")] = '\0';
    if (ends_in(text, ".json"))
        text[strlen(text) - strlen(".json")] = '\0';
}

/* The trace of new that belongs to one of base; NULL: none does. */
static const char *partner_of(const struct trace_paths paths[SIDES], const char *path)
{
    char name[NAME_MOST], other[NAME_MOST];

    if (paths[SIDE_BASE].count == 1 && paths[SIDE_NEW].count == 1)
        return paths[SIDE_NEW].items[0];
    trace_name(name, path);
    for (int i = 0; i < paths[SIDE_NEW].count; i++) {
        trace_name(other, paths[SIDE_NEW].items[i]);
        if (strcmp(name, other) == 0)
            return paths[SIDE_NEW].items[i];
    }
    return NULL;
}

struct explaining {
    const struct flags *flags;
    struct page page;
    struct json json;
    cJSON *array; /* NULL: a page is printed */
    int explained, failed;
    enum gate_end end;
};

/* A step counts as slower only if words say why: then something in it stands out. One that is
 * longer without that, and too few steps, tell nothing. */
static void say(void *context, const struct trace_change *change)
{
    struct explaining *explaining = context;
    const struct step_change *step = &change->step;
    bool longer = step->differs && step->change_ns > 0;
    char words[400];

    trace_change_words(words, sizeof words, change);
    if (longer && words[0] != '\0')
        explaining->end = GATE_FAILED;
    else if (explaining->end == GATE_PASSED && (longer || !step->has_noise))
        explaining->end = GATE_UNTOLD;
    if (explaining->array != NULL)
        trace_change_json(&explaining->json, explaining->array, change);
    else
        trace_change_page(&explaining->page, change);
}

static enum status explain_all(struct explaining *explaining, const struct filter *filter,
                               const struct trace_paths paths[SIDES])
{
    enum status status = STATUS_OK;

    for (int i = 0; i < paths[SIDE_BASE].count; i++) {
        const char *base = paths[SIDE_BASE].items[i], *new = partner_of(paths, base);
        char name[NAME_MOST];
        trace_name(name, base);
        if (new == NULL || !filter_matches(filter, name))
            continue;
        status = trace_change_each((const char *const[SIDES]){ base, new }, say, explaining);
        explaining->explained += status == STATUS_OK;
        /* A pair that cannot be read is named, and the others are explained all the same. */
        if (status == STATUS_BAD_INPUT || status == STATUS_IO) {
            status_context("%s", command_compare.name);
            command_print_error();
            explaining->failed++;
            status = STATUS_OK;
        }
        TRY_OUT(status);
    }
    if (explaining->explained + explaining->failed == 0)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "no trace of base is wanted and has the name of one of new: give two traces, or "
                 "results of the same scenarios");

out:
    return status;
}

/* Explains each trace of base by the one of the same file name in new; one trace against one,
 * whatever their names. A side is a trace, or a folder as in trace_paths.h. `filter` is for the
 * names without their endings. *end is FAILED if a step of new takes longer, and something stands
 * out that makes it so; UNTOLD if one takes longer without that, or has too few steps. BAD_INPUT:
 * no two belong together, or one cannot be read; the others are printed all the same. */
static enum status explain_traces(const struct flags *flags, const struct filter *filter,
                                  const char *const sides[SIDES], enum gate_end *end)
{
    enum status status = STATUS_OK;
    struct trace_paths paths[SIDES] = { { .count = 0 }, { .count = 0 } };
    struct explaining explaining = { .flags = flags, .page = flags_page(flags) };
    cJSON *root = NULL;

    if (flags->format == FORMAT_JSON)
        root = trace_changes_json(&explaining.json, &explaining.array);
    for (int side = 0; side < SIDES; side++)
        TRY_OUT(trace_paths_make(&paths[side], &sides[side], 1, NULL, NULL));
    TRY_OUT(explain_all(&explaining, filter, paths));
    if (root != NULL)
        TRY_OUT(json_to_stdout(&explaining.json, root));
    *end = explaining.end;
    if (explaining.failed > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d pairs of traces could not be explained",
                 explaining.failed, explaining.failed + explaining.explained);

out:
    cJSON_Delete(root);
    for (int side = 0; side < SIDES; side++) trace_paths_release(&paths[side]);
    return status;
}

/* --- Slower because --- */

/* The trace of the row "item_sync/before" in the folder of a result; false: there is none. */
static bool find_trace(char path[PATH_MAX], const char *result, const char *row)
{
    char folder[PATH_MAX], name[NAME_MAX + 1];
    const char *slash = strchr(row, '/'), *end = strrchr(result, '/');
    bool is_file = ends_in(result, ".json");

    if (slash == NULL || strchr(slash + 1, '/') != NULL)
        return false;
    /* A result is given as its file or as its folder; a file without a folder is in the current
     * one. */
    snprintf(folder, sizeof folder, "%.*s",
             is_file ? (end != NULL ? (int)(end - result) : 1) : (int)strlen(result),
             is_file && end == NULL ? "." : result);
    snprintf(name, sizeof name, "%.*s.%s.json.gz", (int)(slash - row), row, slash + 1);
    return result_traces_find(path, folder, name);
}

/* Fills `because` of each slower row that has a trace in a folder of results of either side; the
 * first of each counts. Silent if a trace is missing or cannot be read: the verdict on the row does
 * not need it. */
static void find_causes(struct comparison *comparison, const char *const *const paths[SIDES],
                        const int counts[SIDES])
{
    char found[SIDES][PATH_MAX];

    for (int i = 0; i < comparison->count; i++) {
        struct compared_row *row = &comparison->rows[i];
        struct trace_change change;
        bool both = row->verdict == COMPARE_SLOWER;
        for (int side = 0; side < SIDES && both; side++) {
            both = false;
            for (int j = 0; j < counts[side] && !both; j++)
                both = find_trace(found[side], paths[side][j], row->name);
        }
        if (!both)
            continue;
        if (trace_change_make(&change, (const char *const[SIDES]){ found[SIDE_BASE],
                                                                   found[SIDE_NEW] }) == STATUS_OK)
            trace_change_words(row->because, sizeof row->because, &change);
        trace_change_release(&change);
    }
}

struct compare {
    struct flags flags;
    struct compare_rule rule;
    struct filter filter;
    bool allow_missing, force, explain, plan;
    bool only_changed, all_rows; /* of the page */
    int base_count;              /* files before --new; < 0: it was not given */
    const char **paths[SIDES];
    int counts[SIDES];
    struct compare_files sides[SIDES];
};

/* The first --new counts. */
static enum status take_new(void *context, const struct option_row *row, const char *value)
{
    struct compare *compare = context;

    (void)row;
    (void)value;
    if (compare->base_count < 0)
        compare->base_count = compare->flags.argument_count;
    return STATUS_OK;
}

/* Without --new the two files are BASE and NEW. */
static enum status split_sides(struct compare *compare)
{
    int count = compare->flags.argument_count;

    if (compare->base_count < 0 && count > 2)
        FAIL(STATUS_BAD_USAGE, "%d files were given: put --new before the first of the new ones",
             count);
    if (compare->base_count < 0)
        compare->base_count = 1;
    compare->paths[SIDE_BASE] = compare->flags.arguments;
    compare->paths[SIDE_NEW] = compare->flags.arguments + compare->base_count;
    compare->counts[SIDE_BASE] = compare->base_count;
    compare->counts[SIDE_NEW] = count - compare->base_count;
    if (compare->counts[SIDE_BASE] <= 0 || compare->counts[SIDE_NEW] <= 0)
        FAIL(STATUS_BAD_USAGE,
             "the files to compare are missing: chokepoint compare BASE NEW, or BASE... --new "
             "NEW...");

    return STATUS_OK;
}

/* A file counted twice looks like two runs that agree perfectly. */
static enum status refuse_twice(const struct compare *compare)
{
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < compare->counts[side]; i++)
            for (int j = 0; j < i; j++)
                if (strcmp(compare->paths[side][i], compare->paths[side][j]) == 0)
                    FAIL(STATUS_BAD_USAGE,
                         "%s is given twice on one side: it would count as two runs",
                         compare->paths[side][i]);

    return STATUS_OK;
}

static enum status read_sides(struct compare *compare)
{
    for (int side = 0; side < SIDES; side++) {
        TRY(rows_make(&compare->sides[side].files, compare->counts[side]));
        for (int i = 0; i < compare->counts[side]; i++) {
            TRY(benchmark_file_read(&compare->sides[side].files[i], compare->paths[side][i],
                                    compare->rule.metric));
            compare->sides[side].count++;
        }
    }

    return STATUS_OK;
}

/* For the filter of rows, which the desk calls with each name. */
static bool is_wanted(void *context, const char *name)
{
    const struct compare *compare = context;

    return filter_matches(&compare->filter, name);
}

static enum status print_comparison(const struct compare *compare,
                                    const struct comparison *comparison,
                                    const struct comparison_remarks *remarks)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&compare->flags);
    char *text = NULL;

    if (compare->flags.format == FORMAT_JSON) {
        TRY_OUT(comparison_json(comparison, compare->sides, remarks, &text));
        fputs(text, stdout);
    } else {
        TRY_OUT(comparison_page(&page, comparison, remarks));
    }

out:
    free(text);
    return status;
}

static enum status explain_sides(const struct compare *compare, int *exit_code)
{
    enum gate_end end = GATE_PASSED;

    if (compare->counts[SIDE_BASE] > 1 || compare->counts[SIDE_NEW] > 1)
        FAIL(STATUS_BAD_USAGE, "--explain takes one trace, or one result, per side");
    TRY(explain_traces(
        &compare->flags, &compare->filter,
        (const char *const[SIDES]){ compare->paths[SIDE_BASE][0], compare->paths[SIDE_NEW][0] },
        &end));
    *exit_code = end;

    return STATUS_OK;
}

/* All files are of one version. */
static enum status plan_files(struct compare *compare)
{
    struct page page = flags_page(&compare->flags);

    if (compare->base_count >= 0 || compare->flags.format == FORMAT_JSON)
        FAIL(STATUS_BAD_USAGE, "--plan takes files of one version, and prints a page: leave out "
                               "--new and --format=json");
    compare->paths[SIDE_BASE] = compare->flags.arguments;
    compare->counts[SIDE_BASE] = compare->flags.argument_count;
    TRY(refuse_twice(compare));
    TRY(read_sides(compare));
    if (!compare->force)
        TRY(compare_check(compare->sides));
    return plan_print(&page, &compare->sides[SIDE_BASE], &compare->rule, is_wanted, compare);
}

static void compare_prepare(void *context)
{
    struct compare *compare = context;

    /* Found out only when --new comes, since it counts the files before it. */
    compare->base_count = -1;
    compare->rule =
        (struct compare_rule){ .metric = BENCHMARK_TIME, .threshold = 0.05, .noise = NAN };
}

static enum status run_compare(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct compare *compare = context;
    struct comparison comparison = { .count = 0 };
    struct comparison_remarks remarks = { .gate = { .allow_missing = compare->allow_missing,
                                                    .strict = compare->flags.strict },
                                          .only_changed = compare->only_changed,
                                          .all_rows = compare->all_rows };

    /* The three uses part here, before files are read: each has rules of its own for how many it
     * takes. */
    if (compare->plan)
        return plan_files(compare);
    TRY_OUT(split_sides(compare));
    if (compare->explain)
        return explain_sides(compare, exit_code);
    TRY_OUT(refuse_twice(compare));
    TRY_OUT(read_sides(compare));
    if (!compare->force)
        TRY_OUT(compare_check(compare->sides));
    TRY_OUT(comparison_make(&comparison, compare->sides, &compare->rule, is_wanted, compare));
    /* Before the page is printed: a slower row gets its reason from the traces beside both
     * results. */
    find_causes(
        &comparison,
        (const char *const *const[SIDES]){ compare->paths[SIDE_BASE], compare->paths[SIDE_NEW] },
        compare->counts);
    compare_doubts(compare->sides, remarks.doubts, sizeof remarks.doubts);
    remarks.end = comparison_end(&comparison, &remarks.gate, remarks.why, sizeof remarks.why);
    TRY_OUT(print_comparison(compare, &comparison, &remarks));
    *exit_code = remarks.end;

out:
    comparison_release(&comparison);
    return status;
}

static void compare_release(void *context)
{
    struct compare *compare = context;

    for (int side = 0; side < SIDES; side++) {
        for (int i = 0; i < compare->sides[side].count; i++)
            benchmark_file_release(&compare->sides[side].files[i]);
        free(compare->sides[side].files);
    }
    filter_release(&compare->filter);
}

#define AT(member) .offset = offsetof(struct compare, member)
static const struct option_row options[] = {
    { "new", NULL, "the files after it are the new side", 1, take_new, .offset = 0 },
    { "threshold", "PERCENT", "changes up to this do not matter; 5% if not given", 2, value_percent,
      AT(rule.threshold), .most = 1000 },
    { "noise", "PERCENT",
      "relative standard deviation between runs, at least; one file per side decides nothing "
      "without it",
      2, value_percent, AT(rule.noise), .most = 1000 },
    { "filter", "REGEX", "only rows whose name matches (POSIX extended)", 2, filter_take,
      AT(filter) },
    { "metric", "NAME",
      "real_time, cpu_time, or a counter of the rows: peak_memory, bytes_per_second", 2, value_text,
      AT(rule.metric) },
    { "better", "smaller|larger",
      "which is better, of a counter whose name does not say it: ..._per_second is better larger, "
      "times, bytes and counts of calls smaller",
      2, value_choice, AT(rule.better), .least = BETTER_SMALLER },
    { "allow-missing", NULL,
      "pass although new lacks rows of base, in all or some of its files, lost more repetitions of "
      "them, or did other work in them; some row must be compared, and none be slower",
      2, value_boolean, AT(allow_missing) },
    FLAG_STRICT("pass only if every row was decided: undecided and not measured fail too", 2),
    { "explain", NULL,
      "say why a step takes longer in NEW than in BASE, from their traces: files, or the traces of "
      "two results; with --filter, of those names",
      2, value_boolean, AT(explain) },
    { "plan", NULL,
      "say what a gate would see that has 2, 3, 4 ... files per side, from two files or more of "
      "one "
      "version, measured here",
      2, value_boolean, AT(plan) },
    { "force", NULL, "compare files of different machines, devices or clocks too", 2, value_boolean,
      AT(force) },
    { "only-changed", NULL, "print only the rows that changed, or that the gate fails by", 3,
      value_boolean, AT(only_changed) },
    { "all-rows", NULL, "Markdown: print all rows, even beyond the 64 KB that a comment takes", 3,
      value_boolean, AT(all_rows) },
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_compare = {
    .name = "compare",
    .text = "compare result files, as a gate for regressions",
    .arguments = "BASE NEW\nBASE... --new NEW...\n--plan FILE...",
    .help =
        "Says for each benchmark whether NEW is faster or slower than BASE, the same, or "
        "whether the noise is too large to tell (undecided). Files are those of Google "
        "Benchmark or chokepoint; in a folder, result.json is read. Give three files or more "
        "per side, measured in turns: only they show how much runs differ, and one file per "
        "side decides nothing but exact counts. Three per side see a change of 10% where runs vary "
        "by 2.5%, and 20% where they vary by 5%; --plan says it for files of yours. A run counts "
        "with its best repetition, or "
        "with its median where only that has moved. Rows whose runs trained with other "
        "settings are called other work: make them alike with chokepoint run --like. A slower "
        "row has a line that says why, where both sides have its trace.\v"
        "Examples:\n"
        "  chokepoint compare old/*.json --new new/*.json --format=markdown\n"
        "  chokepoint compare old.json new.json --noise=3% --threshold=10%\n"
        "  chokepoint compare old.json new.json --metric=launches_per_step\n"
        "  chokepoint compare --plan old/*.json\n"
        "  chokepoint compare --explain old.pt.trace.json new.pt.trace.json\n"
        "  chokepoint compare --explain old-1 new-1 --filter=item_sync\n"
        "\n" EXIT_CODES(
            "nothing is slower and no row of base is missing",
            "something is slower (with --explain, a step, for a reason that stands out), failed or "
            "is missing in a file or a repetition of new, or a counter moved of which nobody says "
            "which way is better",
            "a change beyond the threshold is undecided (too noisy to tell), a row did other work, "
            "or none could be compared; with --explain, nothing stands out in a step that is "
            "longer, or steps are too few; with --strict, something is undecided or was not "
            "measured"),
    .options = options,
    .context_size = sizeof(struct compare),
    .prepare = compare_prepare,
    .run = run_compare,
    .release = compare_release,
};
