/* The members of a JSON object, written from a struct or read into it by the same list of calls, so
 * that what one writes the other reads:
 *
 *     static void balance_members(struct members *members, void *object)
 *     {
 *         struct balance *balance = object;
 *
 *         member_bool(members, "measured", &balance->measured);
 *         member_number(members, "host_ns", &balance->host_ns);
 *     }
 *
 *     members_write(&json, json_object(&json, root, "balance"), balance_members, &balance);
 *
 * Writing changes no struct, so a const one may be given; a list that sets a member itself does so
 * only if `reading`.
 *
 * Reading checks: a member that is missing, or of another type, or out of its range is a fault, and
 * its value stays as it was. The first fault is kept. If the reading is lenient, there are no
 * faults either, and a number that is missing becomes NAN. Strings and rows that are read lie in
 * the arena. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/text/json.h"

struct members {
    bool reading;
    bool is_lenient;   /* reading */
    bool is_exact;     /* writing: numbers with 17 digits, whole ones beyond 2^53 as texts. Reading
                          takes both kinds */
    cJSON *object;     /* now */
    struct json *json; /* writing */
    struct arena *arena; /* reading; may be NULL for structs without strings, rows and series */
    char fault[120];     /* of reading: "its member count is missing"; "": none */
};

/* Goes through the members of a struct. */
typedef void member_list(struct members *members, void *object);

/* One struct, written into an object of a document; or read from an object, which may be NULL.
 * False: there was a fault. */
void members_write(struct json *json, cJSON *object, member_list *list, const void *from);
cJSON *members_object(struct json *json, member_list *list, const void *from); /* for a KEY() */
bool members_read(const cJSON *object, struct arena *arena, member_list *list, void *to);
void members_read_leniently(const cJSON *object, struct arena *arena, member_list *list, void *to);

/* --- One value --- */

void member_bool(struct members *members, const char *name, bool *value);
void member_integer(struct members *members, const char *name, int64_t *value, int64_t least,
                    int64_t most);
void member_int(struct members *members, const char *name, int *value, int least, int most);

/* Any whole number, and one of at least 0. */
void member_any(struct members *members, const char *name, int64_t *value);
void member_count(struct members *members, const char *name, int64_t *value);

/* NAN and infinite are null, which reads as NAN; or are left out, in which case a member that is
 * missing reads as NAN. */
void member_number(struct members *members, const char *name, double *value);
void member_known_number(struct members *members, const char *name, double *value);

/* A text in a buffer, or in the arena. NULL is null. */
void member_text(struct members *members, const char *name, char *text, size_t size);
void member_string(struct members *members, const char *name, const char **text);

/* Null is a text that is empty, and a number below 0, which is read as -1. */
void member_text_or_null(struct members *members, const char *name, char *text, size_t size);
void member_count_or_null(struct members *members, const char *name, int64_t *value);

/* An enum of `count` values as its word, which word(value) says, or as its number. */
#define MEMBER_WORD(members, name, value, type, count, word)                                       \
    do {                                                                                           \
        const char *words_[count];                                                                 \
        int number_ = (int)*(value);                                                               \
        for (int i_ = 0; i_ < (int)(count); i_++) words_[i_] = word((type)i_);                     \
        member_word(members, name, &number_, words_, (int)(count));                                \
        if ((members)->reading)                                                                    \
            *(value) = (type)number_;                                                              \
    } while (0)
#define MEMBER_ENUM(members, name, value, type, count)                                             \
    do {                                                                                           \
        int number_ = (int)*(value);                                                               \
        member_int(members, name, &number_, 0, (int)(count)-1);                                    \
        if ((members)->reading)                                                                    \
            *(value) = (type)number_;                                                              \
    } while (0)

/* The same for words in a table. */
void member_word(struct members *members, const char *name, int *value, const char *const *words,
                 int count);

/* --- Arrays --- */

/* Arrays of known length. */
void member_integers(struct members *members, const char *name, int64_t *values, int64_t count);
void member_counts(struct members *members, const char *name, int64_t *values, int64_t count);
void member_numbers(struct members *members, const char *name, double *values, int64_t count);

/* An array of texts: *count when writing; when reading, new ones, at most `most`. */
void member_strings(struct members *members, const char *name, const char *const **texts,
                    int64_t *count, int64_t most);

/* --- Objects --- */

/* An object that is a member; if it is missing, its struct stays as it was. */
void member_object(struct members *members, const char *name, member_list *list,
                   const void *object);

/* One that is null, or missing when read, unless *is_known. */
void member_known_object(struct members *members, const char *name, member_list *list,
                         const void *object, bool *is_known);

/* An array of objects, one per row of `size` bytes: *count of them when writing, at most `most`
 * when reading. Returns the rows, which are read into `rows`, or into new ones if that is NULL. */
void *member_rows(struct members *members, const char *name, const void *rows, int64_t *count,
                  size_t size, int64_t most, member_list *list);

/* The same for a pointer to rows, *rows, which are new when reading. */
#define MEMBER_ROWS(members, name, rows, count, most, list)                                        \
    do {                                                                                           \
        if ((members)->reading)                                                                    \
            *(rows) = member_rows(members, name, NULL, count, sizeof **(rows), most, list);        \
        else                                                                                       \
            member_rows(members, name, *(rows), count, sizeof **(rows), most, list);               \
    } while (0)

/* Whether there is a member to go through; true when writing. For members that older files lack. */
bool member_is_there(const struct members *members, const char *name);
