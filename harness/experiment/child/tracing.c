#include "harness/experiment/child/tracing.h"

#include "harness/base/statistics.h"
#include "harness/experiment/child/balance.h"
#include "harness/experiment/child/clocks.h"
#include "harness/experiment/child/settings.h"
#include "harness/experiment/child/trace_plan.h"
#include "harness/experiment/child/window.h"
#include "harness/experiment/records.h"
#include "harness/trace/record/kineto.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PILOT_STEPS = 3 };

#define WARM_NS 2e7 /* of steps before the first window */

/* Of a step. */
struct pace {
    double us, launches;
};

struct session {
    const struct scenario *scenario;
    const struct protocol *protocol;
    const struct tracing_order *order;
    int descriptor;
    struct training_config configs[VARIANT_COUNT];
    struct trace_plan plan;
    double wait_us[TRACE_WINDOWS_MOST], traced_us[TRACE_WINDOWS_MOST]; /* a step, by window */
    struct device_properties device;                                   /* as without a tracer */
    struct trace *trace;
    struct record record;
};

static const struct training_config *config_of(const struct session *session)
{
    return &session->configs[session->order->variant];
}

static enum status send(struct session *session, enum record_type type, const char *text)
{
    struct record *record = &session->record;

    memset(record, 0, sizeof *record);
    record->type = type;
    snprintf(record->text, sizeof record->text, "%s", text);
    return record_write(session->descriptor, record);
}

/* --- How many steps --- */

static void plan(struct session *session, const struct pace *pace)
{
    const struct trace_need need = {
        .step_us = pace->us,
        .launches = pace->launches,
        .period = training_period(session->configs, VARIANT_COUNT),
        .alike = training_period(&session->configs[VARIANT_BEFORE], 1) ==
                 training_period(&session->configs[VARIANT_AFTER], 1),
        .quick = session->protocol->quick,
    };

    session->plan = trace_plan(&need);
}

/* With the step time of the order. */
static void plan_as_measured(struct session *session, double launches)
{
    const struct pace pace = { .us = session->order->step_time_us, .launches = launches };

    plan(session, &pace);
    for (int i = 0; i < session->plan.windows; i++) session->wait_us[i] = pace.us;
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

/* A run past its first steps, in which graphs are captured and pools fill, and past those in which caches
 * and clocks settle. `pace` is about what it has then. */
static enum status open_run(struct session *session, struct device *device,
                            struct training **training, struct pace *pace)
{
    enum status status = STATUS_OK;

    TRY(training_open(training, device, config_of(session)));
    TRY(training_run(*training, WINDOW_FIRST_STEPS));
    TRY(clocks_raise(device));
    TRY(time_window(*training, PILOT_STEPS, pace));
    if (pace->us * 1e3 * PILOT_STEPS < WARM_NS)
        TRY(time_window(*training, (int64_t)(WARM_NS / (pace->us * 1e3)), pace));

out:
    return status;
}

/* Largest less smallest, over the median. */
static double spread(const double *values, int count)
{
    return count > 1 ? (stats_percentile(values, count, 100) - stats_percentile(values, count, 0)) /
                           stats_median(values, count)
                     : NAN;
}

/* --- Wait: no tracer is loaded --- */

/* What both variants read. False: out of the scenario's band, and the parent was told. */
static enum status settle(struct session *session, struct device *device, bool *holds)
{
    const struct balance *balance = &session->scenario->balance;
    struct training_config *before = &session->configs[VARIANT_BEFORE];
    struct balance_result chosen;
    char text[512];
    enum status status = STATUS_OK;

    *holds = true;
    TRY(settings_settle(session->configs, session->scenario, session->protocol, &session->device));
    if (session->order->jpeg_pixels > 0) {
        before->data.jpeg_pixels = session->order->jpeg_pixels;
    } else {
        TRY(balance_choose(&chosen, device, balance, before));
        *holds = balance_holds(balance, &chosen);
        if (!*holds) {
            balance_explain(balance, &chosen, text, sizeof text);
            TRY(send(session, RECORD_SKIPPED, text));
        }
    }
    session->configs[VARIANT_AFTER].data.jpeg_pixels = before->data.jpeg_pixels;

out:
    return status;
}

static enum status open_device(const struct session *session, struct device **device,
                               struct activity_sink sink)
{
    const struct device_options options = { .memory_bytes = session->protocol->device_memory,
                                            .spin_ns = -1,
                                            .sink = sink };

    return device_open(device, session->protocol->device, &options);
}

/* After a failure: closing what may be broken must not hide why. */
static void close_run(struct training *training, struct device *device)
{
    struct status_error error = *status_last();

    training_close(training);
    device_close(device);
    status_raise(&error);
}

static enum status run_wait(struct session *session, bool *holds)
{
    struct device *device = NULL;
    struct training *training = NULL;
    struct pace pace;
    enum status status = STATUS_OK;

    TRY(open_device(session, &device, (struct activity_sink){ 0 }));
    session->device = *device_properties(device);
    TRY(settle(session, device, holds));
    if (!*holds || session->order->step_time_us > 0)
        goto out;
    TRY(open_run(session, device, &training, &pace));
    plan(session, &pace);
    for (int i = 0; i < session->plan.windows; i++) {
        TRY(time_window(training, session->plan.steps, &pace));
        session->wait_us[i] = pace.us;
    }

out:
    close_run(training, device);
    if (status != STATUS_OK)
        status_context("before tracing");
    return status;
}

/* --- Warm-up and active --- */

static enum status run_traced_window(struct session *session, struct training *training,
                                     struct device *device, double *step_us)
{
    struct pace pace;
    enum status status = STATUS_OK;

    TRY(device_synchronize(device));
    TRY(device_activity_flush(device)); /* What is older is none of this window's. */
    trace_begin(session->trace);
    TRY(training_trace(training, session->trace));
    TRY(time_window(training, session->plan.steps, &pace));
    TRY(device_activity_flush(device));
    *step_us = pace.us;

out:
    trace_end(session->trace);
    return status;
}

static enum status write_trace(struct session *session)
{
    char name[128], settings[sizeof session->record.settings[0]];
    struct tracing *tracing = &session->record.tracing;
    enum status status = STATUS_OK;
    struct kineto_about about = {
        .name = name,
        .settings = settings,
        .device = &session->device,
        .memory_budget = config_of(session)->allocator.budget,
        .steps = session->plan.steps,
        .windows = session->plan.windows,
        .step_time_us = stats_median(session->wait_us, session->plan.windows),
        .traced_step_time_us = stats_median(session->traced_us, session->plan.windows),
    };

    about.spread = spread(session->traced_us, session->plan.windows);
    if (!(session->order->step_time_us > 0))
        about.spread = fmax(about.spread, spread(session->wait_us, session->plan.windows));
    snprintf(name, sizeof name, "%s.%s", session->scenario->name,
             variant_name(session->order->variant));
    TRY(knobs_print(config_of(session), settings, sizeof settings));
    TRY(kineto_write(session->order->path, session->trace, &about));
    memset(&session->record, 0, sizeof session->record);
    session->record.type = RECORD_TRACING;
    *tracing = (struct tracing){ .steps = about.steps,
                                 .windows = about.windows,
                                 .step_time_us = about.step_time_us,
                                 .traced_step_time_us = about.traced_step_time_us,
                                 .spread = about.spread,
                                 .rows = trace_row_count(session->trace),
                                 .dropped = trace_dropped(session->trace) };
    TRY(record_write(session->descriptor, &session->record));

out:
    return status;
}

/* Several windows come after one that does not count: the buffer's memory is touched for the first time.
 * The last one is the active one, and timed as the others are. */
static enum status run_traced(struct session *session)
{
    struct device *device = NULL;
    struct training *training = NULL;
    struct pace pace;
    double uncounted_us;
    enum status status = STATUS_OK;

    TRY(trace_open(&session->trace, 0));
    TRY(open_device(session, &device, trace_sink(session->trace)));
    TRY(open_run(session, device, &training, &pace));
    if (session->order->step_time_us > 0)
        plan_as_measured(session, pace.launches);
    if (session->plan.windows > 1)
        TRY(run_traced_window(session, training, device, &uncounted_us));
    for (int i = 0; i < session->plan.windows; i++)
        TRY(run_traced_window(session, training, device, &session->traced_us[i]));
    TRY(write_trace(session));

out:
    close_run(training, device);
    trace_close(session->trace);
    if (status != STATUS_OK)
        status_context("tracing");
    return status;
}

static enum status run_session(struct session *session)
{
    bool holds = false;
    enum status status = STATUS_OK;

    TRY(run_wait(session, &holds));
    if (holds)
        TRY(run_traced(session));

out:
    return status;
}

enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor)
{
    struct session *session = calloc(1, sizeof *session);
    enum status status = STATUS_OK;

    signal(SIGPIPE, SIG_IGN);
    if (session == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to trace %s", scenario->name);
    *session = (struct session){
        .scenario = scenario, .protocol = protocol, .order = order, .descriptor = descriptor
    };
    status = run_session(session);
    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED) {
        status = send(session, RECORD_SKIPPED, status_last()->text);
    } else if (status != STATUS_OK) {
        struct status_error error = *status_last();
        char text[sizeof session->record.text];
        snprintf(text, sizeof text, "%s: %s", error.context, error.text);
        send(session, RECORD_ERROR, text);
        status_raise(&error);
    }

out:
    free(session);
    return status;
}
