#include "harness/compare/student.h"

#include "harness/compare/beta.h"

#include <float.h>
#include <math.h>

enum { HALVINGS = 200 };

double student_two_sided(double t, double freedom)
{
    double square = t * t;

    if (isnan(t) || !(freedom > 0))
        return NAN;
    if (isinf(t))
        return 0;
    if (isinf(freedom))
        return erfc(fabs(t) / sqrt(2));
    /* NIST DLMF 8.17; Abramowitz and Stegun 26.7.1. */
    return beta_regularised(freedom / 2, 0.5, freedom / (freedom + square),
                            square / (freedom + square));
}

double student_critical(double probability, double freedom)
{
    double low = 0, high = 1;

    while (student_two_sided(high, freedom) > probability && high < DBL_MAX / 2) high *= 2;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double middle = low + (high - low) / 2;
        if (middle == low || middle == high)
            break;
        if (student_two_sided(middle, freedom) > probability)
            low = middle;
        else
            high = middle;
    }
    return high;
}
