/* chokepoint digest: traces as a few kilobytes each, for diagnose and job.
 *
 * Each trace is diagnosed as by `diagnose`; the digest keeps what rules and `job` need of it, as a
 * line of JSON in a gzip member of its own, so that files of digests can be joined with cat. All
 * digests of a call go to one file, which is written at the end. */
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/utf8.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/desk/chokepoint_desk.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct digest_command {
    struct flags flags;
    const char *node, *job;
};

static void skip(void *context)
{
    (void)context;
    status_context("%s", command_digest.name);
    command_print_error();
}

static enum status write_digests(const struct digest_command *command, struct chokepoint_desk *desk)
{
    enum status status = STATUS_OK;
    char host[256] = "", *bytes = NULL;
    size_t size;
    int count = desk->diagnosis.count;

    /* Traces are usually digested where they were made, so without --node they are of this
     * machine. */
    gethostname(host, sizeof host - 1);
    TRY_OUT(chokepoint_desk_digest(desk, command->node != NULL ? command->node : host,
                                   command->job != NULL ? command->job : "", &bytes, &size));
    TRY_OUT(atomic_file_write(command->flags.out, bytes, size));
    utf8_print(stdout, "%d digest%s, %zu bytes: %s", count, count == 1 ? "" : "s", size,
               command->flags.out);

out:
    free(bytes);
    return status;
}

static enum status run_digest(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct digest_command *command = context;
    const struct flags *flags = &command->flags;
    struct chokepoint_desk *desk = NULL;

    (void)exit_code;
    if (flags->argument_count == 0 || flags->out == NULL)
        FAIL(STATUS_BAD_USAGE, "give traces, and with -o the file for their digests");
    TRY(chokepoint_desk_open_for_digests(&desk, flags->arguments, flags->argument_count, skip,
                                         NULL));
    if (desk->diagnosis.count > 0)
        TRY_OUT(write_digests(command, desk));
    if (desk->skipped > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d files could not be read", desk->skipped, desk->given);

out:
    chokepoint_desk_close(desk);
    return status;
}

static void prepare_digest(void *context)
{
    struct flags *flags = context;

    flags->out = NULL;
}

static const struct option_row options[] = {
    FLAG("out", "FILE", "the digests; -o FILE does the same", 1, value_text, out),
    { "node", "NAME", "the machine that the traces were recorded on; this one if not given", 2,
      value_text, .offset = offsetof(struct digest_command, node) },
    { "job", "NAME", "of the job, so that ranks of another one are noticed", 2, value_text,
      .offset = offsetof(struct digest_command, job) },
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_digest = {
    .name = "digest",
    .text = "traces as a few kilobytes each, where they lie",
    .arguments = "TRACE...",
    .help =
        "Writes the digest of each trace to one file: all that diagnose says of the trace but for "
        "its tables of kernels, operators, memory and gaps, and the steps and collectives that job "
        "lays beside those of other ranks, in at most 32 KB per rank. The file is written whole or "
        "not at all. Files of digests that are joined end to end (cat) are a file of digests. "
        "diagnose reads them as it reads traces.\v"
        "Examples:\n"
        "  chokepoint digest rank3.pt.trace.json.gz -o rank3.digest\n"
        "  chokepoint digest traces/ -o $(hostname).digest --job=$SLURM_JOB_ID\n"
        "  chokepoint diagnose digests/\n"
        "\n"
        "Exit codes: 0 the digests are written; 2 bad usage, or a trace could not be read: the "
        "others are written all the same.",
    .options = options,
    .context_size = sizeof(struct digest_command),
    .prepare = prepare_digest,
    .run = run_digest,
};
