/* chokepoint train: one configuration of the training step, or a row of them.
 *
 * Every knob is a flag, made from the table that scenarios use too. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/measure.h"
#include "harness/cli/train_output.h"
#include "harness/report/progress.h"
#include "scenarios/training/settings/knobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KNOBS_MAX = 96,
    FLAG_NAME = 40,
    SETTINGS = 1024,
    SWEEP_MAX = 32,
    ROUNDS = 3,
    LOSS_LINES = 10,
};

static const double SECONDS = 3, SWEEP_SECONDS = 0.5;

struct train {
    struct flags flags;
    struct training_config config;
    int steps;   /* 0: by time */
    char *sweep; /* "knob=a,b,c", cut up; NULL: none */
    const char *knob;
    struct sweep_row rows[SWEEP_MAX];
    int row_count, rounds;
};

/* --- The command line --- */

/* One of the knob's words, or a folder. */
static enum status take_data(void *member, const struct option_row *row, const char *value)
{
    enum status status = STATUS_OK;
    struct training_config *config = member;

    if (strcmp(value, "images") == 0 || strcmp(value, "sequences") == 0 ||
        strcmp(value, "auto") == 0)
        return knob_set(config, row->name, value);
    if (strlen(value) >= sizeof config->data.folder)
        FAIL(STATUS_BAD_USAGE, "--%s=%.60s...: the path is too long", row->name, value);
    TRY(knob_set(config, row->name, "images"));
    snprintf(config->data.folder, sizeof config->data.folder, "%s", value);

out:
    return status;
}

/* "knob=a,b,c": each value is tried on the knob at once, so that a wrong one is refused before
 * anything runs. */
static enum status take_sweep(void *context, const struct option_row *row, const char *value)
{
    enum status status = STATUS_OK;
    struct train *train = context;
    char *next, *one;

    (void)row;
    if (train->sweep != NULL)
        FAIL(STATUS_BAD_USAGE, "--sweep was given twice; one knob at a time");
    train->sweep = strdup(value);
    if (train->sweep == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the command line");
    next = strchr(train->sweep, '=');
    if (next == NULL || next[1] == '\0')
        FAIL(STATUS_BAD_USAGE, "--sweep=%s: give a knob and its values, as in workers=0,1,2",
             value);
    *next++ = '\0';
    train->knob = train->sweep;
    while ((one = strsep(&next, ",")) != NULL) {
        struct training_config tried;
        knobs_defaults(&tried);
        TRY(knob_set(&tried, train->knob, one));
        if (train->row_count == SWEEP_MAX)
            FAIL(STATUS_BAD_USAGE, "--sweep takes %d values at most", SWEEP_MAX);
        train->rows[train->row_count++].value = one;
    }

out:
    return status;
}

static enum status take_knob(void *member, const struct option_row *row, const char *value)
{
    return knob_set(member, row->name, value);
}

#define AT(member) .offset = offsetof(struct train, member)
static const struct option_row own[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    { "steps", "N", "steps to time after the warm-up; about 3 s if not given", 1, value_count,
      AT(steps), .least = 2, .most = 100000000 },
    { "sweep", "KNOB=A,B,C",
      "train with each of these values, three times in turn, and print a row per value", 1,
      take_sweep, .offset = 0 },
    FLAG_REPETITIONS("rounds of a sweep; 3 if not given", 1),
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

/* Prints the document and frees it. */
static enum status print_json(struct json *json, cJSON *root)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    TRY(json_print(json, root, &text));
    fputs(text, stdout);

out:
    free(text);
    cJSON_Delete(root);
    return status;
}

static enum status print_json_one(const struct device_properties *device, const char *settings,
                                  const struct measurement *measurement)
{
    struct json json = { 0 };
    cJSON *root = json_object(&json, NULL, NULL);

    json_text(&json, root, "device", device->name);
    json_text(&json, root, "settings", settings);
    train_json(&json, root, measurement);
    return print_json(&json, root);
}

static enum status train_one(struct train *train, struct device *device, const struct page *page)
{
    enum status status = STATUS_OK;
    bool is_json = train->flags.format == FORMAT_JSON;
    struct measurement measurement;
    struct page to = *page;
    struct measure measure = {
        .steps = train->steps,
        .seconds = SECONDS,
        .windows = LOSS_LINES,
        .evaluate = true,
        .report = is_json ? NULL : train_print_loss,
        .context = &to,
    };
    char settings[SETTINGS];

    TRY(knobs_resolve(&train->config, device_properties(device)));
    TRY(knobs_print(&train->config, settings, sizeof settings));
    if (!is_json) {
        train_print_settings(page, device_properties(device), settings);
        train_print_loss_heading(page);
        fflush(stdout);
    }
    TRY(measure_training(&measurement, device, &train->config, &measure));
    if (is_json)
        TRY(print_json_one(device_properties(device), settings, &measurement));
    else
        train_print_summary(page, &measurement);

out:
    return status;
}

/* --- A sweep --- */

/* Errors that stop one value only: the others may still run. */
static bool is_refusal(enum status status)
{
    return status == STATUS_REFUSED || status == STATUS_UNSUPPORTED ||
           status == STATUS_DEVICE_OUT_OF_MEMORY;
}

static enum status measure_value(struct train *train, struct device *device, struct sweep_row *row)
{
    enum status status = STATUS_OK;
    struct training_config config = train->config;
    struct measure measure = { .steps = train->steps, .seconds = SWEEP_SECONDS, .windows = 1 };

    TRY(knob_set(&config, train->knob, row->value));
    TRY(knobs_resolve(&config, device_properties(device)));
    TRY(measure_training(&row->rounds[row->count], device, &config, &measure));
    row->count++;

out:
    if (is_refusal(status)) {
        snprintf(row->refusal, sizeof row->refusal, "%s", status_last()->text);
        return STATUS_OK;
    }
    return status;
}

/* Rounds in turn, each beginning with another value, so that drift of the machine falls on all. */
static enum status measure_sweep(struct train *train, struct device *device)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(train->row_count * train->rounds);

    for (int i = 0; i < train->row_count; i++) {
        train->rows[i].rounds = calloc((size_t)train->rounds, sizeof *train->rows[i].rounds);
        if (train->rows[i].rounds == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the results");
    }
    for (int round = 0; round < train->rounds; round++)
        for (int i = 0; i < train->row_count; i++) {
            struct sweep_row *row = &train->rows[(i + round) % train->row_count];
            if (row->refusal[0] != '\0')
                continue;
            progress_show(&progress, (double)progress.done / progress.scenarios,
                          "round %d of %d: %s=%s", round + 1, train->rounds, train->knob,
                          row->value);
            TRY(measure_value(train, device, row));
            progress_next(&progress);
        }

out:
    progress_clear(&progress);
    return status;
}

static enum status print_json_sweep(const struct train *train,
                                    const struct device_properties *device)
{
    struct json json = { 0 };
    cJSON *root = json_object(&json, NULL, NULL), *values;

    json_text(&json, root, "device", device->name);
    json_text(&json, root, "knob", train->knob);
    values = json_array(&json, root, "values");
    for (int i = 0; i < train->row_count; i++) {
        const struct sweep_row *row = &train->rows[i];
        cJSON *object = json_object(&json, values, NULL), *rounds;
        json_text(&json, object, "value", row->value);
        json_text(&json, object, "refusal", row->refusal[0] != '\0' ? row->refusal : NULL);
        rounds = json_array(&json, object, "rounds");
        for (int j = 0; j < row->count; j++)
            train_json(&json, json_object(&json, rounds, NULL), &row->rounds[j]);
    }
    return print_json(&json, root);
}

static enum status train_sweep(struct train *train, struct device *device, const struct page *page)
{
    enum status status = STATUS_OK;

    train->rounds = train->flags.repetitions > 0 ? train->flags.repetitions : ROUNDS;
    TRY(measure_sweep(train, device));
    if (train->flags.format == FORMAT_JSON)
        TRY(print_json_sweep(train, device_properties(device)));
    else
        train_print_sweep(page, train->knob, train->rows, train->row_count);

out:
    return status;
}

static void prepare(void *context)
{
    struct train *train = context;

    make_options();
    knobs_defaults(&train->config);
}

static enum status run_train(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct train *train = context;
    struct device *device = NULL;
    struct page page = flags_page(&train->flags);

    (void)exit_code;
    TRY(flags_open_device(&device, &train->flags));
    TRY(train->sweep != NULL ? train_sweep(train, device, &page) : train_one(train, device, &page));

out:
    device_close(device);
    return status;
}

static void release(void *context)
{
    struct train *train = context;

    for (int i = 0; i < train->row_count; i++) free(train->rows[i].rounds);
    free(train->sweep);
}

const struct command command_train = {
    .name = "train",
    .text = "one configuration, or a sweep over a knob",
    .help = "Trains one configuration and measures it. Every setting is a flag; auto values "
            "depend on the device and the model's role.\v"
            "Examples:\n"
            "  chokepoint train\n"
            "  chokepoint train --model=heavy --precision=fp32 --steps=100\n"
            "  chokepoint train --input=decoded --sweep workers=0,1,2,4",
    .options = options,
    .context_size = sizeof(struct train),
    .prepare = prepare,
    .run = run_train,
    .release = release,
};
