/* Splits PTX into words, so that the reader sees neither blanks nor comments. A word points into
 * the text, and has no copy of it; its line is counted while the text is passed, for messages. */
#include "harness/simt/reader/ptx_reader.h"

#include "harness/base/rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A name may have "::" in it, as .L1::no_allocate has. */
static bool goes_on(const char *at, const char *end)
{
    return isalnum((unsigned char)*at) || strchr("_$%.", *at) != NULL ||
           (*at == ':' && at + 1 < end && (at[1] == ':' || at[-1] == ':'));
}

static const char *skip_comment(const char *at, const char *end, int *line)
{
    if (at[1] == '/') {
        while (at < end && *at != '\n') at++;
        return at;
    }
    for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/'); at++) *line += *at == '\n';
    return at + 2 < end ? at + 2 : end;
}

/* Where the word ends. A string is one word with its quotes. A minus belongs to the digits after
 * it; a colon is part of a name only in the middle of it, and a label's is a word of its own. A
 * directive ends where the next one begins: ".reg.b32". */
static const char *word_end(const char *at, const char *end)
{
    const char *from = at;

    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++) {
        }
        return at < end ? at + 1 : end;
    }
    if (*at == '-' && at + 1 < end && isdigit((unsigned char)at[1]))
        at++;
    else if (*at == ':' || !goes_on(at, end))
        return at + 1;
    while (at < end && goes_on(at, end) && !(*from == '.' && *at == '.' && at > from)) at++;
    return at > from ? at : from + 1;
}

enum status words_of(struct ptx_word **words, int64_t *count, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    int64_t room = 0;
    int line = 1;

    *words = NULL;
    *count = 0;
    for (const char *at = text; at < end;) {
        const char *from = at;
        if (*at == '\n' || isspace((unsigned char)*at) || *at == '\0') {
            line += *at == '\n';
            at++;
            continue;
        }
        if (*at == '/' && at + 1 < end && (at[1] == '/' || at[1] == '*')) {
            at = skip_comment(at, end, &line);
            continue;
        }
        at = word_end(at, end);
        TRY(rows_grow(words, *count + 1, &room));
        (*words)[(*count)++] = (struct ptx_word){ from, (int)(at - from), line };
    }
    return STATUS_OK;
}

bool word_is(struct ptx_word word, const char *text)
{
    return strlen(text) == (size_t)word.length && memcmp(word.text, text, (size_t)word.length) == 0;
}

void word_copy(struct ptx_word word, char *to, size_t size)
{
    size_t length = (size_t)word.length < size - 1 ? (size_t)word.length : size - 1;

    memcpy(to, word.text, length);
    to[length] = '\0';
}

bool word_number(struct ptx_word word, uint64_t *value)
{
    char text[40], *end;
    bool bits;

    word_copy(word, text, sizeof text);
    bits = text[0] == '0' &&
           (tolower((unsigned char)text[1]) == 'f' || tolower((unsigned char)text[1]) == 'd');
    /* 0f3F800000 is a float by its bits: strtoull() alone would stop at the 'f'. */
    if (bits)
        *value = strtoull(text + 2, &end, 16);
    else if (text[0] == '-')
        *value = (uint64_t)strtoll(text, &end, 0);
    else
        *value = strtoull(text, &end, 0);
    /* PTX marks unsigned constants so ("Integer Constants"). */
    if (*end == 'U')
        end++;
    return end != text && *end == '\0' && (isdigit((unsigned char)text[0]) || text[0] == '-');
}
