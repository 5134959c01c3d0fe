/* All formats. A new one is a file, a line in CMakeLists.txt and a line here. */
#include "harness/desk/read/formats.h"

#include "harness/base/words/text.h"

#include <stdio.h>

/* names: those with the surest signs first; the last gets what nobody recognises */
#define FORMATS(X) X(nsys) X(nsys_report) X(digest) X(kineto)

#define DECLARE(name) extern const struct trace_format name##_format;
FORMATS(DECLARE)

#define ROW(name) &name##_format,
const struct trace_format *const trace_formats[] = { FORMATS(ROW) NULL };

static bool has_ending(const struct trace_format *format, const char *name)
{
    for (const char *const *ending = format->endings; *ending != NULL; ending++)
        if (ends_in(name, *ending))
            return true;
    return false;
}

const struct trace_format *format_of(const struct trace_format *const formats[], const char *bytes,
                                     size_t count, const char *path)
{
    for (int i = 0; formats[i] != NULL; i++)
        if (formats[i]->recognises(bytes, count))
            return formats[i];
    while (formats[1] != NULL && !has_ending(formats[0], path)) formats++;
    return formats[0];
}

bool formats_have_ending(const struct trace_format *const formats[], const char *name)
{
    while (*formats != NULL && ((*formats)->needs_export || !has_ending(*formats, name))) formats++;
    return *formats != NULL;
}

void formats_endings(char text[FORMAT_ENDINGS_TEXT], const struct trace_format *const formats[])
{
    int length = 0;

    for (; *formats != NULL; formats++)
        for (const char *const *ending = (*formats)->endings;
             !(*formats)->needs_export && *ending != NULL; ending++)
            if (length < FORMAT_ENDINGS_TEXT)
                length += snprintf(text + length, (size_t)(FORMAT_ENDINGS_TEXT - length), "%s%s",
                                   length > 0 ? " or " : "", *ending);
}
