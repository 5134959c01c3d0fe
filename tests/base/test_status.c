/* Status codes: what is recorded, where, and how it travels. */
#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <pthread.h>

static enum status inner(int value)
{
    if (value < 0)
        FAIL(STATUS_BAD_INPUT, "value %d is negative; give 0 or more", value);

    return STATUS_OK;
}

static enum status outer(int value)
{
    enum status status = STATUS_OK;

    TRY_OUT(inner(value));

out:
    if (status != STATUS_OK)
        status_context("working on %d", value);
    return status;
}

TEST(failure_keeps_sentence_place_expression_and_context)
{
    const struct status_error *error = status_last();

    assert_int_equal(outer(-3), STATUS_BAD_INPUT);
    assert_int_equal(error->status, STATUS_BAD_INPUT);
    assert_string_equal(error->text, "value -3 is negative; give 0 or more");
    assert_non_null(strstr(error->file, "tests/base/test_status.c"));
    assert_true(error->line > 0);
    assert_string_equal(error->expression, "inner(value)");
    assert_string_equal(error->context, "working on -3");

    status_context("in a test");
    assert_string_equal(error->context, "in a test: working on -3");
    assert_ok(outer(1));
}

static void *fail_elsewhere(void *argument)
{
    outer(-9);
    *(struct status_error *)argument = *status_last();
    return NULL;
}

TEST(errors_belong_to_their_thread_and_travel_by_value)
{
    struct status_error theirs;
    pthread_t thread;

    outer(-1);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &theirs), 0);
    pthread_join(thread, NULL);
    assert_non_null(strstr(status_last()->text, "-1"));
    assert_int_equal(status_raise(&theirs), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "-9"));
}

TEST(every_status_has_a_name_a_text_and_an_exit_code)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        assert_true(strlen(status_name((enum status)i)) > 0);
        assert_true(strlen(status_text((enum status)i)) > 0);
        /* Never GATE_FAILED: what could not be measured is not known to be bad. */
        assert_in_range(status_exit_code((enum status)i), i == STATUS_OK ? GATE_PASSED : 2,
                        i == STATUS_OK ? GATE_PASSED : GATE_UNTOLD);
    }
    assert_string_equal(status_name(STATUS_REFUSED), "REFUSED");
    assert_string_equal(status_name(STATUS_COUNT), "unknown");
}
