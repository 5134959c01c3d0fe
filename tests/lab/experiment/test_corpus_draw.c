/* The items of a corpus: the same for the same seed, possible, and with as many causes as it
 * says. */
#include "harness/lab/corpus/corpus_draw.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 400 };

static const struct device_properties devices[] = {
    { .name = "cpu",
      .kind = "cpu",
      .host_cores = 2,
      .shares_host_cores = true,
      .memory_bytes = (int64_t)4 << 30 },
    { .name = "cpu with units",
      .kind = "cpu",
      .host_cores = 8,
      .shares_host_cores = true,
      .bf16_matrix_units = true,
      .fused_attention = true,
      .memory_bytes = (int64_t)4 << 30 },
    { .name = "gpu",
      .kind = "cuda",
      .is_gpu = true,
      .host_cores = 16,
      .bf16_matrix_units = true,
      .tf32 = true,
      .fused_attention = true,
      .memory_bytes = (int64_t)80 << 30 },
};

static struct corpus_item *draw(int count, uint64_t seed, const struct device_properties *device)
{
    struct corpus_item *items = calloc((size_t)count, sizeof *items);

    assert_non_null(items);
    assert_int_equal(corpus_draw(items, count, seed, scenarios, device), STATUS_OK);
    return items;
}

static void the_same_seed_draws_the_same_and_a_shorter_corpus_is_its_beginning(void **state)
{
    struct corpus_item *one = draw(COUNT, 5, devices), *again = draw(COUNT, 5, devices);
    struct corpus_item *shorter = draw(10, 5, devices), *other = draw(COUNT, 6, devices);
    (void)state;

    assert_memory_equal(one, again, COUNT * sizeof *one);
    assert_memory_equal(one, shorter, 10 * sizeof *one);
    assert_memory_not_equal(one, other, COUNT * sizeof *one);
    free(one);
    free(again);
    free(shorter);
    free(other);
}

static void of_four_items_two_have_one_cause_and_one_has_two(void **state)
{
    struct corpus_item *items = draw(COUNT, 1, devices);
    char name[CORPUS_NAME];
    (void)state;

    for (int i = 0; i < COUNT; i += 4) {
        int kinds[CORPUS_KINDS] = { 0 };
        for (int j = i; j < i + 4; j++) {
            kinds[items[j].kind]++;
            assert_int_equal(items[j].cause_count, (int)items[j].kind);
            snprintf(name, sizeof name, "%04d", j + 1);
            assert_string_equal(items[j].name, name);
        }
        assert_int_equal(kinds[CORPUS_HEALTHY], 1);
        assert_int_equal(kinds[CORPUS_ONE], 2);
        assert_int_equal(kinds[CORPUS_TWO], 1);
    }
    free(items);
}

static void set(struct training_config *config, const struct scenario *cause, const char *value)
{
    assert_int_equal(knob_set(config, cause->knob, value), STATUS_OK);
}

/* The value of a setting after the device's choices. */
static void value_of(const struct training_config *config, const char *knob,
                     const struct device_properties *device, char text[64])
{
    struct training_config resolved = *config;

    assert_int_equal(knobs_resolve(&resolved, device), STATUS_OK);
    assert_int_equal(knob_get(&resolved, knob, text, 64), STATUS_OK);
}

/* The cause is there, its fix can be made whatever the other's is, and changes the value. */
static void assert_causes(const struct corpus_item *item, const struct device_properties *device)
{
    for (int i = 0; i < item->cause_count; i++) {
        const struct scenario *cause = item->causes[i];
        struct training_config wrong = item->config;
        char now[64], before[64], after[64];
        set(&wrong, cause, cause->before);
        value_of(&item->config, cause->knob, device, now);
        value_of(&wrong, cause->knob, device, before);
        assert_string_equal(now, before);
        for (int other = 0; other < item->cause_count; other++)
            set(&wrong, item->causes[other], item->causes[other]->after);
        value_of(&wrong, cause->knob, device, after);
        assert_string_not_equal(before, after);
        assert_true(where_holds(cause->needs, device));
        assert_true(corpus_accepts(cause, NULL, device));
    }
}

static void assert_independent(const struct corpus_item *item,
                               const struct device_properties *device)
{
    const struct scenario *one = item->causes[0], *other = item->causes[1];

    assert_string_not_equal(one->knob, other->knob);
    assert_int_not_equal(one->group, other->group);
    for (int i = 0; i < SCENARIO_FINDINGS && one->accept[i].id != NULL; i++)
        if (where_holds(one->accept[i].where, device))
            assert_false(corpus_accepts(other, one->accept[i].id, device));
}

static void every_item_is_possible_on_every_device(void **state)
{
    (void)state;

    for (size_t d = 0; d < ARRAY_SIZE(devices); d++) {
        struct corpus_item *items = draw(COUNT, 3, &devices[d]);
        for (int i = 0; i < COUNT; i++) {
            struct training_config resolved = items[i].config;
            if (knobs_resolve(&resolved, &devices[d]) != STATUS_OK)
                fail_msg("%s: %s: %s", devices[d].name, items[i].name, status_last()->text);
            assert_causes(&items[i], &devices[d]);
            assert_int_equal(resolved.ranks.count, 1);
            if (items[i].kind == CORPUS_TWO)
                assert_independent(&items[i], &devices[d]);
        }
        free(items);
    }
}

/* Settings around a cause may have a bottleneck of another scenario; a cause is not such a one. */
static void bottlenecks_around_a_cause_are_known(void **state)
{
    const struct scenario *sync = scenario_find("item_sync"),
                          *eager = scenario_find("launch_overhead");
    struct corpus_item item = { .causes = { sync }, .cause_count = 1 };
    (void)state;

    knobs_defaults(&item.config);
    assert_int_equal(knobs_apply(&item.config, "model=light loss_every=1 launch=eager"), STATUS_OK);
    assert_true(corpus_has(&item, eager, devices));
    assert_false(corpus_has(&item, sync, devices));
    item.cause_count = 0;
    assert_true(corpus_has(&item, sync, devices));
    assert_int_equal(knobs_apply(&item.config, "launch=graph loss_every=20"), STATUS_OK);
    assert_false(corpus_has(&item, eager, devices));
    assert_false(corpus_has(&item, sync, devices));
}

/* With matrix units, fp32 would be a bottleneck without a label. */
static void with_matrix_units_products_are_in_bf16_but_where_fp32_is_stated(void **state)
{
    struct corpus_item *items = draw(COUNT, 3, &devices[1]);
    int in_bf16 = 0;
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        bool stated = false;
        char value[64];
        for (int c = 0; c < items[i].cause_count; c++)
            stated = stated || strcmp(items[i].causes[c]->knob, "precision") == 0 ||
                     strstr(items[i].causes[c]->base, "precision=") != NULL;
        value_of(&items[i].config, "precision", &devices[1], value);
        if (!stated)
            assert_string_equal(value, "bf16");
        in_bf16 += !stated;
    }
    assert_true(in_bf16 > COUNT / 2);
    free(items);
}

/* Where nothing is wrong, no knob that is wrong in any model has its wrong value. */
static void a_healthy_item_has_no_cause_of_any_scenario(void **state)
{
    static const char *const wrong[] = {
        "loss_every=1",      "allocation=direct",  "empty_cache_every=1",  "launch=blocking",
        "launch=eager",      "transfer=blocking",  "host_memory=pageable", "copies=per_tensor",
        "optimizer=unfused", "update=micro_batch", "elementwise=unfused",  "gelu=host",
        "clipping=host",     "kept_loss=graph",    "segments=exact",       "input=decoded",
        "log=synced",        "attention=naive",
    };
    struct corpus_item *items = draw(COUNT, 9, devices);
    char settings[2048], padded[2100];
    int healthy = 0;
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        struct training_config resolved = items[i].config;
        if (items[i].kind != CORPUS_HEALTHY)
            continue;
        healthy++;
        assert_int_equal(knobs_resolve(&resolved, devices), STATUS_OK);
        assert_int_equal(knobs_print(&resolved, settings, sizeof settings), STATUS_OK);
        snprintf(padded, sizeof padded, " %s ", settings);
        for (size_t w = 0; w < ARRAY_SIZE(wrong); w++) {
            char word[64];
            snprintf(word, sizeof word, " %s ", wrong[w]);
            if (strstr(padded, word) != NULL)
                fail_msg("%s has %s", items[i].name, wrong[w]);
        }
    }
    assert_int_equal(healthy, COUNT / 4);
    free(items);
}

static void no_scenario_comes_again_before_all_others(void **state)
{
    struct corpus_item *items = draw(COUNT, 2, devices);
    const struct scenario *seen[64];
    int ones = corpus_choice(devices).ones, count = 0, rounds = 0;
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        if (items[i].kind != CORPUS_ONE)
            continue;
        for (int s = 0; s < count; s++) assert_ptr_not_equal(seen[s], items[i].causes[0]);
        seen[count++] = items[i].causes[0];
        rounds += count == ones;
        count %= ones;
    }
    assert_true(rounds >= 5);
    free(items);
}

/* All scenarios but one; that one is the last, or is left out. */
static void draw_with(struct corpus_item items[COUNT], uint64_t seed, int moved, bool is_there)
{
    const struct scenario *list[65];
    int count = 0;

    for (int i = 0; scenarios[i] != NULL; i++)
        if (i != moved)
            list[count++] = scenarios[i];
    if (is_there)
        list[count++] = scenarios[moved];
    list[count] = NULL;
    assert_int_equal(corpus_draw(items, COUNT, seed, list, devices), STATUS_OK);
}

static bool has(const struct corpus_item *item, const struct scenario *cause)
{
    return item->causes[0] == cause || item->causes[1] == cause;
}

/* How many of the first 50 items are others. */
static int compare(const struct corpus_item with[COUNT], const struct corpus_item without[COUNT],
                   const struct scenario *more)
{
    bool came[CORPUS_KINDS] = { false };
    int changed = 0;

    for (int i = 0; i < COUNT; i++) {
        enum corpus_kind kind = with[i].kind;
        assert_int_equal(kind, without[i].kind);
        assert_true(with[i].seed == without[i].seed);
        came[kind] |= has(&with[i], more);
        if (!came[kind])
            assert_memory_equal(&with[i], &without[i], sizeof with[i]);
        changed += i < 50 && memcmp(&with[i], &without[i], sizeof with[i]) != 0;
    }
    return changed;
}

static void a_scenario_more_changes_nothing_before_it_comes_and_little_after(void **state)
{
    struct corpus_item *with = draw(COUNT, 1, devices), *without = draw(COUNT, 1, devices);
    int changed = 0, most = 0, lists = 0;
    (void)state;

    for (int i = 0; scenarios[i] != NULL; i++) {
        if (!corpus_is_drawn(scenarios[i], devices))
            continue;
        for (uint64_t seed = 1; seed <= 2; seed++) {
            draw_with(with, seed, i, true);
            draw_with(without, seed, i, false);
            int now = compare(with, without, scenarios[i]);
            changed += now;
            most = now > most ? now : most;
            lists++;
        }
    }
    print_message("of 50 items change %.1f, at most %d\n", (double)changed / lists, most);
    assert_true(changed < 6 * lists);
    free(with);
    free(without);
}

static void the_order_of_the_list_does_not_matter(void **state)
{
    struct corpus_item *as_listed = draw(COUNT, 7, devices), *other = draw(COUNT, 8, devices);
    const struct scenario *reversed[65] = { NULL };
    int count = 0;
    (void)state;

    while (scenarios[count] != NULL) count++;
    for (int i = 0; i < count; i++) reversed[count - 1 - i] = scenarios[i];
    assert_int_equal(corpus_draw(other, COUNT, 7, reversed, devices), STATUS_OK);
    assert_memory_equal(as_listed, other, COUNT * sizeof *other);
    free(as_listed);
    free(other);
}

/* Or a corpus says little. */
static void there_is_much_to_draw_from(void **state)
{
    (void)state;

    for (size_t d = 0; d < ARRAY_SIZE(devices); d++) {
        struct corpus_choice choice = corpus_choice(&devices[d]);
        print_message("%s: %d scenarios, %d pairs\n", devices[d].name, choice.ones, choice.twos);
        assert_true(choice.ones >= 20);
        assert_true(choice.twos >= 20);
    }
}

/* Sizes and settings around the same scenario differ. */
static void the_settings_around_a_cause_vary(void **state)
{
    struct corpus_item *items = draw(COUNT, 4, devices);
    int same = 0, pairs = 0;
    (void)state;

    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++)
            if (items[i].kind == CORPUS_ONE && items[j].kind == CORPUS_ONE &&
                items[i].causes[0] == items[j].causes[0]) {
                pairs++;
                same += memcmp(&items[i].config, &items[j].config, sizeof items[i].config) == 0;
            }
    assert_true(pairs > 100);
    assert_true(same * 3 < pairs);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_draws_the_same_and_a_shorter_corpus_is_its_beginning),
        cmocka_unit_test(of_four_items_two_have_one_cause_and_one_has_two),
        cmocka_unit_test(every_item_is_possible_on_every_device),
        cmocka_unit_test(a_healthy_item_has_no_cause_of_any_scenario),
        cmocka_unit_test(bottlenecks_around_a_cause_are_known),
        cmocka_unit_test(with_matrix_units_products_are_in_bf16_but_where_fp32_is_stated),
        cmocka_unit_test(no_scenario_comes_again_before_all_others),
        cmocka_unit_test(a_scenario_more_changes_nothing_before_it_comes_and_little_after),
        cmocka_unit_test(the_order_of_the_list_does_not_matter),
        cmocka_unit_test(there_is_much_to_draw_from),
        cmocka_unit_test(the_settings_around_a_cause_vary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
