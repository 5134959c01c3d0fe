/* Counts by line, of barriers, loads that wait for each other, atomic operations and local memory:
 * each by hand. */
#include "tests/simt/ptx_machine.h"

enum { WORDS = 4096 };

#define START                                                                                      \
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;"                      \
    "add.s64 %rd2, %rd1, %rd3;"

static struct simt_counts counts_of(const char *shared, const char *body, unsigned blocks,
                                    unsigned threads)
{
    _Alignas(256) static uint32_t memory[WORDS];
    struct ptx_machine machine;
    struct simt_counts counts;

    ptx_machine_open(&machine, shared, body);
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    if (!ptx_machine_run(&machine, blocks, threads, memory))
        fail_msg("%s: %s", simt_finding_text(machine.finding.kind), machine.finding.detail);
    counts = simt_counts_of(machine.simt, machine.kernel);
    ptx_machine_close(&machine);
    return counts;
}

/* Bytes next to each other, 4 after a multiple of 32, are a sector too many; words 8 bytes apart
 * are twice as many sectors, of which none is for their beginning. */
TEST(bytes_and_shifted_sectors_are_counted)
{
    static const struct {
        const char *body;
        uint64_t bytes, touched, wanted, shifted;
    } rows[] = {
        { START "ld.global.u32 %r2, [%rd2];", 128, 4, 4, 0 },
        { START "ld.global.u32 %r2, [%rd2+4];", 128, 5, 4, 1 },
        { START "ld.global.u32 %r2, [%rd1+4];", 128, 1, 1, 0 },
        { START "add.s64 %rd2, %rd2, %rd3; ld.global.u32 %r2, [%rd2];", 128, 8, 4, 0 },
        /* 16 words, a gap of 16, and 16 more, each 8 bytes too late */
        { START "and.b32 %r3, %r1, 16; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd2, %rd2, %rd4;"
                "ld.global.u32 %r2, [%rd2+8];",
          128, 6, 4, 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct simt_accesses loads = counts_of("", rows[i].body, 1, 32).global[SIMT_LOADS];
        assert_int_equal(loads.requests, 1);
        assert_int_equal(loads.lanes, 32);
        assert_int_equal(loads.bytes, rows[i].bytes);
        assert_int_equal(loads.touched, rows[i].touched);
        assert_int_equal(loads.wanted, rows[i].wanted);
        assert_int_equal(loads.shifted, rows[i].shifted);
    }
}

TEST(loads_that_wait_for_each_other_are_counted)
{
    static const struct {
        const char *body;
        uint64_t loads, waits;
    } rows[] = {
        { START "ld.global.u32 %r2, [%rd2]; ld.global.u32 %r3, [%rd2+256];", 2, 1 },
        /* a chain */
        { START "ld.global.u32 %r2, [%rd2]; and.b32 %r2, %r2, 4; cvt.u64.u32 %rd4, %r2;"
                "add.s64 %rd5, %rd2, %rd4; ld.global.u32 %r3, [%rd5];",
          2, 2 },
        /* what is stored has to have come, and the next load may read it */
        { START "ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd2], %r2;"
                "ld.global.u32 %r3, [%rd2+256];",
          2, 2 },
        { START "ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd2], %r2;"
                "ld.global.nc.u32 %r3, [%rd2+256];",
          2, 1 },
        /* a branch parts them */
        { START "ld.global.u32 %r2, [%rd2]; bra L; L: ld.global.u32 %r3, [%rd2+256];", 2, 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct simt_counts counts = counts_of("", rows[i].body, 1, 32);
        assert_int_equal(counts.global[SIMT_LOADS].requests, rows[i].loads);
        assert_int_equal(counts.waits, rows[i].waits);
    }
}

#define OWN   "mov.u32 %r1, %tid.x; mov.u32 %r8, s; shl.b32 %r9, %r1, 2; add.s32 %r8, %r8, %r9;"
#define OTHER "xor.b32 %r9, %r9, 128; mov.u32 %r7, s; add.s32 %r7, %r7, %r9;"

/* A block of two warps: each writes its words, and reads its own or the other's. */
TEST(needed_barriers_are_told_from_others)
{
    static const struct {
        const char *body;
        uint64_t passed, needed;
    } rows[] = {
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; ld.shared.u32 %r2, [%r7];", 1, 1 },
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; ld.shared.u32 %r2, [%r8];", 1, 0 },
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; bar.sync 0; ld.shared.u32 %r2, [%r7];",
          2, 1 },
        /* read the other's, then write there: the second one is needed as well */
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; ld.shared.u32 %r2, [%r7]; bar.sync 0;"
                    "st.shared.u32 [%r8], %r2;",
          2, 2 },
        /* read the other's, then one's own, then write: the first reader counts */
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; ld.shared.u32 %r2, [%r7]; bar.sync 0;"
                    "ld.shared.u32 %r2, [%r8]; bar.sync 0; st.shared.u32 [%r8], %r2;",
          3, 2 },
        /* atomic operations on the other's, then a load */
        { OWN OTHER "st.shared.u32 [%r8], %r1; bar.sync 0; atom.shared.add.u32 %r2, [%r7], 1;"
                    "bar.sync 0; ld.shared.u32 %r2, [%r8];",
          2, 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct simt_counts counts = counts_of(".shared .align 16 .b8 s[256];", rows[i].body, 3, 64);
        assert_int_equal(counts.barriers, 2 * 3 * rows[i].passed);
        assert_int_equal(counts.passed, 3 * rows[i].passed);
        assert_int_equal(counts.needed, 3 * rows[i].needed);
    }
}

/* Memory of the block's own may pass through global memory as well: then no barrier is said to be
 * needless. */
TEST(barriers_for_global_memory_are_needed)
{
    struct simt_counts counts = counts_of(
        "", START "st.global.u32 [%rd2], %r1; bar.sync 0; ld.global.u32 %r2, [%rd2];", 1, 64);

    assert_int_equal(counts.needed, 1);
}

TEST(conflicts_of_atomic_operations_are_counted)
{
    _Alignas(256) static uint32_t memory[WORDS];
    struct ptx_machine machine;
    struct simt_accesses atomics;
    struct simt_footprint footprint;

    ptx_machine_open(&machine, "",
                     START "and.b32 %r2, %r1, 3; mul.wide.u32 %rd4, %r2, 4; add.s64 %rd4, %rd1, "
                           "%rd4; red.global.add.u32 [%rd4], 1; ld.global.u32 %r3, [%rd2+512];");
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    assert_true(ptx_machine_run(&machine, 2, 32, memory));
    atomics = simt_counts_of(machine.simt, machine.kernel).global[SIMT_ATOMICS];
    assert_int_equal(atomics.requests, 2);
    assert_int_equal(atomics.conflicts, 2 * 28);
    footprint = simt_footprint_of(machine.simt, memory);
    assert_int_equal(footprint.atomic_words, 4);
    assert_int_equal(footprint.atomic_most, 16);
    assert_int_equal(footprint.read, 128);
    assert_int_equal(footprint.written, 0);
    ptx_machine_close(&machine);
}

/* The word at one place of all lanes' local memory is 128 bytes in a row. */
TEST(local_memory_is_counted)
{
    struct simt_counts counts = counts_of(
        ".local .align 16 .b8 s[64];",
        "mov.u32 %r1, %tid.x; mov.u64 %rd1, s; st.local.u32 [%rd1], %r1; ld.local.u32 %r2, [%rd1];"
        "and.b32 %r3, %r1, 7; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;"
        "st.local.u32 [%rd3], %r1;",
        1, 32);

    assert_int_equal(counts.local[SIMT_LOADS].touched, 4);
    assert_int_equal(counts.local[SIMT_STORES].requests, 2);
    assert_int_equal(counts.local[SIMT_STORES].bytes, 256);
    assert_int_equal(counts.local[SIMT_STORES].touched, 4 + 32);
    assert_int_equal(simt_accesses_sum(counts.global).requests, 0);
}

TEST(lines_and_samples_have_their_counts)
{
    _Alignas(256) static uint32_t memory[WORDS];
    struct ptx_machine machine;
    struct simt_line *lines;
    struct simt_sample *samples;
    int count;

    ptx_machine_open(&machine, "",
                     ".loc 1 7 1\n" START ".loc 1 9 1\n ld.global.u32 %r2, [%rd2+4];"
                     ".loc 1 8 1\n setp.lt.u32 %p1, %r1, 1; @%p1 bra L; mov.u32 %r3, 1; L:");
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    assert_true(ptx_machine_run(&machine, 1, 64, memory));
    assert_ok(simt_counts_lines(machine.simt, machine.kernel, &lines, &count));
    assert_int_equal(count, 3);
    assert_int_equal(lines[0].line, 7);
    assert_int_equal(lines[0].counts.instructions, 2 * 4);
    assert_int_equal(lines[1].line, 8);
    assert_int_equal(lines[1].counts.branches, 2);
    assert_int_equal(lines[1].counts.diverged, 1);
    assert_int_equal(lines[2].counts.global[SIMT_LOADS].touched, 10);
    free(lines);
    assert_ok(simt_counts_samples(machine.simt, machine.kernel, &samples, &count));
    assert_int_equal(count, 1);
    assert_int_equal(samples[0].line, 9);
    assert_string_equal(samples[0].instruction, "ld.global.u32 %r2, [%rd2+4]");
    assert_int_equal(samples[0].address[1], (uint64_t)(uintptr_t)memory + 8);
    assert_int_equal(samples[0].touched, 5);
    free(samples);
    ptx_machine_close(&machine);
}

TEST(instructions_of_one_lane_are_counted)
{
    struct simt_counts counts = counts_of("",
                                          "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
                                          "L; mov.u32 %r2, 1; mov.u32 %r3, 1; L:",
                                          1, 32);

    assert_int_equal(counts.alone, 2);
}

/* Two warps, of which the second goes on with half of its lanes. */
TEST(instructions_are_sorted_by_what_does_them)
{
    static const char body[] =
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.ge.u32 %p1, %r1, 48; @%p1 bra L;"
        "mov.f32 %f1, 0f3F800000; fma.rn.f32 %f2, %f1, %f1, %f1; mul.f32 %f3, %f2, %f1;"
        "min.f32 %f3, %f3, %f1; ex2.approx.ftz.f32 %f3, %f3; div.rn.f32 %f3, %f1, %f2;"
        "fma.rn.f16x2 %r2, %r1, %r1, %r1; add.rn.f64 %fd1, %fd1, %fd1;"
        "cvt.f64.f32 %fd2, %f1; L: mov.u32 %r3, 0;"
        "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1; st.shared.u32 [s], %r3;"
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f4,%f5,%f6,%f7}, {%r3,%r3,%r3,%r3},"
        " {%r3,%r3}, {%f4,%f5,%f6,%f7}; bar.sync 0;";
    static const uint64_t wanted[SIMT_WORK_COUNT] = {
        [SIMT_FP32] = 4,     [SIMT_FP16] = 2,    [SIMT_FP64] = 2,    [SIMT_TENSOR] = 2,
        [SIMT_SPECIAL] = 4,  [SIMT_ALU] = 4,     [SIMT_CONVERT] = 2, [SIMT_MEMORY] = 2,
        [SIMT_EXCHANGE] = 2, [SIMT_CONTROL] = 6, [SIMT_MOVE] = 8,
    };
    _Alignas(256) static uint32_t memory[WORDS];
    struct ptx_machine machine;
    struct simt_mix mix;

    ptx_machine_open(&machine, ".shared .align 4 .b8 s[4]; .reg .f64 %fd<4>;", body);
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    if (!ptx_machine_run(&machine, 1, 64, memory))
        fail_msg("%s: %s", simt_finding_text(machine.finding.kind), machine.finding.detail);
    mix = simt_mix_of(machine.simt, machine.kernel);
    for (int work = 0; work < SIMT_WORK_COUNT; work++)
        if (mix.of[work] != wanted[work])
            fail_msg("%llu of work %d, not %llu", (unsigned long long)mix.of[work], work,
                     (unsigned long long)wanted[work]);
    assert_int_equal(mix.matrix_products[SIMT_MATRIX_TF32], 2 * 16 * 8 * 8);
    /* fma, mul, fma.f16x2, add.f64 of 48 lanes */
    assert_int_equal(mix.flops, 48 * (2 + 1 + 4 + 1) + 2 * 2 * 16 * 8 * 8);
    ptx_machine_close(&machine);
}

TEST(a_launch_without_end_is_stopped)
{
    struct ptx_machine machine;
    struct simt_grid grid = { .blocks = { 1, 1, 1 },
                              .threads = { 32, 1, 1 },
                              .most_instructions = 1000 };
    const void *none = NULL, *arguments[] = { &none };
    const size_t sizes[] = { sizeof none };

    ptx_machine_open(&machine, "", "L: mov.u32 %r1, %tid.x; bra L;");
    assert_int_not_equal(
        simt_launch(machine.simt, machine.kernel, &grid, arguments, sizes, 1, &machine.finding),
        STATUS_OK);
    assert_int_equal(machine.finding.kind, SIMT_ENDLESS);
    ptx_machine_close(&machine);
}
