/* PyTorch appends what it knows of an operator to the range's text; words that begin such parts are
 * searched for, and the name ends at the first of them. */
#include "harness/desk/read/nsys/nsys_range_name.h"

#include "harness/base/status.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool begins(const char *text, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* --- Operators --- */

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
        if (begins(text, length, beginnings[i]))
            return true;
    return false;
}

static bool is_backward(const char *text, size_t length)
{
    static const char word[] = "Backward";
    const char *found = memmem(text, length, word, strlen(word));

    return begins(text, length, "autograd::engine::evaluate_function") ||
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
            if (after[i] == NULL && begins(at, (size_t)(end - at), parts[i])) {
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
    name->is_operator = (states || begins(text, length, "aten::")) &&
                        !is_annotation(text, length) &&
                        (sequence != NULL || begins(text, length, "autograd::") ||
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

/* --- Steps --- */

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
