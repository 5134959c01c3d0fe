/* An effect's factor is at least 1 if the metric went the way that is expected, up or down; the
 * words are of the change itself, which is after / before. */
#include "harness/lab/experiment/effect_words.h"

#include <stdio.h>
#include <string.h>

/* Times get faster or slower; everything else goes down or up. */
static bool is_time(enum metric metric)
{
    return strcmp(metric_unit(metric), "us") == 0;
}

struct change_text effect_words(const struct effect *effect, enum metric metric,
                                enum direction direction)
{
    struct change_figures change = { effect->before, effect->after, effect->factor,
                                     effect->low,    effect->high,  effect->coverage };

    if (direction == GROWS) {
        change.factor = 1 / effect->factor;
        change.low = 1 / effect->high;
        change.high = 1 / effect->low;
    }
    return change_text(&change, is_time(metric));
}

void effect_bounds(char *text, size_t size, enum metric metric, enum direction direction,
                   double least, double most)
{
    const char *bound = "";
    char factor[64] = "";

    if (least > 0 && most > 0) {
        snprintf(factor, sizeof factor, "%gx to %gx", least, most);
    } else if (least > 0 || most > 0) {
        bound = least > 0 ? "at least " : "at most ";
        snprintf(factor, sizeof factor, "%gx", least > 0 ? least : most);
    }
    change_words(text, size, is_time(metric), direction == SHRINKS, bound, factor);
}
