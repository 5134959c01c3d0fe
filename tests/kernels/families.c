#include "tests/kernels/families.h"
#include "tests/fixtures/test_seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kernel_family *const families[] = {
    &attention_family,       &bias_family,      &checksum_family,  &cross_entropy_family,
    &embedding_family,       &experts_family,   &fill_family,      &gelu_family,
    &image_family,           &layernorm_family, &optimizer_family, &residual_family,
    &tiled_attention_family,
};

static struct workbench bench;

static int set_up(void **state)
{
    *state = &bench;
    bench.cases = 0;
    bench.fingerprint_next = 0;
    return 0;
}

static int tear_down(void **state)
{
    workbench_release(&bench);
    return 0;
}

static int run_family(const struct kernel_family *family, const char *what)
{
    char group[128], *names = strdup(family->names), *rest = NULL, *name = names;
    struct CMUnitTest *tests = calloc(family->count, sizeof *tests);
    int failed = 1;

    snprintf(group, sizeof group, "%s, %s, %s%s", bench.runner->name, family->name,
             workbench_dtype(bench.dtype), what);
    for (size_t i = 0; names != NULL && tests != NULL && i < family->count; i++, name = NULL) {
        tests[i].name = strtok_r(name, ", ", &rest);
        tests[i].test_func = family->tests[i];
    }
    if (names != NULL && tests != NULL)
        failed = _cmocka_run_group_tests(group, tests, family->count, set_up, tear_down);
    free(tests);
    free(names);
    return failed;
}

/* Kernels that no case has run, which a list of kernels that grew would otherwise hide. */
static int kernels_untested(void)
{
    static const char *const names[] = {
#define NAME(name, shape, ...) #name,
        KERNELS(NAME)
    };
    int untested = 0;

    for (int i = 0; i < KERNEL_COUNT; i++)
        if (bench.launches[i] == 0) {
            print_error("%s has no case: add one to its family\n", names[i]);
            untested++;
        }
    return untested;
}

/* The border between pieces is within an array: a sanitizer sees nothing new there. */
#ifdef __SANITIZE_ADDRESS__
enum { PIECES = 1 };
#else
enum { PIECES = 3 };
#endif

/* Runs every family in bench.dtype; returns how many tests failed. */
static int run_families(int *pieces)
{
    int failed = 0;

    for (size_t j = 0; j < ARRAY_SIZE(families); j++) {
        bench.fingerprint_count = 0;
        bench.compare_fingerprints = false;
        bench.worst_share = 0;
        int family_failed = run_family(families[j], "");
        print_message("closest to a limit: %.2f of it, %s\n", bench.worst_share, bench.worst_label);
        if (pieces != NULL && PIECES > 1 && family_failed == 0) {
            bench.compare_fingerprints = true;
            *pieces = PIECES;
            family_failed = run_family(families[j], ", in 3 pieces");
            *pieces = 1;
        }
        failed += family_failed;
    }
    return failed;
}

int kernel_families_run(const struct kernel_runner *runner, int *pieces)
{
    static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };
    const char *only = getenv("CHOKEPOINT_TEST_TYPE");
    int failed = 0;

    bench.runner = runner;
    bench.seed = test_seed();
    for (size_t i = 0; i < ARRAY_SIZE(dtypes); i++) {
        bench.dtype = dtypes[i];
        if (only == NULL || strcmp(only, workbench_dtype(dtypes[i])) == 0)
            failed += run_families(pieces);
    }
    return failed + kernels_untested();
}
