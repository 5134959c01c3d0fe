/* The trace file: made-up rows come out exactly, real runs obey the rules of the format and of time. */
#include "harness/trace/kineto.h"
#include "tests/kineto_file.h"
#include "tests/training_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "test-kineto-XXXXXX";

static const char *path_in_folder(const char *name)
{
    static char path[sizeof folder + 40];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int files_in_folder(void)
{
    DIR *open = opendir(folder);
    int count = -2; /* . and .. */

    assert_non_null(open);
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count;
}

/* --- Made-up traces ----------------------------------------------------------------------------- */

static const struct device_properties gpu = { .kind = "cuda",
                                              .name = "NVIDIA Made Up",
                                              .index = 3,
                                              .memory_bytes = (int64_t)80 << 30,
                                              .multiprocessors = 100,
                                              .warp_lanes = 32,
                                              .compute_capability = 90 };

static struct trace *begin_trace(int64_t bytes_max)
{
    struct trace *trace = NULL;

    assert_ok(trace_open(&trace, bytes_max));
    trace_begin(trace);
    return trace;
}

/* Times are relative to the beginning of the recording. */
static void add(struct trace *trace, struct activity activity)
{
    struct activity_sink sink = trace_sink(trace);

    activity.start_ns += trace_start_ns(trace);
    activity.end_ns += trace_start_ns(trace);
    sink.record(sink.context, &activity);
}

static void add_call(struct trace *trace, const char *name, uint32_t correlation, int64_t start_ns,
                     int64_t end_ns)
{
    add(trace, (struct activity){ .kind = ACTIVITY_RUNTIME,
                                  .name = name,
                                  .start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .thread = 500,
                                  .correlation = correlation });
}

static void add_kernel(struct trace *trace, const char *name, uint32_t correlation, uint32_t stream,
                       uint32_t graph, int64_t start_ns, int64_t end_ns)
{
    add(trace, (struct activity){ .kind = ACTIVITY_KERNEL,
                                  .name = name,
                                  .start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .device = 3,
                                  .stream = stream,
                                  .correlation = correlation,
                                  .graph = graph,
                                  .grid = { 50, 3, 1 },
                                  .block = { 128, 1, 1 },
                                  .registers = 32,
                                  .shared_bytes = 4096,
                                  .occupancy = 0.376f });
}

static void add_phase(struct trace *trace, const char *name, int64_t start_ns, int64_t end_ns)
{
    add(trace, (struct activity){ .kind = ACTIVITY_PHASE,
                                  .name = name,
                                  .start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .thread = 500 });
}

static void write_made_up(struct trace *trace, const char *name, struct kineto_file *file,
                          struct trace_events *events)
{
    const struct kineto_about about = { .name = "made_up", .device = &gpu };

    assert_ok(kineto_write(path_in_folder(name), trace, &about));
    trace_close(trace);
    *file = kineto_file_read(path_in_folder(name));
    *events = trace_events_of(file);
    check_trace(file, events);
}

static void a_kernel_has_all_that_readers_want(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *kernel;
    (void)state;

    add_call(trace, "cudaLaunchKernel", 7, 1000001, 1004000);
    add_kernel(trace, "gemm", 7, 12, 0, 1234567, 3000000004);
    write_made_up(trace, "kernel.json.gz", &file, &events);
    kernel = the_event(&events, "kernel", "gemm");
    assert_int_equal(kernel->start_ns, 1234567);
    assert_int_equal(kernel->end_ns, 3000000004);
    assert_int_equal(kernel->pid, 3);
    assert_int_equal(kernel->tid, 12);
    assert_int_equal(event_integer(kernel, "registers per thread"), 32);
    assert_int_equal(event_integer(kernel, "shared memory"), 4096);
    assert_int_equal(event_integer(kernel, "est. achieved occupancy %"), 38);
    assert_float_equal(cJSON_GetObjectItem(kernel->args, "blocks per SM")->valuedouble, 1.5, 0);
    assert_float_equal(cJSON_GetObjectItem(kernel->args, "warps per SM")->valuedouble, 6, 0);
    assert_non_null(strstr(file.text, "\"grid\":[50,3,1],\"block\":[128,1,1]"));
    assert_non_null(strstr(file.text, "\"ts\":1234.567,\"dur\":2998765.437,"));
    assert_non_null(strstr(file.text, "\"ts\":1000.001,\"dur\":3.999,"));
    assert_null(cJSON_GetObjectItem(file.root, "droppedRecords"));
    trace_events_release(&events);
    kineto_file_release(&file);
}

static void names_come_back_as_they_were(void **state)
{
    static const char *const names[][2] = {
        { "void f<float, \"x\">(int*) [clone .cold]\\",
          "void f<float, \"x\">(int*) [clone .cold]\\" },
        { "a\tb\nc\x01\x7f/", "a\tb\nc\x01\x7f/" },
        { "\xce\xbb \xe2\x86\x92 \xf0\x9f\x8e\x93", "\xce\xbb \xe2\x86\x92 \xf0\x9f\x8e\x93" },
        { "bad \xff\xc0\xaf end\xe2\x86", "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd end"
                                          "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "", "" },
    };
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    (void)state;

    for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
        add_call(trace, "cudaLaunchKernel", i + 1, 100 * i, 100 * i + 10);
        add_kernel(trace, names[i][0], i + 1, 1, 0, 100 * i + 20, 100 * i + 50);
    }
    write_made_up(trace, "names.json", &file, &events);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) the_event(&events, "kernel", names[i][1]);
    trace_events_release(&events);
    kineto_file_release(&file);
}

static void a_graph_has_one_arrow_to_its_first_node(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    (void)state;

    add_kernel(trace, "second", 9, 1, 4, 700, 900);
    add_kernel(trace, "first", 9, 1, 4, 500, 600);
    add_call(trace, "cudaGraphLaunch", 9, 100, 200);
    write_made_up(trace, "graph.json.gz", &file, &events);
    assert_int_equal(count_events(&events, "ac2g"), 2);
    assert_int_equal(event_integer(the_event(&events, "kernel", "second"), "graph id"), 4);
    for (int i = 0; i < events.count; i++)
        if (events.list[i].phase == 'f')
            assert_int_equal(events.list[i].start_ns, 500);
    trace_events_release(&events);
    kineto_file_release(&file);
}

/* Calls that come out of order, as those of several threads do, and of a work whose call is missing. */
static void calls_out_of_order_still_join(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    (void)state;

    for (uint32_t i = 50; i > 0; i--) {
        add_call(trace, "cudaLaunchKernel", i, 1000 * i, 1000 * i + 10);
        add_kernel(trace, "k", i, 1, 0, 1000 * i + 20, 1000 * i + 30);
    }
    write_made_up(trace, "order.json.gz", &file, &events);
    assert_int_equal(count_events(&events, "ac2g"), 100);
    trace_events_release(&events);
    kineto_file_release(&file);

    trace = begin_trace(0);
    add_kernel(trace, "orphan", 77, 1, 0, 10, 20);
    assert_ok(kineto_write(path_in_folder("orphan.json"), trace,
                           &(struct kineto_about){ .name = "orphan", .device = &gpu }));
    trace_close(trace);
    file = kineto_file_read(path_in_folder("orphan.json"));
    events = trace_events_of(&file);
    assert_int_equal(the_event(&events, "kernel", "orphan")->correlation, 77);
    assert_int_equal(count_events(&events, "ac2g"), 0);
    trace_events_release(&events);
    kineto_file_release(&file);
}

/* step { forward { A } backward { B, C on two streams } } */
static void annotations_show_where_their_work_ran(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    int backward = 0;
    (void)state;

    add_call(trace, "cudaLaunchKernel", 1, 120, 130);
    add_phase(trace, "forward", 100, 200);
    add_call(trace, "cudaLaunchKernel", 2, 220, 230);
    add_call(trace, "cudaLaunchKernel", 3, 240, 250);
    add_phase(trace, "backward", 200, 300);
    add_phase(trace, "step", 50, 300);
    add_call(trace, "cudaDeviceSynchronize", 4, 400, 900);
    add_kernel(trace, "A", 1, 1, 0, 1000, 1100);
    add_kernel(trace, "B", 2, 1, 0, 1100, 1300);
    add_kernel(trace, "C", 3, 2, 0, 1050, 1600);
    write_made_up(trace, "phases.json.gz", &file, &events);
    assert_int_equal(count_events(&events, "gpu_user_annotation"), 5);
    assert_int_equal(the_event(&events, "gpu_user_annotation", "forward")->end_ns, 1100);
    for (int i = 0; i < events.count; i++) {
        const struct trace_event *event = &events.list[i];
        if (!event_is(event, "gpu_user_annotation") || strcmp(event->name, "backward") != 0)
            continue;
        backward++;
        assert_int_equal(event->start_ns, event->tid == 1 ? 1100 : 1050);
        assert_int_equal(event->end_ns, event->tid == 1 ? 1300 : 1600);
    }
    assert_int_equal(backward, 2);
    assert_int_equal(
        event_integer(the_event(&events, "kernel", "B"), "External id"),
        event_integer(the_event(&events, "user_annotation", "backward"), "External id"));
    trace_events_release(&events);
    kineto_file_release(&file);
}

static void other_kinds_keep_their_figures(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *event;
    (void)state;

    add_call(trace, "cudaMemcpy", 1, 10, 5010);
    add(trace, (struct activity){ .kind = ACTIVITY_MEMCPY,
                                  .name = "Memcpy HtoD (Pinned -> Device)",
                                  .start_ns = 1000,
                                  .end_ns = 3000,
                                  .device = 3,
                                  .stream = 1,
                                  .correlation = 1,
                                  .bytes = 25000 });
    add_call(trace, "cudaMemsetAsync", 2, 5020, 5030);
    add(trace, (struct activity){ .kind = ACTIVITY_MEMSET,
                                  .name = "Memset (Device)",
                                  .start_ns = 5040,
                                  .end_ns = 5040,
                                  .device = 3,
                                  .stream = 1,
                                  .correlation = 2,
                                  .bytes = 64 });
    add_call(trace, "cudaDeviceSynchronize", 3, 6000, 7000);
    add(trace, (struct activity){ .kind = ACTIVITY_SYNCHRONIZATION,
                                  .name = "Context Synchronize",
                                  .start_ns = 6000,
                                  .end_ns = 7000,
                                  .device = 3,
                                  .correlation = 3 });
    add(trace, (struct activity){ .kind = ACTIVITY_MEMORY,
                                  .name = "[memory]",
                                  .start_ns = 7500,
                                  .end_ns = 7500,
                                  .thread = 500,
                                  .bytes = -4096,
                                  .address = UINT64_C(0x7fff00001000),
                                  .destination = ACTIVITY_MEMORY_PINNED });
    add(trace,
        (struct activity){
            .kind = ACTIVITY_OVERHEAD, .name = "Buffer Flush", .start_ns = 8000, .end_ns = 8100 });
    write_made_up(trace, "kinds.json.gz", &file, &events);
    event = the_event(&events, "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)");
    assert_int_equal(event_integer(event, "bytes"), 25000);
    assert_non_null(strstr(file.text, "\"memory bandwidth (GB/s)\":12.500000"));
    event = the_event(&events, "gpu_memset", "Memset (Device)");
    assert_int_equal(event_integer(event, "memory bandwidth (GB/s)"), 0); /* in no time */
    event = the_event(&events, "cuda_sync", "Context Sync");
    assert_int_equal(event_integer(event, "stream"), -1);
    assert_int_equal(event->tid, -1);
    event = the_event(&events, "cpu_instant_event", "[device memory]");
    assert_int_equal(event_integer(event, "Bytes"), -4096);
    assert_string_equal(event_text(event, "Memory Kind"), "Pinned");
    assert_non_null(strstr(file.text, "\"Addr\":140733193392128"));
    the_event(&events, "overhead", "Buffer Flush");
    trace_events_release(&events);
    kineto_file_release(&file);
}

static void a_trace_that_lacks_records_says_so(void **state)
{
    struct trace *trace = begin_trace(1); /* one chunk */
    struct kineto_file file;
    struct trace_events events;
    int64_t dropped;
    (void)state;

    for (uint32_t i = 0; i < 2000; i++) add_phase(trace, "phase", 10 * i, 10 * i + 5);
    dropped = trace_dropped(trace);
    assert_true(dropped > 0);
    write_made_up(trace, "dropped.json.gz", &file, &events);
    assert_int_equal(cJSON_GetObjectItem(file.root, "droppedRecords")->valuedouble, dropped);
    assert_int_equal(count_events(&events, "user_annotation") + dropped, 2000);
    trace_events_release(&events);
    kineto_file_release(&file);
}

static void the_head_tells_the_device_and_the_cost(void **state)
{
    struct trace *trace = begin_trace(0);
    struct kineto_about about = { .name = "head \"quoted\"",
                                  .settings = "model=light batch=1",
                                  .device = &gpu,
                                  .memory_budget = 1 << 30,
                                  .steps = 40,
                                  .windows = 3,
                                  .step_time_us = 100,
                                  .traced_step_time_us = 102.5 };
    struct kineto_file file;
    const cJSON *device, *ours;
    (void)state;

    assert_ok(kineto_write(path_in_folder("head.json.gz"), trace, &about));
    trace_close(trace);
    file = kineto_file_read(path_in_folder("head.json.gz"));
    assert_int_equal(cJSON_GetObjectItem(file.root, "schemaVersion")->valuedouble, 1);
    assert_string_equal(cJSON_GetObjectItem(file.root, "traceName")->valuestring,
                        "head \"quoted\"");
    assert_string_equal(cJSON_GetObjectItem(file.root, "displayTimeUnit")->valuestring, "ms");
    assert_true(cJSON_GetObjectItem(file.root, "baseTimeNanoseconds")->valuedouble > 1.7e18);
    device = cJSON_GetArrayItem(cJSON_GetObjectItem(file.root, "deviceProperties"), 0);
    assert_int_equal(cJSON_GetObjectItem(device, "id")->valuedouble, 3);
    assert_int_equal(cJSON_GetObjectItem(device, "computeMajor")->valuedouble, 9);
    assert_int_equal(cJSON_GetObjectItem(device, "numSms")->valuedouble, 100);
    assert_true(cJSON_GetObjectItem(device, "totalGlobalMem")->valuedouble == 80.0 * (1 << 30));
    assert_int_equal(cJSON_GetObjectItem(device, "memoryBudget")->valuedouble, 1 << 30);
    ours = cJSON_GetObjectItem(file.root, "chokepoint");
    assert_string_equal(cJSON_GetObjectItem(ours, "settings")->valuestring, "model=light batch=1");
    assert_float_equal(cJSON_GetObjectItem(ours, "tracing_overhead")->valuedouble, 0.025, 1e-9);
    kineto_file_release(&file);
}

/* --- What can fail ------------------------------------------------------------------------------ */

static void a_disk_that_is_full_leaves_what_was_there(void **state)
{
    const struct kineto_about about = { .name = "full", .device = &gpu };
    struct rlimit before, limit;
    struct trace *trace = begin_trace(0);
    struct stat there;
    int files = files_in_folder();
    (void)state;

    assert_ok(kineto_write(path_in_folder("full.json"), trace, &about));
    assert_int_equal(stat(path_in_folder("full.json"), &there), 0);
    trace_begin(trace);
    for (uint32_t i = 0; i < 20000; i++) add_phase(trace, "phase", 10 * i, 10 * i + 5);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 500000; /* less than the 20000 events take */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(kineto_write(path_in_folder("full.json"), trace, &about), STATUS_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(status_last()->text, "full.json: File too large"));
    assert_int_equal(files_in_folder(), files + 1);
    limit.rlim_cur = (rlim_t)there.st_size;
    assert_int_equal(stat(path_in_folder("full.json"), &there), 0);
    assert_int_equal(there.st_size, limit.rlim_cur);
    trace_close(trace);
}

static void a_folder_that_is_missing_is_an_error_that_names_it(void **state)
{
    struct trace *trace = begin_trace(0);
    const struct kineto_about about = { .name = "lost", .device = &gpu };
    (void)state;

    assert_int_equal(kineto_write(path_in_folder("none/x.json.gz"), trace, &about), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "none/x.json.gz: No such file or directory"));
    trace_close(trace);
}

/* --- Real runs ---------------------------------------------------------------------------------- */

enum { STEPS = 6, WARMUP = 6 };

struct run {
    struct device *device;
    struct training *training;
    struct trace *trace;
    struct device_counters counters; /* of the recorded part */
    struct memory_statistics begin, end;
    struct kineto_file file;
    struct trace_events events;
};

static struct device_counters difference(struct device_counters a, struct device_counters b)
{
    return (struct device_counters){ .launches = b.launches - a.launches,
                                     .graph_launches = b.graph_launches - a.graph_launches,
                                     .copies = b.copies - a.copies,
                                     .copy_bytes_h2d = b.copy_bytes_h2d - a.copy_bytes_h2d,
                                     .copy_bytes_d2h = b.copy_bytes_d2h - a.copy_bytes_d2h,
                                     .copy_bytes_d2d = b.copy_bytes_d2d - a.copy_bytes_d2d,
                                     .memsets = b.memsets - a.memsets,
                                     .event_records = b.event_records - a.event_records };
}

/* Trains, records STEPS steps, writes and reads them. */
static void run_traced(struct run *run, const char *settings, const char *name)
{
    struct device_options options = { .spin_ns = -1 };
    struct device_counters before;
    struct kineto_about about = { .name = name };

    memset(run, 0, sizeof *run);
    assert_ok(trace_open(&run->trace, 0));
    options.sink = trace_sink(run->trace);
    assert_ok(device_open(&run->device, "cpu", &options));
    run->training = open_training(run->device, settings);
    assert_ok(training_run(run->training, WARMUP));
    assert_ok(device_synchronize(run->device));
    before = device_counters(run->device);
    run->begin = memory_statistics(run->training->memory);
    trace_begin(run->trace);
    assert_ok(training_trace(run->training, run->trace));
    assert_ok(training_run(run->training, STEPS));
    assert_ok(device_synchronize(run->device));
    trace_end(run->trace);
    run->counters = difference(before, device_counters(run->device));
    run->end = memory_statistics(run->training->memory);
    about.device = device_properties(run->device);
    assert_ok(kineto_write(path_in_folder(name), run->trace, &about));
    run->file = kineto_file_read(path_in_folder(name));
    run->events = trace_events_of(&run->file);
    check_trace(&run->file, &run->events);
}

static void run_close(struct run *run)
{
    trace_events_release(&run->events);
    kineto_file_release(&run->file);
    training_close(run->training);
    device_close(run->device);
    trace_close(run->trace);
}

static int count_calls(const struct run *run, const char *name)
{
    int count = 0;

    for (int i = 0; i < run->events.count; i++)
        count += event_is(&run->events.list[i], "cuda_runtime") &&
                 strcmp(run->events.list[i].name, name) == 0;
    return count;
}

/* The trace holds what the device counted, no more and no less. */
static void check_counters(const struct run *run)
{
    const struct device_counters *counters = &run->counters;
    int64_t bytes = 0, copies = 0;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        if (!event_is(event, "gpu_memcpy") || cJSON_GetObjectItem(event->args, "graph id") != NULL)
            continue;
        copies++;
        bytes += event_integer(event, "bytes");
    }
    assert_int_equal(count_calls(run, "cudaLaunchKernel"), counters->launches);
    assert_int_equal(count_calls(run, "cudaGraphLaunch"), counters->graph_launches);
    assert_int_equal(count_calls(run, "cudaEventRecord"), counters->event_records);
    assert_int_equal(count_calls(run, "cudaMemsetAsync"), counters->memsets);
    assert_int_equal(copies, counters->copies);
    assert_int_equal(bytes, counters->copy_bytes_h2d + counters->copy_bytes_d2h +
                                counters->copy_bytes_d2d);
}

/* Steps follow each other without overlapping; in each the phases come in this order, apart from each
 * other, so that their times and the rest add up to the step's. */
static void check_steps(const struct run *run, const char *const *phases, int phase_count)
{
    const struct trace_events *events = &run->events;
    int64_t last_end = 0;
    int steps = 0;

    for (int s = 0; s < events->count; s++) {
        const struct trace_event *step = &events->list[s];
        char name[40];
        int next = 0;
        int64_t at_ns = step->start_ns, parts_ns = 0, rest_ns = 0;
        if (!event_is(step, "user_annotation") || strncmp(step->name, "ProfilerStep#", 13) != 0)
            continue;
        snprintf(name, sizeof name, "ProfilerStep#%d", WARMUP + steps);
        assert_string_equal(step->name, name);
        assert_true(step->start_ns >= last_end);
        last_end = step->end_ns;
        for (int i = 0; i < events->count; i++) {
            const struct trace_event *phase = &events->list[i];
            if (!event_is(phase, "user_annotation") || phase == step ||
                phase->start_ns < step->start_ns || phase->start_ns >= step->end_ns)
                continue;
            assert_true(next < phase_count);
            assert_string_equal(phase->name, phases[next++]);
            assert_true(phase->start_ns >= at_ns && phase->end_ns <= step->end_ns);
            rest_ns += phase->start_ns - at_ns;
            parts_ns += phase->end_ns - phase->start_ns;
            at_ns = phase->end_ns;
        }
        assert_int_equal(next, phase_count);
        assert_int_equal(parts_ns + rest_ns + step->end_ns - at_ns, step->end_ns - step->start_ns);
        steps++;
    }
    assert_int_equal(steps, STEPS);
}

static const cJSON *last_memory(const struct run *run, const char *category)
{
    const cJSON *last = NULL;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        if (event->phase == 'i' && strcmp(event->name, "[memory]") == 0 &&
            (category == NULL || strcmp(event_text(event, "Category"), category) == 0))
            last = event->args;
    }
    assert_non_null(last);
    return last;
}

/* Bytes given out and taken back, from the first row on, make the allocator's own figures. */
static void check_memory(const struct run *run)
{
    for (int c = 0; c < MEMORY_CATEGORY_COUNT; c++) {
        const char *name = memory_category_name((enum memory_category)c);
        int64_t bytes = 0;
        for (int i = 0; i < run->events.count; i++) {
            const struct trace_event *event = &run->events.list[i];
            if (event->phase == 'i' && strcmp(event->name, "[memory]") == 0 &&
                strcmp(event_text(event, "Category"), name) == 0)
                bytes += event_integer(event, "Bytes");
        }
        assert_int_equal(run->begin.allocated[c] + bytes, run->end.allocated[c]);
        assert_int_equal(
            cJSON_GetObjectItem(last_memory(run, name), "Category Allocated")->valuedouble,
            run->end.allocated[c]);
    }
    assert_int_equal(cJSON_GetObjectItem(last_memory(run, NULL), "Total Allocated")->valuedouble,
                     run->end.allocated_all);
    assert_int_equal(cJSON_GetObjectItem(last_memory(run, NULL), "Total Reserved")->valuedouble,
                     run->end.reserved);
}

/* A row for each pass of each step, in the program's order, with its figures. */
static void check_operators(const struct run *run)
{
    const struct program *program = run->training->encoder->train;
    int length = program_length(program), found = 0;
    int64_t bytes = 0, flops = 0;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        struct program_entry entry = program_entry(program, found % length);
        if (!event_is(event, "cpu_op"))
            continue;
        assert_memory_equal(event->name, entry.op->name, strlen(entry.op->name));
        assert_int_equal(strstr(event->name, " backward") != NULL, entry.backward);
        assert_int_equal(event_integer(event, "Sequence number"),
                         entry.op - program_entry(program, 0).op);
        bytes += event_integer(event, "bytes");
        flops += event_integer(event, "flops");
        found++;
    }
    assert_int_equal(found, length * STEPS);
    assert_int_equal(bytes, program_bytes(program) * STEPS);
    assert_int_equal(flops, program_flops(program) * STEPS);
}

static void an_eager_step_shows_operators_and_memory(void **state)
{
    static const char *const phases[] = { "h2d", "forward", "backward", "optimizer" };
    struct run run;
    const struct trace_event *step;
    const cJSON *shapes;
    (void)state;

    run_traced(&run, "model=light launch=eager input=resident", "light.json.gz");
    check_counters(&run);
    check_steps(&run, phases, ARRAY_SIZE(phases));
    check_memory(&run);
    check_operators(&run);
    assert_int_equal(count_events(&run.events, "kernel"), run.counters.launches);
    step = the_event(&run.events, "user_annotation", "ProfilerStep#6");
    assert_int_equal(event_integer(step, "samples"), 1);
    assert_true(event_integer(step, "tokens") > 0);
    assert_int_equal(event_integer(step, "tokens") + event_integer(step, "padded tokens"),
                     run.training->config.model.tokens);
    for (int i = 0; i < run.events.count; i++) /* x [tokens, width], weight [width, 3 width] */
        if (strcmp(run.events.list[i].name, "block0.qkv_linear") == 0) {
            shapes = cJSON_GetObjectItem(run.events.list[i].args, "Input Dims");
            assert_int_equal(cJSON_GetArraySize(shapes), 2);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 0), 0)->valuedouble, 8);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 0), 1)->valuedouble, 32);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 1), 0)->valuedouble, 32);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 1), 1)->valuedouble, 96);
        }
    run_close(&run);
}

static void a_captured_step_shows_nodes_of_one_launch(void **state)
{
    static const char *const phases[] = { "data", "h2d", "graph", "log" };
    struct run run;
    (void)state;

    run_traced(&run, "model=balanced launch=graph input=decoded workers=2 loss_every=1",
               "balanced.json.gz");
    check_counters(&run);
    check_steps(&run, phases, ARRAY_SIZE(phases));
    check_memory(&run);
    assert_int_equal(run.counters.graph_launches, STEPS);
    assert_int_equal(count_events(&run.events, "cpu_op"), 0); /* They were run once, at capture. */
    assert_int_equal(count_events(&run.events, "kernel") + count_events(&run.events, "gpu_memset"),
                     STEPS * graph_nodes(run.training->graph));
    run_close(&run);
}

static void recomputed_passes_have_rows_of_their_own(void **state)
{
    struct run run;
    int recomputed = 0;
    (void)state;

    run_traced(&run,
               "model=light launch=eager input=resident checkpointing=block batch=2 accumulate=2",
               "checkpointing.json.gz");
    check_counters(&run);
    check_memory(&run);
    for (int i = 0; i < run.events.count; i++)
        recomputed += strstr(run.events.list[i].name, " recomputed") != NULL;
    assert_true(recomputed > 0);
    assert_int_equal(count_events(&run.events, "cpu_op"),
                     2 * STEPS * program_length(run.training->encoder->train));
    run_close(&run);
}

static void a_trace_changes_no_result(void **state)
{
    static const char settings[] = "model=light launch=eager";
    float losses[WARMUP + STEPS], traced[WARMUP + STEPS];
    struct device *device = NULL;
    struct run run;
    (void)state;

    assert_ok(device_open(&device, "cpu", NULL));
    run_losses(device, settings, WARMUP + STEPS, losses);
    device_close(device);
    run_traced(&run, settings, "same.json.gz");
    assert_ok(training_losses(run.training, 0, WARMUP + STEPS, traced));
    assert_memory_equal(losses, traced, sizeof losses);
    run_close(&run);
}

static int open_folder(void **state)
{
    (void)state;
    if (getenv("CHOKEPOINT_CACHE") == NULL)
        setenv("CHOKEPOINT_CACHE", "test-cache", 0);
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    (void)state;

    while ((entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            unlink(path_in_folder(entry->d_name));
    closedir(open);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_all_that_readers_want),
        cmocka_unit_test(names_come_back_as_they_were),
        cmocka_unit_test(a_graph_has_one_arrow_to_its_first_node),
        cmocka_unit_test(calls_out_of_order_still_join),
        cmocka_unit_test(annotations_show_where_their_work_ran),
        cmocka_unit_test(other_kinds_keep_their_figures),
        cmocka_unit_test(a_trace_that_lacks_records_says_so),
        cmocka_unit_test(the_head_tells_the_device_and_the_cost),
        cmocka_unit_test(a_disk_that_is_full_leaves_what_was_there),
        cmocka_unit_test(a_folder_that_is_missing_is_an_error_that_names_it),
        cmocka_unit_test(an_eager_step_shows_operators_and_memory),
        cmocka_unit_test(a_captured_step_shows_nodes_of_one_launch),
        cmocka_unit_test(recomputed_passes_have_rows_of_their_own),
        cmocka_unit_test(a_trace_changes_no_result),
    };
    return cmocka_run_group_tests_name("trace files", tests, open_folder, remove_folder);
}
