/* A text that does not fit its buffer ends with a mark, and nothing is appended to it after that:
 * so no caller has to count. */
#include "harness/base/words/text.h"

#include "harness/base/words/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "..." /* the end of a text that did not fit */

/* Up to three bytes stay free behind the mark, since no character is cut in two. */
static bool is_cut(const char *text, size_t length, size_t size)
{
    return length >= strlen(MARK) && size - length <= sizeof MARK &&
           strcmp(text + length - strlen(MARK), MARK) == 0;
}

bool text_append_list(char *text, size_t size, const char *format, va_list arguments)
{
    size_t length = strnlen(text, size);
    int more;

    if (length == size || is_cut(text, length, size))
        return false;
    more = vsnprintf(text + length, size - length, format, arguments);
    if (more >= 0 && (size_t)more < size - length)
        return true;
    text[size - 1] = '\0';
    length = size > sizeof MARK ? utf8_cut(text, size - sizeof MARK) : 0;
    snprintf(text + length, size - length, "%s", MARK);
    return false;
}

bool text_append(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    bool fits;

    va_start(arguments, format);
    fits = text_append_list(text, size, format, arguments);
    va_end(arguments);
    return fits;
}

bool text_join(char *text, size_t size, const char *separator, const char *format, ...)
{
    va_list arguments;
    bool fits;

    if (text[0] != '\0' && !text_append(text, size, "%s", separator))
        return false;
    va_start(arguments, format);
    fits = text_append_list(text, size, format, arguments);
    va_end(arguments);
    return fits;
}

enum status text_make_list(char **text, const char *format, va_list arguments)
{
    if (vasprintf(text, format, arguments) >= 0)
        return STATUS_OK;
    *text = NULL;
    return status_fail(STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "no memory left for a text");
}

enum status text_make(char **text, const char *format, ...)
{
    va_list arguments;
    enum status status;

    va_start(arguments, format);
    status = text_make_list(text, format, arguments);
    va_end(arguments);
    return status;
}

bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), letters = strlen(ending);

    return length > letters && strcmp(name + length - letters, ending) == 0;
}
