/* Text in lines that fit. */
#ifndef HARNESS_TEXT_WRAP_H
#define HARNESS_TEXT_WRAP_H

#include <stdio.h>

/* Columns of the terminal behind `stream`, at most 100; 80 where it is none. */
int wrap_width(FILE *stream);

/* Columns that UTF-8 text takes, a character one. */
int wrap_columns(const char *text);

/* Prints `text` broken at spaces into lines of at most `width` columns. The cursor stands at column
 * `column`; further lines begin with `indent` spaces. Ends with a line feed. A word longer than a line
 * stays whole: it may be a path or a command. */
void wrap_print(FILE *stream, int column, int indent, int width, const char *text);

#endif
