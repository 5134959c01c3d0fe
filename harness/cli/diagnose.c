/* chokepoint diagnose: what a trace shows, ours or PyTorch's, and what to do about it. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "harness/diagnosis/diagnosis.h"
#include "harness/report/diagnosis_json.h"
#include "harness/report/diagnosis_page.h"

#include <stdio.h>
#include <stdlib.h>

struct diagnose {
    struct flags flags;
    const char **paths; /* room for every argument */
    int count;
};

static enum status take(void *context, int key, const char *value)
{
    struct diagnose *diagnose = context;

    return flags_take(&diagnose->flags, key, value);
}

static enum status take_path(void *context, const char *path)
{
    struct diagnose *diagnose = context;

    diagnose->paths[diagnose->count++] = path;
    return STATUS_OK;
}

static enum status print(const struct diagnose *diagnose, const struct diagnosis *diagnosis)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&diagnose->flags);
    char *text = NULL;

    if (diagnose->flags.format == FORMAT_JSON) {
        TRY(diagnosis_json(diagnosis, &text));
        fputs(text, stdout);
    } else {
        diagnosis_page(&page, diagnosis);
    }

out:
    free(text);
    return status;
}

static enum status run_diagnose(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        { "format", FLAG_FORMAT, "FORMAT", 0, "console, json or markdown", 3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct diagnose diagnose = { .flags = flags_default() };
    const struct options options = {
        .command = "diagnose",
        .arguments = "TRACE...",
        .text =
            "Reads traces and says where the time of a step went, what is wrong, what it costs, "
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
        .rows = rows,
        .option = take,
        .argument = take_path,
        .context = &diagnose,
    };
    struct diagnosis diagnosis = { .count = 0 };
    bool helped;

    (void)exit_code;
    diagnose.paths = calloc((size_t)argc + 1, sizeof *diagnose.paths);
    if (diagnose.paths == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d files", argc);
    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    if (diagnose.count == 0)
        FAIL(STATUS_BAD_USAGE, "a trace is missing: chokepoint diagnose TRACE...; `chokepoint run` "
                               "writes some to chokepoint-result/traces");
    TRY(diagnosis_make(&diagnosis, diagnose.paths, diagnose.count));
    TRY(print(&diagnose, &diagnosis));

out:
    diagnosis_release(&diagnosis);
    free(diagnose.paths);
    return status;
}

const struct command command_diagnose = { "diagnose", "say what is wrong, from traces",
                                          run_diagnose };
