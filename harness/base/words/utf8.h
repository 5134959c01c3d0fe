/* Text from elsewhere, such as a kernel's name or a path, may hold bytes that are not UTF-8. JSON
 * must not. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, written in place of a byte that is not UTF-8 */

/* Bytes of the character that `text` starts with; 0 when it is none (Unicode 15, table 3-7: no
 * overlong forms, no surrogates, nothing above U+10FFFF). Reads no further than a '\0'. */
size_t utf8_bytes(const char *text);

/* Bytes of the control character that `text` starts with, 0 when it is none: those that a terminal
 * obeys (U+0000 to U+001F, U+007F to U+009F), and those that reorder the text around them
 * (Unicode's Bidi_Control, UAX 9; "Trojan Source", Boucher and Anderson, 2021), so that a name
 * could pose as another. */
size_t utf8_control_bytes(const char *text);

/* Makes `text` safe to print, in place: "?" in place of each control character and each byte that
 * is not UTF-8, so that a name in it neither moves the cursor of a terminal nor forges a line. */
void utf8_show(char *text);

/* Prints a line, which utf8_show() makes safe: with the names of files, for example. */
void utf8_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How much of `text` are at most `most` bytes without half of a character at their end. */
size_t utf8_cut(const char *text, size_t most);
