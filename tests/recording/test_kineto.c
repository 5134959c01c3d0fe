/* The trace file: made-up rows come out exactly, and what can fail leaves no half of a file. */
#include "harness/recording/kineto.h"
#include "tests/fixtures/kineto_file.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/trace_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Made-up traces --- */

static const struct device_properties gpu = { .kind = "cuda",
                                              .is_gpu = true,
                                              .name = "NVIDIA Made Up",
                                              .index = 3,
                                              .memory_bytes = (int64_t)80 << 30,
                                              .multiprocessors = 100,
                                              .warp_lanes = 32,
                                              .compute_capability = 90 };

static struct trace *begin_trace(int64_t bytes_max)
{
    struct trace *trace = NULL;

    OK(trace_open(&trace, bytes_max));
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

    OK(kineto_write(trace_folder_path(name), trace, &about));
    trace_close(trace);
    *file = kineto_file_read(trace_folder_path(name));
    *events = trace_events_of(file);
    check_trace(file, events);
}

TEST(a_kernel_has_all_that_readers_want)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *kernel;

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
}

TEST(names_come_back_as_they_were)
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

    for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
        add_call(trace, "cudaLaunchKernel", i + 1, 100 * i, 100 * i + 10);
        add_kernel(trace, names[i][0], i + 1, 1, 0, 100 * i + 20, 100 * i + 50);
    }
    write_made_up(trace, "names.json", &file, &events);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) the_event(&events, "kernel", names[i][1]);
}

TEST(a_graph_has_one_arrow_to_its_first_node)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;

    add_kernel(trace, "second", 9, 1, 4, 700, 900);
    add_kernel(trace, "first", 9, 1, 4, 500, 600);
    add_call(trace, "cudaGraphLaunch", 9, 100, 200);
    write_made_up(trace, "graph.json.gz", &file, &events);
    assert_int_equal(count_events(&events, "ac2g"), 2);
    assert_int_equal(event_integer(the_event(&events, "kernel", "second"), "graph id"), 4);
    for (int i = 0; i < events.count; i++)
        if (events.list[i].phase == 'f')
            assert_int_equal(events.list[i].start_ns, 500);
}

/* forward { a, b } and then an operator that has no node. */
TEST(a_graph_shows_what_was_captured)
{
    static struct graph_spans spans;
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *forward, *b;
    int64_t start_ns;

    graph_spans_add(&spans, "a", 0, 1);
    graph_spans_add(&spans, "b", 1, 3);
    graph_spans_add(&spans, "forward", 0, 3);
    graph_spans_add(&spans, "no node", 3, 3);
    graph_spans_add(&spans, "unknown", -1, -1);
    graph_spans_add(NULL, "not captured", 0, 1);
    assert_int_equal(spans.count, 3);
    start_ns = trace_clock(trace);
    add(trace, (struct activity){ .kind = ACTIVITY_RUNTIME,
                                  .name = "cudaGraphLaunch",
                                  .start_ns = start_ns - trace_start_ns(trace),
                                  .end_ns = start_ns - trace_start_ns(trace) + 1,
                                  .thread = (uint32_t)gettid(),
                                  .correlation = 9 });
    trace_add_replay(trace, &spans, start_ns);
    add_call(trace, "cudaGraphLaunch", 10, 1, 2); /* of a graph that nobody noted */
    for (uint32_t node = 0; node < 3; node++)
        for (uint32_t call = 9; call <= 10; call++)
            add(trace, (struct activity){ .kind = ACTIVITY_KERNEL,
                                          .name = "k",
                                          .start_ns = 1000000 * call + 100 * node,
                                          .end_ns = 1000000 * call + 100 * node + 60,
                                          .device = 3,
                                          .stream = 1,
                                          .correlation = call,
                                          .graph = 4,
                                          .graph_node = node,
                                          .grid = { 1, 1, 1 },
                                          .block = { 1, 1, 1 } });
    write_made_up(trace, "captured.json", &file, &events);
    assert_int_equal(count_events(&events, "gpu_user_annotation"), 3);
    forward = the_event(&events, "gpu_user_annotation", "forward");
    b = the_event(&events, "gpu_user_annotation", "b");
    assert_int_equal(forward->start_ns, 9000000);
    assert_int_equal(forward->end_ns, 9000260);
    assert_int_equal(b->start_ns, 9000100);
    assert_int_equal(b->end_ns, 9000260);
    assert_int_equal(event_integer(b, "graph launch"), 9);
    assert_true(forward < b); /* viewers take the first as the outer */
    graph_spans_release(&spans);
}

/* Calls that come out of order, as those of several threads do, and of a work whose call is
 * missing. */
TEST(calls_out_of_order_still_join)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;

    for (uint32_t i = 50; i > 0; i--) {
        add_call(trace, "cudaLaunchKernel", i, 1000 * i, 1000 * i + 10);
        add_kernel(trace, "k", i, 1, 0, 1000 * i + 20, 1000 * i + 30);
    }
    write_made_up(trace, "order.json.gz", &file, &events);
    assert_int_equal(count_events(&events, "ac2g"), 100);

    trace = begin_trace(0);
    add_kernel(trace, "orphan", 77, 1, 0, 10, 20);
    OK(kineto_write(trace_folder_path("orphan.json"), trace,
                    &(struct kineto_about){ .name = "orphan", .device = &gpu }));
    trace_close(trace);
    file = kineto_file_read(trace_folder_path("orphan.json"));
    events = trace_events_of(&file);
    assert_int_equal(the_event(&events, "kernel", "orphan")->correlation, 77);
    assert_int_equal(count_events(&events, "ac2g"), 0);
}

/* step { forward { A } backward { B, C on two streams } } */
TEST(annotations_show_where_their_work_ran)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    int backward = 0;

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
}

TEST(other_kinds_keep_their_figures)
{
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *event;

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
}

TEST(a_trace_that_lacks_records_says_so)
{
    struct trace *trace = begin_trace(1); /* one chunk */
    struct kineto_file file;
    struct trace_events events;
    int64_t dropped;

    for (uint32_t i = 0; i < 2000; i++) add_phase(trace, "phase", 10 * i, 10 * i + 5);
    dropped = trace_dropped(trace);
    assert_true(dropped > 0);
    write_made_up(trace, "dropped.json.gz", &file, &events);
    assert_int_equal(cJSON_GetObjectItem(file.root, "droppedRecords")->valuedouble, dropped);
    assert_int_equal(count_events(&events, "user_annotation") + dropped, 2000);
}

TEST(the_head_tells_the_device_and_the_cost)
{
    struct trace *trace = begin_trace(0);
    struct kineto_about about = { .name = "head \"quoted\"",
                                  .settings = "model=light batch=1",
                                  .device = &gpu,
                                  .memory_budget = 1 << 30,
                                  .peak_flops_per_second = 2.5e12,
                                  .steps = 40,
                                  .windows = 3,
                                  .step_time_us = 100,
                                  .traced_step_time_us = 102.5,
                                  .wanted_cores = 3.5,
                                  .cores = 2 };
    struct kineto_file file;
    const cJSON *device, *ours;

    OK(kineto_write(trace_folder_path("head.json.gz"), trace, &about));
    trace_close(trace);
    file = kineto_file_read(trace_folder_path("head.json.gz"));
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
    assert_float_equal(cJSON_GetObjectItem(ours, "peak_flops_per_second")->valuedouble, 2.5e12, 1);
    assert_null(cJSON_GetObjectItem(ours, "copy_bytes_per_second"));
    assert_float_equal(cJSON_GetObjectItem(ours, "tracing_overhead")->valuedouble, 0.025, 1e-9);
    assert_float_equal(cJSON_GetObjectItem(ours, "wanted_cores")->valuedouble, 3.5, 1e-9);
    assert_int_equal(cJSON_GetObjectItem(ours, "cores")->valuedouble, 2);
}

/* As PyTorch's profiler has them since 2.3: an all-gather begins with a rank's part, which is a
 * fourth here. */
TEST(a_rank_says_whose_it_is_and_what_it_communicates)
{
    const struct kineto_about about = { .name = "rank", .device = &gpu, .rank = 1, .ranks = 4 };
    struct trace *trace = begin_trace(0);
    struct kineto_file file;
    struct trace_events events;
    const struct trace_event *kernel;
    const cJSON *run;

    add_call(trace, "cudaLaunchKernelExC", 7, 1000, 2000);
    add(trace, (struct activity){ .kind = ACTIVITY_KERNEL,
                                  .name = "ncclDevKernel_AllGather_RING_LL",
                                  .start_ns = 3000,
                                  .end_ns = 4000,
                                  .device = 3,
                                  .stream = 12,
                                  .correlation = 7,
                                  .grid = { 1, 1, 1 },
                                  .block = { 96, 1, 1 },
                                  .bytes = 4096,
                                  .collective = "_allgather_base",
                                  .dtype = DTYPE_BF16 });
    OK(kineto_write(trace_folder_path("rank.json"), trace, &about));
    trace_close(trace);
    file = kineto_file_read(trace_folder_path("rank.json"));
    events = trace_events_of(&file);
    check_trace(&file, &events);
    run = cJSON_GetObjectItem(file.root, "distributedInfo");
    assert_string_equal(cJSON_GetObjectItem(run, "backend")->valuestring, "nccl");
    assert_int_equal(cJSON_GetObjectItem(run, "rank")->valueint, 1);
    assert_int_equal(cJSON_GetObjectItem(run, "world_size")->valueint, 4);
    kernel = the_event(&events, "kernel", "ncclDevKernel_AllGather_RING_LL");
    assert_string_equal(event_text(kernel, "Collective name"), "_allgather_base");
    assert_int_equal(event_integer(kernel, "In msg nelems"), 512);
    assert_int_equal(event_integer(kernel, "Out msg nelems"), 2048);
    assert_string_equal(event_text(kernel, "dtype"), "BFloat16");
    assert_int_equal(event_integer(kernel, "Group size"), 4);
}

/* --- Failures --- */

TEST(a_disk_that_is_full_leaves_what_was_there)
{
    const struct kineto_about about = { .name = "full", .device = &gpu };
    struct rlimit before, limit;
    struct trace *trace = begin_trace(0);
    struct stat there;
    int files = trace_folder_files();

    OK(kineto_write(trace_folder_path("full.json"), trace, &about));
    assert_int_equal(stat(trace_folder_path("full.json"), &there), 0);
    trace_begin(trace);
    for (uint32_t i = 0; i < 20000; i++) add_phase(trace, "phase", 10 * i, 10 * i + 5);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 500000; /* less than the 20000 events take */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(kineto_write(trace_folder_path("full.json"), trace, &about), STATUS_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(status_last()->text, "full.json: File too large"));
    assert_int_equal(trace_folder_files(), files + 1);
    limit.rlim_cur = (rlim_t)there.st_size;
    assert_int_equal(stat(trace_folder_path("full.json"), &there), 0);
    assert_int_equal(there.st_size, limit.rlim_cur);
    trace_close(trace);
}

TEST(a_folder_that_is_missing_is_an_error_that_names_it)
{
    struct trace *trace = begin_trace(0);
    const struct kineto_about about = { .name = "lost", .device = &gpu };

    assert_int_equal(kineto_write(trace_folder_path("none/x.json.gz"), trace, &about), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "none/x.json.gz: No such file or directory"));
    trace_close(trace);
}

TESTS_WITH(trace_folder_open, trace_folder_remove)
