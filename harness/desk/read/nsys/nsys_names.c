/* The strings of an export, and the names in them. Strings are kept by id. Some uses spell a name
 * differently; each such spelling is made once, when it is first needed. */
#include "harness/desk/read/nsys/nsys_names.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- The table --- */

struct gathering {
    struct nsys_names *names;
    struct trace_rows *rows;
};

static enum status take_string(void *context, sqlite3_value **row)
{
    struct gathering *gathering = context;
    struct nsys_names *names = gathering->names;
    struct nsys_string string = { .id = database_integer(row[0], -1) };
    size_t length;
    const char *value = database_text(row[1], &length);

    if (value == NULL || !trace_rows_have_room(gathering->rows, names->count))
        return STATUS_OK;
    TRY(trace_rows_name(gathering->rows, value, length, &string.names[NSYS_PLAIN]));
    TRY(rows_grow(&names->strings, names->count + 1, &names->room));
    names->strings[names->count++] = string;

    return STATUS_OK;
}

COMPARATOR(by_id, struct nsys_string, ASCENDING(id))

enum status nsys_names_read(struct nsys_names *names, struct database *database,
                            struct trace_rows *rows)
{
    static const char *const columns[] = { "id", "value" };
    struct gathering gathering = { names, rows };
    enum status status = database_scan(database, "StringIds", columns, (int)ARRAY_SIZE(columns),
                                       take_string, &gathering);

    sort_items(names->strings, names->count, sizeof *names->strings, by_id);
    return status;
}

void nsys_names_release(struct nsys_names *names)
{
    free(names->strings);
}

/* Ids mostly count up from 1 or 0. */
static struct nsys_string *find_string(struct nsys_names *names, int64_t id)
{
    struct nsys_string key = { .id = id };
    uint64_t guess;

    if (names->count == 0)
        return NULL;
    guess = (uint64_t)id - (uint64_t)names->strings[0].id;
    if (guess < (uint64_t)names->count && names->strings[guess].id == id)
        return &names->strings[guess];
    return bsearch(&key, names->strings, (size_t)names->count, sizeof key, by_id);
}

enum status nsys_name(struct nsys_names *names, struct trace_rows *rows, sqlite3_value *id,
                      enum nsys_use use, uint32_t *name)
{
    struct nsys_string *string = find_string(names, database_integer(id, INT64_MIN));
    char changed[NAME_BYTES];
    const char *text;
    size_t length;

    *name = 0;
    if (string == NULL)
        return STATUS_OK;
    if (string->names[use] == 0 && use != NSYS_PLAIN) {
        text = trace_file_name(rows->file, string->names[NSYS_PLAIN]);
        length = use == NSYS_CALL ? nsys_call_length(text, strlen(text))
                                  : nsys_kernel_name(changed, text, strlen(text));
        TRY(trace_rows_name(rows, use == NSYS_CALL ? text : changed, length, &string->names[use]));
    }
    *name = string->names[use];

    return STATUS_OK;
}

/* --- Calls --- */

static bool ends(const char *name, size_t length, const char *ending)
{
    size_t size = strlen(ending);

    return length > size && memcmp(name + length - size, ending, size) == 0;
}

/* Names of the driver may end in _v2 themselves: nsys appends versions of four digits and more. */
size_t nsys_call_length(const char *name, size_t length)
{
    enum { DIGITS_LEAST = 4 };
    size_t digits;

    if (ends(name, length, "_ptsz"))
        length -= strlen("_ptsz");
    for (digits = 0; digits < length && isdigit((unsigned char)name[length - 1 - digits]);)
        digits++;
    if (digits >= DIGITS_LEAST && ends(name, length - digits, "_v"))
        length -= digits + strlen("_v");
    return length;
}

/* --- Kernels --- */

/* A cast in front of a number, and how CUPTI ends such a number. */
static const struct cast {
    const char *text, *ending;
} casts[] = {
    { "(int)", "" },
    { "(bool)", "" },
    { "(unsigned int)", "u" },
    { "(long)", "l" },
    { "(unsigned long)", "ul" },
    { "(short)", "" },
};

static bool begins(const char *at, const char *end, const char *text)
{
    return (size_t)(end - at) >= strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

static size_t put(char *text, size_t length, const char *bytes, size_t count)
{
    if (length + count >= NAME_BYTES)
        count = NAME_BYTES - 1 - length;
    memcpy(text + length, bytes, count);
    return length + count;
}

/* Takes a cast and its number; returns the place behind, or NULL: there is none. */
static const char *take_cast(char *text, size_t *length, const char *at, const char *end)
{
    for (size_t i = 0; i < ARRAY_SIZE(casts); i++) {
        const char *number = at + strlen(casts[i].text), *after = number;
        if (!begins(at, end, casts[i].text))
            continue;
        if (after < end && *after == '-')
            after++;
        while (after < end && isdigit((unsigned char)*after)) after++;
        if (after == number)
            return NULL;
        if (strcmp(casts[i].text, "(bool)") == 0) {
            const char *word = *number == '0' ? "false" : "true";
            *length = put(text, *length, word, strlen(word));
            return after;
        }
        *length = put(text, *length, number, (size_t)(after - number));
        *length = put(text, *length, casts[i].ending, strlen(casts[i].ending));
        return after;
    }
    return NULL;
}

/* "[lambda(float) (instance 1)]" is "{lambda(float)#1}". */
static const char *take_lambda(char *text, size_t *length, const char *at, const char *end)
{
    static const char instance[] = " (instance ";
    const char *close = memmem(at, (size_t)(end - at), instance, strlen(instance)), *number, *after;

    if (!begins(at, end, "[lambda(") || close == NULL)
        return NULL;
    number = after = close + strlen(instance);
    while (after < end && isdigit((unsigned char)*after)) after++;
    if (!begins(after, end, ")]"))
        return NULL;
    *length = put(text, *length, "{", 1);
    *length = put(text, *length, at + 1, (size_t)(close - at - 1));
    *length = put(text, *length, "#", 1);
    *length = put(text, *length, number, (size_t)(after - number));
    *length = put(text, *length, "}", 1);
    return after + 2;
}

size_t nsys_kernel_name(char *text, const char *name, size_t length)
{
    static const char unnamed[] = "<unnamed>", anonymous[] = "(anonymous namespace)";
    const char *at = name, *end = name + length, *after;
    size_t written = 0;

    while (at < end && written < NAME_BYTES - 1) {
        after = NULL;
        if (*at == '(')
            after = take_cast(text, &written, at, end);
        else if (*at == '[')
            after = take_lambda(text, &written, at, end);
        else if (begins(at, end, unnamed)) {
            written = put(text, written, anonymous, strlen(anonymous));
            after = at + strlen(unnamed);
        }
        if (after == NULL)
            text[written++] = *at++;
        else
            at = after;
    }
    return written;
}

/* --- Copies --- */

const char *nsys_copy_name(char text[80], int64_t kind, int64_t from, int64_t to)
{
    static const char *const kinds[] = { NULL,   "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                         "AtoD", "DtoA", "DtoD", "HtoH", "PtoP" };
    static const char *const memories[] = {
        "Pageable", "Pinned",        "Device",         "Array",
        "Managed",  "Device Static", "Managed Static", "Unknown"
    };
    int64_t last = (int64_t)ARRAY_SIZE(memories) - 1;

    if (kind < 0 || kind >= (int64_t)ARRAY_SIZE(kinds) || kinds[kind] == NULL)
        return NULL;
    snprintf(text, 80, "Memcpy %s (%s -> %s)", kinds[kind],
             memories[from >= 0 && from < last ? from : last],
             memories[to >= 0 && to < last ? to : last]);
    return text;
}

/* --- The text of ranges --- */

/* PyTorch appends what it knows of an operator to the range's text; words that begin such parts are
 * searched for, and the name ends at the first of them. */

static int64_t number_at(const char *at, const char *end)
{
    int64_t number = 0;

    if (at == NULL || at == end || !isdigit((unsigned char)*at))
        return -1;
    for (; at < end && isdigit((unsigned char)*at) && number < INT64_MAX / 100; at++)
        number = 10 * number + (*at - '0');
    return number;
}

/* "[[2, 3], []]" without blanks, up to its last bracket. */
static void take_dims(struct nsys_range_name *name, const char *at, const char *end)
{
    int depth = 0;

    if (at == NULL || at == end || *at != '[')
        return;
    for (; at < end && name->dims_length < NSYS_DIMS_MOST; at++) {
        depth += (*at == '[') - (*at == ']');
        if (*at != ' ')
            name->dims[name->dims_length++] = *at;
        if (depth == 0)
            return;
    }
    memcpy(name->dims + name->dims_length, "...", 3);
    name->dims_length += 3;
}

/* record_function() marks these; Kineto has them as annotations. */
static bool is_annotation(const char *text, size_t length)
{
    static const char *const beginnings[] = { "Optimizer.", "enumerate(", "ProfilerStep#",
                                              "nccl:",      "gloo:",      "mpi:" };

    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
        if (begins(text, text + length, beginnings[i]))
            return true;
    return false;
}

static bool is_backward(const char *text, size_t length)
{
    static const char word[] = "Backward";
    const char *found = memmem(text, length, word, strlen(word));

    return begins(text, text + length, "autograd::engine::evaluate_function") ||
           (found != NULL &&
            (found + strlen(word) == text + length || isdigit((unsigned char)found[strlen(word)])));
}

static bool is_loading(const char *text, size_t length)
{
    static const char *const names[] = { "load",       "loading",    "data_loading", "data loading",
                                         "dataloader", "data_load",  "load_data",    "load data",
                                         "load_batch", "load batch", "data" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (length == strlen(names[i]) && strncasecmp(text, names[i], length) == 0)
            return true;
    return false;
}

/* The parts that may follow an operator's name. */
static const char *const parts[] = { ", seq = ", ", stashed seq = ", ", op_id = ", ", sizes = ",
                                     ", input_op_ids = " };
enum { SEQUENCE, STASHED, OP_ID, SIZES, WORDS = ARRAY_SIZE(parts) };

/* Finds the places behind the words; NULL: a word is not there. Returns where the first begins. */
static const char *find_words(const char *after[WORDS], const char *text, const char *end)
{
    const char *first = end;

    for (const char *at = text; (at = memchr(at, ',', (size_t)(end - at))) != NULL; at++)
        for (size_t i = 0; i < WORDS; i++)
            if (after[i] == NULL && begins(at, end, parts[i])) {
                after[i] = at + strlen(parts[i]);
                first = first == end ? at : first;
            }
    return first;
}

void nsys_range_name(struct nsys_range_name *name, const char *text, size_t length)
{
    const char *after[WORDS] = { NULL }, *end = text + length, *stop = find_words(after, text, end),
               *sequence;
    bool states = stop < end;

    name->text = text;
    name->length = length = (size_t)(stop - text);
    name->sequence = -1;
    name->is_backward = false;
    name->dims_length = 0;
    sequence = after[SEQUENCE] != NULL ? after[SEQUENCE] : after[STASHED];
    /* Users' own names have blanks, and no number in autograd's sequence. */
    name->is_operator = (states || begins(text, text + length, "aten::")) &&
                        !is_annotation(text, length) &&
                        (sequence != NULL || begins(text, text + length, "autograd::") ||
                         memchr(text, ' ', length) == NULL);
    if (name->is_operator) {
        name->sequence = number_at(sequence, end);
        name->is_backward = is_backward(text, length);
        take_dims(name, after[SIZES], end);
    } else if (is_loading(text, length)) {
        name->text = "data";
        name->length = strlen(name->text);
    }
}

/* --- Ranges that are steps --- */

static bool is_separator(char byte)
{
    return byte != '\0' && strchr(" _-#:=.[(", byte) != NULL;
}

/* Whether nothing but "train" stands before the word. */
static bool is_alone(const char *text, size_t before)
{
    static const char *const beginnings[] = { "", "train_", "training_", "train ", "training " };

    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
        if (before == strlen(beginnings[i]) && strncasecmp(text, beginnings[i], before) == 0)
            return true;
    return false;
}

bool nsys_range_is_step(const struct nsys_range_name *name, int64_t *number)
{
    static const struct {
        const char *word;
        bool needs_number;
    } words[] = { { "step", false },
                  { "iteration", false },
                  { "iter", false },
                  { "batch", true },
                  { "sample", true } };
    const char *text = name->text, *end = text + name->length;

    if (name->length > 0 && text[0] == '{') /* an operator's, by DLProf or PyProf */
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t length = strlen(words[i].word);
        for (size_t at = 0; at + length <= name->length; at++) {
            const char *after = text + at + length;
            if (strncasecmp(text + at, words[i].word, length) != 0 ||
                (at > 0 && isalpha((unsigned char)text[at - 1])))
                continue;
            while (after < end && is_separator(*after)) after++;
            *number = number_at(after, end);
            if (*number >= 0 || (!words[i].needs_number && after == end && is_alone(text, at)))
                return true;
        }
    }
    return false;
}

/* FNV-1a. */
uint64_t nsys_range_kind(const struct nsys_range_name *name)
{
    uint64_t hash = 14695981039346656037U;

    for (size_t i = 0; i < name->length; i++)
        if (!isdigit((unsigned char)name->text[i]))
            hash = (hash ^ (unsigned char)name->text[i]) * 1099511628211U;
    return hash;
}
