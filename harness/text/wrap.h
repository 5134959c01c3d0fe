/* Text in lines that fit. */
#pragma once

#include <stdio.h>

/* Columns of the terminal behind `stream`; 0 where there is none, or it does not tell. */
int wrap_terminal(FILE *stream);

/* For sentences: the columns of the terminal behind `stream`, 40 to 100, since longer lines are
 * hard to read; 80 where it is none. */
int wrap_width(FILE *stream);

/* For tables and names: the columns of the terminal, 40 at least; INT_MAX where there is none,
 * since a file or a pipe has room for any line. */
int wrap_room(FILE *stream);

/* Bytes of the first `columns` columns of UTF-8 text. */
size_t wrap_bytes(const char *text, int columns);

/* Bytes of `text` that fit into `width` columns if it is broken at a space; the whole first word
 * where even that does not fit. The next line begins after the spaces that follow. */
size_t wrap_line(const char *text, int width);

/* Columns that UTF-8 text takes, a character one. */
int wrap_columns(const char *text);

/* Prints `text` broken at spaces into lines of at most `width` columns. The cursor stands at column
 * `column`; further lines begin with `indent` spaces. Ends with a line feed. A word longer than a
 * line stays whole: it may be a path or a command. */
void wrap_print(FILE *stream, int column, int indent, int width, const char *text);

/* Writes a word of a command as a shell takes it, with a backslash before what it would read
 * otherwise. The rest is left out if it does not fit. */
void wrap_quote(char *to, size_t size, const char *word);

/* Prints a command after `indent` spaces: as one line where that fits into `width` columns, else
 * broken between words by backslashes, so that a shell takes it all the same. Words are quoted by
 * wrap_quote(). */
void wrap_command(FILE *stream, int indent, int width, const char *text);
