/* The document grows in memory and is written as a whole after each addition, in place of the file
 * before. A scenario's measurements have the members of records.h, as in the records of a
 * child; all its other members are derived here. */
#include "harness/lab/result/result_file.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/bench/device_context.h"
#include "harness/lab/experiment/records.h"
#include "harness/lab/experiment/verdict.h"
#include "harness/lab/kernel/kernel_output.h"
#include "harness/lab/result/result_findings.h"
#include "harness/lab/result/result_rows.h"
#include "harness/lab/result/scenario_json.h"
#include "harness/lab/result/utilisation.h"
#include "harness/text/json.h"
#include "harness/text/machine_context.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A scenario --- */

static cJSON *interval_json(struct json *json, const struct effect *effect)
{
    if (!isfinite(effect->low) || !isfinite(effect->high))
        return NULL;
    return json_pair(json, effect->low, effect->high);
}

/* The headline: step_time in us, its factor and the factor's interval. */
static void add_headline(struct json *json, cJSON *object, const struct scenario_result *result)
{
    /* Without a pair there is no effect: NAN becomes null. */
    struct effect none = { NAN, NAN, NAN, NAN, NAN, NAN };
    const struct effect *effect = result->pairs > 0 ? &result->step_time : &none;
    JSON_ADD(json, object, KEY("effect", effect->factor),
             KEY("interval", interval_json(json, effect)), KEY("coverage", effect->coverage),
             KEY("step_time",
                 JSON_OBJECT(json, KEY("before", effect->before), KEY("after", effect->after),
                             KEY("unit", metric_unit(METRIC_STEP_TIME)),
                             KEY("clock", "CLOCK_MONOTONIC"))));
}

static void add_expectation(struct json *json, cJSON *expectations,
                            const struct expectation_result *result)
{
    cJSON *object = json_object(json, expectations, NULL);

    expectation_json(json, object, result->expectation);
    JSON_ADD(json, object, KEY("outcome", outcome_name(result->outcome)),
             KEY("reason", result->reason), KEY("before", result->effect.before),
             KEY("after", result->effect.after), KEY("effect", result->effect.factor),
             KEY("interval", interval_json(json, &result->effect)));
}

static cJSON *balance_json(struct json *json, const struct scenario_result *result)
{
    const struct balance *wanted = &result->scenario->balance;
    cJSON *balance;

    if (wanted->kind == BALANCE_NONE)
        return NULL;
    balance = JSON_OBJECT(json, KEY("kind", balances[wanted->kind].name), KEY("low", wanted->low),
                          KEY("high", wanted->high));
    members_write(json, balance, balance_members, &result->balance);
    return balance;
}

/* Paths of the traces, relative to the result file, and the cost of tracing; null if none was asked
 * for. */
static void add_traces(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *traces = json_object(json, object, "traces");
    cJSON *tracing = json_object(json, object, "tracing");

    const char *folder = result->protocol.traces, *slash;

    /* The folder of the traces is in that of the result file, so its own name leads there. */
    slash = folder != NULL ? strrchr(folder, '/') : NULL;
    for (int v = 0; v < VARIANT_COUNT; v++) {
        const struct tracing *of_variant = &result->tracing[v];
        const char *name = variant_name((enum variant)v);
        char path[NAME_MAX + sizeof of_variant->file];
        bool there = of_variant->file[0] != '\0' && folder != NULL;
        if (there)
            snprintf(path, sizeof path, "%s/%s", slash != NULL ? slash + 1 : folder,
                     of_variant->file);
        json_text(json, traces, name, there ? path : NULL);
        if (of_variant->reason[0] != '\0')
            json_text(json, json_object(json, tracing, name), "reason", of_variant->reason);
        else if (there)
            members_write(json, json_object(json, tracing, name), tracing_members, of_variant);
        else
            json_text(json, tracing, name, NULL);
    }
}

static void add_utilisation(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *to = json_object(json, object, "utilisation");

    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct utilisation utilisation = utilisation_of(result, (enum variant)v);
        JSON_ADD(json, to,
                 KEY(variant_name((enum variant)v), utilisation_json(json, &utilisation)));
    }
}

static void add_protocol(struct json *json, cJSON *object, const struct protocol *protocol)
{
    cJSON *to = json_object(json, object, "protocol");

#define ADD_TEXT(name, option)          json_text(json, to, #name, protocol->name);
#define ADD_INTEGER(type, name, option) json_integer(json, to, #name, protocol->name);
#define ADD_NUMBER(name, option)        json_number(json, to, #name, protocol->name);
#define ADD_FLAG(name, option)          json_bool(json, to, #name, protocol->name);
    PROTOCOL_RECORDED(ADD_TEXT, ADD_INTEGER, ADD_NUMBER, ADD_FLAG)
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_NUMBER
#undef ADD_FLAG
}

static void add_samples(struct json *json, cJSON *object, const struct scenario_result *result)
{
    cJSON *samples = json_object(json, object, "samples");

    for (int variant = 0; variant < VARIANT_COUNT; variant++) {
        cJSON *of_variant = json_array(json, samples, variant_name((enum variant)variant));
        for (int i = 0; i < result->pairs; i++)
            members_write(json, json_object(json, of_variant, NULL), repetition_members,
                          &result->repetitions[variant][i]);
    }
}

/* Adds an object to `array`. A factor that is infinite (something went to none) or not known is
 * null; so is an interval that has such an end. In an A/A comparison the members `before` and
 * `after` are its two sides, both with the settings before. Single steps are whole nanoseconds. */
static void add_scenario(struct json *json, cJSON *array, const struct scenario_result *result)
{
    const struct scenario *scenario = result->scenario;
    bool aa = result->protocol.aa;
    cJSON *object = json_object(json, array, NULL), *expectations;

    JSON_ADD(json, object, KEY("name", scenario->name), KEY("title", scenario->title),
             KEY("verdict", verdict_name(result->verdict)), KEY("reason", result->reason),
             KEY("aa", aa), KEY("knob", scenario->knob), KEY("before", scenario->before),
             KEY("after", aa ? scenario->before : scenario->after));
    add_headline(json, object, result);
    expectations = json_array(json, object, "expectations");
    for (int i = 0; i < result->expectation_count; i++)
        add_expectation(json, expectations, &result->expectations[i]);
    JSON_ADD(
        json, object,
        KEY("losses", JSON_OBJECT(json, KEY("check", loss_checks[verdict_loss_check(result)].name),
                                  KEY("agree", result->losses_agree),
                                  KEY("difference", result->loss_difference))),
        KEY("damaged_samples", result->damaged_samples), KEY("balance", balance_json(json, result)),
        KEY("settings", members_object(json, settings_members, result->settings)),
        KEY("seed", result->protocol.seed));
    add_protocol(json, object, &result->protocol);
    JSON_ADD(json, object, KEY("device", members_object(json, device_members, &result->device)));
    add_traces(json, object, result);
    add_utilisation(json, object, result);
    result_findings_add(json, object, result);
    JSON_ADD(json, object, KEY("other_programs_cores", result->cpu_loss.others),
             KEY("stolen_cores", result->cpu_loss.stolen), KEY("seconds", result->seconds));
    /* The samples come last, as they are by far the longest part. */
    add_samples(json, object, result);
}

/* --- The file --- */

struct result_file {
    struct result_folder folder;
    char *path;
    int added;     /* scenarios and pairs of kernels of this run */
    int written;   /* of these, in the file on disk */
    bool has_rows; /* this run measured something */
    bool aggregates_only;
    struct json json;
    cJSON *root, *benchmarks, *scenarios, *kernels; /* the others belong to root */
    int families;
};

/* `try`: writes the document elsewhere, and only to learn that it can be written. */
static enum status save(struct result_file *file, bool try)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    TRY_OUT(result_file_text(file, &text));
    TRY_OUT((try ? atomic_file_try : atomic_file_write)(file->path, text, strlen(text)));
    if (try)
        goto out;
    file->written = file->added;
    file->folder.date[0] = '\0';

out:
    free(text);
    return status;
}

/* The file stays as it is until there is a row. */
static enum status save_added(struct result_file *file, const char *name)
{
    enum status status;

    file->added++;
    /* A date: the folder holds results of an earlier run. */
    if (file->folder.date[0] != '\0' && !file->has_rows)
        return STATUS_OK;
    status = save(file, false);
    if (status != STATUS_OK)
        status_context("the result file, with %s added", name);
    return status;
}

/* An A/A comparison has rows and an entry of its own. */
static bool is_row_of(const cJSON *row, const char *name, bool aa)
{
    const char *row_name = json_text_of(row, "name");
    size_t length = strlen(name);

    return strncmp(row_name, name, length) == 0 && row_name[length] == '/' &&
           (strncmp(row_name + length, "/aa:", 4) == 0) == aa;
}

/* Removes what an earlier run measured of a scenario or a pair of kernels. False: it did, and this
 * one did not, so that stays. */
static bool make_place(struct result_file *file, cJSON *array, const char *name, bool aa,
                       bool has_rows)
{
    cJSON *item, *next;

    for (item = file->benchmarks->child; item != NULL; item = next) {
        next = item->next;
        if (!is_row_of(item, name, aa))
            continue;
        if (!has_rows)
            return false;
        cJSON_Delete(cJSON_DetachItemViaPointer(file->benchmarks, item));
    }
    for (item = array->child; item != NULL; item = next) {
        next = item->next;
        if (strcmp(json_text_of(item, "name"), name) == 0 &&
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "aa")) == aa)
            cJSON_Delete(cJSON_DetachItemViaPointer(array, item));
    }
    file->has_rows = file->has_rows || has_rows;
    return true;
}

/* An array of the older document, or an empty one. */
static cJSON *take_over(struct result_file *file, cJSON *to, const char *name, cJSON *older)
{
    cJSON *array = cJSON_DetachItemFromObjectCaseSensitive(older, name);

    if (!cJSON_IsArray(array)) {
        cJSON_Delete(array);
        return json_array(&file->json, to, name);
    }
    if (!cJSON_AddItemToObject(to, name, array))
        file->json.out_of_memory = true;
    return array;
}

/* The rows of an earlier run keep its date and their numbers, and new ones have others. Returns the
 * next number. */
static int keep_rows(struct json *json, cJSON *benchmarks, const char *date)
{
    cJSON *row;
    double last = -1;

    cJSON_ArrayForEach(row, benchmarks)
    {
        last = fmax(last, json_number_of(row, "family_index"));
        if (!cJSON_HasObjectItem(row, "date"))
            json_text(json, row, "date", date);
    }
    return last < INT_MAX / 2 ? (int)last + 1 : 0;
}

enum status result_file_open(struct result_file **file, const char *folder, const bool *traced,
                             const struct device_properties *device,
                             const struct device_health *health)
{
    enum status status = STATUS_OK;
    struct result_file *opened;
    struct machine machine;
    cJSON *context, *ours, *older;

    *file = NULL;
    TRY_OUT(rows_make(&opened, 1));
    opened->folder = (struct result_folder){ .descriptor = -1, .lock = -1 };
    TRY_OUT(text_make(&opened->path, "%s%sresult.json", folder,
                      *folder != '\0' && folder[strlen(folder) - 1] == '/' ? "" : "/"));
    machine_read(&machine, "");
    opened->root = json_object(&opened->json, NULL, NULL);
    context = json_object(&opened->json, opened->root, "context");
    machine_context(&machine, &opened->json, context);
    device_context(&opened->json, context, device, health);
    TRY_OUT(result_folder_open(&opened->folder, folder, traced, context));
    older = opened->folder.older;
    opened->benchmarks = take_over(opened, opened->root, "benchmarks", older);
    opened->families =
        keep_rows(&opened->json, opened->benchmarks,
                  json_text_of(cJSON_GetObjectItemCaseSensitive(older, "context"), "date"));
    ours = json_object(&opened->json, opened->root, "chokepoint");
    json_integer(&opened->json, ours, "schema", RESULT_SCHEMA);
    older = cJSON_GetObjectItemCaseSensitive(older, "chokepoint");
    opened->scenarios = take_over(opened, ours, "scenarios", older);
    opened->kernels = take_over(opened, ours, "kernels", older);
    TRY_OUT(save(opened, true));
    *file = opened;

out:
    if (status != STATUS_OK) {
        status_context("the result file");
        result_file_close(opened);
    }
    return status;
}

void result_file_close(struct result_file *file)
{
    if (file == NULL)
        return;
    result_folder_close(&file->folder);
    cJSON_Delete(file->root);
    free(file->path);
    free(file);
}

enum status result_file_add(struct result_file *file, const struct scenario_result *result)
{
    const char *name = result->scenario->name;

    if (!make_place(file, file->scenarios, name, result->protocol.aa, result_has_rows(result)))
        return STATUS_OK;
    if (result_has_rows(result))
        result_rows_add(&file->json, file->benchmarks, result, file->families++,
                        file->aggregates_only);
    add_scenario(&file->json, file->scenarios, result);
    return save_added(file, result->scenario->name);
}

enum status result_file_add_lesson(struct result_file *file, const struct lesson_result *result)
{
    make_place(file, file->kernels, result->lesson->name, false, true);
    lesson_rows_json(&file->json, file->benchmarks, result, file->families++);
    lesson_result_json(&file->json, file->kernels, result);
    return save_added(file, result->lesson->name);
}

void result_file_leave_out(struct result_file *file, bool repetitions)
{
    file->aggregates_only = repetitions;
}

const struct result_folder *result_file_folder(const struct result_file *file)
{
    return &file->folder;
}

int result_file_written(const struct result_file *file)
{
    return file->written;
}

const char *result_file_path(const struct result_file *file)
{
    return file->path;
}

enum status result_file_text(const struct result_file *file, char **text)
{
    return json_print(&file->json, file->root, text);
}
