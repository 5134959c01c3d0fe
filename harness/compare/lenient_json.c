#include "harness/compare/lenient_json.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The file's bytes and a '\0' after them. */
static enum status read_whole(const char *path, char **text, size_t *length)
{
    enum status status = STATUS_OK;
    FILE *file = fopen(path, "rb");
    size_t size = 0, read;

    *text = NULL;
    *length = 0;
    if (file == NULL)
        FAIL(STATUS_IO, "%s cannot be opened: %s", path, strerror(errno));
    do {
        char *longer;
        if (*length + 1 >= size) {
            size = size > 0 ? 2 * size : 1 << 16;
            longer = realloc(*text, size);
            if (longer == NULL)
                FAIL(STATUS_OUT_OF_MEMORY, "no memory left to read %s", path);
            *text = longer;
        }
        read = fread(*text + *length, 1, size - *length - 1, file);
        *length += read;
    } while (read > 0);
    if (ferror(file))
        FAIL(STATUS_IO, "%s cannot be read: %s", path, strerror(errno));
    (*text)[*length] = '\0';

out:
    if (file != NULL)
        fclose(file);
    if (status != STATUS_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

/* Letters of a number that is none at `text`, its sign included; 0: it is something else. */
static size_t no_number(const char *text)
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

/* Replaces such words outside strings, in place. The shortest has three letters, where null needs four,
 * so an empty array takes the place: it is as little a number. */
static void blank_no_numbers(char *text)
{
    bool quoted = false;

    for (char *at = text; *at != '\0'; at++) {
        size_t length;
        if (quoted && *at == '\\' && at[1] != '\0') {
            at++;
            continue;
        }
        quoted = quoted != (*at == '"');
        length = quoted ? 0 : no_number(at);
        if (length == 0)
            continue;
        memset(at, ' ', length);
        at[0] = '[';
        at[length - 1] = ']';
        at += length - 1;
    }
}

static long line_of(const char *text, const char *end)
{
    long line = 1;

    for (; text < end; text++) line += *text == '\n';
    return line;
}

enum status lenient_json_read(cJSON **root, const char *path)
{
    enum status status = STATUS_OK;
    char *text = NULL;
    const char *end = NULL;
    size_t length;

    *root = NULL;
    TRY(read_whole(path, &text, &length));
    blank_no_numbers(text);
    *root = cJSON_ParseWithLengthOpts(text, length + 1, &end, 1);
    if (*root == NULL)
        FAIL(
            STATUS_BAD_INPUT,
            "%s is not JSON from line %ld on: give a file written by --benchmark_out or chokepoint",
            path, line_of(text, end != NULL ? end : text));

out:
    free(text);
    return status;
}
