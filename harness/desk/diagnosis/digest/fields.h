/* The members of a JSON object, written from a struct or read into it by the same list of calls, so
 * that what one writes the other reads.
 *
 * Reading checks: a member that is missing, or of another type, or out of its range, is the first
 * fault, which is kept, and the value stays as it was. Texts and rows that are read lie in the
 * arena. */
#ifndef HARNESS_DESK_DIAGNOSIS_DIGEST_FIELDS_H
#define HARNESS_DESK_DIAGNOSIS_DIGEST_FIELDS_H

#include "harness/base/system/arena.h"
#include "harness/text/json.h"

struct fields {
    bool reading;
    cJSON *object; /* now */
    struct json json;
    struct arena *arena;
    char fault[120]; /* of reading: "steps.count is missing"; "": none */
};

void field_bool(struct fields *fields, const char *name, bool *value);
void field_integer(struct fields *fields, const char *name, int64_t *value); /* exact */
void field_int(struct fields *fields, const char *name, int *value, int least, int most);
void field_number(struct fields *fields, const char *name, double *value); /* NAN, infinite: null */

/* A text in a buffer, or in the arena; NULL stays NULL. */
void field_text(struct fields *fields, const char *name, char *text, size_t size);
void field_string(struct fields *fields, const char *name, const char **text);

/* Arrays of known length. */
void field_integers(struct fields *fields, const char *name, int64_t *values, int64_t count);
void field_numbers(struct fields *fields, const char *name, double *values, int64_t count);

/* Goes through the members of an object. */
typedef void field_members(struct fields *fields, void *object);

/* An object that is a member; if it is missing, its struct stays as it was. */
void field_object(struct fields *fields, const char *name, field_members *members, void *object);

/* An array of objects, one per row of `size` bytes: *count of them when writing, at most `most`
 * when reading. Returns the rows, which are read into `rows`, or into new ones if that is NULL. */
void *field_rows(struct fields *fields, const char *name, void *rows, int64_t *count, size_t size,
                 int64_t most, field_members *members);

/* A number of an enum of `count` values. */
#define FIELD_ENUM(fields, name, value, type, count)                                               \
    do {                                                                                           \
        int number_ = (int)*(value);                                                               \
        field_int(fields, name, &number_, 0, (int)(count)-1);                                      \
        *(value) = (type)number_;                                                                  \
    } while (0)

#endif
