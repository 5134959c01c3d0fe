/* The odd machine of many is named, and healthy ones are not. */
#include "harness/base/words/intern.h"
#include "harness/fleet/fleet.h"

#include "harness/base/figures/student.h"
#include "harness/base/random.h"
#include "harness/fleet/fleet_output.h"
#include "harness/fleet/machine_rank.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>
#include <unistd.h>

/* --- Machines --- */

/* The figures of doctor, of the CPU device on two cores of an AMD EPYC. */
static const struct {
    const char *name, *unit;
    double value;
} figures[] = {
    { "cpu_clock", "Hz", 3.69e9 },    { "host_copy", "B/s", 12.1e9 },
    { "copy_h2d", "B/s", 11.4e9 },    { "copy_d2h", "B/s", 11.3e9 },
    { "copy_d2d", "B/s", 24.8e9 },    { "memory_bandwidth", "B/s", 20.9e9 },
    { "gemm_fp32", "FLOP/s", 102e9 }, { "gemm_bf16", "FLOP/s", 212e9 },
    { "launch", "ns", 400 },          { "wait", "ns", 605 },
};
enum { FIGURES = ARRAY_SIZE(figures) };

/* The shapes of noise: normal, and with heavy tails, Student's t of so many degrees of freedom. */
enum shape { NORMAL = 0, HEAVY = 5, HEAVIEST = 3 };

static double noise(struct random *random, enum shape shape)
{
    double normal = random_normal(random), chi = 0;

    if (shape == NORMAL)
        return normal;
    for (int i = 0; i < (int)shape; i++) {
        double other = random_normal(random);
        chi += other * other;
    }
    return normal / sqrt(chi / (double)shape);
}

static uint32_t number_of(struct intern *names, const char *text)
{
    uint32_t number;

    assert_ok(intern_add(names, text, strlen(text), &number));
    return number;
}

static void made_open(struct fleet *fleet, int count)
{
    *fleet = (struct fleet){ .nodes = calloc((size_t)count, sizeof *fleet->nodes), .count = count };
    assert_ok(intern_open(&fleet->names, SIZE_MAX));
    for (int i = 0; i < count; i++) {
        struct node *node = &fleet->nodes[i];
        node->figures = calloc(FIGURES + 1, sizeof *node->figures); /* one may be there twice */
        for (int j = 0; j < NODE_FACT_KINDS; j++)
            node->facts[j].items = calloc(4, sizeof *node->facts[j].items);
        assert_true(asprintf(&node->path, "files/doctor-%d.json", i) > 0);
        snprintf(node->label, sizeof node->label, "node%d", i);
        snprintf(node->host, sizeof node->host, "node%d", i);
        node->kind = number_of(fleet->names, "CPU device; AMD EPYC");
    }
}

/* Healthy machines whose figures vary by `spread`. */
static void made_healthy(struct fleet *fleet, int count, double spread, enum shape shape,
                         uint64_t seed)
{
    struct random random = random_seed(seed, 1);

    made_open(fleet, count);
    for (int i = 0; i < count; i++) {
        struct node *node = &fleet->nodes[i];
        node->figure_count = FIGURES;
        for (int j = 0; j < FIGURES; j++)
            node->figures[j] =
                (struct node_figure){ number_of(fleet->names, figures[j].name),
                                      number_of(fleet->names, figures[j].unit),
                                      figures[j].value * exp(spread * noise(&random, shape)), 0 };
    }
}

static void compare(struct fleet *fleet)
{
    assert_ok(fleet_compare(fleet));
}

static void add_fact(struct fleet *fleet, int node, enum node_fact_kind kind, const char *name,
                     const char *value)
{
    struct node_facts *to = &fleet->nodes[node].facts[kind];

    to->items[to->count++] =
        (struct node_fact){ number_of(fleet->names, name), number_of(fleet->names, value) };
}

static void add_setting(struct fleet *fleet, int node, const char *name, const char *value)
{
    add_fact(fleet, node, NODE_SETTINGS, name, value);
}

static void add_status(struct fleet *fleet, int node, const char *name, const char *value)
{
    add_fact(fleet, node, NODE_STATUSES, name, value);
}

static bool is_green(const struct fleet *fleet)
{
    return fleet->out_count == 0 && fleet_tells(fleet);
}

/* --- Figures --- */

TEST(a_figure_that_is_a_tenth_low_is_named)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct random random = random_seed(seed, 2);
        int node = (int)random_below(&random, 64), figure = (int)random_below(&random, FIGURES);
        struct node_figure *planted;
        struct fleet fleet;

        made_healthy(&fleet, 64, 0.01, NORMAL, seed);
        planted = &fleet.nodes[node].figures[figure];
        planted->value =
            figures[figure].value * (figure_is_time(figures[figure].unit) ? 1 / 0.9 : 0.9);
        compare(&fleet);
        assert_int_equal(fleet.out_count, 1);
        assert_int_equal(fleet.out[0], node);
        assert_true(fleet.kinds[0].outlier_count >= 1); /* the mean of all figures may be another */
        assert_string_equal(
            intern_text(fleet.names, planted->name),
            intern_text(fleet.names,
                        fleet.kinds[0].figures[fleet.kinds[0].outliers[0].figure].name));
        assert_float_equal(fleet.kinds[0].outliers[0].off, 0.1, 0.02);
        fleet_release(&fleet);
    }
}

/* How many of `rounds` fleets have a machine that is called odd and is not the planted one; *named:
 * how many have that. A planted machine is slow by `slow` in one figure, or in `all`. */
static int flagged(int count, double spread, enum shape shape, int rounds, double slow, bool all,
                   int *named)
{
    int flagged = 0;

    *named = 0;
    for (int seed = 0; seed < rounds; seed++) {
        struct fleet fleet;
        int odd = 0, node = seed % count;
        made_healthy(&fleet, count, spread, shape, 1000 + (uint64_t)seed);
        for (int j = 0; j < FIGURES; j++)
            if (slow > 0 && (all || j == seed % FIGURES))
                fleet.nodes[node].figures[j].value *=
                    figure_is_time(figures[j].unit) ? 1 / (1 - slow) : 1 - slow;
        compare(&fleet);
        for (int i = 0; i < fleet.out_count; i++)
            if (slow > 0 && fleet.out[i] == node)
                (*named)++;
            else
                odd = 1;
        flagged += odd;
        fleet_release(&fleet);
    }
    return flagged;
}

/* More fleets if CHOKEPOINT_FLEETS says so: docs/fleet.md has the figures of such a run. */
static int rounds_of(int few)
{
    const char *given = getenv("CHOKEPOINT_FLEETS");

    return given != NULL ? atoi(given) : few;
}

/* So many of `rounds` fleets that each are flagged with a chance of 1% are exceeded in one of a
 * thousand such tests: by the binomial distribution. */
static int most_flagged(int rounds)
{
    double chance = pow(0.99, rounds), sum = chance;
    int most = 0;

    for (; 1 - sum > 1e-3; most++) {
        chance *= (rounds - most) / (most + 1.0) * 0.01 / 0.99;
        sum += chance;
    }
    return most;
}

TEST(of_healthy_fleets_one_in_a_hundred_is_flagged_at_most)
{
    static const struct {
        int count;
        double spread;
        enum shape shape;
        int rounds;
    } cases[] = {
        { 5, 0.03, NORMAL, 200 },   { 16, 0.03, NORMAL, 200 },  { 64, 0.01, NORMAL, 100 },
        { 64, 0.05, NORMAL, 100 },  { 300, 0.03, NORMAL, 20 },  { 1000, 0.03, NORMAL, 5 },
        { 5, 0.02, HEAVIEST, 200 }, { 8, 0.02, HEAVIEST, 200 }, { 16, 0.02, HEAVIEST, 200 },
        { 64, 0.02, HEAVIEST, 40 }, { 16, 0.02, HEAVY, 200 },   { 64, 0.003, HEAVY, 40 },
        { 300, 0.02, HEAVIEST, 3 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int named, rounds = cases[i].count < 300 ? rounds_of(cases[i].rounds) : cases[i].rounds;
        int count =
            flagged(cases[i].count, cases[i].spread, cases[i].shape, rounds, 0, false, &named);
        print_message("%d machines, noise %g, t of %d: %d of %d fleets flagged\n", cases[i].count,
                      cases[i].spread, (int)cases[i].shape, count, rounds);
        if (count > most_flagged(rounds))
            fail_msg("%d of %d healthy fleets of %d machines are flagged", count, rounds,
                     cases[i].count);
    }
}

/* The smallest effect that a figure is stated to show is the bound and 0.84 deviations. With a
 * thousand machines the bound is that of normal noise for one false alarm in a hundred fleets, all
 * figures of all machines together, less the part that is kept for tails that are heavier than they
 * look (TAILS_ESTIMATED in fleet.c, 0.375), and hardly more. */
TEST(the_bound_of_many_machines_is_that_of_normal_noise)
{
    enum { MACHINES = 1000, TESTS = MACHINES * (FIGURES + 1) };
    double least = student_critical(2 * 0.375 * 0.01 / TESTS, INFINITY);
    struct fleet fleet;

    made_healthy(&fleet, MACHINES, 0.03, NORMAL, 8);
    compare(&fleet);
    for (int f = 0; f < FIGURES; f++) {
        const struct fleet_figure *figure = &fleet.kinds[0].figures[f];
        bool is_time = figure_is_time(intern_text(fleet.names, figure->unit));
        double shows = is_time ? log1p(figure->smallest) : -log1p(-figure->smallest);
        double bound = shows / figure->noise - 0.8416;
        if (!(bound > least - 0.02 && bound < least + 0.1))
            fail_msg("the bound is %g deviations, not %g", bound, least);
    }
    fleet_release(&fleet);
}

TEST(a_slow_machine_is_named)
{
    static const struct {
        int count;
        double slow;
        bool all;
        int rounds, least_percent;
    } cases[] = {
        { 5, 0.5, false, 100, 95 }, { 8, 0.3, false, 100, 95 }, { 16, 0.1, false, 100, 78 },
        { 16, 0.1, true, 100, 95 }, { 64, 0.1, false, 40, 95 }, { 64, 0.05, true, 40, 95 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int named, rounds = rounds_of(cases[i].rounds);
        flagged(cases[i].count, 0.01, NORMAL, rounds, cases[i].slow, cases[i].all, &named);
        print_message("one of %d, %g%% slow in %s: named in %d of %d\n", cases[i].count,
                      100 * cases[i].slow, cases[i].all ? "all figures" : "one", named, rounds);
        if (100 * named < cases[i].least_percent * rounds)
            fail_msg("one of %d is named in %d of %d", cases[i].count, named, rounds);
    }
}

/* A fleet says of each figure how small a difference would show in four of five cases; that is
 * planted. */
TEST(the_smallest_difference_that_is_stated_shows_in_four_of_five)
{
    static const int counts[] = { 5, 8, 16, 64 };
    int wrong = 0;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        int named = 0, rounds = rounds_of(counts[i] < 64 ? 150 : 60);
        double stated = 0;
        for (int seed = 0; seed < rounds; seed++) {
            int node = seed % counts[i], j = seed % FIGURES;
            double smallest = NAN;
            for (int planted = 0; planted < 2; planted++) {
                struct fleet fleet;
                made_healthy(&fleet, counts[i], 0.01, NORMAL, 5000 + (uint64_t)seed);
                if (planted)
                    fleet.nodes[node].figures[j].value *=
                        figure_is_time(figures[j].unit) ? 1 + smallest : 1 - smallest;
                compare(&fleet);
                for (int f = 0; f < fleet.kinds[0].figure_count && !planted; f++)
                    if (strcmp(intern_text(fleet.names, fleet.kinds[0].figures[f].name),
                               figures[j].name) == 0)
                        smallest = fleet.kinds[0].figures[f].smallest;
                for (int o = 0; o < fleet.out_count && planted; o++) named += fleet.out[o] == node;
                fleet_release(&fleet);
            }
            stated += smallest / rounds;
        }
        print_message("%d machines: %.1f%% is stated, and named in %d of %d\n", counts[i],
                      100 * stated, named, rounds);
        wrong += named < 0.7 * rounds || named > 0.92 * rounds;
    }
    assert_int_equal(wrong, 0);
}

/* The noise that a file states of itself counts too. */
TEST(a_figure_that_its_file_calls_noisy_is_not_out)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        struct fleet fleet;
        made_healthy(&fleet, 16, 0.003, NORMAL, 12);
        fleet.nodes[3].figures[6].value *= 0.8;
        fleet.nodes[3].figures[6].noise = noisy ? 0.1 : 0.002;
        compare(&fleet);
        assert_int_equal(fleet.out_count, noisy ? 0 : 1);
        fleet_release(&fleet);
    }
}

TEST(four_machines_do_not_tell)
{
    struct fleet fleet;

    made_healthy(&fleet, 4, 0.001, NORMAL, 1);
    fleet.nodes[2].figures[0].value /= 10;
    compare(&fleet);
    assert_int_equal(fleet.out_count, 0);
    assert_true(isnan(fleet.kinds[0].figures[0].noise));
    fleet_release(&fleet);
}

TEST(equal_figures_have_no_noise_and_three_percent_is_the_least)
{
    static const struct {
        double factor;
        int out;
    } cases[] = { { 0.975, 0 }, { 0.96, 1 }, { 1.5, 0 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fleet fleet;
        made_healthy(&fleet, 9, 0, NORMAL, 1);
        fleet.nodes[3].figures[6].value *= cases[i].factor;
        compare(&fleet);
        assert_int_equal(fleet.out_count, cases[i].out);
        if (fleet.out_count > 0)
            assert_true(isinf(fleet.kinds[0].outliers[0].deviations));
        fleet_release(&fleet);
    }
}

/* Nearly half the machines may be slow without hiding each other. */
TEST(many_slow_machines_do_not_hide_each_other)
{
    struct fleet fleet;

    made_healthy(&fleet, 64, 0.01, NORMAL, 3);
    for (int i = 0; i < 20; i++) fleet.nodes[3 * i].figures[6].value *= 0.7;
    compare(&fleet);
    assert_int_equal(fleet.out_count, 20);
    fleet_release(&fleet);
}

TEST(a_low_figure_of_a_used_machine_is_to_be_measured_again)
{
    struct fleet fleet;

    made_healthy(&fleet, 64, 0.01, NORMAL, 4);
    fleet.nodes[7].figures[6].value *= 0.7;
    fleet.nodes[7].disturbed = true;
    compare(&fleet);
    assert_int_equal(fleet.out_count, 0);
    assert_int_equal(fleet.kinds[0].outlier_count, 1);
    assert_true(fleet.kinds[0].outliers[0].doubtful);
    assert_false(is_green(&fleet));
    fleet_release(&fleet);
}

/* --- What no machine is green without --- */

enum spoiling { LACKS, IS_NULL, IS_ZERO, IS_TWICE, SPOILINGS };

/* The machine lacks figure `at`, or has no number, zero, or two numbers of it. */
static void spoil(struct node *node, int at, enum spoiling how)
{
    if (how == LACKS)
        node->figures[at] = node->figures[--node->figure_count];
    else if (how == IS_TWICE)
        node->figures[node->figure_count++] = node->figures[at];
    else
        node->figures[at].value = how == IS_ZERO ? 0 : NAN;
}

TEST(a_figure_that_was_not_measured_is_named)
{
    struct random random = random_seed(test_seed(), 3);

    for (int round = 0; round < 60; round++) {
        int node = (int)random_below(&random, 16), figure = (int)random_below(&random, FIGURES);
        enum spoiling how = (enum spoiling)(round % SPOILINGS);
        struct fleet fleet;

        made_healthy(&fleet, 16, 0.001, NORMAL, (uint64_t)round);
        spoil(&fleet.nodes[node], figure, how);
        compare(&fleet);
        assert_int_equal(fleet.out_count, 0);
        assert_int_equal(fleet.kinds[0].lack_count, 1);
        assert_int_equal(fleet.kinds[0].lacks[0].node, node);
        assert_string_equal(intern_text(fleet.names, fleet.kinds[0].lacks[0].name),
                            figures[figure].name);
        assert_int_equal(fleet.kinds[0].lacks[0].kind, how == IS_ZERO    ? LACK_ZERO
                                                       : how == IS_TWICE ? LACK_TWICE
                                                                         : LACK_NUMBER);
        assert_false(is_green(&fleet));
        fleet_release(&fleet);
    }
}

TEST(a_fleet_that_lacks_a_figure_everywhere_is_never_green)
{
    static const int counts[] = { 5, 16, 64 };
    struct random random = random_seed(test_seed(), 4);

    for (int round = 0; round < 500; round++) {
        int count = counts[round % 3];
        struct fleet fleet;

        made_healthy(&fleet, count, 0.001, NORMAL, (uint64_t)round);
        for (int i = 0; i < count; i++)
            spoil(&fleet.nodes[i], (int)random_below(&random, FIGURES),
                  (enum spoiling)random_below(&random, SPOILINGS));
        compare(&fleet);
        assert_false(is_green(&fleet));
        fleet_release(&fleet);
    }
}

/* What no machine has a number of cannot be measured on such machines. */
TEST(a_figure_that_no_machine_has_is_not_missed)
{
    struct fleet fleet;

    made_healthy(&fleet, 16, 0.001, NORMAL, 1);
    for (int i = 0; i < 16; i++) fleet.nodes[i].figures[4].value = NAN;
    compare(&fleet);
    assert_int_equal(fleet.kinds[0].lack_count, 0);
    assert_int_equal(fleet.kinds[0].figure_count, FIGURES); /* with all_figures */
    assert_true(is_green(&fleet));
    fleet_release(&fleet);
}

/* Slow ones that are fewer are out, and then those are named; else there are two groups. */
TEST(half_of_the_machines_do_not_pass_as_healthy)
{
    static const int counts[] = { 5, 8, 16, 64 };

    for (size_t c = 0; c < ARRAY_SIZE(counts); c++)
        for (int slow = counts[c] / 4; slow <= counts[c] * 3 / 4; slow++) {
            struct fleet fleet;
            const struct fleet_figure *row;

            made_healthy(&fleet, counts[c], 0.01, NORMAL, 30 + (uint64_t)slow);
            for (int i = 0; i < slow; i++) fleet.nodes[i].figures[6].value /= 2;
            compare(&fleet);
            row = &fleet.kinds[0].figures[6];
            if (is_green(&fleet) || (fleet.out_count != slow && row->slow_count != slow))
                fail_msg("%d of %d: %d are out, %d are a group", slow, counts[c], fleet.out_count,
                         row->slow_count);
            if (row->slow_count > 0)
                assert_float_equal(row->apart, 0.5, 0.02);
            fleet_release(&fleet);
        }
}

/* Chance makes two groups of what is noise in one of a hundred fleets at most, and calls a figure
 * of many machines too noisy as rarely. */
TEST(noise_is_not_two_groups)
{
    static const int counts[] = { 5, 8, 16, 64 };
    static const enum shape tails[] = { NORMAL, HEAVY, HEAVIEST };
    int groups = 0, vague = 0, rounds = rounds_of(300);

    for (int round = 0; round < rounds; round++) {
        struct fleet fleet;
        int grouped = 0, noisy = 0;

        made_healthy(&fleet, counts[round % 4], 0.02, tails[round % 3], 7000 + (uint64_t)round);
        compare(&fleet);
        for (int f = 0; f < fleet.kinds[0].figure_count; f++) {
            grouped += fleet.kinds[0].figures[f].slow_count > 0;
            noisy += fleet.kinds[0].figures[f].vague;
        }
        groups += grouped > 0;
        vague += noisy > 0 && round % 4 >= 2 && tails[round % 3] == NORMAL;
        fleet_release(&fleet);
    }
    print_message("two groups in %d, too noisy in %d of %d healthy fleets\n", groups, vague,
                  rounds);
    assert_true(groups <= most_flagged(rounds));
    assert_true(vague <= most_flagged(rounds / 6));
}

/* One of five at half of the speed, whose files state the noise of a busy machine. */
TEST(a_figure_that_is_too_noisy_is_said_with_its_worst_machine)
{
    for (int spread = 0; spread < 2; spread++) {
        struct fleet fleet;
        const struct fleet_figure *row;

        made_healthy(&fleet, 5, 0.01, NORMAL, 11);
        for (int i = 0; i < 5; i++) fleet.nodes[i].figures[6].noise = spread ? 0 : 0.09;
        if (spread) /* and where the noise is between the machines */
            for (int i = 0; i < 5; i++) fleet.nodes[i].figures[6].value *= 1 + 0.1 * i;
        fleet.nodes[3].figures[6].value *= 0.5;
        compare(&fleet);
        assert_false(is_green(&fleet));
        row = &fleet.kinds[0].figures[6];
        if (fleet.out_count == 0) {
            assert_true(row->vague);
            assert_int_equal(row->vague_node, 3);
        }
        fleet_release(&fleet);
    }
}

TEST(the_gpus_of_a_machine_are_named_together)
{
    struct fleet fleet;
    char why[400];

    made_healthy(&fleet, 64, 0.003, NORMAL, 13);
    for (int i = 0; i < 64; i++) {
        struct node *node = &fleet.nodes[i];
        /* The files of a machine are not side by side. */
        node->device = i / 8;
        snprintf(node->host, sizeof node->host, "n%d", i % 8);
        snprintf(node->label, sizeof node->label, "n%d GPU %d", i % 8, node->device);
        if (i % 8 == 3)
            node->figures[5].value *= 0.9;
    }
    compare(&fleet);
    assert_int_equal(fleet.machines, 8);
    assert_int_equal(fleet.kinds[0].machines, 8);
    assert_int_equal(fleet.out_count, 8);
    assert_int_equal(fleet_machines(&fleet, fleet.out, fleet.out_count), 1);
    assert_int_equal(fleet.nodes[fleet.out[0]].siblings, 8);
    assert_string_equal(fleet.nodes[0].label, "n0 GPU 0");
    assert_string_equal(fleet.nodes[7].label, "n0 GPU 7");
    fleet_why(why, sizeof why, &fleet, fleet.out, fleet.out_count);
    assert_int_equal(strncmp(why, "memory_bandwidth 1", 18), 0);
    assert_null(strchr(why, ','));
    fleet_release(&fleet);
}

TEST(machines_of_another_kind_are_not_compared)
{
    struct fleet fleet;

    made_healthy(&fleet, 24, 0.01, NORMAL, 5);
    for (int i = 0; i < 10; i++) {
        fleet.nodes[2 * i].kind = number_of(fleet.names, "NVIDIA H200");
        for (int j = 0; j < FIGURES; j++) fleet.nodes[2 * i].figures[j].value *= 5;
    }
    compare(&fleet);
    assert_int_equal(fleet.out_count, 0);
    assert_int_equal(fleet.kind_count, 2);
    assert_int_equal(fleet.kinds[0].count, 14);
    fleet_release(&fleet);
}

/* --- Settings and rows --- */

TEST(settings_that_differ_are_listed_by_value)
{
    struct fleet fleet;
    const struct fleet_kind *kind;

    made_healthy(&fleet, 6, 0.01, NORMAL, 6);
    for (int i = 0; i < 6; i++) {
        add_setting(&fleet, i, "kernel", "6.1");
        add_setting(&fleet, i, "cpu_governor", i == 4 ? "powersave" : "performance");
    }
    add_setting(&fleet, 5, "NCCL_P2P_DISABLE", "1");
    compare(&fleet);
    kind = &fleet.kinds[0];
    assert_int_equal(kind->value_count, 4);
    assert_string_equal(intern_text(fleet.names, kind->values[0].value), "performance");
    assert_int_equal(kind->values[0].count, 5);
    assert_string_equal(intern_text(fleet.names, kind->values[1].value), "powersave");
    assert_int_equal(kind->values[1].nodes[0], 4);
    assert_string_equal(intern_text(fleet.names, kind->values[2].value), "-");
    assert_int_equal(kind->values[2].count, 5);
    assert_string_equal(intern_text(fleet.names, kind->values[3].value), "1");
    assert_int_equal(kind->values[3].nodes[0], 5);
    assert_int_equal(fleet.out_count, 0);
    fleet_release(&fleet);
}

TEST(a_row_that_fails_on_few_machines_makes_them_odd)
{
    static const struct {
        int failing, out;
        const char *judged;
    } cases[] = { { 2, 2, "fail" }, { 3, 0, "fail" }, { 6, 0, "fail" }, { 2, 0, "low" } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fleet fleet;
        made_healthy(&fleet, 6, 0.01, NORMAL, 7);
        for (int j = 0; j < cases[i].failing; j++)
            add_status(&fleet, j, "numerics_gemm", cases[i].judged);
        compare(&fleet);
        assert_int_equal(fleet.out_count, cases[i].out);
        assert_int_equal(fleet.kinds[0].status_count, 1);
        assert_int_equal(fleet.kinds[0].statuses[0].count, cases[i].failing);
        fleet_release(&fleet);
    }
}

TEST(machines_of_one_name_are_told_apart_by_their_files)
{
    struct fleet fleet;

    made_healthy(&fleet, 3, 0.01, NORMAL, 8);
    strcpy(fleet.nodes[0].label, "localhost");
    strcpy(fleet.nodes[2].label, "localhost");
    compare(&fleet);
    assert_string_equal(fleet.nodes[0].label, "doctor-0.json");
    assert_string_equal(fleet.nodes[1].label, "node1");
    assert_string_equal(fleet.nodes[2].label, "doctor-2.json");
    fleet_release(&fleet);
}

/* --- Files --- */

static char folder[] = "/tmp/chokepoint-fleet-XXXXXX";
static int skipped_count;

static void skip_file(void *context, const char *path)
{
    (void)context;
    (void)path;
    skipped_count++;
}

static void write_file(char path[64], int number, const char *text)
{
    FILE *file;

    snprintf(path, 64, "%s/%d.json", folder, number);
    file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char *const texts[] = {
    /* A whole one. */
    "{\"schema\":2,\"context\":{\"host_name\":\"n1\",\"device_name\":\"GPU\",\"device_index\":"
    "\"3\","
    "\"cpu_model\":\"X\",\"kernel\":\"K\",\"load_avg\":[1]},\"fit\":\"yes\",\"checks\":["
    "{\"name\":\"gemm\",\"status\":\"low\",\"value\":\"1\",\"number\":5e9,\"unit\":\"FLOP/s\"},"
    "{\"name\":\"memory\",\"status\":\"ok\",\"value\":\"1 B\",\"number\":1,\"unit\":\"B\"},"
    "{\"name\":\"wait\",\"status\":\"ok\",\"value\":\"-\",\"number\":0,\"unit\":\"ns\"},"
    "{\"name\":\"cpu_steal\",\"status\":\"low\",\"value\":\"5%\",\"number\":5,\"unit\":\"%\"},"
    "{\"name\":\"governor\",\"status\":\"n/a\",\"value\":\"none\",\"number\":null,\"unit\":null}],"
    "\"between\":[{\"from\":0,\"to\":1,\"bytes_per_second\":3e11,\"copy_ns\":null}]}",
    /* One that knows little. */
    "{\"checks\":[{\"name\":\"a\"},{},3,null]}",
    /* Broken ones. */
    "",
    "{",
    "[]",
    "null",
    "{\"checks\":[]}",
    "{\"checks\":{}}",
    "{\"benchmarks\":[]}",
};

TEST(files_are_read_and_broken_ones_skipped)
{
    char paths[ARRAY_SIZE(texts)][64];
    const char *list[ARRAY_SIZE(texts) + 1];
    const struct node *node;
    struct fleet fleet;

    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        write_file(paths[i], (int)i, texts[i]);
        list[i] = paths[i];
    }
    list[ARRAY_SIZE(texts)] = "/nowhere/x.json";
    assert_ok(fleet_make(&fleet, node_read, list, ARRAY_SIZE(list), skip_file, NULL));
    assert_int_equal(skipped_count, ARRAY_SIZE(texts) - 2 + 1);
    assert_int_equal(fleet.count, 2);
    node = &fleet.nodes[0];
    assert_string_equal(node->label, "n1 GPU 3");
    assert_string_equal(intern_text(fleet.names, node->kind), "GPU; X");
    assert_int_equal(node->figure_count, 4); /* memory is no speed */
    assert_float_equal(node->figures[0].value, 5e9, 1);
    assert_float_equal(node->figures[1].value, 0, 0);
    assert_string_equal(intern_text(fleet.names, node->figures[2].name), "gpu 0 to 1");
    assert_float_equal(node->figures[2].value, 3e11, 1);
    assert_true(isnan(node->figures[3].value));
    assert_int_equal(node->facts[NODE_SETTINGS].count, 2);
    assert_int_equal(node->facts[NODE_STATUSES].count, 2);
    assert_true(node->disturbed);
    assert_string_equal(fleet.nodes[1].label, "1.json");
    fleet_release(&fleet);
    assert_int_equal(fleet_make(&fleet, node_read, &list[2], 2, skip_file, NULL), STATUS_BAD_INPUT);
    fleet_release(&fleet);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) unlink(paths[i]);
    rmdir(folder);
}

/* --- Output --- */

static char *printed(const struct fleet *fleet, bool markdown)
{
    static const struct fleet_skipped skipped = { "x.json", "x.json is not JSON" };
    struct page page;
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    page = markdown ? page_markdown(stream) : page_console(stream, COLOR_NEVER);
    fleet_page(&page, fleet, &skipped, 1);
    fclose(stream);
    return text;
}

TEST(the_page_ends_with_who_is_out_and_why)
{
    struct fleet fleet;
    char *text;

    made_healthy(&fleet, 64, 0.001, NORMAL, 9);
    fleet.nodes[17].figures[6].value = 0.9 * 102e9;
    fleet.nodes[17].figures[8].value = 500;
    add_status(&fleet, 17, "numerics_gemm", "fail");
    for (int i = 0; i < 64; i++) add_setting(&fleet, i, "kernel", i < 3 ? "6.2|x" : "6.1");
    compare(&fleet);
    for (int markdown = 0; markdown < 2; markdown++) {
        text = printed(&fleet, markdown != 0);
        assert_non_null(strstr(text, "Out: node17 (launch 25% longer, gemm"));
        assert_non_null(strstr(text, "10% less, numerics"));
        assert_non_null(strstr(text, "x.json is not JSON"));
        assert_non_null(strstr(text, "node0, node1, node2"));
        assert_non_null(strstr(text, "the others"));
        free(text);
    }
    fleet_release(&fleet);
}

TEST(what_shows_is_explained_under_its_table)
{
    struct fleet fleet;
    const char *table;
    char *text;

    made_healthy(&fleet, 6, 0.001, NORMAL, 9);
    add_setting(&fleet, 0, "kernel", "6.2");
    compare(&fleet);
    text = printed(&fleet, false);
    table = strstr(text, "slowest node");
    assert_non_null(table);
    assert_non_null(strstr(table, "shows: a node"));
    free(text);
    fleet_release(&fleet);
}

TEST(the_json_has_it_all)
{
    static const struct fleet_skipped skipped = { "x.json", "why" };
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL);
    const cJSON *kind, *outlier;
    struct fleet fleet;

    made_healthy(&fleet, 6, 0, NORMAL, 10);
    fleet.nodes[2].figures[6].value *= 0.5;
    compare(&fleet);
    fleet_json(&json, root, &fleet, &skipped, 1);
    assert_false(json.out_of_memory);
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(root, "out"), 0)->valuestring,
                        "node2");
    kind = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "kinds"), 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(kind, "figures")),
                     FIGURES + 1); /* and all_figures */
    outlier = cJSON_GetArrayItem(cJSON_GetObjectItem(kind, "outliers"), 0);
    assert_string_equal(cJSON_GetObjectItem(outlier, "figure")->valuestring, "gemm_fp32");
    assert_float_equal(cJSON_GetObjectItem(outlier, "off")->valuedouble, 0.5, 1e-9);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(outlier, "deviations")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "skipped")), 1);
    cJSON_Delete(root);
    fleet_release(&fleet);
}

/* --- One machine among others --- */

TEST(a_machine_has_its_rank_among_others_of_its_kind)
{
    static const struct own_figure own[] = { { "gemm_fp32", "FLOP/s", 103.5e9 },
                                             { "launch", "ns", 402 },
                                             { "nobody_has_it", "B/s", 1 } };
    struct machine_ranks standings;
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL);
    struct fleet fleet;

    made_healthy(&fleet, 6, 0, NORMAL, 1);
    for (int i = 0; i < 6; i++) {
        fleet.nodes[i].figures[6].value = (100 + i) * 1e9; /* gemm_fp32 */
        fleet.nodes[i].figures[8].value = 400 + i;         /* launch */
    }
    fleet.nodes[5].kind = number_of(fleet.names, "other");
    compare(&fleet);
    assert_ok(machine_ranks_make(&standings, own, ARRAY_SIZE(own), &fleet, "CPU device; AMD EPYC"));
    assert_int_equal(standings.nodes, 5);
    assert_int_equal(standings.count, 2);
    assert_int_equal(standings.alone, 1);
    assert_int_equal(standings.items[0].rank, 2); /* 104 is faster */
    assert_int_equal(standings.items[0].count, 5);
    assert_float_equal(standings.items[0].slowest, 100e9, 1);
    assert_float_equal(standings.items[0].median, 102e9, 1);
    assert_int_equal(standings.items[1].rank, 3); /* 400 and 401 are; 402 is as fast */
    assert_float_equal(standings.items[1].slowest, 404, 0);
    assert_float_equal(standings.items[1].fastest, 400, 0);
    machine_ranks_json(&json, root, "check", &standings);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "against")), 2);
    cJSON_Delete(root);
    machine_ranks_release(&standings);
    assert_ok(machine_ranks_make(&standings, own, ARRAY_SIZE(own), &fleet, "another"));
    assert_int_equal(standings.count, 0);
    machine_ranks_release(&standings);
    fleet_release(&fleet);
}

/* Google Benchmark's rows: two repetitions of a product, one of a wait, and one that failed. */
static void write_bench(char path[64], int number, const char *device, double product_ns,
                        double wait_us)
{
    char text[2048];

    snprintf(
        text, sizeof text,
        "{\"context\":{\"device_name\":\"%s\",\"cpu_model\":\"X\"},\"benchmarks\":["
        "{\"name\":\"gemm/8\",\"run_type\":\"iteration\",\"real_time\":%g,\"time_unit\":\"ns\","
        "\"bytes_per_second\":%g,\"flops_per_second\":%g},"
        "{\"name\":\"gemm/8\",\"run_type\":\"iteration\",\"real_time\":%g,\"time_unit\":\"ns\","
        "\"bytes_per_second\":%g,\"flops_per_second\":%g},"
        "{\"name\":\"wait\",\"run_type\":\"iteration\",\"real_time\":%g,\"time_unit\":\"us\"},"
        "{\"name\":\"lost\",\"run_type\":\"iteration\",\"error_occurred\":true,"
        "\"real_time\":1,\"time_unit\":\"us\"}]}",
        device, product_ns, 768e9 / product_ns, 1024e9 / product_ns, product_ns, 768e9 / product_ns,
        1024e9 / product_ns, wait_us);
    write_file(path, number, text);
}

TEST(a_row_of_bench_has_its_rank_and_more_is_better_only_of_rates)
{
    static const struct own_figure own[] = {
        { "gemm/8", "FLOP/s", 25e9 }, { "gemm/8", "B/s", 100e9 }, { "wait", "ns", 2500 },
        { "lost", "ns", 1000 },       { "gemm/16", "ns", 1 },
    };
    enum { FILES = 5 };
    char paths[FILES][64];
    const char *list[FILES];
    struct machine_ranks standings;
    struct fleet fleet;

    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    assert_non_null(mkdtemp(folder));
    /* 51.2, 25.6, 20.48 GFLOP/s; waits of 1, 2, 3 us. */
    write_bench(paths[0], 0, "GPU", 20, 1);
    write_bench(paths[1], 1, "GPU", 40, 2);
    write_bench(paths[2], 2, "GPU", 50, 3);
    write_bench(paths[3], 3, "another", 1, 0.1);
    write_file(paths[4], 4, texts[0]); /* of doctor */
    for (int i = 0; i < FILES; i++) list[i] = paths[i];
    skipped_count = 0;
    assert_ok(fleet_make(&fleet, node_read_bench, list, FILES, skip_file, NULL));
    assert_int_equal(skipped_count, 1);
    assert_ok(machine_ranks_make(&standings, own, ARRAY_SIZE(own), &fleet, "GPU; X"));
    assert_int_equal(standings.nodes, 3);
    assert_int_equal(standings.count, 3);
    assert_int_equal(standings.alone, 2);
    assert_int_equal(standings.items[0].rank, 3);
    assert_float_equal(standings.items[0].slowest, 20.48e9, 1);
    assert_float_equal(standings.items[0].median, 25.6e9, 1);
    assert_float_equal(standings.items[0].fastest, 51.2e9, 1);
    assert_int_equal(standings.items[1].rank, 1);
    assert_int_equal(standings.items[2].rank, 3);
    assert_float_equal(standings.items[2].slowest, 3000, 1e-6);
    assert_float_equal(standings.items[2].fastest, 1000, 1e-6);
    machine_ranks_release(&standings);
    fleet_release(&fleet);
    for (int i = 0; i < FILES; i++) unlink(paths[i]);
    rmdir(folder);
}
