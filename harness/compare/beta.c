#include "harness/compare/beta.h"

#include <float.h>
#include <math.h>

enum { TERMS_MAX = 300 };

/* A factor of the continued fraction must not be 0. */
static double not_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* The continued fraction of the incomplete beta function (NIST DLMF 8.17.22), evaluated forwards by
 * Lentz's method as modified by Thompson and Barnett (J. Comput. Phys. 64, 1986). It converges fast for
 * x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double numerator = 1, denominator = 1 / not_zero(1 - (a + b) * x / (a + 1));
    double value = denominator;

    for (int m = 1; m <= TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step;

        denominator = 1 / not_zero(1 + even * denominator);
        numerator = not_zero(1 + even / numerator);
        value *= denominator * numerator;
        denominator = 1 / not_zero(1 + odd * denominator);
        numerator = not_zero(1 + odd / numerator);
        step = denominator * numerator;
        value *= step;
        if (fabs(step - 1) < 4 * DBL_EPSILON)
            break;
    }
    return value;
}

double beta_regularised(double a, double b, double x, double rest)
{
    double scale;

    if (x <= 0 || rest <= 0)
        return x <= 0 ? 0 : 1;
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return scale * beta_fraction(a, b, x) / a;
    return 1 - scale * beta_fraction(b, a, rest) / b;
}
