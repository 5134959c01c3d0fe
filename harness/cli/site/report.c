/* chokepoint report: results and traces as a page to look at (html_page.h), or folders of results
 * as a site of such pages (site.h). */
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/site/site.h"
#include "harness/cli/traces/html_page.h"
#include "harness/cli/traces/report_document.h"

#include <errno.h>

struct report_command {
    struct flags flags;
    const char *site;
};

static enum status run_report(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct report_command *command = context;
    const struct flags *flags = &command->flags;
    const char *out = flags->out != NULL ? flags->out : "report.html";
    struct json json = { .out_of_memory = false };
    cJSON *document = NULL;
    int troubles;

    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE,
             "a result or a trace is missing: give the folder of a run, or traces; %s run writes "
             "chokepoint-result",
             program_invocation_name);
    if (command->site != NULL && flags->out != NULL)
        FAIL(STATUS_BAD_USAGE, "--out is one page, and --site=%s a folder of pages: give one",
             command->site);
    if (command->site != NULL)
        return report_site(command->site, flags->arguments, flags->argument_count);
    TRY_OUT(html_page_try(out));
    TRY_OUT(report_document(&document, &json, &troubles, flags->arguments, flags->argument_count));
    TRY_OUT(html_page_write(out, &json, document));
    *exit_code = troubles > 0 ? 2 : 0;

out:
    cJSON_Delete(document);
    return status;
}

static void prepare_report(void *context)
{
    struct report_command *command = context;

    command->flags.out = NULL; /* the default of the flags is a folder */
}

static const struct option_row options[] = {
    FLAG("out", "FILE", "the page; -o FILE does the same; report.html if not given", 1, value_text,
         out),
    { "site", "FOLDER",
      "a folder of pages with an index: one of each result, recording, history, fleet, job and "
      "file "
      "of benchmarks in the folders that are named",
      1, value_text, .offset = offsetof(struct report_command, site) },
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_report = {
    .name = "report",
    .text = "results and traces as one HTML page",
    .arguments = "RESULT|TRACE...\n--site=FOLDER FOLDER...",
    .help =
        "Writes one HTML file that needs nothing else: of a result of `run` every scenario with "
        "its lesson, its effect, and the timelines of before and after on one time scale; of "
        "traces, ours or PyTorch's or exports of Nsight Systems, the same without the comparison; "
        "of a snapshot of PyTorch's memory what was live when, by lines and calls. The figures are "
        "those of "
        "`diagnose` and of result.json. With --site it writes a folder of pages that can be "
        "published, and replaces the pages that it wrote there before.\v"
        "Examples:\n"
        "  chokepoint report chokepoint-result\n"
        "  chokepoint report worker0.pt.trace.json -o worker0.html\n"
        "  chokepoint report rank0.json rank1.json --out=ranks.html\n"
        "  chokepoint report worker0.pt.trace.json snapshot.pickle\n"
        "  chokepoint report results/ --site=public\n"
        "\n"
        "The exit code is 0 when all was read, even if scenarios failed or a trace is "
        "incomplete: the page says what is missing. It is 2 when a file could not "
        "be read; the page or the site then has the others.",
    .options = options,
    .context_size = sizeof(struct report_command),
    .prepare = prepare_report,
    .run = run_report,
};
