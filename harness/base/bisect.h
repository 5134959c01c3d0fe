/* Binary search. */
#pragma once

/* Among the numbers from `low` to before `high`, two variables of one type, those for which
 * `is_before` holds come first: it is an expression of the number `at`, a name that the caller
 * chooses. Sets both variables to the first of the others; `high`, if there is none. */
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

/* The same, if the first of the others is probably not far from the number `near`, which may be
 * any: in steps that double. */
#define BISECT_NEAR(low, high, near, at, is_before)                                                \
    do {                                                                                           \
        __typeof__(low) step_ = 1;                                                                 \
        for (__typeof__(low) at = (near); (low) < (high); step_ *= 2) {                            \
            at = at < (low) ? (low) : at < (high) ? at : (high)-1;                                 \
            if (is_before) {                                                                       \
                (low) = at + 1;                                                                    \
                at += step_;                                                                       \
            } else {                                                                               \
                (high) = at;                                                                       \
                at -= step_;                                                                       \
            }                                                                                      \
            if (at < (low) || at >= (high))                                                        \
                break;                                                                             \
        }                                                                                          \
        BISECT(low, high, at, is_before);                                                          \
    } while (0)
