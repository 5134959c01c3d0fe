/* Declarations of a module outside of kernels: shared memory, dynamic too, constants and variables
 * with values. Kernels that are not asked for may be
 * anything. */
#include "harness/simt/simt.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <string.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL(name, declared, body)                                                               \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .pred %p<4>;.reg .b32 %r<16>;.reg .f32 "     \
    "%f<4>;.reg .b64 %rd<16>;\n" declared "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"         \
    "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n" body "\nret;\n}\n"

enum { THREADS = 32 };

/* Runs kernel k of a module, of which only that is read; memory[thread] is the thread's word. */
static enum simt_finding_kind run_module(const char *text, size_t shared_bytes, uint32_t *memory,
                                         struct simt_shape *shape, struct simt_counts *counts)
{
    const struct simt_grid grid = { .blocks = { 1, 1, 1 },
                                    .threads = { THREADS, 1, 1 },
                                    .shared_bytes = shared_bytes };
    const void *arguments[] = { &memory };
    const size_t sizes[] = { sizeof memory };
    struct simt_finding finding;
    struct simt_kernel *kernel;
    struct simt *simt;

    assert_int_equal(simt_open(&simt), STATUS_OK);
    if (simt_read_kernel(simt, text, strlen(text), "module.ptx", "k") != STATUS_OK)
        fail_msg("%s", status_last()->text);
    kernel = simt_find(simt, "k");
    assert_non_null(kernel);
    assert_int_equal(simt_memory_add(simt, memory, 4 * THREADS), STATUS_OK);
    (void)simt_launch(simt, kernel, &grid, arguments, sizes, 1, &finding);
    *shape = simt_shape_of(kernel);
    *counts = simt_counts_of(simt, kernel);
    simt_close(simt);
    return finding.kind;
}

/* Dynamic memory begins after the kernel's own 36 bytes, at the next multiple of 16; two names are
 * one address. */
static void dynamic_shared_memory_follows_the_kernels_own(void **state)
{
    static const char text[] =
        HEAD ".extern .shared .align 16 .b8 d[];\n.extern .shared .align 8 .b8 e[];\n" KERNEL(
            "k", ".shared .align 4 .b8 s[36];\n",
            "mov.u32 %r2, s; mov.u32 %r3, d; shl.b32 %r4, %r1, 2; add.s32 %r5, %r3, %r4;\n"
            "setp.lt.u32 %p1, %r1, 9; add.s32 %r6, %r2, %r4; @%p1 st.shared.u32 [%r6], %r4;\n"
            "add.s32 %r7, %r1, 100; st.shared.u32 [%r5], %r7; bar.sync 0;\n"
            "ld.shared.u32 %r8, [e+4]; ld.shared.u32 %r9, [s+32]; mul.lo.s32 %r8, %r8, 1000;\n"
            "add.s32 %r8, %r8, %r9; mad.lo.s32 %r8, %r3, 1000000, %r8; add.s32 %r8, %r8, %r1;\n"
            "st.global.u32 [%rd3], %r8;");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;

    assert_int_equal(run_module(text, 4 * THREADS, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(memory[i], 48 * 1000000 + 101 * 1000 + 32 + i);
    assert_int_equal(shape.shared_bytes, 48);
    assert_int_equal(run_module(text, 4 * THREADS - 4, memory, &shape, &counts),
                     SIMT_OUT_OF_BOUNDS);
    assert_int_equal(run_module(text, 0, memory, &shape, &counts), SIMT_OUT_OF_BOUNDS);
}

/* A kernel has the module's variables that it uses, and no other. */
static void a_modules_shared_memory_is_of_the_kernels_that_use_it(void **state)
{
    static const char text[] =
        HEAD ".shared .align 4 .b8 unused[512];\n.shared .align 4 .u32 a;\n"
             ".shared .align 8 .b8 t[128];\n" KERNEL(
                 "other", "", "mov.u32 %r2, t; mov.u32 %r3, unused; st.global.u32 [%rd3], %r3;")
                 KERNEL("k", "",
                        "mov.u64 %rd4, t; cvta.shared.u64 %rd4, %rd4; add.s64 %rd4, %rd4, %rd2;\n"
                        "st.u32 [%rd4], %r1; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [a], 7; "
                        "bar.warp.sync -1;\n"
                        "ld.shared.u32 %r2, [a]; ld.shared.u32 %r3, [t+124]; add.s32 %r2, %r2, "
                        "%r3;\nst.global.u32 [%rd3], %r2;");
    static const char alone[] =
        HEAD ".shared .align 4 .b8 unused[512];\n" KERNEL("k", "", "st.global.u32 [%rd3], %r1;");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;

    assert_int_equal(run_module(text, 0, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(memory[i], 7 + 31);
    assert_int_equal(shape.shared_bytes, 128 + 4);
    assert_int_equal(run_module(alone, 0, memory, &shape, &counts), SIMT_NONE);
    assert_int_equal(shape.shared_bytes, 0);
}

/* Floats, bytes, addresses; loads of constants are no loads of global memory. */
static void constants_and_variables_have_their_values(void **state)
{
    static const char text[] = HEAD
        ".const .align 4 .f32 c[3] = {0f3F800000, 0f40000000, 0f40400000};\n"
        ".visible .const .align 2 .u16 h[4] = {1, 0xFFFF, -3};\n"
        ".global .align 8 .u64 at[2] = {generic(c), 5};\n"
        ".global .attribute(.managed) .align 4 .u32 m = 40;\n" KERNEL(
            "k", "",
            "ld.const.f32 %f1, [c+4]; cvt.rzi.s32.f32 %r2, %f1;\n" /* 2 */
            "and.b32 %r3, %r1, 1; mul.wide.u32 %rd4, %r3, 2; mov.u64 %rd5, h;\n"
            "add.s64 %rd5, %rd5, %rd4; ld.const.u16 %r4, [%rd5+2];\n" /* 65535 or 65533 */
            "ld.const.s16 %r5, [h+4]; ld.const.u16 %r6, [h+6];\n"     /* -3, 0 */
            "ld.global.u64 %rd6, [at]; ld.f32 %f2, [%rd6+8]; cvt.rzi.s32.f32 %r7, %f2;\n" /* 3 */
            "ld.global.u32 %r8, [m]; add.s32 %r2, %r2, %r4; add.s32 %r2, %r2, %r5;\n"
            "add.s32 %r2, %r2, %r6; add.s32 %r2, %r2, %r7; add.s32 %r2, %r2, %r8;\n"
            "st.global.u32 [%rd3], %r2;");
    static const char beyond[] = HEAD ".const .align 4 .u32 c[8] = {1};\n" KERNEL(
        "k", "", "ld.const.u32 %r2, [c+300]; st.global.u32 [%rd3], %r2;");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;

    assert_int_equal(run_module(text, 0, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(memory[i], 2 + (i % 2 == 0 ? 65535 : 65533) - 3 + 3 + 40);
    assert_int_equal(counts.global[SIMT_LOADS].requests, 3);
    assert_int_equal(counts.global[SIMT_LOADS].fresh, 0);
    assert_int_equal(run_module(beyond, 0, memory, &shape, &counts), SIMT_OUT_OF_BOUNDS);
}

#define ODD                                                                                        \
    HEAD ".global .texref image; .global .align 8 .u64 table[2] = {twice, 0};\n.extern .global "   \
         ".align 4 .b8 far[];\n"                                                                   \
         ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"                 \
         ".func (.param .b32 r) twice (.param .b32 a)\n{\n.reg .b32 %r<3>;\n{ strange; "           \
         "}\nret;\n}\n"

/* Functions, textures and other kernels may be in a module; asked for alone they are refused. */
static void what_is_not_asked_for_is_passed_over(void **state)
{
    static const char text[] = ODD KERNEL("strange", "", "wgmma.fence.sync.aligned;")
        KERNEL("k", "", "add.s32 %r2, %r1, 5; st.global.u32 [%rd3], %r2;")
            KERNEL("last", "", "{ strange.too; }");
    static const char one[] = ODD KERNEL("k", "", "st.global.u32 [%rd3], %r1;");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;
    struct simt *simt;
    int count;

    assert_int_equal(run_module(text, 0, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(memory[i], i + 5);
    assert_int_equal(simt_open(&simt), STATUS_OK);
    assert_int_equal(simt_read_kernel(simt, text, strlen(text), "odd.ptx", "strange"),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "odd.ptx:18: unknown instruction wgmma.fence"));
    assert_int_equal(simt_read(simt, text, strlen(text), "odd.ptx"), STATUS_BAD_INPUT);
    assert_int_equal(simt_read_kernel(simt, text, strlen(text), "odd.ptx", NULL), STATUS_OK);
    simt_kernels(simt, NULL, 0, &count);
    assert_int_equal(count, 3);
    simt_close(simt);

    assert_int_equal(simt_open(&simt), STATUS_OK);
    assert_int_equal(simt_read_kernel(simt, one, strlen(one), "one.ptx", NULL), STATUS_OK);
    assert_int_equal(simt_shape_of(simt_find(simt, "k")).parameters, 1);
    simt_close(simt);
}

/* A text that ends anywhere is refused, or has less in it. */
static void a_module_that_is_cut_is_no_crash(void **state)
{
    static const char text[] =
        ODD ".shared .align 4 .b8 t[64];\n.const .u32 c[2] = {1, 2};\n" KERNEL(
            "k", "", "ld.const.u32 %r2, [c]; mov.u32 %r3, t; st.global.u32 [%rd3], %r2;");

    for (size_t length = 0; length < sizeof text; length++) {
        struct simt *simt;
        assert_int_equal(simt_open(&simt), STATUS_OK);
        (void)simt_read_kernel(simt, text, length, "cut.ptx", length % 2 == 0 ? "k" : NULL);
        simt_close(simt);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dynamic_shared_memory_follows_the_kernels_own),
        cmocka_unit_test(a_modules_shared_memory_is_of_the_kernels_that_use_it),
        cmocka_unit_test(constants_and_variables_have_their_values),
        cmocka_unit_test(what_is_not_asked_for_is_passed_over),
        cmocka_unit_test(a_module_that_is_cut_is_no_crash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
