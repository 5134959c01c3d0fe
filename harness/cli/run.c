/* chokepoint run: scenarios one after the other, each in a child process.
 *
 * Everything that could refuse the whole run is tried first: the names, the device, the result folder. The
 * result file is written anew after each scenario, so an early end costs only the scenario that runs. */
#include "harness/base/atomic_file.h"
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/experiment/parent/experiment.h"
#include "harness/report/progress.h"
#include "harness/report/result_file.h"
#include "harness/report/run_table.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct flags flags;
    bool no_trace;
    char traces[PATH_MAX]; /* folder of the traces */
    struct choice choice;

    char device_name[16];
    struct device_properties device;
    struct device_health health; /* at the start */
    struct result_file *file;
    struct scenario_result *results;
    int count; /* results so far */
};

/* The number of the signal that asked to stop. */
static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    stopped = signal_number;
}

/* The handler stays for more than one signal: timeout(1), for one, sends it to the process and then to
 * its group. The child is ended within a fraction of a second. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = stop };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Opens the device once, to learn that it is there and what it is; every child then opens the same. */
static enum status resolve_device(struct run *run)
{
    enum status status = STATUS_OK;
    struct device *device = NULL;

    TRY(flags_open_device(&device, &run->flags));
    run->device = *device_properties(device);
    run->health = device_health(device);
    device_name_print(run->device_name, sizeof run->device_name, &run->device);
    run->flags.device = run->device_name;

out:
    device_close(device);
    return status;
}

static enum status run_scenario(struct run *run, const struct scenario *scenario,
                                const struct protocol *protocol, struct progress *progress)
{
    enum status status = STATUS_OK;
    struct scenario_result *result = &run->results[run->count];

    progress_update(progress, scenario, 0, 1);
    status = experiment_run(result, scenario, protocol, progress_update, progress, &stopped);
    if (status != STATUS_OK)
        scenario_result_release(result);
    TRY(status);
    run->count++;
    progress_next(progress);
    progress_clear(progress);
    TRY(result_file_add(run->file, result));

out:
    progress_clear(progress);
    return status;
}

/* An A/A comparison has nothing to explain. */
static bool wants_traces(const struct run *run)
{
    return !run->no_trace && !run->flags.aa;
}

static struct protocol run_protocol(const struct run *run)
{
    struct protocol protocol = flags_protocol(&run->flags);

    if (wants_traces(run))
        protocol.traces = run->traces;
    return protocol;
}

static enum status run_scenarios(struct run *run)
{
    enum status status = STATUS_OK;
    int wanted = choice_count(&run->choice);
    struct protocol protocol = run_protocol(run);
    struct progress progress = progress_start(wanted);

    run->results = calloc((size_t)wanted, sizeof *run->results);
    if (run->results == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d results", wanted);
    for (int i = 0; i < CHOICE_MAX; i++) {
        if (!run->choice.chosen[i])
            continue;
        if (!stopped)
            TRY(run_scenario(run, scenarios[i], &protocol, &progress));
        if (stopped)
            break;
    }

out:
    if (stopped)
        status = status_fail(STATUS_INTERRUPTED, __FILE__, __LINE__,
                             "stopped by %s; %d of %d scenarios are in %s",
                             stopped == SIGINT ? "an interrupt" : "a request to terminate",
                             run->count, wanted, result_file_path(run->file));
    return status;
}

static enum status print_results(const struct run *run)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&run->flags);
    char *text = NULL;

    if (run->flags.format == FORMAT_JSON) {
        TRY(result_file_text(run->file, &text));
        fputs(text, stdout);
    } else {
        run_table(&page, run->results, run->count);
        page_paragraph(&page, INK_DIM, "%s; results in %s", run->device.name,
                       result_file_path(run->file));
    }

out:
    free(text);
    return status;
}

/* A run fails when a bottleneck was neither shown nor known to be impossible here; in A/A, where nothing
 * is to be shown, by a false alarm. */
static bool is_well(const struct run *run)
{
    static const bool well[VERDICT_COUNT] = {
        [VERDICT_REPRODUCED] = true,
        [VERDICT_NO_DIFFERENCE] = true,
        [VERDICT_SKIPPED] = true,
    };

    for (int i = 0; i < run->count; i++) {
        enum verdict verdict = run->results[i].verdict;
        if (!well[verdict] && !(run->flags.aa && verdict == VERDICT_UNDECIDED))
            return false;
    }
    return true;
}

/* Beside the result file. */
static enum status open_traces(struct run *run)
{
    enum status status = STATUS_OK;

    if (!wants_traces(run))
        goto out;
    if ((size_t)snprintf(run->traces, sizeof run->traces, "%s/%s", run->flags.out, TRACES_FOLDER) >=
        sizeof run->traces)
        FAIL(STATUS_BAD_USAGE, "the folder's name is too long; choose a shorter one");
    TRY(atomic_file_create_folder(run->traces));

out:
    return status;
}

/* Errors name the flag that chooses the folder. */
static enum status open_output(struct run *run)
{
    enum status status = STATUS_OK;

    TRY(result_file_open(&run->file, run->flags.out, &run->device, &run->health));
    TRY(open_traces(run));

out:
    if (status != STATUS_OK)
        status_context("--out=%.60s", run->flags.out);
    return status;
}

/* The core scenarios if none is named. */
static enum status choose_scenarios(struct run *run)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < run->flags.argument_count; i++)
        TRY(choice_add(&run->choice, run->flags.arguments[i]));
    if (run->flags.argument_count == 0)
        TRY(choice_add(&run->choice, "core"));

out:
    return status;
}

static enum status run_run(void *context, int *exit_code)
{
    enum status status = STATUS_OK, outcome;
    struct run *run = context;
    struct status_error error;

    TRY(choose_scenarios(run));
    TRY(resolve_device(run));
    TRY(open_output(run));
    catch_signals();
    outcome = run_scenarios(run);
    error = *status_last();
    TRY(print_results(run)); /* of a run cut short too */
    if (outcome != STATUS_OK)
        status = status_raise(&error);

out:
    if (stopped)
        *exit_code = 128 + stopped;
    else if (status == STATUS_OK && !is_well(run))
        *exit_code = 1;
    return status;
}

static void release(void *context)
{
    struct run *run = context;

    for (int i = 0; i < run->count; i++) scenario_result_release(&run->results[i]);
    free(run->results);
    result_file_close(run->file);
}

static const struct option_row options[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    FLAG_DATA,
    FLAG_SEED,
    FLAG_PAIRS,
    FLAG_QUICK,
    FLAG_AA,
    { "no-trace", NULL, "leave out the traces, which take two short processes per scenario", 2,
      value_boolean, .offset = offsetof(struct run, no_trace) },
    FLAG_OUT("folder for result.json and traces", 3),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_run = {
    .name = "run",
    .text = "measure scenarios and say which bottlenecks showed",
    .arguments = "[SCENARIO...|core|all]",
    .help = "Measures scenarios before and after their fix, and says whether each bottleneck "
            "showed; the core scenarios if none is named. Results are in result.json, in Google "
            "Benchmark's format, rewritten after each scenario.\v"
            "Examples:\n"
            "  chokepoint run --quick\n"
            "  chokepoint run item_sync --device=cuda\n"
            "  chokepoint run all --out=results --format=markdown > results.md\n"
            "  compare.py filters chokepoint-result/result.json /before /after\n"
            "  chokepoint run item_sync --aa\n"
            "\n" EXIT_CODES("all were reproduced or skipped",
                            "one was not; with --aa, equal settings were called different or a "
                            "scenario failed"),
    .options = options,
    .context_size = sizeof(struct run),
    .run = run_run,
    .release = release,
};
