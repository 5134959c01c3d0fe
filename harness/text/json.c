/* A member is a value of cJSON's, made first and then added: where either fails, the document
 * remembers it and the value is freed. Whole numbers are raw text, because cJSON keeps numbers as
 * doubles, which are not exact beyond 2^53. */
#include "harness/text/json.h"

#include "harness/base/words/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cJSON *add_item(struct json *json, cJSON *to, const char *name, cJSON *item)
{
    if (item == NULL || (to == NULL && (name != NULL || json->out_of_memory))) {
        json->out_of_memory = true;
        cJSON_Delete(item);
        return NULL;
    }
    if (to == NULL)
        return item;
    if (name != NULL ? !cJSON_AddItemToObject(to, name, item) : !cJSON_AddItemToArray(to, item)) {
        json->out_of_memory = true;
        cJSON_Delete(item);
        return NULL;
    }
    return item;
}

cJSON *json_object(struct json *json, cJSON *to, const char *name)
{
    return add_item(json, to, name, cJSON_CreateObject());
}

cJSON *json_array(struct json *json, cJSON *to, const char *name)
{
    return add_item(json, to, name, cJSON_CreateArray());
}

/* --- Values --- */

cJSON *json_of_bool(bool value)
{
    return cJSON_CreateBool(value);
}

cJSON *json_of_number(double value)
{
    return isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull();
}

cJSON *json_of_text(const char *value)
{
    char *clean, *end;
    cJSON *item;

    if (value == NULL)
        return cJSON_CreateNull();
    clean = end = malloc(3 * strlen(value) + 1);
    if (clean == NULL)
        return NULL;
    while (*value != '\0') {
        size_t bytes = utf8_bytes(value);
        end = mempcpy(end, bytes > 0 ? value : UTF8_REPLACEMENT, bytes > 0 ? bytes : 3);
        value += bytes > 0 ? bytes : 1;
    }
    *end = '\0';
    item = cJSON_CreateString(clean);
    free(clean);
    return item;
}

cJSON *json_of_item(cJSON *item)
{
    return item != NULL ? item : cJSON_CreateNull();
}

static cJSON *raw(const char *format, ...) __attribute__((format(printf, 1, 2)));
static cJSON *raw(const char *format, ...)
{
    char digits[40];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(digits, sizeof digits, format, arguments);
    va_end(arguments);
    return cJSON_CreateRaw(digits);
}

cJSON *json_of_integer(int64_t value)
{
    return raw("%" PRId64, value);
}

cJSON *json_of_unsigned(uint64_t value)
{
    return raw("%" PRIu64, value);
}

/* --- Members --- */

void json_bool(struct json *json, cJSON *to, const char *name, bool value)
{
    add_item(json, to, name, json_of_bool(value));
}

void json_text(struct json *json, cJSON *to, const char *name, const char *value)
{
    add_item(json, to, name, json_of_text(value));
}

void json_number(struct json *json, cJSON *to, const char *name, double value)
{
    add_item(json, to, name, json_of_number(value));
}

void json_known_number(struct json *json, cJSON *to, const char *name, double value)
{
    if (isfinite(value))
        json_number(json, to, name, value);
}

void json_exact_number(struct json *json, cJSON *to, const char *name, double value)
{
    add_item(json, to, name, isfinite(value) ? raw("%.17g", value) : cJSON_CreateNull());
}

void json_integer(struct json *json, cJSON *to, const char *name, int64_t value)
{
    add_item(json, to, name, json_of_integer(value));
}

void json_unsigned(struct json *json, cJSON *to, const char *name, uint64_t value)
{
    add_item(json, to, name, json_of_unsigned(value));
}

cJSON *json_add(struct json *json, cJSON *object, const struct json_key *keys)
{
    for (; keys->name != NULL; keys++) add_item(json, object, keys->name, keys->item);
    return object;
}

cJSON *json_pair(struct json *json, double first, double second)
{
    cJSON *array = json_array(json, NULL, NULL);

    json_number(json, array, NULL, first);
    json_number(json, array, NULL, second);
    return array;
}

cJSON *json_raw(struct json *json, const char *text)
{
    cJSON *item = text != NULL ? cJSON_CreateRaw(text) : NULL;

    if (item == NULL)
        json->out_of_memory = true;
    return item;
}

cJSON *json_series(struct json *json, const double *values, int64_t count, int digits)
{
    cJSON *item;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool whole = stream != NULL;

    if (whole) {
        fputc('[', stream);
        for (int64_t i = 0; i < count; i++) {
            if (isfinite(values[i]))
                fprintf(stream, "%s%.*g", i > 0 ? ", " : "", digits, values[i]);
            else
                fprintf(stream, "%snull", i > 0 ? ", " : "");
        }
        fputc(']', stream);
        whole = !ferror(stream);
        whole = fclose(stream) == 0 && whole;
    }
    item = json_raw(json, whole ? text : NULL);
    free(text);
    return item;
}

enum status json_print(const struct json *json, const cJSON *root, char **text)
{
    enum status status = STATUS_OK;
    char *printed = NULL, *longer;
    size_t length;

    *text = NULL;
    if (!json->out_of_memory && root != NULL)
        printed = cJSON_Print(root);
    if (printed == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left to write the results as JSON");
    length = strlen(printed);
    longer = realloc(printed, length + 2);
    if (longer == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left to write the results as JSON");
    printed = NULL;
    memcpy(longer + length, "\n", 2);
    *text = longer;

out:
    free(printed);
    return status;
}

enum status json_to_stdout(const struct json *json, const cJSON *root)
{
    char *text;

    TRY(json_print(json, root, &text));
    fputs(text, stdout);
    free(text);

    return STATUS_OK;
}

enum status json_end(const struct json *json, cJSON *root)
{
    enum status status = json_to_stdout(json, root);

    cJSON_Delete(root);
    return status;
}

/* cJSON does not tell lack of memory from a text that is no JSON, but malloc() does. */
enum status json_parse(cJSON **root, const char *text, const char **end, bool alone)
{
    errno = 0;
    *root = cJSON_ParseWithOpts(text, end, alone);
    if (*root == NULL && errno == ENOMEM)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left to read JSON");

    return STATUS_OK;
}

const char *json_text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return text != NULL ? text : "";
}

static double number_or_nan(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

double json_number_of(const cJSON *object, const char *name)
{
    return number_or_nan(cJSON_GetObjectItemCaseSensitive(object, name));
}

double json_number_at(const cJSON *array, int index)
{
    return number_or_nan(cJSON_GetArrayItem(array, index));
}
