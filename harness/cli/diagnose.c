/* chokepoint diagnose: what a trace shows, ours or PyTorch's, and what to do about it. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/diagnosis/diagnosis.h"
#include "harness/report/diagnosis_json.h"
#include "harness/report/diagnosis_page.h"

#include <stdio.h>
#include <stdlib.h>

static enum status run_diagnose(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    struct page page = flags_page(flags);
    struct diagnosis diagnosis = { .count = 0 };
    char *text = NULL;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "a trace is missing: chokepoint diagnose TRACE...; `chokepoint run` "
                               "writes some to chokepoint-result/traces");
    TRY(diagnosis_make(&diagnosis, flags->arguments, flags->argument_count));
    if (flags->format == FORMAT_JSON) {
        TRY(diagnosis_json(&diagnosis, &text));
        fputs(text, stdout);
    } else {
        diagnosis_page(&page, &diagnosis);
    }

out:
    free(text);
    diagnosis_release(&diagnosis);
    return status;
}

static const struct option_row options[] = {
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_diagnose = {
    .name = "diagnose",
    .text = "say what is wrong, from traces",
    .arguments = "TRACE...",
    .help = "Reads traces and says where the time of a step went, what is wrong, what it costs, "
            "what to do about it and what that would gain. Traces are those of `run` and `exec "
            "--trace`, or of PyTorch's profiler: JSON, plain or gzip, of any size. Files that are "
            "the ranks of one run are compared; others are judged alone.\v"
            "Examples:\n"
            "  chokepoint diagnose chokepoint-result/traces/item_sync.before.json.gz\n"
            "  chokepoint diagnose worker0.pt.trace.json --format=markdown > diagnosis.md\n"
            "  chokepoint diagnose rank*.json.gz --format=json\n"
            "\n"
            "The exit code is 0 when the traces were read, whatever they show, even if one is "
            "incomplete.",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_diagnose,
};
