#include "tests/made_trace.h"

#include "tests/cmocka_prelude.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static char text[1 << 20];
static size_t length;
static bool first, is_object;

static void begin(const char *head, bool object)
{
    length = (size_t)snprintf(text, sizeof text, "%s", head);
    first = true;
    is_object = object;
}

/* What separates an event from the one before. */
static const char *separator(void)
{
    bool was_first = first;

    first = false;
    return was_first ? "" : ",\n";
}

void made_begin(void)
{
    begin("[", false);
}

void made_begin_with(const char *members)
{
    char head[2048];

    assert_true((size_t)snprintf(head, sizeof head, "{%s,\"traceEvents\":[", members) <
                sizeof head);
    begin(head, true);
}

void made_add_with(const char *category, const char *name, int pid, int tid, int start_us,
                   int end_us, int correlation, const char *arguments)
{
    length += (size_t)snprintf(
        text + length, sizeof text - length,
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
        "\"args\":{\"correlation\":%d%s%s}}",
        separator(), category, name, pid, tid, start_us, end_us - start_us, correlation,
        arguments[0] != '\0' ? "," : "", arguments);
    assert_true(length < sizeof text - 2);
}

void made_add(const char *category, const char *name, int pid, int tid, int start_us, int end_us,
              int correlation)
{
    made_add_with(category, name, pid, tid, start_us, end_us, correlation, "");
}

void made_add_work(const char *category, const char *name, int stream, int start_us, int end_us,
                   int called_us)
{
    static int correlation = 1000;

    correlation++;
    made_add("cuda_runtime", "cudaLaunchKernel", 100, 100, called_us, called_us + 1, correlation);
    made_add(category, name, 0, stream, start_us, end_us, correlation);
}

void made_add_instant(const char *name, int at_us, const char *arguments)
{
    length += (size_t)snprintf(
        text + length, sizeof text - length,
        "%s{\"ph\":\"i\",\"name\":\"%s\",\"pid\":100,\"tid\":100,\"ts\":%d,\"args\":{%s}}",
        separator(), name, at_us, arguments);
    assert_true(length < sizeof text - 2);
}

struct analysed made_analyse(void)
{
    struct analysed analysed;
    char path[64];
    int file = memfd_create("trace", MFD_CLOEXEC);

    length += (size_t)snprintf(text + length, sizeof text - length, is_object ? "]}" : "]");
    assert_int_equal(write(file, text, length), length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (trace_file_read(&analysed.trace, path, NULL) != STATUS_OK)
        fail_msg("%s", status_last()->text);
    close(file);
    assert_int_equal(analysed.trace->bad_count, 0);
    assert_int_equal(timeline_make(&analysed.timeline, analysed.trace), STATUS_OK);
    assert_int_equal(steps_make(&analysed.steps, &analysed.timeline), STATUS_OK);
    return analysed;
}

void made_release(struct analysed *analysed)
{
    steps_release(&analysed->steps);
    timeline_release(&analysed->timeline);
    trace_file_close(analysed->trace);
}

void check_us(int64_t ns, int64_t us)
{
    assert_int_equal(ns, 1000 * us);
}
