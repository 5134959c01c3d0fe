/* chokepoint: reproduces the bottlenecks of training on GPUs, one at a time, as experiments.
 *
 * This file lists the commands, and is the one place that ends the process. */
#include "harness/bench/interrupt.h"
#include "harness/cli/kernel/kernel_call.h"
#include "harness/cli/line/command_set.h"
#include "harness/cli/traces/report_document.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/result/scenario_json.h"
#include "scenarios/scenario.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

/* In the order of the help text. */
static const struct command *const commands[] = {
    &command_list,  &command_explain, &command_quiz,    &command_run,      &command_train,
    &command_bench, &command_record,  &command_try,     &command_diagnose, &command_digest,
    &command_job,   &command_report,  &command_compare, &command_history,  &command_doctor,
    &command_fleet, &command_kernel,  &command_exec,
};

static const struct command_word examples[] = {
    { "chokepoint run --quick", "the core scenarios, in a hurry" },
    { "chokepoint explain item_sync", "what it teaches and how to try it by hand" },
    { "chokepoint train --ladder", "find what is wrong, fix it, go on" },
    { "chokepoint diagnose trace.json.gz", "where its time went, and what is wrong" },
    { NULL, NULL },
};

/* docs/environment.md has more about them. */
static const struct command_word variables[] = {
    { "CHOKEPOINT_CACHE", "folder of generated images and resized copies of your own; otherwise "
                          "XDG_CACHE_HOME/chokepoint, or "
                          ".cache/chokepoint in HOME" },
    { "CHOKEPOINT_PLUGINS", "folder of the devices' libraries, instead of the program's own" },
    { "CHOKEPOINT_CUPTI", "how traces are recorded on a GPU: driver=0,nodes=0,buffers=N,..." },
    { "CHOKEPOINT_RANK_TIMEOUT", "seconds that a rank waits for another; 60 if not set" },
    { "CHOKEPOINT_VERBOSE", "not empty: as --verbose" },
    { "CHOKEPOINT_FAIL", "device calls that shall fail, for tests of the program" },
    { "CUDA_HOME, CUDA_PATH", "where CUDA's libraries are" },
    { "CUDA_VISIBLE_DEVICES", "the GPUs that CUDA shows" },
    { "NO_COLOR", "not empty: no colours, as with TERM=dumb" },
    { "TMPDIR", "folder for the files that train --save-every writes; otherwise /var/tmp" },
    { NULL, NULL },
};

static const struct command_set commands_here = {
    .name = "chokepoint",
    .text = "Reproduces what slows down training on GPUs, one bottleneck at a time: the same "
            "training step with one thing wrong (before) and with it fixed (after).",
    .commands = commands,
    .command_count = ARRAY_SIZE(commands),
    .examples = examples,
    .variables = variables,
};

static const struct report_lab report_lab = { scenarios_json, kernel_of_lesson_json };

int main(int argc, char **argv)
{
    int exit_code = 0;
    enum status status;

    /* A child is started as /proc/self/exe: without this, top would show it as "exe". */
    prctl(PR_SET_NAME, program_invocation_short_name);
    /* Beyond `ulimit -f`, a write fails with a sentence instead of ending the process. */
    signal(SIGXFSZ, SIG_IGN);
    /* Pages of the desk may name scenarios and settings, which it does not include itself. */
    catalogue_use(&lab_catalogue);
    report_lab_use(&report_lab);
    status = command_set_run(&commands_here, argc, argv, &exit_code);
    if (status == STATUS_INTERRUPTED && interrupt_signal() != 0)
        exit_code = 128 + interrupt_signal();
    if (status == STATUS_OK)
        status = ranks_leave();
    if (status == STATUS_OK)
        return exit_code;
    if (ranks_count() > 1)
        status_context("rank %d", ranks_rank());
    exit_code = command_set_failed(status, exit_code);
    /* The other ranks must not wait for one that failed. */
    ranks_abort(exit_code);
    return exit_code;
}
