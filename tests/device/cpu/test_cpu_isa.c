/* Kernels built for a CPU that this one is not. The program here claims to be built for everything
 * there is, and for nothing at all. */
#include "harness/device/cpu/arithmetic/isa.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/lab/cpu_flag.h"

const uint32_t isa_built = CLAIMED;

#if defined(__x86_64__)
static const char first[] = "avx512fp16";
#else
static const char first[] = "sve2";
#endif

/* An emulator pretends to be a CPU without it (CMakeLists.txt). */
static bool has_first(void)
{
#if defined(__x86_64__)
    return cpu_flag("avx512_fp16");
#else
    return getenv("QEMU_CPU") == NULL && (getauxval(AT_HWCAP2) & HWCAP2_SVE2) != 0;
#endif
}

TEST(what_the_cpu_lacks_is_named)
{
    enum status status = isa_check();

    if (isa_built == 0 || has_first()) {
        assert_int_equal(status, STATUS_OK);
        return;
    }
    assert_int_equal(status, STATUS_NO_DEVICE);
    assert_non_null(strstr(status_last()->text, first));
    assert_non_null(strstr(status_last()->text, "CHOKEPOINT_CPU"));
    assert_int_equal(status_exit_code(status), 3);
}

TEST(the_most_telling_feature_names_the_build)
{
    assert_string_equal(isa_name(), isa_built == 0 ? "baseline" : first);
}
