/* Each call looks which way it goes: it adds a member to the object, or finds it there, checks it,
 * and takes its value. Checks remember the first fault instead of returning it, so that lists of
 * members need no error path. */
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
    if (members->fault[0] == '\0' && !members->is_lenient)
        snprintf(members->fault, sizeof members->fault, "its member %s %s", name, what);
}

static const cJSON *find_member(struct members *members, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(members->object, name);

    if (item == NULL)
        fault(members, name, "is missing");
    return item;
}

bool member_is_there(const struct members *members, const char *name)
{
    return !members->reading || cJSON_GetObjectItemCaseSensitive(members->object, name) != NULL;
}

/* Writing needs no changes, but one list goes both ways, so it gets a struct that it could change.
 */
static void *changeable(const void *object)
{
    return (void *)(uintptr_t)object;
}

void members_write(struct json *json, cJSON *object, member_list *list, const void *from)
{
    struct members members = { .reading = false, .json = json, .object = object };

    list(&members, changeable(from));
}

cJSON *members_object(struct json *json, member_list *list, const void *from)
{
    cJSON *object = json_object(json, NULL, NULL);

    members_write(json, object, list, from);
    return object;
}

static bool read_members(const cJSON *object, struct arena *arena, member_list *list, void *to,
                         bool is_lenient)
{
    struct members members = {
        .reading = true, .is_lenient = is_lenient, .object = changeable(object), .arena = arena
    };

    list(&members, to);
    return members.fault[0] == '\0';
}

bool members_read(const cJSON *object, struct arena *arena, member_list *list, void *to)
{
    return read_members(object, arena, list, to, false);
}

void members_read_leniently(const cJSON *object, struct arena *arena, member_list *list, void *to)
{
    read_members(object, arena, list, to, true);
}

/* --- One value --- */

void member_bool(struct members *members, const char *name, bool *value)
{
    const cJSON *item;

    if (!members->reading) {
        json_bool(members->json, members->object, name, *value);
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

    if (!members->is_exact || fabs((double)value) < EXACT_MOST) {
        json_integer(members->json, to, name, value);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, value);
    json_text(members->json, to, name, text);
}

void member_integer(struct members *members, const char *name, int64_t *value, int64_t least,
                    int64_t most)
{
    const cJSON *item;
    int64_t number;

    if (!members->reading) {
        put_integer(members, members->object, name, *value);
        return;
    }
    item = find_member(members, name);
    if (item == NULL)
        return;
    if (!take_integer(item, &number))
        fault(members, name, "is no whole number");
    else if (number < least || number > most)
        fault(members, name, "is out of its range");
    else
        *value = number;
}

void member_any(struct members *members, const char *name, int64_t *value)
{
    member_integer(members, name, value, INT64_MIN, INT64_MAX);
}

void member_count(struct members *members, const char *name, int64_t *value)
{
    member_integer(members, name, value, 0, INT64_MAX);
}

void member_int(struct members *members, const char *name, int *value, int least, int most)
{
    int64_t number = *value;

    member_integer(members, name, &number, least, most);
    if (members->reading)
        *value = (int)number;
}

static bool take_number(const cJSON *item, double *value)
{
    if (cJSON_IsNumber(item) && isfinite(item->valuedouble))
        *value = item->valuedouble;
    else if (cJSON_IsNull(item))
        *value = NAN;
    else
        return false;
    return true;
}

static void put_number(struct members *members, cJSON *to, const char *name, double value)
{
    if (members->is_exact)
        json_exact_number(members->json, to, name, value);
    else
        json_number(members->json, to, name, value);
}

void member_number(struct members *members, const char *name, double *value)
{
    const cJSON *item;

    if (!members->reading) {
        put_number(members, members->object, name, *value);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && take_number(item, value))
        return;
    if (item != NULL)
        fault(members, name, "is no number");
    if (members->is_lenient)
        *value = NAN;
}

void member_known_number(struct members *members, const char *name, double *value)
{
    if (!member_is_there(members, name))
        *value = NAN;
    else if (members->reading || isfinite(*value))
        member_number(members, name, value);
}

void member_text(struct members *members, const char *name, char *text, size_t size)
{
    const cJSON *item;

    if (!members->reading) {
        json_text(members->json, members->object, name, text);
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

static bool is_null(const struct members *members, const char *name)
{
    return members->reading &&
           cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(members->object, name));
}

void member_text_or_null(struct members *members, const char *name, char *text, size_t size)
{
    if (is_null(members, name))
        text[0] = '\0';
    else if (!members->reading && text[0] == '\0')
        json_text(members->json, members->object, name, NULL);
    else
        member_text(members, name, text, size);
}

void member_count_or_null(struct members *members, const char *name, int64_t *value)
{
    if (is_null(members, name))
        *value = -1;
    else if (!members->reading && *value < 0)
        json_text(members->json, members->object, name, NULL);
    else
        member_count(members, name, value);
}

static const char *keep_text(struct members *members, const char *text)
{
    size_t length = strlen(text);

    return memcpy(arena_alloc(members->arena, (int64_t)length + 1, 1), text, length);
}

void member_string(struct members *members, const char *name, const char **text)
{
    const cJSON *item;

    if (!members->reading) {
        json_text(members->json, members->object, name, *text);
        return;
    }
    item = find_member(members, name);
    if (item != NULL && cJSON_IsString(item))
        *text = keep_text(members, item->valuestring);
    else if (item != NULL && !cJSON_IsNull(item))
        fault(members, name, "is no text");
}

void member_word(struct members *members, const char *name, int *value, const char *const *words,
                 int count)
{
    const cJSON *item;

    if (!members->reading) {
        json_text(members->json, members->object, name, words[*value]);
        return;
    }
    item = find_member(members, name);
    if (item == NULL)
        return;
    for (int i = 0; cJSON_IsString(item) && i < count; i++)
        if (strcmp(item->valuestring, words[i]) == 0) {
            *value = i;
            return;
        }
    fault(members, name, "is none of its words");
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

/* The first item of an array, and their number; NULL: it is not there, or has none. */
static cJSON *take_array(struct members *members, const char *name, int64_t most, int64_t *count)
{
    const cJSON *array = find_member(members, name);

    *count = array == NULL ? 0 : cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    if (*count < 0 || *count > most) {
        fault(members, name, "is no array, or too long");
        *count = 0;
    }
    return *count > 0 ? array->child : NULL;
}

static void integers(struct members *members, const char *name, int64_t *values, int64_t count,
                     int64_t least)
{
    const cJSON *array;
    cJSON *to;

    if (!members->reading) {
        to = json_array(members->json, members->object, name);
        for (int64_t i = 0; i < count; i++) put_integer(members, to, NULL, values[i]);
        return;
    }
    array = array_of(members, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next) {
        int64_t number = 0;
        if (!take_integer(item, &number))
            fault(members, name, "has what is no whole number");
        else if (number < least)
            fault(members, name, "has what is out of its range");
        else
            *values = number;
        values++;
    }
}

void member_integers(struct members *members, const char *name, int64_t *values, int64_t count)
{
    integers(members, name, values, count, INT64_MIN);
}

void member_counts(struct members *members, const char *name, int64_t *values, int64_t count)
{
    integers(members, name, values, count, 0);
}

void member_numbers(struct members *members, const char *name, double *values, int64_t count)
{
    const cJSON *array;
    cJSON *to;

    if (!members->reading) {
        to = json_array(members->json, members->object, name);
        for (int64_t i = 0; i < count; i++) put_number(members, to, NULL, values[i]);
        return;
    }
    array = array_of(members, name, count);
    for (const cJSON *item = array != NULL ? array->child : NULL; item != NULL; item = item->next) {
        if (!take_number(item, values)) {
            fault(members, name, "has what is no number");
            *values = NAN;
        }
        values++;
    }
}

void member_strings(struct members *members, const char *name, const char *const **texts,
                    int64_t *count, int64_t most)
{
    const cJSON *item;
    const char **kept;
    cJSON *to;

    if (!members->reading) {
        to = json_array(members->json, members->object, name);
        for (int64_t i = 0; i < *count; i++) json_text(members->json, to, NULL, (*texts)[i]);
        return;
    }
    item = take_array(members, name, most, count);
    *texts = kept = ARENA_NEW(members->arena, const char *, *count);
    for (int64_t i = 0; item != NULL; item = item->next, i++) {
        if (!cJSON_IsString(item))
            fault(members, name, "has what is no text");
        kept[i] = keep_text(members, cJSON_IsString(item) ? item->valuestring : "");
    }
}

/* --- Objects --- */

static void go_through(struct members *members, cJSON *inner, member_list *list, const void *object)
{
    cJSON *outer = members->object;

    members->object = inner;
    list(members, changeable(object));
    members->object = outer;
}

void member_object(struct members *members, const char *name, member_list *list, const void *object)
{
    cJSON *inner = members->reading ? cJSON_GetObjectItemCaseSensitive(members->object, name)
                                    : json_object(members->json, members->object, name);

    if (members->reading && !cJSON_IsObject(inner))
        fault(members, name, "is missing, or no object");
    else
        go_through(members, inner, list, object);
}

void member_known_object(struct members *members, const char *name, member_list *list,
                         const void *object, bool *is_known)
{
    if (members->reading)
        *is_known = member_is_there(members, name) && !is_null(members, name);
    if (*is_known)
        member_object(members, name, list, object);
    else if (!members->reading)
        json_text(members->json, members->object, name, NULL);
}

void *member_rows(struct members *members, const char *name, const void *rows, int64_t *count,
                  size_t size, int64_t most, member_list *list)
{
    cJSON *item;

    if (!members->reading) {
        item = json_array(members->json, members->object, name);
        for (int64_t i = 0; i < *count; i++)
            go_through(members, json_object(members->json, item, NULL), list,
                       (const char *)rows + (size_t)i * size);
        return changeable(rows);
    }
    item = take_array(members, name, most, count);
    if (rows == NULL)
        rows = arena_alloc(members->arena, *count, size);
    for (int64_t i = 0; item != NULL; item = item->next, i++)
        go_through(members, item, list, (const char *)rows + (size_t)i * size);
    return changeable(rows);
}
