/* Kernels built for a CPU that this one is not. The program here claims to be built for everything
 * there is, and for nothing at all. */
#include "harness/device/cpu/arithmetic/isa.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/lab/cpu_flag.h"

const uint32_t isa_built = CLAIMED;

static void what_the_cpu_lacks_is_named(void **state)
{
    enum status status = isa_check();

    if (isa_built == 0 || cpu_flag("avx512_fp16")) {
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
    assert_string_equal(isa_name(), isa_built == 0 ? "baseline" : "avx512fp16");
}

TESTS(what_the_cpu_lacks_is_named, the_most_telling_feature_names_the_build)
