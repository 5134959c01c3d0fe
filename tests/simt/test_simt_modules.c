/* Declarations of a module outside of kernels: shared memory, dynamic too, constants and variables
 * with values. Kernels that are not asked for may be
 * anything. */
#include "harness/simt/simt.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/documents/document_list.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL(name, declared, body)                                                               \
    ".visible .entry " name "(.param .u64 p)\n{\n.reg .pred %p<4>;.reg .b32 %r<16>;.reg .f32 "     \
    "%f<4>;.reg .b64 %rd<16>;\n" declared "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n"         \
    "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n" body "\nret;\n}\n"

enum { THREADS = 32 };

static FILE *print_to; /* where printf() of the kernels goes */

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

    assert_ok(simt_open(&simt));
    simt_print_to(simt, print_to);
    assert_ok(simt_read_kernel(simt, text, strlen(text), "module.ptx", "k"));
    kernel = simt_find(simt, "k");
    assert_non_null(kernel);
    assert_ok(simt_memory_add(simt, memory, 4 * THREADS));
    (void)simt_launch(simt, kernel, &grid, arguments, sizes, 1, &finding);
    *shape = simt_shape_of(kernel);
    *counts = simt_counts_of(simt, kernel);
    simt_close(simt);
    return finding.kind;
}

/* Dynamic memory begins after the kernel's own 36 bytes, at the next multiple of 16; two names are
 * one address. */
TEST(dynamic_shared_memory_follows_the_kernels_own)
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
TEST(a_modules_shared_memory_is_of_the_kernels_that_use_it)
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
TEST(constants_and_variables_have_their_values)
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
TEST(what_is_not_asked_for_is_passed_over)
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
    assert_ok(simt_open(&simt));
    assert_int_equal(simt_read_kernel(simt, text, strlen(text), "odd.ptx", "strange"),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "odd.ptx:18: unknown instruction wgmma.fence"));
    assert_int_equal(simt_read(simt, text, strlen(text), "odd.ptx"), STATUS_BAD_INPUT);
    assert_ok(simt_read_kernel(simt, text, strlen(text), "odd.ptx", NULL));
    simt_kernels(simt, NULL, 0, &count);
    assert_int_equal(count, 3);
    simt_close(simt);

    assert_ok(simt_open(&simt));
    assert_ok(simt_read_kernel(simt, one, strlen(one), "one.ptx", NULL));
    assert_int_equal(simt_shape_of(simt_find(simt, "k")).parameters, 1);
    simt_close(simt);
}

/* Twice of twice, with a struct and a return in the middle; lanes that return early and lanes that
 * are not called at all. */
#define CALLS                                                                                      \
    HEAD ".func (.param .b32 r) outer (.param .align 8 .b8 s[16]);\n"                              \
         ".func (.param .b32 r) inner (.param .b32 a)\n{\n.reg .b32 %r<9>;.reg .pred %p<2>;\n"     \
         "ld.param.b32 %r1, [a]; setp.lt.u32 %p1, %r1, 8; st.param.b32 [r], 100;\n@%p1 ret;\n"     \
         "shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret;\n}\n"                                   \
         ".func (.param .b32 r) outer (.param .align 8 .b8 s[16])\n{\n.reg .b32 %r<9>;\n"          \
         "ld.param.b32 %r1, [s+8]; ld.param.b32 %r2, [s+4];\n{ .param .b32 x; .param .b32 y; "     \
         "st.param.b32 [x], %r1; call.uni (y), inner, (x); ld.param.b32 %r3, [y]; }\n"             \
         "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2; call.uni (y), inner, (x); "       \
         "ld.param.b32 %r4, [y]; }\nmad.lo.s32 %r3, %r3, 1000, %r4; st.param.b32 [r], %r3;\n}\n"   \
         ".func again (.param .b32 a)\n{\n{ .param .b32 x; call again, (x); }\nret;\n}\n"

TEST(functions_are_called)
{
    static const char text[] = CALLS KERNEL(
        "k", "",
        "mov.u32 %r2, 7; setp.ge.u32 %p1, %r1, 2;\n"
        "{ .param .align 8 .b8 s[16]; .param .b32 y; st.param.b32 [s+8], %r1; add.s32 %r3, %r1, "
        "4;\n"
        "st.param.b32 [s+4], %r3; @%p1 call (y), outer, (s); @%p1 ld.param.b32 %r2, [y]; }\n"
        "st.global.u32 [%rd3], %r2;");
    static const char endless[] =
        CALLS KERNEL("k", "", "{ .param .b32 x; st.param.b32 [x], 1; call again, (x); }");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;
    struct simt *simt;

    assert_int_equal(run_module(text, 0, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(
            memory[i], i < 2 ? 7 : (i < 8 ? 100 : 2 * i) * 1000 + (i + 4 < 8 ? 100 : 2 * (i + 4)));
    assert_int_equal(shape.local_bytes, 0);
    assert_int_equal(counts.local[SIMT_LOADS].requests, 0);
    assert_ok(simt_open(&simt));
    assert_int_equal(simt_read_kernel(simt, endless, strlen(endless), "odd.ptx", "k"),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "again calls itself"));
    simt_close(simt);
}

/* "%d %s %5.1f%%", with a struct of the three in local memory. */
#define PRINTS                                                                                     \
    HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"                 \
         ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 "   \
         "d, .param .b64 e);\n.extern .func (.param .b64 r) malloc (.param .b64 a);\n"             \
         ".extern .func free (.param .b64 a);\n"                                                   \
         ".global .align 1 .b8 f[15] = {37,100,32,37,115,32,37,53,46,49,102,37,37,10,0};\n"        \
         ".global .align 1 .b8 w[5] = {47,119,46,99,0};\n"

/* "%****...d", of which the first width counts: none may overflow the format. */
#define STARS "42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,42,"

TEST(kernels_print_allocate_and_assert)
{
    static const char stars[] =
        PRINTS ".global .align 1 .b8 g[64] = {37," STARS STARS STARS "100,10,0};\n" KERNEL(
            "k", ".local .align 8 .b8 v[8];\n",
            "setp.lt.u32 %p1, %r1, 31; @%p1 bra END;\nst.local.u32 [v], 3; mov.u64 %rd4, v; "
            "cvta.local.u64 %rd5, %rd4; mov.u64 %rd8, g;\n{ .param .b64 a; .param .b64 b; "
            ".param .b32 c; st.param.b64 [a], %rd8; st.param.b64 [b], %rd5; call.uni (c), vprintf, "
            "(a, b); }\nEND:");
    static const char print[] = PRINTS KERNEL(
        "k", ".local .align 8 .b8 v[24];\n",
        "setp.lt.u32 %p1, %r1, 30; @%p1 bra END;\nmov.u64 %rd4, v; cvta.local.u64 %rd5, %rd4;\n"
        "st.local.u32 [v], %r1; mov.u64 %rd6, w; cvta.global.u64 %rd6, %rd6;\n"
        "st.local.u64 [v+8], %rd6; mov.b64 %rd7, 0d4004000000000000; st.local.u64 [v+16], %rd7;\n"
        "mov.u64 %rd8, f; cvta.global.u64 %rd8, %rd8;\n{ .param .b64 a; .param .b64 b; .param .b32 "
        "c; st.param.b64 [a], %rd8; st.param.b64 [b], %rd5; call.uni (c), vprintf, (a, b); }\n"
        "END:");
    static const char fails[] = PRINTS KERNEL(
        "k", "",
        "setp.ne.u32 %p1, %r1, 5; @%p1 bra END;\nmov.u64 %rd4, f; mov.u64 %rd5, w;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; "
        "st.param.b64 [a], %rd4; st.param.b64 [b], %rd5; st.param.b32 [c], 12; "
        "call.uni __assertfail, (a, b, c, d, e); }\nEND:");
    static const char heap[] = PRINTS KERNEL(
        "k", "",
        "{ .param .b64 a; .param .b64 b; st.param.b64 [a], 4; call.uni (b), malloc, (a); "
        "ld.param.b64 %rd5, [b]; }\nst.u32 [%rd5], %r1; ld.u32 %r2, [%rd5]; "
        "st.global.u32 [%rd3], %r2;\n{ .param .b64 a; st.param.b64 [a], %rd5; call.uni free, (a); "
        "}\nsetp.ne.u32 %p1, %r1, 99; @%p1 bra END;\nst.u32 [%rd5], %r1;\nEND:");
    static const char late[] = PRINTS KERNEL(
        "k", "",
        "{ .param .b64 a; .param .b64 b; st.param.b64 [a], 4; call.uni (b), malloc, (a); "
        "ld.param.b64 %rd5, [b]; }\n{ .param .b64 a; st.param.b64 [a], %rd5; call.uni free, (a); "
        "}\nst.u32 [%rd5], %r1;");
    _Alignas(256) uint32_t memory[THREADS];
    struct simt_shape shape;
    struct simt_counts counts;
    char *said;
    size_t bytes;

    print_to = open_memstream(&said, &bytes);
    assert_int_equal(run_module(print, 0, memory, &shape, &counts), SIMT_NONE);
    fclose(print_to);
    print_to = NULL;
    assert_string_equal(said, "30 /w.c   2.5%\n31 /w.c   2.5%\n");
    free(said);
    print_to = open_memstream(&said, &bytes);
    assert_int_equal(run_module(stars, 0, memory, &shape, &counts), SIMT_NONE);
    fclose(print_to);
    print_to = NULL;
    assert_string_equal(said, "  0\n");
    free(said);
    assert_int_equal(run_module(fails, 0, memory, &shape, &counts), SIMT_ASSERTION);
    assert_non_null(strstr(status_last()->text, "thread 5: w.c:12: "));
    assert_int_equal(run_module(heap, 0, memory, &shape, &counts), SIMT_NONE);
    for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(memory[i], i);
    assert_int_equal(run_module(late, 0, memory, &shape, &counts), SIMT_OUT_OF_BOUNDS);
}

/* A text that ends anywhere is refused, or has less in it. */
TEST(a_module_that_is_cut_is_no_crash)
{
    static const char text[] =
        ODD ".shared .align 4 .b8 t[64];\n.const .u32 c[2] = {1, 2};\n" KERNEL(
            "k", "", "ld.const.u32 %r2, [c]; mov.u32 %r3, t; st.global.u32 [%rd3], %r2;");

    for (size_t length = 0; length < sizeof text; length++) {
        struct simt *simt;
        assert_ok(simt_open(&simt));
        (void)simt_read_kernel(simt, text, length, "cut.ptx", length % 2 == 0 ? "k" : NULL);
        simt_close(simt);
    }
}

/* The instructions of "Parallel Thread Execution ISA" 9.0, by the first part of their names. */
static const char *const instructions[] = {
    "abs",          "activemask",    "add",       "addc",       "alloca",
    "and",          "applypriority", "atom",      "bar",        "barrier",
    "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
    "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
    "clz",          "cnot",          "copysign",  "cos",        "cp",
    "createpolicy", "cvt",           "cvta",      "discard",    "div",
    "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
    "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
    "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
    "lg2",          "lop3",          "mad",       "mad24",      "madc",
    "mapa",         "match",         "max",       "mbarrier",   "membar",
    "min",          "mma",           "mov",       "movmatrix",  "mul",
    "mul24",        "multimem",      "nanosleep", "neg",        "not",
    "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
    "prmt",         "rcp",           "red",       "redux",      "rem",
    "ret",          "rsqrt",         "sad",       "selp",       "set",
    "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
    "shr",          "sin",           "slct",      "sqrt",       "st",
    "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
    "suld",         "suq",           "sured",     "sust",       "szext",
    "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
    "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
    "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
    "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
    "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
    "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
    "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor",
};

/* docs/kernels.md lists those that no table has. */
TEST(the_document_lists_what_is_unknown)
{
    char wanted[4096] = "";

    for (size_t i = 0, column = 0; i < ARRAY_SIZE(instructions); i++)
        if (!simt_knows(instructions[i])) {
            size_t length = strlen(wanted), own = strlen(instructions[i]) + 4;
            const char *apart = column == 0 ? "  " : column + own > 120 ? ",\n  " : ", ";
            column = column == 0 || column + own > 120 ? own : column + own;
            snprintf(wanted + length, sizeof wanted - length, "%s`%s`", apart, instructions[i]);
        }
    strcat(wanted, "\n");
    document_list(DOCUMENTS "/kernels.md", "unknown", wanted);
}
