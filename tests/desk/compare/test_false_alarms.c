/* How often compare calls a row of equal versions, and fails its gate, on made files whose runs
 * vary in four ways; and that it calls a change that all rows or most runs share. */
#include "harness/base/random.h"
#include "harness/desk/compare/comparison.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>
#include <unistd.h>

enum shape { NORMAL, HEAVY, SPIKES, BIMODAL, SHAPES };

static const char *const names[SHAPES] = { "normal", "heavy-tailed (t, 3)", "spikes", "two modes" };

/* Pairs of sides; a sanitizer needs only that the code runs. */
#ifdef __SANITIZE_ADDRESS__
enum { PAIRS = 200 };
#else
enum { PAIRS = 2000 };
#endif

enum { FILES_MOST = 5, ROWS_MOST = 30, BYTES = 1 << 16 };

#define NOISE 0.03

/* What a run of a row takes, where 1 is usual: one of twenty is hit by a spike of 30% to 100%, or
 * three of ten are in a mode that is 10% slower. */
static double draw(enum shape shape, struct random *random)
{
    double normal = NOISE * (double)random_normal(random), squares = 0;
    double uniform = (double)random_uniform(random);

    for (int i = 0; i < 3; i++) squares += pow((double)random_normal(random), 2);
    if (shape == HEAVY)
        normal /= sqrt(squares);
    if (shape == SPIKES && uniform < 0.05)
        normal += 0.3 + 0.7 * (double)random_uniform(random);
    if (shape == BIMODAL && uniform < 0.3)
        normal += 0.1;
    return exp(normal);
}

struct made {
    enum shape shape;
    int counts[SIDES], rows, repetitions;
    double factor; /* of new's rows */
    double stated;
};

static void read_made(struct benchmark_file *file, const struct made *made, int side,
                      struct random *random)
{
    static char text[BYTES];
    static const char *const path = "made.json";
    int length = snprintf(text, BYTES, "{\"benchmarks\": [");
    FILE *to = fopen(path, "w");

    for (int row = 0; row < made->rows; row++) {
        double time = draw(made->shape, random) * (side == SIDE_NEW ? made->factor : 1);
        for (int i = 0; i < made->repetitions; i++)
            length +=
                snprintf(text + length, (size_t)(BYTES - length),
                         "%s{\"name\": \"r%d\", \"real_time\": %.6g}", row + i > 0 ? ", " : "", row,
                         time * (1 + fabs(0.01 * (double)random_normal(random))));
    }
    snprintf(text + length, (size_t)(BYTES - length), "]}");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
    assert_ok(benchmark_file_read(file, path, BENCHMARK_TIME));
    unlink(path);
}

struct tally {
    int rows, called, gates, failed;
};

static enum gate_end compare_made(const struct made *made, struct random *random,
                                  struct tally *tally)
{
    static const struct compare_gate gate = { .strict = false };
    const struct compare_rule rule = { .metric = BENCHMARK_TIME,
                                       .threshold = 0.05,
                                       .noise = made->stated };
    struct benchmark_file files[SIDES][FILES_MOST];
    struct compare_files sides[SIDES];
    struct comparison comparison;
    enum gate_end end;
    char why[320];

    for (int side = 0; side < SIDES; side++) {
        sides[side] = (struct compare_files){ files[side], made->counts[side] };
        for (int i = 0; i < made->counts[side]; i++) read_made(&files[side][i], made, side, random);
    }
    assert_ok(comparison_make(&comparison, sides, &rule, NULL, NULL));
    end = comparison_end(&comparison, &gate, why, sizeof why);
    tally->rows += comparison.count;
    tally->called += comparison.counts[COMPARE_SLOWER] + comparison.counts[COMPARE_FASTER];
    tally->gates++;
    tally->failed += end == GATE_FAILED;
    comparison_release(&comparison);
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < made->counts[side]; i++) benchmark_file_release(&files[side][i]);
    return end;
}

/* So many of `all` are not exceeded by a share of `share`, in all but one of a hundred thousand
 * tests. Rows of a comparison are not independent: `bundle` of them may be called together. */
static double most_of(int all, double share, double bundle)
{
    return all * share + 4.3 * sqrt(bundle * all * share * (1 - share));
}

TEST(equal_versions_are_seldom_called)
{
    static const int sides[][SIDES] = { { 1, 1 }, { 1, 1 }, { 1, 3 }, { 3, 1 },
                                        { 2, 3 }, { 3, 3 }, { 5, 5 } };
    struct tally all = { 0 }, each[SHAPES][ARRAY_SIZE(sides)] = { { { 0 } } };
    struct random random = random_seed(test_seed(), 1);

    for (int i = 0; i < PAIRS; i++) {
        size_t kind = (size_t)i / SHAPES % ARRAY_SIZE(sides);
        struct made made = { .shape = (enum shape)(i % SHAPES),
                             .counts = { sides[kind][SIDE_BASE], sides[kind][SIDE_NEW] },
                             .rows = 1 + (int)random_below(&random, ROWS_MOST),
                             .repetitions = random_below(&random, 2) == 0 ? 1 : 5,
                             .factor = 1,
                             .stated = kind == 0 ? NOISE : NAN };
        compare_made(&made, &random, &each[made.shape][kind]);
    }
    for (int shape = 0; shape < SHAPES; shape++)
        for (size_t kind = 0; kind < ARRAY_SIZE(sides); kind++) {
            const struct tally *own = &each[shape][kind];
            print_message("%s, %d against %d%s: %d of %d rows called, %d of %d gates failed\n",
                          names[shape], sides[kind][0], sides[kind][1], kind == 0 ? ", stated" : "",
                          own->called, own->rows, own->failed, own->gates);
            assert_true(own->called <= most_of(own->rows, 0.01, ROWS_MOST / 2.0));
            all.rows += own->rows;
            all.called += own->called;
            all.gates += own->gates;
            all.failed += own->failed;
        }
    print_message("all: %d of %d rows called, %d of %d gates failed\n", all.called, all.rows,
                  all.failed, all.gates);
    assert_true(all.called <= most_of(all.rows, 0.01, ROWS_MOST / 2.0));
    assert_true(all.failed <= most_of(all.gates, 0.02, 1));
}

/* Nine repetitions of eleven rows that are 30% slower: one file a side says it where the noise is
 * stated, and cannot tell it where it is not; three say it by themselves. */
TEST(what_all_rows_show_together_is_called)
{
    static const struct {
        int files;
        double factor, stated;
        enum gate_end end;
    } cases[] = { { 1, 1.3, NOISE, GATE_FAILED },
                  { 1, 1.3, NAN, GATE_UNTOLD },
                  { 3, 1.3, NAN, GATE_FAILED },
                  { 1, 1 / 1.3, NOISE, GATE_PASSED } };
    struct random random = random_seed(test_seed(), 2);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (int j = 0; j < 20; j++) {
            const struct made made = { .shape = NORMAL,
                                       .counts = { cases[i].files, cases[i].files },
                                       .rows = 11,
                                       .repetitions = 9,
                                       .factor = cases[i].factor,
                                       .stated = cases[i].stated };
            struct tally tally = { 0 };
            enum gate_end end = compare_made(&made, &random, &tally);
            /* A row of a faster version may be left undecided. */
            if (cases[i].end == GATE_PASSED)
                assert_true(end != GATE_FAILED && tally.called >= 6);
            else
                assert_int_equal(end, cases[i].end);
        }
}
