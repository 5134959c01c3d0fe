/* The name that was probably meant: for messages about misspelt knobs and scenarios. */
#ifndef HARNESS_BASE_NEAREST_H
#define HARNESS_BASE_NEAREST_H

/* Insertions, deletions, changes and swaps of neighbours that turn `a` into `b` (the restricted
 * Damerau-Levenshtein distance: no piece is edited twice). Capitals count as small letters and '-' as
 * '_', so that a flag's spelling is as good as the knob's. Only the first 63 characters count. */
int nearest_distance(const char *a, const char *b);

/* The one of `count` names that is closest to `name`, the first of equals; NULL when count is 0. */
const char *nearest_name(const char *name, const char *const *names, int count);

#endif
