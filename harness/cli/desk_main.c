/* chokepoint-desk: the commands that read traces and results, without the lab that makes them. It
 * needs ISA-L, SQLite and cJSON only.
 *
 * It has no catalogue (text/catalogue.h), so its pages name no scenario and no setting. */
#include "harness/cli/line/command_set.h"

#include <signal.h>

static const struct command *const commands[] = {
    &command_record, &command_try,     &command_diagnose, &command_digest, &command_job,
    &command_report, &command_compare, &command_history,  &command_fleet,
};

static const struct command_word examples[] = {
    { "chokepoint-desk diagnose trace.json.gz", "where its time went, and what is wrong" },
    { "chokepoint-desk compare old.json new.json", "faster, same, slower or undecided" },
    { NULL, NULL },
};

static const struct command_word variables[] = {
    { "CHOKEPOINT_VERBOSE", "not empty: as --verbose" },
    { "NO_COLOR", "not empty: no colours, as with TERM=dumb" },
    { NULL, NULL },
};

static const struct command_set commands_here = {
    .name = "chokepoint-desk",
    .text = "Reads traces of training and results of benchmarks: what slows the training down, and "
            "what became slower.",
    .commands = commands,
    .command_count = ARRAY_SIZE(commands),
    .examples = examples,
    .variables = variables,
};

int main(int argc, char **argv)
{
    int exit_code = 0;
    enum status status;

    signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f`, a write fails with a sentence */
    status = command_set_run(&commands_here, argc, argv, &exit_code);
    return status == STATUS_OK ? exit_code : command_set_failed(status, exit_code);
}
