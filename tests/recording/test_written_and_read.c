/* The reader reads what the writer of traces writes: every row, to the nanosecond. */
#include "harness/base/clock.h"
#include "harness/desk/read/reader.h"
#include "harness/recording/buffer.h"
#include "harness/recording/kineto.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <unistd.h>

enum { KERNELS = 500 };

static char path[] = "/tmp/chokepoint_written_XXXXXX.json.gz";

static void record(struct trace *trace, struct activity activity)
{
    struct activity_sink sink = trace_sink(trace);

    sink.record(sink.context, &activity);
}

/* Kernels of odd lengths on two streams, each with its launch. Returns the sum of their lengths. */
static int64_t record_kernels(struct trace *trace)
{
    int64_t total_ns = 0;

    for (uint32_t i = 1; i <= KERNELS; i++) {
        int64_t start = clock_ns();
        record(trace, (struct activity){ .kind = ACTIVITY_RUNTIME,
                                         .name = "cudaLaunchKernel",
                                         .start_ns = start,
                                         .end_ns = start + 3,
                                         .thread = 42,
                                         .correlation = i });
        record(trace, (struct activity){ .kind = ACTIVITY_KERNEL,
                                         .name = i % 2 ? "odd \"k\"" : "even",
                                         .start_ns = start + 5,
                                         .end_ns = start + 5 + (int64_t)i,
                                         .stream = 1 + i % 2,
                                         .correlation = i,
                                         .grid = { i, 2, 1 },
                                         .block = { 128, 1, 1 } });
        total_ns += i;
    }
    return total_ns;
}

static void check_device(const struct trace_file *file)
{
    const struct event_device *device = trace_file_device(file, 0);

    assert_int_equal(file->device_count, 1);
    assert_ptr_equal(trace_file_device(file, 1), device); /* the only one that is described */
    assert_null(trace_file_device(file, -1));
    assert_string_equal(device->name, "device");
    assert_string_equal(device->isa, "avx2");
    assert_int_equal(device->memory_bytes, 1000);
    assert_int_equal(device->memory_budget_bytes, 900);
    assert_int_equal(device->multiprocessors, 4);
    assert_int_equal(device->host_cores, 3);
    assert_int_equal(device->shares_host_cores, 1);
    assert_int_equal(device->launch_ns, 151);
    assert_int_equal(device->bf16_matrix_units, 0);
    assert_int_equal(device->fused_attention, 1);
}

static void check_cost(const struct trace_file *file)
{
    assert_int_equal(file->dropped_count, 0);
    assert_int_equal(file->cost.steps, 20);
    assert_int_equal(file->cost.windows, 5);
    assert_float_equal(file->cost.step_ns, 200000, 1e-6);
    assert_float_equal(file->cost.traced_step_ns, 205000, 1e-6);
    assert_float_equal(file->cost.spread, 0.25, 1e-6);
    assert_float_equal(trace_file_overhead(file), 0.025, 1e-9);
}

TEST(rows_written_are_rows_read)
{
    static const struct device_properties device = { .kind = "cpu",
                                                     .name = "device",
                                                     .isa = "avx2",
                                                     .memory_bytes = 1000,
                                                     .multiprocessors = 4,
                                                     .host_cores = 3,
                                                     .shares_host_cores = true,
                                                     .launch_ns = 150.6,
                                                     .fused_attention = true };
    struct trace *trace = NULL;
    struct trace_file *file = NULL;
    int64_t total_ns, read_ns = 0, kernels = 0, calls = 0;

    assert_ok(trace_open(&trace, 0));
    trace_begin(trace);
    total_ns = record_kernels(trace);
    trace_end(trace);
    assert_ok(kineto_write(path, trace,
                           &(struct kineto_about){ .name = "test",
                                                   .settings = "a=b",
                                                   .device = &device,
                                                   .memory_budget = 900,
                                                   .peak_flops_per_second = 1e12,
                                                   .copy_bytes_per_second = 2e11,
                                                   .steps = 20,
                                                   .windows = 5,
                                                   .step_time_us = 200,
                                                   .traced_step_time_us = 205,
                                                   .spread = 0.25 }));
    assert_ok(trace_file_read(&file, path, NULL));
    assert_int_equal(file->bad_count, 0);
    assert_false(file->partial);
    assert_int_equal(file->base_ns, trace_start_wall_ns(trace));
    assert_string_equal(trace_file_metadata(file, "traceName"), "\"test\"");
    assert_non_null(strstr(trace_file_metadata(file, "chokepoint"), "\"settings\":\"a=b\""));
    check_device(file);
    check_cost(file);
    assert_float_equal(file->ceilings.flops_per_second, 1e12, 1);
    assert_float_equal(file->ceilings.bytes_per_second, 2e11, 1);
    for (int64_t i = 0; i < file->event_count; i++) {
        const struct trace_event *event = &file->events[i];
        calls += event->kind == EVENT_KIND_RUNTIME;
        if (event->kind != EVENT_KIND_KERNEL)
            continue;
        kernels++;
        read_ns += event->end_ns - event->start_ns;
        assert_int_equal(event->end_ns - event->start_ns, event->correlation);
        assert_int_equal(file->kernels[event->detail].grid[0], event->correlation);
        assert_int_equal(file->tracks[event->track].thread, 1 + event->correlation % 2);
        assert_string_equal(trace_file_name(file, event->name),
                            event->correlation % 2 ? "odd \"k\"" : "even");
    }
    assert_int_equal(kernels, KERNELS);
    assert_int_equal(calls, KERNELS);
    assert_int_equal(read_ns, total_ns);
    trace_file_close(file);
    trace_close(trace);
}

static int make_path(void **state)
{
    int file = mkstemps(path, 8);

    if (file >= 0)
        close(file);
    return file >= 0 ? 0 : -1;
}

static int remove_path(void **state)
{
    return unlink(path);
}

TESTS_WITH(make_path, remove_path)
