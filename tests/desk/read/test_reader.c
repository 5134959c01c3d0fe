/* The reader of trace files: every form that profilers write, and what happens to files that are
 * not. */
#include "harness/desk/read/kineto/json_scan.h"
#include "harness/desk/read/reader.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static char path[64]; /* of a file in memory: thousands are written */

/* Three events: an operator, the call in it, its kernel. */
static const char small[] =
    "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, "
    "\"world_size\": 8},\n"
    "\"deviceProperties\": [{\"id\": 0, \"name\": \"H\\u0041\", \"totalGlobalMem\": 85899345920, "
    "\"computeMajor\": 9, \"computeMinor\": 0, \"numSms\": 132, \"warpSize\": 32, "
    "\"maxThreadsPerMultiprocessor\": 2048, \"more\": [1, {\"x\": null}]}],\n"
    "\"baseTimeNanoseconds\": 1751410836000000000,\n"
    "\"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":8,"
    "\"ts\":1000.001,\"dur\":10.5,\"args\":{\"External id\":5,\"Input Dims\":[[2,3],[3,4]]}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":8,"
    "\"ts\":1002,\"dur\":3,\"args\":{\"External id\":5,\"correlation\":77}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a \\\"gemm\\\" {\",\"pid\":0,\"tid\":13,"
    "\"ts\":1010.25,\"dur\":2.125,\"args\":{\"device\":0,\"stream\":13,\"correlation\":77,"
    "\"grid\":[4,2,1],\"block\":[128,1,1],\"registers per thread\":40,\"shared memory\":1024,"
    "\"blocks per SM\":0.5,\"warps per SM\":2.0,\"est. achieved occupancy %\":25}}\n"
    "],\n\"traceName\": \"run \\\\ 1\"}\n";

static void write_plain(const char *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void close_trace(void *trace)
{
    trace_file_close(trace);
}

/* It stays until the test ends. */
static struct trace_file *read_bytes(const char *bytes, size_t length)
{
    struct trace_file *trace = NULL;

    write_plain(bytes, length);
    assert_ok(trace_file_read(&trace, path, NULL));
    test_defer(close_trace, trace);
    return trace;
}

static struct trace_file *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

/* A trace in object form whose array holds `events`. */
static struct trace_file *read_events(const char *events)
{
    char text[8192];

    assert_true(snprintf(text, sizeof text, "{\"traceEvents\": [%s]}", events) < (int)sizeof text);
    return read_text(text);
}

static float occupancy_of(const char *warps, const char *percent)
{
    char event[512];
    struct trace_file *trace;
    float occupancy;

    snprintf(event, sizeof event,
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":"
             "2,\"args\":{\"device\":0,"
             "\"stream\":7,\"warps per SM\":%s,\"est. achieved occupancy %%\":%s}}",
             warps, percent);
    trace = read_events(event);
    occupancy = trace->kernels[trace->events[0].detail].occupancy_percent;
    return occupancy;
}

/* 10.9 warps and 0%: an H200's convolution with 227 KiB of shared memory per block, by
 * PyTorch 2.11. */
TEST(an_occupancy_that_cannot_be_is_unknown)
{
    assert_true(isnan(occupancy_of("10.909091", "0")));
    assert_true(occupancy_of("10.909091", "17") == 17);
    assert_true(occupancy_of("0.03", "0") == 0);
}

static enum status refusal(const char *bytes, size_t length)
{
    struct trace_file *trace = NULL;
    enum status status;

    write_plain(bytes, length);
    status = trace_file_read(&trace, path, NULL);
    assert_int_equal(trace == NULL, status != STATUS_OK);
    trace_file_close(trace);
    return status;
}

/* Compresses; the result lives until the next call. */
static const char *gzip(const char *bytes, size_t length, size_t *size)
{
    static char compressed[1 << 20];
    z_stream stream = { .next_in = (unsigned char *)(uintptr_t)bytes,
                        .avail_in = (uInt)length,
                        .next_out = (unsigned char *)compressed,
                        .avail_out = sizeof compressed };

    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *size = stream.total_out;
    deflateEnd(&stream);
    return compressed;
}

static void check_small(const struct trace_file *trace)
{
    const struct trace_event *op = &trace->events[0], *call = &trace->events[1];
    const struct trace_event *kernel = &trace->events[2];
    const struct event_kernel *launch = &trace->kernels[kernel->detail];

    assert_int_equal(trace->event_count, 3);
    assert_int_equal(trace->bad_count, 0);
    assert_false(trace->partial);
    assert_int_equal(op->kind, EVENT_KIND_OPERATOR);
    assert_int_equal(op->start_ns, 1000001);
    assert_int_equal(op->end_ns, 1010501);
    assert_int_equal(op->external, 5);
    assert_int_equal(call->kind, EVENT_KIND_RUNTIME);
    assert_int_equal(call->correlation, 77);
    assert_int_equal(call->track, op->track);
    assert_int_equal(trace->tracks[call->track].process, 7);
    assert_int_equal(trace->tracks[call->track].thread, 8);
    assert_int_equal(kernel->kind, EVENT_KIND_KERNEL);
    assert_string_equal(trace_file_name(trace, kernel->name), "a \"gemm\" {");
    assert_int_equal(kernel->start_ns, 1010250);
    assert_int_equal(kernel->end_ns, 1012375);
    assert_true(trace->tracks[kernel->track].on_device);
    assert_int_equal(trace->tracks[kernel->track].thread, 13);
    assert_int_equal(launch->grid[0], 4);
    assert_int_equal(launch->block[0], 128);
    assert_int_equal(launch->registers, 40);
    assert_float_equal(launch->blocks_per_sm, 0.5, 0);
    assert_float_equal(launch->occupancy_percent, 25, 0);
}

TEST(a_trace_is_read_whole)
{
    struct trace_file *trace = read_text(small);

    check_small(trace);
    assert_int_equal(trace->rank, 3);
    assert_int_equal(trace->world_size, 8);
    assert_int_equal(trace->base_ns, 1751410836000000000);
    assert_int_equal(trace->device_count, 1);
    assert_string_equal(trace->devices[0].name, "HA");
    assert_int_equal(trace->devices[0].memory_bytes, 85899345920);
    assert_int_equal(trace->devices[0].multiprocessors, 132);
    assert_int_equal(trace->devices[0].memory_budget_bytes, 0);
    assert_int_equal(trace->devices[0].shares_host_cores, -1);
    assert_int_equal(trace->devices[0].bf16_matrix_units, -1); /* the file does not say */
    assert_int_equal(trace->dropped_count, 0);
    assert_true(isnan(trace_file_overhead(trace)));
    assert_string_equal(trace_file_metadata(trace, "schemaVersion"), "1");
    assert_string_equal(trace_file_metadata(trace, "traceName"), "\"run \\\\ 1\"");
    assert_null(trace_file_metadata(trace, "traceEvents"));
}

TEST(gzip_is_told_by_its_bytes_and_members_follow_each_other)
{
    char bytes[1 << 14];
    const char *packed;
    size_t first, second, half = strlen(small) / 2;
    struct trace_file *trace;

    packed = gzip(small, half, &first);
    memcpy(bytes, packed, first);
    packed = gzip(small + half, strlen(small) - half, &second);
    memcpy(bytes + first, packed, second);
    memset(bytes + first + second, 0, 512); /* padding, as on a tape */
    trace = read_bytes(bytes, first + second + 512);
    check_small(trace);
}

TEST(forms_that_profilers_write)
{
    static const struct {
        const char *event;
        enum event_kind kind;
        bool on_device;
        int64_t process, thread;
    } cases[] = {
        { "\"cat\":\"Operator\",\"pid\":5,\"tid\":\"5\"", EVENT_KIND_OPERATOR, false, 5, 5 },
        { "\"cat\":\"Kernel\",\"pid\":0,\"tid\":\"stream 7\"", EVENT_KIND_KERNEL, true, 0, 7 },
        { "\"cat\":\"Memcpy\",\"pid\":\"1\",\"tid\":\"stream 20\"", EVENT_KIND_MEMCPY, true, 1,
          20 },
        { "\"cat\":\"Memset\",\"pid\":2,\"tid\":0,\"args\":{\"stream\":\"0x0\"}", EVENT_KIND_MEMSET,
          true, 2, 0 },
        { "\"cat\":\"kernel\",\"pid\":2,\"tid\":0,\"args\":{\"device\":3,\"stream\":\"0x7F10\"}",
          EVENT_KIND_KERNEL, true, 3, 0x7f10 },
        { "\"cat\":\"Runtime\",\"pid\":5,\"tid\":6", EVENT_KIND_RUNTIME, false, 5, 6 },
        { "\"cat\":\"hip_runtime\",\"pid\":5,\"tid\":6", EVENT_KIND_RUNTIME, false, 5, 6 },
        { "\"cat\":\"hip_driver\",\"pid\":5,\"tid\":6", EVENT_KIND_DRIVER, false, 5, 6 },
        { "\"cat\":\"xpu_runtime\",\"pid\":5,\"tid\":6", EVENT_KIND_RUNTIME, false, 5, 6 },
        { "\"cat\":\"xpu_driver\",\"pid\":5,\"tid\":6", EVENT_KIND_DRIVER, false, 5, 6 },
        { "\"cat\":\"privateuse1_runtime\",\"pid\":5,\"tid\":6", EVENT_KIND_RUNTIME, false, 5, 6 },
        { "\"cat\":\"privateuse1_driver\",\"pid\":5,\"tid\":6", EVENT_KIND_DRIVER, false, 5, 6 },
        { "\"cat\":\"cuda_driver\",\"pid\":5,\"tid\":6", EVENT_KIND_DRIVER, false, 5, 6 },
        { "\"cat\":\"gpu_memcpy\",\"pid\":0,\"tid\":6", EVENT_KIND_MEMCPY, true, 0, 6 },
        { "\"cat\":\"gpu_memset\",\"pid\":0,\"tid\":6", EVENT_KIND_MEMSET, true, 0, 6 },
        { "\"cat\":\"user_annotation\",\"pid\":5,\"tid\":6", EVENT_KIND_ANNOTATION, false, 5, 6 },
        { "\"cat\":\"gpu_user_annotation\",\"pid\":0,\"tid\":6", EVENT_KIND_GPU_ANNOTATION, true, 0,
          6 },
        { "\"cat\":\"cuda_sync\",\"pid\":0,\"tid\":-1,\"args\":{\"stream\":-1}", EVENT_KIND_SYNC,
          true, 0, -1 },
        { "\"cat\":\"overhead\",\"pid\":-1,\"tid\":0", EVENT_KIND_OVERHEAD, false, -1, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[400];
        struct trace_file *trace;
        const struct event_track *track;
        snprintf(text, sizeof text,
                 " [ { %s , \"ts\" : \"12.5\" , \"ph\" : \"X\" , \"dur\" : 1 } ]", cases[i].event);
        trace = read_text(text); /* array form */
        assert_int_equal(trace->event_count, 1);
        assert_false(trace->partial);
        assert_int_equal(trace->events[0].kind, cases[i].kind);
        assert_int_equal(trace->events[0].start_ns, 12500);
        track = &trace->tracks[trace->events[0].track];
        assert_int_equal(track->on_device, cases[i].on_device);
        assert_int_equal(track->process, cases[i].process);
        assert_int_equal(track->thread, cases[i].thread);
        assert_false(trace_event_is_device_work(&trace->events[0]) !=
                     (cases[i].kind == EVENT_KIND_KERNEL || cases[i].kind == EVENT_KIND_MEMCPY ||
                      cases[i].kind == EVENT_KIND_MEMSET));
    }
}

#define WITH_IDS(category, ids)                                                                    \
    "{\"ph\":\"X\",\"cat\":\"" category "\",\"ts\":1,\"dur\":1,\"args\":{" ids "}}"

/* The correlations of a call, its work, and the operator around, in this order. */
TEST(external_ids_join_work_where_there_are_no_correlations)
{
    static const struct {
        const char *events;
        int64_t correlations[3];
    } cases[] = {
        { WITH_IDS("cuda_runtime", "\"External id\":25") "," WITH_IDS(
              "kernel", "\"External id\":25") "," WITH_IDS("cpu_op", "\"External id\":25"),
          { 25, 25, 0 } },
        { WITH_IDS("cuda_runtime", "\"External id\":25") "," WITH_IDS(
              "gpu_memcpy", "\"External id\":25,\"correlation\":7") "," WITH_IDS("cpu_op", ""),
          { 0, 7, 0 } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace_file *trace = read_events(cases[i].events);
        assert_int_equal(trace->event_count, 3);
        for (int j = 0; j < 3; j++)
            assert_int_equal(trace->events[j].correlation, cases[i].correlations[j]);
    }
}

#define HALF(phase, more, tid, us)                                                                 \
    "{\"ph\":\"" phase "\"" more ",\"pid\":1,\"tid\":" #tid ",\"ts\":" #us "}"
#define BEGIN(name, tid, us) HALF("B", ",\"cat\":\"cpu_op\",\"name\":\"" name "\"", tid, us)
#define END(tid, us)         HALF("E", "", tid, us)

/* Intervals as "name start-end" of the events kept, in the file's order. */
TEST(beginnings_and_ends_become_intervals)
{
    static const struct {
        const char *events, *kept;
        int bad;
    } cases[] = {
        { BEGIN("a", 1, 1) "," END(1, 5), "a 1-5", 0 },
        { BEGIN("a", 1, 1) "," BEGIN("b", 1, 2) "," END(1, 3) "," END(1, 4), "a 1-4 b 2-3", 0 },
        { BEGIN("a", 1, 1) "," BEGIN("b", 2, 2) "," END(1, 3) "," END(2, 4), "a 1-3 b 2-4", 0 },
        { END(1, 4) "," BEGIN("b", 1, 2) "," END(1, 3) "," BEGIN("a", 1, 1), "b 2-3 a 1-4", 0 },
        { BEGIN("a", 1, 1) "," END(1, 1) "," BEGIN("b", 1, 1) "," END(1, 1), "a 1-1 b 1-1", 0 },
        { END(1, 1) "," BEGIN("a", 1, 2) "," END(1, 3), "a 2-3", 1 },
        { BEGIN("a", 1, 1) "," BEGIN("b", 1, 2) "," END(1, 3), "b 2-3", 1 },
        { BEGIN("a", 1, 1) "," HALF("B", ",\"cat\":\"python_function\"", 1,
                                    2) "," END(1, 3) "," END(1, 9),
          "a 1-9", 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace_file *trace = read_events(cases[i].events);
        char kept[100] = "";
        size_t length = 0;
        for (int64_t j = 0; j < trace->event_count; j++)
            length +=
                (size_t)snprintf(kept + length, sizeof kept - length, "%s%s %lld-%lld",
                                 j > 0 ? " " : "", trace_file_name(trace, trace->events[j].name),
                                 (long long)trace->events[j].start_ns / 1000,
                                 (long long)trace->events[j].end_ns / 1000);
        assert_string_equal(kept, cases[i].kept);
        assert_int_equal(trace->bad_count, cases[i].bad);
    }
}

TEST(device_work_told_in_halves_lies_on_its_stream)
{
    struct trace_file *trace =
        read_events("{\"ph\":\"B\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":3,\"ts\":1,"
                    "\"args\":{\"device\":2,\"stream\":7,\"correlation\":5,\"grid\":[2,1,1],"
                    "\"block\":[32,1,1]}},"
                    "{\"ph\":\"E\",\"pid\":0,\"tid\":3,\"ts\":4}");

    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->track_count, 1);
    assert_int_equal(trace->tracks[0].process, 2);
    assert_int_equal(trace->tracks[0].thread, 7);
    assert_int_equal(trace->events[0].end_ns, 4000);
    assert_int_equal(trace->events[0].correlation, 5);
    assert_int_equal(trace->kernels[trace->events[0].detail].grid[0], 2);
}

TEST(arguments_that_are_no_numbers_are_lost_and_no_more)
{
    static const char *const words[] = { "NaN",      "-NaN",      "nan", "-nan",
                                         "Infinity", "-Infinity", "inf", "-inf" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        char event[500];
        struct trace_file *trace;
        snprintf(event, sizeof event,
                 "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"a \\\"NaN,\",\"pid\":0,"
                 "\"tid\":7,\"ts\":1,\"dur\":2,\"args\":{\"memory bandwidth (GB/s)\": %s,"
                 "\"list\":[%s , 1],\"bytes\":64}}",
                 words[i], words[i]);
        trace = read_events(event);
        if (trace->event_count != 1)
            fail_msg("%s: %s", event, trace->bad_reason);
        assert_string_equal(trace_file_name(trace, trace->events[0].name), "a \"NaN,");
        assert_int_equal(trace->events[0].bytes, 64);
    }
}

TEST(an_instant_has_no_duration)
{
    struct trace_file *trace =
        read_events("{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":3,\"dur\":-1},"
                    "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":4,\"dur\":1}");

    assert_int_equal(trace->event_count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace->events[i].end_ns, trace->events[i].start_ns);
}

/* PyTorch's profiler before Kineto: no category, and a word for the process. */
TEST(the_autograd_profiler_tells_operators_by_their_process)
{
    struct trace_file *trace = read_text(
        "[{\"name\": \"aten::randn\", \"ph\": \"X\", \"ts\": 66, \"dur\": 30, \"tid\": 1, "
        "\"pid\": \"CPU functions\", \"args\": {}}, "
        "{\"name\": \"k\", \"ph\": \"s\", \"ts\": 70, \"tid\": 1, \"pid\": \"CPU functions\", "
        "\"id\": 1, \"cat\": \"cpu_to_cuda\", \"args\": {}}]");

    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->other_count, 1);
    assert_int_equal(trace->bad_count, 0);
    assert_int_equal(trace->events[0].kind, EVENT_KIND_OPERATOR);
}

TEST(memory_and_steps_keep_their_numbers)
{
    struct trace_file *trace = read_events(
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":5,\"tid\":5,\"ts\":1,"
        "\"args\":{\"Device Type\":1,\"Device Id\":0,\"Bytes\":-512,\"Addr\":140000000000000,"
        "\"Total Allocated\":4096,\"Total Reserved\":8192,\"Category\":\"activations\","
        "\"Category Allocated\":1024}},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":5,\"tid\":5,"
        "\"ts\":0,\"dur\":9,\"args\":{\"samples\":8,\"tokens\":100,\"padded tokens\":28,"
        "\"flops\":123456789012}}");
    const struct event_block *block = &trace->blocks[0];

    assert_int_equal(trace->event_count, 2);
    assert_int_equal(trace->events[0].bytes, -512);
    assert_true(block->on_device);
    assert_int_equal(block->allocated, 4096);
    assert_int_equal(block->reserved, 8192);
    assert_int_equal(block->category_allocated, 1024);
    assert_string_equal(trace_file_name(trace, block->category), "activations");
    assert_int_equal(trace->steps[trace->events[1].detail].padded_tokens, 28);
    assert_int_equal(trace->steps[trace->events[1].detail].flops, 123456789012);
}

/* The larger of what goes in and what comes out. A type that nobody knows has no size. */
TEST(kernels_keep_the_messages_that_they_send)
{
    static const struct {
        const char *arguments;
        int64_t bytes;
    } cases[] = {
        { "\"In msg nelems\":1024,\"Out msg nelems\":1024,\"dtype\":\"Float\"", 4096 },
        { "\"In msg nelems\":128,\"Out msg nelems\":1024,\"dtype\":\"BFloat16\"", 2048 },
        { "\"dtype\":\"Float8_e4m3fn\",\"In msg nelems\":8", 8 },
        { "\"dtype\":\"Long\",\"Out msg nelems\":0", 0 },
        { "\"In msg nelems\":1024,\"dtype\":\"Floaty\"", -1 },
        { "\"In msg nelems\":1024", -1 },
        { "\"In msg nelems\":-1,\"dtype\":\"Float\"", -1 },
        { "\"In msg nelems\":9223372036854775807,\"dtype\":\"Half\"", -1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[300];
        struct trace_file *trace;
        snprintf(
            text, sizeof text,
            WITH_IDS("kernel", "\"Collective name\":\"allreduce\",%s") "," WITH_IDS("cpu_op", "%s"),
            cases[i].arguments, cases[i].arguments);
        trace = read_events(text);
        assert_int_equal(trace->events[0].bytes, cases[i].bytes);
        assert_string_equal(trace_file_name(trace, trace->kernels[0].collective), "allreduce");
        assert_int_equal(trace->events[1].bytes, -1);
    }
}

TEST(operators_keep_the_work_that_they_state)
{
    struct trace_file *trace =
        read_events(WITH_IDS("cpu_op", "\"flops\":4096") "," WITH_IDS("cpu_op", "") "," WITH_IDS(
            "cpu_op", "\"flops\":0") "," WITH_IDS("cpu_op", "\"flops\":81920"));

    assert_int_equal(trace->operator_count, 2);
    assert_int_equal(trace->operators[trace->events[0].detail].flops, 4096);
    assert_int_equal(trace->events[1].detail, NO_DETAIL);
    assert_int_equal(trace->events[2].detail, NO_DETAIL);
    assert_int_equal(trace->operators[trace->events[3].detail].flops, 81920);
}

#define SPACED  "\"Input Dims\":[[8, 32],\n [], [[4],[2, 2]]],\"Sequence number\":7"
#define DENSE   "\"Input Dims\":[[8,32],[],[[4],[2,2]]],\"Sequence number\":7,\"Fwd thread id\":3"
#define OF_TEXT "\"Input Dims\":[\"8\"]"

TEST(operators_keep_dimensions_and_sequence_numbers)
{
    struct trace_file *trace = read_events(
        WITH_IDS("cpu_op", SPACED) "," WITH_IDS("cpu_op", DENSE) "," WITH_IDS("cpu_op", OF_TEXT));
    const struct event_operator *forward = &trace->operators[trace->events[0].detail],
                                *backward = &trace->operators[trace->events[1].detail];

    assert_string_equal(trace_file_name(trace, forward->dims), "[[8,32],[],[[4],[2,2]]]");
    assert_int_equal(forward->dims, backward->dims);
    assert_int_equal(forward->sequence, 7);
    assert_int_equal(forward->forward_thread, 0);
    assert_int_equal(backward->forward_thread, 3);
    assert_int_equal(trace->events[2].detail, NO_DETAIL);
}

TEST(python_calls_are_rows_of_their_own)
{
    struct trace_file *trace = read_events(
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(12): log_loss\","
        "\"pid\":7,\"tid\":8,\"ts\":5,\"dur\":10,\"args\":{\"CallFrom\":\"train.py:34\","
        "\"Python parent id\":null,\"Python id\":1}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::item\",\"pid\":7,\"tid\":8,"
        "\"ts\":6,\"dur\":2,\"args\":{\"Call stack\":\"a.py(1): f\"}},"
        "{\"ph\":\"X\",\"cat\":\"python_function\","
        "\"name\":\"<built-in method item of Tensor object at 0x7f12ab>\","
        "\"pid\":7,\"tid\":8,\"ts\":6,\"dur\":3,\"args\":{\"Python id\":2}}");
    const struct event_frame *frames = trace->frames;

    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->other_count, 2);
    assert_int_equal(trace->frame_count, 2);
    assert_string_equal(trace_file_name(trace, frames[0].name), "train.py(12): log_loss");
    assert_string_equal(trace_file_name(trace, frames[0].from), "train.py:34");
    assert_int_equal(frames[0].start_ns, 5000);
    assert_int_equal(frames[0].end_ns, 15000);
    assert_int_equal(frames[0].track, trace->events[0].track);
    assert_string_equal(trace_file_name(trace, frames[1].name),
                        "<built-in method item of Tensor object>");
    assert_int_equal(frames[1].from, 0);
    assert_false(frames[0].is_stack || frames[1].is_stack);
}

TEST(stacks_of_operators_stand_in_for_calls)
{
    struct trace_file *trace =
        read_events("{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::item\",\"pid\":7,"
                    "\"tid\":8,\"ts\":6,\"dur\":2,\"args\":{\"Call stack\":"
                    "\"lib/torch/x.py(3): step;train.py(5): <module>\"}},"
                    "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":7,"
                    "\"tid\":8,\"ts\":9,\"dur\":2,\"args\":{}}");

    assert_int_equal(trace->event_count, 2);
    assert_int_equal(trace->frame_count, 1);
    assert_true(trace->frames[0].is_stack);
    assert_string_equal(trace_file_name(trace, trace->frames[0].name),
                        "lib/torch/x.py(3): step;train.py(5): <module>");
    assert_int_equal(trace->frames[0].start_ns, 6000);
}

TEST(times_are_exact_to_the_nanosecond)
{
    static const struct {
        const char *us;
        bool valid;
        int64_t ns;
    } cases[] = {
        { "0", true, 0 },
        { "-0.001", true, -1 },
        { "1623212388426602", true, 1623212388426602000 },
        { "1623212388426602.001", true, 1623212388426602001 }, /* a double has 250 ns here */
        { "1419247332972.313", true, 1419247332972313 },
        { "1.0005", true, 1001 },
        { "1.00049999999999999999999999", true, 1000 },
        { "1.5e3", true, 1500000 },
        { "15E-1", true, 1500 },
        { "0.0000000000000000000000001", true, 0 },
        { "1623212388426602.0005000000000000", true, 1623212388426602001 },
        { "4611686018427387.904", true, INT64_C(1) << 62 },
        { "4611686018427387.905", false, 0 },
        { "1e400", false, 0 },
        { "0e999999999999", true, 0 },
        { "123456789012345678901234567890", false, 0 },
        { "NaN", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "1.", false, 0 },
        { ".5", false, 0 },
        { "01", false, 0 },
        { "1e", false, 0 },
        { "1 ", false, 0 },
        { "0x10", false, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ns = 0;
        if (decimal_us_to_ns(cases[i].us, strlen(cases[i].us), &ns) != cases[i].valid)
            fail_msg("%s: %s", cases[i].us, cases[i].valid ? "refused" : "accepted");
        if (ns != cases[i].ns)
            fail_msg("%s us is %lld ns, not %lld", cases[i].us, (long long)cases[i].ns,
                     (long long)ns);
    }
}

TEST(whole_numbers_are_exact)
{
    int64_t value;

    assert_true(decimal_integer("9223372036854775807", 19, &value));
    assert_int_equal(value, INT64_MAX);
    assert_false(decimal_integer("9223372036854775808", 19, &value));
    assert_true(decimal_integer("1.20e1", 6, &value));
    assert_int_equal(value, 12);
    assert_false(decimal_integer("1.5", 3, &value));
    assert_false(decimal_integer("12345678901234567890.5", 22, &value));
}

#define GOOD                                                                                       \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"good\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}"

TEST(a_bad_event_costs_itself_only)
{
    static const char *const bad[] = {
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":NaN,\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":Infinity}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1e300,\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":-1}",
        "{\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":[1],\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":{\"x\":[1,]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":{\"x\":nul}}",
        "{\"ph\":\"X\" \"cat\":\"cpu_op\",\"ts\":1,\"dur\":1}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":{\"x\":[1}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":{\"x\":1]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":{\"x\":1}", /* never closed */
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"name\":\"two\nlines\"}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"name\":\"\xff\xfe\"}",
        "{}",
        "17",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char events[1024];
        struct trace_file *trace;
        snprintf(events, sizeof events, GOOD ",\n%s,\n" GOOD ",\n" GOOD, bad[i]);
        trace = read_events(events);
        if (trace->event_count != 3 || trace->bad_count != 1)
            fail_msg("%s: %lld good, %lld bad", bad[i], (long long)trace->event_count,
                     (long long)trace->bad_count);
        assert_false(trace->partial);
        assert_true(trace->bad_reason[0] != '\0');
        assert_true(trace->bad_offset > (int64_t)strlen(GOOD));
    }
}

TEST(odd_but_valid_events_are_kept)
{
    static const struct {
        const char *event, *name;
        int64_t start_ns;
    } cases[] = {
        { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"ts\":2,\"name\":\"b\","
          "\"dur\":1}",
          "b", 2000 }, /* the last one counts */
        { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\\u00e9\\n\\ud83d\\ude00\",\"ts\":1,\"dur\":"
          "0}",
          "\xc3\xa9\n\xf0\x9f\x98\x80", 1000 },
        { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ts\":1,\"dur\":1,\"args\":null}", "", 1000 },
        { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"]}{[\",\"ts\":-5,\"dur\":1,\"args\":[1,2]}",
          "]}{[", -5000 },
        { "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":"
          "{\"correlation\":\"?\",\"bytes\":1.5,\"grid\":[1],\"stream\":{\"a\":1}}}",
          "x", 1000 },
        { "{\"name\":\"end\\\\\",\"cat\":\"cpu_op\",\"ph\":\"X\",\"ts\":1,\"dur\":1}", "end\\",
          1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace_file *trace = read_events(cases[i].event);
        if (trace->event_count != 1)
            fail_msg("%s: %s", cases[i].event, trace->bad_reason);
        assert_string_equal(trace_file_name(trace, trace->events[0].name), cases[i].name);
        assert_int_equal(trace->events[0].start_ns, cases[i].start_ns);
    }
}

/* One of 1970 would make a trace of 2023 last for 53 years. */
TEST(an_event_of_another_day_is_left_out)
{
    static const char near_by[] =
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
        "\"ts\":1694128201000001,\"dur\":5},";
    static const struct {
        const char *start;
        int strays;
    } starts[] = { { "12.5", 1 }, { "1694214601000002", 1 }, { "1694214600000000", 0 } };

    for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
        char events[1024];
        struct trace_file *trace;
        snprintf(
            events, sizeof events,
            "%s%s%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"far\",\"pid\":0,\"tid\":7,\"ts\":%s,"
            "\"dur\":5}",
            near_by, near_by, near_by, starts[i].start);
        trace = read_events(events);
        assert_int_equal(trace->stray_count, starts[i].strays);
        assert_int_equal(trace->event_count, 4 - starts[i].strays);
        assert_int_equal(trace->bad_count, 0);
    }
}

TEST(nesting_and_length_of_an_event_are_bounded)
{
    size_t length = 20u << 20;
    char *text = malloc(length + 256), *at;
    struct trace_file *trace;

    assert_non_null(text);
    /* A million brackets, then a string beyond the limit. */
    at = text + sprintf(text, "{\"traceEvents\":[{\"args\":");
    memset(at, '[', 1000000);
    memset(at + 1000000, ']', 1000000);
    at += 2000000;
    at += sprintf(at, "},{\"name\":\"");
    memset(at, 'x', 17u << 20);
    at += 17u << 20;
    at += sprintf(at, "\"}," GOOD "]}");
    trace = read_bytes(text, (size_t)(at - text));
    assert_int_equal(trace->event_count, 1);
    assert_int_equal(trace->bad_count, 2);
    assert_false(trace->partial);
    free(text);
}

TEST(events_beyond_the_limit_make_the_trace_partial)
{
    struct trace_file *trace = NULL;
    struct trace_file_limits limits = { .events = 2 };

    write_plain(small, strlen(small));
    assert_ok(trace_file_read(&trace, path, &limits));
    assert_int_equal(trace->event_count, 2);
    assert_true(trace->partial);
    assert_non_null(strstr(trace->partial_reason, "first 2 events"));
    trace_file_close(trace);
}

/* Cut at any byte, a trace has the events that are whole, or is refused before its events begin. */
TEST(a_trace_cut_at_any_byte_gives_what_was_whole)
{
    size_t length = strlen(small);
    size_t begin = (size_t)(strstr(small, "\"traceEvents\": [") - small) + 16;
    size_t end = (size_t)(strrchr(small, '}') - small);

    for (size_t cut = 0; cut < length; cut++) {
        int64_t whole = 0;
        struct trace_file *trace;
        if (cut < begin) {
            assert_int_equal(refusal(small, cut), STATUS_BAD_INPUT);
            assert_non_null(strstr(status_last()->text, path));
            continue;
        }
        for (const char *at = small + begin; (at = strstr(at, "}},\n{")) != NULL; at++)
            whole += (size_t)(at + 2 - small) <= cut;
        whole += (size_t)(strstr(small, "}}\n]") + 2 - small) <= cut;
        trace = read_bytes(small, cut);
        assert_int_equal(trace->event_count, whole);
        assert_int_equal(trace->bad_count, 0);
        assert_int_equal(trace->partial, cut <= end);
        assert_int_equal(trace->partial, trace->partial_reason[0] != '\0');
        test_release();
    }
}

TEST(gzip_cut_or_damaged_anywhere_is_partial_or_refused)
{
    const char *packed;
    size_t size;
    char bytes[4096];
    int partial = 0;

    packed = gzip(small, strlen(small), &size);
    memcpy(bytes, packed, size);
    for (size_t cut = 2; cut < size; cut++) {
        struct trace_file *trace = NULL;
        write_plain(bytes, cut);
        if (trace_file_read(&trace, path, NULL) == STATUS_OK) {
            assert_true(trace->partial);
            assert_non_null(strstr(trace->partial_reason, "compressed"));
            partial++;
        } else {
            assert_int_equal(status_last()->status, STATUS_BAD_INPUT);
        }
        trace_file_close(trace);
    }
    assert_true(partial > 0);
    /* One bit after the other turned: never a crash, and never a whole trace that differs
     * unnoticed. */
    for (size_t bit = 16; bit < 8 * size; bit++) {
        struct trace_file *trace = NULL;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        write_plain(bytes, size);
        if (trace_file_read(&trace, path, NULL) == STATUS_OK && !trace->partial)
            check_small(trace); /* in gzip's own header: time, system and the like */
        trace_file_close(trace);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
}

/* Whatever byte stands anywhere, reading ends, and says something. */
TEST(any_byte_changed_is_survived)
{
    static const char changes[] = "\"\\{}[],:\n0x\xff";
    size_t length = strlen(small);
    char text[sizeof small];

    for (size_t at = 0; at < length; at++)
        for (size_t i = 0; i < sizeof changes; i++) { /* the terminating zero too */
            memcpy(text, small, sizeof small);
            text[at] = changes[i];
            refusal(text, length);
        }
}

TEST(what_is_no_trace_is_refused_in_one_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "", "no text" },
        { " \n\t", "no text" },
        { "hello", "byte 0 is \"h\"" },
        { "\n <html>", "byte 2 is \"<\"" },
        { "{}", "without \"traceEvents\"" },
        { "{\"a\": {\"traceEvents\": []}}", "without \"traceEvents\"" },
        { "{\"traceEvents\": 3}", "without \"traceEvents\"" },
        { "[1, 2, 3]", "nothing in it is an event" },
        { "[{\"a\": 1}]", "it has no ph" },
        { "\x7f"
          "ELF\x02",
          "byte 0 is 0x7f" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(refusal(cases[i].text, strlen(cases[i].text)), STATUS_BAD_INPUT);
        if (strstr(status_last()->text, cases[i].says) == NULL)
            fail_msg("%s", status_last()->text);
        assert_null(strchr(status_last()->text, '\n'));
    }
}

TEST(a_trace_without_events_is_a_trace)
{
    static const char *const texts[] = { "[]", "{\"traceEvents\":[]}",
                                         "\xef\xbb\xbf{\"traceEvents\" : [ ] , \"x\":1}" };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct trace_file *trace = read_text(texts[i]);
        assert_int_equal(trace->event_count, 0);
        assert_false(trace->partial);
    }
}

TEST(a_missing_file_and_a_folder_are_named)
{
    struct trace_file *trace;

    assert_int_equal(trace_file_read(&trace, "/nowhere/x.json", NULL), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "/nowhere/x.json"));
    assert_int_equal(trace_file_read(&trace, "/tmp", NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "/tmp is a folder"));
}

/* Enough events that the borders of windows cut them at all kinds of places. */
TEST(events_across_windows_are_whole)
{
    enum { EVENTS = 30000 };
    char *text = malloc(EVENTS * 128 + 64), *at = text;
    struct trace_file *trace;

    assert_non_null(text);
    at += sprintf(at, "[");
    for (int i = 0; i < EVENTS; i++)
        at += sprintf(at,
                      "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\\\"%.*s\",\"pid\":0,"
                      "\"tid\":%d,\"ts\":%d.%03d,\"dur\":1}",
                      i == 0 ? "" : ",", i % 37, "0123456789012345678901234567890123456", i % 5, i,
                      i % 1000);
    at += sprintf(at, "]");
    trace = read_bytes(text, (size_t)(at - text));
    assert_int_equal(trace->event_count, EVENTS);
    assert_int_equal(trace->bad_count, 0);
    assert_int_equal(trace->track_count, 5);
    for (int i = 0; i < EVENTS; i++) {
        assert_int_equal(trace->events[i].start_ns, 1000LL * i + i % 1000);
        assert_int_equal(strlen(trace_file_name(trace, trace->events[i].name)), 2 + i % 37);
    }
    free(text);
}

/* --- Two threads --- */

/* A writer of traces may do this, which the second of two readers cannot know; each is rare in a
 * trace. */
enum oddity { NOTHING_ODD, ODD_BRACES, ODD_TEXT, ODD_TRACK, ODD_CATEGORY, ODD_CALLS, ODDITIES };

static int put_odd(char *at, enum oddity oddity, int i)
{
    static const char *const events[ODDITIES] = {
        [ODD_BRACES] =
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"odd\",\"pid\":1,\"tid\":1,\"ts\":%d,"
            "\"dur\":1,\"args\":{\"list\":[{\"a\":1}, {\"b\":2}, {\"ph\":\"X\"}]}}",
        [ODD_TEXT] =
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"}, {\",\"pid\":1,\"tid\":1,\"ts\":%d,"
            "\"dur\":1}",
        [ODD_TRACK] =
            ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"odd\",\"pid\":\"Spans\",\"tid\":1,"
            "\"ts\":%d,\"dur\":1}",
        [ODD_CATEGORY] =
            ",{\"ph\":\"X\",\"cat\":\"mtia_runtime\",\"name\":\"odd\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":1}",
        [ODD_CALLS] =
            ",{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a.py(1): f\",\"pid\":1,"
            "\"tid\":1,\"ts\":%d,\"dur\":1}",
    };

    return oddity != NOTHING_ODD ? sprintf(at, events[oddity], i) : 0;
}

/* An operator with a stack, its call, kernel and block, and a half of an interval that ends much
 * later. */
static int put_step(char *at, int i)
{
    return sprintf(
        at,
        ",\n "
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op_%d\",\"pid\":1,\"tid\":%d,\"ts\":%d,"
        "\"dur\":1,\"args\":{\"Input Dims\":[[%d, 2]],\"Call stack\":\"a.py(%d): f\"}},\n "
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k_%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":"
        "1,"
        "\"args\":{\"stream\":%d,\"Group size\":%d,\"Collective name\":\"c%d\"}}, "
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,\"args\":{\"Bytes\":%d,"
        "\"Category\":\"m%d\"}},{\"ph\":\"%s\",\"cat\":\"cpu_op\",\"name\":\"half\",\"pid\":1,"
        "\"tid\":3,\"ts\":%d}%s",
        i % 501, i % 3, i, i % 77, i % 91, i % 303, i, i % 4, i, i % 13, i, i, i % 17,
        i % 2000 < 1000 ? "B" : "E", i, i % 1009 == 0 ? ",{\"ph\":\"X\",\"cat\":\"kernel\"}" : "");
}

static char *odd_trace(enum oddity oddity, int first)
{
    enum { STEPS = 6000 };
    char *text = malloc(STEPS * 1200), *at = text;

    assert_non_null(text);
    at += sprintf(at, "{\"traceEvents\": [{\"ph\":\"M\",\"name\":\"x\"}");
    for (int i = 1; i < STEPS; i++) {
        at += put_step(at, i);
        if (i >= first && i % 7 == 0)
            at += put_odd(at, oddity, i);
    }
    sprintf(at, "], \"distributedInfo\": {\"rank\": 1, \"world_size\": 2}}");
    return text;
}

static struct trace_file *read_on(const cpu_set_t *cores, const char *bytes, size_t length)
{
    struct trace_file *trace;
    cpu_set_t before;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(sched_setaffinity(0, sizeof *cores, cores), 0);
    trace = read_bytes(bytes, length);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    return trace;
}

#define CHECK_TABLE(table, members)                                                                \
    do {                                                                                           \
        assert_int_equal(a->table##_count, b->table##_count);                                      \
        for (int64_t i = 0; i < a->table##_count; i++)                                             \
            assert_memory_equal(&a->table##s[i], &b->table##s[i], members);                        \
    } while (0)

static void check_same(const struct trace_file *a, const struct trace_file *b)
{
    assert_int_equal(trace_file_name_count(a), trace_file_name_count(b));
    for (uint32_t i = 0; i < trace_file_name_count(a); i++)
        assert_string_equal(trace_file_name(a, i), trace_file_name(b, i));
    assert_int_equal(a->track_count, b->track_count);
    for (int64_t i = 0; i < a->track_count; i++) {
        assert_int_equal(a->tracks[i].process, b->tracks[i].process);
        assert_int_equal(a->tracks[i].thread, b->tracks[i].thread);
    }
    CHECK_TABLE(event, sizeof *a->events);
    CHECK_TABLE(operator, sizeof * a->operators);
    CHECK_TABLE(kernel, offsetof(struct event_kernel, blocks_per_sm));
    CHECK_TABLE(frame, offsetof(struct event_frame, is_stack));
    assert_int_equal(a->block_count, b->block_count);
    for (int64_t i = 0; i < a->block_count; i++)
        assert_int_equal(a->blocks[i].category, b->blocks[i].category);
    for (int64_t i = 0; i < a->kernel_count; i++) {
        assert_int_equal(a->kernels[i].collective, b->kernels[i].collective);
        assert_int_equal(a->kernels[i].group_size, b->kernels[i].group_size);
    }
    assert_int_equal(a->other_count, b->other_count);
    assert_int_equal(a->name_count, b->name_count);
    assert_int_equal(a->bad_count, b->bad_count);
    assert_int_equal(a->bad_offset, b->bad_offset);
    assert_string_equal(a->bad_reason, b->bad_reason);
    assert_int_equal(a->partial, b->partial);
    assert_int_equal(a->rank, b->rank);
    assert_true(a->unread_device == b->unread_device);
}

static void check_two_threads(const char *bytes, size_t length, const struct trace_file *one)
{
    cpu_set_t all;
    struct trace_file *trace;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    trace = read_on(&all, bytes, length);
    check_same(one, trace);
}

/* One core has one reader. Two read a plain file themselves, or what another thread inflates. The
 * oddity stands in all windows, in the later ones, and in none. */
TEST(two_threads_read_what_one_does)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    for (int oddity = 0; oddity < ODDITIES; oddity++)
        for (int first = 0; first <= 3000; first += 3000) {
            char *text = odd_trace((enum oddity)oddity, first);
            struct trace_file *trace = read_on(&one, text, strlen(text));
            const char *packed;
            size_t size;
            assert_true(trace->event_count > 20000 && trace->bad_count > 0 && trace->rank == 1);
            check_two_threads(text, strlen(text), trace);
            packed = gzip(text, strlen(text), &size);
            check_two_threads(packed, size, trace);
            free(text);
        }
}

static int memory_file = -1;

static int make_path(void **state)
{
    memory_file = memfd_create("trace", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file);
    return memory_file >= 0 ? 0 : -1;
}

static int remove_path(void **state)
{
    return close(memory_file);
}

TESTS_WITH(make_path, remove_path)
