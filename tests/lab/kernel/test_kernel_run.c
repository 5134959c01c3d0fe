/* Arguments as they are written, one kernel alone, and what fits on a multiprocessor. */
#include "harness/lab/kernel/kernel_bound.h"
#include "harness/lab/kernel/kernel_counts.h"
#include "harness/lab/kernel/kernel_run.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

static const char *const doubled =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry doubled(.param .u64 a, .param .u64 b, .param .u32 n) {\n"
    ".reg .b64 %rd<5>; .reg .b32 %r<8>; .reg .pred %p<2>; .reg .f32 %f<3>;\n"
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
    "mad.lo.s32 %r5, %r3, %r4, %r2; setp.ge.s32 %p1, %r5, %r1; @%p1 bra END;\n"
    "mul.wide.s32 %rd3, %r5, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n"
    "ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd2], %f2;\n"
    "END: ret;\n}\n";

TEST(arguments_are_read)
{
    struct kernel_argument arguments[KERNEL_ARGUMENTS_MOST];
    int count;

    assert_ok(kernel_arguments_parse(arguments, &count,
                                     "f32[4*1k]:random@7,u32[256]:random<10,i64[3]:iota,"
                                     "bf16[8]:-1.5,u8[2M],i32:-3,f32:0.5,f64[1]:zero"));
    assert_int_equal(count, 8);
    assert_int_equal(arguments[0].count, 4096);
    assert_int_equal(arguments[0].pattern, KERNEL_RANDOM);
    assert_int_equal(arguments[0].seed, 7);
    assert_int_equal(arguments[1].below, 10);
    assert_int_equal(arguments[2].type, KERNEL_I64);
    assert_int_equal(arguments[2].pattern, KERNEL_IOTA);
    assert_true(arguments[3].value == -1.5);
    assert_int_equal(arguments[4].count, 2097152);
    assert_int_equal(arguments[4].pattern, KERNEL_UNWRITTEN);
    assert_int_equal(arguments[5].count, 0);
    assert_true(arguments[5].value == -3);
    assert_int_equal(arguments[7].pattern, KERNEL_ZERO);
}

TEST(wrong_arguments_are_refused)
{
    static const char *const texts[] = { "x32[4]",  "f32",         "f32[0]",   "f32[1.5]",
                                         "f32[4",   "f32[4]:rand", "i32:zero", "f32[4]:1x",
                                         "f32[-4]", "f32[nan]",    ",",        "u32[4]:random<0" };
    struct kernel_argument arguments[KERNEL_ARGUMENTS_MOST];
    int count;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (kernel_arguments_parse(arguments, &count, texts[i]) != STATUS_BAD_USAGE)
            fail_msg("'%s' was taken", texts[i]);
}

TEST(arrays_are_filled)
{
    static const struct {
        const char *text;
        double first, second;
    } rows[] = {
        { "f32[2]:iota", 0, 1 }, { "f16[2]:1.5", 1.5, 1.5 },    { "bf16[2]:-3", -3, -3 },
        { "i8[2]:-7", -7, -7 },  { "u8[2]:255", 255, 255 },     { "f64[2]:0.1", 0.1, 0.1 },
        { "u64[2]:iota", 0, 1 }, { "i16[2]:-300", -300, -300 }, { "u32[2]:random<1", 0, 0 }
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kernel_argument argument;
        uint64_t memory[2] = { 0 };
        int count;
        assert_ok(kernel_arguments_parse(&argument, &count, rows[i].text));
        kernel_argument_fill(&argument, memory);
        assert_true(kernel_element(argument.type, memory, 0) == rows[i].first);
        assert_true(kernel_element(argument.type, memory, 1) == rows[i].second);
    }
}

TEST(a_kernel_runs_alone)
{
    struct kernel_argument arguments[3];
    struct kernel_run run = { .ptx = doubled,
                              .ptx_bytes = strlen(doubled),
                              .name = "doubled.ptx",
                              .blocks = { 4, 1, 1 },
                              .threads = { 64, 1, 1 },
                              .arguments = arguments };
    struct kernel_outcome outcome;

    assert_ok(
        kernel_arguments_parse(arguments, &run.argument_count, "f32[250]:iota,f32[250],i32:250"));
    assert_ok(kernel_run(&run, &outcome));
    assert_int_equal(outcome.finding.kind, SIMT_NONE);
    assert_string_equal(outcome.kernel_name, "doubled");
    for (int i = 0; i < 250; i++)
        assert_true(kernel_element(KERNEL_F32, outcome.arrays[1].elements, i) == 2.0 * i);
    assert_int_equal(outcome.counts.global[SIMT_LOADS].bytes, 1000);
    assert_int_equal(outcome.arrays[0].footprint.read, 1000);
    assert_int_equal(outcome.arrays[1].footprint.written, 1000);
    assert_true(outcome.line_count > 3);
    assert_int_equal(outcome.sample_count, 2);
    kernel_outcome_release(&outcome);

    run.blocks[0] = 5;
    assert_ok(
        kernel_arguments_parse(arguments, &run.argument_count, "f32[250]:iota,f32[250],i32:300"));
    assert_ok(kernel_run(&run, &outcome));
    assert_int_equal(outcome.finding.kind, SIMT_OUT_OF_BOUNDS);
    kernel_outcome_release(&outcome);
}

TEST(what_does_not_fit_the_kernel_is_refused)
{
    static const struct {
        const char *kernel, *arguments, *says;
    } rows[] = {
        { "halved", "f32[2],f32[2],i32:2", "no kernel halved; it has doubled" },
        { NULL, "f32[2],f32[2]", "takes 3 arguments, not 2" },
        { NULL, "f32[2],f32[2],i64:2", "argument 3 of doubled has 4 bytes, and i64 has 8" },
        { NULL, "f32[2],i32:2,i32:2", "argument 2 of doubled has 8 bytes" },
        { NULL, "f32[2],f32[512*1M],i32:2", "the limit" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kernel_argument arguments[3];
        struct kernel_run run = { .ptx = doubled,
                                  .ptx_bytes = strlen(doubled),
                                  .name = "doubled.ptx",
                                  .kernel = rows[i].kernel,
                                  .blocks = { 1, 1, 1 },
                                  .threads = { 32, 1, 1 },
                                  .arguments = arguments };
        struct kernel_outcome outcome;
        assert_ok(kernel_arguments_parse(arguments, &run.argument_count, rows[i].arguments));
        assert_int_equal(kernel_run(&run, &outcome), STATUS_BAD_USAGE);
        if (strstr(status_last()->text, rows[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", status_last()->text, rows[i].says);
        kernel_outcome_release(&outcome);
    }
}

/* By hand, from the table of the programming guide. */
TEST(resident_warps_are_those_that_fit)
{
    static const struct {
        int number, threads, registers, shared, warps;
        enum residency_limit limit;
    } rows[] = {
        { 80, 256, 32, 0, 64, RESIDENCY_WARPS },
        { 80, 256, 40, 0, 48, RESIDENCY_REGISTERS },      /* 1280 a warp: 12 in each part */
        { 80, 32, 32, 0, 32, RESIDENCY_BLOCKS },          /* 32 blocks of a warp */
        { 80, 256, 32, 48 * 1024, 24, RESIDENCY_SHARED }, /* 49 KiB a block, of 164: 3 */
        { 90, 256, 32, 48 * 1024, 32, RESIDENCY_SHARED }, /* of 228: 4 */
        { 90, 1024, 33, 0, 32, RESIDENCY_REGISTERS },     /* 12 warps in a part, 48: one block */
        { 100, 128, 255, 0, 8, RESIDENCY_REGISTERS },     /* 8192 a warp */
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct residency residency;
        assert_ok(residency_of(&residency, &architectures[architecture_find(rows[i].number)], 1,
                               rows[i].threads, rows[i].registers, rows[i].shared));
        assert_int_equal(residency.warps, rows[i].warps);
        assert_int_equal(residency.limit, rows[i].limit);
    }
}

TEST(a_grid_takes_waves)
{
    struct residency residency;

    assert_int_equal(architecture_find(70), -1);
    assert_ok(residency_of(&residency, &architectures[ARCH_90], 8 * 132 + 4, 256, 32, 0));
    assert_int_equal(residency.wave, 8 * 132);
    assert_int_equal(residency.waves, 2);
    assert_int_equal(residency.last, 4);
    assert_true(residency_filled(&residency) < 0.51);
    assert_int_equal(residency_of(&residency, &architectures[ARCH_80], 1, 32, 32, 164 * 1024),
                     STATUS_BAD_USAGE);
    assert_int_equal(residency_of(&residency, &architectures[ARCH_80], 1, 1024, 255, 0),
                     STATUS_BAD_USAGE);
}

/* By hand, from the table of docs/kernels.md: of 132 multiprocessors at 1.98 GHz, or of one. */
TEST(the_slowest_part_bounds_the_time)
{
    static const struct {
        unsigned blocks;
        struct simt_mix mix;
        uint64_t passes, sectors, read, written;
        enum bound_part by;
        double ns;
    } rows[] = {
        { 132, { .of = { [SIMT_FP32] = 132 * 4 * 1980 } }, 0, 0, 0, 0, BOUND_FP32, 1000 },
        { 1, { .of = { [SIMT_FP32] = 4 * 1980 } }, 0, 0, 0, 0, BOUND_FP32, 1000 },
        { 132, { .of = { [SIMT_SPECIAL] = 132 * 1980 } }, 0, 0, 0, 0, BOUND_SPECIAL, 2000 },
        { 132, { .of = { [SIMT_EXCHANGE] = 132 * 1980 } }, 0, 0, 0, 0, BOUND_EXCHANGE, 1000 },
        { 132, { .of = { [SIMT_MEMORY] = 132 * 4 * 1980 } }, 0, 0, 0, 0, BOUND_ISSUE, 1000 },
        { 264, { .of = { [SIMT_MOVE] = 1 << 20 } }, 132 * 1980, 0, 0, 0, BOUND_SHARED, 1000 },
        { 132, { .flops = 0 }, 1, 132 * 4 * 1980, 0, 0, BOUND_L1, 1000 },
        { 132, { .flops = 0 }, 0, 0, 132 * 64 * 1980, 100, BOUND_L2, 1000 },
        /* 3,350 bytes a nanosecond, beyond 50 MiB */
        { 132, { .flops = 0 }, 0, 0, 0, (50 << 20) + 335000000, BOUND_MEMORY, 100000 },
        { 132, { .matrix_products = { 132ull * 2048 * 1980 } }, 0, 0, 0, 0, BOUND_TENSOR, 1000 },
        { 132,
          { .matrix_products = { [SIMT_MATRIX_TF32] = 132ull * 1024 * 1980 } },
          0,
          0,
          0,
          0,
          BOUND_TENSOR,
          1000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kernel_run run = { .blocks = { rows[i].blocks, 1, 1 } };
        struct kernel_outcome outcome = { .mix = rows[i].mix, .array_count = 1 };
        struct kernel_facts facts = { .run = &run,
                                      .outcome = &outcome,
                                      .architecture = &architectures[ARCH_90] };
        struct kernel_bound bound;
        outcome.counts.shared[SIMT_STORES].touched = rows[i].passes;
        outcome.counts.global[SIMT_LOADS].touched = rows[i].sectors;
        outcome.arrays[0].footprint.read = rows[i].read;
        outcome.arrays[0].footprint.written = rows[i].written;
        bound = kernel_bound_of(&facts);
        if (bound.by != rows[i].by)
            fail_msg("row %zu: by %s", i, bound_rows[bound.by].name);
        if (fabs(bound.ns[bound.by] - rows[i].ns) > 1e-6 * rows[i].ns)
            fail_msg("row %zu: %g ns", i, bound.ns[bound.by]);
        assert_true(bound.cold_ns >= bound.ns[bound.by]);
    }
}
