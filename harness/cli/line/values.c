/* Values of options. Each function checks a text and stores it in the member that its row names, or
 * says what is allowed. `least` and `most` of the row are bounds, of a choice the number of its
 * first word.
 *
 * Numbers, sizes and durations are read by base/figures/number.h, so that settings and options take
 * the same forms. */
#include "harness/cli/line/values.h"

#include "harness/base/figures/number.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status value_text(void *member, const struct option_row *row, const char *value)
{
    (void)row;
    *(const char **)member = value;
    return STATUS_OK;
}

enum status value_boolean(void *member, const struct option_row *row, const char *value)
{
    *(bool *)member = value == NULL || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!*(bool *)member && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give true or false", row->name, value);

    return STATUS_OK;
}

enum status value_count(void *member, const struct option_row *row, const char *value)
{
    int64_t number;

    TRY(number_integer(&number, row->name, value, (int64_t)row->least, (int64_t)row->most));
    *(int *)member = (int)number;

    return STATUS_OK;
}

enum status value_unsigned(void *member, const struct option_row *row, const char *value)
{
    return number_unsigned(member, row->name, value);
}

enum status value_bytes(void *member, const struct option_row *row, const char *value)
{
    return number_bytes(member, row->name, value);
}

enum status value_seconds(void *member, const struct option_row *row, const char *value)
{
    return number_seconds(member, row->name, value, row->most);
}

enum status value_duration(void *member, const struct option_row *row, const char *value)
{
    return number_duration(member, row->name, value, row->most);
}

enum status value_rate(void *member, const struct option_row *row, const char *value)
{
    double *rate = member;
    char *end;

    *rate = strtod(value, &end);
    if (end == value || *end != '\0' || !(*rate > 0) || !isfinite(*rate))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give a number per second, as in 1.5e12", row->name, value);

    return STATUS_OK;
}

enum status value_real(void *member, const struct option_row *row, const char *value)
{
    double *real = member;
    char *end;

    *real = strtod(value, &end);
    if (end == value || *end != '\0' || !(*real >= 0) || !isfinite(*real))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give a number of at least 0, as in 1e-5", row->name,
             value);
    return STATUS_OK;
}

enum status value_percent(void *member, const struct option_row *row, const char *value)
{
    double *share = member;
    char *end;

    errno = 0;
    /* It takes "nan" and "inf" too, which the bounds below refuse. */
    *share = strtod(value, &end) / 100;
    if (errno != 0 || end == value || (*end != '\0' && strcmp(end, "%") != 0) ||
        !(*share >= row->least / 100 && *share <= row->most / 100))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give percent from %g%% to %g%%, as in 3%%", row->name,
             value, row->least, row->most);

    return STATUS_OK;
}

/* "a|b|c" as "a, b or c". */
static void print_words(char *text, size_t size, const char *words)
{
    text[0] = '\0';
    for (const char *word = words; *word != '\0';) {
        size_t letters = strcspn(word, "|");
        const char *next = word + letters + (word[letters] == '|');
        const char *between = *next == '\0' ? "" : strchr(next, '|') != NULL ? ", " : " or ";
        text_append(text, size, "%.*s%s", (int)letters, word, between);
        word = next;
    }
}

enum status value_choice(void *member, const struct option_row *row, const char *value)
{
    const char *word = row->value;
    size_t length = strlen(value);
    int number = (int)row->least;
    char words[160];

    for (; word != NULL; word = strchr(word, '|'), number++) {
        word += *word == '|';
        if (strncmp(word, value, length) != 0 || (word[length] != '|' && word[length] != '\0'))
            continue;
        *(int *)member = number;
        return STATUS_OK;
    }
    print_words(words, sizeof words, row->value);
    FAIL(STATUS_BAD_USAGE, "--%s=%s: give %s", row->name, value, words);
}

/* --- A regular expression --- */

enum status filter_take(void *member, const struct option_row *row, const char *value)
{
    struct filter *filter = member;
    char text[160];
    int error;

    if (value[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "--%s is empty: give a regular expression, as in --%s=gemm",
             row->name, row->name);
    /* It may be given twice: the last one counts. */
    filter_release(filter);
    error = regcomp(&filter->pattern, value, REG_EXTENDED | REG_NOSUB);
    filter->given = error == 0;
    if (error != 0) {
        regerror(error, &filter->pattern, text, sizeof text);
        FAIL(STATUS_BAD_USAGE, "--%s=%.100s is not a regular expression: %s", row->name, value,
             text);
    }

    return STATUS_OK;
}

bool filter_matches(const struct filter *filter, const char *name)
{
    return !filter->given || regexec(&filter->pattern, name, 0, NULL, 0) == 0;
}

void filter_release(struct filter *filter)
{
    if (filter->given)
        regfree(&filter->pattern);
    filter->given = false;
}
