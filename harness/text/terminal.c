#include "harness/text/terminal.h"

#include "harness/text/wrap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool console_is_coloured(enum color color, FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return isatty(fileno(stream)) && (no_color == NULL || no_color[0] == '\0') &&
           terminal != NULL && strcmp(terminal, "dumb") != 0;
}

struct console console_open(FILE *stream, enum color color)
{
    struct console console = {
        stream, wrap_width(stream), wrap_room(stream), "", "", "", "", "", ""
    };

    if (!console_is_coloured(color, stream))
        return console;
    console.bold = "\033[1m";
    console.dim = "\033[2m";
    console.good = "\033[32m";
    console.bad = "\033[31m";
    console.doubtful = "\033[33m";
    console.plain = "\033[0m";
    return console;
}

bool console_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}
