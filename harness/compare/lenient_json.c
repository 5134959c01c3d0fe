#include "harness/compare/lenient_json.h"

#include "harness/base/json_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    json_words_blank(text, length);
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
