/* Recording a trace of one configuration, and stopping that. */
#include "harness/lab/experiment/child/trace_run.h"

#include "tests/fixtures/lab/scratch_disk.h"
#include "tests/fixtures/lab/training_fixture.h"
#include "tests/fixtures/trace_folder.h"

/* A run of the light model on the CPU device, with the step time known. */
static enum status record(const char *settings, const char *name, const volatile sig_atomic_t *stop,
                          struct tracing *tracing)
{
    struct protocol protocol = protocol_default(true);
    struct training_config config;
    struct trace_run run = {
        .name = "test", .config = &config, .alike = true, .step_time_us = 200, .stop = stop
    };
    struct device *device = NULL;
    const struct device_options options = { .spin_ns = -1 };
    enum status status;

    protocol.device = "cpu";
    assert_ok(device_open(&device, "cpu", &options));
    config = config_of(device, settings);
    run.device = *device_properties(device);
    device_close(device);
    run.path = trace_folder_path(name);
    run.protocol = &protocol;
    run.period = training_period(&config, 1);
    status = trace_run_record(&run);
    *tracing = run.tracing;
    return status;
}

TEST(a_run_that_is_not_stopped_writes_its_trace)
{
    const volatile sig_atomic_t stop = 0;
    struct tracing tracing;

    assert_ok(record("model=light", "whole.json", &stop, &tracing));
    assert_true(tracing.steps >= 20 && tracing.rows > 0);
    assert_ok(record("model=light", "never.json", NULL, &tracing));
    assert_int_equal(trace_folder_files(), 2);
}

TEST(a_run_that_is_stopped_writes_nothing)
{
    const volatile sig_atomic_t stop = SIGINT;
    int files = trace_folder_files();
    struct tracing tracing;

    assert_int_equal(record("model=light", "stopped.json", &stop, &tracing), STATUS_INTERRUPTED);
    assert_string_equal(status_last()->text, "stopped before all steps were recorded");
    assert_int_equal(tracing.steps, 0);
    assert_int_equal(trace_folder_files(), files);
}

TEST(a_run_whose_log_ended_writes_nothing)
{
    int files = trace_folder_files();
    struct tracing tracing;
    enum status status;
    rlim_t before;

    before = limit_files(64);
    status = record("model=light loss_every=1 log=queued", "ended.json", NULL, &tracing);
    limit_files(before);
    assert_int_equal(status, STATUS_IO);
    assert_non_null(strstr(status_last()->text, "the log in "));
    assert_int_equal(trace_folder_files(), files);
}

TESTS_WITH(trace_folder_open, trace_folder_remove)
