/* The loop's own profiler: what it keeps, and that it changes no result. */
#include "harness/engine/step/measuring/stack_profiler.h"

#include "tests/fixtures/lab/training_fixture.h"

enum { STEPS = 6 };

TEST(every_pass_that_is_launched_has_a_row_with_its_stack)
{
    struct training *training = open_training(*state, "model=light launch=eager profiler=stacks");
    int64_t rows;

    assert_int_equal(stack_profiler_rows(training->profiler), 0);
    assert_int_equal(stack_profiler_depth(training->profiler), 0);
    assert_ok(training_run(training, 1));
    rows = stack_profiler_rows(training->profiler);
    assert_in_range(rows, 20, 1000);
    assert_ok(training_run(training, STEPS));
    assert_int_equal(stack_profiler_rows(training->profiler), (1 + STEPS) * rows);
    assert_in_range(stack_profiler_depth(training->profiler), 4,
                    64); /* at least: the step, its passes, the test */
    training_close(training);
}

TEST(a_graph_that_is_captured_launches_no_pass)
{
    struct training *training = open_training(*state, "model=light launch=graph profiler=stacks");
    int64_t rows;

    assert_ok(training_run(training, 4)); /* both inputs have their graph then */
    rows = stack_profiler_rows(training->profiler);
    assert_ok(training_run(training, STEPS));
    assert_int_equal(stack_profiler_rows(training->profiler), rows);
    training_close(training);
}

TEST(a_profiler_changes_no_bit_of_the_training)
{
    float plain[STEPS], profiled[STEPS];

    run_losses(*state, "model=light launch=eager", STEPS, plain);
    run_losses(*state, "model=light launch=eager profiler=stacks", STEPS, profiled);
    assert_memory_equal(profiled, plain, sizeof plain);
}

TESTS_WITH(open_device, close_device)
