/* The items of a corpus of traces: in each one bottleneck, two at once, or none, with a model and
 * settings around it. All is drawn from a seed, and nothing from measurements, so the same seed has
 * the same items on every device that can show the same scenarios; a shorter corpus is the
 * beginning of a longer one.
 *
 * A bottleneck is a scenario's knob at its value before, in the scenario's own base. Two at once
 * are of scenarios whose bases agree but for batch and blocks, whose knobs, parts of training
 * (groups) and accepted findings differ, and whose fixes can be made in either order. No scenario
 * of several ranks is drawn: a trace is that of one process, and not every machine has what starts
 * more. Where nothing is wrong, every knob of every scenario has a healthy value. Around them,
 * sizes and knobs that no scenario is about are drawn too, as far as the settings stay possible,
 * and products are in bf16 where the device has matrix units for it, unless fp32 is a cause or in
 * the base. */
#ifndef HARNESS_LAB_CORPUS_CORPUS_DRAW_H
#define HARNESS_LAB_CORPUS_CORPUS_DRAW_H

#include "scenarios/scenario.h"

enum corpus_kind { CORPUS_HEALTHY, CORPUS_ONE, CORPUS_TWO, CORPUS_KINDS };
const char *corpus_kind_name(enum corpus_kind kind); /* "healthy", "one", "two" */

enum { CORPUS_CAUSES = 2, CORPUS_MOST = 9999, CORPUS_NAME = 8 };

struct corpus_item {
    char name[CORPUS_NAME]; /* "0001" */
    enum corpus_kind kind;
    const struct scenario *causes[CORPUS_CAUSES];
    int cause_count;
    uint64_t seed;                 /* of its weights, samples and repetitions */
    struct training_config config; /* with all of its causes, not resolved */
};

/* Fills items[count] from the scenarios of `list`, which ends with NULL. In every four items, two
 * have one bottleneck, one has two and one has none. No scenario comes again alone before every
 * other one that the device can show. UNSUPPORTED: it can show none, or no two.
 *
 * A hash of the seed, an item's number and a scenario's name decides, so the order of the list does
 * not matter. A scenario more leaves every item's kind and seed as they are, and all of a healthy
 * one. Among the items with one cause, all before the first that has the new scenario stay; most
 * after it do, too, but a scenario that was displaced comes later, in another's place. The same
 * holds among the items with two. */
enum status corpus_draw(struct corpus_item *items, int count, uint64_t seed,
                        const struct scenario *const *list, const struct device_properties *device);

/* How many scenarios, and how many pairs of them, are drawn from. */
struct corpus_choice {
    int ones, twos;
};
struct corpus_choice corpus_choice(const struct device_properties *device);

/* Whether an item may have this cause. */
bool corpus_is_drawn(const struct scenario *scenario, const struct device_properties *device);

/* Whether the settings around an item's causes have the scenario's bottleneck, too, as launch=eager
 * has one. It is no label, since nobody has measured what it costs there, but who names it is not
 * wrong. */
bool corpus_has(const struct corpus_item *item, const struct scenario *scenario,
                const struct device_properties *device);

/* Whether the finding shows the scenario on this device. */
bool corpus_accepts(const struct scenario *scenario, const char *finding,
                    const struct device_properties *device);

#endif
