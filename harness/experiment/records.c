#include "harness/experiment/records.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const type_names[RECORD_TYPE_COUNT] = { "scenario", "repetition", "tracing",
                                                           "skipped",  "error",      "end" };

/* --- Writing: every function returns false when memory is out --- */

/* cJSON writes null for a value that is not finite. */
static bool add_number(cJSON *object, const char *name, double value)
{
    return cJSON_AddNumberToObject(object, name, value) != NULL;
}

static bool add_text(cJSON *object, const char *name, const char *text)
{
    return cJSON_AddStringToObject(object, name, text) != NULL;
}

static bool add_flag(cJSON *object, const char *name, bool value)
{
    return cJSON_AddBoolToObject(object, name, value) != NULL;
}

/* cJSON_CreateDoubleArray() refuses NULL even for no values. */
static cJSON *array_of(const double *values, int count)
{
    return count > 0 ? cJSON_CreateDoubleArray(values, count) : cJSON_CreateArray();
}

static bool add_array(cJSON *object, const char *name, cJSON *array)
{
    if (array != NULL && cJSON_AddItemToObject(object, name, array))
        return true;
    cJSON_Delete(array);
    return false;
}

static bool add_device(cJSON *object, const struct device_properties *device)
{
    cJSON *to = cJSON_AddObjectToObject(object, "device");
    bool ok = to != NULL;

#define ADD_TEXT(field, size) ok = ok && add_text(to, #field, device->field);
#define ADD_NUMBER(field)     ok = ok && add_number(to, #field, (double)device->field);
#define ADD_FLAG(field)       ok = ok && add_flag(to, #field, device->field);
    DEVICE_FIELDS(ADD_TEXT, ADD_NUMBER, ADD_NUMBER, ADD_FLAG, ADD_NUMBER)
    DEVICE_TRAITS(ADD_FLAG, ADD_NUMBER)
#undef ADD_TEXT
#undef ADD_NUMBER
#undef ADD_FLAG
    return ok;
}

static bool add_settings(cJSON *object, const struct record *record)
{
    cJSON *to = cJSON_AddObjectToObject(object, "settings");
    bool ok = to != NULL;

    for (int v = 0; v < VARIANT_COUNT; v++)
        ok = ok && add_text(to, variant_name((enum variant)v), record->settings[v]);
    return ok;
}

static bool add_fp32(cJSON *object, const struct record *record)
{
    cJSON *to = cJSON_AddObjectToObject(object, "fp32");
    bool ok = to != NULL;

    for (int v = 0; v < VARIANT_COUNT; v++)
        ok = ok && add_flag(to, variant_name((enum variant)v), record->fp32[v]);
    return ok;
}

static bool add_balance(cJSON *object, const struct balance_result *balance)
{
    cJSON *to = cJSON_AddObjectToObject(object, "balance");

    return to != NULL && add_flag(to, "measured", balance->measured) &&
           add_number(to, "host_ns", balance->host_ns) &&
           add_number(to, "device_ns", balance->device_ns) &&
           add_number(to, "ratio", balance->ratio) &&
           add_number(to, "jpeg_pixels", balance->jpeg_pixels);
}

static bool add_scenario(cJSON *object, const struct record *record)
{
    return add_device(object, &record->device) && add_settings(object, record) &&
           add_fp32(object, record) && add_balance(object, &record->balance) &&
           add_number(object, "window_seconds", record->window_seconds);
}

/* Nothing for a device that tells nothing. */
static bool add_vitals(cJSON *object, const char *name, const struct device_vitals *vitals)
{
    cJSON *to;
    bool ok;

    if (!vitals_are_known(vitals))
        return true;
    to = cJSON_AddObjectToObject(object, name);
    ok = to != NULL && add_number(to, "limits", vitals->limits);
#define ADD_VITAL(field) ok = ok && add_number(to, #field, vitals->field);
    DEVICE_VITALS(ADD_VITAL)
#undef ADD_VITAL
    return ok;
}

static bool add_repetition(cJSON *object, const struct record *record)
{
    const struct repetition *repetition = &record->repetition;
    cJSON *metrics = cJSON_AddObjectToObject(object, "metrics");
    bool ok = metrics != NULL;

    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        ok = ok && add_number(metrics, metric_name((enum metric)m), repetition->metric[m]);
    return ok && add_text(object, "variant", variant_name(record->variant)) &&
           add_number(object, "index", record->index) &&
           add_number(object, "steps", (double)repetition->steps) &&
           add_number(object, "samples", (double)repetition->samples) &&
           add_number(object, "wall_ns", (double)repetition->wall_ns) &&
           add_number(object, "cpu_ns", (double)repetition->cpu_ns) &&
           add_number(object, "damaged_samples", (double)repetition->damaged_samples) &&
           add_number(object, "warmup_steps", (double)repetition->warmup_steps) &&
           add_flag(object, "warmed_up", repetition->warmed_up) &&
           add_vitals(object, "vitals_before", &repetition->vitals[0]) &&
           add_vitals(object, "vitals_after", &repetition->vitals[1]) &&
           add_array(object, "losses", cJSON_CreateFloatArray(repetition->losses, LOSS_STEPS)) &&
           add_array(object, "step_ns", array_of(repetition->step_ns, repetition->step_count));
}

static bool add_tracing(cJSON *object, const struct tracing *tracing)
{
    return add_number(object, "steps", (double)tracing->steps) &&
           add_number(object, "windows", (double)tracing->windows) &&
           add_number(object, "step_time_us", tracing->step_time_us) &&
           add_number(object, "traced_step_time_us", tracing->traced_step_time_us) &&
           add_number(object, "spread", tracing->spread) &&
           add_number(object, "rows", (double)tracing->rows) &&
           add_number(object, "dropped", (double)tracing->dropped);
}

char *record_print(const struct record *record)
{
    cJSON *object = cJSON_CreateObject();
    bool ok = object != NULL && add_text(object, "type", type_names[record->type]);
    char *line = NULL;

    if (record->type == RECORD_SCENARIO)
        ok = ok && add_scenario(object, record);
    else if (record->type == RECORD_REPETITION)
        ok = ok && add_repetition(object, record);
    else if (record->type == RECORD_TRACING)
        ok = ok && add_tracing(object, &record->tracing);
    else if (record->type == RECORD_SKIPPED || record->type == RECORD_ERROR)
        ok = ok && add_text(object, "text", record->text);
    if (ok)
        line = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return line;
}

static enum status write_all(int descriptor, const char *bytes, size_t count)
{
    enum status status = STATUS_OK;

    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            FAIL(STATUS_IO, "cannot write a record to descriptor %d: %s", descriptor,
                 strerror(errno));
        bytes += written;
        count -= (size_t)written;
    }

out:
    return status;
}

enum status record_write(int descriptor, const struct record *record)
{
    enum status status = STATUS_OK;
    char *line = NULL;

    if (descriptor < 0)
        return STATUS_OK;
    line = record_print(record);
    if (line == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to write a %s record", type_names[record->type]);
    TRY(write_all(descriptor, line, strlen(line)));
    TRY(write_all(descriptor, "\n", 1));

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
    repetition->steps = integer(object, "steps");
    repetition->samples = integer(object, "samples");
    repetition->wall_ns = integer(object, "wall_ns");
    repetition->cpu_ns = integer(object, "cpu_ns");
    repetition->damaged_samples = integer(object, "damaged_samples");
    repetition->warmup_steps = integer(object, "warmup_steps");
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
    *tracing = (struct tracing){
        .steps = integer(object, "steps"),
        .windows = integer(object, "windows"),
        .step_time_us = number(object, "step_time_us"),
        .traced_step_time_us = number(object, "traced_step_time_us"),
        .spread = number(object, "spread"),
        .rows = integer(object, "rows"),
        .dropped = integer(object, "dropped"),
    };
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
