#include "harness/lab/corpus/corpus_draw.h"

#include "harness/base/hash.h"
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/engine/step/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUE = 64,
    SCENARIOS_MOST = 64,
    PAIRS_MOST = SCENARIOS_MOST * SCENARIOS_MOST / 2,
    GROUP = 4,         /* items in a row, of which each kind has its share */
    PERIOD_MOST = 100, /* steps: a window holds whole periods, and would take minutes */
};

const char *corpus_kind_name(enum corpus_kind kind)
{
    static const char *const names[] = { "healthy", "one", "two" };

    return names[kind];
}

bool corpus_accepts(const struct scenario *scenario, const char *finding,
                    const struct device_properties *device)
{
    for (int i = 0; i < SCENARIO_FINDINGS && scenario->accept[i].id != NULL; i++)
        if ((finding == NULL || strcmp(scenario->accept[i].id, finding) == 0) &&
            where_holds(scenario->accept[i].where, device))
            return true;
    return false;
}

/* --- Possible settings --- */

/* Whether the device takes `config` with any of the fixes made, and its windows are not too
 * long. */
static bool is_possible(const struct training_config *config, const struct scenario *const *causes,
                        int count, const struct device_properties *device)
{
    for (int fixed = 0; fixed < 1 << count; fixed++) {
        struct training_config tried = *config;
        for (int i = 0; i < count; i++)
            if (knob_set(&tried, causes[i]->knob,
                         fixed >> i & 1 ? causes[i]->after : causes[i]->before) != STATUS_OK)
                return false;
        if (knobs_resolve(&tried, device) != STATUS_OK || training_period(&tried, 1) > PERIOD_MOST)
            return false;
    }
    return true;
}

static bool make_one(struct training_config *config, const struct scenario *scenario,
                     const struct device_properties *device)
{
    return where_holds(scenario->needs, device) && corpus_accepts(scenario, NULL, device) &&
           scenario_config(scenario, VARIANT_BEFORE, config) == STATUS_OK &&
           config->ranks.count == 1 && is_possible(config, &scenario, 1, device);
}

bool corpus_is_drawn(const struct scenario *scenario, const struct device_properties *device)
{
    struct training_config ignored;

    return make_one(&ignored, scenario, device);
}

/* Whether both values of a knob come to the same on the device. */
static bool is_value(const struct training_config *config, const char *knob, const char *value,
                     const struct device_properties *device)
{
    struct training_config own = *config, other = *config;
    char a[VALUE], b[VALUE];

    return knob_set(&other, knob, value) == STATUS_OK && knobs_resolve(&own, device) == STATUS_OK &&
           knobs_resolve(&other, device) == STATUS_OK &&
           knob_get(&own, knob, a, sizeof a) == STATUS_OK &&
           knob_get(&other, knob, b, sizeof b) == STATUS_OK && strcmp(a, b) == 0;
}

bool corpus_has(const struct corpus_item *item, const struct scenario *scenario,
                const struct device_properties *device)
{
    for (int i = 0; i < item->cause_count; i++)
        if (item->causes[i] == scenario)
            return false;
    return where_holds(scenario->needs, device) &&
           is_value(&item->config, scenario->knob, scenario->before, device);
}

/* --- Two at once --- */

/* The value of a knob in a list of settings, "model=light launch=eager"; false: it is not
 * stated. */
static bool states(const char *settings, const char *knob, char value[VALUE])
{
    size_t length = strlen(knob);

    for (const char *word = settings; *word != '\0'; word += strspn(word, " ")) {
        size_t end = strcspn(word, " ");
        if (strncmp(word, knob, length) == 0 && word[length] == '=') {
            snprintf(value, VALUE, "%.*s", (int)(end - length - 1), word + length + 1);
            return true;
        }
        word += end;
    }
    return false;
}

/* Whether the base of one scenario leaves the other its own: what both state is the same, and
 * neither needs the other's knob at another value than its bottleneck's. */
static bool bases_agree(const struct scenario *one, const struct scenario *other)
{
    int count;
    const struct knob *knobs = knobs_list(&count);
    char a[VALUE], b[VALUE];

    for (int i = 0; i < count; i++)
        if (strcmp(knobs[i].name, "batch") != 0 && strcmp(knobs[i].name, "blocks") != 0 &&
            states(one->base, knobs[i].name, a) && states(other->base, knobs[i].name, b) &&
            strcmp(a, b) != 0)
            return false;
    return !(states(one->base, other->knob, a) && strcmp(a, other->before) != 0) &&
           !(states(other->base, one->knob, b) && strcmp(b, one->before) != 0);
}

/* A budget is of its own base's sizes: others may not fit. */
static bool needs_its_sizes(const struct scenario *one, const struct scenario *other)
{
    static const char *const sizes[] = { "batch", "tokens", "width", "blocks", "patch", "crop" };
    char ignored[VALUE];
    bool budget = states(one->base, "memory_budget", ignored);

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        if (budget && states(other->base, sizes[i], ignored))
            return true;
    return false;
}

static bool share_a_finding(const struct scenario *one, const struct scenario *other,
                            const struct device_properties *device)
{
    for (int i = 0; i < SCENARIO_FINDINGS && one->accept[i].id != NULL; i++)
        if (where_holds(one->accept[i].where, device) &&
            corpus_accepts(other, one->accept[i].id, device))
            return true;
    return false;
}

static bool make_two(struct training_config *config, const struct scenario *const pair[2],
                     const struct device_properties *device)
{
    if (!make_one(config, pair[0], device) || !make_one(config, pair[1], device) ||
        strcmp(pair[0]->knob, pair[1]->knob) == 0 || pair[0]->group == pair[1]->group ||
        share_a_finding(pair[0], pair[1], device) || !bases_agree(pair[0], pair[1]) ||
        needs_its_sizes(pair[0], pair[1]) || needs_its_sizes(pair[1], pair[0]))
        return false;
    knobs_defaults(config);
    for (int i = 0; i < 2; i++)
        if (knobs_apply(config, pair[i]->base) != STATUS_OK ||
            knob_set(config, pair[i]->knob, pair[i]->before) != STATUS_OK)
            return false;
    for (int i = 0; i < 2; i++) /* a base may state the other's knob */
        if (knob_set(config, pair[i]->knob, pair[i]->before) != STATUS_OK)
            return false;
    return is_possible(config, pair, 2, device);
}

/* --- Nothing wrong --- */

/* A step that is one graph, and whose input is at hand: of images, as sequences that are padded to
 * one length compute what nobody needs, and those that are not need a graph per length. */
static const char *const healthy[] = {
    "model=light data=images",
    "model=light data=images batch=8",
    "model=balanced launch=graph",
    "model=balanced launch=graph batch=16",
    "model=balanced launch=graph input=loaded",
    "model=balanced launch=graph input=cached",
    "model=heavy launch=graph blocks=2",
    "model=heavy launch=graph blocks=4 batch=4",
};

/* --- Pools and decks --- */

struct pool {
    const struct device_properties *device;
    const struct scenario *ones[SCENARIOS_MOST];
    const struct scenario *twos[PAIRS_MOST][2];
    int one_count, two_count;
};

/* A pair is the same in any order of the list. */
static void add_two(struct pool *pool, const struct scenario *one, const struct scenario *other)
{
    struct training_config ignored;
    bool ordered = strcmp(one->name, other->name) < 0;
    const struct scenario *const pair[] = { ordered ? one : other, ordered ? other : one };

    if (make_two(&ignored, pair, pool->device))
        memcpy(pool->twos[pool->two_count++], pair, sizeof pair);
}

static void fill(struct pool *pool, const struct scenario *const *list,
                 const struct device_properties *device)
{
    pool->device = device;
    pool->one_count = pool->two_count = 0;
    for (int i = 0; list[i] != NULL; i++) {
        if (corpus_is_drawn(list[i], device))
            pool->ones[pool->one_count++] = list[i];
        for (int j = 0; j < i; j++) add_two(pool, list[j], list[i]);
    }
}

struct corpus_choice corpus_choice(const struct device_properties *device)
{
    struct corpus_choice choice = { 0, 0 };
    struct pool *pool = malloc(sizeof *pool);

    if (pool != NULL) {
        fill(pool, scenarios, device);
        choice = (struct corpus_choice){ pool->one_count, pool->two_count };
    }
    free(pool);
    return choice;
}

/* Cards, which are all put back once all were drawn. */
struct deck {
    uint64_t names[PAIRS_MOST]; /* hashes */
    bool is_drawn[PAIRS_MOST];
    int count, left;
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_add(hash, text, strlen(text) + 1);
}

static void deck_add(struct deck *deck, uint64_t name)
{
    deck->names[deck->count] = name;
    deck->is_drawn[deck->count++] = false;
    deck->left++;
}

/* Draws from the cards that are left the one that an item's number and its own name favour most
 * (rendezvous hashing: Thaler and Ravishankar, "Using name-based mappings to increase hit rates",
 * 1998): a card more changes little. */
static int deck_draw(struct deck *deck, uint64_t item)
{
    uint64_t most = 0;
    int drawn = -1;

    if (deck->left == 0) {
        memset(deck->is_drawn, 0, sizeof deck->is_drawn);
        deck->left = deck->count;
    }
    for (int i = 0; i < deck->count; i++) {
        struct random random = random_seed(item, deck->names[i]);
        uint64_t bits = random_bits(&random);
        if (!deck->is_drawn[i] && (drawn < 0 || bits > most)) {
            most = bits;
            drawn = i;
        }
    }
    deck->is_drawn[drawn] = true;
    deck->left--;
    return drawn;
}

/* --- Settings around a bottleneck --- */

/* Knobs that change how long a step takes and no scenario's fix; a size is halved, kept or
 * doubled. */
static const struct surrounding {
    const char *knob;
    const char *values[4]; /* of them one; NULL: a size */
} surroundings[] = {
    { "batch", { NULL } },
    { "width", { NULL } },
    { "blocks", { NULL } },
    { "loss_every", { "10", "10", "20", "20" } },
    { "prefetch", { "2", "2", "3", "4" } },
    { "jpeg_pixels", { "32", "64", "96", "128" } },
};

/* The value that a size gets; false: it stays. Heavy models do not grow: a step would take long. */
static bool draw_size(char value[VALUE], const struct training_config *config, const char *knob,
                      struct random *random, const struct device_properties *device)
{
    struct training_config resolved = *config;
    uint32_t chance = random_below(random, config->model.role == ROLE_HEAVY ? 2 : 3);
    char now[VALUE];
    int size;

    if (chance == 0 || config->allocator.budget != 0 ||
        knobs_resolve(&resolved, device) != STATUS_OK ||
        knob_get(&resolved, knob, now, sizeof now) != STATUS_OK)
        return false;
    size = atoi(now);
    size = chance == 1 ? size / 2 : size * 2;
    snprintf(value, VALUE, "%d", size);
    return size > 0;
}

static bool is_free(const struct corpus_item *item, const char *knob)
{
    char ignored[VALUE];
    bool decodes = item->config.loader.input == INPUT_DECODED;

    for (int i = 0; i < item->cause_count; i++)
        if (strcmp(item->causes[i]->knob, knob) == 0 ||
            states(item->causes[i]->base, knob, ignored))
            return false;
    return decodes || (strcmp(knob, "jpeg_pixels") != 0 && strcmp(knob, "prefetch") != 0);
}

static void set_around(struct corpus_item *item, const char *knob, const char *value,
                       const struct device_properties *device)
{
    struct training_config tried = item->config;

    if (is_free(item, knob) && knob_set(&tried, knob, value) == STATUS_OK &&
        is_possible(&tried, item->causes, item->cause_count, device))
        item->config = tried;
}

/* Random numbers are taken whether or not they are used, so that one row does not move the next. */
static void draw_around(struct corpus_item *item, struct random *random,
                        const struct device_properties *device)
{
    if (device->bf16_matrix_units)
        set_around(item, "precision", "bf16", device);
    for (size_t i = 0; i < ARRAY_SIZE(surroundings); i++) {
        const struct surrounding *row = &surroundings[i];
        char value[VALUE];
        bool drawn = true;
        if (row->values[0] == NULL)
            drawn = draw_size(value, &item->config, row->knob, random, device);
        else
            snprintf(value, VALUE, "%s", row->values[random_below(random, 4)]);
        if (drawn)
            set_around(item, row->knob, value, device);
    }
}

/* --- An item --- */

struct decks {
    struct deck kinds, ones, twos, healthy;
};

static void decks_open(struct decks *decks, const struct pool *pool)
{
    memset(decks, 0, sizeof *decks);
    for (int i = 0; i < GROUP; i++) deck_add(&decks->kinds, (uint64_t)i);
    for (int i = 0; i < pool->one_count; i++)
        deck_add(&decks->ones, hash_text(HASH_EMPTY, pool->ones[i]->name));
    for (int i = 0; i < pool->two_count; i++)
        deck_add(&decks->twos,
                 hash_text(hash_text(HASH_EMPTY, pool->twos[i][0]->name), pool->twos[i][1]->name));
    for (size_t i = 0; i < ARRAY_SIZE(healthy); i++)
        deck_add(&decks->healthy, hash_text(HASH_EMPTY, healthy[i]));
}

static void take_causes(struct corpus_item *item, const struct pool *pool, struct decks *decks,
                        uint64_t number)
{
    static const enum corpus_kind kinds[GROUP] = { CORPUS_ONE, CORPUS_ONE, CORPUS_TWO,
                                                   CORPUS_HEALTHY };

    item->kind = kinds[deck_draw(&decks->kinds, number)];
    item->cause_count = (int)item->kind;
    if (item->kind == CORPUS_TWO) {
        memcpy(item->causes, pool->twos[deck_draw(&decks->twos, number)], sizeof item->causes);
        make_two(&item->config, item->causes, pool->device);
    } else if (item->kind == CORPUS_ONE) {
        item->causes[0] = pool->ones[deck_draw(&decks->ones, number)];
        make_one(&item->config, item->causes[0], pool->device);
    } else {
        knobs_defaults(&item->config);
        knobs_apply(&item->config, "attention=fused");
        knobs_apply(&item->config, healthy[deck_draw(&decks->healthy, number)]);
    }
}

enum status corpus_draw(struct corpus_item *items, int count, uint64_t seed,
                        const struct scenario *const *list, const struct device_properties *device)
{
    enum status status = STATUS_OK;
    struct pool *pool = NULL;
    struct decks *decks = NULL;

    TRY_OUT(rows_make(&pool, 1));
    TRY_OUT(rows_make(&decks, 1));
    fill(pool, list, device);
    if (pool->one_count == 0 || pool->two_count == 0)
        FAIL_OUT(STATUS_UNSUPPORTED,
                 "%s can show %d scenarios and %d pairs of them; a corpus has both", device->name,
                 pool->one_count, pool->two_count);
    decks_open(decks, pool);
    for (int i = 0; i < count; i++) {
        struct corpus_item *item = &items[i];
        struct random random = random_seed(seed, (uint64_t)i + 1);
        memset(item, 0, sizeof *item);
        snprintf(item->name, sizeof item->name, "%04d", (i + 1) % (CORPUS_MOST + 1));
        take_causes(item, pool, decks, random_bits(&random));
        item->seed = 1 + random_below(&random, UINT32_MAX);
        draw_around(item, &random, device);
    }

out:
    free(pool);
    free(decks);
    return status;
}
