/* Not a test: how often `compare` is wrong, and how often it sees what is there, on made-up runs of
 * machines that drift.
 *
 * A run's time is the truth times: a slow drift common to all that is measured (a random walk from
 * run to run, which taking turns spreads over both sides), a shift that all rows of a run share
 * (which frequency it got), a shift of each row of its own (the addresses of its memory), noise of
 * each repetition, and now and then a repetition that something disturbed. Rows differ in how much
 * they vary by themselves. All of these multiply; sizes are relative standard deviations.
 *
 * From files, runs of the same program one after another, it does the same for all comparisons that
 * could have been made of them in turns: one of each two neighbours is base, the other new, whose
 * times are those of the file and then a tenth more.
 *
 * usage: compare_rates                   the table
 *        compare_rates TRIALS ROWS       ... of that many comparisons of that many rows
 *        compare_rates FILE FILE...      of results, in the order in which they were measured */
#include "harness/base/figures/statistics.h"
#include "harness/base/random.h"
#include "harness/desk/compare/comparison.h"
#include "harness/desk/compare/location.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIALS = 4000, RUNS_MAX = 8, ROWS_MAX = 64, REPETITIONS = 9 };

static const struct machine {
    const char *name;
    double walk, common, own, repetition;
    double disturbed; /* a share of repetitions, 15% slower */
    double unlike;    /* deviation of the logarithm of a row's own noise */
} machines[] = {
    { "quiet", 0.002, 0, 0.003, 0.003, 0.01, 0 },
    { "ordinary", 0.005, 0, 0.01, 0.01, 0.03, 0 },
    { "shared", 0.015, 0, 0.015, 0.02, 0.1, 0 },
    { "unlike", 0.015, 0, 0.012, 0.015, 0.1, 0.5 },   /* shared, and rows vary unequally */
    { "together", 0.01, 0.012, 0.005, 0.02, 0.1, 0 }, /* a run moves all its rows */
    { "shifts", 0, 0.02, 0.005, 0.01, 0.03, 0 },
    { "noisy", 0.03, 0, 0.04, 0.03, 0.1, 0 },
};

/* One file a run: what comparison_make() would be given. */
struct run {
    double values[ROWS_MAX][REPETITIONS];
    struct benchmark_row rows[ROWS_MAX];
};

static void draw_row(struct run *run, int index, double truth, double unlike,
                     const struct machine *machine, struct random *random)
{
    double *values = run->values[index];

    truth *= exp(machine->own * unlike * (double)random_normal(random));
    for (int i = 0; i < REPETITIONS; i++) {
        values[i] = truth * exp(machine->repetition * unlike * (double)random_normal(random));
        if ((double)random_uniform(random) < machine->disturbed)
            values[i] *= 1.15;
    }
    run->rows[index] = (struct benchmark_row){ .values = values,
                                               .count = REPETITIONS,
                                               .median = stats_median(values, REPETITIONS),
                                               .deviation = stats_cv(values, REPETITIONS),
                                               .repetitions = REPETITIONS };
}

/* Base, new, new, base, base, new ...: each pair the other way round. */
static int side_of(int pair, int turn)
{
    return (pair + turn) % SIDES;
}

static void draw_runs(struct run runs[SIDES][RUNS_MAX], int count, int rows, double factor,
                      const struct machine *machine, struct random *random)
{
    double drift = 0, unlike[ROWS_MAX];

    for (int i = 0; i < rows; i++) unlike[i] = exp(machine->unlike * (double)random_normal(random));
    for (int i = 0; i < count; i++)
        for (int turn = 0; turn < SIDES; turn++) {
            int side = side_of(i, turn);
            double shift = machine->common * (double)random_normal(random);
            drift += machine->walk * (double)random_normal(random);
            for (int row = 0; row < rows; row++)
                draw_row(&runs[side][i], row,
                         100 * exp(drift + shift) * (side == SIDE_NEW ? factor : 1), unlike[row],
                         machine, random);
        }
}

static enum status learn(struct run_noise *noise, struct run runs[SIDES][RUNS_MAX], int count,
                         int rows, enum compare_place place)
{
    const int fewest = place == PLACE_BEST ? REPETITIONS : 1;
    double logs[ROWS_MAX * SIDES * RUNS_MAX] = { 0 };
    int turns[SIDES * RUNS_MAX] = { 0 };

    for (int row = 0; row < rows; row++)
        for (int i = 0; i < SIDES * count; i++)
            logs[row * SIDES * count + i] =
                location_of(&runs[i / count][i % count].rows[row], fewest, false, false).log;
    for (int i = 0; i < SIDES * count; i++)
        turns[i] = side_of(i / SIDES, i % SIDES) * count + i / SIDES;
    return run_noise_learn(noise, logs, rows, count, count, turns);
}

/* All rows of `count` runs per side, measured in turns, where new is `factor` of base. */
static enum status compare_all(int counts[COMPARE_VERDICTS], const struct machine *machine,
                               int count, int rows, double factor, struct random *random)
{
    static const struct compare_rule rule = { .metric = "real_time",
                                              .threshold = 0.05,
                                              .noise = NAN };
    static struct run runs[SIDES][RUNS_MAX];
    const struct benchmark_row *values[SIDES][RUNS_MAX];
    struct run_noise noise[PLACES] = { { 0 }, { 0 } };
    enum status status = STATUS_OK;

    draw_runs(runs, count, rows, factor, machine, random);
    for (int place = 0; place < PLACES; place++)
        TRY_OUT(learn(&noise[place], runs, count, rows, (enum compare_place)place));
    for (int i = 0; i < rows; i++) {
        struct compared_row row = { .name = "row" };
        for (int side = 0; side < SIDES; side++)
            for (int j = 0; j < count; j++) values[side][j] = &runs[side][j].rows[i];
        TRY_OUT(
            compare_runs(&row, values[SIDE_BASE], count, values[SIDE_NEW], count, noise, &rule));
        counts[row.verdict]++;
    }

out:
    for (int place = 0; place < PLACES; place++) run_noise_release(&noise[place]);
    return status;
}

static enum status print_rates(const struct machine *machine, int trials, int rows, int count,
                               double factor, struct random *random)
{
    int counts[COMPARE_VERDICTS] = { 0 };

    for (int i = 0; i < trials; i++) TRY(compare_all(counts, machine, count, rows, factor, random));
    printf("%-10s  %4d  %4d  %+5.0f%%  %6.2f%%  %5.1f%%  %6.2f%%     %5.1f%%\n", machine->name,
           rows, count, 100 * (factor - 1), 100.0 * counts[COMPARE_FASTER] / trials / rows,
           100.0 * counts[COMPARE_SAME] / trials / rows,
           100.0 * counts[COMPARE_SLOWER] / trials / rows,
           100.0 * counts[COMPARE_UNDECIDED] / trials / rows);

    return STATUS_OK;
}

static enum status print_table(const int *rows, int row_counts, int trials)
{
    static const int sizes[] = { 1, 3, 5, 8 };
    static const double factors[] = { 1, 1.03, 1.1 };
    struct random random = random_seed(1, 0);

    printf("%d comparisons each, %d repetitions per run, runs in turns, threshold 5%%\n\n"
           "machine     rows  runs  change   faster    same   slower  undecided\n",
           trials, REPETITIONS);
    for (size_t m = 0; m < ARRAY_SIZE(machines); m++)
        for (int r = 0; r < row_counts; r++)
            for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
                for (size_t f = 0; f < ARRAY_SIZE(factors); f++)
                    TRY(print_rates(&machines[m], (trials + rows[r] - 1) / rows[r], rows[r],
                                    sizes[s], factors[f], &random));

    return STATUS_OK;
}

/* --- Files --- */

enum { FILES_MAX = 40, PLANTED = 2 };
static const double planted[PLANTED] = { 1, 1.1 };

/* As they are, and with all times longer. */
struct measured {
    struct benchmark_file files[PLANTED][FILES_MAX];
    int count;
};

static void scale(struct benchmark_file *file, double factor)
{
    for (int i = 0; i < file->count; i++) {
        struct benchmark_row *row = &file->rows[i];
        row->median *= factor;
        for (int j = 0; j < row->count; j++) row->values[j] *= factor;
    }
}

static enum status read_files(struct measured *measured, char **paths, int count)
{
    for (; measured->count < count; measured->count++)
        for (int i = 0; i < PLANTED; i++) {
            struct benchmark_file *file = &measured->files[i][measured->count];
            TRY(benchmark_file_read(file, paths[measured->count], BENCHMARK_TIME));
            scale(file, planted[i]);
        }

    return STATUS_OK;
}

/* Pair p is taken where bit p of `pairs` is set; the earlier of its files is new where bit p of
 * `turned` is set. */
static enum status compare_pairs(int counts[COMPARE_VERDICTS], const struct measured *measured,
                                 int factor, unsigned pairs, unsigned turned)
{
    static const struct compare_rule rule = { .metric = BENCHMARK_TIME,
                                              .threshold = 0.05,
                                              .noise = NAN };
    enum status status = STATUS_OK;
    struct benchmark_file base[FILES_MAX], after[FILES_MAX];
    struct compare_files sides[SIDES] = { { base, 0 }, { after, 0 } };
    struct comparison comparison = { .count = 0 };

    for (int pair = 0; 2 * pair + 1 < measured->count; pair++) {
        int later = (turned >> pair & 1) == 0;
        if ((pairs >> pair & 1) == 0)
            continue;
        base[sides[SIDE_BASE].count++] = measured->files[0][2 * pair + !later];
        after[sides[SIDE_NEW].count++] = measured->files[factor][2 * pair + later];
    }
    TRY_OUT(comparison_make(&comparison, sides, &rule, NULL, NULL));
    for (int i = 0; i < COMPARE_VERDICTS; i++) counts[i] += comparison.counts[i];

out:
    comparison_release(&comparison);
    return status;
}

/* All ways to choose `runs` pairs and to turn each. */
static enum status print_rates_of_files(const struct measured *measured, int runs, int factor)
{
    int counts[COMPARE_VERDICTS] = { 0 }, comparisons = 0;
    double all = 0;

    for (unsigned pairs = 0; pairs < 1u << (measured->count / 2); pairs++) {
        if (__builtin_popcount(pairs) != runs)
            continue;
        for (unsigned turned = pairs;; turned = (turned - 1) & pairs) {
            TRY(compare_pairs(counts, measured, factor, pairs, turned));
            comparisons++;
            if (turned == 0)
                break;
        }
    }
    for (int i = 0; i <= COMPARE_UNDECIDED; i++) all += counts[i];
    printf("%11d  %4d  %+5.0f%%  %6.2f%%  %5.1f%%  %6.2f%%     %5.1f%%\n", comparisons, runs,
           100 * (planted[factor] - 1), 100 * counts[COMPARE_FASTER] / all,
           100 * counts[COMPARE_SAME] / all, 100 * counts[COMPARE_SLOWER] / all,
           100 * counts[COMPARE_UNDECIDED] / all);

    return STATUS_OK;
}

static enum status print_table_of_files(char **paths, int count)
{
    static struct measured measured;
    enum status status = STATUS_OK;

    TRY_OUT(read_files(&measured, paths, count));
    printf("%d files of %d rows, threshold 5%%\n\n"
           "comparisons  runs  change   faster    same   slower  undecided\n",
           count, measured.files[0][0].count);
    for (int runs = 1; runs <= count / 2; runs++)
        for (int factor = 0; factor < PLANTED; factor++)
            TRY_OUT(print_rates_of_files(&measured, runs, factor));

out:
    for (int i = 0; i < count; i++)
        for (int j = 0; j < PLANTED; j++) benchmark_file_release(&measured.files[j][i]);
    return status;
}

int main(int argc, char **argv)
{
    static const int usual[] = { 1, 30 };
    int trials = argc > 1 ? atoi(argv[1]) : TRIALS, rows = argc > 2 ? atoi(argv[2]) : 0;
    bool chosen = argc > 2;

    if (argc > 2 && argc <= FILES_MAX + 1 && trials == 0) {
        if (print_table_of_files(argv + 1, argc - 1) == STATUS_OK)
            return 0;
        fprintf(stderr, "compare_rates: %s\n", status_last()->text);
        return 1;
    }
    if (argc > 3 || trials < 1 || (chosen && (rows < 1 || rows > ROWS_MAX))) {
        fprintf(stderr,
                "usage: compare_rates [TRIALS [ROWS] | FILE FILE...], ROWS up to %d, FILEs "
                "up to %d\n",
                ROWS_MAX, FILES_MAX);
        return 2;
    }
    if (print_table(chosen ? &rows : usual, chosen ? 1 : (int)ARRAY_SIZE(usual), trials) !=
        STATUS_OK) {
        fprintf(stderr, "compare_rates: %s\n", status_last()->text);
        return 1;
    }
    return 0;
}
