/* The kernel tests by family, and the one function that runs them all. */
#pragma once

#include "tests/kernels/workbench.h"

struct kernel_family {
    const char *name, *names;        /* of its tests, as in the source */
    const CMUnitTestFunction *tests; /* each gets a struct workbench as its state */
    size_t count;
};

#define KERNEL_FAMILY(family, ...)                                                                 \
    static const CMUnitTestFunction tests[] = { __VA_ARGS__ };                                     \
    const struct kernel_family family##_family = { #family, #__VA_ARGS__, tests,                   \
                                                   sizeof tests / sizeof *tests };

extern const struct kernel_family attention_family, bias_family, checksum_family;
extern const struct kernel_family cross_entropy_family;
extern const struct kernel_family embedding_family, experts_family, fill_family, gelu_family,
    image_family;
extern const struct kernel_family layernorm_family, optimizer_family, residual_family,
    tiled_attention_family;

/* Runs every family in each storage type and returns the number of failed tests and of kernels that
 * no test has run. Where `pieces` is not NULL (cpu_runner's), everything runs a second time with
 * the same numbers and *pieces = 3, and must give the same bits. The seed is that of test_seed.h.
 * CHOKEPOINT_TEST_TYPE, fp32 for example, chooses one storage type. */
int kernel_families_run(const struct kernel_runner *runner, int *pieces);
