/* A record's type says which list of members goes through it, in both directions. The lists of a
 * result's structs are those of result files (records.h). */
#include "harness/lab/experiment/records.h"

#include "harness/base/system/files.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[RECORD_TYPE_COUNT] = { "scenario",   "progress", "window",
                                                           "repetition", "tracing",  "skipped",
                                                           "error",      "end" };

static void device_and_traits(struct members *members, void *object)
{
    struct device_properties *device = object;

    device_members(members, device);
#define BOOL(field)   member_bool(members, #field, &device->field);
#define DOUBLE(field) member_number(members, #field, &device->field);
    DEVICE_TRAITS(BOOL, DOUBLE)
#undef BOOL
#undef DOUBLE
}

static void fp32_members(struct members *members, void *object)
{
    bool *fp32 = object;

    for (int v = 0; v < VARIANT_COUNT; v++)
        member_bool(members, variant_name((enum variant)v), &fp32[v]);
}

static void window_members(struct members *members, void *object)
{
    struct record *record = object;

    member_number(members, "window_seconds", &record->window_seconds);
}

static void scenario_members(struct members *members, void *object)
{
    struct record *record = object;

    member_object(members, "settings", settings_members, record->settings);
    member_object(members, "fp32", fp32_members, record->fp32);
    member_object(members, "device", device_and_traits, &record->device);
    member_object(members, "balance", balance_members, &record->balance);
    window_members(members, record);
}

static void indexed_members(struct members *members, void *object)
{
    struct record *record = object;

    MEMBER_WORD(members, "variant", &record->variant, enum variant, VARIANT_COUNT, variant_name);
    member_int(members, "index", &record->index, 0, INT_MAX);
    member_count(members, "damaged_samples", &record->repetition.damaged_samples);
    repetition_members(members, &record->repetition);
}

static void trace_members(struct members *members, void *object)
{
    tracing_members(members, &((struct record *)object)->tracing);
}

static void text_members(struct members *members, void *object)
{
    struct record *record = object;

    member_text(members, "text", record->text, sizeof record->text);
}

static void record_members(struct members *members, void *object)
{
    static member_list *const lists[RECORD_TYPE_COUNT] = {
        [RECORD_SCENARIO] = scenario_members,  [RECORD_WINDOW] = window_members,
        [RECORD_REPETITION] = indexed_members, [RECORD_TRACING] = trace_members,
        [RECORD_SKIPPED] = text_members,       [RECORD_ERROR] = text_members,
    };
    struct record *record = object;
    int type = (int)record->type;

    /* The type comes first, since it decides which members follow. */
    member_word(members, "type", &type, type_names, RECORD_TYPE_COUNT);
    if (members->reading)
        record->type = (enum record_type)type;
    if (lists[type] != NULL)
        lists[type](members, record);
}

char *record_print(const struct record *record)
{
    struct json json = { 0 };
    cJSON *object = json_object(&json, NULL, NULL);
    char *line;

    members_write(&json, object, record_members, record);
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

bool record_parse(struct record *record, const char *line)
{
    cJSON *object = cJSON_ParseWithOpts(line, NULL, true);
    bool is_whole;

    memset(record, 0, sizeof *record);
    /* A record may have all its members and still mean nothing: a device without a kind, a window
     * or a trace of no length. */
    is_whole = members_read(object, NULL, record_members, record) &&
               (record->type != RECORD_SCENARIO || record->device.kind[0] != '\0') &&
               (record->type != RECORD_WINDOW || record->window_seconds > 0) &&
               (record->type != RECORD_TRACING || record->tracing.steps > 0);
    if (!is_whole)
        record_release(record);
    cJSON_Delete(object);
    return is_whole;
}

void record_release(struct record *record)
{
    free(record->repetition.step_ns);
    record->repetition.step_ns = NULL;
    record->repetition.step_count = 0;
}
