/* An operator is bound by its arithmetic or by its memory. */
#include "harness/base/status.h"
#include "harness/desk/analysis/tables/spans.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* 1 TFLOP/s and 100 GB/s: the ridge is at 10 FLOP per byte. */
static const struct trace_ceilings ceilings = { 1e12, 1e11 };

TEST(the_limit_that_takes_longer_is_the_bound)
{
    static const struct {
        int64_t flops, bytes;
        double ns;
        enum bound bound;
        double share;
    } cases[] = {
        { 2000000, 100000, 4000, BOUND_COMPUTE, 0.5 }, /* 2 us of arithmetic, 1 us of memory */
        { 500000, 100000, 4000, BOUND_MEMORY, 0.25 },  /* 0.5 us of arithmetic */
        { 0, 100000, 1000, BOUND_MEMORY, 1 },          /* a copy */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct roofline roofline =
            roofline_of(&ceilings, cases[i].flops, cases[i].bytes, cases[i].ns);
        assert_int_equal(roofline.bound, cases[i].bound);
        assert_float_equal(roofline.share, cases[i].share, 1e-12);
    }
}

TEST(work_that_beats_a_limit_has_no_share)
{
    struct roofline cached = roofline_of(&ceilings, 0, 200000, 1000),
                    fast = roofline_of(&ceilings, 4000000, 100000, 3000);

    assert_string_equal(bound_name(cached.bound), "cache");
    assert_true(isnan(cached.share));
    assert_int_equal(fast.bound, BOUND_UNKNOWN);
    assert_true(isnan(fast.share));
}

TEST(without_a_limit_or_the_work_the_bound_is_unknown)
{
    static const struct {
        struct trace_ceilings ceilings;
        int64_t flops, bytes;
        double ns;
    } cases[] = {
        { { 0, 1e11 }, 100, 100, 10 },  { { 1e12, 0 }, 100, 100, 10 },
        { { -1, 1e11 }, 100, 100, 10 }, { { NAN, 1e11 }, 100, 100, 10 },
        { { 1e12, 1e11 }, 100, 0, 10 }, { { 1e12, 1e11 }, 100, 100, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct roofline roofline =
            roofline_of(&cases[i].ceilings, cases[i].flops, cases[i].bytes, cases[i].ns);
        assert_int_equal(roofline.bound, BOUND_UNKNOWN);
        assert_null(bound_name(roofline.bound));
        assert_true(isnan(roofline.share));
    }
}

TEST(counters_name_the_limit_that_the_device_comes_near_to)
{
    static const struct {
        struct hardware_counters counters;
        enum bound bound;
        double share;
        const char *text;
    } cases[] = {
        { { 0.97, 0.71, 0.33, 0.25 },
          BOUND_COMPUTE,
          0.71,
          "SMs active 97%, matrix units 71%, device memory 33%, occupancy 25%; near the limit of "
          "compute" },
        { { 0.9, 0.2, 0.88, 0.5 },
          BOUND_MEMORY,
          0.88,
          "SMs active 90%, matrix units 20%, device memory 88%, occupancy 50%; near the limit of "
          "memory" },
        { { 0.5, 0.2, 0.59, 0.1 },
          BOUND_UNKNOWN,
          NAN,
          "SMs active 50%, matrix units 20%, device memory 59%, occupancy 10%" },
        { { 0.8, NAN, 0.7, NAN },
          BOUND_MEMORY,
          0.7,
          "SMs active 80%, device memory 70%; near the limit of memory" },
    };
    char text[COUNTERS_TEXT];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct roofline roofline = roofline_counted(&cases[i].counters);
        assert_int_equal(roofline.bound, cases[i].bound);
        if (cases[i].bound != BOUND_UNKNOWN)
            assert_float_equal(roofline.share, cases[i].share, 1e-12);
        counters_print(text, &cases[i].counters);
        assert_string_equal(text, cases[i].text);
    }
    assert_int_equal(roofline_counted(&HARDWARE_COUNTERS_UNKNOWN).bound, BOUND_UNKNOWN);
}
