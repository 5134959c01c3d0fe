/* Fills and casts: exact to the bit. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const long counts[] = { 32, 96, 5 * 64, 197 * 768 };

KERNEL_TEST(fill_writes_the_rounded_value_everywhere)
{
    static const float values[] = { 0, 1, 0.1f, -3.14159274f, 1e30f };

    for (size_t i = 0; i < ARRAY_SIZE(counts) * ARRAY_SIZE(values); i++) {
        long count = counts[i % ARRAY_SIZE(counts)];
        float value = values[i / ARRAY_SIZE(counts)];

        workbench_case(bench, "fill: count %ld, value %g", count, (double)value);
        struct tensor *y = tensor_output(bench, REAL, count);
        double *reference = workbench_doubles(bench, count);

        for (long j = 0; j < count; j++) reference[j] = (double)value;
        RUN(bench, fill, count, .y = y->data, .value = value);
        EXPECT(bench, y, reference, 0);
    }
}

KERNEL_TEST(cast_from_float_rounds_to_nearest)
{
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        long count = counts[i];

        workbench_case(bench, "cast_from_float: count %ld", count);
        struct tensor *x = tensor_normal(bench, FLOAT, count, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, count);
        for (long j = 0; j < count; j++) /* Exponents from -60 to 60. */
            x->values[j] = ldexp(x->values[j], (int)random_below(&bench->random, 121) - 60);
        tensor_store(bench, x);

        RUN(bench, cast_from_float, count, .y = y->data, .x = x->data);
        EXPECT(bench, y, x->values, 0);
    }
}

/* Halfway between two bf16 or fp16 values, next to halfway, the ends of the range, where fp16
 * becomes subnormal and infinite, and every kind of NaN: rounding by adding to the bits turns some
 * of these into infinity or zero. */
KERNEL_TEST(cast_from_float_knows_ties_infinity_and_nan)
{
    static const uint32_t special[] = {
        0x3f808000, 0x3f818000, 0x3f807fff, 0x3f808001, 0xbf808000, 0xbf818000, 0x7f7f0000,
        0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fffffff,
        0xffffffff, 0x7f800001, 0xff800001, 0x00000000, 0x3f7f8000, 0x3f7fffff, 0x00800000,
        0x40490fdb, 0x3f801000, 0x3f803000, 0x3f800fff, 0x3f801001, 0xbf801000, 0x477fe000,
        0x477fefff, 0x477ff000, 0xc77ff000, 0x47800000, 0x38800000, 0x387fe000, 0x387fefff,
        0x387ff000, 0x33800000, 0x33c00000, 0x33000000, 0x33000001, 0xb3000001, 0x36a01000,
    };
    enum { COUNT = 64 };
    uint32_t bits[COUNT];

    workbench_case(bench, "cast_from_float: special values");
    for (size_t i = 0; i < COUNT; i++) bits[i] = special[i % ARRAY_SIZE(special)];
    struct tensor *x = tensor_copy(bench, FLOAT, bits, COUNT);
    struct tensor *y = tensor_output(bench, REAL, COUNT);

    RUN(bench, cast_from_float, COUNT, .y = y->data, .x = x->data);
    EXPECT(bench, y, x->values, 0);
}

KERNEL_TEST(cast_to_float_is_exact)
{
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        long count = counts[i];

        workbench_case(bench, "cast_to_float: count %ld", count);
        struct tensor *x = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *y = tensor_output(bench, FLOAT, count);
        x->values[0] = INFINITY;
        x->values[1] = -INFINITY;
        x->values[2] = NAN;
        tensor_store(bench, x);

        RUN(bench, cast_to_float, count, .y = y->data, .x = x->data);
        EXPECT(bench, y, x->values, 0);
    }
}

KERNEL_TEST(cast_to_double_is_exact)
{
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        long count = counts[i];

        workbench_case(bench, "cast_to_double: count %ld", count);
        struct tensor *x = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *y = tensor_output(bench, DOUBLE, count);
        x->values[0] = INFINITY;
        x->values[1] = -INFINITY;
        tensor_store(bench, x);

        RUN(bench, cast_to_double, count, .y = y->data, .x = x->data);
        EXPECT(bench, y, x->values, 0);
    }
}

/* To fp32 and from there to the storage type, or added to what is there. */
KERNEL_TEST(cast_from_double_rounds_or_adds)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
        long count = counts[i / 2];
        bool adds = i % 2;

        workbench_case(bench, "cast_from_double: count %ld, %s", count, adds ? "added" : "alone");
        struct tensor *x = tensor_normal(bench, DOUBLE, count, 0, 1);
        struct tensor *y = tensor_normal(bench, REAL, count, 0, 1);
        double *reference = workbench_doubles(bench, count);

        for (long j = 0; j < count; j++) {
            float rounded = (float)x->values[j];
            reference[j] = adds ? (double)(rounded + (float)y->values[j]) : (double)rounded;
        }
        RUN(bench, cast_from_double, count, .y = y->data, .x = x->data, .accumulate = adds);
        EXPECT(bench, y, reference, 0);
    }
}

KERNEL_TEST(triad_adds_a_scaled_tensor)
{
    const float scale = -1.75f;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        long count = counts[i];

        workbench_case(bench, "triad: count %ld", count);
        struct tensor *a = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *b = tensor_normal(bench, REAL, count, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, count);
        double *reference = workbench_doubles(bench, count);

        for (long j = 0; j < count; j++) reference[j] = a->values[j] + (double)scale * b->values[j];
        RUN(bench, triad, count, .y = y->data, .a = a->data, .b = b->data, .scale = scale);
        EXPECT(bench, y, reference, 1e-6);
    }
}

/* The other tests' beliefs about storage types, from bit patterns. */
KERNEL_TEST(the_workbench_rounds_to_nearest_even)
{
    static const struct {
        uint32_t from, bf16, f16;
    } cases[] = {
        /* From fp32, to bf16, and what fp16 makes of it, as fp32. */
        { 0x3f808000, 0x3f80, 0x3f808000 }, { 0x3f818000, 0x3f82, 0x3f818000 },
        { 0x3f807fff, 0x3f80, 0x3f808000 }, { 0x3f808001, 0x3f81, 0x3f808000 },
        { 0xbf818000, 0xbf82, 0xbf818000 }, { 0x7f7fffff, 0x7f80, 0x7f800000 },
        { 0xff800000, 0xff80, 0xff800000 }, { 0x40490fdb, 0x4049, 0x40490000 },
        { 0x3f801000, 0x3f80, 0x3f800000 }, { 0x3f803000, 0x3f80, 0x3f804000 },
        { 0x477fefff, 0x4780, 0x477fe000 }, { 0x477ff000, 0x4780, 0x7f800000 },
        { 0xc77ff000, 0xc780, 0xff800000 }, { 0x38800000, 0x3880, 0x38800000 },
        { 0x33800000, 0x3380, 0x33800000 }, { 0x33c00000, 0x33c0, 0x34000000 },
        { 0x33000000, 0x3300, 0x00000000 }, { 0x33000001, 0x3300, 0x33800000 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const uint32_t bits[DTYPE_COUNT] = { cases[i].from, cases[i].bf16 << 16, cases[i].f16 };
        float from, want;

        memcpy(&from, &cases[i].from, sizeof from);
        memcpy(&want, &bits[bench->dtype], sizeof want);
        assert_true(workbench_round(bench, REAL, (double)from) == (double)want);
    }
}
