#include "harness/lab/experiment/records.h"

#include "harness/base/system/write_all.h"
#include "harness/text/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[RECORD_TYPE_COUNT] = { "scenario", "window",  "repetition",
                                                           "tracing",  "skipped", "error",
                                                           "end" };

/* Fields that have the same name in a record, in both directions. */
#define REPETITION_INTEGERS(X)                                                                     \
    X(steps) X(samples) X(wall_ns) X(cpu_ns) X(damaged_samples) X(warmup_steps)
#define TRACING_INTEGERS(X) X(steps) X(windows) X(rows) X(dropped)
#define TRACING_NUMBERS(X)  X(step_time_us) X(traced_step_time_us) X(spread)

enum { LOSS_DIGITS = 9, STEP_DIGITS = 15 }; /* 9 digits are a float, exactly */

/* --- Writing --- */

static void add_device(struct json *json, cJSON *object, const struct device_properties *device)
{
    cJSON *to = json_object(json, object, "device");

#define ADD_TEXT(field, size) json_text(json, to, #field, device->field);
#define ADD_NUMBER(field)     json_number(json, to, #field, (double)device->field);
#define ADD_FLAG(field)       json_bool(json, to, #field, device->field);
    DEVICE_FIELDS(ADD_TEXT, ADD_NUMBER, ADD_NUMBER, ADD_FLAG, ADD_NUMBER)
    DEVICE_TRAITS(ADD_FLAG, ADD_NUMBER)
#undef ADD_TEXT
#undef ADD_NUMBER
#undef ADD_FLAG
}

static void add_balance(struct json *json, cJSON *object, const struct balance_result *balance)
{
    cJSON *to = json_object(json, object, "balance");

    json_bool(json, to, "measured", balance->measured);
    json_number(json, to, "host_ns", balance->host_ns);
    json_number(json, to, "device_ns", balance->device_ns);
    json_number(json, to, "ratio", balance->ratio);
    json_integer(json, to, "jpeg_pixels", balance->jpeg_pixels);
}

static void add_scenario(struct json *json, cJSON *object, const struct record *record)
{
    cJSON *settings = json_object(json, object, "settings");
    cJSON *fp32 = json_object(json, object, "fp32");

    for (int v = 0; v < VARIANT_COUNT; v++) {
        json_text(json, settings, variant_name((enum variant)v), record->settings[v]);
        json_bool(json, fp32, variant_name((enum variant)v), record->fp32[v]);
    }
    add_device(json, object, &record->device);
    add_balance(json, object, &record->balance);
    json_number(json, object, "window_seconds", record->window_seconds);
}

/* Nothing for a device that tells nothing. */
static void add_vitals(struct json *json, cJSON *object, const char *name,
                       const struct device_vitals *vitals)
{
    cJSON *to;

    if (!vitals_are_known(vitals))
        return;
    to = json_object(json, object, name);
    json_integer(json, to, "limits", vitals->limits);
#define ADD_VITAL(field) json_number(json, to, #field, vitals->field);
    DEVICE_VITALS(ADD_VITAL)
#undef ADD_VITAL
}

static void add_repetition(struct json *json, cJSON *object, const struct record *record)
{
    const struct repetition *repetition = &record->repetition;
    cJSON *metrics = json_object(json, object, "metrics");
    double losses[LOSS_STEPS];

    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        json_number(json, metrics, metric_name((enum metric)m), repetition->metric[m]);
    json_text(json, object, "variant", variant_name(record->variant));
    json_integer(json, object, "index", record->index);
#define ADD_INTEGER(field) json_integer(json, object, #field, repetition->field);
    REPETITION_INTEGERS(ADD_INTEGER)
#undef ADD_INTEGER
    json_bool(json, object, "warmed_up", repetition->warmed_up);
    add_vitals(json, object, "vitals_before", &repetition->vitals[0]);
    add_vitals(json, object, "vitals_after", &repetition->vitals[1]);
    for (int i = 0; i < LOSS_STEPS; i++) losses[i] = (double)repetition->losses[i];
    json_numbers(json, object, "losses", losses, LOSS_STEPS, LOSS_DIGITS);
    json_numbers(json, object, "step_ns", repetition->step_ns, repetition->step_count, STEP_DIGITS);
}

static void add_tracing(struct json *json, cJSON *object, const struct tracing *tracing)
{
#define ADD_INTEGER(field) json_integer(json, object, #field, tracing->field);
#define ADD_NUMBER(field)  json_number(json, object, #field, tracing->field);
    TRACING_INTEGERS(ADD_INTEGER)
    TRACING_NUMBERS(ADD_NUMBER)
#undef ADD_INTEGER
#undef ADD_NUMBER
}

char *record_print(const struct record *record)
{
    struct json json = { 0 };
    cJSON *object = json_object(&json, NULL, NULL);
    char *line;

    json_text(&json, object, "type", type_names[record->type]);
    if (record->type == RECORD_SCENARIO)
        add_scenario(&json, object, record);
    else if (record->type == RECORD_WINDOW)
        json_number(&json, object, "window_seconds", record->window_seconds);
    else if (record->type == RECORD_REPETITION)
        add_repetition(&json, object, record);
    else if (record->type == RECORD_TRACING)
        add_tracing(&json, object, &record->tracing);
    else if (record->type == RECORD_SKIPPED || record->type == RECORD_ERROR)
        json_text(&json, object, "text", record->text);
    line = json.out_of_memory ? NULL : cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return line;
}

enum status record_write(int descriptor, const struct record *record)
{
    enum status status = STATUS_OK;
    char *line = NULL;

    if (descriptor < 0)
        return STATUS_OK;
    line = record_print(record);
    if (line == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to write a %s record", type_names[record->type]);
    if (!write_all(descriptor, line, strlen(line)) || !write_all(descriptor, "\n", 1))
        FAIL_OUT(STATUS_IO, "cannot write a record to descriptor %d: %s", descriptor,
                 strerror(errno));

out:
    cJSON_free(line);
    return status;
}

/* --- Reading: what is missing or of another kind is NaN, 0, "" or false --- */

static double as_number(const cJSON *item)
{
    return cJSON_IsNumber(item) && isfinite(item->valuedouble) ? item->valuedouble : NAN;
}

static double number(const cJSON *object, const char *name)
{
    return as_number(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Whole numbers up to 2^53, which a double holds exactly. */
static int64_t integer(const cJSON *object, const char *name)
{
    double value = number(object, name);

    return fabs(value) <= 0x1p53 ? (int64_t)value : 0;
}

static int small_integer(const cJSON *object, const char *name)
{
    int64_t value = integer(object, name);

    return value >= INT_MIN && value <= INT_MAX ? (int)value : 0;
}

static bool flag(const cJSON *object, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static void text(const cJSON *object, const char *name, char *to, size_t size)
{
    const char *from = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    snprintf(to, size, "%s", from != NULL ? from : "");
}

static bool parse_device(struct device_properties *device, const cJSON *from)
{
#define GET_TEXT(field, size) text(from, #field, device->field, size);
#define GET_INT(field)        device->field = small_integer(from, #field);
#define GET_INT64(field)      device->field = integer(from, #field);
#define GET_BOOL(field)       device->field = flag(from, #field);
#define GET_DOUBLE(field)     device->field = number(from, #field);
    DEVICE_FIELDS(GET_TEXT, GET_INT, GET_INT64, GET_BOOL, GET_DOUBLE)
    DEVICE_TRAITS(GET_BOOL, GET_DOUBLE)
#undef GET_TEXT
#undef GET_INT
#undef GET_INT64
#undef GET_BOOL
#undef GET_DOUBLE
    return device->kind[0] != '\0';
}

static bool parse_scenario(struct record *record, const cJSON *object)
{
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(object, "settings");
    const cJSON *fp32 = cJSON_GetObjectItemCaseSensitive(object, "fp32");
    const cJSON *balance = cJSON_GetObjectItemCaseSensitive(object, "balance");

    for (int v = 0; v < VARIANT_COUNT; v++) {
        const char *name = variant_name((enum variant)v);
        text(settings, name, record->settings[v], sizeof record->settings[v]);
        record->fp32[v] = flag(fp32, name);
    }
    record->balance = (struct balance_result){
        .measured = flag(balance, "measured"),
        .host_ns = number(balance, "host_ns"),
        .device_ns = number(balance, "device_ns"),
        .ratio = number(balance, "ratio"),
        .jpeg_pixels = small_integer(balance, "jpeg_pixels"),
    };
    record->window_seconds = number(object, "window_seconds");
    return parse_device(&record->device, cJSON_GetObjectItemCaseSensitive(object, "device"));
}

static bool parse_variant(enum variant *variant, const cJSON *object)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "variant"));

    *variant = name != NULL ? variant_find(name) : VARIANT_COUNT;
    return *variant != VARIANT_COUNT;
}

static bool parse_losses(float *losses, const cJSON *array)
{
    const cJSON *item = NULL;
    int count = 0;

    cJSON_ArrayForEach(item, array)
    {
        if (count < LOSS_STEPS)
            losses[count] = (float)as_number(item);
        count++;
    }
    return count == LOSS_STEPS;
}

/* Comes last in a repetition, so that a record that is refused owns nothing. */
static bool parse_steps(struct repetition *repetition, const cJSON *array)
{
    int count = cJSON_GetArraySize(array), i = 0;
    const cJSON *item = NULL;

    if (count == 0)
        return true;
    repetition->step_ns = malloc((size_t)count * sizeof *repetition->step_ns);
    if (repetition->step_ns == NULL)
        return false;
    cJSON_ArrayForEach(item, array) repetition->step_ns[i++] = as_number(item);
    repetition->step_count = count;
    return true;
}

static void parse_vitals(struct device_vitals *vitals, const cJSON *from)
{
    *vitals = device_vitals_unknown;
#define GET_VITAL(field) vitals->field = number(from, #field);
    DEVICE_VITALS(GET_VITAL)
#undef GET_VITAL
    if (cJSON_IsObject(from))
        vitals->limits = small_integer(from, "limits");
}

static bool parse_repetition(struct record *record, const cJSON *object)
{
    const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(object, "metrics");
    struct repetition *repetition = &record->repetition;

    record->index = cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(object, "index"))
                        ? small_integer(object, "index")
                        : -1;
#define GET_INTEGER(field) repetition->field = integer(object, #field);
    REPETITION_INTEGERS(GET_INTEGER)
#undef GET_INTEGER
    repetition->warmed_up = flag(object, "warmed_up");
    parse_vitals(&repetition->vitals[0], cJSON_GetObjectItemCaseSensitive(object, "vitals_before"));
    parse_vitals(&repetition->vitals[1], cJSON_GetObjectItemCaseSensitive(object, "vitals_after"));
    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        repetition->metric[m] = number(metrics, metric_name((enum metric)m));
    return cJSON_IsObject(metrics) && record->index >= 0 &&
           parse_variant(&record->variant, object) &&
           parse_losses(repetition->losses, cJSON_GetObjectItemCaseSensitive(object, "losses")) &&
           parse_steps(repetition, cJSON_GetObjectItemCaseSensitive(object, "step_ns"));
}

static bool parse_tracing(struct tracing *tracing, const cJSON *object)
{
#define GET_INTEGER(field) tracing->field = integer(object, #field);
#define GET_NUMBER(field)  tracing->field = number(object, #field);
    TRACING_INTEGERS(GET_INTEGER)
    TRACING_NUMBERS(GET_NUMBER)
#undef GET_INTEGER
#undef GET_NUMBER
    return tracing->steps > 0;
}

static bool parse_type(enum record_type *type, const cJSON *object)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "type"));

    for (int t = 0; name != NULL && t < RECORD_TYPE_COUNT; t++) {
        if (strcmp(name, type_names[t]) == 0) {
            *type = (enum record_type)t;
            return true;
        }
    }
    return false;
}

bool record_parse(struct record *record, const char *line)
{
    cJSON *object = cJSON_ParseWithOpts(line, NULL, true);
    bool ok;

    memset(record, 0, sizeof *record);
    ok = parse_type(&record->type, object);
    if (ok && record->type == RECORD_SCENARIO)
        ok = parse_scenario(record, object);
    else if (ok && record->type == RECORD_WINDOW)
        ok = (record->window_seconds = number(object, "window_seconds")) > 0;
    else if (ok && record->type == RECORD_REPETITION)
        ok = parse_repetition(record, object);
    else if (ok && record->type == RECORD_TRACING)
        ok = parse_tracing(&record->tracing, object);
    else if (ok)
        text(object, "text", record->text, sizeof record->text);
    cJSON_Delete(object);
    return ok;
}

void record_release(struct record *record)
{
    free(record->repetition.step_ns);
    record->repetition.step_ns = NULL;
    record->repetition.step_count = 0;
}
