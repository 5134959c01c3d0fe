/* chokepoint digest: traces as a few kilobytes each, for diagnose and job.
 *
 * Each trace is diagnosed as by `diagnose`; the digest keeps what rules and `job` need of it, as a
 * line of JSON in a gzip member of its own, so that files of digests can be joined with cat. All
 * digests of a call go to one file, which is written at the end. */
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/trace_paths.h"
#include "harness/desk/diagnosis/diagnosis.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct digest_command {
    struct flags flags;
    const char *node, *job;
};

/* All digests, each a gzip member. */
struct written {
    char *bytes;
    int64_t count, room;
};

static void skip(void *context)
{
    int *skipped = context;

    status_context("%s", command_digest.name);
    command_print_error();
    (*skipped)++;
}

/* One digest under way. `node` is the name that was given, or this machine's. */
struct making {
    const struct diagnosis *diagnosis;
    const struct digest_command *command;
    int which;
    int64_t most; /* collectives */
    const char *node;
    struct digest digest;
};

static void make_digest(struct arena *arena, void *context)
{
    struct making *making = context;
    const struct diagnosis *diagnosis = making->diagnosis;
    int which = making->which;

    making->digest = (struct digest){
        .trace = diagnosis->traces[which],
        .summary = &diagnosis->summaries[which],
        .facts = &diagnosis->facts[which],
        .findings = &diagnosis->findings[which],
        .record = rank_record_of(arena, &diagnosis->summaries[which], making->most),
    };
    making->digest.record.source = diagnosis->paths[which];
    making->digest.record.node = making->node;
    making->digest.record.job = making->command->job != NULL ? making->command->job : "";
}

/* If a digest is too large, it gets half as many collectives. */
static enum status add_digest(struct written *written, struct making *making)
{
    enum status status = STATUS_OK;
    char *line = NULL, *bytes = NULL;
    size_t count = 0;

    for (making->most = RECORD_COLLECTIVES; making->most > 0; making->most /= 2) {
        free(line);
        free(bytes);
        line = bytes = NULL;
        TRY_OUT(arena_run(making->diagnosis->arenas[making->which], make_digest, making));
        TRY_OUT(digest_write(&line, &making->digest));
        TRY_OUT(digest_compress(&bytes, &count, line, strlen(line)));
        if (count <= DIGEST_BYTES)
            break;
    }
    if (count > DIGEST_BYTES)
        FAIL_OUT(STATUS_BAD_INPUT, "%s: its digest would take %zu bytes, more than %d",
                 making->diagnosis->paths[making->which], count, DIGEST_BYTES);
    TRY_OUT(rows_grow(&written->bytes, written->count + (int64_t)count, &written->room));
    memcpy(written->bytes + written->count, bytes, count);
    written->count += (int64_t)count;

out:
    free(bytes);
    free(line);
    return status;
}

static enum status write_digests(const struct digest_command *command,
                                 const struct diagnosis *diagnosis)
{
    enum status status = STATUS_OK;
    struct written written = { .bytes = NULL };
    char host[256] = "";
    struct making making = { .diagnosis = diagnosis, .command = command, .node = command->node };

    /* Traces are usually digested where they were made, so without --node they are of this
     * machine. */
    gethostname(host, sizeof host - 1);
    if (making.node == NULL)
        making.node = host;
    for (making.which = 0; making.which < diagnosis->count; making.which++) {
        if (diagnosis->traces[making.which]->digest != NULL)
            FAIL_OUT(STATUS_BAD_USAGE, "%s is a digest already", diagnosis->paths[making.which]);
        TRY_OUT(add_digest(&written, &making));
    }
    TRY_OUT(atomic_file_write(command->flags.out, written.bytes, (size_t)written.count));
    utf8_print(stdout, "%d digest%s, %lld bytes: %s", diagnosis->count,
               diagnosis->count == 1 ? "" : "s", (long long)written.count, command->flags.out);

out:
    free(written.bytes);
    return status;
}

static enum status run_digest(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct digest_command *command = context;
    const struct flags *flags = &command->flags;
    struct trace_paths paths = { .count = 0 };
    struct diagnosis diagnosis = { .count = 0 };
    struct stack_lines lines = { .count = 0 };
    int skipped = 0;

    (void)exit_code;
    if (flags->argument_count == 0 || flags->out == NULL)
        FAIL_OUT(STATUS_BAD_USAGE, "give traces, and with -o the file for their digests");
    TRY_OUT(trace_paths_make(&paths, flags->arguments, flags->argument_count,
                             flags->argument_count > 1 ? skip : NULL, &skipped));
    TRY_OUT(diagnosis_make_for_digests(&diagnosis, paths.items, paths.count,
                                       paths.count + paths.skipped > 1 ? skip : NULL, &skipped));
    TRY_OUT(stack_lines_take(&lines, &diagnosis, skip, &skipped));
    if (diagnosis.count > 0)
        TRY_OUT(write_digests(command, &diagnosis));
    if (skipped > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d files could not be read", skipped,
                 paths.count + paths.skipped);

out:
    stack_lines_release(&lines);
    diagnosis_release(&diagnosis);
    trace_paths_release(&paths);
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
