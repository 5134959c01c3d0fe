#include "harness/text/members.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger whole numbers are not exact as a double, and are stored as text. */
#define EXACT_MOST 9007199254740992.0

static void fault(struct members *members, const char *name, const char *what)
{
    if (members->fault[0] == '\0')
        snprintf(members->fault, sizeof members->fault, "its member %s %s", name, what);
}

static const cJSON *find_member(struct members *members, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(members->object, name);

    if (item == NULL)
        fault(members, name, "is missing");
    return item;
}

void member_bool(struct members *members, const char *name, bool *value)
{
    const cJSON *item;

    if (!members->reading) {
        json_bool(&members->json, members->object, name, *value);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && !cJSON_IsBool(item))
        fault(members, name, "is neither true nor false");
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

static void put_integer(struct members *members, cJSON *to, const char *name, int64_t value)
{
    char text[24];

    if (fabs((double)value) < EXACT_MOST) {
        json_integer(&members->json, to, name, value);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, value);
    json_text(&members->json, to, name, text);
}

void member_integer(struct members *members, const char *name, int64_t *value)
{
    const cJSON *item;
    int64_t number;

    if (!members->reading) {
        put_integer(members, members->object, name, *value);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && take_integer(item, &number))
        *value = number;
    else if (item != NULL)
        fault(members, name, "is no whole number");
}

void member_int(struct members *members, const char *name, int *value, int least, int most)
{
    int64_t number = *value;

    member_integer(members, name, &number);
    if (number < least || number > most)
        fault(members, name, "is out of its range");
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
static void put_number(struct members *members, cJSON *to, const char *name, double value)
{
    char text[40] = "null";
    cJSON *item;

    if (isfinite(value))
        snprintf(text, sizeof text, "%.17g", value);
    item = cJSON_CreateRaw(text);
    if (item == NULL ||
        !(name != NULL ? cJSON_AddItemToObject(to, name, item) : cJSON_AddItemToArray(to, item))) {
        cJSON_Delete(item);
        members->json.out_of_memory = true;
    }
}

void member_number(struct members *members, const char *name, double *value)
{
    const cJSON *item;

    if (!members->reading) {
        put_number(members, members->object, name, *value);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && !take_number(item, value))
        fault(members, name, "is no number");
}

void member_text(struct members *members, const char *name, char *text, size_t size)
{
    const cJSON *item;

    if (!members->reading) {
        json_text(&members->json, members->object, name, text);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && !cJSON_IsString(item))
        fault(members, name, "is no text");
    else if (item != NULL && strlen(item->valuestring) >= size)
        fault(members, name, "is too long a text");
    else if (item != NULL)
        memcpy(text, item->valuestring, strlen(item->valuestring) + 1);
}

void member_string(struct members *members, const char *name, const char **text)
{
    const cJSON *item;
    size_t length;
    char *copy;

    if (!members->reading) {
        json_text(&members->json, members->object, name, *text);
        return;
    }
    item = find_member(members, name);
    if (item == NULL || cJSON_IsNull(item))
        return;
    if (!cJSON_IsString(item)) {
        fault(members, name, "is no text");
        return;
    }
    length = strlen(item->valuestring);
    copy = arena_alloc(members->arena, (int64_t)length + 1, 1);
    memcpy(copy, item->valuestring, length);
    *text = copy;
}

/* --- Arrays --- */

/* The array of that length; NULL: it is not there, which is a fault. */
static const cJSON *array_of(struct members *members, const char *name, int64_t count)
{
    const cJSON *array = find_member(members, name);

    if (array == NULL || (cJSON_IsArray(array) && cJSON_GetArraySize(array) == count))
        return array;
    fault(members, name, "is no array of its length");
    return NULL;
}

void member_integers(struct members *members, const char *name, int64_t *values, int64_t count)
{
    const cJSON *array;
    cJSON *to;
    int64_t i = 0;

    if (!members->reading) {
        to = json_array(&members->json, members->object, name);
        for (; i < count; i++) put_integer(members, to, NULL, values[i]);
        return;
    }
    array = array_of(members, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next)
        if (!take_integer(item, &values[i++]))
            fault(members, name, "has what is no whole number");
}

void member_numbers(struct members *members, const char *name, double *values, int64_t count)
{
    const cJSON *array;
    cJSON *to;
    int64_t i = 0;

    if (!members->reading) {
        to = json_array(&members->json, members->object, name);
        for (; i < count; i++) put_number(members, to, NULL, values[i]);
        return;
    }
    array = array_of(members, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next)
        if (!take_number(item, &values[i++]))
            fault(members, name, "has what is no number");
}

/* --- Objects --- */

static void go_through(struct members *members, cJSON *inner, member_list *list, void *object)
{
    cJSON *outer = members->object;

    members->object = inner;
    list(members, object);
    members->object = outer;
}

void member_object(struct members *members, const char *name, member_list *list, void *object)
{
    cJSON *inner = members->reading ? cJSON_GetObjectItemCaseSensitive(members->object, name)
                                    : json_object(&members->json, members->object, name);

    if (members->reading && !cJSON_IsObject(inner))
        fault(members, name, "is missing, or no object");
    else
        go_through(members, inner, list, object);
}

/* The array that is read, and its length; NULL: it is not there, or has none. */
static cJSON *take_rows(struct members *members, const char *name, int64_t most, int64_t *count)
{
    const cJSON *array = find_member(members, name);

    *count = array == NULL ? 0 : cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    if (*count < 0 || *count > most) {
        fault(members, name, "is no array, or too long");
        *count = 0;
    }
    return *count > 0 ? array->child : NULL;
}

void *member_rows(struct members *members, const char *name, void *rows, int64_t *count,
                  size_t size, int64_t most, member_list *list)
{
    cJSON *array;

    if (!members->reading) {
        array = json_array(&members->json, members->object, name);
        for (int64_t i = 0; i < *count; i++)
            go_through(members, json_object(&members->json, array, NULL), list,
                       (char *)rows + (size_t)i * size);
        return rows;
    }
    array = take_rows(members, name, most, count);
    if (rows == NULL)
        rows = arena_alloc(members->arena, *count, size);
    for (int64_t i = 0; array != NULL; array = array->next, i++)
        go_through(members, array, list, (char *)rows + (size_t)i * size);
    return rows;
}
