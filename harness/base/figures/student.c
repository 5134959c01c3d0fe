/* Student's t by the incomplete beta function, and the priors of variances by digamma and
 * trigamma; formulas by number of NIST's Digital Library of Mathematical Functions (DLMF). */
#include "harness/base/figures/student.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

enum { TERMS_MAX = 300, HALVINGS = 200 };

/* --- The incomplete beta function --- */

/* A factor of the continued fraction must not be 0. */
static double not_zero(double value)
{
    return fabs(value) < DBL_MIN ? DBL_MIN : value;
}

/* The continued fraction of the incomplete beta function (NIST DLMF 8.17.22), evaluated forwards by
 * Lentz's method as modified by Thompson and Barnett (J. Comput. Phys. 64, 1986). It converges fast
 * for x < (a + 1) / (a + b + 2). */
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

double student_beta(double a, double b, double x, double rest)
{
    double scale;

    if (x <= 0 || rest <= 0)
        return x <= 0 ? 0 : 1;
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return scale * beta_fraction(a, b, x) / a;
    return 1 - scale * beta_fraction(b, a, rest) / b;
}

/* --- Student's t --- */

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
    return student_beta(freedom / 2, 0.5, freedom / (freedom + square),
                        square / (freedom + square));
}

/* Twice the density of Student's t, by which student_two_sided() falls. NIST DLMF 8.17.20's
 * integrand. */
static double fall(double t, double freedom)
{
    double scale = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * M_PI) / 2;

    if (isinf(freedom))
        return 2 * exp(-t * t / 2) / sqrt(2 * M_PI);
    return 2 * exp(scale - (freedom + 1) / 2 * log1p(t * t / freedom));
}

/* Newton's steps on the logarithm, and halving where they leave what is left between the bounds. */
double student_critical(double probability, double freedom)
{
    double low = 0, high = 1, at;

    while (student_two_sided(high, freedom) > probability && high < DBL_MAX / 2) high *= 2;
    at = high;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        double chance = student_two_sided(at, freedom), next;
        if (chance > probability)
            low = at;
        else
            high = at;
        next = at + chance * log(chance / probability) / fall(at, freedom);
        if (fabs(next - at) <= 1e-12 * at)
            break;
        at = next > low && next < high ? next : low + (high - low) / 2;
    }
    return at;
}

double student_shows(double critical, double error, double least, double luck)
{
    return fmax(critical * error, least) + luck * error;
}

/* --- Variances that rows tell together --- */

/* From here on the asymptotic series below are exact to 1e-12. */
#define SERIES_FROM 12

/* NIST DLMF 5.5.2 and 5.11.2. */
double student_digamma(double x)
{
    double sum = 0, square;

    for (; x < SERIES_FROM; x++) sum -= 1 / x;
    square = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

/* NIST DLMF 5.15.5 and 5.15.8. */
double student_trigamma(double x)
{
    double sum = 0, square;

    for (; x < SERIES_FROM; x++) sum += 1 / (x * x);
    square = 1 / (x * x);
    return sum + 1 / x + square / 2 +
           square / x * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square / 30)));
}

/* The x for which trigamma is `value`: it falls from infinity to 0, so halving finds it. */
static double trigamma_inverse(double value)
{
    double low = 1e-6, high = 1e6;

    for (int i = 0; i < 100; i++) {
        double middle = sqrt(low * high);
        if (student_trigamma(middle) > value)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static bool is_usable(double variance)
{
    return variance > 0 && isfinite(variance);
}

struct student_prior student_prior(const double *variances, int count, double freedom)
{
    double mean = 0, squares = 0, spread;
    int usable = 0;

    for (int i = 0; i < count; i++) {
        if (!is_usable(variances[i]))
            continue;
        usable++;
        mean += log(variances[i]);
    }
    if (usable < 2 || !(freedom > 0))
        return (struct student_prior){ NAN, 0 };
    mean /= usable;
    for (int i = 0; i < count; i++)
        if (is_usable(variances[i]))
            squares += pow(log(variances[i]) - mean, 2);
    mean += log(freedom / 2) - student_digamma(freedom / 2);
    /* The variance of the logarithms beyond that which so few runs cause. */
    spread = squares / (usable - 1) - student_trigamma(freedom / 2);
    if (spread > 0) {
        double half = trigamma_inverse(spread);
        return (struct student_prior){ exp(mean + student_digamma(half) - log(half)), 2 * half };
    }
    return (struct student_prior){ exp(mean), INFINITY };
}

double student_variance(const struct student_prior *prior, double variance, double freedom,
                        int count, double *total_freedom)
{
    *total_freedom = fmin(prior->freedom + freedom, count * freedom);
    if (prior->freedom == 0)
        return variance;
    if (isinf(prior->freedom))
        return prior->variance;
    return (prior->freedom * prior->variance + freedom * variance) / (prior->freedom + freedom);
}
