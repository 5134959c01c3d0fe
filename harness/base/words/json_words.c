/* Words are looked for outside of strings only, and blanked in place by an array, which parsers
 * take. */
#include "harness/base/words/json_words.h"

#include "harness/base/status.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* The suffix that C libraries write after "nan": "(ind)", "(0x8000)". */
static size_t kind_length(const char *text)
{
    size_t length = 1;

    if (text[0] != '(')
        return 0;
    while (isalnum((unsigned char)text[length])) length++;
    return text[length] == ')' ? length + 1 : 0;
}

size_t json_words_length(const char *text)
{
    static const char *const words[] = { "infinity", "inf", "nan" };
    size_t sign = text[0] == '-' || text[0] == '+';

    if ((text[sign] | 0x20) != 'i' && (text[sign] | 0x20) != 'n')
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t length = strlen(words[i]);
        if (strncasecmp(text + sign, words[i], length) == 0 &&
            !isalnum((unsigned char)text[sign + length]))
            return sign + length + kind_length(text + sign + length);
    }
    return 0;
}

size_t json_words_blank(char *text, size_t length)
{
    char *at = text, *const end = text + length;
    size_t count = 0;

    while (at < end) {
        size_t letters = *at != '"' ? json_words_length(at) : 0;
        if (*at == '"') {
            for (at++; at < end && *at != '"'; at++) at += *at == '\\';
            at++; /* behind the string, or beyond the end of one that does not end */
            continue;
        }
        if (letters > 0) {
            memset(at, ' ', letters);
            at[0] = '[';
            at[letters - 1] = ']';
            count++;
        }
        at += letters > 0 ? letters : 1;
    }
    return count;
}
