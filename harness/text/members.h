/* The members of a JSON object, written from a struct or read into it by the same list of calls, so
 * that what one writes the other reads.
 *
 * Reading checks: a member that is missing, or of another type, or out of its range, is the first
 * fault, which is kept, and the value stays as it was. Texts and rows that are read lie in the
 * arena. */
#ifndef HARNESS_TEXT_MEMBERS_H
#define HARNESS_TEXT_MEMBERS_H

#include "harness/base/system/arena.h"
#include "harness/text/json.h"

struct members {
    bool reading;
    cJSON *object; /* now */
    struct json json;
    struct arena *arena;
    char fault[120]; /* of reading: "steps.count is missing"; "": none */
};

void member_bool(struct members *members, const char *name, bool *value);
void member_integer(struct members *members, const char *name, int64_t *value); /* exact */
void member_int(struct members *members, const char *name, int *value, int least, int most);
void member_number(struct members *members, const char *name,
                   double *value); /* NAN, infinite: null */

/* A text in a buffer, or in the arena; NULL stays NULL. */
void member_text(struct members *members, const char *name, char *text, size_t size);
void member_string(struct members *members, const char *name, const char **text);

/* Arrays of known length. */
void member_integers(struct members *members, const char *name, int64_t *values, int64_t count);
void member_numbers(struct members *members, const char *name, double *values, int64_t count);

/* Goes through the members of an object. */
typedef void member_list(struct members *members, void *object);

/* An object that is a member; if it is missing, its struct stays as it was. */
void member_object(struct members *members, const char *name, member_list *list, void *object);

/* An array of objects, one per row of `size` bytes: *count of them when writing, at most `most`
 * when reading. Returns the rows, which are read into `rows`, or into new ones if that is NULL. */
void *member_rows(struct members *members, const char *name, void *rows, int64_t *count,
                  size_t size, int64_t most, member_list *list);

/* A number of an enum of `count` values. */
#define MEMBER_ENUM(members, name, value, type, count)                                             \
    do {                                                                                           \
        int number_ = (int)*(value);                                                               \
        member_int(members, name, &number_, 0, (int)(count)-1);                                    \
        *(value) = (type)number_;                                                                  \
    } while (0)

#endif
