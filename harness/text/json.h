/* Building a JSON document with cJSON, where every text and number that goes in is fit for a strict
 * reader: no NaN or Infinity, no broken UTF-8.
 *
 * Memory that runs out is remembered instead of returned by every call: build the document, then
 * ask json_print(). A NULL object, the sign of an earlier failure, is allowed everywhere. */
#pragma once

#include "harness/base/status.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

struct json {
    bool out_of_memory;
};

/* A member `name` of object `to`, or the next element of array `to` when `name` is NULL; a
 * document's root when `to` is NULL too. The parent owns it. */
cJSON *json_object(struct json *json, cJSON *to, const char *name);
cJSON *json_array(struct json *json, cJSON *to, const char *name);

/* `value` NULL is null. Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct json *json, cJSON *to, const char *name, const char *value);
void json_bool(struct json *json, cJSON *to, const char *name, bool value);

/* Values that are not finite become null: JSON has no other word for them. */
void json_number(struct json *json, cJSON *to, const char *name, double value);

/* The same, but a value that is not finite is left out. */
void json_known_number(struct json *json, cJSON *to, const char *name, double value);

/* With 17 digits, which read as the same double; cJSON's own may differ in the last bit. */
void json_exact_number(struct json *json, cJSON *to, const char *name, double value);

void json_integer(struct json *json, cJSON *to, const char *name, int64_t value); /* exact */
void json_unsigned(struct json *json, cJSON *to, const char *name, uint64_t value);

/* --- Members as a list --- */

/* An object's members in their order, each as JSON of its C type; NULL is null:
 *
 *     JSON_ADD(&json, object, KEY("name", row->name), KEY("share", row->share),
 *              KEY("place", JSON_OBJECT(&json, KEY("file", file), KEY("line", line))));
 *
 * JSON_ROW() adds an object to an array, and returns it; JSON_OBJECT() is one for a KEY(). A
 * comparison is an int in C: cast it to bool. A value for which an arena gives memory stands in a
 * list of its own: if that fails, the values before it would be lost. */
#define JSON_ADD(json, object, ...)                                                                \
    json_add(json, object, (const struct json_key[]){ __VA_ARGS__, { NULL, NULL } })
#define JSON_ROW(json, array, ...) JSON_ADD(json, json_object(json, array, NULL), __VA_ARGS__)
#define JSON_OBJECT(json, ...)     JSON_ADD(json, json_object(json, NULL, NULL), __VA_ARGS__)

/* clang-format off */
#define KEY(name, value)                                                                           \
    json_key(name, _Generic((value), bool: json_of_bool, float: json_of_number,                    \
                            double: json_of_number, char *: json_of_text,                          \
                            const char *: json_of_text, void *: json_of_text,                      \
                            cJSON *: json_of_item, unsigned long: json_of_unsigned,                \
                            default: json_of_integer)(value))
/* clang-format on */

struct json_key {
    const char *name;
    cJSON *item;
};
static inline struct json_key json_key(const char *name, cJSON *item)
{
    return (struct json_key){ name, item };
}

/* A value by itself; NULL where no memory is left, which json_add() remembers. */
cJSON *json_of_bool(bool value);
cJSON *json_of_number(double value);
cJSON *json_of_text(const char *value);
cJSON *json_of_item(cJSON *item); /* itself; null for NULL, where no failure is told already */
cJSON *json_of_integer(int64_t value);
cJSON *json_of_unsigned(uint64_t value);

/* Members up to one without a name; returns the object. */
cJSON *json_add(struct json *json, cJSON *object, const struct json_key *keys);

/* Arrays for a KEY(): two numbers; and many, stored as text, for thousands of raw samples. Whole
 * numbers stay short, others keep `digits` significant ones. */
cJSON *json_pair(struct json *json, double first, double second);
cJSON *json_series(struct json *json, const double *values, int64_t count, int digits);

/* The same for text of JSON, which is written as it is; NULL: there was no memory for it. */
cJSON *json_raw(struct json *json, const char *text);

/* --- The end --- */

/* The document as text, ending in a line feed; *text is malloc'd. OUT_OF_MEMORY when any call above
 * ran out. */
enum status json_print(const struct json *json, const cJSON *root, char **text);

/* The same, to standard output; json_end() frees the document, also where that fails. */
enum status json_to_stdout(const struct json *json, const cJSON *root);
enum status json_end(const struct json *json, cJSON *root);

/* --- Reading --- */

/* A document: *root is NULL if the text is none, and *end, unless NULL, where it ends or
 * stops to be one; with `alone` nothing may follow. OUT_OF_MEMORY: the text may well be one. */
enum status json_parse(cJSON **root, const char *text, const char **end, bool alone);

/* The member `name`; NULL: there is none, or no object. */
static inline const cJSON *json_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The text of member `name`; "" where there is none. */
const char *json_text_of(const cJSON *object, const char *name);

/* A member that is a number; NaN if there is none: one that is not finite was written as null. */
double json_number_of(const cJSON *object, const char *name);
double json_number_at(const cJSON *array, int index); /* likewise */
