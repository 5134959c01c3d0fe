/* A window is planned from the time of a step: slices of about 10 ms that hold whole periods or
 * divide one, an even number of them, until the window is as long as it has to be.
 *
 * Each run of a pair is opened and warmed up alone, then both are timed slice by slice in the order
 * ABBA. Warm-up has no fixed length: quarters of a window are timed until two in a row agree, and
 * until batches that the loader had ready are used up, because these make steps too fast. */
#include "harness/lab/experiment/child/window.h"

#include "harness/bench/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_STEPS_LEAST = 3, /* the first step of a slice finds an empty queue */
    SLICES_LEAST = 4,      /* window.h says how much worse two are */
    QUARTERS_MOST = 4,     /* of warm-up, because on a noisy machine two may never agree */
    DRAIN_QUARTERS_MOST = 16,
    DRAINED_LEAST = 2,     /* batches in a quarter; one more or less is chance */
    PILOT_GROWTH_MOST = 8, /* from one try to the next, because the first steps are the slowest */
};

#define SLICE_NS    1e7
#define WARM_WITHIN 0.05 /* two quarters in a row that agree this well are warm */

int64_t window_whole_periods(int64_t steps, int64_t period)
{
    return (steps + period - 1) / period * period;
}

/* The fewest steps from `least` on that divide a period, but up to twice as many if they divide it
 * into an even number: the other way round a window needs two periods. */
static int64_t part_of_period(int64_t least, int64_t period)
{
    int64_t part = least, even;

    while (period % part != 0) part++;
    even = part;
    while (even <= 2 * least && (period % even != 0 || period / even % 2 != 0)) even++;
    return even <= 2 * least ? even : part;
}

/* A slice either holds whole periods or divides a period, so that a group of slices holds whole
 * periods. The number of slices is even, so that both variants come first equally often (ABBA). */
void window_plan_steps(struct window_plan *plan, const double *step_ns, int count)
{
    int64_t group = 2; /* slices: an even number that holds whole periods */
    double mean_ns = 0, wanted_ns = plan->seconds * 1e9, slice_ns, groups;

    for (int i = 0; i < count; i++) mean_ns += step_ns[i] / count;
    plan->steps = SLICE_STEPS_LEAST;
    if (mean_ns > 0 && plan->steps < SLICE_NS / mean_ns)
        plan->steps = (int64_t)(SLICE_NS / mean_ns);
    plan->steps = plan->steps >= plan->period ? window_whole_periods(plan->steps, plan->period)
                                              : part_of_period(plan->steps, plan->period);
    if (plan->steps < plan->period) {
        group = plan->period / plan->steps;
        group *= group % 2 + 1;
    }
    plan->slices = group;
    slice_ns = mean_ns * (double)plan->steps;
    groups = wanted_ns / (slice_ns * (double)group);
    if (groups > 1 && isfinite(groups))
        plan->slices = (int64_t)(groups + 0.5) * group;
    if (plan->slices < SLICES_LEAST && slice_ns * SLICES_LEAST <= plan->longest * 1e9)
        plan->slices = SLICES_LEAST;
}

/* Wall time of `steps` steps. */
static enum status time_steps(struct training *training, int64_t steps, double *wall_ns,
                              double *metric)
{
    struct training_window window = { 0 };

    TRY(training_window(training, steps, &window));
    *wall_ns = (double)window.wall_ns;
    memcpy(metric, window.metric, sizeof window.metric);
    training_window_release(&window);

    return STATUS_OK;
}

/* Closes a run after a failure and keeps the error, which closing could replace. NULL is
 * allowed. */
static void abandon(struct training *training)
{
    struct status_error error = *status_last();

    if (training == NULL)
        return;
    training_close(training);
    status_raise(&error);
}

/* Warm-up: windows of `quarter` steps are run until two in a row agree. The loader's batches that
 * were ready before the first step hide for as many steps that it is too slow (16 workers with a
 * prefetch of 2 have 32), so a quarter that takes some of them is not warm. */
struct warm_up {
    int64_t quarter, ready;
    double last_ns, fastest_ns;   /* 0 before the first */
    double metric[METRIC_COUNT];  /* of the last */
    double fastest[METRIC_COUNT]; /* of the fastest */
    bool warm, has_drained;
};

static void take_quarter(struct warm_up *warm_up, double wall_ns, int64_t ready)
{
    bool drains = warm_up->last_ns > 0 && warm_up->ready - ready >= DRAINED_LEAST;

    if (warm_up->last_ns > 0)
        warm_up->warm = !drains && fabs(wall_ns - warm_up->last_ns) <=
                                       WARM_WITHIN * fmax(wall_ns, warm_up->last_ns);
    warm_up->has_drained = warm_up->has_drained || drains;
    warm_up->ready = ready;
    if (!(warm_up->fastest_ns > 0 && warm_up->fastest_ns < wall_ns)) {
        warm_up->fastest_ns = wall_ns;
        memcpy(warm_up->fastest, warm_up->metric, sizeof warm_up->fastest);
    }
    warm_up->last_ns = wall_ns;
}

/* Runs at most `most` more quarters, or `most_drained` where the loader's batches become fewer. */
static enum status run_quarters(struct warm_up *warm_up, struct training *training, int64_t most,
                                int64_t most_drained)
{
    double wall_ns;
    int64_t ready;

    for (int64_t i = 0; !warm_up->warm && i < (warm_up->has_drained ? most_drained : most); i++) {
        TRY(time_steps(training, warm_up->quarter, &wall_ns, warm_up->metric));
        TRY(training_batches_ready(training, &ready));
        take_quarter(warm_up, wall_ns, ready);
    }

    return STATUS_OK;
}

/* Finds by trying how many steps, in whole periods, fill about `wanted_ns`, and their time and
 * metrics. */
static enum status find_quarter(struct training *training, int64_t period, double wanted_ns,
                                int64_t *steps, double *wall_ns, double *metric)
{
    *steps = period;
    for (;;) {
        double growth;
        TRY(time_steps(training, *steps, wall_ns, metric));
        growth = *wall_ns > 0 ? wanted_ns / *wall_ns : PILOT_GROWTH_MOST;
        if (!(growth > 1.25))
            break;
        growth = fmin(growth, PILOT_GROWTH_MOST);
        *steps = window_whole_periods((int64_t)((double)*steps * growth), period);
    }

    return STATUS_OK;
}

enum status window_pilot(struct device *device, const struct training_config *config,
                         const struct window_plan *plan, double *metric)
{
    struct training *training = NULL;
    struct warm_up warm_up = { 0 };
    double first_ns;
    int64_t ready;
    enum status status = STATUS_OK;

    TRY_OUT(training_open(&training, device, config));
    TRY_OUT(training_run(training, WINDOW_FIRST_STEPS));
    TRY_OUT(clocks_raise(device));
    TRY_OUT(find_quarter(training, plan->period, plan->seconds * 1e9 / 4, &warm_up.quarter,
                         &first_ns, warm_up.metric));
    TRY_OUT(training_batches_ready(training, &ready));
    take_quarter(&warm_up, first_ns, ready);
    TRY_OUT(run_quarters(&warm_up, training, QUARTERS_MOST - 1, QUARTERS_MOST - 1));
    memcpy(metric, warm_up.fastest, sizeof warm_up.fastest);
    training_close(training);
    training = NULL;
    TRY_OUT(device_memory_trim(device));

out:
    abandon(training);
    return status;
}

/* --- A pair --- */

/* Opens a run, warms it up and pauses it. The losses of its first LOSS_STEPS steps are the ones
 * that are compared. If steps are long, those steps already contain quarters of a window, and
 * these count as warm-up. */
static enum status prepare_run(struct window_run *run, struct device *device,
                               const struct window_plan *plan)
{
    struct repetition *repetition = run->repetition;
    struct warm_up warm_up = { .quarter = (plan->steps * plan->slices + 3) / 4 };
    int64_t within = (LOSS_STEPS - WINDOW_FIRST_STEPS) / warm_up.quarter;

    memset(repetition, 0, sizeof *repetition);
    TRY(training_open(&run->training, device, run->config));
    TRY(training_run(run->training, WINDOW_FIRST_STEPS));
    TRY(run_quarters(&warm_up, run->training, within, within));
    TRY(training_run(run->training, LOSS_STEPS - training_steps_done(run->training)));
    TRY(training_losses(run->training, 0, LOSS_STEPS, repetition->losses));
    TRY(run_quarters(&warm_up, run->training, QUARTERS_MOST - within, DRAIN_QUARTERS_MOST));
    repetition->warmed_up = warm_up.warm;
    TRY(training_fetch(run->training));
    TRY(training_pause(run->training));
    repetition->warmup_steps = training_steps_done(run->training);

    return STATUS_OK;
}

static enum status run_slice(struct window_run *run, struct device *device,
                             const struct window_plan *plan)
{
    enum status status = STATUS_OK;

    range_push(device, run->name);
    TRY_OUT(training_window(run->training, plan->steps, &run->window));
    TRY_OUT(training_pause(run->training));

out:
    range_pop(device);
    return status;
}

/* Moves what was measured, step_ns included, into the repetition. */
static void take_window(struct window_run *run)
{
    struct repetition *repetition = run->repetition;
    struct training_window *window = &run->window;

    memcpy(repetition->metric, window->metric, sizeof repetition->metric);
    repetition->steps = window->steps;
    repetition->samples = window->samples;
    repetition->wall_ns = window->wall_ns;
    repetition->cpu_ns = window->cpu_ns;
    repetition->step_ns = window->step_ns;
    repetition->step_count = (int)window->step_count;
    repetition->damaged_samples = training_damaged_samples(run->training);
    *window = (struct training_window){ 0 };
}

/* All slices of all runs. The first run begins the even rounds, the last run the odd ones: ABBA. */
static enum status run_slices(struct window_run *runs, int count, struct device *device,
                              const struct window_plan *plan, int *failed)
{
    enum status status = STATUS_OK;

    device_profile(device, true);
    for (int64_t slice = 0; slice < plan->slices; slice++)
        for (int i = 0; i < count; i++) {
            *failed = slice % 2 == 0 ? i : count - 1 - i;
            TRY_OUT(run_slice(&runs[*failed], device, plan));
        }

out:
    device_profile(device, false);
    return status;
}

enum status window_pair(struct window_run *runs, int count, struct device *device,
                        const struct window_plan *plan, int *failed)
{
    struct device_vitals vitals[2];
    enum status status = STATUS_OK;

    for (*failed = 0; *failed < count; ++*failed)
        TRY_OUT(prepare_run(&runs[*failed], device, plan));
    *failed = -1;
    TRY_OUT(clocks_raise(device));
    vitals[0] = device_vitals(device);
    TRY_OUT(run_slices(runs, count, device, plan, failed));
    for (*failed = 0; *failed < count; ++*failed)
        TRY_OUT(training_log_status(runs[*failed].training));
    *failed = -1;
    vitals[1] = device_vitals(device);
    for (int i = 0; i < count; i++) {
        take_window(&runs[i]);
        memcpy(runs[i].repetition->vitals, vitals, sizeof vitals);
    }
    /* Returns the memory that pools and graphs kept, so that every pair starts from the same state.
     * Context, handles and workspaces stay. */
    for (int i = 0; i < count; i++) {
        training_close(runs[i].training);
        runs[i].training = NULL;
    }
    TRY_OUT(device_memory_trim(device));

out:
    for (int i = 0; i < count; i++) {
        abandon(runs[i].training);
        runs[i].training = NULL;
        training_window_release(&runs[i].window);
        if (status != STATUS_OK) {
            free(runs[i].repetition->step_ns);
            runs[i].repetition->step_ns = NULL;
            runs[i].repetition->step_count = 0;
        }
    }
    return status;
}
