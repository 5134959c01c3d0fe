/* The machine's reports, beside the same kernel made right; how lanes part and meet; what it
 * counts. Each thread of a kernel has its number in %r1, the address of its word in %rd2, and that
 * of word 0 in %rd1. */
#include "tests/simt/ptx_machine.h"

#define START                                                                                      \
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd2, %rd1, " \
    "%rd3;"
#define SHARED       ".shared .align 16 .b8 s[1024];"
#define SHARED_START START "mov.u32 %r8, s; shl.b32 %r9, %r1, 2; add.s32 %r8, %r8, %r9;"

enum { WORDS = 256, THREADS = 64 };

struct finding_case {
    const char *what, *shared, *body;
    unsigned threads;
    enum simt_finding_kind expected;
};

static const struct finding_case cases[] = {
    { "a store to each word", "", START "st.global.u32 [%rd2], %r1;", 64, SIMT_NONE },
    { "a store beyond the block", "", START "st.global.u32 [%rd2+1024], %r1;", 64,
      SIMT_OUT_OF_BOUNDS },
    { "one lane beyond the block", "", START "st.global.u32 [%rd2+772], %r1;", 64,
      SIMT_OUT_OF_BOUNDS },
    { "a load before the block", "", START "ld.global.u32 %r2, [%rd2+-4];", 64,
      SIMT_OUT_OF_BOUNDS },
    { "a word at an odd address", "", START "ld.global.u32 %r2, [%rd2+2];", 64, SIMT_MISALIGNED },
    { "four words at an address of one", "", START "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd2+4];",
      32, SIMT_MISALIGNED },
    { "a load of what was written", "", START "ld.global.u32 %r2, [%rd2];", 64, SIMT_NONE },
    { "a load of what nobody wrote", "", START "ld.global.u32 %r2, [%rd2+512];", 64,
      SIMT_UNWRITTEN },
    { "a load of what the kernel wrote", "",
      START "st.global.u32 [%rd2+512], %r1; ld.global.u32 %r2, [%rd2+512];", 64, SIMT_NONE },
    { "all lanes write to a word", "", START "st.global.u32 [%rd1], %r1;", 32, SIMT_SAME_ADDRESS },
    { "two lanes write to a word", "",
      START "min.u32 %r2, %r1, 30; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd2, %rd1, %rd3; "
            "st.global.u32 [%rd2], %r1;",
      32, SIMT_SAME_ADDRESS },
    { "lane 0 writes", "", START "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], %r1;", 64,
      SIMT_NONE },
    { "both warps write to a word", "",
      START "and.b32 %r2, %r1, 31; setp.eq.u32 %p1, %r2, 0; @%p1 st.global.u32 [%rd1], %r1;", 64,
      SIMT_RACE },
    { "a warp reads what the other wrote", "",
      START "st.global.u32 [%rd2], %r1; xor.b32 %r2, %r1, 32; mul.wide.u32 %rd3, %r2, 4; add.s64 "
            "%rd4, %rd1, %rd3; ld.global.u32 %r3, [%rd4];",
      64, SIMT_RACE },
    { "a warp writes what the other read", "",
      START "xor.b32 %r2, %r1, 32; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; "
            "ld.global.u32 %r3, [%rd4]; st.global.u32 [%rd2], %r3;",
      64, SIMT_RACE },
    { "shared memory by its long name", SHARED,
      SHARED_START "st.shared::cta.u32 [%r8], %r1; nanosleep.u32 20; griddepcontrol.wait;"
                   "ld.shared::cta.L1::no_allocate.u32 %r2, [%r8]; st.global.u32 [%rd2], %r2;",
      64, SIMT_NONE },
    { "shared memory by its long name beyond its end", SHARED,
      SHARED_START "st.shared::cta.u32 [%r8+1024], %r1;", 64, SIMT_OUT_OF_BOUNDS },
    { "all warps read", "", START "ld.global.u32 %r2, [%rd1];", 64, SIMT_NONE },
    { "both warps add to a word", "", START "red.global.add.u32 [%rd1], 1;", 64, SIMT_NONE },
    { "shared memory, with a barrier", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; bar.sync 0; xor.b32 %r9, %r9, 128; mov.u32 %r10, s; "
                   "add.s32 %r10, %r10, %r9; ld.shared.u32 %r2, [%r10]; st.global.u32 [%rd2], %r2;",
      64, SIMT_NONE },
    { "shared memory, without one", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; xor.b32 %r9, %r9, 128; mov.u32 %r10, s; add.s32 "
                   "%r10, %r10, %r9; ld.shared.u32 %r2, [%r10]; bar.sync 0;",
      64, SIMT_NO_BARRIER },
    { "shared memory read, then written", SHARED,
      SHARED_START
      "st.shared.u32 [%r8], %r1; bar.sync 0; xor.b32 %r9, %r9, 128; mov.u32 %r10, s; add.s32 %r10, "
      "%r10, %r9; ld.shared.u32 %r2, [%r10]; st.shared.u32 [%r8], %r2; bar.sync 0;",
      64, SIMT_NO_BARRIER },
    { "a word that all lanes of both warps set to 7", "", START "st.global.u32 [%rd1], 7;", 64,
      SIMT_NONE },
    { "the same, of shared memory", SHARED, SHARED_START "st.shared.u32 [s], 7;", 64, SIMT_NONE },
    { "shared memory that all lanes set to their number", SHARED,
      SHARED_START "st.shared.u32 [s], %r1;", 32, SIMT_SAME_ADDRESS },
    { "a flag that a warp reads and the other one sets", "",
      START "ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd1], 7;", 64, SIMT_RACE },
    { "a lane reads what its neighbour wrote", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; xor.b32 %r9, %r9, 4; mov.u32 %r10, s; add.s32 %r10, "
                   "%r10, %r9; ld.shared.u32 %r2, [%r10];",
      32, SIMT_NO_SYNCWARP },
    { "the same after they met", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; xor.b32 %r9, %r9, 4; mov.u32 %r10, s; add.s32 %r10, "
                   "%r10, %r9; bar.warp.sync -1; ld.shared.u32 %r2, [%r10];",
      32, SIMT_NONE },
    { "a lane writes what its neighbour read", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; bar.warp.sync -1; xor.b32 %r9, %r9, 4; mov.u32 %r10, "
                   "s; add.s32 %r10, %r10, %r9; ld.shared.u32 %r2, [%r10]; st.shared.u32 [%r8], "
                   "%r2;",
      32, SIMT_NO_SYNCWARP },
    { "a lane writes what it and all others read", SHARED,
      SHARED_START "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 1; bar.warp.sync -1; "
                   "ld.shared.u32 %r2, [s]; @%p1 st.shared.u32 [s], 2;",
      32, SIMT_NO_SYNCWARP },
    { "a lane writes what it alone read", SHARED,
      SHARED_START "st.shared.u32 [%r8], %r1; ld.shared.u32 %r2, [%r8]; st.shared.u32 [%r8], %r2;",
      64, SIMT_NONE },
    { "shared memory beyond its end", SHARED, SHARED_START "st.shared.u32 [%r8+1000], %r1;", 64,
      SIMT_OUT_OF_BOUNDS },
    { "shared memory that nobody wrote", SHARED, SHARED_START "ld.shared.u32 %r2, [%r8];", 32,
      SIMT_UNWRITTEN },
    { "generic addresses of both", SHARED,
      SHARED_START "cvt.u64.u32 %rd5, %r8; cvta.shared.u64 %rd5, %rd5; st.u32 [%rd5], %r1; ld.u32 "
                   "%r2, [%rd5]; st.u32 [%rd2], %r2;",
      64, SIMT_NONE },
    { "a barrier that half a warp reaches", "",
      START "and.b32 %r2, %r1, 16; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; bar.sync 0; L:", 64,
      SIMT_BARRIER },
    { "a barrier that a warp never reaches", "",
      START "setp.lt.u32 %p1, %r1, 32; @%p1 ret; bar.sync 0;", 64, SIMT_BARRIER },
    { "a shuffle of all lanes", "", START "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;", 64,
      SIMT_NONE },
    { "a shuffle that half the lanes reach", "",
      START "and.b32 %r2, %r1, 16; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; shfl.sync.bfly.b32 %r2, "
            "%r1, 1, 31, -1; L:",
      64, SIMT_LANE_MASK },
    { "a shuffle of half the lanes", "",
      START "and.b32 %r2, %r1, 16; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; shfl.sync.bfly.b32 %r2, "
            "%r1, 1, 31, 0xffff0000; L:",
      64, SIMT_NONE },
    { "a shuffle from lanes outside the mask", "",
      START "and.b32 %r2, %r1, 16; setp.eq.u32 %p1, %r2, 0; @%p1 bra L; shfl.sync.bfly.b32 %r2, "
            "%r1, 16, 31, 0xffff0000; L:",
      64, SIMT_LANE_MASK },
    { "a trap", "", "trap;", 32, SIMT_TRAP },
    { "more threads than a block has", "", START, 2048, SIMT_LIMITS },
    { "local memory", ".local .align 8 .b8 l[16];",
      START "mov.u64 %rd5, l; st.local.u64 [%rd5+8], %rd1; ld.local.u64 %rd6, [%rd5+8]; "
            "st.global.u32 [%rd2], %r1;",
      64, SIMT_NONE },
    { "local memory beyond its end", ".local .align 8 .b8 l[16];",
      START "mov.u64 %rd5, l; st.local.u64 [%rd5+16], %rd1;", 64, SIMT_OUT_OF_BOUNDS },
};

TEST(each_fault_is_found_and_its_twin_is_clean)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _Alignas(256) uint32_t memory[WORDS] = { 0 };
        struct ptx_machine machine;

        ptx_machine_open(&machine, cases[i].shared, cases[i].body);
        ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory / 2);
        (void)ptx_machine_run(&machine, 1, cases[i].threads, memory);
        if (machine.finding.kind != cases[i].expected)
            fail_msg("%s: found %s (%s), not %s", cases[i].what,
                     simt_finding_text(machine.finding.kind), machine.finding.detail,
                     simt_finding_text(cases[i].expected));
        ptx_machine_close(&machine);
    }
}

/* All of a run, each once, in their order; what follows an access that is none goes on. */
TEST(all_findings_of_a_run_are_kept)
{
    static const enum simt_finding_kind expected[] = { SIMT_UNWRITTEN, SIMT_OUT_OF_BOUNDS,
                                                       SIMT_SAME_ADDRESS, SIMT_TRAP };
    _Alignas(256) uint32_t memory[WORDS] = { 0 };
    struct simt_findings *all = calloc(1, sizeof *all);
    struct ptx_machine machine;

    assert_non_null(all);
    ptx_machine_open(&machine, "",
                     START "mov.u32 %r3, 0;\nL: ld.global.u32 %r2, [%rd2+512];\n"
                           "st.global.u32 [%rd2+1024], %r1;\nst.global.u32 [%rd1], %r1;\n"
                           "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra L;\n"
                           "st.global.u32 [%rd2], %r3;\ntrap;\nst.global.u32 [%rd2+1024], %r1;");
    machine.all = all;
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory / 2);
    assert_false(ptx_machine_run(&machine, 1, 32, memory));
    assert_int_equal(machine.finding.kind, SIMT_UNWRITTEN);
    assert_int_equal(all->count, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_int_equal(all->rows[i].kind, expected[i]);
    for (uint32_t i = 0; i < 32; i++) assert_int_equal(memory[i], 3);
    ptx_machine_close(&machine);
    free(all);
}

/* Lanes far from each other, of which the last one begins inside an array and ends beyond it; and
 * lanes that all do. */
TEST(a_wide_access_that_straddles_the_end_is_found)
{
    static const struct {
        const char *text;
        unsigned bytes;
    } rows[] = {
        { "st.global.v2.u32 [%rd2], {%r1, %r1};", 8 },
        { "st.global.v4.u32 [%rd2], {%r1, %r1, %r1, %r1};", 16 },
        { "st.global.v2.u64 [%rd2], {%rd1, %rd1};", 16 },
        { "ld.global.v2.u32 {%r2, %r3}, [%rd2];", 8 },
        { "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd2];", 16 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (unsigned n = 0; n < 2 * rows[i].bytes / 4; n++) {
            _Alignas(256) uint32_t memory[WORDS] = { 0 };
            unsigned stride = n % 2 == 0 ? 64 : 0, inside = 4 + n / 2 * 4;
            bool is_whole = inside == rows[i].bytes,
                 differ = strstr(rows[i].text, "{%r1,") != NULL && rows[i].text[0] == 's';
            struct ptx_machine machine;
            char body[256];
            snprintf(body, sizeof body,
                     "ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd3, %%r1, %u;"
                     "add.s64 %%rd2, %%rd1, %%rd3; add.s64 %%rd2, %%rd2, %u; %s",
                     stride, 15 * (64 - stride), rows[i].text);
            ptx_machine_open(&machine, "", body);
            ptx_machine_memory(&machine, memory, 15 * 64 + inside, 15 * 64 + inside);
            (void)ptx_machine_run(&machine, 1, 16, memory);
            assert_int_equal(machine.finding.kind, !is_whole               ? SIMT_OUT_OF_BOUNDS
                                                   : differ && stride == 0 ? SIMT_SAME_ADDRESS
                                                                           : SIMT_NONE);
            ptx_machine_close(&machine);
        }
}

/* Lanes leave one by one, each by a branch inside the branch of the one before. The ways of the
 * many run first, so that all 31 lanes that left wait, and 31 places where lanes meet. */
TEST(lanes_part_as_often_as_there_are_lanes)
{
    _Alignas(256) uint32_t memory[WORDS] = { 0 };
    struct ptx_machine machine;
    char body[8192] = START "mov.u32 %r2, 0;\n";
    size_t length = strlen(body);

    for (int lane = 0; lane < 31; lane++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "setp.ne.u32 %%p1, %%r1, %d; @%%p1 bra MANY%d;\n"
                                   "add.u32 %%r2, %%r2, 100; bra MEET%d;\n"
                                   "MANY%d: add.u32 %%r2, %%r2, 1;\n",
                                   lane, lane, lane, lane);
    for (int lane = 30; lane >= 0; lane--)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "MEET%d: add.u32 %%r2, %%r2, 1000;\n", lane);
    snprintf(body + length, sizeof body - length, "st.global.u32 [%%rd2], %%r2;");
    ptx_machine_open(&machine, "", body);
    ptx_machine_memory(&machine, memory, sizeof memory, 0);
    assert_true(ptx_machine_run(&machine, 1, 32, memory));
    for (uint32_t lane = 0; lane < 32; lane++)
        assert_int_equal(memory[lane], lane < 31 ? 1000 * (lane + 1) + 100 + lane : 31031);
    ptx_machine_close(&machine);
}

/* A finding names the instruction, the source line and the thread; closed bytes are no memory, and
 * what is allowed by the kernel's name is no finding. */
TEST(a_finding_says_where_and_may_be_allowed)
{
    _Alignas(256) uint32_t memory[WORDS] = { 0 };
    struct ptx_machine machine;

    ptx_machine_open(&machine, "", START "ld.global.u32 %r2, [%rd2+512];");
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory / 2);
    assert_false(ptx_machine_run(&machine, 1, 64, memory));
    assert_string_equal(machine.finding.instruction, "ld.global.u32 %r2, [%rd2+512]");
    assert_non_null(strstr(machine.finding.detail, "block (0, 0, 0), thread 0: byte 512 of 1024"));
    assert_ok(simt_allow(machine.simt, SIMT_UNWRITTEN, "k"));
    assert_true(ptx_machine_run(&machine, 1, 64, memory));
    assert_ok(simt_memory_close(machine.simt, (char *)memory + 700, 8));
    assert_false(ptx_machine_run(&machine, 1, 64, memory));
    assert_int_equal(machine.finding.kind, SIMT_OUT_OF_BOUNDS);
    simt_memory_reopen(machine.simt, (char *)memory + 700, 8);
    assert_true(ptx_machine_run(&machine, 1, 64, memory));
    simt_memory_remove(machine.simt, memory);
    assert_false(ptx_machine_run(&machine, 1, 64, memory));
    ptx_machine_close(&machine);
}

/* A piece of work that comes after `before` pieces of stream 1 and of stream 2 each. */
static enum simt_finding_kind use(struct ptx_machine *machine, uint32_t stream, uint64_t number,
                                  uint64_t before, const void *address, size_t bytes, bool store)
{
    const struct simt_order order = { stream, number, { 0, before, before } };
    const struct simt_use use = { "a copy", &order, address, bytes, store };

    (void)simt_use(machine->simt, &use, &machine->finding);
    return machine->finding.kind;
}

static enum simt_finding_kind launch(struct ptx_machine *machine, uint32_t stream, uint64_t number,
                                     uint64_t before, const void *address)
{
    const struct simt_order order = { stream, number, { 0, before, before } };

    machine->order = &order;
    (void)ptx_machine_run(machine, 1, 32, address);
    machine->order = NULL;
    return machine->finding.kind;
}

/* A kernel on stream 1 writes 128 bytes. Another stream must use them after it, and a write to them
 * must come after every read of them. */
TEST(work_of_streams_that_nothing_orders_is_found)
{
    _Alignas(256) uint32_t memory[WORDS] = { 0 }, hosts[1] = { 0 };
    struct ptx_machine machine;

    ptx_machine_open(&machine, "", START "st.global.u32 [%rd2], %r1;");
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    assert_int_equal(launch(&machine, 1, 1, 0, memory), SIMT_NONE);
    assert_int_equal(launch(&machine, 1, 2, 0, memory), SIMT_NONE);
    assert_int_equal(use(&machine, 2, 1, 1, memory, 4, false), SIMT_UNORDERED);
    assert_non_null(strstr(status_last()->text, "a copy on stream 2, from byte 0 of 1024: "));
    assert_int_equal(use(&machine, 2, 1, 1, memory + 31, 8, false), SIMT_UNORDERED);
    assert_int_equal(use(&machine, 2, 1, 1, memory + 32, 512, false), SIMT_NONE);
    assert_int_equal(launch(&machine, 2, 1, 1, memory), SIMT_UNORDERED);
    assert_non_null(strstr(machine.finding.detail, "byte 0 of 1024, of stream 1"));
    assert_int_equal(launch(&machine, 2, 1, 1, memory + 32), SIMT_NONE);
    assert_int_equal(use(&machine, 2, 2, 2, memory, 128, false), SIMT_NONE);
    assert_int_equal(use(&machine, 1, 3, 0, memory, 128, false), SIMT_NONE);
    assert_int_equal(use(&machine, 2, 3, 2, memory, 128, true), SIMT_UNORDERED);
    assert_int_equal(use(&machine, 2, 4, 3, memory, 128, true), SIMT_NONE);
    assert_int_equal(use(&machine, 1, 4, 2, hosts, sizeof hosts, true), SIMT_NONE);
    assert_int_equal(use(&machine, 1, 5, 9, memory + 1, sizeof memory, true), SIMT_OUT_OF_BOUNDS);
    ptx_machine_close(&machine);
}

/* A launch hands over exactly the kernel's arguments. */
TEST(arguments_of_another_size_are_found)
{
    const struct simt_grid grid = { .blocks = { 1, 1, 1 }, .threads = { 32, 1, 1 } };
    const void *arguments[] = { "12345678" };
    const size_t sizes[] = { 4 };
    struct ptx_machine machine;

    ptx_machine_open(&machine, "", "");
    assert_int_equal(
        simt_launch(machine.simt, machine.kernel, &grid, arguments, sizes, 1, &machine.finding),
        STATUS_BAD_USAGE);
    assert_int_equal(machine.finding.kind, SIMT_ARGUMENTS);
    ptx_machine_close(&machine);
}

static void run_and_compare(const char *shared, const char *body, unsigned blocks, unsigned threads,
                            uint32_t (*expected)(uint32_t thread))
{
    _Alignas(256) uint32_t memory[WORDS] = { 0 };
    struct ptx_machine machine;

    ptx_machine_open(&machine, shared, body);
    ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
    if (!ptx_machine_run(&machine, blocks, threads, memory))
        fail_msg("%s", status_last()->text);
    for (uint32_t i = 0; i < blocks * threads; i++)
        if (memory[i] != expected(i))
            fail_msg("thread %u has %u, should have %u", i, memory[i], expected(i));
    ptx_machine_close(&machine);
}

static uint32_t collatz(uint32_t thread)
{
    uint32_t steps = 0;

    for (uint32_t n = thread + 1; n != 1; steps++) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

/* Each lane leaves the loop in its own time, and branches within it. */
TEST(lanes_part_and_meet_again)
{
    run_and_compare("",
                    START "add.u32 %r2, %r1, 1; mov.u32 %r3, 0;\n"
                          "LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;\n"
                          "and.b32 %r4, %r2, 1; setp.eq.u32 %p2, %r4, 0; @%p2 bra EVEN;\n"
                          "mad.lo.u32 %r2, %r2, 3, 1; bra NEXT;\n"
                          "EVEN: shr.u32 %r2, %r2, 1;\n"
                          "NEXT: add.u32 %r3, %r3, 1; bra LOOP;\n"
                          "DONE: st.global.u32 [%rd2], %r3;",
                    1, 50, collatz);
}

static uint32_t half_sum(uint32_t thread)
{
    return thread % 32 == 0 ? 496 + 1024 * (thread / 32) : thread;
}

/* A reduction by shuffles; lanes that return early take no part in what follows. */
TEST(shuffles_add_up_the_lanes)
{
    run_and_compare("",
                    START "mov.u32 %r2, %r1;\n"
                          "shfl.sync.down.b32 %r3, %r2, 16, 31, -1; add.u32 %r2, %r2, %r3;\n"
                          "shfl.sync.down.b32 %r3, %r2, 8, 31, -1; add.u32 %r2, %r2, %r3;\n"
                          "shfl.sync.bfly.b32 %r3, %r2, 4, 31, -1; add.u32 %r2, %r2, %r3;\n"
                          "shfl.sync.bfly.b32 %r3, %r2, 2, 31, -1; add.u32 %r2, %r2, %r3;\n"
                          "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; add.u32 %r2, %r2, %r3;\n"
                          "st.global.u32 [%rd2], %r1;\n"
                          "and.b32 %r4, %r1, 31; setp.ne.u32 %p1, %r4, 0; @%p1 ret;\n"
                          "st.global.u32 [%rd2], %r2;",
                    1, 64, half_sum);
}

static uint32_t exchanged(uint32_t thread)
{
    uint32_t lane = thread % 32, up = lane >= 3 ? lane - 3 : lane, idx = lane / 8 * 8 + 5;

    return up + 100 * idx + (lane < 16 ? 10000 : 0) + (lane == 31 ? 20000 : 0);
}

/* Shuffles up and by index within segments of 8 lanes, a ballot, and a vote. */
TEST(lanes_exchange_numbers)
{
    run_and_compare(
        "",
        START "and.b32 %r2, %r1, 31; setp.lt.u32 %p1, %r2, 16;\n"
              "shfl.sync.up.b32 %r3|%p2, %r2, 3, 0, -1;\n"
              "shfl.sync.idx.b32 %r4, %r2, 5, 0x181f, -1; mad.lo.u32 %r3, %r4, 100, %r3;\n"
              "vote.sync.ballot.b32 %r5, %p1, -1; shr.u32 %r5, %r5, %r2; and.b32 %r5, %r5, 1;\n"
              "mad.lo.u32 %r3, %r5, 10000, %r3;\n"
              "setp.eq.u32 %p3, %r2, 31; vote.sync.any.pred %p4, %p3, -1;\n"
              "and.pred %p4, %p4, %p3; selp.b32 %r6, 20000, 0, %p4; add.u32 %r3, %r3, %r6;\n"
              "st.global.u32 [%rd2], %r3;",
        1, 64, exchanged);
}

/* The numbers of a warp are its threads' less 40. */
static uint32_t reduced(uint32_t thread)
{
    uint32_t sum = 0, least = UINT32_MAX, most = 0, all = UINT32_MAX, any = 0;
    int32_t low = INT32_MAX, high = INT32_MIN;

    for (uint32_t i = thread / 32 * 32; i < thread / 32 * 32 + 32; i++) {
        uint32_t x = i - 40;
        sum += x;
        least = x < least ? x : least;
        most = x > most ? x : most;
        low = (int32_t)x < low ? (int32_t)x : low;
        high = (int32_t)x > high ? (int32_t)x : high;
        all &= x;
        any |= x;
    }
    return sum + 3 * least + 5 * most + 7 * (uint32_t)low + 11 * (uint32_t)high + 13 * all +
           17 * any;
}

TEST(lanes_reduce_their_numbers)
{
    run_and_compare("",
                    START "sub.u32 %r2, %r1, 40; redux.sync.add.s32 %r3, %r2, -1;\n"
                          "redux.sync.min.u32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 3, %r3;\n"
                          "redux.sync.max.u32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 5, %r3;\n"
                          "redux.sync.min.s32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 7, %r3;\n"
                          "redux.sync.max.s32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 11, %r3;\n"
                          "redux.sync.and.b32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 13, %r3;\n"
                          "redux.sync.or.b32 %r4, %r2, -1; mad.lo.u32 %r3, %r4, 17, %r3;\n"
                          "st.global.u32 [%rd2], %r3;",
                    1, 64, reduced);
}

/* Up to 9 and from 0 on again, down from 9, and in halves: what each thread found. */
static uint32_t counted(uint32_t thread)
{
    return thread % 10 + 100 * ((10 - thread % 10) % 10) + 10000 * (thread / 2);
}

TEST(atomic_operations_count_up_and_down)
{
    run_and_compare("",
                    START "atom.global.inc.u32 %r2, [%rd1+512], 9;\n"
                          "atom.global.dec.u32 %r3, [%rd1+516], 9; mad.lo.u32 %r2, %r3, 100, %r2;\n"
                          "atom.global.add.f64 %rd5, [%rd1+520], 0d3FE0000000000000;\n"
                          "cvt.rzi.u32.f64 %r4, %rd5; mad.lo.u32 %r2, %r4, 10000, %r2;\n"
                          "st.global.u32 [%rd2], %r2;",
                    1, 64, counted);
}

/* Threads 0 to 69 of 96 say yes at the first barrier, all at the next, none at the last. */
static uint32_t voted(uint32_t thread)
{
    return 70 + 1000 * (96 + 1 + 2) + thread;
}

TEST(threads_vote_at_barriers)
{
    run_and_compare("",
                    START "setp.lt.u32 %p1, %r1, 70; setp.ge.u32 %p2, %r1, 0;\n"
                          "bar.red.popc.u32 %r2, 0, %p1; bar.red.popc.u32 %r3, 0, %p2;\n"
                          "bar.red.and.pred %p3, 0, %p1; bar.red.and.pred %p4, 0, %p2;\n"
                          "bar.red.or.pred %p5, 0, %p1; bar.red.or.pred %p6, 0, !%p2;\n"
                          "selp.u32 %r4, 5, 0, %p3; add.u32 %r3, %r3, %r4;\n"
                          "selp.u32 %r4, 1, 0, %p4; add.u32 %r3, %r3, %r4;\n"
                          "selp.u32 %r4, 2, 0, %p5; add.u32 %r3, %r3, %r4;\n"
                          "selp.u32 %r4, 7, 0, %p6; add.u32 %r3, %r3, %r4;\n"
                          "mad.lo.u32 %r2, %r3, 1000, %r2; add.u32 %r2, %r2, %r1;\n"
                          "st.global.u32 [%rd2], %r2;",
                    1, 96, voted);
}

static uint32_t reversed(uint32_t thread)
{
    return thread / 128 * 1000 + 127 - thread % 128;
}

/* Four warps of two blocks turn their numbers round by way of shared memory. */
TEST(a_block_exchanges_by_shared_memory)
{
    run_and_compare(
        SHARED,
        "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, "
        "%ntid.x;\n"
        "mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd2, %rd1, %rd3;\n"
        "mov.u32 %r8, s; shl.b32 %r9, %r1, 2; add.s32 %r10, %r8, %r9; mad.lo.u32 %r5, %r2, 1000, "
        "%r1;\n"
        "st.shared.u32 [%r10], %r5; bar.sync 0;\n"
        "sub.u32 %r11, 508, %r9; add.s32 %r11, %r11, %r8; ld.shared.u32 %r6, [%r11];\n"
        "st.global.u32 [%rd2], %r6;",
        2, 128, reversed);
}

static uint32_t atomics(uint32_t thread)
{
    static const uint32_t expected[] = { 2016, 63, 7, 0 };

    return thread < 3 ? expected[thread] : 0;
}

TEST(atomic_operations_add_up)
{
    run_and_compare("",
                    START
                    "red.global.add.u32 [%rd1], %r1; atom.global.max.u32 %r2, [%rd1+4], %r1;\n"
                    "atom.global.cas.b32 %r3, [%rd1+8], 0, 7; red.global.or.b32 [%rd1+12], 0;",
                    1, 64, atomics);
}

/* Sectors, by hand: 32 words in a row are 4 sectors; at a distance of 32 bytes each has its own; in
 * pairs of 16 bytes, 32 bytes apart, a request of 512 bytes touches 32 sectors where 16 would
 * do. */
TEST(sectors_are_counted)
{
    static const struct {
        const char *body;
        uint64_t requests, sectors, wanted;
    } rows[] = {
        { START "ld.global.u32 %r2, [%rd2];", 1, 4, 4 },
        { START "ld.global.u32 %r2, [%rd1];", 1, 1, 1 },
        { START "ld.global.u32 %r2, [%rd2+4];", 1, 5, 4 },
        { START "mul.wide.u32 %rd3, %r1, 32; add.s64 %rd2, %rd1, %rd3; ld.global.u32 %r2, [%rd2];",
          1, 32, 4 },
        { START "mul.wide.u32 %rd3, %r1, 32; add.s64 %rd2, %rd1, %rd3; ld.global.v4.u32 "
                "{%r2,%r3,%r4,%r5}, [%rd2]; ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd2+16];",
          2, 64, 32 },
        { START "setp.lt.u32 %p1, %r1, 8; @%p1 ld.global.u32 %r2, [%rd2];", 1, 1, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _Alignas(256) uint32_t memory[WORDS] = { 0 };
        struct ptx_machine machine;
        struct simt_counts counts;

        ptx_machine_open(&machine, "", rows[i].body);
        ptx_machine_memory(&machine, memory, sizeof memory, sizeof memory);
        assert_true(ptx_machine_run(&machine, 1, 32, memory));
        counts = simt_counts_of(machine.simt, machine.kernel);
        assert_int_equal(simt_accesses_sum(counts.global).requests, rows[i].requests);
        assert_int_equal(simt_accesses_sum(counts.global).touched, rows[i].sectors);
        assert_int_equal(simt_accesses_sum(counts.global).wanted, rows[i].wanted);
        ptx_machine_close(&machine);
    }
}

/* Passes of shared memory: a word per bank is one; a column of 32 words in one bank is 32; a word
 * for all is one. */
TEST(passes_of_the_banks_and_lanes_are_counted)
{
    static const struct {
        const char *address;
        uint64_t passes;
    } rows[] = { { "shl.b32 %r9, %r1, 2;", 1 },
                 { "shl.b32 %r9, %r1, 7;", 32 },
                 { "mov.u32 %r9, 0;", 1 } };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char body[512];
        struct ptx_machine machine;
        struct simt_counts counts;

        snprintf(body, sizeof body,
                 "mov.u32 %%r1, %%tid.x; %s mov.u32 %%r8, s; add.s32 %%r8, %%r8, %%r9;"
                 "ld.shared.u32 %%r2, [%%r8]; setp.lt.u32 %%p1, %%r1, 8; @%%p1 mov.u32 %%r3, 1;",
                 rows[i].address);
        ptx_machine_open(&machine, ".shared .align 16 .b8 s[4096];", body);
        assert_ok(simt_allow(machine.simt, SIMT_UNWRITTEN, "k"));
        assert_true(ptx_machine_run(&machine, 1, 32, NULL));
        counts = simt_counts_of(machine.simt, machine.kernel);
        assert_int_equal(simt_accesses_sum(counts.shared).requests, 1);
        assert_int_equal(simt_accesses_sum(counts.shared).touched, rows[i].passes);
        assert_int_equal(counts.instructions, 8);
        assert_int_equal(counts.lanes, 7 * 32 + 8);
        simt_counts_clear(machine.simt);
        assert_int_equal(simt_counts_of(machine.simt, machine.kernel).instructions, 0);
        ptx_machine_close(&machine);
    }
}
