/* Two devices, one after the other: the first has no tracer and gives the step time that tracing is
 * compared with; the second records. */
#include "harness/base/rows.h"
#include "harness/lab/experiment/child/session.h"
#include "harness/lab/experiment/child/trace_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tracer {
    struct session session;
    const struct tracing_order *order;
    struct trace_run run;
};

/* The device without a tracer: the settings, the balance and, if it is not known, the time of a
 * step. */
static enum status run_wait(struct tracer *tracer, bool *holds)
{
    const struct training_config *configs = tracer->session.configs;
    struct trace_run *run = &tracer->run;
    struct device *device = NULL;
    struct status_error error;
    enum status status = STATUS_OK;

    TRY_OUT(session_open_device(tracer->session.protocol, (struct activity_sink){ 0 }, &device));
    run->device = *device_properties(device);
    TRY_OUT(session_settle(&tracer->session, device));
    TRY_OUT(session_check_balance(&tracer->session, holds));
    run->period = training_period(configs, VARIANT_COUNT);
    run->alike =
        training_period(&configs[VARIANT_BEFORE], 1) == training_period(&configs[VARIANT_AFTER], 1);
    if (*holds && !(run->step_time_us > 0))
        TRY_OUT(trace_run_wait(run, device));

out:
    error = *status_last(); /* Closing may fail too. */
    device_close(device);
    if (status != STATUS_OK) {
        status_raise(&error);
        status_context("before tracing");
    }
    return status;
}

static enum status run_tracer(struct tracer *tracer, bool *written)
{
    struct session *session = &tracer->session;
    bool holds = false;
    char name[128];

    snprintf(name, sizeof name, "%s.%s", session->scenario->name,
             variant_name(tracer->order->variant));
    tracer->run.name = name;
    TRY(run_wait(tracer, &holds));
    if (!holds)
        return STATUS_OK;
    TRY(trace_run_record(&tracer->run));
    *written = true;
    memset(&session->record, 0, sizeof session->record);
    session->record.type = RECORD_TRACING;
    session->record.tracing = tracer->run.tracing;
    return session_send(session);
}

enum status tracing_child(const struct scenario *scenario, const struct protocol *protocol,
                          const struct tracing_order *order, int descriptor, bool *written)
{
    struct tracer *tracer;
    enum status status = STATUS_OK;

    *written = false;
    TRY_OUT(rows_make(&tracer, 1));
    session_start(&tracer->session, scenario, protocol, descriptor);
    tracer->order = order;
    tracer->run.path = order->path;
    tracer->run.protocol = protocol;
    tracer->run.config = &tracer->session.configs[order->variant];
    tracer->run.step_time_us = order->step_time_us;
    tracer->run.ceilings = protocol->ceilings[order->variant];
    status = session_end(&tracer->session, run_tracer(tracer, written));

out:
    free(tracer);
    return status;
}
