/* chokepoint run: scenarios one after the other, each in a child process, then pairs of kernels.
 *
 * Everything that could refuse the whole run is tried first: the names, the device, the images, the
 * result folder. The result file is written anew after each scenario, so an early end costs only
 * the scenario that runs. */
#include "harness/cli/train/run.h"
#include "harness/base/rows.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/job/choose.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/job/run_data.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/train/rounds_of.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "harness/lab/experiment/parent/measured_roofs.h"
#include "harness/lab/experiment/parent/progress.h"
#include "harness/lab/kernel/kernel_output.h"
#include "harness/lab/result/result_file.h"
#include "harness/lab/result/result_summary.h"
#include "harness/lab/result/utilisation.h"
#include "harness/text/wrap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct flags flags;
    bool no_trace, aggregates_only;
    const char *like_path; /* NULL: not given */
    struct rounds_of rounds_of;
    struct like like;
    char traces[PATH_MAX + 64]; /* folder of the traces */
    struct choice choice;
    struct run_lessons lessons;

    char device_name[FLAGS_DEVICE_NAME];
    struct device_properties device;
    struct device_health health; /* at the start */
    struct roofs roofs;          /* of the precisions that the scenarios train in */
    struct run_data data;
    struct result_file *file;
    struct scenario_result *results;
    int count; /* results so far */
};

/* The matrix product whose rate is the ceiling of a variant's steps: that of its precision.
 * ROOF_PEAKS: none, or the variant is refused, which its child reports. */
static int peak_of(const struct run *run, const struct scenario *scenario, enum variant variant)
{
    struct protocol protocol = flags_protocol(&run->flags);
    struct training_config config;
    char precision[16];

    if (!where_holds(scenario->needs, &run->device) ||
        protocol_config(&protocol, scenario, variant, &run->device, &config) != STATUS_OK ||
        knob_get(&config, "precision", precision, sizeof precision) != STATUS_OK)
        return ROOF_PEAKS;
    return roof_peak_find(precision);
}

/* A quick run measures its limits with fewer tries too. */
static int roof_tries(const struct run *run)
{
    return run->flags.quick ? ROOF_TRIES_QUICK : ROOF_TRIES;
}

static enum status run_scenario(struct run *run, const struct scenario *scenario,
                                const struct protocol *protocol, struct progress *progress)
{
    enum status status = STATUS_OK;
    struct scenario_result *result = &run->results[run->count];

    progress_update(progress, scenario, NULL);
    if (!experiment_skips(result, scenario, protocol, &run->device))
        status = experiment_run(result, "/proc/self/exe", scenario, protocol, progress_update,
                                progress, interrupt_flag());
    if (status != STATUS_OK)
        scenario_result_release(result);
    TRY_OUT(status);
    /* A step that was faster than the peak shows that the peak is too low: it is measured again,
     * and the faster one counts. A step that is still above it stays a doubt (utilisation.h). */
    for (int v = 0; v < VARIANT_COUNT && !interrupt_signal(); v++) {
        struct utilisation utilisation = utilisation_of(result, (enum variant)v);
        int peak = peak_of(run, result->scenario, (enum variant)v);
        if (utilisation.over_peak > 0 && peak < ROOF_PEAKS &&
            measured_roofs(&run->roofs, peak, &run->device, roof_tries(run), interrupt_flag()) ==
                STATUS_OK)
            for (int other = 0; other < VARIANT_COUNT; other++)
                if (peak_of(run, result->scenario, (enum variant)other) == peak)
                    result->protocol.ceilings[other] = roofs_ceilings(&run->roofs, peak);
    }
    run->count++;
    progress_next(progress);
    progress_clear(progress);
    status = result_file_add(run->file, result);
    if (status != STATUS_OK)
        status_context("--out=%.60s", run->flags.out);

out:
    progress_clear(progress);
    return status;
}

/* An A/A comparison has nothing to explain. */
static bool wants_traces(const struct run *run)
{
    return !run->no_trace && !run->flags.aa;
}

/* The protocol of children that write into the open folder. */
static struct protocol run_protocol(struct run *run)
{
    struct protocol protocol = flags_protocol(&run->flags);
    const struct result_folder *folder = result_file_folder(run->file);

    if (wants_traces(run)) {
        snprintf(run->traces, sizeof run->traces, "%s/%s", folder->path, folder->traces);
        protocol.traces = run->traces;
    }
    protocol.lock = folder->lock;
    return protocol;
}

/* Says what the folder holds now. */
static enum status interrupted(const struct run *run, int wanted)
{
    const struct result_folder *folder = result_file_folder(run->file);

    if (result_file_written(run->file) > 0)
        FAIL(STATUS_INTERRUPTED, "stopped by %s; %d of %d scenarios are in %s", interrupt_name(),
             result_file_written(run->file), wanted, result_file_path(run->file));
    if (folder->date[0] != '\0')
        FAIL(STATUS_INTERRUPTED,
             "stopped by %s before a scenario was measured; %s has the results of %s as before",
             interrupt_name(), folder->path, folder->date);
    FAIL(STATUS_INTERRUPTED, "stopped by %s before a scenario was complete; there are no results",
         interrupt_name());
}

/* The protocol of scenario `i`, with what it takes over from the run that this one is to be
 * like. */
static struct protocol protocol_of(const struct protocol *common, const struct run *run, int i)
{
    struct protocol protocol = *common;

    protocol.jpeg_pixels = run->like.jpeg_pixels[i];
    if (run->like.window_seconds[i] > 0) {
        protocol.window_seconds = run->like.window_seconds[i];
        protocol.shortest_seconds = 0;
    }
    for (int v = 0; v < VARIANT_COUNT; v++) {
        int peak = peak_of(run, scenarios[i], (enum variant)v);
        protocol.ceilings[v] =
            peak < ROOF_PEAKS ? roofs_ceilings(&run->roofs, peak) : (struct ceilings){ 0, 0 };
    }
    return protocol;
}

static enum status run_scenarios(struct run *run)
{
    enum status status = STATUS_OK;
    int wanted = choice_count(&run->choice) + choice_lessons(&run->choice);
    const struct protocol common = run_protocol(run);
    struct progress progress = progress_start(choice_count(&run->choice));

    TRY_OUT(rows_make(&run->results, choice_count(&run->choice)));
    for (int i = 0; i < CHOICE_MAX; i++) {
        if (!run->choice.chosen[i])
            continue;
        struct protocol protocol = protocol_of(&common, run, i);
        if (!interrupt_signal())
            TRY_OUT(run_scenario(run, scenarios[i], &protocol, &progress));
        if (interrupt_signal())
            break;
    }
    TRY_OUT(run_lessons_measure(&run->lessons, &run->choice, &run->device, run->file));

out:
    if (interrupt_signal() && (status == STATUS_OK || status == STATUS_INTERRUPTED))
        status = interrupted(run, wanted);
    return status;
}

static bool are_all_skipped(const struct run *run)
{
    int count = 0;

    for (int i = 0; i < run->count; i++) count += run->results[i].verdict == VERDICT_SKIPPED;
    return run->count > 0 && count == run->count;
}

static void print_places(const struct run *run, const struct page *page)
{
    const char *device = run->device.name, *path = result_file_path(run->file);
    bool has_traces = false;

    for (int i = 0; i < run->count; i++)
        for (int v = 0; v < VARIANT_COUNT; v++)
            has_traces = has_traces || run->results[i].tracing[v].file[0] != '\0';
    if (result_file_written(run->file) == 0)
        page_paragraph(page, INK_DIM, "%s", device);
    else if (has_traces)
        page_paragraph(page, INK_DIM, "%s; results in %s, traces in %s", device, path, run->traces);
    else
        page_paragraph(page, INK_DIM, "%s; results in %s", device, path);
}

static enum status print_results(const struct run *run)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&run->flags);
    struct protocol protocol = flags_protocol(&run->flags);
    char *text = NULL;

    if (run->flags.format == FORMAT_JSON) {
        TRY_OUT(result_file_text(run->file, &text));
        fputs(text, stdout);
    } else if (run->count + run->lessons.count > 0) {
        run_table(&page, run->results, run->count);
        if (are_all_skipped(run))
            page_paragraph(&page, INK_PLAIN, "Nothing was %s: every scenario was skipped.",
                           run->flags.aa ? "compared" : "reproduced");
        lesson_table(&page, run->lessons.results, run->lessons.count);
        run_data_print(&run->data, &protocol, &page);
        print_places(run, &page);
    }

out:
    free(text);
    return status;
}

static enum gate_end end_of(const struct run *run, const struct scenario_result *result)
{
    const enum gate_end ends[VERDICT_COUNT] = {
        [VERDICT_REPRODUCED] = GATE_PASSED,
        [VERDICT_NO_DIFFERENCE] = GATE_PASSED,
        [VERDICT_NOT_REPRODUCED] = GATE_FAILED,
        [VERDICT_DIFFERENT] = GATE_FAILED,
        [VERDICT_FAILED] = result->unmeasured ? GATE_UNTOLD : GATE_FAILED,
        [VERDICT_SKIPPED] = run->flags.strict ? GATE_FAILED : GATE_PASSED,
        [VERDICT_UNDECIDED] = GATE_UNTOLD,
    };
    bool lacks_traces = result->tracing[VARIANT_BEFORE].reason[0] != '\0' ||
                        result->tracing[VARIANT_AFTER].reason[0] != '\0';

    return ends[result->verdict] == GATE_PASSED && lacks_traces ? GATE_UNTOLD
                                                                : ends[result->verdict];
}

/* A run fails when a bottleneck did not show that is possible here; in A/A, where nothing is to be
 * shown, by a false alarm. It cannot be told when it is undecided or its process did not end well,
 * when a trace that was wanted could not be written, and when all were skipped: then nothing was
 * tested. Strictly, all must have shown what they are about. */
static enum gate_end run_end(const struct run *run)
{
    bool failed = !run_lessons_are_well(&run->lessons),
         untold = are_all_skipped(run) && run->lessons.count == 0;

    for (int i = 0; i < run->count; i++) {
        enum gate_end end = end_of(run, &run->results[i]);
        failed = failed || end == GATE_FAILED;
        untold = untold || end == GATE_UNTOLD;
    }
    return failed ? GATE_FAILED : untold ? GATE_UNTOLD : GATE_PASSED;
}

/* Goes to stderr, since it is not a result, and before anything is overwritten, so that the user
 * can still stop. */
static void announce(const struct result_folder *folder)
{
    char text[2 * PATH_MAX + 256];

    if (folder->unlocked[0] != '\0') {
        snprintf(text, sizeof text, "%s cannot be locked (%s): let no other run write to it.",
                 folder->path, folder->unlocked);
        wrap_print(stderr, 0, 0, wrap_width(stderr), text);
    }
    if (folder->aside[0] != '\0') {
        snprintf(text, sizeof text,
                 "The results in %s are of another machine or build: they are in %s now.",
                 folder->path, folder->aside);
        wrap_print(stderr, 0, 0, wrap_width(stderr), text);
    }
    if (folder->date[0] != '\0' && folder->aside[0] == '\0') {
        snprintf(text, sizeof text,
                 "%s has results of %s. Those of scenarios that are measured now are replaced, the "
                 "others stay.",
                 folder->path, folder->date);
        wrap_print(stderr, 0, 0, wrap_width(stderr), text);
    }
}

/* A run without a figure has not replaced the older results. */
static void announce_kept(const struct run *run)
{
    const struct result_folder *folder = result_file_folder(run->file);
    char text[PATH_MAX + 256];

    if (run->count + run->lessons.count == 0 || folder->date[0] == '\0')
        return;
    snprintf(text, sizeof text, "Nothing was measured: %s keeps the results of %s.", folder->path,
             folder->date);
    wrap_print(stderr, 0, 0, wrap_width(stderr), text);
}

/* Errors name the flag that chooses the folder. */
static enum status open_output(struct run *run)
{
    enum status status = STATUS_OK;

    TRY_OUT(result_file_open(&run->file, run->flags.out,
                             wants_traces(run) ? run->choice.chosen : NULL, &run->device,
                             &run->health));
    result_file_leave_out(run->file, run->aggregates_only);
    announce(result_file_folder(run->file));

out:
    if (status != STATUS_OK)
        status_context("--out=%.60s", run->flags.out);
    return status;
}

/* The core scenarios, or those of the result to be like, if none is named. */
static enum status choose_scenarios(struct run *run)
{
    const struct flags given = run->flags;

    for (int i = 0; i < run->flags.argument_count; i++)
        TRY(choice_add(&run->choice, run->flags.arguments[i]));
    if (run->like_path != NULL)
        TRY(like_read(&run->like, run->like_path, &run->flags, &run->choice));
    else if (run->flags.argument_count == 0)
        TRY(choice_add(&run->choice, "core"));
    TRY(run_lessons_check(&run->choice, &given));
    for (int i = 0; i < CHOICE_MAX; i++)
        if (run->choice.chosen[i])
            TRY(flags_check_ranks(&given, scenarios[i]));

    return STATUS_OK;
}

static enum status measure_scenarios(struct run *run, int *exit_code)
{
    enum status status = STATUS_OK, outcome;
    struct protocol protocol;
    struct status_error error;

    TRY_OUT(rounds_of_refuse_options(&run->rounds_of));
    TRY_OUT(choose_scenarios(run));
    TRY_OUT(flags_resolve_device(&run->flags, run->device_name, &run->device, &run->health));
    TRY_OUT(like_check_device(&run->like, &run->device));
    protocol = flags_protocol(&run->flags);
    TRY_OUT(
        run_data_check(&run->data, &run->choice, run->like.jpeg_pixels, &protocol, &run->device));
    interrupt_catch(); /* before there is anything to tidy up */
    TRY_OUT(open_output(run));
    /* The limits for each precision, once for all scenarios, on a device that does nothing else. A
     * run goes on without them. */
    for (int i = 0; i < CHOICE_MAX; i++)
        for (int v = 0; v < VARIANT_COUNT && run->choice.chosen[i]; v++) {
            int peak = peak_of(run, scenarios[i], (enum variant)v);
            if (peak < ROOF_PEAKS && run->roofs.flops_per_second[peak] == 0 && !interrupt_signal())
                measured_roofs_if_possible(&run->roofs, peak, &run->device, roof_tries(run),
                                           interrupt_flag());
        }
    outcome = run_scenarios(run);
    error = *status_last();
    TRY_OUT(print_results(run)); /* of a run cut short too */
    if (outcome != STATUS_OK)
        TRY_OUT(status_raise(&error));
    announce_kept(run);

out:
    if (status == STATUS_OK)
        *exit_code = run_end(run);
    return status;
}

static enum status run_run(void *context, int *exit_code)
{
    static const struct rounds_of_command rounds_of_run = { "run", "out", "", "like" };
    struct run *run = context;

    return run->rounds_of.given
               ? rounds_of_measure(&run->rounds_of, &rounds_of_run, &run->flags, exit_code)
               : measure_scenarios(run, exit_code);
}

static void release_run(void *context)
{
    struct run *run = context;

    for (int i = 0; i < run->count; i++) scenario_result_release(&run->results[i]);
    free(run->results);
    run_lessons_release(&run->lessons);
    result_file_close(run->file);
    like_release(&run->like);
}

static const struct option_row options[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    FLAG_DATA,
    FLAG_SEED,
    { "like", "RESULT",
      "do the work of that earlier run again, to compare the two: its scenarios, unless some are "
      "named, its images and their sizes, seed, device memory, and --quick",
      1, value_text, .offset = offsetof(struct run, like_path) },
    FLAG_RANKS,
    { "arch", RUN_LESSONS_ARCHES,
      "the architecture that pairs of kernels are counted for; 90 if not given", 2, value_choice,
      .offset = offsetof(struct run, lessons.arch), .least = 1 },
    FLAG_PAIRS,
    FLAG_QUICK,
    FLAG_AA,
    FLAG_STRICT("pass only if no scenario was skipped", 2),
    { "no-trace", NULL, "leave out the traces, which take two short processes per scenario", 2,
      value_boolean, .offset = offsetof(struct run, no_trace) },
    FLAG_OUT("folder for result.json and traces", 3),
    { "benchmark_report_aggregates_only", "BOOL",
      "of each row only mean, median, stddev and cv: compare then knows less of the noise", 3,
      value_boolean, .offset = offsetof(struct run, aggregates_only), .optional = true },
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    ROUNDS_OF_OPTIONS(run, rounds_of),
    OPTIONS_END,
};

const struct command command_run = {
    .name = "run",
    .text = "measure scenarios and say which bottlenecks showed",
    .arguments = "[SCENARIO|GROUP...|core|all]\n--rounds-of OLD NEW [SCENARIO...]",
    .help =
        "Measures scenarios before and after their fix, and says whether each bottleneck "
        "showed; the core scenarios if none is named. A group is what list shows them in; "
        "gpu_kernels are pairs of kernels, which are executed and counted, not timed, and need no "
        "GPU. "
        "Results are in result.json, in Google Benchmark's format, rewritten after each "
        "scenario. Older results in the folder stay, but for those of the scenarios that are "
        "measured; those of another machine or build are kept in FOLDER.1.\v"
        "Examples:\n"
        "  chokepoint run --quick\n"
        "  chokepoint run item_sync --device=cuda\n"
        "  chokepoint run memory           a group\n"
        "  chokepoint run gpu_kernels --arch=80\n"
        "  chokepoint run all --out=results --format=markdown > results.md\n"
        "  compare.py filters chokepoint-result/result.json /before /after\n"
        "  chokepoint run item_sync --aa\n"
        "  chokepoint run --like=old-1 --out=new-1\n"
        "  chokepoint run --rounds-of old/chokepoint new/chokepoint item_sync --out=rounds\n"
        "\n" EXIT_CODES(
            "all were reproduced or skipped, and one was reproduced; counts moved as predicted",
            "one was not reproduced, or its variants do not compute the same; with --aa, equal "
            "settings were called different; with --strict, one was skipped",
            "one is undecided (too noisy to tell) or could not be measured or traced, or all were "
            "skipped; with --rounds-of, as compare"),
    .options = options,
    .context_size = sizeof(struct run),
    .run = run_run,
    .release = release_run,
};
