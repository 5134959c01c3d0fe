/* Kernels built for a CPU that this one is not. The program here claims to be built for everything
 * there is, and for nothing at all. */
#include "harness/lab/device/cpu/arithmetic/isa.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const uint32_t isa_built = CLAIMED;

/* The features of this CPU as the kernel lists them. */
static bool cpu_has(const char *flag)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[8192], *found = NULL;

    assert_non_null(file);
    while (found == NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "flags", 5) == 0)
            found = strstr(line, flag);
    fclose(file);
    return found != NULL;
}

static void what_the_cpu_lacks_is_named(void **state)
{
    enum status status = isa_check();
    (void)state;

    if (isa_built == 0 || cpu_has(" avx512_fp16")) {
        assert_int_equal(status, STATUS_OK);
        return;
    }
    assert_int_equal(status, STATUS_NO_DEVICE);
    assert_non_null(strstr(status_last()->text, "avx512fp16"));
    assert_non_null(strstr(status_last()->text, "CHOKEPOINT_CPU"));
    assert_int_equal(status_exit_code(status), 3);
}

static void the_most_telling_feature_names_the_build(void **state)
{
    (void)state;

    assert_string_equal(isa_name(), isa_built == 0 ? "baseline" : "avx512fp16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_cpu_lacks_is_named),
        cmocka_unit_test(the_most_telling_feature_names_the_build),
    };
    return cmocka_run_group_tests_name("instruction sets", tests, NULL, NULL);
}
