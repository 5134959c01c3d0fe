#include "harness/experiment/window.h"

#include "harness/experiment/clocks.h"

#include <math.h>
#include <string.h>

enum {
    STEPS_LEAST = 5,
    PERIODS_LEAST = 2,
    QUARTERS_MOST = 4,     /* of warm-up: on a noisy machine two may never agree */
    PILOT_GROWTH_MOST = 8, /* from one try to the next: the first steps are the slowest */
};

#define WARM_WITHIN 0.05 /* two consecutive quarters that agree so well are warm */

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t window_period(const struct training_config *configs, int count)
{
    int64_t period = 1;

    for (int i = 0; i < count; i++) {
        int64_t own = training_period(&configs[i]);
        if (own > 1)
            period = period / greatest_common_divisor(period, own) * own;
    }
    return period;
}

static int64_t whole_periods_up(int64_t steps, int64_t period)
{
    return (steps + period - 1) / period * period;
}

int64_t window_steps(const double *step_ns, int count, int64_t period, double seconds)
{
    int64_t least = whole_periods_up(STEPS_LEAST, period), wanted;
    double sum_ns = 0;

    if (least < PERIODS_LEAST * period)
        least = PERIODS_LEAST * period;
    for (int i = 0; i < count; i++) sum_ns += step_ns[i];
    if (!(sum_ns > 0))
        return least;
    wanted = (int64_t)(seconds * 1e9 / (sum_ns / count) / (double)period + 0.5) * period;
    return wanted > least ? wanted : least;
}

/* Wall time of `steps` steps. */
static enum status time_steps(struct training *training, int64_t steps, double *wall_ns)
{
    struct training_window window = { 0 };
    enum status status = STATUS_OK;

    TRY(training_window(training, steps, &window));
    *wall_ns = (double)window.wall_ns;
    training_window_release(&window);

out:
    return status;
}

/* Opens a run and takes the losses that are compared: those of its first steps, the last `timed` of which
 * took *timed_ns. On failure *training is NULL. */
static enum status open_run(struct training **training, struct device *device,
                            const struct training_config *config, float losses[LOSS_STEPS],
                            int64_t timed, double *timed_ns)
{
    enum status status = STATUS_OK;

    *training = NULL;
    *timed_ns = 0;
    TRY(training_open(training, device, config));
    TRY(training_run(*training, LOSS_STEPS - timed));
    if (timed > 0)
        TRY(time_steps(*training, timed, timed_ns));
    TRY(training_losses(*training, 0, LOSS_STEPS, losses));
    /* The clocks come first: with workers, batches would pile up meanwhile, and a window that started
     * right after would find its first ones ready. */
    TRY(clocks_raise(device));

out:
    return status;
}

/* Tears down. What pools and graphs kept goes back, so that every repetition starts alike; context,
 * handles and workspaces stay. */
static enum status close_run(struct training *training, struct device *device)
{
    training_close(training);
    return device_memory_trim(device);
}

/* After a failure: closing what may be broken must not hide why. NULL is allowed. */
static void abandon(struct training *training)
{
    struct status_error error = *status_last();

    if (training == NULL)
        return;
    training_close(training);
    status_raise(&error);
}

/* Runs windows of `quarter` steps until two in a row agree, or `most` steps are done. The first has been
 * run where first_ns, its time, is not 0. *step_ns is that of the fastest: other load on the machine only
 * ever adds. */
static enum status warm_up(struct training *training, int64_t quarter, int64_t most,
                           double first_ns, bool *warm, double *step_ns)
{
    double last_ns = 0, now_ns = first_ns, fastest_ns;
    enum status status = STATUS_OK;

    *warm = false;
    if (!(first_ns > 0))
        TRY(time_steps(training, quarter, &now_ns));
    fastest_ns = now_ns;
    for (int64_t done = quarter; !*warm && done + quarter <= most; done += quarter) {
        last_ns = now_ns;
        TRY(time_steps(training, quarter, &now_ns));
        *warm = fabs(now_ns - last_ns) <= WARM_WITHIN * fmax(now_ns, last_ns);
        fastest_ns = fmin(fastest_ns, now_ns);
    }
    *step_ns = fastest_ns / (double)quarter;

out:
    return status;
}

/* The steps that fill about `wanted_ns`, in whole periods, found by trying. */
static enum status find_quarter(struct training *training, int64_t period, double wanted_ns,
                                int64_t *steps)
{
    double wall_ns = 0;
    enum status status = STATUS_OK;

    *steps = period;
    for (;;) {
        double growth;
        TRY(time_steps(training, *steps, &wall_ns));
        growth = wall_ns > 0 ? wanted_ns / wall_ns : PILOT_GROWTH_MOST;
        if (!(growth > 1.25))
            break;
        growth = fmin(growth, PILOT_GROWTH_MOST);
        *steps = whole_periods_up((int64_t)((double)*steps * growth), period);
    }

out:
    return status;
}

enum status window_pilot(struct device *device, const struct training_config *config,
                         int64_t period, double seconds, double *step_ns)
{
    struct training *training = NULL;
    float losses[LOSS_STEPS];
    int64_t quarter = 0;
    double first_ns;
    bool warm;
    enum status status = STATUS_OK;

    TRY(open_run(&training, device, config, losses, 0, &first_ns));
    TRY(find_quarter(training, period, seconds * 1e9 / 4, &quarter));
    TRY(warm_up(training, quarter, 2 * QUARTERS_MOST * quarter, 0, &warm, step_ns));
    status = close_run(training, device);
    training = NULL;
    TRY(status);

out:
    abandon(training);
    return status;
}

/* Moves what was measured, step_ns included, into the repetition. */
static void take_window(struct repetition *repetition, struct training_window *window)
{
    memcpy(repetition->metric, window->metric, sizeof repetition->metric);
    repetition->steps = window->steps;
    repetition->samples = window->samples;
    repetition->wall_ns = window->wall_ns;
    repetition->cpu_ns = window->cpu_ns;
    repetition->step_ns = window->step_ns;
    repetition->step_count = (int)window->step_count;
    window->step_ns = NULL;
}

enum status window_repetition(struct repetition *repetition, struct device *device,
                              const struct training_config *config, const struct window_plan *plan)
{
    int64_t quarter = whole_periods_up((plan->steps + 3) / 4, plan->period);
    /* Where steps are long, the last of the first ones are a quarter window already. */
    int64_t first = quarter <= LOSS_STEPS / 2 ? quarter : 0;
    struct training_window window = { 0 };
    struct training *training = NULL;
    double first_ns, step_ns;
    enum status status = STATUS_OK;

    memset(repetition, 0, sizeof *repetition);
    TRY(open_run(&training, device, config, repetition->losses, first, &first_ns));
    TRY(warm_up(training, quarter, QUARTERS_MOST * quarter, first_ns, &repetition->warmed_up,
                &step_ns));
    repetition->warmup_steps = training_steps_done(training);
    repetition->vitals[0] = device_vitals(device);
    TRY(training_window(training, plan->steps, &window));
    repetition->vitals[1] = device_vitals(device);
    repetition->damaged_samples = training_damaged_samples(training);
    status = close_run(training, device);
    training = NULL;
    TRY(status);
    take_window(repetition, &window);

out:
    abandon(training);
    training_window_release(&window);
    return status;
}
