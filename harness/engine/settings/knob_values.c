/* Reads and writes the values of settings. A kind of value is a row: its size, how it is read, how
 * it is written. A value that is written is read back as the same value, so settings can be kept as
 * text in results and saved states. */
#include "harness/engine/settings/knob_values.h"

#include "harness/base/figures/number.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_PER_CORE_MAX = 64 };

static bool within(const struct knob *knob, double number)
{
    return number >= knob->least && number <= knob->most;
}

/* Digits and nothing else, up to *end. */
static bool parse_digits(const char *text, uint64_t *number, const char **end)
{
    char *stopped;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &stopped, 10);
    *end = stopped;
    return errno == 0;
}

/* --- Choices: the words of a list "a|b|c" --- */

int knob_word_find(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (int i = 0;; i++) {
        size_t here = strcspn(list, "|");
        if (here == length && memcmp(list, word, length) == 0)
            return i;
        if (list[here] == '\0')
            return -1;
        list += here + 1;
    }
}

static int word_print(const char *list, unsigned index, char *text, size_t size)
{
    while (index-- > 0) list += strcspn(list, "|") + 1;
    return snprintf(text, size, "%.*s", (int)strcspn(list, "|"), list);
}

_Static_assert(sizeof(enum model_role) == sizeof(unsigned), "choices are read as unsigned");

static bool parse_choice(const struct knob *knob, const char *text, union knob_value *value)
{
    int word = knob_word_find(knob->values, text);

    value->choice = (unsigned)word;
    return word >= 0;
}

static int print_choice(const struct knob *knob, const union knob_value *value, char *text,
                        size_t size)
{
    return word_print(knob->values, value->choice, text, size);
}

static bool parse_yes_no(const struct knob *knob, const char *text, union knob_value *value)
{
    int word = knob_word_find(knob->values, text);

    value->yes = word == 1;
    return word >= 0;
}

static int print_yes_no(const struct knob *knob, const union knob_value *value, char *text,
                        size_t size)
{
    return word_print(knob->values, value->yes, text, size);
}

/* --- Numbers --- */

static bool parse_count(const struct knob *knob, const char *text, union knob_value *value)
{
    const char *end;
    uint64_t number;

    if (knob->one != NULL && strcmp(text, knob->one) == 0) {
        value->count = 1;
        return true;
    }
    if (!parse_digits(text, &number, &end) || *end != '\0' || !within(knob, (double)number))
        return false;
    value->count = (int)number;
    return true;
}

static int print_count(const struct knob *knob, const union knob_value *value, char *text,
                       size_t size)
{
    if (knob->one != NULL && value->count == 1)
        return snprintf(text, size, "%s", knob->one);
    return snprintf(text, size, "%d", value->count);
}

/* "4", "cores" or "8xcores": the last two as -1 and -8. */
static bool parse_workers(const struct knob *knob, const char *text, union knob_value *value)
{
    const char *end;
    uint64_t number;

    if (strcmp(text, "cores") == 0) {
        value->count = -1;
        return true;
    }
    if (!parse_digits(text, &number, &end) || strcmp(end, "xcores") != 0)
        return parse_count(knob, text, value);
    if (number < 1 || number > WORKERS_PER_CORE_MAX)
        return false;
    value->count = -(int)number;
    return true;
}

static int print_workers(const struct knob *knob, const union knob_value *value, char *text,
                         size_t size)
{
    if (value->count >= 0)
        return print_count(knob, value, text, size);
    return value->count == -1 ? snprintf(text, size, "cores")
                              : snprintf(text, size, "%dxcores", -value->count);
}

/* Ranks count from 0, but from 1 in the member, whose 0 means none. */
static bool parse_rank(const struct knob *knob, const char *text, union knob_value *value)
{
    const char *end;
    uint64_t number;

    if (!parse_digits(text, &number, &end) || *end != '\0' || !within(knob, (double)number))
        return false;
    value->count = (int)number + 1;
    return true;
}

static int print_rank(const struct knob *knob, const union knob_value *value, char *text,
                      size_t size)
{
    (void)knob;
    return snprintf(text, size, "%d", value->count - 1);
}

static bool parse_real(const struct knob *knob, const char *text, union knob_value *value)
{
    char *end;

    if (strspn(text, "0123456789.eE+-") != strlen(text) || strchr("+-", *text) != NULL)
        return false; /* no blanks, no "nan", no hexadecimal digits */
    value->real = strtod(text, &end);
    return end != text && *end == '\0' && within(knob, value->real);
}

/* With as few digits as read back the same; 17 always do. */
static int print_real(const struct knob *knob, const union knob_value *value, char *text,
                      size_t size)
{
    double number = value->real;
    int length = 0;
    (void)knob;

    for (int digits = 1; digits <= 17; digits++) {
        length = snprintf(text, size, "%.*g", digits, number);
        if (strtod(text, NULL) >= number && strtod(text, NULL) <= number)
            break;
    }
    return length;
}

static bool parse_bytes(const struct knob *knob, const char *text, union knob_value *value)
{
    if (strcmp(text, "role") == 0) {
        value->bytes = MEMORY_BUDGET_ROLE;
        return true;
    }
    return number_read_bytes(text, &value->bytes) && within(knob, (double)value->bytes);
}

/* In the largest unit that divides it. */
static int print_bytes(const struct knob *knob, const union knob_value *value, char *text,
                       size_t size)
{
    static const struct {
        const char *suffix;
        int64_t bytes;
    } units[] = { { "GiB", 1 << 30 }, { "MiB", 1 << 20 }, { "KiB", 1 << 10 }, { "", 1 } };
    size_t i = 0;
    (void)knob;

    if (value->bytes == MEMORY_BUDGET_ROLE)
        return snprintf(text, size, "role");
    while (value->bytes % units[i].bytes != 0) i++;
    return snprintf(text, size, "%lld%s", (long long)(value->bytes / units[i].bytes),
                    units[i].suffix);
}

static bool parse_seed(const struct knob *knob, const char *text, union knob_value *value)
{
    const char *end;
    (void)knob;

    return parse_digits(text, &value->seed, &end) && *end == '\0';
}

static int print_seed(const struct knob *knob, const union knob_value *value, char *text,
                      size_t size)
{
    (void)knob;
    return snprintf(text, size, "%llu", (unsigned long long)value->seed);
}

/* --- By kind --- */

static const struct kind {
    size_t size;
    bool (*parse)(const struct knob *knob, const char *text, union knob_value *value);
    int (*print)(const struct knob *knob, const union knob_value *value, char *text, size_t size);
} kinds[] = {
    [KNOB_CHOICE] = { sizeof(unsigned), parse_choice, print_choice },
    [KNOB_YES_NO] = { sizeof(bool), parse_yes_no, print_yes_no },
    [KNOB_COUNT] = { sizeof(int), parse_count, print_count },
    [KNOB_WORKERS] = { sizeof(int), parse_workers, print_workers },
    [KNOB_RANK] = { sizeof(int), parse_rank, print_rank },
    [KNOB_REAL] = { sizeof(double), parse_real, print_real },
    [KNOB_BYTES] = { sizeof(int64_t), parse_bytes, print_bytes },
    [KNOB_SEED] = { sizeof(uint64_t), parse_seed, print_seed },
};

size_t knob_value_size(const struct knob *knob)
{
    return kinds[knob->kind].size;
}

bool knob_value_parse(const struct knob *knob, const char *text, union knob_value *value)
{
    memset(value, 0, sizeof *value);
    if (knob->zero != NULL && strcmp(text, knob->zero) == 0)
        return true;
    return kinds[knob->kind].parse(knob, text, value);
}

int knob_value_print(const struct knob *knob, const union knob_value *value, char *text,
                     size_t size)
{
    static const union knob_value zero;

    if (knob->zero != NULL && memcmp(value, &zero, knob_value_size(knob)) == 0)
        return snprintf(text, size, "%s", knob->zero);
    return kinds[knob->kind].print(knob, value, text, size);
}

void knob_value_advice(const struct knob *knob, char *text, size_t size)
{
    const char *word = knob->values, *before = "";

    text[0] = '\0';
    for (;;) {
        size_t length = strcspn(word, "|");

        text_append(text, size, "%s", before);
        /* Appends one of the alternatives in knob->values: a range, SIZE, N, or a word as it is. */
        const char *dots = memmem(word, length, "..", 2);
        bool number = strspn(word, "0123456789.e-") >= length;
        if (length == 4 && memcmp(word, "SIZE", 4) == 0)
            text_append(text, size, "a size such as 512MiB or 2GiB");
        else if (length == 1 && *word == 'N')
            text_append(text, size, "a number from %g to %g", knob->least, knob->most);
        else if (dots == NULL)
            text_append(text, size, "%.*s", (int)length, word);
        else
            text_append(text, size, "%s%.*s to %.*s", number ? "a number from " : "",
                        (int)(dots - word), word, (int)(word + length - dots - 2), dots + 2);
        if (word[length] == '\0')
            break;
        word += length + 1;
        before = strchr(word, '|') != NULL ? ", " : " or ";
    }
}
