/* chokepoint train: one configuration of the training step, or a sweep over some, or a ladder of
 * fixes.
 *
 * Every knob is a flag, made from the table that scenarios use too. The measuring is lab/search;
 * what is printed is train_output.h. All that could refuse the
 * call is tried before the training: it may take hours. */
#include "harness/base/system/atomic_file.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/job/written_trace.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/train/train_output.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/device/many_ranks.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/state.h"
#include "harness/lab/experiment/child/trace_run.h"
#include "harness/lab/experiment/parent/measured_roofs.h"
#include "harness/lab/search/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* KNOBS_MAX: room for the flags of knobs; there are fewer. LOSS_LINES: lines of loss that are
 * printed while it trains. */
enum {
    KNOBS_MAX = 96,
    FOLDER = sizeof((struct saving_config *)NULL)->folder,
    ROUNDS = 3,
    LOSS_LINES = 10,
};

static const double SECONDS = 3, LADDER_SECONDS = 120;

struct train {
    struct flags flags;
    struct training_config config;
    int steps;         /* 0: by time */
    const char *trace; /* a file to write; NULL: none */
    struct knob_sweep sweep;
    bool ladder, thorough;
    double budget_seconds; /* of the ladder; 0: not given */
};

/* --- The command line --- */

/* One of the knob's words, or a folder. */
static enum status take_data(void *member, const struct option_row *row, const char *value)
{
    struct training_config *config = member;

    if (strcmp(value, "images") == 0 || strcmp(value, "sequences") == 0 ||
        strcmp(value, "auto") == 0)
        return knob_set(config, row->name, value);
    if (strlen(value) >= sizeof config->data.folder)
        FAIL(STATUS_BAD_USAGE, "--%s=%.60s...: the path is too long", row->name, value);
    TRY(knob_set(config, row->name, "images"));
    snprintf(config->data.folder, sizeof config->data.folder, "%s", value);

    return STATUS_OK;
}

static enum status take_state_folder(void *member, const struct option_row *row, const char *value)
{
    if (value[0] == '\0' || strlen(value) >= FOLDER)
        FAIL(STATUS_BAD_USAGE, "--%s=%.60s: give the path of a folder, of at most %d bytes",
             row->name, value, FOLDER - 1);
    snprintf(member, FOLDER, "%s", value);

    return STATUS_OK;
}

static enum status take_sweep(void *member, const struct option_row *row, const char *value)
{
    (void)row;
    return sweep_take(member, value);
}

static enum status take_knob(void *member, const struct option_row *row, const char *value)
{
    char advice[256];

    knob_advice(row->name, advice, sizeof advice);
    if (knob_set(member, row->name, value) != STATUS_OK)
        FAIL(STATUS_BAD_USAGE, "--%s=%.60s: give %s", row->name, value, advice);

    return STATUS_OK;
}

#define AT(member) .offset = offsetof(struct train, member)
static const struct option_row own_options[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    { "steps", "N", "steps to time after the warm-up; about 3 s if not given", 1, value_count,
      AT(steps), .least = 2, .most = 100000000 },
    { "sweep", "KNOB=A,B,C",
      "train with each of these values, three times in turn, and say which is enough; give the "
      "cheapest "
      "first. Given twice: with each pair of values of two knobs",
      1, take_sweep, AT(sweep) },
    { "ladder", NULL,
      "profile, apply the fix of the first finding, measure it, and go on until nothing is found "
      "that is worth a change; from everything wrong if no setting is given",
      1, value_boolean, AT(ladder) },
    { "thorough", NULL, "of a ladder: then measure as one change what is wrong and no trace shows",
      1, value_boolean, AT(thorough) },
    { "time-budget", "SECONDS", "most time that a ladder takes; 120 if not given", 1, value_seconds,
      AT(budget_seconds), .most = 86400 },
    FLAG_REPETITIONS("rounds of a sweep; 3 if not given", 1),
    { "trace", "FILE",
      "record a few more steps after those that are timed, write FILE.json.gz or FILE.json for "
      "Perfetto, and print what diagnose finds in it",
      1, written_trace_take, AT(trace) },
    { "save", "DIR",
      "save the training state in DIR: at the end, after Ctrl-C too, and after every --save-every "
      "steps; the last one saved is whole even if the program is killed",
      1, take_state_folder, AT(config.saving.folder) },
    { "resume", "DIR",
      "go on from the state that was saved in DIR, bit for bit as if the training had not stopped; "
      "settings that change results must be the same",
      1, take_state_folder, AT(config.saving.resume) },
    { "data", "images|sequences|auto|DIR",
      "what it trains on: generated, or the JPEG files in DIR, a sub-folder per class", 2,
      take_data, AT(config) },
    FLAG_FORMAT("console|json"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

/* A row per knob, then its own. Not a constant: the knobs have a table already. */
static struct option_row options[KNOBS_MAX + ARRAY_SIZE(own_options)];

static void prepare_train(void *context)
{
    static char names[KNOBS_MAX][FLAGS_KNOB_NAME];
    struct train *train = context;
    int count, at = 0;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count && i < KNOBS_MAX; i++) {
        flags_knob_name(names[i], knobs[i].name);
        if (strcmp(names[i], "data") != 0)
            options[at++] = (struct option_row){
                .name = names[i],
                .value = knobs[i].kind == KNOB_SEED ? "N" : knobs[i].values,
                .text = knobs[i].text,
                .group = 2,
                .take = take_knob,
                AT(config),
            };
    }
    memcpy(&options[at], own_options, sizeof own_options);
    knobs_defaults(&train->config);
}

/* --- One configuration --- */

/* The ceilings are measured after the training, whose memory is free again; not after an interrupt.
 * If a step was faster than the peak, they are measured once more. They take longer than a short
 * training, whose trace alone asks for them. */
static void measure_utilisation(struct train_report *report)
{
    bool is_short =
        report->measurement.seconds < TRAIN_UTILISATION_SECONDS && report->trace == NULL;
    struct roofs roofs = { 0 };
    struct ceilings ceilings = { 0 };
    char precision[16] = "";
    int peak;

    knob_get(report->config, "precision", precision, sizeof precision);
    peak = roof_peak_find(precision);
    for (int i = 0; i < 2 && (i == 0 || report->utilisation.over_peak > 0); i++) {
        if (peak < ROOF_PEAKS && !is_short && interrupt_signal() == 0) {
            measured_roofs_if_possible(&roofs, peak, &report->device, ROOF_TRIES, interrupt_flag());
            ceilings = roofs_ceilings(&roofs, peak);
        }
        report->utilisation = utilisation_make(report->measurement.metric, &ceilings, NAN);
    }
}

/* Records steps as `exec --trace` does, of the configuration as it was measured. No device is open.
 * In the same process, but on a device that is opened with a tracer. */
static enum status record_trace(struct train_report *report, const struct protocol *protocol)
{
    struct training_config config = *report->config;
    struct trace_run run = { .name = "train",
                             .path = report->trace,
                             .protocol = protocol,
                             .config = &config,
                             .period = training_period(&config, 1),
                             .alike = true,
                             .step_time_us = report->measurement.metric[METRIC_STEP_TIME],
                             .ceilings = report->utilisation.ceilings,
                             .device = report->device,
                             .stop = interrupt_flag() };

    /* The state that was saved is that of the training which was measured. */
    memset(config.saving.folder, 0, sizeof config.saving.folder);
    TRY(trace_run_record(&run));
    TRY(diagnosis_make(&report->diagnosis, &report->trace, 1, NULL, NULL));
    report->utilisation.busy_share = diagnosis_busy_share(&report->diagnosis, 0);
    report->is_traced = true;

    return STATUS_OK;
}

/* The settings as they will be. Images are opened once more by the training, but what is wrong with
 * them is said before anything else. */
static enum status settle(struct train *train, struct train_report *report,
                          struct dataset **dataset)
{
    TRY(knobs_resolve(&train->config, &report->device));
    TRY(knobs_print(&train->config, report->settings, sizeof report->settings));
    TRY(dataset_open(dataset, &train->config.data));
    if (train->config.saving.resume[0] != '\0')
        TRY(state_check(&train->config, *dataset));

    return STATUS_OK;
}

/* Errors that came after there were figures: these are printed before an error is raised. */
static enum status raise_errors(const struct train_report *report)
{
    const struct status_error *errors[] = { &report->measurement.save_error,
                                            &report->measurement.log_error, &report->trace_error };

    for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
        if (errors[i]->status != STATUS_OK)
            TRY(status_raise(errors[i]));

    return STATUS_OK;
}

/* An interrupt may have come only while the trace was recorded. */
static enum status raise_interrupt(const struct train_report *report)
{
    if (interrupt_signal() != 0)
        FAIL(STATUS_INTERRUPTED,
             report->measurement.interrupted
                 ? "stopped by %s; the figures are of the first %lld steps%s"
                 : "stopped by %s after all %lld steps were measured%s",
             interrupt_name(), (long long)report->measurement.steps,
             report->trace != NULL && !report->is_traced ? "; no trace was written" : "");

    return STATUS_OK;
}

/* The device is closed before the trace is recorded, which opens it anew. */
static enum status train_one(struct train *train, struct device **device, struct page *page)
{
    enum status status = STATUS_OK;
    const struct protocol protocol = flags_protocol(&train->flags);
    bool is_json = train->flags.format == FORMAT_JSON;
    struct train_report report = { .trace = train->trace,
                                   .given = train->config,
                                   .config = &train->config,
                                   .device = *device_properties(*device) };
    struct measure measure = {
        .steps = train->steps,
        .seconds = SECONDS,
        .windows = LOSS_LINES,
        .evaluate = true,
        .warmed_up = is_json ? NULL : train_print_warmup,
        .report = is_json ? NULL : train_print_loss,
        .context = page,
    };
    struct dataset *dataset = NULL;

    TRY_OUT(settle(train, &report, &dataset));
    if (!is_json)
        train_print_start(page, &report, dataset);
    TRY_OUT(measure_training(&report.measurement, *device, &train->config, &measure));
    measure_utilisation(&report);
    if (!is_json)
        train_print_figures(page, &report);
    if (train->trace != NULL && !report.measurement.interrupted) {
        device_close(*device);
        *device = NULL;
        status = record_trace(&report, &protocol);
        if (status != STATUS_OK && status != STATUS_INTERRUPTED)
            report.trace_error = *status_last();
    }
    if (is_json)
        TRY_OUT(train_report_json(&report));
    /* A save or a log that failed is told after the figures, which are right all the same. */
    TRY_OUT(raise_errors(&report));
    if (!is_json)
        train_print_trace(page, &report);
    TRY_OUT(raise_interrupt(&report));

out:
    dataset_close(dataset);
    diagnosis_release(&report.diagnosis);
    return status;
}

/* --- A sweep --- */

/* After an interrupt what was measured before it is printed too. */
static enum status train_sweep(struct train *train, struct device *device, const struct page *page)
{
    enum status status = STATUS_OK, outcome;
    struct status_error error;

    TRY_OUT(sweep_check_acts(&train->sweep, &train->config, device_properties(device)));
    outcome = sweep_measure(&train->sweep, device, &train->config, train->steps,
                            train->flags.repetitions > 0 ? train->flags.repetitions : ROUNDS);
    error = *status_last();
    if (outcome != STATUS_INTERRUPTED || !sweep_has_measured(&train->sweep))
        TRY_OUT(outcome);
    TRY_OUT(train->flags.format == FORMAT_JSON ? sweep_print_json(&train->sweep, device)
                                               : sweep_print(page, &train->sweep));
    if (outcome != STATUS_OK)
        status = status_raise(&error);

out:
    return status;
}

static bool is_saved(const struct train *train)
{
    return train->config.saving.folder[0] != '\0' || train->config.saving.resume[0] != '\0';
}

/* An error in the settings is said once, before there are ranks to say it. */
static enum status check_ranks(const struct train *train)
{
    enum status status = STATUS_OK;
    struct training_config config = train->config;
    struct device *device = NULL;

    if (train->sweep.knobs > 0 || train->trace != NULL)
        FAIL_OUT(
            STATUS_BAD_USAGE,
            "--ranks=%d is for one configuration without a trace: leave out --sweep and --trace",
            config.ranks.count);
    TRY_OUT(flags_open_device(&device, &train->flags));
    TRY_OUT(knobs_resolve(&config, device_properties(device)));
    TRY_OUT(device_check_ranks(device, config.ranks.count));

out:
    device_close(device);
    return status;
}

/* Options that exclude each other. */
static enum status check_options(const struct train *train)
{
    bool is_swept = train->sweep.knobs > 0;

    if (train->trace != NULL && is_swept)
        FAIL(STATUS_BAD_USAGE,
             "--trace records one configuration, --sweep trains several: leave one of them out");
    if (is_saved(train) && is_swept)
        FAIL(STATUS_BAD_USAGE, "--save and --resume are for one configuration, --sweep trains "
                               "several: leave one of them out");
    if (train->ladder && (train->trace != NULL || is_swept || is_saved(train) || train->steps > 0 ||
                          train->flags.repetitions > 0))
        FAIL(STATUS_BAD_USAGE, "--ladder plans what it measures: leave out --sweep, --trace, "
                               "--save, --resume, --steps and --repetitions");
    if (train->ladder && train->config.ranks.count > 1)
        FAIL(STATUS_BAD_USAGE, "--ladder trains on one rank: leave out --ranks");
    if (!train->ladder && train->thorough)
        FAIL(STATUS_BAD_USAGE, "--thorough is for --ladder: add it");
    if (!train->ladder && train->budget_seconds > 0)
        FAIL(STATUS_BAD_USAGE, "--time-budget is for --ladder: add it, or give --steps instead");

    return STATUS_OK;
}

static enum status run_train(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct train *train = context;
    struct device *device = NULL;
    struct page page = flags_page(&train->flags);

    (void)exit_code;
    TRY(check_options(train));
    if (train->trace != NULL)
        TRY(written_trace_try(train->trace));
    if (train->config.saving.folder[0] != '\0') {
        /* Learns before hours of training whether the state can be saved. */
        char path[PATH_MAX];

        TRY(state_path(path, train->config.saving.folder));
        TRY(atomic_file_create_folder(train->config.saving.folder));
        TRY(atomic_file_try(path, "", 0));
    }
    if (train->ladder)
        return train_ladder(&train->flags, &train->config,
                            train->budget_seconds > 0 ? train->budget_seconds : LADDER_SECONDS,
                            train->thorough);
    if (train->config.ranks.count > 1 && !ranks_are_started())
        TRY(check_ranks(train));
    TRY(rank_job_enter(train->config.ranks.count, STDOUT_FILENO));
    TRY_OUT(flags_open_device(&device, &train->flags));
    TRY_OUT(train->sweep.knobs > 0 ? train_sweep(train, device, &page)
                                   : train_one(train, &device, &page));

out:
    device_close(device);
    return status;
}

static void release_train(void *context)
{
    struct train *train = context;

    sweep_release(&train->sweep);
}

const struct command command_train = {
    .name = "train",
    .text = "one configuration, or a sweep over one knob or two, or a ladder of fixes",
    .help = "Trains one configuration and measures it. Every setting is a flag; auto values "
            "depend on the device and the model's role. Ctrl-C prints what was measured so far.\v"
            "Examples:\n"
            "  chokepoint train\n"
            "  chokepoint train --model=heavy --precision=fp32 --steps=100\n"
            "  chokepoint train --input=decoded --workers=0 --launch=graph \\\n"
            "      --loss-every=1 --trace=mine.json.gz    with its diagnosis\n"
            "  chokepoint train --input=decoded --launch=graph --loss-every=1 \\\n"
            "      --sweep workers=0,1,2\n"
            "  chokepoint train --input=decoded --sweep workers=0,1,2 --sweep batch=8,16\n"
            "  chokepoint train --ladder --thorough    from everything wrong to tuned settings\n"
            "  chokepoint train --ranks=2    data-parallel, over MPI\n"
            "  chokepoint train --ranks=2 --parallel=pipeline --accumulate=8    a part of the "
            "model each\n"
            "  chokepoint train --steps=10000 --save=mine --save-every=500\n"
            "  chokepoint train --steps=10000 --save=mine --resume=mine    goes on from there",
    .options = options,
    .context_size = sizeof(struct train),
    .prepare = prepare_train,
    .run = run_train,
    .release = release_train,
};
