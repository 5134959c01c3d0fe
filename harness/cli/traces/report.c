/* chokepoint report: results and traces as a page to look at. scripts/report.py makes it of what
 * `diagnose` and `list` print as JSON: all that is computed is computed there. */
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/program_file.h"

#include <errno.h>

static enum status run_report(void *context, int *exit_code)
{
    const struct flags *flags = context;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE,
             "a result or a trace is missing: give the folder of a run, or traces; %s run writes "
             "chokepoint-result",
             program_invocation_name);
    return web_page("report", flags, NULL);
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
