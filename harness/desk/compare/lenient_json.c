#include "harness/desk/compare/lenient_json.h"

#include "harness/base/words/json_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    FILE *file = fopen(path, "re");
    size_t room = 0;
    ssize_t length;

    *root = NULL;
    if (file == NULL)
        FAIL_OUT(STATUS_IO, "%s cannot be opened: %s", path, strerror(errno));
    length = getdelim(&text, &room, '\0', file);
    if (length < 0 && !feof(file))
        FAIL_OUT(errno == ENOMEM ? STATUS_OUT_OF_MEMORY : STATUS_IO, "%s cannot be read: %s", path,
                 strerror(errno));
    if (length > 0 && text[length - 1] != '\0') { /* JSON has no '\0' */
        json_words_blank(text, (size_t)length);
        *root = cJSON_ParseWithLengthOpts(text, (size_t)length + 1, &end, 1);
    }
    if (*root == NULL)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "%s is not JSON from line %ld on: give a file written by --benchmark_out or chokepoint",
            path, line_of(text, end != NULL ? end : text));

out:
    if (file != NULL)
        fclose(file);
    free(text);
    return status;
}
