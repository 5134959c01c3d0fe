/* chokepoint history: the results of many runs in one file, and whether the latest are slower.
 *
 * `add` appends, `show` and `check` read; they share the reading and differ in their page and exit
 * code. How the file is kept, and how changes are found, is in history.h. */
#include "harness/desk/compare/history/history.h"

#include "harness/base/rows.h"
#include "harness/base/words/nearest.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/line/values.h"
#include "harness/cli/traces/html_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct history_command {
    struct flags flags;
    struct filter filter;
    struct history_rule rule;
    const char *metric;
    const char *commit;
    const char *date;
};

/* An action on the history, by its name on the command line. */
typedef enum status history_action(const struct history_command *command, const char *path,
                                   int *exit_code);

/* --- Adding --- */

/* *count files were read, also if one fails: these are to be released. */
static enum status read_results(struct benchmark_file *files, int *count,
                                const struct history_command *command)
{
    for (int i = 2; i < command->flags.argument_count; i++) {
        TRY(benchmark_file_read(&files[*count], command->flags.arguments[i], command->metric));
        ++*count;
    }

    return STATUS_OK;
}

static enum status add(const struct history_command *command, const char *path, int *exit_code)
{
    enum status status = STATUS_OK;
    struct history_added added;
    struct page page = flags_page(&command->flags);
    int count = 0;
    struct benchmark_file *files;

    TRY_OUT(rows_make(&files, command->flags.argument_count));
    if (command->flags.out != NULL)
        FAIL_OUT(STATUS_BAD_USAGE, "--out is a page of show or check");
    if (command->flags.argument_count < 3)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "the results to add are missing: chokepoint history add FILE RESULT...");
    TRY_OUT(read_results(files, &count, command));
    if (command->date != NULL && count > 1)
        FAIL_OUT(STATUS_BAD_USAGE, "--date is of one result: give one after the other");
    if (command->rule.machine != NULL && command->rule.machine[0] == '\0')
        FAIL_OUT(STATUS_BAD_USAGE, "--machine is empty: give the runners a name");
    TRY_OUT(history_file_add(path,
                             &(struct history_adding){ .files = files,
                                                       .count = count,
                                                       .metric = command->metric,
                                                       .better = command->rule.better,
                                                       .commit = command->commit,
                                                       .machine = command->rule.machine,
                                                       .date = command->date },
                             &added));
    page_paragraph(&page, INK_PLAIN, "%s: %d row%s added, %d there already, %d without a value",
                   path, added.added, added.added == 1 ? "" : "s", added.known, added.unmeasured);
    if (added.differing > 0)
        page_paragraph(&page, INK_DOUBTFUL,
                       "%d of those that are there already have another value there: two runs of "
                       "one second, or "
                       "a result that was changed. Give one of them another --commit to keep both.",
                       added.differing);
    if (added.cut[0] != '\0')
        page_paragraph(
            &page, INK_DOUBTFUL,
            "Its last line was cut off, by a writer that was killed perhaps, and is in %s now: add "
            "that run again.",
            added.cut);
    if (added.added + added.known + added.failed == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "no row has a value of %.60s", command->metric);
    *exit_code = added.added + added.known == 0 ? GATE_UNTOLD : GATE_PASSED;

out:
    for (int i = 0; i < count; i++) benchmark_file_release(&files[i]);
    free(files);
    return status;
}

/* --- Reading --- */

static bool is_wanted(void *context, const char *row)
{
    return filter_matches(context, row);
}

/* As JSON, or as the page that --out names. */
static enum status write_json(const struct history_command *command, const struct history *history,
                              const struct history_file *file)
{
    struct json json = { false };
    const char *out = command->flags.out;
    cJSON *root = out != NULL ? html_page_document(&json, command_history.name, file->path)
                              : json_object(&json, NULL, NULL);
    enum status status;

    history_json(&json, out != NULL ? json_object(&json, root, "history") : root, history, file);
    status = out != NULL ? html_page_write(out, &json, root) : json_to_stdout(&json, root);
    cJSON_Delete(root);
    return status;
}

/* Prints the history as `print` does, as JSON, or as a page of HTML. Damaged lines are told last,
 * since the others count. */
static enum status report(const struct history_command *command, const char *path,
                          void (*print)(const struct page *, const struct history *),
                          enum gate_end *end)
{
    enum status status = STATUS_OK;
    struct history_file file = { .count = 0 };
    struct history history = { .count = 0 };
    struct page page = flags_page(&command->flags);
    char damages[400], why[200];

    TRY_OUT(html_page_check(&command->flags));
    if (command->flags.argument_count > 2)
        FAIL_OUT(STATUS_BAD_USAGE, "one history at a time: %.100s is too much",
                 command->flags.arguments[2]);
    TRY_OUT(history_file_read(&file, path));
    history_file_damages(&file, damages, sizeof damages);
    if (file.count == 0 && file.damaged > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%s has no run, but %s", path, damages);
    TRY_OUT(history_make(&history, &file, &command->rule, is_wanted, (void *)&command->filter));
    *end = history_end(&history, why, sizeof why);
    if (command->flags.format == FORMAT_JSON || command->flags.out != NULL)
        TRY_OUT(write_json(command, &history, &file));
    else
        print(&page, &history);
    /* Last, though it makes the call fail: the lines that could be read are shown before. */
    if (file.damaged > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%s has %s; the other lines were read", path, damages);

out:
    history_release(&history);
    history_file_release(&file);
    return status;
}

static enum status show_history(const struct history_command *command, const char *path,
                                int *exit_code)
{
    enum gate_end end;

    (void)exit_code;
    return report(command, path, history_page, &end);
}

static enum status check_history(const struct history_command *command, const char *path,
                                 int *exit_code)
{
    enum gate_end end = GATE_UNTOLD;
    enum status status = report(command, path, history_check_page, &end);

    if (status == STATUS_OK)
        /* Only if the history could be read as a whole: an error has its own exit code. */
        *exit_code = end;
    return status;
}

/* --- The command --- */

static void prepare_history(void *context)
{
    struct history_command *command = context;

    command->flags.out = NULL; /* the default of the flags is a folder */
    command->metric = BENCHMARK_TIME;
    command->rule = (struct history_rule){ .threshold = HISTORY_THRESHOLD, .error = HISTORY_ERROR };
}

static enum status run_history(void *context, int *exit_code)
{
    static const struct {
        const char *name;
        history_action *run;
    } actions[] = { { "add", add }, { "show", show_history }, { "check", check_history } };
    const char *names[ARRAY_SIZE(actions)];
    const struct history_command *command = context;
    char advice[NEAREST_ADVICE];

    if (command->flags.argument_count < 2)
        FAIL(STATUS_BAD_USAGE,
             "give what to do and the history: chokepoint history add|show|check FILE");
    for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
        names[i] = actions[i].name;
        if (strcmp(actions[i].name, command->flags.arguments[0]) == 0)
            return actions[i].run(command, command->flags.arguments[1], exit_code);
    }
    nearest_advice(advice, command->flags.arguments[0], names, ARRAY_SIZE(names));
    FAIL(STATUS_BAD_USAGE, "history cannot %.60s%s; give add, show or check",
         command->flags.arguments[0], advice);
}

static void release_history(void *context)
{
    struct history_command *command = context;

    filter_release(&command->filter);
}

#define AT(member) .offset = offsetof(struct history_command, member)
static const struct option_row options[] = {
    { "commit", "COMMIT", "add: the commit that was measured; if not given, the results' own", 1,
      value_text, AT(commit) },
    { "date", "DATE",
      "add: when a result was measured whose file does not say it, as hyperfine's: 2026-11-20 or "
      "2026-11-20T21:21:34+00:00",
      1, value_text, AT(date) },
    { "metric", "NAME", "add: real_time, cpu_time, or a counter of the rows", 1, value_text,
      AT(metric) },
    { "filter", "REGEX", "only rows whose name matches (POSIX extended)", 2, filter_take,
      AT(filter) },
    { "machine", "KEY",
      "add: the machine's key, one for all runners of a pool; if not given, what the results say "
      "of "
      "it. show, check: only machines whose key contains this",
      2, value_text, AT(rule.machine) },
    { "better", "smaller|larger",
      "which is better, of a counter whose name does not say it, for add and check", 2,
      value_choice, AT(rule.better), .least = BETTER_SMALLER },
    { "since", "DATE|COMMIT",
      "only runs from then on: what was before it, and the change itself, is accepted", 2,
      value_text, AT(rule.since) },
    { "threshold", "PERCENT", "check: changes up to this do not count; 2% if not given", 2,
      value_percent, AT(rule.threshold), .most = 1000 },
    { "error", "PERCENT",
      "probability that a check of rows that did not change raises an alarm, at most; 1% if not "
      "given, and more sees changes sooner",
      2, value_percent, AT(rule.error), .least = 0.0001, .most = 50 },
    FLAG("out", "FILE",
         "show, check: a page of HTML, with a graph of each row; -o FILE does the same", 3,
         value_text, out),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_history = {
    .name = "history",
    .text = "keep results in one file, and see where they change",
    .arguments = "add FILE RESULT...\nshow FILE\ncheck FILE",
    .help =
        "add appends the rows of result files of bench, run or Google Benchmark to FILE, a line "
        "of JSON per run and row, which git can keep. show prints each row's runs, their noise, "
        "their changes, and how many runs it takes to see a change of 3%. check says whether the "
        "latest state of a row is slower than the one before it, whether it got so in a step, in "
        "several, or by drifting.\v"
        "Examples:\n"
        "  chokepoint history add history.jsonl chokepoint-result\n"
        "  chokepoint history show history.jsonl --filter=item_sync\n"
        "  chokepoint history show history.jsonl -o history.html\n"
        "  chokepoint history check history.jsonl --since=2026-11-20\n"
        "\n" EXIT_CODES("nothing is slower",
                        "check: the latest state of a row is slower, or it drifts",
                        "check: a row is no longer measured, or none has enough runs; add: all "
                        "rows failed"),
    .options = options,
    .context_size = sizeof(struct history_command),
    .prepare = prepare_history,
    .run = run_history,
    .release = release_history,
};
