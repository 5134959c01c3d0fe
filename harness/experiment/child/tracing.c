#include "harness/experiment/child/tracing.h"

#include "harness/base/statistics.h"
#include "harness/experiment/child/clocks.h"
#include "harness/experiment/child/session.h"
#include "harness/experiment/child/trace_plan.h"
#include "harness/experiment/child/window.h"
#include "harness/trace/record/kineto.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PILOT_STEPS = 3 };

#define WARM_NS 2e7 /* of steps before the first window */

/* Per step. */
struct pace {
    double us, launches;
};

struct tracer {
    struct session session;
    const struct tracing_order *order;
    struct trace_plan plan;
    double wait_us[TRACE_WINDOWS_MOST], traced_us[TRACE_WINDOWS_MOST]; /* per step, by window */
    struct device_properties device;                                   /* without a tracer */
    struct trace *trace;
};

static const struct training_config *config_of(const struct tracer *tracer)
{
    return &tracer->session.configs[tracer->order->variant];
}

/* --- How many steps --- */

static void plan(struct tracer *tracer, const struct pace *pace)
{
    const struct trace_need need = {
        .step_us = pace->us,
        .launches = pace->launches,
        .period = training_period(tracer->session.configs, VARIANT_COUNT),
        .alike = training_period(&tracer->session.configs[VARIANT_BEFORE], 1) ==
                 training_period(&tracer->session.configs[VARIANT_AFTER], 1),
        .quick = tracer->session.protocol->quick,
    };

    tracer->plan = trace_plan(&need);
}

/* The same with the step time of the order. */
static void plan_as_measured(struct tracer *tracer, double launches)
{
    const struct pace pace = { .us = tracer->order->step_time_us, .launches = launches };

    plan(tracer, &pace);
    for (int i = 0; i < tracer->plan.windows; i++) tracer->wait_us[i] = pace.us;
}

/* --- Windows --- */

static enum status time_window(struct training *training, int64_t steps, struct pace *pace)
{
    struct training_window window = { 0 };
    enum status status = STATUS_OK;

    TRY(training_window(training, steps, &window));
    pace->us = (double)window.wall_ns / (double)steps / 1e3;
    pace->launches = (double)window.counts.launches / (double)steps;
    training_window_release(&window);

out:
    return status;
}

/* Opens a run and takes it past its first steps, in which graphs are captured and pools fill, and past
 * those in which caches and clocks settle. `pace` is approximately that of the steps to come. */
static enum status open_run(struct tracer *tracer, struct device *device,
                            struct training **training, struct pace *pace)
{
    enum status status = STATUS_OK;

    TRY(training_open(training, device, config_of(tracer)));
    TRY(training_run(*training, WINDOW_FIRST_STEPS));
    TRY(clocks_raise(device));
    TRY(time_window(*training, PILOT_STEPS, pace));
    if (pace->us * 1e3 * PILOT_STEPS < WARM_NS)
        TRY(time_window(*training, (int64_t)(WARM_NS / (pace->us * 1e3)), pace));

out:
    return status;
}

/* The largest minus the smallest, over the median. */
static double spread(const double *values, int count)
{
    return count > 1 ? (stats_percentile(values, count, 100) - stats_percentile(values, count, 0)) /
                           stats_median(values, count)
                     : NAN;
}

/* --- Wait: no tracer is loaded --- */

/* Keeps the error of a failure, which closing could replace. */
static void close_run(struct training *training, struct device *device)
{
    struct status_error error = *status_last();

    training_close(training);
    device_close(device);
    status_raise(&error);
}

static enum status run_wait(struct tracer *tracer, bool *holds)
{
    struct device *device = NULL;
    struct training *training = NULL;
    struct pace pace;
    enum status status = STATUS_OK;

    TRY(session_open_device(&tracer->session, (struct activity_sink){ 0 }, &device));
    tracer->device = *device_properties(device);
    TRY(session_settle(&tracer->session, device, tracer->order->jpeg_pixels));
    TRY(session_check_balance(&tracer->session, holds));
    if (!*holds || tracer->order->step_time_us > 0)
        goto out;
    TRY(open_run(tracer, device, &training, &pace));
    plan(tracer, &pace);
    for (int i = 0; i < tracer->plan.windows; i++) {
        TRY(time_window(training, tracer->plan.steps, &pace));
        tracer->wait_us[i] = pace.us;
    }

out:
    close_run(training, device);
    if (status != STATUS_OK)
        status_context("before tracing");
    return status;
}

/* --- Warm-up and active --- */

static enum status run_traced_window(struct tracer *tracer, struct training *training,
                                     struct device *device, double *step_us)
{
    struct pace pace;
    enum status status = STATUS_OK;

    TRY(device_synchronize(device));
    TRY(device_activity_flush(device)); /* Older records do not belong to this window. */
    trace_begin(tracer->trace);
    TRY(training_trace(training, tracer->trace));
    TRY(time_window(training, tracer->plan.steps, &pace));
    TRY(device_activity_flush(device));
    *step_us = pace.us;

out:
    trace_end(tracer->trace);
    return status;
}

static enum status write_trace(struct tracer *tracer)
{
    char name[128], settings[sizeof tracer->session.record.settings[0]];
    struct tracing *tracing = &tracer->session.record.tracing;
    enum status status = STATUS_OK;
    struct kineto_about about = {
        .name = name,
        .settings = settings,
        .device = &tracer->device,
        .memory_budget = config_of(tracer)->allocator.budget,
        .steps = tracer->plan.steps,
        .windows = tracer->plan.windows,
        .step_time_us = stats_median(tracer->wait_us, tracer->plan.windows),
        .traced_step_time_us = stats_median(tracer->traced_us, tracer->plan.windows),
    };

    about.spread = spread(tracer->traced_us, tracer->plan.windows);
    if (!(tracer->order->step_time_us > 0))
        about.spread = fmax(about.spread, spread(tracer->wait_us, tracer->plan.windows));
    snprintf(name, sizeof name, "%s.%s", tracer->session.scenario->name,
             variant_name(tracer->order->variant));
    TRY(knobs_print(config_of(tracer), settings, sizeof settings));
    TRY(kineto_write(tracer->order->path, tracer->trace, &about));
    memset(&tracer->session.record, 0, sizeof tracer->session.record);
    tracer->session.record.type = RECORD_TRACING;
    *tracing = (struct tracing){ .steps = about.steps,
                                 .windows = about.windows,
                                 .step_time_us = about.step_time_us,
                                 .traced_step_time_us = about.traced_step_time_us,
                                 .spread = about.spread,
                                 .rows = trace_row_count(tracer->trace),
                                 .dropped = trace_dropped(tracer->trace) };
    TRY(session_send(&tracer->session));

out:
    return status;
}

/* If there are several windows, one more comes first and does not count: it touches the buffer's memory
 * for the first time. The last window is the active one, and is timed like the others. */
static enum status run_traced(struct tracer *tracer)
{
    struct device *device = NULL;
    struct training *training = NULL;
    struct pace pace;
    double uncounted_us;
    enum status status = STATUS_OK;

    TRY(trace_open(&tracer->trace, 0));
    TRY(session_open_device(&tracer->session, trace_sink(tracer->trace), &device));
    TRY(open_run(tracer, device, &training, &pace));
    if (tracer->order->step_time_us > 0)
        plan_as_measured(tracer, pace.launches);
    if (tracer->plan.windows > 1)
        TRY(run_traced_window(tracer, training, device, &uncounted_us));
    for (int i = 0; i < tracer->plan.windows; i++)
        TRY(run_traced_window(tracer, training, device, &tracer->traced_us[i]));
    TRY(write_trace(tracer));

out:
    close_run(training, device);
    trace_close(tracer->trace);
    if (status != STATUS_OK)
        status_context("tracing");
    return status;
}

static enum status run_tracer(struct tracer *tracer)
{
    bool holds = false;
    enum status status = STATUS_OK;

    TRY(run_wait(tracer, &holds));
    if (holds)
        TRY(run_traced(tracer));

out:
    return status;
}

enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor)
{
    struct tracer *tracer = calloc(1, sizeof *tracer);
    enum status status = STATUS_OK;

    if (tracer == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to trace %s", scenario->name);
    session_start(&tracer->session, scenario, protocol, descriptor);
    tracer->order = order;
    status = session_end(&tracer->session, run_tracer(tracer));

out:
    free(tracer);
    return status;
}
