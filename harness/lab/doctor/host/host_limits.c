/* Short loops of additions, of a copy, and of a byte that goes to another thread and back; the best
 * of several tries counts. */
#include "harness/lab/doctor/host/host.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 7 };

/* Floating point operations of fp32 that a core of this machine starts in a cycle, at least: two
 * for each lane of a fused multiply-add, one such unit of 512 bits or two of 256 (Intel
 * Optimization Reference Manual, 2.4 and 2.6; AMD Software Optimization Guide for Zen 4, 2.11), two
 * of 128 on Armv8. */
static double flops_per_cycle(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return 32;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 32;
    if (__builtin_cpu_supports("avx"))
        return 16;
    return 8;
#elif defined(__aarch64__)
    return 16;
#else
    return NAN;
#endif
}

/* Each addition needs the one before, and each takes one cycle on every processor of these two
 * architectures; of two registers, since an immediate may cost none. */
static double measure_clock(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    enum { CHAIN = 64, ROUNDS = 100000 };
    double best_ns = INFINITY;
    uint64_t sum = 0, step = 3;

    for (int try = 0; try < TRIES; try++) {
        int64_t start = clock_ns();
        for (int i = 0; i < ROUNDS; i++)
#if defined(__x86_64__)
            __asm__ volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step));
#else
            __asm__ volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#endif
        best_ns = fmin(best_ns, (double)(clock_ns() - start));
    }
    return 1e9 * CHAIN * ROUNDS / best_ns;
#else
    return NAN;
#endif
}

static enum status measure_copy(double *rate, int64_t bytes)
{
    enum status status = STATUS_OK;
    double best_ns = INFINITY;
    char *from = NULL, *to = NULL;

    TRY_OUT(rows_make(&from, bytes));
    TRY_OUT(rows_make(&to, bytes));
    memset(from, 1, (size_t)bytes);
    memset(to, 2, (size_t)bytes); /* No page is new when the copies are timed. */
    for (int try = 0; try < TRIES; try++) {
        int64_t start = clock_ns();
        memcpy(to, from, (size_t)bytes);
        /* Or the compiler could leave out a copy that nobody reads. */
        __asm__ volatile("" : : "r"(to) : "memory");
        best_ns = fmin(best_ns, (double)(clock_ns() - start));
    }
    *rate = (double)bytes / best_ns * 1e9;

out:
    free(from);
    free(to);
    return status;
}

struct echo {
    int from[2], to[2]; /* pipes: the other thread reads `to` and answers in `from` */
};

static void *answer(void *context)
{
    const struct echo *echo = context;
    char byte;

    while (read(echo->to[0], &byte, 1) == 1)
        if (write(echo->from[1], &byte, 1) != 1)
            break;
    return NULL;
}

static enum status measure_round_trip(double *round_trip_ns)
{
    enum status status = STATUS_OK;
    struct echo echo = { { -1, -1 }, { -1, -1 } };
    bool started = false;
    pthread_t thread;

    if (pipe(echo.from) != 0 || pipe(echo.to) != 0)
        FAIL_OUT(STATUS_IO, "no pipe can be made: %s", strerror(errno));
    if (pthread_create(&thread, NULL, answer, &echo) != 0)
        FAIL_OUT(STATUS_IO, "no thread can be started");
    started = true;
    enum { TRIPS = 500 };
    double best_ns = INFINITY;
    char byte = 1;
    for (int try = 0; try < TRIES; try++) {
        int64_t start = clock_ns();
        for (int i = 0; i < TRIPS; i++)
            if (write(echo.to[1], &byte, 1) != 1 || read(echo.from[0], &byte, 1) != 1)
                FAIL_OUT(STATUS_IO, "a pipe to another thread broke: %s", strerror(errno));
        best_ns = fmin(best_ns, (double)(clock_ns() - start) / TRIPS);
    }
    *round_trip_ns = best_ns;

out:
    if (echo.to[1] >= 0)
        close(echo.to[1]); /* The other thread's read ends. */
    if (started)
        pthread_join(thread, NULL);
    if (echo.to[0] >= 0)
        close(echo.to[0]);
    for (int i = 0; i < 2; i++)
        if (echo.from[i] >= 0)
            close(echo.from[i]);
    return status;
}

enum status host_limits_measure(struct host_limits *limits, int64_t copy_bytes)
{
    struct cpu_times first, second;

    cpu_times_read(&first, "");
    *limits =
        (struct host_limits){ .clock_hz = measure_clock(), .flops_per_cycle = flops_per_cycle() };
    TRY(measure_copy(&limits->copy_bytes_per_second, copy_bytes));
    TRY(measure_round_trip(&limits->round_trip_ns));
    cpu_times_read(&second, "");
    limits->loss = cpu_loss_between(&first, &second);

    return STATUS_OK;
}
