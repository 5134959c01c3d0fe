/* The Mann-Whitney U test: whether values of one side tend to be larger than those of the other, by
 * their ranks alone (Mann and Whitney, Ann. Math. Statist. 18, 1947). */
#ifndef HARNESS_COMPARE_MANN_WHITNEY_H
#define HARNESS_COMPARE_MANN_WHITNEY_H

#include <stdbool.h>

/* Up to so many values of both sides together, without ties, the distribution is counted out. Every
 * count up to C(50, 25) is a whole number that a double holds exactly. */
enum { MANN_WHITNEY_EXACT = 50 };

struct mann_whitney {
    double u; /* pairs in which the first side's value is the larger one; a tie counts one half */
    double p; /* two-sided */
    bool exact;
};

/* Beyond the exact case p is the normal approximation with the variance corrected for ties and with the
 * continuity correction. Where all values are equal p is 1; where a side has no value, a value is NaN
 * or memory is out, u and p are NaN. */
struct mann_whitney mann_whitney_test(const double *first, int first_count, const double *second,
                                      int second_count);

/* The smallest p that so many values of each side can give: below it nothing can be asked of the test.
 * 1 where a side has none. */
double mann_whitney_least_p(int first_count, int second_count);

#endif
