#include "harness/compare/mann_whitney.h"

#include <math.h>
#include <stdlib.h>

struct ranked {
    double value;
    bool first;
};

static int ascending(const void *left, const void *right)
{
    double a = ((const struct ranked *)left)->value, b = ((const struct ranked *)right)->value;

    return (a > b) - (a < b);
}

/* counts[u]: the ways to choose which `first` of all ranks are the first side's so that its statistic is
 * u, for u from 0 to first * second. They are the coefficients of the Gaussian binomial
 *     product over i = 1 .. first of (1 - q^(second + i)) / (1 - q^i)
 * (Andrews, "The Theory of Partitions", 3.2). Each partial product is one too, so no count is ever
 * above the last ones. */
static double *count_out(int first, int second)
{
    int top = first * second;
    double *counts = calloc((size_t)top + 1, sizeof *counts);

    if (counts == NULL)
        return NULL;
    counts[0] = 1;
    for (int i = 1; i <= first; i++) {
        for (int u = top; u >= second + i; u--) counts[u] -= counts[u - second - i];
        for (int u = i; u <= top; u++) counts[u] += counts[u - i];
    }
    return counts;
}

static double exact_p(double u, int first, int second)
{
    double *counts = count_out(first, second), all = 0, beyond = 0;
    int top = first * second, larger = (int)fmax(u, top - u);

    if (counts == NULL)
        return NAN;
    for (int i = 0; i <= top; i++) {
        all += counts[i];
        beyond += i >= larger ? counts[i] : 0;
    }
    free(counts);
    return fmin(2 * beyond / all, 1);
}

/* `ties` is the sum of t^3 - t over groups of t equal values (Lehmann, "Nonparametrics", 1.4). */
static double approximate_p(double u, double first, double second, double ties)
{
    double all = first + second;
    double variance = first * second / 12 * (all + 1 - ties / (all * (all - 1)));
    double distance = fmax(fabs(u - first * second / 2) - 0.5, 0);

    return variance > 0 ? fmin(erfc(distance / sqrt(2 * variance)), 1) : 1;
}

struct mann_whitney mann_whitney_test(const double *first, int first_count, const double *second,
                                      int second_count)
{
    struct mann_whitney result = { NAN, NAN, false };
    int count = first_count + second_count, end;
    struct ranked *all = count > 0 ? calloc((size_t)count, sizeof *all) : NULL;
    double rank_sum = 0, ties = 0;
    bool known = true;

    if (all == NULL || first_count < 1 || second_count < 1)
        goto out;
    for (int i = 0; i < count; i++) {
        all[i].first = i < first_count;
        all[i].value = all[i].first ? first[i] : second[i - first_count];
        known = known && !isnan(all[i].value);
    }
    if (!known)
        goto out;
    qsort(all, (size_t)count, sizeof *all, ascending);
    for (int begin = 0; begin < count; begin = end) {
        double size;
        for (end = begin + 1; end < count && all[end].value == all[begin].value;) end++;
        size = end - begin;
        ties += size * (size * size - 1);
        for (int i = begin; i < end; i++)
            rank_sum += all[i].first ? (begin + 1 + end) / 2.0 : 0; /* the group's mean rank */
    }
    result.u = rank_sum - first_count * (first_count + 1.0) / 2;
    result.exact = ties == 0 && count <= MANN_WHITNEY_EXACT;
    result.p = result.exact ? exact_p(result.u, first_count, second_count)
                            : approximate_p(result.u, first_count, second_count, ties);

out:
    free(all);
    return result;
}

double mann_whitney_least_p(int first_count, int second_count)
{
    double orders = lgamma(first_count + second_count + 1.0) - lgamma(first_count + 1.0) -
                    lgamma(second_count + 1.0);

    return first_count > 0 && second_count > 0 ? fmin(2 * exp(-orders), 1) : 1;
}
