/* How fast a trace is read, and read and judged, in how much memory, and whether both grow as the
 * trace does.
 *
 * usage: bench_reader [MEGABYTES [FOLDER]]      (1000; /tmp)
 *
 * A trace of that size is generated as PyTorch's profiler writes them, and one of a quarter and of
 * half the size, and one of half the size with the calls of Python's functions; each is read three
 * times in a process of its own, and diagnosed three times in another. The rate is of text over the
 * processor's time, best of the three. Memory is what the process had at most, less what it had
 * before, over the rows that the reader keeps: exit code 1 when of the whole trace, or of that with
 * calls, that is beyond 1.5. */
#include "harness/base/clock.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/read/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 3, KERNELS_PER_STEP = 400, CALLS_PER_KERNEL = 6 };

#define MEMORY_MAX 1.5

/* --- The trace --- */

static int put_operator(FILE *file, long i, double us)
{
    return fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_%ld\", "
        "\"pid\": 4711, \"tid\": 4711,\n    \"ts\": %.3f, \"dur\": 9.250,\n    \"args\": "
        "{\n      \"External id\": %ld,\"Record function id\": 0, \"Concrete Inputs\": "
        "[\"\", \"\"], \"Input type\": [\"float\", \"float\"], \"Input Strides\": [[768, "
        "1], [768, 1]], \"Input Dims\": [[256, 768], [768, 768]], \"Ev Idx\": %ld\n    "
        "}\n  }",
        i % 97, us, i, i);
}

static int put_call(FILE *file, long i, double us)
{
    return fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
        "\"cudaLaunchKernel\", \"pid\": 4711, \"tid\": 4711,\n    \"ts\": %.3f, \"dur\": "
        "4.125,\n    \"args\": {\n      \"External id\": %ld, \"cbid\": 211, "
        "\"correlation\": %ld\n    }\n  },\n  {\n    \"ph\": \"s\", \"id\": %ld, \"pid\": "
        "4711, \"tid\": 4711, \"ts\": %.3f,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }",
        us, i, i, i, us);
}

static int put_kernel(FILE *file, long i, double us)
{
    return fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "at::native::vectorized_elementwise_kernel<4, at::native::functor_%ld<float>, "
        "std::array<char*, 3ul> >(int, at::native::functor_%ld<float>, std::array<char*, 3ul>)\", "
        "\"pid\": 0, \"tid\": 7,\n    \"ts\": %.3f, \"dur\": 3.500,\n    \"args\": {\n      "
        "\"External id\": %ld,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      "
        "\"stream\": 7, \"correlation\": %ld,\n      \"registers per thread\": 32,\n      \"shared "
        "memory\": 0,\n      \"blocks per SM\": 2.909091,\n      \"warps per SM\": 11.636364,\n    "
        "  "
        "\"grid\": [384, 1, 1],\n      \"block\": [128, 1, 1],\n      \"est. achieved occupancy "
        "%%\": 18\n    }\n  },\n  {\n    \"ph\": \"f\", \"id\": %ld, \"pid\": 0, \"tid\": 7, "
        "\"ts\": "
        "%.3f,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }",
        i % 61, i % 61, us, i, i, i, us);
}

static int put_memory(FILE *file, long i, double us)
{
    return fprintf(file,
                   ",\n  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", "
                   "\"name\": \"[memory]\", \"pid\": 4711, \"tid\": 4711,\n    \"ts\": %.3f,\n    "
                   "\"args\": {\n      \"Total Reserved\": 1073741824, \"Total Allocated\": %ld, "
                   "\"Bytes\": %ld, \"Device Id\": 0, \"Device Type\": 1, \"Addr\": "
                   "140186421821440, \"Ev Idx\": %ld\n    }\n  }",
                   us, 536870912 + (i % 2) * 786432, i % 2 ? 786432L : -786432L, i);
}

/* One of the calls around an operator, `depth` deep: six in ten of a trace's rows,
 * with_stack=True. */
static int put_python(FILE *file, long i, int depth, double us)
{
    return fprintf(
        file,
        ",\n  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": "
        "\"model/layer_%ld.py(%ld): forward_%d\", \"pid\": 4711, \"tid\": 4711,\n    \"ts\": "
        "%.3f, \"dur\": %.3f,\n    \"args\": {\n      \"Python parent id\": %ld, \"Python id\": "
        "%ld, \"Ev Idx\": %ld\n    }\n  }",
        i % 48, i % 97, depth, us + depth * 0.1, 15 - depth * 0.2, i * 8 + depth, i * 8 + depth + 1,
        i * 8 + depth);
}

static int put_step(FILE *file, long number, double us, double length_us)
{
    return fprintf(
        file,
        "%s\n  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
        "\"ProfilerStep#%ld\", \"pid\": 4711, \"tid\": 4711,\n    \"ts\": %.3f, \"dur\": "
        "%.3f,\n    \"args\": {\n      \"External id\": 0\n    }\n  }",
        number == 0 ? "" : ",", number, us, length_us);
}

static bool generate(const char *path, int64_t bytes, bool calls)
{
    FILE *file = fopen(path, "w");
    int64_t written = 0;
    double us = 1e12;

    if (file == NULL)
        return false;
    written +=
        fprintf(file, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\"id\": 0, "
                      "\"name\": \"GPU\", \"totalGlobalMem\": 85899345920, \"numSms\": 132}\n  "
                      "],\n  \"traceEvents\": [");
    for (long step = 0, i = 0; written < bytes; step++) {
        written += put_step(file, step, us, 20.0 * KERNELS_PER_STEP);
        for (int kernel = 0; kernel < KERNELS_PER_STEP; kernel++, i++, us += 20) {
            for (int depth = 0; calls && depth < CALLS_PER_KERNEL; depth++)
                written += put_python(file, i, depth, us);
            written += put_operator(file, i, us);
            written += put_call(file, i, us + 2);
            written += put_kernel(file, i, us + 8);
            written += put_memory(file, i, us + 1);
        }
    }
    fprintf(file, "\n  ],\n  \"traceName\": \"bench\"\n}\n");
    return fclose(file) == 0;
}

/* --- Reading it --- */

struct figures {
    int64_t text_bytes, events, kept_bytes, grown_bytes;
    double best_s, worst_s;
};

static int64_t kept_bytes(const struct trace_file *trace)
{
    return trace->event_count * (int64_t)sizeof *trace->events +
           trace->kernel_count * (int64_t)sizeof *trace->kernels +
           trace->block_count * (int64_t)sizeof *trace->blocks +
           trace->frame_count * (int64_t)sizeof *trace->frames +
           trace->operator_count * (int64_t)sizeof *trace->operators +
           trace->step_count * (int64_t)sizeof *trace->steps;
}

/* A figure of /proc/self/status, in bytes. */
static int64_t memory_figure(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long long kilobytes = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtoll(line + strlen(name), NULL, 10);
    if (file != NULL)
        fclose(file);
    return 1024 * (int64_t)kilobytes;
}

static void judge_within(struct arena *arena, void *context)
{
    struct summary summary = summary_of(arena, context);
    struct facts facts = facts_of(&summary, 1, 0);

    findings_of(&facts);
}

static enum status judge(struct trace_file *trace)
{
    struct arena *arena = arena_open();
    enum status status = arena_run(arena, judge_within, trace);

    arena_close(arena);
    return status;
}

static void read_once(struct figures *figures, const char *path, bool and_judge)
{
    int64_t before = memory_figure("VmRSS:");
    struct trace_file *trace = NULL;
    int64_t begin_ns = clock_process_cpu_ns();
    double s;

    if (trace_file_read(&trace, path, NULL) != STATUS_OK ||
        (and_judge && judge(trace) != STATUS_OK)) {
        fprintf(stderr, "%s\n", status_last()->text);
        exit(2);
    }
    s = (double)(clock_process_cpu_ns() - begin_ns) * 1e-9;
    figures->best_s = figures->best_s == 0 || s < figures->best_s ? s : figures->best_s;
    figures->worst_s = s > figures->worst_s ? s : figures->worst_s;
    figures->text_bytes = trace->text_bytes;
    figures->events = trace->event_count + trace->frame_count;
    figures->kept_bytes = kept_bytes(trace);
    if (figures->grown_bytes == 0)
        figures->grown_bytes = memory_figure("VmHWM:") - before;
    trace_file_close(trace);
}

/* In a process of its own, whose most memory is then this trace's. */
static bool measure(struct figures *figures, const char *path, bool and_judge)
{
    int ends[2];
    pid_t child;
    bool got;

    if (pipe(ends) != 0)
        return false;
    child = fork();
    if (child == 0) {
        struct figures own = { 0 };
        for (int run = 0; run < RUNS; run++) read_once(&own, path, and_judge);
        _exit(write(ends[1], &own, sizeof own) == sizeof own ? 0 : 2);
    }
    close(ends[1]);
    got = read(ends[0], figures, sizeof *figures) == sizeof *figures;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return got;
}

/* False: the memory is beyond its bound. */
static bool print(const char *what, const struct figures *figures)
{
    double text = 1e-6 * (double)figures->text_bytes;
    double memory = (double)figures->grown_bytes / (double)figures->kept_bytes;

    printf("%-10s %9.1f %10lld %8.3f %8.3f %9.0f %9.0f %9.1f %5.2fx\n", what, text,
           (long long)figures->events, figures->best_s, figures->worst_s, text / figures->best_s,
           1e9 * figures->best_s / (double)figures->events, 1e-6 * (double)figures->grown_bytes,
           memory);
    fflush(stdout);
    return memory <= MEMORY_MAX;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *what;
        int part;
        bool calls, counts; /* the memory of it */
    } traces[] = {
        { "a quarter", 4, false, false },
        { "half", 2, false, false },
        { "all", 1, false, true },
        { "half, with calls", 2, true, true },
    };
    int64_t megabytes = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    char path[4096];
    int exit_code = 0;

    snprintf(path, sizeof path, "%s/bench_reader_XXXXXX", argc > 2 ? argv[2] : "/tmp");
    if (megabytes < 4 || mkstemp(path) < 0) {
        fprintf(stderr, "usage: bench_reader [MEGABYTES [FOLDER]], at least 4\n");
        return 2;
    }
    printf("%-10s %9s %10s %8s %8s %9s %9s %9s %6s\n", "", "text MB", "events", "best s", "worst s",
           "MB/s", "ns/event", "grown MB", "memory");
    for (size_t i = 0; i < ARRAY_SIZE(traces) && exit_code != 2; i++) {
        struct figures read, diagnosed;
        bool within;
        if (!generate(path, megabytes * 1000000 / traces[i].part, traces[i].calls) ||
            !measure(&read, path, false) || !measure(&diagnosed, path, true)) {
            fprintf(stderr, "cannot write or read %s: is there room for it?\n", path);
            exit_code = 2;
            break;
        }
        printf("%s\n", traces[i].what);
        within = print("  read", &read);
        within = print("  diagnose", &diagnosed) && within;
        if (traces[i].counts && !within)
            exit_code = 1;
    }
    unlink(path);
    return exit_code;
}
