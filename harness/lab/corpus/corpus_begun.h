/* A corpus that an earlier call has begun and did not finish, so that 20 minutes of work are not
 * lost. */
#ifndef HARNESS_LAB_CORPUS_CORPUS_BEGUN_H
#define HARNESS_LAB_CORPUS_CORPUS_BEGUN_H

#include "harness/lab/corpus/corpus_draw.h"
#include "harness/text/json.h"

/* The items of the truth at `path`, for a corpus whose truth without items is `root` and whose
 * items are drawn[count]. *items: an array that the caller owns; NULL if no file is there or it has
 * no items. They are taken if the file is as it was sealed, all of them have their traces, and
 * seed, protocol, program, machine and device are the same. IO: another corpus is there, or one
 * that is complete. */
enum status corpus_begun_read(cJSON **items, const char *path, const cJSON *root,
                              const struct corpus_item *drawn, int count);

#endif
