/* Binary search. */
#ifndef HARNESS_BASE_BISECT_H
#define HARNESS_BASE_BISECT_H

/* Among the numbers from `low` to before `high`, two variables of one type, those for which `is_before` holds come first: it is
 * an expression of the number `at`, a name that the caller chooses. Sets both variables to the first of the others; `high`, if
 * there is none. */
#define BISECT(low, high, at, is_before)                                                           \
    do {                                                                                           \
        while ((low) < (high)) {                                                                   \
            __typeof__(low) at = (low) + ((high) - (low)) / 2;                                     \
            if (is_before)                                                                         \
                (low) = (at) + 1;                                                                  \
            else                                                                                   \
                (high) = (at);                                                                     \
        }                                                                                          \
    } while (0)

#endif
