/* Tasks on all cores: each runs once, and each error is of its own task. */
#include "harness/base/system/thread.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdatomic.h>

enum { COUNT = 500 };

struct counts {
    atomic_int runs[COUNT];
};

static enum status count(void *context, int number)
{
    struct counts *counts = context;

    atomic_fetch_add(&counts->runs[number], 1);
    if (number % 7 == 3)
        FAIL(STATUS_BAD_INPUT, "task %d fails", number);

    return STATUS_OK;
}

TEST(each_runs_once_and_has_its_own_error)
{
    static struct status_error errors[COUNT];
    struct counts counts = { { 0 } };
    char text[64];

    memset(errors, 0, sizeof errors);
    tasks_run(COUNT, count, &counts, errors);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(atomic_load(&counts.runs[i]), 1);
        assert_int_equal(errors[i].status, i % 7 == 3 ? STATUS_BAD_INPUT : STATUS_OK);
        snprintf(text, sizeof text, "task %d fails", i);
        assert_string_equal(errors[i].text, i % 7 == 3 ? text : "");
    }
}

TEST(without_tasks_nothing_runs)
{
    tasks_run(0, count, NULL, NULL);
}
