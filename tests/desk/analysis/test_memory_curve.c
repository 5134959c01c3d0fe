/* Memory over time: the curve, the peak, and its categories. */
#include "harness/desk/analysis/tables/memory_curve.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

static void add_block(int at_us, int device, int bytes, int allocated, int reserved)
{
    char arguments[200];

    snprintf(arguments, sizeof arguments,
             "\"Device Type\":1,\"Device Id\":%d,\"Bytes\":%d,\"Total Allocated\":%d,"
             "\"Total Reserved\":%d",
             device, bytes, allocated, reserved);
    made_add_instant("[memory]", at_us, arguments);
}

static void add_category(int at_us, int bytes, int allocated, const char *category, int of_category)
{
    char arguments[200];

    snprintf(arguments, sizeof arguments,
             "\"Device Type\":1,\"Device Id\":0,\"Bytes\":%d,\"Total Allocated\":%d,"
             "\"Total Reserved\":1000,\"Category\":\"%s\",\"Category Allocated\":%d",
             bytes, allocated, category, of_category);
    made_add_instant("[memory]", at_us, arguments);
}

TEST(the_peak_is_the_allocators_own_total)
{
    struct analysed analysed;
    struct memory_curve memory;
    const struct memory_device *device;

    made_begin();
    add_block(30, 0, -300, 500, 1000); /* the file's order does not matter */
    add_block(10, 0, 100, 600, 800);
    add_block(20, 0, 200, 800, 1000);
    add_block(5, 1, 7, 7, 8);
    made_add_instant("[memory]", 15, "\"Device Type\":0,\"Device Id\":-1,\"Bytes\":999999");
    made_add_instant("[device memory]", 15, "\"Device Type\":1,\"Device Id\":0,\"Bytes\":4096");
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    assert_int_equal(memory.device_count, 2);
    device = &memory.devices[0];
    assert_true(device->stated);
    assert_int_equal(device->point_count, 3);
    assert_int_equal(device->peak, 800);
    assert_int_equal(device->peak_at_ns, 20000);
    assert_int_equal(device->reserved_at_peak, 1000);
    assert_int_equal(device->first, 600);
    assert_int_equal(device->last, 500);
    assert_int_equal(memory.devices[1].device, 1);
    assert_int_equal(memory.devices[1].peak, 7);
}

TEST(without_totals_the_blocks_are_summed)
{
    static const int blocks[] = { 100, 50, -100, 20, -1 };
    struct analysed analysed;
    struct memory_curve memory;

    made_begin();
    for (int i = 0; i < 5; i++) {
        char arguments[100];
        snprintf(arguments, sizeof arguments, "\"Device Type\":1,\"Device Id\":0,\"Bytes\":%d",
                 blocks[i]);
        made_add_instant("[memory]", i, arguments);
    }
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    assert_false(memory.devices[0].stated);
    assert_int_equal(memory.devices[0].peak, 150);
    assert_int_equal(memory.devices[0].peak_at_ns, 1000);
    assert_int_equal(memory.devices[0].last, 69);
    assert_int_equal(memory.devices[0].reserved_peak, -1);
}

TEST(the_peak_is_split_by_category)
{
    static const struct {
        const char *name;
        int64_t at_peak, peak;
    } wanted[] = { { "activations", 300, 300 }, { "parameters", 150, 150 }, { "input", 0, 50 } };
    struct analysed analysed;
    struct memory_curve memory;

    made_begin();
    add_category(0, 0, 150, "parameters", 100); /* what there is at the beginning, one by one */
    add_category(0, 0, 150, "input", 50);
    add_category(1, 50, 200, "parameters", 150);
    add_category(2, -50, 150, "input", 0);
    add_category(3, 300, 450, "activations", 300);
    add_category(4, -300, 150, "activations", 0);
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    assert_int_equal(memory.devices[0].peak, 450);
    assert_int_equal(memory.devices[0].category_count, ARRAY_SIZE(wanted));
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const struct memory_category *category = &memory.devices[0].categories[i];
        assert_string_equal(trace_file_name(analysed.trace, category->name), wanted[i].name);
        assert_int_equal(category->at_peak, wanted[i].at_peak);
        assert_int_equal(category->peak, wanted[i].peak);
    }
}

/* Memory allocated at the beginning may be the peak; rows of 0 bytes tell of it, one a category. */
TEST(a_peak_at_the_beginning_has_all_its_categories)
{
    struct analysed analysed;
    struct memory_curve memory;

    made_begin();
    add_category(0, 0, 150, "parameters", 100);
    add_category(1, 0, 150, "input", 50);
    add_category(2, -50, 100, "input", 0);
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    assert_int_equal(memory.devices[0].categories[0].at_peak, 100);
    assert_int_equal(memory.devices[0].categories[1].at_peak, 50);
}

/* A hundred blocks come and go; sampled to 10 points, each with its own category's value and the
 * peak among them. */
TEST(samples_keep_the_peak_and_follow_the_categories)
{
    struct analysed analysed;
    struct memory_curve memory;
    bool peak = false;

    made_begin();
    for (int i = 0; i < 100; i++)
        add_category(10 * i, i % 2 == 0 ? 50 : -50, i % 2 == 0 ? 150 + i : 100, "input",
                     i % 2 == 0 ? 50 + i : 0);
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    for (int64_t most = 10; most <= 100; most += 90) {
        struct memory_samples samples =
            memory_samples_of(analysed.arena, &memory, &memory.devices[0], analysed.trace, most);
        assert_int_equal(samples.count, most);
        assert_int_equal(samples.category_count, 1);
        for (int64_t i = 0; i < samples.count; i++) {
            peak = peak || samples.allocated[i] == 248;
            assert_true(i == 0 || samples.at_ns[i] > samples.at_ns[i - 1]);
            assert_true(samples.categories[i] == samples.allocated[i] - 100);
        }
        assert_true(peak);
    }
}

TEST(a_trace_without_memory_has_no_curve)
{
    struct analysed analysed;
    struct memory_curve memory;

    made_begin();
    made_add("cpu_op", "aten::mm", 1, 1, 0, 1, 0);
    analysed = made_analyse();
    memory = memory_curve_of(analysed.arena, analysed.trace);
    assert_int_equal(memory.device_count, 0);
    assert_int_equal(memory.point_count, 0);
}
