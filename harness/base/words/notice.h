/* Tells the user something that is worth knowing although nothing failed. */
#pragma once

/* Prints a sentence on stderr as utf8_show() makes it, unless this process has printed the same one
 * already. */
void notice_once(const char *format, ...) __attribute__((format(printf, 1, 2)));
