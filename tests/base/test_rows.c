/* Arrays that grow, up to sizes that no machine has. */
#include "harness/base/rows.h"
#include "tests/fixtures/cmocka_prelude.h"

struct wide {
    int64_t number;
    char more[40];
};

TEST(rows_stay_as_they_are_while_their_array_grows)
{
    struct wide *rows = NULL;
    int64_t room = 0, grown = 0;

    for (int64_t i = 0; i < 100000; i++) {
        int64_t before = room;
        assert_ok(rows_grow(&rows, i + 1, &room));
        assert_true(room > i);
        grown += room != before;
        rows[i] = (struct wide){ .number = i };
    }
    assert_in_range(grown, 1, 20); /* it doubles */
    for (int64_t i = 0; i < 100000; i++) assert_int_equal(rows[i].number, i);
    free(rows);
}

TEST(many_rows_are_asked_for_at_once)
{
    char *bytes = NULL;
    int64_t room = 0;

    assert_ok(rows_grow(&bytes, 1000000, &room));
    assert_true(room >= 1000000);
    memset(bytes, 1, (size_t)room);
    assert_ok(rows_grow(&bytes, 0, &room));
    free(bytes);
}

TEST(sizes_that_overflow_are_out_of_memory_and_change_nothing)
{
    /* beyond what fits into a size, and just beyond what pointers can be apart */
    static const int64_t counts[] = { INT64_MAX, INT64_MAX / 2,
                                      PTRDIFF_MAX / (int64_t)sizeof(struct wide) + 1 };
    struct wide *rows = NULL, *kept;
    int64_t room = 0;

    assert_ok(rows_grow(&rows, 3, &room));
    kept = rows;
    rows[2].number = 7;
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        int64_t before = room;
        struct wide *made = kept;
        assert_int_equal(rows_grow(&rows, counts[i], &room), STATUS_OUT_OF_MEMORY);
        assert_ptr_equal(rows, kept);
        assert_int_equal(room, before);
        assert_int_equal(rows_make(&made, counts[i]), STATUS_OUT_OF_MEMORY);
        assert_null(made);
    }
    assert_int_equal(rows[2].number, 7);
    assert_int_equal(rows_make(&kept, -1), STATUS_OUT_OF_MEMORY);
    free(rows);
}

TEST(a_new_array_is_zero_and_there_even_without_rows)
{
    struct wide *rows = NULL;
    static const struct wide zero = { 0 };

    assert_ok(rows_make(&rows, 0));
    assert_non_null(rows);
    free(rows);
    assert_ok(rows_make(&rows, 100));
    for (int i = 0; i < 100; i++) assert_memory_equal(&rows[i], &zero, sizeof zero);
    free(rows);
}
