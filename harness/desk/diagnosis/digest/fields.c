#include "harness/desk/diagnosis/digest/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger whole numbers are not exact as a double, and are stored as text. */
#define EXACT_MOST 9007199254740992.0

static void fault(struct fields *fields, const char *name, const char *what)
{
    if (fields->fault[0] == '\0')
        snprintf(fields->fault, sizeof fields->fault, "its member %s %s", name, what);
}

static const cJSON *member(struct fields *fields, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(fields->object, name);

    if (item == NULL)
        fault(fields, name, "is missing");
    return item;
}

void field_bool(struct fields *fields, const char *name, bool *value)
{
    const cJSON *item;

    if (!fields->reading) {
        json_bool(&fields->json, fields->object, name, *value);
        return;
    }
    item = member(fields, name);
    if (item != NULL && !cJSON_IsBool(item))
        fault(fields, name, "is neither true nor false");
    else if (item != NULL)
        *value = cJSON_IsTrue(item);
}

static bool take_integer(const cJSON *item, int64_t *value)
{
    char *end;

    if (cJSON_IsNumber(item) && fabs(item->valuedouble) < EXACT_MOST &&
        item->valuedouble == floor(item->valuedouble)) {
        *value = (int64_t)item->valuedouble;
        return true;
    }
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
        return false;
    errno = 0;
    *value = strtoll(item->valuestring, &end, 10);
    return errno == 0 && *end == '\0';
}

static void put_integer(struct fields *fields, cJSON *to, const char *name, int64_t value)
{
    char text[24];

    if (fabs((double)value) < EXACT_MOST) {
        json_integer(&fields->json, to, name, value);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, value);
    json_text(&fields->json, to, name, text);
}

void field_integer(struct fields *fields, const char *name, int64_t *value)
{
    const cJSON *item;
    int64_t number;

    if (!fields->reading) {
        put_integer(fields, fields->object, name, *value);
        return;
    }
    item = member(fields, name);
    if (item != NULL && take_integer(item, &number))
        *value = number;
    else if (item != NULL)
        fault(fields, name, "is no whole number");
}

void field_int(struct fields *fields, const char *name, int *value, int least, int most)
{
    int64_t number = *value;

    field_integer(fields, name, &number);
    if (number < least || number > most)
        fault(fields, name, "is out of its range");
    else
        *value = (int)number;
}

static bool take_number(const cJSON *item, double *value)
{
    if (cJSON_IsNumber(item))
        *value = item->valuedouble;
    else if (cJSON_IsNull(item))
        *value = NAN;
    else
        return false;
    return true;
}

/* With all digits, which cJSON's own numbers do not have. */
static void put_number(struct fields *fields, cJSON *to, const char *name, double value)
{
    char text[40] = "null";
    cJSON *item;

    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g", value);
    item = cJSON_CreateRaw(text);
    if (item == NULL ||
        !(name != NULL ? cJSON_AddItemToObject(to, name, item) : cJSON_AddItemToArray(to, item))) {
        cJSON_Delete(item);
        fields->json.out_of_memory = true;
    }
}

void field_number(struct fields *fields, const char *name, double *value)
{
    const cJSON *item;

    if (!fields->reading) {
        put_number(fields, fields->object, name, *value);
        return;
    }
    item = member(fields, name);
    if (item != NULL && !take_number(item, value))
        fault(fields, name, "is no number");
}

void field_text(struct fields *fields, const char *name, char *text, size_t size)
{
    const cJSON *item;

    if (!fields->reading) {
        json_text(&fields->json, fields->object, name, text);
        return;
    }
    item = member(fields, name);
    if (item != NULL && !cJSON_IsString(item))
        fault(fields, name, "is no text");
    else if (item != NULL && strlen(item->valuestring) >= size)
        fault(fields, name, "is too long a text");
    else if (item != NULL)
        memcpy(text, item->valuestring, strlen(item->valuestring) + 1);
}

void field_string(struct fields *fields, const char *name, const char **text)
{
    const cJSON *item;
    size_t length;
    char *copy;

    if (!fields->reading) {
        json_text(&fields->json, fields->object, name, *text);
        return;
    }
    item = member(fields, name);
    if (item == NULL || cJSON_IsNull(item))
        return;
    if (!cJSON_IsString(item)) {
        fault(fields, name, "is no text");
        return;
    }
    length = strlen(item->valuestring);
    copy = arena_alloc(fields->arena, (int64_t)length + 1, 1);
    memcpy(copy, item->valuestring, length);
    *text = copy;
}

/* --- Arrays --- */

/* The array of that length; NULL: it is not there, which is a fault. */
static const cJSON *array_of(struct fields *fields, const char *name, int64_t count)
{
    const cJSON *array = member(fields, name);

    if (array == NULL || (cJSON_IsArray(array) && cJSON_GetArraySize(array) == count))
        return array;
    fault(fields, name, "is no array of its length");
    return NULL;
}

void field_integers(struct fields *fields, const char *name, int64_t *values, int64_t count)
{
    const cJSON *array;
    cJSON *to;
    int64_t i = 0;

    if (!fields->reading) {
        to = json_array(&fields->json, fields->object, name);
        for (; i < count; i++) put_integer(fields, to, NULL, values[i]);
        return;
    }
    array = array_of(fields, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next)
        if (!take_integer(item, &values[i++]))
            fault(fields, name, "has what is no whole number");
}

void field_numbers(struct fields *fields, const char *name, double *values, int64_t count)
{
    const cJSON *array;
    cJSON *to;
    int64_t i = 0;

    if (!fields->reading) {
        to = json_array(&fields->json, fields->object, name);
        for (; i < count; i++) put_number(fields, to, NULL, values[i]);
        return;
    }
    array = array_of(fields, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next)
        if (!take_number(item, &values[i++]))
            fault(fields, name, "has what is no number");
}

/* --- Objects --- */

static void go_through(struct fields *fields, cJSON *inner, field_members *members, void *object)
{
    cJSON *outer = fields->object;

    fields->object = inner;
    members(fields, object);
    fields->object = outer;
}

void field_object(struct fields *fields, const char *name, field_members *members, void *object)
{
    cJSON *inner = fields->reading ? cJSON_GetObjectItemCaseSensitive(fields->object, name)
                                   : json_object(&fields->json, fields->object, name);

    if (fields->reading && !cJSON_IsObject(inner))
        fault(fields, name, "is missing, or no object");
    else
        go_through(fields, inner, members, object);
}

/* The array that is read, and its length; NULL: it is not there, or has none. */
static cJSON *take_rows(struct fields *fields, const char *name, int64_t most, int64_t *count)
{
    const cJSON *array = member(fields, name);

    *count = array == NULL ? 0 : cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    if (*count < 0 || *count > most) {
        fault(fields, name, "is no array, or too long");
        *count = 0;
    }
    return *count > 0 ? array->child : NULL;
}

void *field_rows(struct fields *fields, const char *name, void *rows, int64_t *count, size_t size,
                 int64_t most, field_members *members)
{
    cJSON *array;

    if (!fields->reading) {
        array = json_array(&fields->json, fields->object, name);
        for (int64_t i = 0; i < *count; i++)
            go_through(fields, json_object(&fields->json, array, NULL), members,
                       (char *)rows + (size_t)i * size);
        return rows;
    }
    array = take_rows(fields, name, most, count);
    if (rows == NULL)
        rows = arena_alloc(fields->arena, *count, size);
    for (int64_t i = 0; array != NULL; array = array->next, i++)
        go_through(fields, array, members, (char *)rows + (size_t)i * size);
    return rows;
}
