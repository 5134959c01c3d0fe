#include "tests/kernels/families.h"
#include "tests/fixtures/test_seed.h"

enum { FAMILY_MOST = 64 }; /* tests */

static struct kernel_test *first;
static struct workbench bench;

static bool is_before(const struct kernel_test *a, const struct kernel_test *b)
{
    int order = strcmp(a->file, b->file);

    return order < 0 || (order == 0 && a->line < b->line);
}

/* Compilers and linkers choose the order in which constructors run. */
void kernel_tests_add(struct kernel_test *test)
{
    struct kernel_test **at = &first;

    while (*at != NULL && is_before(*at, test)) at = &(*at)->next;
    test->next = *at;
    *at = test;
}

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

/* The tests of one file, from `test` on. */
static int run_family(const struct kernel_test *test, const char *what)
{
    struct CMUnitTest tests[FAMILY_MOST] = { { .name = NULL } };
    const char *file = test->file;
    char group[128];
    size_t count = 0;

    snprintf(group, sizeof group, "%s, %s, %s%s", bench.runner->name, strrchr(file, '/') + 1,
             workbench_dtype(bench.dtype), what);
    for (; test != NULL && strcmp(test->file, file) == 0; test = test->next) {
        assert_true(count < FAMILY_MOST);
        tests[count].name = test->name;
        tests[count++].test_func = test->function;
    }
    return _cmocka_run_group_tests(group, tests, count, set_up, tear_down);
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

    for (const struct kernel_test *test = first; test != NULL;) {
        const char *file = test->file;
        bench.fingerprint_count = 0;
        bench.compare_fingerprints = false;
        bench.worst_share = 0;
        int family_failed = run_family(test, "");
        print_message("closest to a limit: %.2f of it, %s\n", bench.worst_share, bench.worst_label);
        if (pieces != NULL && PIECES > 1 && family_failed == 0) {
            bench.compare_fingerprints = true;
            *pieces = PIECES;
            family_failed = run_family(test, ", in 3 pieces");
            *pieces = 1;
        }
        failed += family_failed;
        while (test != NULL && strcmp(test->file, file) == 0) test = test->next;
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
