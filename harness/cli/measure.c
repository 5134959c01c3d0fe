#include "harness/cli/measure.h"

#include "harness/experiment/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Single steps of all windows. */
struct steps {
    double *ns;
    int count;
};

static enum status steps_add(struct steps *steps, const struct training_window *window)
{
    enum status status = STATUS_OK;
    int64_t count = steps->count + window->step_count;
    double *longer;

    if (window->step_count == 0)
        goto out;
    longer = realloc(steps->ns, sizeof *longer * (size_t)count);
    if (longer == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the times of %lld steps", (long long)count);
    steps->ns = longer;
    memcpy(steps->ns + steps->count, window->step_ns, sizeof *longer * (size_t)window->step_count);
    steps->count = (int)count;

out:
    return status;
}

static bool is_peak(int metric)
{
    return metric == METRIC_ACTIVATION_PEAK || metric == METRIC_MEMORY_PEAK;
}

/* Sums what is per step; measurement_finish divides. */
static void add_window(struct measurement *measurement, const struct training_window *window)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        double value = window->metric[i];
        if (is_peak(i))
            measurement->metric[i] = fmax(measurement->metric[i], value);
        else
            measurement->metric[i] += value * (double)window->steps;
    }
    measurement->steps += window->steps;
    measurement->samples += window->samples;
    measurement->seconds += (double)window->wall_ns * 1e-9;
}

static void finish(struct measurement *measurement, const struct steps *steps)
{
    double *metric = measurement->metric;

    for (int i = 0; i < METRIC_COUNT; i++)
        if (!is_peak(i))
            metric[i] /= (double)measurement->steps;
    metric[METRIC_SAMPLES_PER_SECOND] = (double)measurement->samples / measurement->seconds;
    metric[METRIC_DATA_WAIT_SHARE] = metric[METRIC_DATA_WAIT] / metric[METRIC_STEP_TIME];
    metric[METRIC_STEP_TIME_P95] = stats_percentile(steps->ns, steps->count, 95) / 1e3;
    metric[METRIC_STEP_VARIATION] = stats_cv(steps->ns, steps->count);
    measurement->step_p50 = stats_median(steps->ns, steps->count) / 1e3;
}

/* Runs a window and reports it. */
static enum status run_window(struct measurement *measurement, struct steps *steps,
                              struct training *training, int64_t count,
                              const struct measure *measure)
{
    enum status status = STATUS_OK;
    struct training_window window = { 0 };
    float loss;

    TRY(training_window(training, count, &window));
    TRY(steps_add(steps, &window));
    add_window(measurement, &window);
    TRY(training_losses(training, training_steps_done(training) - 1, 1, &loss));
    measurement->loss = (double)loss;
    if (measure->report != NULL)
        measure->report(measure->context, training_steps_done(training),
                        window.metric[METRIC_SAMPLES_PER_SECOND], window.metric[METRIC_STEP_TIME],
                        measurement->loss);

out:
    training_window_release(&window);
    return status;
}

/* Two windows that do not count: the first makes primitives and captures the graph, the second tells
 * how long a step takes. Both are long enough for everything periodic to come round. */
static enum status warm_up(struct training *training, int64_t period, double *step_seconds)
{
    enum status status = STATUS_OK;
    struct training_window window = { 0 };
    int64_t count = period > 5 ? 2 * period : 10;

    for (int i = 0; i < 2; i++) {
        training_window_release(&window);
        window = (struct training_window){ 0 };
        TRY(training_window(training, count, &window));
    }
    *step_seconds = (double)window.wall_ns * 1e-9 / (double)count;

out:
    training_window_release(&window);
    return status;
}

enum status measure_training(struct measurement *measurement, struct device *device,
                             const struct training_config *config, const struct measure *measure)
{
    enum status status = STATUS_OK;
    struct training *training = NULL;
    struct steps steps = { 0 };
    int64_t period = training_period(config), total, chunk;
    double step_seconds = 0;

    *measurement = (struct measurement){ .accuracy = NAN, .loss = NAN };
    TRY(training_open(&training, device, config));
    TRY(warm_up(training, period, &step_seconds));
    total = measure->steps > 0 ? measure->steps : (int64_t)ceil(measure->seconds / step_seconds);
    chunk = (total + measure->windows - 1) / measure->windows;
    chunk = (chunk + period - 1) / period * period;
    if (measure->steps == 0)
        total = (total + chunk - 1) / chunk * chunk;
    while (total > 0) {
        TRY(run_window(measurement, &steps, training, total < chunk ? total : chunk, measure));
        total -= chunk;
    }
    finish(measurement, &steps);
    if (measure->evaluate)
        TRY(training_evaluate(training, &measurement->accuracy));
    measurement->damaged_samples = training_damaged_samples(training);
    measurement->steps_trained = training_steps_done(training);

out:
    training_close(training);
    free(steps.ns);
    return status;
}

double measurement_steps_per_second(const struct measurement *measurement)
{
    return (double)measurement->steps / measurement->seconds;
}
