/* Shares are formed within rounds; then medians and intervals of shares decide. Values are gone
 * through twice: once for the cheapest that is enough, and once more for whether the noise lets
 * another one be it. */
#include "harness/lab/search/sweep.h"

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
        /* A share that is NAN is not enough either. */
        if (!(share.median >= BOUND) ||
            (knee.enough >= 0 && values[i].cost >= values[knee.enough].cost))
            continue;
        knee.enough = i;
        knee.share = share.median;
        knee.interval = share.interval;
        knee.rounds = share.rounds;
    }
    if (knee.enough >= 0) {
        knee.is_clear = knee.rounds > 1 && knee.interval.low >= BOUND;
        knee.is_best = knee.enough == knee.best;
        for (int i = 0; i < count; i++) {
            bool is_cheaper = values[i].cost < values[knee.enough].cost;
            double high;
            if (i == knee.best || i == knee.enough || values[i].rounds == 0)
                continue;
            /* The knee is in doubt if a cheaper value may be enough too, or if a dearer one may be
             * so much better than the best that the best would not be enough beside it. */
            high = share_of(&values[i], &values[knee.best]).interval.high;
            knee.is_clear = knee.is_clear && (is_cheaper ? high < BOUND : high * BOUND <= 1);
            knee.is_best = knee.is_best && high < 1;
        }
    }
    return knee;
}
