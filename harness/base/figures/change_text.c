/* A change in words and figures. First come the changes that no factor describes; then the
 * direction is called only if the interval and both values agree on it. */
#include "harness/base/figures/change_text.h"

#include "harness/base/figures/statistics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALMOST_NONE 1000 /* a larger factor tells only how little is left, which is noise */

void change_words(char *text, size_t size, bool is_time, bool shrinks, const char *bound,
                  const char *factor)
{
    const char *space = factor[0] != '\0' ? " " : "";

    if (is_time)
        snprintf(text, size, "%s%s%s%s", bound, factor, space, shrinks ? "faster" : "slower");
    else
        snprintf(text, size, "%s%s%s%s", shrinks ? "down" : "up", space, bound, factor);
}

/* "1.31" of "1.31x". */
static void bare_factor(char text[QUANTITY_SIZE], double factor)
{
    quantity_factor(text, factor);
    text[strcspn(text, "x")] = '\0';
}

/* Sets the effect where no factor describes the change; returns whether it did. */
static bool describe_special(struct change_text *text, const struct change_figures *change)
{
    const char *words = NULL;

    if (!isfinite(change->before) || !isfinite(change->after))
        words = "not measured";
    else if (change->before == change->after && change->low == change->high)
        words = "no change";
    else if (change->after == 0 && change->before != 0)
        words = "none left";
    else if (change->before == 0 && change->after != 0)
        words = "none before";
    else if (!(change->factor > 0) || !isfinite(change->factor))
        words = "unclear";
    snprintf(text->effect, sizeof text->effect, "%s", words != NULL ? words : "");
    return words != NULL;
}

/* Whether the interval or the two values leave open which way the change goes, or the factor would
 * be printed as 1.00. */
static bool is_open(const struct change_figures *change)
{
    bool shrinks = change->factor > 1;

    if (change->low <= 1 && change->high >= 1)
        return true;
    if (shrinks ? change->before <= change->after : change->before >= change->after)
        return true;
    return fabs(shrinks ? change->factor - 1 : 1 / change->factor - 1) < 0.005;
}

/* Too few pairs have no interval of 95%: their range is of all of them. */
static const char *all_words(const struct change_figures *change)
{
    const struct confidence_interval interval = { change->low, change->high, change->coverage };

    return stats_interval_is_enough(&interval) ? "" : "all ";
}

static void describe_open(struct change_text *text, const struct change_figures *change)
{
    const double least = 1 + LEAST_EFFECT_PERCENT / 100.0;
    bool is_near = change->factor <= least && change->factor >= 1 / least;
    double farther = fmax(change->high, 1 / change->low);
    char limit[QUANTITY_SIZE];

    snprintf(text->effect, sizeof text->effect, is_near ? "no change" : "unclear");
    quantity_factor(limit, farther);
    if (!isfinite(farther))
        return;
    if (!(change->coverage > 0))
        snprintf(text->interval, sizeof text->interval, "one pair");
    else
        snprintf(text->interval, sizeof text->interval, "%swithin %s", all_words(change), limit);
}

static void describe_interval(struct change_text *text, const struct change_figures *change,
                              bool shrinks)
{
    double low = shrinks ? change->low : 1 / change->high;
    double high = shrinks ? change->high : 1 / change->low;
    char from[QUANTITY_SIZE], to[QUANTITY_SIZE];

    if (!isfinite(low) || !isfinite(high))
        return;
    if (!(change->coverage > 0)) {
        snprintf(text->interval, sizeof text->interval, "one pair");
    } else if (low == high) {
        snprintf(text->interval, sizeof text->interval, "exact");
    } else {
        bare_factor(from, low);
        bare_factor(to, high);
        snprintf(text->interval, sizeof text->interval, "%s%s to %s", all_words(change), from, to);
    }
}

struct change_text change_text(const struct change_figures *change, bool is_time)
{
    struct change_text text = { "", "" };
    bool shrinks = change->factor > 1;
    char factor[QUANTITY_SIZE];

    if (describe_special(&text, change)) {
        if (strcmp(text.effect, "no change") == 0)
            describe_interval(&text, change, true);
        return text;
    }
    if (is_open(change)) {
        describe_open(&text, change);
        return text;
    }
    if (fmax(change->factor, 1 / change->factor) >= ALMOST_NONE) {
        snprintf(text.effect, sizeof text.effect, "almost none %s", shrinks ? "left" : "before");
        return text;
    }
    quantity_factor(factor, shrinks ? change->factor : 1 / change->factor);
    change_words(text.effect, sizeof text.effect, is_time, shrinks, "", factor);
    describe_interval(&text, change, shrinks);
    return text;
}
