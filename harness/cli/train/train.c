/* chokepoint train: one configuration of the training step, or a sweep over some.
 *
 * Every knob is a flag, made from the table that scenarios use too. */
#include "harness/base/system/atomic_file.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/job/rank_job.h"
#include "harness/cli/job/written_trace.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/train/sweep_output.h"
#include "harness/cli/train/train_ladder.h"
#include "harness/cli/train/train_output.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/device/many_ranks.h"
#include "harness/engine/settings/knob_acts.h"
#include "harness/engine/step/state.h"
#include "harness/lab/experiment/child/trace_run.h"
#include "harness/lab/experiment/parent/measured_roofs.h"
#include "harness/lab/search/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KNOBS_MAX = 96,
    FLAG_NAME = 40,
    SETTINGS = 1024,
    FOLDER = sizeof((struct saving_config *)NULL)->folder,
    ROUNDS = 3,
    LOSS_LINES = 10,
    SCHEMA = 1, /* of --format=json */
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

static enum status take_folder(void *member, const struct option_row *row, const char *value)
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
static const struct option_row own[] = {
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
      1, take_folder, AT(config.saving.folder) },
    { "resume", "DIR",
      "go on from the state that was saved in DIR, bit for bit as if the training had not stopped; "
      "settings that change results must be the same",
      1, take_folder, AT(config.saving.resume) },
    { "data", "images|sequences|auto|DIR",
      "what it trains on: generated, or the JPEG files in DIR, a sub-folder per class", 2,
      take_data, AT(config) },
    FLAG_FORMAT("console|json"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

/* A row per knob, then its own. Not a constant: the knobs have a table already. */
static struct option_row options[KNOBS_MAX + ARRAY_SIZE(own)];

/* A knob's flag has '-' for '_'. */
static void make_options(void)
{
    static char names[KNOBS_MAX][FLAG_NAME];
    int count, at = 0;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count && i < KNOBS_MAX; i++) {
        snprintf(names[i], FLAG_NAME, "%s", knobs[i].name);
        for (char *letter = names[i]; *letter != '\0'; letter++)
            if (*letter == '_')
                *letter = '-';
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
    memcpy(&options[at], own, sizeof own);
}

/* --- One configuration --- */

/* Whether the state of the training is in the folder that the user named. */
static bool has_saved(const struct train *train, const struct measurement *measurement)
{
    return train->config.saving.folder[0] != '\0' && measurement->save_error.status == STATUS_OK;
}

static void add_saved(struct json *json, cJSON *root, const struct train *train,
                      const struct measurement *measurement)
{
    char path[FOLDER + sizeof "/" STATE_FILE];

    snprintf(path, sizeof path, "%s/" STATE_FILE, train->config.saving.folder);
    json_text(json, root, "saved", has_saved(train, measurement) ? path : NULL);
}

/* The settings that were given and change nothing. `given`: before knobs_resolve(). */
static void print_idle(const struct page *page, const struct training_config *given,
                       const struct training_config *config)
{
    char why[KNOB_WHY];

    for (int at = 0; knobs_next_idle(given, config, &at, why);)
        page_paragraph(page, INK_DOUBTFUL, "%s.", why);
}

static void add_idle(struct json *json, cJSON *root, const struct training_config *given,
                     const struct training_config *config)
{
    cJSON *idle = json_array(json, root, "without_effect");
    char why[KNOB_WHY];

    for (int at = 0; knobs_next_idle(given, config, &at, why);) json_text(json, idle, NULL, why);
}

/* `traced`: of the trace; NULL: there is none. */
static enum status print_json_one(const struct train *train, const struct training_config *given,
                                  const struct device_properties *device, const char *settings,
                                  const struct measurement *measurement,
                                  const struct utilisation *utilisation,
                                  const struct diagnosis *traced)
{
    struct json json = { 0 };
    cJSON *root = json_object(&json, NULL, NULL);

    json_integer(&json, root, "schema", SCHEMA);
    json_text(&json, root, "version", CHOKEPOINT_VERSION);
    json_text(&json, root, "device", device->name);
    json_text(&json, root, "settings", settings);
    add_idle(&json, root, given, &train->config);
    json_bool(&json, root, "interrupted", measurement->interrupted);
    train_units_json(&json, root);
    train_json(&json, root, measurement);
    utilisation_json(&json, root, "utilisation", utilisation);
    add_saved(&json, root, train, measurement);
    if (traced != NULL) {
        json_text(&json, root, "trace", traced->paths[0]);
        findings_json(&json, root, "findings", &traced->findings[0]);
    }
    return train_print_json(&json, root);
}

/* The ceilings are measured after the training, whose memory is free again; not after an interrupt.
 * If a step was faster than the peak, they are measured once more. They take longer than a short
 * training, whose trace alone asks for them. */
static struct utilisation measure_utilisation(const struct train *train,
                                              const struct device_properties *device,
                                              const struct measurement *measurement)
{
    const struct training_config *config = &train->config;
    bool is_short = measurement->seconds < TRAIN_UTILISATION_SECONDS && train->trace == NULL;
    struct roofs roofs = { 0 };
    struct ceilings ceilings = { 0 };
    struct utilisation utilisation = { .over_peak = 0 };
    char precision[16] = "";
    int peak;

    knob_get(config, "precision", precision, sizeof precision);
    peak = roof_peak_find(precision);
    for (int i = 0; i < 2 && (i == 0 || utilisation.over_peak > 0); i++) {
        if (peak < ROOF_PEAKS && !is_short && interrupt_signal() == 0) {
            measured_roofs_if_possible(&roofs, peak, device, ROOF_TRIES, interrupt_flag());
            ceilings = roofs_ceilings(&roofs, peak);
        }
        utilisation = utilisation_make(measurement->metric, &ceilings, NAN);
    }
    return utilisation;
}

/* Records steps as `exec --trace` does, of the configuration as it was measured. No device is
 * open. */
static enum status record_trace(struct train *train, const struct device_properties *device,
                                const struct measurement *measurement,
                                const struct ceilings *ceilings, struct diagnosis *diagnosis)
{
    const struct protocol protocol = flags_protocol(&train->flags);
    struct training_config config = train->config;
    struct trace_run run = { .name = "train",
                             .path = train->trace,
                             .protocol = &protocol,
                             .config = &config,
                             .period = training_period(&train->config, 1),
                             .alike = true,
                             .step_time_us = measurement->metric[METRIC_STEP_TIME],
                             .ceilings = *ceilings,
                             .device = *device,
                             .stop = interrupt_flag() };

    /* The state that was saved is that of the training which was measured. */
    memset(config.saving.folder, 0, sizeof config.saving.folder);
    TRY(trace_run_record(&run));
    TRY(diagnosis_make(diagnosis, &train->trace, 1, NULL, NULL));

    return STATUS_OK;
}

static void print_saved(const struct page *page, const char *folder, int64_t steps)
{
    fputc('\n', page->console.stream);
    page_paragraph(page, INK_PLAIN,
                   "The state after %lld steps is in %s/" STATE_FILE
                   "; --resume=%s goes on from it.",
                   (long long)steps, folder, folder);
}

/* The device is closed before the trace is recorded, which opens it anew. The figures are printed
 * even if that fails. */
static enum status train_one(struct train *train, struct device **device, const struct page *page)
{
    enum status status = STATUS_OK, outcome = STATUS_OK;
    const struct device_properties properties = *device_properties(*device);
    const struct training_config given = train->config;
    struct diagnosis diagnosis = { .count = 0 };
    struct dataset *dataset = NULL;
    struct status_error error;
    bool is_json = train->flags.format == FORMAT_JSON;
    struct measurement measurement;
    struct utilisation utilisation;
    struct page to = *page;
    struct measure measure = {
        .steps = train->steps,
        .seconds = SECONDS,
        .windows = LOSS_LINES,
        .evaluate = true,
        .warmed_up = is_json ? NULL : train_print_warmup,
        .report = is_json ? NULL : train_print_loss,
        .context = &to,
    };
    char settings[SETTINGS];

    TRY_OUT(knobs_resolve(&train->config, &properties));
    TRY_OUT(knobs_print(&train->config, settings, sizeof settings));
    /* Opened once more by the training, but what is wrong with them is said before anything
     * else. */
    TRY_OUT(dataset_open(&dataset, &train->config.data));
    if (train->config.saving.resume[0] != '\0')
        TRY_OUT(state_check(&train->config, dataset));
    if (!is_json) {
        train_print_settings(page, &properties, settings);
        print_idle(page, &given, &train->config);
        if (train->config.data.folder[0] != '\0')
            train_print_images(page, train->config.data.folder, dataset);
        fputc('\n', page->console.stream);
        fflush(stdout);
    }
    TRY_OUT(measure_training(&measurement, *device, &train->config, &measure));
    utilisation = measure_utilisation(train, &properties, &measurement);
    if (!is_json)
        train_print_summary(page, &measurement, &utilisation);
    if (!is_json && has_saved(train, &measurement))
        print_saved(page, train->config.saving.folder, measurement.steps_trained);
    fflush(stdout);
    if (train->trace != NULL && !measurement.interrupted) {
        device_close(*device);
        *device = NULL;
        outcome = record_trace(train, &properties, &measurement, &utilisation.ceilings, &diagnosis);
        error = *status_last();
    }
    if (diagnosis.count > 0)
        utilisation.busy_share = diagnosis_busy_share(&diagnosis, 0);
    if (is_json)
        TRY_OUT(print_json_one(train, &given, &properties, settings, &measurement, &utilisation,
                               diagnosis.count > 0 ? &diagnosis : NULL));
    if (measurement.save_error.status != STATUS_OK)
        TRY_OUT(status_raise(&measurement.save_error));
    if (measurement.log_error.status != STATUS_OK)
        TRY_OUT(status_raise(&measurement.log_error));
    if (outcome != STATUS_OK && outcome != STATUS_INTERRUPTED)
        TRY_OUT(status_raise(&error));
    if (!is_json && diagnosis.count > 0) {
        fputc('\n', stdout);
        written_trace_print(stdout, train->trace);
        diagnosis_brief(page, &diagnosis);
    }
    if (interrupt_signal() != 0) /* maybe only while the trace was recorded */
        FAIL_OUT(STATUS_INTERRUPTED,
                 measurement.interrupted
                     ? "stopped by %s; the figures are of the first %lld steps%s"
                     : "stopped by %s after all %lld steps were measured%s",
                 interrupt_name(), (long long)measurement.steps,
                 train->trace != NULL && diagnosis.count == 0 ? "; no trace was written" : "");

out:
    dataset_close(dataset);
    diagnosis_release(&diagnosis);
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

static void prepare(void *context)
{
    struct train *train = context;

    make_options();
    knobs_defaults(&train->config);
}

static bool is_saved(const struct train *train)
{
    return train->config.saving.folder[0] != '\0' || train->config.saving.resume[0] != '\0';
}

/* Learns before hours of training whether the state can be saved. */
static enum status try_folder(const char *folder)
{
    char path[PATH_MAX];

    TRY(state_path(path, folder));
    TRY(atomic_file_create_folder(folder));
    TRY(atomic_file_try(path, "", 0));

    return STATUS_OK;
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

static enum status enter_ranks(const struct train *train)
{
    if (train->config.ranks.count > 1 && !ranks_are_started())
        TRY(check_ranks(train));
    TRY(rank_job_enter(train->config.ranks.count, STDOUT_FILENO));

    return STATUS_OK;
}

static enum status run_train(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct train *train = context;
    struct device *device = NULL;
    struct page page = flags_page(&train->flags);

    (void)exit_code;
    if (train->trace != NULL && train->sweep.knobs > 0)
        FAIL_OUT(
            STATUS_BAD_USAGE,
            "--trace records one configuration, --sweep trains several: leave one of them out");
    if (is_saved(train) && train->sweep.knobs > 0)
        FAIL_OUT(
            STATUS_BAD_USAGE,
            "--save and --resume are for one configuration, --sweep trains several: leave one of "
            "them out");
    if (train->ladder && (train->trace != NULL || train->sweep.knobs > 0 || is_saved(train) ||
                          train->steps > 0 || train->flags.repetitions > 0))
        FAIL_OUT(STATUS_BAD_USAGE, "--ladder plans what it measures: leave out --sweep, --trace, "
                                   "--save, --resume, --steps "
                                   "and --repetitions");
    if (train->ladder && train->config.ranks.count > 1)
        FAIL_OUT(STATUS_BAD_USAGE, "--ladder trains on one rank: leave out --ranks");
    if (!train->ladder && train->thorough)
        FAIL_OUT(STATUS_BAD_USAGE, "--thorough is for --ladder: add it");
    if (!train->ladder && train->budget_seconds > 0)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "--time-budget is for --ladder: add it, or give --steps instead");
    if (train->trace != NULL)
        TRY_OUT(written_trace_try(train->trace));
    if (train->config.saving.folder[0] != '\0')
        TRY_OUT(try_folder(train->config.saving.folder));
    if (train->ladder) {
        TRY_OUT(train_ladder(&train->flags, &train->config,
                             train->budget_seconds > 0 ? train->budget_seconds : LADDER_SECONDS,
                             train->thorough));
        goto out;
    }
    TRY_OUT(enter_ranks(train));
    TRY_OUT(flags_open_device(&device, &train->flags));
    TRY_OUT(train->sweep.knobs > 0 ? train_sweep(train, device, &page)
                                   : train_one(train, &device, &page));

out:
    device_close(device);
    return status;
}

static void release(void *context)
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
    .prepare = prepare,
    .run = run_train,
    .release = release,
};
