/* The name that was probably meant: for messages about misspelt commands, options, knobs and
 * scenarios. */
#pragma once

#include <stdbool.h>

/* Insertions, deletions, changes and swaps of neighbours that turn `a` into `b` (the restricted
 * Damerau-Levenshtein distance: no piece is edited twice). Capitals count as small letters and '-'
 * as
 * '_', so that a flag's spelling is as good as the knob's. Only the first 63 characters count. */
int nearest_distance(const char *a, const char *b);

/* The one of `count` names that is closest to `name`, the first of equals, if its distance is at
 * most a third of the length of `name`: beyond that it is like any other. Failing that, the only
 * one that contains `name`, if that has four letters or more ("filter": benchmark_filter). NULL:
 * neither. */
const char *nearest_name(const char *name, const char *const *names, int count);

/* Whether `word` is one of `names`, which commas part. Capitals, blanks, punctuation and a last s
 * do not count, nor z beside s: "Cuda-Graph" is "CUDA graphs". */
bool names_have(const char *names, const char *word);

enum { NEAREST_ADVICE = 256 };

/* Follows "there is no NAME": "; did you mean workers?", or, where none is near and they are at
 * most 16, "; there are item_sync, precision and small_batch". "" where neither helps. */
void nearest_advice(char text[NEAREST_ADVICE], const char *name, const char *const *names,
                    int count);
