/* Tells the user something that is worth knowing although nothing failed. */
#ifndef HARNESS_BASE_NOTICE_H
#define HARNESS_BASE_NOTICE_H

/* Prints a sentence on stderr, unless this process has printed the same one already. */
void notice_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
