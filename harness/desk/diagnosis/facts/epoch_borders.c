/* Borders are looked for where the loader marks them, and else by the distances of long waits. Each
 * way finds places, and then the chance that waits at random steps would look as much like
 * borders. */
#include "harness/desk/diagnosis/facts/epoch_borders.h"

#include "harness/base/bisect.h"

#include <math.h>

enum {
    EPOCH_LEAST = 10, /* steps; what comes more often is no border */
    BORDER_STEPS = EPOCH_LEAST / 2,
    BORDERS_LEAST = 2, /* there is no epoch between fewer */
};

#define WAITING_MOST (2.0 / 3)

/* The first and the last border, their number, and the least distance of two. */
struct places {
    int64_t first, last, count, epoch;
};

static void add_place(struct places *places, int64_t step)
{
    if (places->count == 0)
        places->first = step;
    if (places->count == 1 || (places->count > 1 && step - places->last < places->epoch))
        places->epoch = step - places->last;
    places->last = step;
    places->count++;
}

static bool are_epochs(const struct places *places)
{
    return places->count >= BORDERS_LEAST && places->epoch >= EPOCH_LEAST;
}

/* How many steps ago an epoch began, where one begins at `border`. */
static int64_t steps_since(int64_t step, int64_t border, int64_t epoch)
{
    return ((step - border) % epoch + epoch) % epoch;
}

/* --- Marked --- */

/* If most steps do not call, a loop skips its loader, or only some waits are recorded. */
static bool is_marked(const struct step_waits *waits, int64_t step)
{
    return waits->usual_calls >= 1 && waits->calls[step] == waits->usual_calls + 1;
}

static struct places find_marks(const struct step_waits *waits)
{
    struct places places = { 0 };

    for (int64_t i = 0; i < waits->count; i++)
        if (is_marked(waits, i))
            add_place(&places, i);
    return places;
}

/* How many waits are shorter, or as long as well. */
static int64_t count_below(const struct step_waits *waits, double wait_ns, bool as_long)
{
    int64_t low = 0, high = waits->count;

    BISECT(low, high, i, waits->sorted[i] < wait_ns || (as_long && waits->sorted[i] == wait_ns));
    return low;
}

/* The rank of a wait among all, the longest first; equal waits share their ranks. */
static double rank_of(const struct step_waits *waits, double wait_ns)
{
    int64_t below = count_below(waits, wait_ns, false) + count_below(waits, wait_ns, true);

    return (double)waits->count - (double)(below - 1) / 2;
}

/* The chance that as many steps, drawn at random, have a sum of ranks that is as small. Where steps
 * are few, this normal approximation gives more than the exact chance. */
static double chance_of_ranks(const struct step_waits *waits, double marks)
{
    double count = (double)waits->count, sum = 0;
    double mean = marks * (count + 1) / 2, variance = mean * (count - marks) / 6;

    for (int64_t i = 0; i < waits->count; i++)
        if (is_marked(waits, i))
            sum += rank_of(waits, waits->wait_ns[i]);
    return erfc((mean - sum - 0.5) / sqrt(2 * variance)) / 2;
}

static double share_of_first_halves(const struct step_waits *waits, const struct places *places)
{
    double all = 0, first = 0;

    for (int64_t i = 0; i < waits->count; i++) {
        all += waits->wait_ns[i];
        if (2 * steps_since(i, places->first, places->epoch) < places->epoch)
            first += waits->wait_ns[i];
    }
    return all > 0 ? first / all : 0;
}

static double chance_of_marks(const struct step_waits *waits, const struct places *places)
{
    if (!are_epochs(places) || !(share_of_first_halves(waits, places) >= WAITING_MOST))
        return 1;
    return chance_of_ranks(waits, (double)places->count);
}

/* --- Not marked --- */

/* From here on waits are long: these add up to WAITING_MOST, the longest first. */
static double long_wait(const struct step_waits *waits)
{
    double all = 0, most = 0;
    int64_t at = waits->count;

    for (int64_t i = 0; i < waits->count; i++) all += waits->sorted[i];
    while (at > 1 && most < WAITING_MOST * all) most += waits->sorted[--at];
    return at < waits->count ? waits->sorted[at] : INFINITY;
}

/* New workers load their first batches side by side, and the loop waits for some of these. So a
 * step that waits for long, up to BORDER_STEPS after another, belongs to the same border. */
static bool begins_waiting(const struct step_waits *waits, int64_t step, double long_ns)
{
    if (waits->wait_ns[step] < long_ns)
        return false;
    for (int64_t i = 1; i <= BORDER_STEPS && i <= step; i++)
        if (waits->wait_ns[step - i] >= long_ns)
            return false;
    return true;
}

static struct places find_waits(const struct step_waits *waits, double long_ns)
{
    struct places places = { 0 };

    for (int64_t i = 0; i < waits->count; i++)
        if (begins_waiting(waits, i, long_ns))
            add_place(&places, i);
    return places;
}

/* Whether all long waits are at equal distances: each of half a step or more, and none beside them.
 * Waits that go on for more than BORDER_STEPS are no border's. */
static bool are_regular(const struct step_waits *waits, const struct places *places, double long_ns)
{
    for (int64_t i = 0; i < waits->count; i++) {
        int64_t since = steps_since(i, places->last, places->epoch);
        double wait_ns = waits->wait_ns[i];
        if (since == 0
                ? !(wait_ns > waits->step_ns / 2)
                : begins_waiting(waits, i, long_ns) || (since > BORDER_STEPS && wait_ns >= long_ns))
            return false;
    }
    return true;
}

/* In how many ways `borders` are in `steps` at equal distances, so that one more would be outside
 * on both sides. */
static double regular_ways(int64_t steps, int64_t borders)
{
    double ways = 0;

    for (int64_t epoch = EPOCH_LEAST; epoch * (borders - 1) < steps; epoch++) {
        int64_t low = steps - borders * epoch, high = steps - 1 - (borders - 1) * epoch;
        low = low > 0 ? low : 0;
        high = high < epoch ? high : epoch - 1;
        ways += high >= low ? (double)(high - low + 1) : 0;
    }
    return ways;
}

/* The same at any distances of more than BORDER_STEPS. */
static double all_ways(int64_t steps, int64_t borders)
{
    int64_t places = steps - (borders - 1) * BORDER_STEPS;
    double ways = 1;

    for (int64_t i = 0; i < borders; i++) ways *= (double)(places - i) / (double)(i + 1);
    return ways;
}

static double chance_of_distances(const struct step_waits *waits, const struct places *places,
                                  double long_ns)
{
    if (!are_epochs(places) || !are_regular(waits, places, long_ns))
        return 1;
    return regular_ways(waits->count, places->count) / all_ways(waits->count, places->count);
}

struct epoch_borders epoch_borders_find(const struct step_waits *waits)
{
    struct places places = find_marks(waits);
    struct epoch_borders borders;

    if (places.count > 0) {
        borders.chance = chance_of_marks(waits, &places);
    } else {
        double long_ns = long_wait(waits);
        places = find_waits(waits, long_ns);
        borders.chance = chance_of_distances(waits, &places, long_ns);
    }
    borders.count = places.count;
    borders.first = places.first;
    borders.steps = places.epoch;
    borders.found = borders.chance <= EPOCH_CHANCE_MOST;
    return borders;
}

bool epoch_borders_have(const struct epoch_borders *borders, int64_t step)
{
    return borders->found && steps_since(step + 1, borders->first, borders->steps) <= BORDER_STEPS;
}
