/* chokepoint report: results and traces as a page to look at. The page is made by
 * scripts/report.py, of what `diagnose` and `list` print as JSON: all that is computed is computed
 * there. */
#include "harness/base/rows.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/program_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status run_report(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    char program[PATH_MAX], script[PATH_MAX], program_flag[PATH_MAX + 16], out_flag[PATH_MAX + 16];
    const char **arguments = NULL, *python = getenv("CHOKEPOINT_PYTHON");
    int count = 0;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL_OUT(
            STATUS_BAD_USAGE,
            "a result or a trace is missing: give the folder of a run, or traces; %s run writes "
            "chokepoint-result",
            program_invocation_name);
    TRY_OUT(program_path(program));
    TRY_OUT(program_file_find(script, "report.py"));
    snprintf(program_flag, sizeof program_flag, "--program=%s", program);
    if (snprintf(out_flag, sizeof out_flag, "--out=%s", flags->out) >= (int)sizeof out_flag)
        FAIL_OUT(STATUS_BAD_USAGE, "--out: %.60s... is too long a path", flags->out);
    TRY_OUT(rows_make(&arguments, flags->argument_count + 8));
    arguments[count++] = python != NULL ? python : "python3";
    arguments[count++] = script;
    arguments[count++] = program_flag;
    arguments[count++] = out_flag;
    arguments[count++] = "--";
    for (int i = 0; i < flags->argument_count; i++) arguments[count++] = flags->arguments[i];
    execvp(arguments[0], (char *const *)arguments);
    FAIL_OUT(STATUS_NO_LIBRARY, "%s cannot be started: %s; scripts/setup.sh --report installs it",
             arguments[0], strerror(errno));

out:
    free(arguments);
    return status;
}

static void prepare_report(void *context)
{
    struct flags *flags = context;

    flags->out = "report.html";
}

static const struct option_row options[] = {
    FLAG("out", "FILE", "the page; -o FILE does the same; report.html if not given", 1, value_text,
         out),
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_report = {
    .name = "report",
    .text = "results and traces as one HTML page",
    .arguments = "RESULT|TRACE...",
    .help =
        "Writes one HTML file that needs nothing else: of a result of `run` every scenario with "
        "its lesson, its effect, and the timelines of before and after on one time scale; of "
        "traces, ours or PyTorch's or exports of Nsight Systems, the same without the comparison; "
        "of a snapshot of PyTorch's memory what was live when, by lines and calls. The figures are "
        "those of "
        "`diagnose` and of result.json. It needs python3 with Jinja2: scripts/setup.sh "
        "--report installs both.\v"
        "Examples:\n"
        "  chokepoint report chokepoint-result\n"
        "  chokepoint report worker0.pt.trace.json -o worker0.html\n"
        "  chokepoint report rank0.json rank1.json --out=ranks.html\n"
        "  chokepoint report worker0.pt.trace.json snapshot.pickle\n"
        "\n"
        "The exit code is 0 when all was read, even if scenarios failed or a trace is "
        "incomplete: the page says what is missing. It is 2 when a file, or a scenario in it, "
        "could "
        "not be read; the page then has the others.",
    .options = options,
    .context_size = sizeof(struct flags),
    .prepare = prepare_report,
    .run = run_report,
};
