/* chokepoint run: scenarios one after the other, each in a child process.
 *
 * Everything that could refuse the whole run is tried first: the names, the device, the result folder. The result
 * file is written anew after each scenario, so whatever ends the run early costs the one running. */
#include "harness/base/atomic_file.h"
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "harness/experiment/parent/experiment.h"
#include "harness/report/progress.h"
#include "harness/report/result_file.h"
#include "harness/report/run_table.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_OUT = FLAG_OWN, FLAG_NO_TRACE };

struct run {
    struct flags flags;
    const char *out;
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

static enum status take(void *context, int key, const char *value)
{
    struct run *run = context;

    if (key == FLAG_OUT) {
        run->out = value;
        return STATUS_OK;
    }
    if (key == FLAG_NO_TRACE) {
        run->no_trace = true;
        return STATUS_OK;
    }
    return flags_take(&run->flags, key, value);
}

static enum status take_scenario(void *context, const char *name)
{
    struct run *run = context;

    return choice_add(&run->choice, name);
}

/* Opens the device once, to learn that it is there and what it is; every child then opens the same. */
static enum status resolve_device(struct run *run)
{
    enum status status = STATUS_OK;
    struct device_options options = { .memory_bytes = run->flags.device_memory, .spin_ns = -1 };
    struct device *device = NULL;

    TRY(device_open(&device, run->flags.device, &options));
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
    if ((size_t)snprintf(run->traces, sizeof run->traces, "%s/%s", run->out, TRACES_FOLDER) >=
        sizeof run->traces)
        FAIL(STATUS_BAD_USAGE, "--out=%.60s... is too long; choose a shorter one", run->out);
    TRY(folder_create(run->traces));

out:
    return status;
}

static enum status run_all(struct run *run, int *exit_code)
{
    enum status status = STATUS_OK, outcome;
    struct status_error error;

    TRY(resolve_device(run));
    TRY(result_file_open(&run->file, run->out, &run->device, &run->health));
    TRY(open_traces(run));
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

static enum status run_run(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        FLAGS_DEVICE("where to train"),
        FLAGS_DATA,
        FLAGS_PROTOCOL,
        { "no-trace", FLAG_NO_TRACE, NULL, 0,
          "leave out the traces, which take two short processes per scenario", 2 },
        { "out", FLAG_OUT, "DIR", 0,
          "folder for result.json and traces; chokepoint-result if not given", 3 },
        { "format", FLAG_FORMAT, "console|json|markdown", 0, "format of what is printed at the end",
          3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct run run = { .flags = flags_default(), .out = "chokepoint-result" };
    const struct options options = {
        .command = "run",
        .arguments = "[SCENARIO...|core|all]",
        .text =
            "Measures scenarios before and after their fix, and says whether each bottleneck "
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
        .rows = rows,
        .option = take,
        .argument = take_scenario,
        .context = &run,
    };
    bool helped;

    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    if (choice_count(&run.choice) == 0)
        TRY(choice_add(&run.choice, "core"));
    TRY(run_all(&run, exit_code));

out:
    for (int i = 0; i < run.count; i++) scenario_result_release(&run.results[i]);
    free(run.results);
    result_file_close(run.file);
    return status;
}

const struct command command_run = { "run", "measure scenarios and say which bottlenecks showed",
                                     run_run };
