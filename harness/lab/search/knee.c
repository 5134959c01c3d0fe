#include "harness/lab/search/knee.h"

#include <math.h>
#include <stdlib.h>

static const double BOUND = 1 - KNEE_LOSS_PERCENT / 100.0;

struct share {
    double median;
    struct confidence_interval interval;
    int rounds;
};

static int find_best(const struct knee_value *values, int count)
{
    double most = -INFINITY;
    int best = -1;

    for (int i = 0; i < count; i++) {
        double median = stats_median(values[i].throughput, values[i].rounds);
        if (median > most) {
            most = median;
            best = i;
        }
    }
    return best;
}

/* All NaN where no memory is left. */
static struct share share_of(const struct knee_value *value, const struct knee_value *best)
{
    int rounds = value->rounds < best->rounds ? value->rounds : best->rounds;
    double *shares = malloc(((size_t)rounds + 1) * sizeof *shares);
    struct share share = { NAN, { NAN, NAN, 0 }, rounds };

    if (shares == NULL)
        return share;
    for (int i = 0; i < rounds; i++) shares[i] = value->throughput[i] / best->throughput[i];
    share.median = stats_median(shares, rounds);
    share.interval = stats_median_interval(shares, rounds);
    free(shares);
    return share;
}

struct knee knee_find(const struct knee_value *values, int count)
{
    struct knee knee = { .best = find_best(values, count), .enough = -1, .share = NAN };

    for (int i = 0; knee.best >= 0 && i < count; i++) {
        struct share share = share_of(&values[i], &values[knee.best]);
        if (!(share.median >= BOUND) ||
            (knee.enough >= 0 && values[i].cost >= values[knee.enough].cost))
            continue;
        knee.enough = i;
        knee.share = share.median;
        knee.interval = share.interval;
        knee.rounds = share.rounds;
    }
    knee.is_clear = knee.enough >= 0 && knee.interval.low >= BOUND;
    for (int i = 0; knee.enough >= 0 && i < count; i++)
        if (values[i].cost < values[knee.enough].cost && values[i].rounds > 0 &&
            !(share_of(&values[i], &values[knee.best]).interval.high < BOUND))
            knee.is_clear = false;
    return knee;
}
