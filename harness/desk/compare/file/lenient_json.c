/* Programs write NaN and Infinity, which JSON lacks: those words are blanked before cJSON reads the
 * text. An error is told by its line. */
#include "harness/desk/compare/file/lenient_json.h"

#include "harness/base/words/json_words.h"
#include "harness/desk/compare/file/other_tools.h"
#include "harness/text/json.h"

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

/* `text` has `length` bytes, and a '\0' after them. */
static enum status parse_text(cJSON **root, const char *path, char *text, size_t length)
{
    const char *end = text;

    if (length > 0 && text[length - 1] != '\0') { /* JSON has no '\0' */
        json_words_blank(text, length);
        TRY(json_parse(root, text, &end, false));
    }
    end = end != NULL ? end : text;
    if (*root != NULL)
        end += strspn(end, " \t\r\n");
    if (*root != NULL && *end == '\0')
        return STATUS_OK;
    if (*root != NULL && (*end == '{' || *end == '['))
        FAIL(
            STATUS_BAD_INPUT,
            "%s has several documents, the second from line %ld on: give each run as a file of its "
            "own, since --benchmark_out writes a file anew for each",
            path, line_of(text, end));
    FAIL(STATUS_BAD_INPUT,
         "%s is not JSON from line %ld on: give a file written by --benchmark_out or chokepoint",
         path, line_of(text, end));
}

enum status lenient_json_read(cJSON **root, const char *path)
{
    enum status status = STATUS_OK;
    char *text = NULL;
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
    if (length > 0 && other_tools_by_bytes(text, (size_t)length) != NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is %s", path, other_tools_by_bytes(text, (size_t)length));
    TRY_OUT(parse_text(root, path, text, length > 0 ? (size_t)length : 0));

out:
    if (file != NULL)
        fclose(file);
    free(text);
    if (status != STATUS_OK) {
        cJSON_Delete(*root);
        *root = NULL;
    }
    return status;
}
