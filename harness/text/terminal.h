/* The width and the colours of a terminal, or of the file in its place. */
#ifndef HARNESS_TEXT_TERMINAL_H
#define HARNESS_TEXT_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Whether `stream` gets colours: COLOR_AUTO means a terminal that is not "dumb", and NO_COLOR unset
 * or empty (https://no-color.org). */
bool console_is_coloured(enum color color, FILE *stream);

/* Whether the locale of the environment is one of UTF-8 (LC_ALL, else LC_CTYPE, else LANG). */
bool console_is_utf8(void);

/* Colours and weights, as escape sequences or as nothing. */
struct console {
    FILE *stream;
    int width; /* columns for sentences: wrap_width() */
    int room;  /* columns for tables and names: wrap_room() */
    const char *bold, *dim, *good, *bad, *doubtful, *plain;
};
struct console console_open(FILE *stream, enum color color);

#endif
