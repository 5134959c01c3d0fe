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
    struct console coloured = { stream,     wrap_width(stream), "\033[1m",  "\033[2m",
                                "\033[32m", "\033[31m",         "\033[33m", "\033[0m" };
    struct console plain = { stream, wrap_width(stream), "", "", "", "", "", "" };

    return console_is_coloured(color, stream) ? coloured : plain;
}
