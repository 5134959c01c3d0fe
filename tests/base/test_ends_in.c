/* Endings of names. */
#include "harness/base/words/ends_in.h"
#include "tests/fixtures/cmocka_prelude.h"

static void the_ending_follows_something(void **state)
{
    (void)state;

    assert_true(ends_in("a.json.gz", ".json.gz"));
    assert_true(ends_in("a.json.gz", ".gz"));
    assert_false(ends_in("a.json.gz", ".json"));
    assert_false(ends_in(".json", ".json"));
    assert_false(ends_in("gz", ".json.gz"));
    assert_false(ends_in("", ".gz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_ending_follows_something) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
