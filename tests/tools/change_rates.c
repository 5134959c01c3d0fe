/* Not a test: how often `history check` takes a row that does not change for a slower one, and how
 * often it sees a step of 5% at a noise of 3% within five runs, on made-up histories.
 * docs/history.md has its tables.
 *
 * usage: change_rates [SERIES]   of each kind; 20000 if not given */
#include "harness/base/status.h"
#include "tests/fixtures/made/made_alarm.h"
#include "tests/fixtures/made/made_series.h"

#include <stdio.h>
#include <stdlib.h>

enum { LONGEST = 520 };

#define NOISE 0.03
#define STEP  0.05

/* Checked at the end only, and after every run from the tenth on. */
static void print_alarms(enum made_noise noise, int series)
{
    struct random random = random_seed(1, (uint64_t)noise);
    int at_end = 0, ever = 0, checks = 0, alarms = 0, followed = series / 20;
    double values[LONGEST];

    for (int i = 0; i < series; i++) {
        int count = 10 + (int)random_below(&random, 191), own = 0;
        made_series(values, count, noise, NOISE, count, 0, &random);
        at_end += made_alarm(values, count, HISTORY_ERROR);
        if (i >= followed)
            continue;
        for (int runs = 10; runs <= count; runs++) own += made_alarm(values, runs, HISTORY_ERROR);
        checks += count - 9;
        alarms += own;
        ever += own > 0;
    }
    printf("| %s | %.2f%% | %.2f%% | %.0f%% |\n", made_noise_names[noise], 100.0 * at_end / series,
           100.0 * alarms / checks, 100.0 * ever / followed);
}

/* Alarms of files whose rows do not change. */
static void print_files(int rows, enum made_noise noise, int files)
{
    struct random random = random_seed(3, (uint64_t)noise);
    double values[LONGEST];
    int alarms = 0;

    for (int i = 0; i < files; i++) {
        int count = 10 + (int)random_below(&random, 191), own = 0;
        for (int row = 0; row < rows; row++) {
            made_series(values, count, noise, NOISE, count, 0, &random);
            own = own || made_alarm(values, count, HISTORY_ERROR / rows);
        }
        alarms += own;
    }
    printf("| %d | %s | %.2f%% |\n", rows, made_noise_names[noise], 100.0 * alarms / files);
}

static void print_found(int before, enum made_noise noise, double error, int series)
{
    static const int later[] = { 8, 12, 20 };
    struct random random = random_seed(2, (uint64_t)noise);
    int found = 0, still[ARRAY_SIZE(later)] = { 0 };
    double values[LONGEST];

    for (int i = 0; i < series; i++) {
        int seen = 0;
        made_series(values, before + 20, noise, NOISE, before, STEP, &random);
        for (int after = 1; after <= 5; after++)
            seen = seen || made_alarm(values, before + after, error);
        found += seen;
        for (size_t j = 0; j < ARRAY_SIZE(later); j++)
            still[j] += made_alarm(values, before + later[j], error);
    }
    printf("| %d | %s | %g%% | %.1f%% |", before, made_noise_names[noise], 100 * error,
           100.0 * found / series);
    for (size_t j = 0; j < ARRAY_SIZE(later); j++) printf(" %.0f%% |", 100.0 * still[j] / series);
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const int before[] = { 20, 30, 50, 100, 150, 200, 300 }, rows[] = { 10, 100 };
    int series = argc > 1 ? atoi(argv[1]) : 20000;

    if (series < 100)
        return 2;
    puts("| noise | checked at the end | per check, checked after every run | series with an alarm "
         "at any time |\n|---|--:|--:|--:|");
    for (int noise = 0; noise < MADE_NOISES; noise++) print_alarms((enum made_noise)noise, series);
    puts("\n| rows | noise | files with an alarm |\n|--:|---|--:|");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int noise = 0; noise <= MADE_SKEWED; noise++)
            print_files(rows[i], (enum made_noise)noise, series / 10);
    puts("\n| runs before | noise | error | found within 5 | at 8 | 12 | 20 |\n"
         "|--:|---|--:|--:|--:|--:|--:|");
    for (int noise = 0; noise < MADE_SHAPES; noise++)
        for (size_t i = 0; i < (noise == MADE_NORMAL ? ARRAY_SIZE(before) : 3); i++)
            print_found(before[i], (enum made_noise)noise, HISTORY_ERROR, series / 2);
    for (size_t i = 0; i < 3; i++)
        print_found(before[i], MADE_NORMAL, 2 * HISTORY_ERROR, series / 2);
    return 0;
}
