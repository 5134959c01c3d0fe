#include "harness/base/words/json_words.h"

#include "harness/base/status.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

size_t json_words_length(const char *text)
{
    static const char *const words[] = { "infinity", "inf", "nan" };
    size_t sign = text[0] == '-' || text[0] == '+';

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t length = strlen(words[i]);
        if (strncasecmp(text + sign, words[i], length) == 0 &&
            !isalnum((unsigned char)text[sign + length]))
            return sign + length;
    }
    return 0;
}

size_t json_words_blank(char *text, size_t length)
{
    bool quoted = false;
    size_t count = 0;

    for (char *at = text; at < text + length; at++) {
        size_t letters;
        if (quoted && *at == '\\') {
            at++;
            continue;
        }
        quoted = quoted != (*at == '"');
        letters = quoted ? 0 : json_words_length(at);
        if (letters == 0)
            continue;
        memset(at, ' ', letters);
        at[0] = '[';
        at[letters - 1] = ']';
        at += letters - 1;
        count++;
    }
    return count;
}
