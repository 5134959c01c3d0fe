/* The viewer lies in the program (cmake/viewer.cmake), but for its title and its document. A
 * document is deflated and becomes base64, so no markup can hide in it. */
#include "harness/cli/traces/html_page.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/utf8.h"
#include "harness/desk/read/input/deflate.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status html_page_try(const char *path)
{
    return atomic_file_try(path, "", 0);
}

enum status html_page_check(const struct flags *flags)
{
    if (flags->out == NULL)
        return STATUS_OK;
    if (flags->format != FORMAT_CONSOLE)
        FAIL(STATUS_BAD_USAGE, "--out=%s is a page, and has no --format", flags->out);
    return html_page_try(flags->out);
}

cJSON *html_page_document(struct json *json, const char *command, const char *about)
{
    cJSON *document = json_object(json, NULL, NULL);

    return JSON_ADD(json, document, KEY("command", command), KEY("about", about));
}

/* Four letters for each three bytes, with '=' where bytes are missing; returns their end. */
static char *base64(char *to, const char *from, size_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789+/";
    const unsigned char *bytes = (const unsigned char *)from;

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *to++ = letters[group >> 18];
        *to++ = letters[group >> 12 & 63];
        *to++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *to++ = left > 2 ? letters[group & 63] : '=';
    }
    return to;
}

static char *add_bytes(char *to, const char *from, size_t count)
{
    memcpy(to, from, count);
    return to + count;
}

/* *text is malloc'd and has `*bytes`. */
static enum status page_text(char **text, size_t *bytes, const struct json *json,
                             const cJSON *document)
{
    static const char title_mark[] = "@TITLE@", document_mark[] = "@DOCUMENT@";
    enum status status = STATUS_OK;
    const char *page = viewer_files[0].text, *end = page + viewer_files[0].bytes;
    const char *title = strstr(page, title_mark), *place = strstr(title, document_mark);
    char name[64], *printed = NULL, *deflated = NULL, *at;
    size_t count;

    *text = NULL;
    snprintf(name, sizeof name, "chokepoint %s", json_text_of(document, "command"));
    TRY_OUT(json_print(json, document, &printed));
    cJSON_Minify(printed);
    TRY_OUT(deflate_text(&deflated, &count, printed, strlen(printed), DEFLATE_ZLIB));
    TRY_OUT(rows_make(text, (int64_t)((size_t)(end - page) + sizeof name + (count + 2) / 3 * 4)));
    at = add_bytes(*text, page, (size_t)(title - page));
    at = add_bytes(at, name, strlen(name));
    title += strlen(title_mark);
    at = add_bytes(at, title, (size_t)(place - title));
    at = base64(at, deflated, count);
    place += strlen(document_mark);
    at = add_bytes(at, place, (size_t)(end - place));
    *bytes = (size_t)(at - *text);

out:
    free(printed);
    free(deflated);
    return status;
}

enum status html_page_write(const char *path, const struct json *json, const cJSON *document)
{
    enum status status = STATUS_OK;
    char *text = NULL;
    size_t bytes;

    TRY_OUT(page_text(&text, &bytes, json, document));
    TRY_OUT(atomic_file_write(path, text, bytes));
    utf8_print(stdout, "page in %s (%.0f kB)", path, (double)bytes / 1e3);

out:
    free(text);
    return status;
}
