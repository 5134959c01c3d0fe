/* Four times the events cost four times the work, from the text of a trace to its findings. */
#include "harness/desk/diagnosis/diagnosis.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/counting/counted_blocks.h"

#include <unistd.h>

/* An operator that allocates, the launch in it, its kernel, and now and then a wait. Each kernel
 * begins once the host has launched it: there is a gap before it. */
static void write_operator(FILE *file, int i)
{
    int at_us = 100 * i;

    fprintf(
        file,
        ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op_%d\",\"pid\":1,\"tid\":1,\"ts\":%"
        "d,"
        "\"dur\":40,\"args\":{\"External id\":%d,\"Input Dims\":[[8,8]]}},\n"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":%d,\"args\":{\"Bytes\":%d,"
        "\"Device Id\":0,\"Device Type\":1}},\n"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
        "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k_%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":"
        "20,"
        "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d}}",
        i % 50, at_us, i + 1, at_us + 1, i % 2 == 0 ? 512 : -512, at_us + 10, i + 1, i % 30,
        at_us + 30, i + 1);
    if (i % 10 == 9)
        fprintf(file,
                ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\","
                "\"pid\":1,"
                "\"tid\":1,\"ts\":%d,\"dur\":30}",
                at_us + 41);
}

static void write_trace(char path[32], int steps)
{
    enum { OPERATORS = 100 };
    FILE *file;

    snprintf(path, 32, "/tmp/linear-XXXXXX");
    file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fprintf(file, "{\"traceEvents\": [{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1}");
    for (int step = 0; step < steps; step++) {
        fprintf(
            file,
            ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,"
            "\"tid\":1,\"ts\":%d,\"dur\":9999}",
            step, 100 * OPERATORS * step);
        for (int i = 0; i < OPERATORS; i++) write_operator(file, OPERATORS * step + i);
    }
    fprintf(file, "]}\n");
    assert_int_equal(fclose(file), 0);
}

static double blocks_of_diagnosis(int steps)
{
    char path[32];
    const char *const paths[] = { path };
    struct diagnosis diagnosis;

    write_trace(path, steps);
    count_blocks();
    assert_ok(diagnosis_make(&diagnosis, paths, 1, NULL, NULL));
    assert_int_equal(diagnosis.summaries[0].steps.count, steps);
    assert_true(diagnosis.findings[0].count > 1);
    diagnosis_release(&diagnosis);
    unlink(path);
    return counted_blocks();
}

TEST(the_work_grows_as_the_trace_does)
{
    check_is_linear("diagnose", blocks_of_diagnosis(25), blocks_of_diagnosis(100));
}
