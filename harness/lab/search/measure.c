/* Warm-up gives the time of a step, from which the windows are planned. The loss is read, and the
 * state saved, only between windows, where nothing is timed. An interrupt ends the current window
 * early; what was measured until then counts. */
#include "harness/lab/search/measure.h"

#include "harness/base/figures/statistics.h"
#include "harness/bench/interrupt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* `energy_j` is from before the first window until after the last one, with the losses that were
 * read between them. */
static void take_figures(struct measurement *measurement, const struct training *training,
                         const struct training_window *all, double energy_j)
{
    struct dataset_damage damage = training_damage(training);

    measurement->steps = all->steps;
    measurement->samples = all->samples;
    measurement->seconds = (double)all->wall_ns * 1e-9;
    measurement->cpu_seconds = (double)all->cpu_ns * 1e-9;
    measurement->energy_per_sample = energy_j / (double)all->samples;
    memcpy(measurement->metric, all->metric, sizeof measurement->metric);
    measurement->step_p50 = stats_median(all->step_ns, (int)all->step_count) / 1e3;
    measurement->damaged_samples = training_damaged_samples(training);
    measurement->damaged_files = damage.files;
    if (damage.files > 0)
        snprintf(measurement->first_damaged, sizeof measurement->first_damaged, "%s", damage.first);
    measurement->steps_trained = training_steps_done(training);
}

/* Runs one more window, adds it to `all` and reports it. */
static enum status run_window(struct measurement *measurement, struct training_window *all,
                              struct training *training, int64_t count,
                              const struct measure *measure)
{
    int64_t wall_ns = -all->wall_ns, samples = -all->samples, steps = -all->steps;
    float loss;

    TRY(training_window(training, count, all));
    wall_ns += all->wall_ns;
    samples += all->samples;
    steps += all->steps; /* fewer than `count` after an interrupt */
    TRY(training_losses(training, training_steps_done(training) - 1, 1, &loss));
    measurement->loss = (double)loss;
    if (measure->report != NULL)
        measure->report(measure->context, training_steps_done(training),
                        (double)samples / ((double)wall_ns / 1e9),
                        (double)wall_ns / (double)steps / 1e3, measurement->loss);

    return STATUS_OK;
}

/* Steps. Anything rarer makes neither the warm-up nor a run of a few seconds longer. */
enum { PERIOD_MOST = 100 };

/* Two windows that do not count. The first makes primitives and captures the graph, the second
 * gives the time of a step. Both contain everything periodic, unless that is rare: a state that is
 * saved every 10,000 steps is no reason to warm up for 40,000. */
static enum status warm_up(struct training *training, int64_t period, double *step_seconds)
{
    enum status status = STATUS_OK;
    struct training_window window = { 0 };
    int64_t count = 2 * (period < 5 ? 5 : period < PERIOD_MOST ? period : PERIOD_MOST);

    for (int i = 0; i < 2 && !interrupt_signal(); i++) {
        training_window_release(&window);
        window = (struct training_window){ 0 };
        TRY_OUT(training_window(training, count, &window));
    }
    *step_seconds = (double)window.wall_ns * 1e-9 / (double)window.steps;

out:
    training_window_release(&window);
    return status;
}

/* The steps of all windows, and of each but the last. Each holds whole periods, and so do all
 * together if no number of steps was asked for. A period that is rare and longer than the time is
 * not waited for. */
static void plan_windows(int64_t *total, int64_t *chunk, int64_t period, double step_seconds,
                         const struct measure *measure)
{
    *total = measure->steps > 0 ? measure->steps : (int64_t)ceil(measure->seconds / step_seconds);
    if (measure->steps == 0 && period > *total && period > PERIOD_MOST)
        period = PERIOD_MOST;
    *chunk = (*total + measure->windows - 1) / measure->windows;
    *chunk = (*chunk + period - 1) / period * period;
    if (measure->steps == 0)
        *total = (*total + *chunk - 1) / *chunk * *chunk;
}

enum status measure_training(struct measurement *measurement, struct device *device,
                             const struct training_config *config, const struct measure *measure)
{
    enum status status = STATUS_OK;
    bool saves = config->saving.folder[0] != '\0';
    struct training *training = NULL;
    struct training_window all = { 0 };
    int64_t period = training_period(config, 1), total, chunk, first;
    double step_seconds = 0, energy_j;

    *measurement = (struct measurement){ .accuracy = NAN, .loss = NAN };
    TRY_OUT(training_open(&training, device, config));
    first = training_steps_done(training);
    training_stop_on(training, interrupt_flag());
    if (saves)
        interrupt_catch();
    TRY_OUT(warm_up(training, period, &step_seconds));
    measurement->warmup_steps = training_steps_done(training) - first;
    if (measure->warmed_up != NULL && !interrupt_signal())
        measure->warmed_up(measure->context, first + 1, training_steps_done(training));
    interrupt_catch();
    plan_windows(&total, &chunk, period, step_seconds, measure);
    energy_j = -device_vitals(device).energy_j;
    while (total > 0 && !interrupt_signal()) {
        TRY_OUT(run_window(measurement, &all, training, total < chunk ? total : chunk, measure));
        total -= chunk;
    }
    energy_j += device_vitals(device).energy_j;
    if (training_log_status(training) != STATUS_OK)
        measurement->log_error = *status_last();
    if (training_save(training) != STATUS_OK)
        measurement->save_error = *status_last();
    measurement->interrupted = interrupt_signal() != 0;
    if (all.steps == 0 && measurement->save_error.status != STATUS_OK)
        TRY_OUT(status_raise(&measurement->save_error));
    if (all.steps == 0)
        FAIL_OUT(STATUS_INTERRUPTED, "stopped by %s before anything was measured%s",
                 interrupt_name(), saves ? "; the state is saved" : "");
    if (measure->evaluate && !measurement->interrupted)
        TRY_OUT(training_evaluate(training, &measurement->accuracy));
    take_figures(measurement, training, &all, energy_j);

out:
    training_close(training);
    training_window_release(&all);
    return status;
}

double measurement_steps_per_second(const struct measurement *measurement)
{
    return (double)measurement->steps / measurement->seconds;
}
