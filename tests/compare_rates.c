/* Not a test: how often `compare` is wrong, and how often it sees what is there, on made-up runs of
 * machines that drift.
 *
 * A run's time is the truth times: a slow drift common to all that is measured (a random walk from run to
 * run, which interleaving spreads over both sides), a shift of each run of its own (where memory came to
 * lie, which frequency it got), noise of each repetition, and now and then a repetition that something
 * disturbed. All of them multiply; sizes are relative standard deviations. */
#include "harness/compare/comparison.h"
#include "harness/experiment/statistics.h"
#include "harness/status/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 4000, RUNS_MAX = 8, REPETITIONS = 9 };

static const struct machine {
    const char *name;
    double walk, run, repetition, disturbed; /* the last: a share of repetitions, 15% slower */
} machines[] = {
    { "quiet", 0.002, 0.003, 0.003, 0.01 },
    { "ordinary", 0.005, 0.01, 0.01, 0.03 },
    { "shared", 0.015, 0.015, 0.02, 0.1 },
    { "noisy", 0.03, 0.04, 0.03, 0.1 },
};

struct run {
    double values[REPETITIONS];
    struct benchmark_row row;
};

static void draw_run(struct run *run, double truth, const struct machine *machine,
                     struct random *random)
{
    truth *= exp(machine->run * (double)random_normal(random));
    for (int i = 0; i < REPETITIONS; i++) {
        run->values[i] = truth * exp(machine->repetition * (double)random_normal(random));
        if ((double)random_uniform(random) < machine->disturbed)
            run->values[i] *= 1.15;
    }
    run->row = (struct benchmark_row){ .values = run->values,
                                       .count = REPETITIONS,
                                       .median = stats_median(run->values, REPETITIONS),
                                       .deviation = stats_cv(run->values, REPETITIONS),
                                       .repetitions = REPETITIONS };
}

/* One comparison of `count` runs a side, measured in turns, where new is `factor` of base. */
static enum compare_verdict compare_once(const struct machine *machine, int count, double factor,
                                         struct random *random)
{
    static const struct compare_rule rule = { .metric = "real_time",
                                              .threshold = 0.05,
                                              .noise = NAN };
    static struct run runs[SIDES][RUNS_MAX];
    const struct benchmark_row *rows[SIDES][RUNS_MAX];
    struct compared_row row = { .name = "row" };
    double drift = 0;

    for (int i = 0; i < count; i++)
        for (int side = 0; side < SIDES; side++) {
            drift += machine->walk * (double)random_normal(random);
            draw_run(&runs[side][i], 100 * exp(drift) * (side == SIDE_NEW ? factor : 1), machine,
                     random);
            rows[side][i] = &runs[side][i].row;
        }
    if (compare_runs(&row, rows[SIDE_BASE], count, rows[SIDE_NEW], count, &rule) != STATUS_OK) {
        fprintf(stderr, "compare_rates: %s\n", status_last()->text);
        exit(1);
    }
    return row.verdict;
}

int main(void)
{
    static const int sizes[] = { 1, 2, 3, 5, 8 };
    static const double factors[] = { 1, 1.03, 1.1, 1.2 };
    struct random random = random_seed(1, 0);

    printf("%d comparisons each, %d repetitions a run, runs in turns, threshold 5%%\n\n"
           "machine     runs  change   faster    same  slower  undecided\n",
           TRIALS, REPETITIONS);
    for (size_t m = 0; m < ARRAY_SIZE(machines); m++)
        for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
            for (size_t f = 0; f < ARRAY_SIZE(factors); f++) {
                int counts[COMPARE_VERDICTS] = { 0 };
                for (int i = 0; i < TRIALS; i++)
                    counts[compare_once(&machines[m], sizes[s], factors[f], &random)]++;
                printf("%-10s  %4d  %+5.0f%%  %6.2f%%  %5.1f%%  %5.1f%%     %5.1f%%\n",
                       machines[m].name, sizes[s], 100 * (factors[f] - 1),
                       100.0 * counts[COMPARE_FASTER] / TRIALS,
                       100.0 * counts[COMPARE_SAME] / TRIALS,
                       100.0 * counts[COMPARE_SLOWER] / TRIALS,
                       100.0 * counts[COMPARE_UNDECIDED] / TRIALS);
            }
    return 0;
}
