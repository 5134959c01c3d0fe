/* Everything that a seed decides: which wrong choices stand beside the right one, where each
 * stands, and which set follows which. */
#include "harness/lab/quiz/quiz_set.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING = QUIZ_CHOICES - 1 };

void quiz_pool_add(struct quiz_pool *pool, const char *text)
{
    for (uint32_t i = 0; i < pool->count; i++)
        if (strcmp(pool->items[i], text) == 0)
            return;
    if (pool->count < QUIZ_POOL_MOST)
        pool->items[pool->count++] = text;
}

void quiz_fill(struct quiz_set *set, enum quiz_question question, struct random *random,
               struct quiz_pool *pool, const char *right, const char *nothing)
{
    const char **choices = set->choices[question];
    uint32_t order[NOTHING];

    for (uint32_t i = 0; i < NOTHING; i++) order[i] = i;
    random_shuffle(random, order, NOTHING);
    for (uint32_t i = 0; i < NOTHING; i++) {
        /* Without a right answer the first of the pool, the set's own, is among the choices in any
         * case. */
        bool own = i == 0 && right == NULL;
        uint32_t which = own ? 0 : random_below(random, pool->count);
        if (i == 0 && right != NULL) {
            choices[order[i]] = right;
            continue;
        }
        /* The choice leaves the pool, so that it does not come twice. */
        choices[order[i]] = pool->items[which];
        pool->items[which] = pool->items[--pool->count];
    }
    choices[NOTHING] = nothing;
    set->right[question] = right != NULL ? (int)order[0] : NOTHING;
}

/* After Fisher and Yates: every order is as likely. */
static void shuffle(struct quiz_sets *sets, uint64_t seed)
{
    struct random random = random_seed(seed, QUIZ_ORDER_STREAM);

    for (int i = sets->count - 1; i > 0; i--) {
        int other = (int)random_below(&random, (uint32_t)i + 1);
        struct quiz_set set = sets->items[i];
        sets->items[i] = sets->items[other];
        sets->items[other] = set;
    }
}

/* The next set from `from` on that is of the variant; the count where there is none. */
static int next_of(const struct quiz_sets *sets, int from, enum variant variant)
{
    while (from < sets->count && sets->items[from].variant != variant) from++;
    return from;
}

enum status quiz_arrange(struct quiz_sets *sets, uint64_t seed)
{
    struct random random = random_seed(seed, QUIZ_ARRANGE_STREAM);
    struct quiz_set *items;
    int before, after, count = 0, afters = 0;

    TRY(rows_make(&items, sets->count + 1));
    shuffle(sets, seed);
    before = next_of(sets, 0, VARIANT_BEFORE);
    after = next_of(sets, 0, VARIANT_AFTER);
    while (before < sets->count || after < sets->count) {
        bool may_be_after = after < sets->count && QUIZ_AFTER_ONE_IN * (afters + 1) <= count + 1;
        if (before == sets->count && !may_be_after)
            break;
        if (may_be_after && (before == sets->count || random_below(&random, 2) == 0)) {
            items[count++] = sets->items[after];
            after = next_of(sets, after + 1, VARIANT_AFTER);
            afters++;
        } else {
            items[count++] = sets->items[before];
            before = next_of(sets, before + 1, VARIANT_BEFORE);
        }
    }
    free(sets->items);
    sets->items = items;
    sets->count = count;

    return STATUS_OK;
}
