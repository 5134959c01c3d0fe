/* The kernel tests by family, and the one function that runs them all. */
#pragma once

#include "tests/kernels/workbench.h"

/* KERNEL_TEST(name) { ... } is a test of the family of its file. Its `bench` has no case yet. */
#define KERNEL_TEST(name)                                                                          \
    static void name##_cases(struct workbench *bench);                                             \
    static void name(void **state)                                                                 \
    {                                                                                              \
        workbench_test(*state, name##_cases);                                                      \
    }                                                                                              \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        static struct kernel_test test = { __FILE__, __LINE__, #name, name, NULL };                \
        kernel_tests_add(&test);                                                                   \
    }                                                                                              \
    static void name##_cases(struct workbench *bench)

struct kernel_test {
    const char *file;
    int line;
    const char *name;
    CMUnitTestFunction function;
    struct kernel_test *next;
};
void kernel_tests_add(struct kernel_test *test);

/* Runs every family in each storage type and returns the number of failed tests and of kernels that
 * no test has run. Where `pieces` is not NULL (cpu_runner's), everything runs a second time with
 * the same numbers and *pieces = 3, and must give the same bits. The seed is that of test_seed.h.
 * CHOKEPOINT_TEST_TYPE, fp32 for example, chooses one storage type. */
int kernel_families_run(const struct kernel_runner *runner, int *pieces);
