/* Times one row of bench. A visit sets up, chooses or warms up the iterations, repeats until the
 * noise is low enough, and tears down. Whether there is more to do is decided from the result
 * alone, so that visits can be spread over a run (rounds.h). */
#include "harness/bench/bench_measure.h"

#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/bench/interrupt.h"
#include "harness/device/many_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The limits if noise decides. A row that is visited once counts repetitions; one that is visited
 * again and again counts visits, since the repetitions of one see the machine in one state. */
enum { REPETITIONS_LEAST = 6, REPETITIONS_BY_NOISE = 30 };
enum { VISITS_LEAST = 6, VISITS_BY_NOISE = 12 };

/* The share of a repetition that is run before the first one of a later visit: a quarter. The first
 * 5 ms after a set-up took 1.3% longer than the next in the median of 65 rows, and 13% in a tenth
 * of them. */
enum { WARM_UP_PART = 4 };

struct bench_settings bench_settings_default(void)
{
    return (
        struct bench_settings){ .min_seconds = 0.03, .noise = 0.01, .max_seconds = 0.5, .seed = 1 };
}

const int64_t *bench_arguments(const struct bench *bench, const struct device_properties *device,
                               int *count)
{
    bool large = device->is_large && bench->arguments_large[0] != 0;
    const int64_t *list = large ? bench->arguments_large : bench->arguments;
    int listed = 0, skipped;

    while (listed < BENCH_ARGUMENTS && list[listed] != 0) listed++;
    skipped = bench->cold && listed > 1;
    *count = listed > 0 ? listed - skipped : 1;
    return list + skipped;
}

void bench_name(char *name, size_t size, const struct bench *bench, int64_t argument)
{
    char number[24] = "";

    if (argument != 0)
        snprintf(number, sizeof number, "/%" PRId64, argument);
    snprintf(name, size, "%s%s%s", bench->name, number, bench->manual_time ? "/manual_time" : "");
}

struct lap {
    int64_t real_ns, cpu_ns;
    int64_t passed_ns; /* real_ns, and what does not count */
};

static enum status time_lap(struct lap *lap, struct bench_work *work, int64_t iterations)
{
    int64_t cpu, start;

    TRY(ranks_wait());
    cpu = clock_process_cpu_ns();
    start = clock_ns();
    work->timed_ns = 0;
    TRY(work->bench->run(work, iterations));
    lap->passed_ns = clock_ns() - start;
    lap->cpu_ns = clock_process_cpu_ns() - cpu;
    lap->real_ns = work->bench->manual_time ? work->timed_ns : lap->passed_ns;
    /* All ranks go by the first one's clock, so that they agree on whether to go on. */
    return ranks_take_first(lap, sizeof *lap);
}

/* Grows until a lap takes long enough. A short lap says little about how many iterations that
 * needs, so the next is at most ten times as long; a fifth is added, so that a lap which happens to
 * be quicker is long enough too. Work that does not count may take five times as long and no
 * longer, as in Google Benchmark. */
static enum status choose_iterations(int64_t *iterations, struct bench_work *work,
                                     double min_seconds)
{
    enum { BESIDE = 5 };
    double wanted_ns = min_seconds * 1e9, factor;
    struct lap lap;

    for (*iterations = 1;; *iterations = (int64_t)ceil((double)*iterations * factor)) {
        TRY(time_lap(&lap, work, *iterations));
        if (*work->stop || (double)lap.real_ns >= wanted_ns ||
            (double)lap.passed_ns >= BESIDE * wanted_ns || *iterations >= INT64_C(1000000000000))
            break;
        factor = fmin(fmax(1.2 * wanted_ns / fmax((double)lap.real_ns, 1), 1.01), 10);
    }

    return STATUS_OK;
}

/* Half the interval of the median, as a share of it. */
static bool is_known_well(const struct bench_result *result, double noise)
{
    struct confidence_interval interval = stats_median_interval(result->real_ns, result->count);

    return stats_interval_is_enough(&interval) &&
           (interval.high - interval.low) / 2 <=
               noise * stats_median(result->real_ns, result->count);
}

static bool is_enough(const struct bench_result *result, const struct bench_settings *settings,
                      int least, int most)
{
    return result->count >= least &&
           (result->count >= most || result->seconds >= settings->max_seconds ||
            is_known_well(result, settings->noise));
}

bool bench_is_done(const struct bench_result *result, const struct bench_settings *settings)
{
    if (settings->repetitions > 0)
        return result->count >= settings->repetitions;
    if (settings->visit > 0)
        return is_enough(result, settings, VISITS_LEAST * settings->visit,
                         VISITS_BY_NOISE * settings->visit);
    return is_enough(result, settings, REPETITIONS_LEAST, REPETITIONS_BY_NOISE);
}

double bench_fastest_ns(const struct bench_result *result)
{
    double least = INFINITY;

    for (int i = 0; i < result->count; i++) least = fmin(least, result->real_ns[i]);
    return least;
}

int bench_visits(const struct bench_settings *settings)
{
    if (settings->visit == 0)
        return 1;
    if (settings->repetitions == 0)
        return VISITS_BY_NOISE;
    return (settings->repetitions + settings->visit - 1) / settings->visit;
}

/* Choosing the iterations warms up, too. If they are given, each one counts. */
static enum status warm_up(struct bench_result *result, struct bench_work *work,
                           const struct bench_settings *settings)
{
    const int64_t begin_ns = clock_ns();
    double passed = 0;
    struct lap lap;

    for (int64_t count = 1;
         result->count == 0 && passed < settings->warm_up_seconds && !*work->stop; count *= 2) {
        TRY(time_lap(&lap, work, count));
        passed = (double)(clock_ns() - begin_ns) * 1e-9;
        TRY(ranks_take_first(&passed, sizeof passed));
    }
    if (settings->iterations > 0) {
        result->iterations = settings->iterations;
        return STATUS_OK;
    }
    if (result->iterations == 0)
        return choose_iterations(&result->iterations, work, settings->min_seconds);
    return time_lap(&lap, work, (result->iterations + WARM_UP_PART - 1) / WARM_UP_PART);
}

static enum status repeat_until_done(struct bench_result *result, struct bench_work *work,
                                     const struct bench_settings *settings, int most,
                                     const volatile sig_atomic_t *stop)
{
    double before = result->seconds;
    int64_t start = clock_ns();
    struct lap lap;

    TRY(work->bench->set_up(work));
    work->stop = stop; /* A set-up checks what it ran, so none of it is left out. */
    TRY(warm_up(result, work, settings));
    for (int i = 0; i < most && !bench_is_done(result, settings); i++) {
        TRY(time_lap(&lap, work, result->iterations));
        if (*work->stop) /* It may have been cut. */
            break;
        result->real_ns[result->count] = (double)lap.real_ns / (double)result->iterations;
        result->cpu_ns[result->count] = (double)lap.cpu_ns / (double)result->iterations;
        result->count++;
        result->seconds = before + (double)(clock_ns() - start) * 1e-9;
        TRY(ranks_take_first(&result->seconds, sizeof result->seconds));
    }

    return STATUS_OK;
}

static const volatile sig_atomic_t never;

static enum status visit(struct bench_result *result, const struct bench *bench, int64_t argument,
                         struct device *device, const struct bench_settings *settings, int most,
                         const volatile sig_atomic_t *stop)
{
    enum status status = STATUS_OK;
    struct bench_work work = {
        .bench = bench, .device = device, .argument = argument, .copies = 1, .stop = &never
    };

    if (result->name[0] == '\0')
        bench_name(result->name, sizeof result->name, bench, argument);
    /* Each visit begins with the same numbers, so that all compute the same. */
    work.random = random_seed(settings->seed, (uint64_t)argument);
    TRY_OUT(rows_make_bytes(&work.own, (int64_t)bench->own_bytes, 1));
    TRY_OUT(stream_create(device, &work.stream));
    TRY_OUT(repeat_until_done(result, &work, settings, most, stop));
    result->bytes = work.bytes;
    result->flops = work.flops;
    result->items = work.items;
    result->bus_factor = work.bus_factor;

out:
    if (work.stream != NULL) {
        stream_synchronize(work.stream);
        if (bench->tear_down != NULL)
            bench->tear_down(&work);
        bench_free(&work);
    }
    stream_destroy(work.stream);
    free(work.own);
    /* Figures that were taken before are those of a bench that is not right. */
    if (status != STATUS_OK)
        result->count = 0;
    return status;
}

enum status bench_measure(struct bench_result *result, const struct bench *bench, int64_t argument,
                          struct device *device, const struct bench_settings *settings)
{
    *result = (struct bench_result){ .count = 0 };
    return visit(result, bench, argument, device, settings, BENCH_REPETITIONS_MAX, &never);
}

enum status bench_visit(struct bench_result *result, const struct bench *bench, int64_t argument,
                        struct device *device, const struct bench_settings *settings)
{
    return visit(result, bench, argument, device, settings,
                 settings->visit > 0 ? settings->visit : BENCH_REPETITIONS_MAX, interrupt_flag());
}
