/* A recorder cannot be put on an open device, so the device is opened anew to record, and the
 * training with it. Windows without and with a recorder are warmed up and timed by the same code,
 * so that their quotient is the cost of recording and nothing else. */
#include "harness/lab/experiment/child/trace_run.h"

#include "harness/base/facts/cpu_times.h"
#include "harness/base/figures/statistics.h"
#include "harness/bench/clocks.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/experiment/child/session.h"
#include "harness/lab/experiment/child/window.h"
#include "harness/lab/experiment/rank_trace.h"
#include "harness/recording/kineto.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The limits below are lengths of traces that are still quick to write, read and look at. Whole
 * periods come first, unless two of them would be longer than that. */
enum {
    PERIODS = 2,
    STEPS_WANTED = 5,
    STEPS_ENOUGH = 20,
    STEPS_FEWEST = 3,
};

#define STEPS_ENOUGH_NS      5e7
/* The approximate length of all windows of one kind together, and their least number: a single one
 * has no spread. */
#define WINDOWS_NS(quick)    ((quick) ? 5e7 : 1e8)
#define WINDOWS_LEAST(quick) ((quick) ? 1 : 2)
#define LONG_NS              1e8
/* More launches add no information, and are slow to write and to read. */
#define LAUNCHES_MOST        20000
/* Recording itself costs less: a third of the shortest steps. */
#define DISTURBED            2

static int64_t at_least(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

static int64_t steps_of_window(const struct trace_need *need)
{
    double step_ns = need->step_us * 1e3;
    int64_t few = (int64_t)(STEPS_ENOUGH_NS / step_ns), many;

    few = at_least(few < STEPS_ENOUGH ? few : STEPS_ENOUGH, STEPS_WANTED);
    if (need->launches * (double)few > LAUNCHES_MOST)
        few = at_least((int64_t)(LAUNCHES_MOST / need->launches), STEPS_FEWEST);
    few = window_whole_periods(few, need->period);
    many = at_least(few, PERIODS * need->period);
    if (need->alike &&
        (step_ns * (double)many > LONG_NS || need->launches * (double)many > LAUNCHES_MOST))
        return few;
    return many;
}

struct trace_plan trace_plan(const struct trace_need *need)
{
    struct trace_plan plan = { .steps = steps_of_window(need) };
    double windows = WINDOWS_NS(need->quick) / (need->step_us * 1e3 * (double)plan.steps);

    plan.windows = windows < TRACE_WINDOWS_MOST ? (int)windows : TRACE_WINDOWS_MOST;
    if (plan.windows < WINDOWS_LEAST(need->quick))
        plan.windows = WINDOWS_LEAST(need->quick);
    return plan;
}

bool trace_window_is_disturbed(const double *traced_us, int windows, double wait_us)
{
    double usual_us = windows > 1 ? stats_median(traced_us, windows) : wait_us;

    return traced_us[windows - 1] > DISTURBED * usual_us;
}

enum { PILOT_STEPS = 3 };

#define WARM_NS 2e7 /* of steps before the first window */

/* Per step. */
struct pace {
    double us, launches;
};

static void plan_windows(struct trace_run *run, const struct pace *pace)
{
    const struct trace_need need = {
        .step_us = pace->us,
        .launches = pace->launches,
        .period = run->period,
        .alike = run->alike,
        .quick = run->protocol->quick,
    };

    run->plan = trace_plan(&need);
}

/* A window that was stopped has fewer steps than the plan, and says nothing. */
static enum status time_window(const struct trace_run *run, struct training *training,
                               int64_t steps, struct pace *pace)
{
    struct training_window window = { 0 };
    enum status status = STATUS_OK;

    TRY_OUT(training_window(training, steps, &window));
    if (run->stop != NULL && *run->stop != 0)
        FAIL_OUT(STATUS_INTERRUPTED, "stopped before all steps were recorded");
    pace->us = (double)window.wall_ns / (double)steps / 1e3;
    pace->launches = (double)window.counts.launches / (double)steps;

out:
    training_window_release(&window);
    return status;
}

/* Opens a run and takes it past its first steps, in which graphs are captured and pools fill, and
 * past those in which caches and clocks settle. `pace` is approximately that of the steps to
 * come. */
static enum status open_run(const struct trace_run *run, struct device *device,
                            struct training **training, struct pace *pace)
{
    TRY(training_open(training, device, run->config));
    training_stop_on(*training, run->stop);
    TRY(training_run(*training, WINDOW_FIRST_STEPS));
    TRY(clocks_raise(device));
    TRY(time_window(run, *training, PILOT_STEPS, pace));
    if (pace->us * 1e3 * PILOT_STEPS < WARM_NS)
        TRY(time_window(run, *training, (int64_t)(WARM_NS / (pace->us * 1e3)), pace));

    return STATUS_OK;
}

/* The largest minus the smallest, over the median. */
static double spread_of(const double *values, int count)
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

enum status trace_run_wait(struct trace_run *run, struct device *device)
{
    struct training *training = NULL;
    struct pace pace;
    enum status status = STATUS_OK;

    TRY_OUT(open_run(run, device, &training, &pace));
    plan_windows(run, &pace);
    for (int i = 0; i < run->plan.windows; i++) {
        TRY_OUT(time_window(run, training, run->plan.steps, &pace));
        run->wait_us[i] = pace.us;
    }

out:
    close_run(training, NULL);
    return status;
}

/* --- Warm-up and active --- */

static enum status run_traced_window(struct trace_run *run, struct training *training,
                                     struct device *device, double *step_us)
{
    struct pace pace;
    enum status status = STATUS_OK;

    TRY_OUT(device_synchronize(device));
    TRY_OUT(device_activity_flush(device)); /* Older records do not belong to this window. */
    trace_begin(run->trace);
    TRY_OUT(training_trace(training, run->trace));
    TRY_OUT(time_window(run, training, run->plan.steps, &pace));
    TRY_OUT(device_activity_flush(device));
    *step_us = pace.us;

out:
    trace_end(run->trace);
    return status;
}

/* Counters that may not be read cost no trace. */
static enum status count_window(struct trace_run *run, struct training *training,
                                struct device *device)
{
    enum status status = device_counters_start(device), stopped;
    struct pace pace;

    run->counters = HARDWARE_COUNTERS_UNKNOWN;
    if (status == STATUS_OK) {
        status = time_window(run, training, run->plan.steps, &pace);
        stopped = device_counters_stop(device, &run->counters);
        if (status != STATUS_OK)
            return status;
        status = stopped;
    }
    if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
        snprintf(run->counters_reason, sizeof run->counters_reason, "%s", status_last()->text);

    return STATUS_OK;
}

/* `first` was read before the device was opened, `ready` when all was warm. */
static enum status write_trace(struct trace_run *run, const struct training *training,
                               const struct cpu_times *first, const struct cpu_times *ready)
{
    struct cpu_times last;
    struct cpu_loss loss;
    char settings[KNOBS_TEXT], path[PATH_MAX];
    struct kineto_about about = {
        .name = run->name,
        .settings = settings,
        .device = &run->device,
        .memory_budget = run->config->allocator.budget,
        .peak_flops_per_second = run->ceilings.flops_per_second,
        .copy_bytes_per_second = run->ceilings.bytes_per_second,
        .steps = run->plan.steps,
        .windows = run->plan.windows,
        .loader_reads_share = training_reads_share(training),
        .rank = ranks_rank(),
        .ranks = ranks_count(),
        .step_time_us = stats_median(run->wait_us, run->plan.windows),
        .traced_step_time_us = stats_median(run->traced_us, run->plan.windows),
        .counters = run->counters,
    };

    about.spread = spread_of(run->traced_us, run->plan.windows);
    if (!(run->step_time_us > 0))
        about.spread = fmax(about.spread, spread_of(run->wait_us, run->plan.windows));
    cpu_times_read(&last, "/");
    loss = cpu_loss_between(first, &last);
    about.other_cores = loss.others;
    about.cores = loss.cores;
    about.wanted_cores = cpu_wanted_between(ready, &last);
    TRY(knobs_print(run->config, settings, sizeof settings));
    TRY(rank_trace_name(path, sizeof path, run->path, ranks_rank(), ranks_count()));
    TRY(kineto_write(path, run->trace, &about));
    TRY(ranks_wait()); /* Then all of them are there. */
    run->tracing = (struct tracing){ .steps = about.steps,
                                     .windows = about.windows,
                                     .step_time_us = about.step_time_us,
                                     .traced_step_time_us = about.traced_step_time_us,
                                     .spread = about.spread,
                                     .rows = trace_row_count(run->trace),
                                     .dropped = trace_dropped(run->trace),
                                     .counters = run->counters };
    memcpy(run->tracing.counters_reason, run->counters_reason, sizeof run->counters_reason);

    return STATUS_OK;
}

/* If there are several windows, one more comes first and does not count: it touches the buffer's
 * memory for the first time. The last window is the active one, and is timed like the others. */
enum status trace_run_record(struct trace_run *run)
{
    struct device *device = NULL;
    struct training *training = NULL;
    struct pace pace;
    struct cpu_times first, ready;
    double uncounted_us;
    enum status status = STATUS_OK;

    cpu_times_read(&first, "/");
    TRY_OUT(trace_open(&run->trace, 0));
    TRY_OUT(session_open_device(run->protocol, trace_sink(run->trace), &device));
    TRY_OUT(open_run(run, device, &training, &pace));
    cpu_times_read(&ready, "/");
    if (run->step_time_us > 0) { /* nothing was waited for */
        pace.us = run->step_time_us;
        plan_windows(run, &pace);
        for (int i = 0; i < run->plan.windows; i++) run->wait_us[i] = pace.us;
    }
    if (run->plan.windows > 1)
        TRY_OUT(run_traced_window(run, training, device, &uncounted_us));
    for (int i = 0; i < run->plan.windows; i++)
        TRY_OUT(run_traced_window(run, training, device, &run->traced_us[i]));
    for (int again = 0; again < TRACE_AGAIN_MOST; again++)
        if (trace_window_is_disturbed(run->traced_us, run->plan.windows,
                                      stats_median(run->wait_us, run->plan.windows)))
            TRY_OUT(
                run_traced_window(run, training, device, &run->traced_us[run->plan.windows - 1]));
    TRY_OUT(training_log_status(training)); /* or the trace would lack what the settings ask for */
    TRY_OUT(count_window(run, training, device));
    TRY_OUT(write_trace(run, training, &first, &ready));

out:
    close_run(training, device);
    trace_close(run->trace);
    run->trace = NULL;
    if (status != STATUS_OK)
        status_context("tracing");
    return status;
}
