/* The parts that the makers of a quiz's sets share: choices, and the order of the sets. */
#pragma once

#include "harness/base/random.h"
#include "harness/lab/quiz/quiz_set.h"

/* Streams of random numbers: those of sets begin at the first. */
enum { QUIZ_ORDER_STREAM, QUIZ_ARRANGE_STREAM, QUIZ_FIRST_STREAM };

enum { QUIZ_POOL_MOST = 256 };

/* Choices that may be wrong answers, each once; constants. */
struct quiz_pool {
    const char *items[QUIZ_POOL_MOST];
    uint32_t count;
};
void quiz_pool_add(struct quiz_pool *pool, const char *text);

/* Puts `right` and wrong ones in any order, and `nothing` last. If nothing is right, `right` is
 * NULL, and the first of the pool, the set's own, is among the wrong ones. The pool has
 * QUIZ_CHOICES - 1 or more. */
void quiz_fill(struct quiz_set *set, enum quiz_question question, struct random *random,
               struct quiz_pool *pool, const char *right, const char *nothing);

/* Puts the sets into the order that the seed gives. Among the first n sets, for any n, at most one
 * in QUIZ_AFTER_ONE_IN is after the fix; sets after the fix that find no place are dropped. Each
 * place that may be such a set's is, half the time, so that no place tells what it is.
 * OUT_OF_MEMORY. */
enum status quiz_arrange(struct quiz_sets *sets, uint64_t seed);
