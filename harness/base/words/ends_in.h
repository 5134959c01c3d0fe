/* The ending of a name. */
#ifndef HARNESS_BASE_WORDS_ENDS_IN_H
#define HARNESS_BASE_WORDS_ENDS_IN_H

#include <stdbool.h>

/* Whether `name` is something followed by `ending`. False where it is the ending alone. */
bool ends_in(const char *name, const char *ending);

#endif
