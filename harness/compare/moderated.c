#include "harness/compare/moderated.h"

#include <math.h>
#include <stdbool.h>

/* From here on the asymptotic series below are exact to 1e-12. */
#define SERIES_FROM 12

/* NIST DLMF 5.5.2 and 5.11.2. */
double digamma(double x)
{
    double sum = 0, square;

    for (; x < SERIES_FROM; x++) sum -= 1 / x;
    square = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

/* NIST DLMF 5.15.5 and 5.15.8. */
double trigamma(double x)
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
        if (trigamma(middle) > value)
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

struct prior moderated_prior(const double *variances, int count, double freedom)
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
        return (struct prior){ NAN, 0 };
    mean /= usable;
    for (int i = 0; i < count; i++)
        if (is_usable(variances[i]))
            squares += pow(log(variances[i]) - mean, 2);
    mean += log(freedom / 2) - digamma(freedom / 2);
    /* What the logarithms vary by beyond what so few runs make them. */
    spread = squares / (usable - 1) - trigamma(freedom / 2);
    if (spread > 0) {
        double half = trigamma_inverse(spread);
        return (struct prior){ exp(mean + digamma(half) - log(half)), 2 * half };
    }
    return (struct prior){ exp(mean), INFINITY };
}

double moderated_variance(const struct prior *prior, double variance, double freedom, int count,
                          double *total_freedom)
{
    *total_freedom = fmin(prior->freedom + freedom, count * freedom);
    if (prior->freedom == 0)
        return variance;
    if (isinf(prior->freedom))
        return prior->variance;
    return (prior->freedom * prior->variance + freedom * variance) / (prior->freedom + freedom);
}
