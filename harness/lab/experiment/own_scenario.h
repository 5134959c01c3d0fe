/* A scenario that is not in the list: one change, on any settings, that is made while the program
 * runs. The change is of one knob, or of several at once: "loss_every,launch" from "1,eager" to
 * "20,graph". It travels to a child as text on its command line. */
#pragma once

#include "scenarios/scenario.h"

/* A change of twenty knobs at once fits. */
enum { OWN_SCENARIO_TEXT = 4096, OWN_KNOBS = 384, OWN_VALUES = 256 };

/* The members of `scenario` point into the others: do not copy it. */
struct own_scenario {
    struct scenario scenario;
    char base[OWN_SCENARIO_TEXT - 1024], knob[OWN_KNOBS], before[OWN_VALUES], after[OWN_VALUES];
};

/* The question is whether `metric` changes in `direction` at all; no more pairs are spent on a
 * change that is known to be less than the least effect. The losses must agree as `loss` says. */
struct own_change {
    const char *knob, *before, *after;
    enum metric metric;
    enum direction direction;
    enum loss_check loss;
};

/* BAD_USAGE where a text is too long. `base` is as of knobs_print(). */
enum status own_scenario_make(struct own_scenario *own, const char *name, const char *base,
                              const struct own_change *change);

/* The text reads back as the same scenario, but for its name. */
void own_scenario_print(char text[OWN_SCENARIO_TEXT], const struct scenario *scenario);

/* BAD_USAGE: the text is of no scenario. */
enum status own_scenario_parse(struct own_scenario *own, const char *name, const char *text);
