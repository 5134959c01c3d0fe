/* Programs that end, fail, talk a lot, and do not end. */
#include "harness/base/clock.h"
#include "harness/base/system/side_program.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/memory_limit.h"

static void start(struct side_program *program, const char *script, double seconds)
{
    const char *const arguments[] = { "sh", "-c", script, NULL };

    assert_ok(side_program_start(program, "/bin/sh", arguments,
                                 &(struct side_program_options){ .seconds = seconds }));
}

TEST(what_a_program_prints_and_how_it_ends_is_known)
{
    struct side_program program;

    start(&program, "echo out; echo err >&2; exit 7", 30);
    side_programs_wait(&program, 1, NULL);
    assert_string_equal(program.text, "out\n");
    assert_string_equal(program.said, "err\n");
    assert_true(side_program_exited(&program, 7));
    assert_false(side_program_exited(&program, 0));
    side_program_release(&program);
    side_program_release(&program);

    start(&program, "kill -9 $$", 30);
    side_programs_wait(&program, 1, NULL);
    assert_false(side_program_exited(&program, 0));
    side_program_ending(program.said, sizeof program.said, &program);
    assert_non_null(strstr(program.said, "memory is short"));
    side_program_release(&program);
}

TEST(a_megabyte_comes_through_and_of_errors_the_end)
{
    struct side_program program;

    start(&program,
          "head -c 1000000 /dev/zero | tr '\\0' x; head -c 5000 /dev/zero | tr '\\0' y >&2; echo "
          "end >&2",
          30);
    side_programs_wait(&program, 1, NULL);
    assert_int_equal(program.length, 1000000);
    assert_int_equal(strlen(program.text), 1000000);
    assert_string_equal(program.said + strlen(program.said) - 5, "yend\n");
    side_program_release(&program);
}

/* One that ignores the request is killed; the others have run meanwhile. */
TEST(one_that_hangs_costs_its_own_result_only)
{
    struct side_program programs[3];
    int64_t begin_ns = clock_ns();

    start(&programs[0], "trap '' TERM; while :; do sleep 1; done", 0.2);
    start(&programs[1], "echo fine", 30);
    start(&programs[2], "sleep 100", 0.2);
    side_programs_wait(programs, 3, NULL);
    assert_true(programs[0].timed_out && programs[2].timed_out);
    assert_true(side_program_exited(&programs[1], 0));
    assert_true(clock_ns() - begin_ns < (int64_t)60 * 1000000000);
    side_program_ending(programs[0].said, sizeof programs[0].said, &programs[0]);
    assert_non_null(strstr(programs[0].said, "it hangs"));
    for (int i = 0; i < 3; i++) side_program_release(&programs[i]);
}

/* dd fills a buffer of 200 MB. */
TEST(a_program_may_take_so_much_memory_and_no_more)
{
    const char *const arguments[] = { "dd",      "if=/dev/zero", "of=/dev/null",
                                      "bs=200M", "count=1",      NULL };

    if (!memory_limits_hold()) {
        print_message("an emulator, which sets no limit of memory\n");
        skip();
    }
    for (int limited = 0; limited < 2; limited++) {
        struct side_program_options options = { .seconds = 30,
                                                .memory_bytes = limited ? 100 << 20 : 0 };
        struct side_program program;
        assert_ok(side_program_start(&program, "/bin/dd", arguments, &options));
        side_programs_wait(&program, 1, NULL);
        assert_int_equal(side_program_exited(&program, 0), !limited);
        side_program_release(&program);
    }
}

TEST(a_flag_ends_them_at_once)
{
    static const volatile sig_atomic_t stop = 1;
    struct side_program program;

    start(&program, "sleep 1000", 1000);
    side_programs_wait(&program, 1, &stop);
    assert_true(program.timed_out);
    side_program_release(&program);
}

TEST(a_program_that_is_not_there_ends_with_127)
{
    const char *const arguments[] = { "nothing", NULL };
    struct side_program program;

    assert_ok(side_program_start(&program, "/nowhere/nothing", arguments,
                                 &(struct side_program_options){ .seconds = 30 }));
    side_programs_wait(&program, 1, NULL);
    assert_true(side_program_exited(&program, 127));
    side_program_release(&program);
}
