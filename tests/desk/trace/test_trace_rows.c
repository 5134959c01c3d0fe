/* A trace filled row by row, without any file. */
#include "harness/desk/trace/trace_rows.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

#define DAY_NS (INT64_C(86400) * 1000000000)

static struct trace_rows rows;

static int open_rows(void **state)
{
    return trace_rows_open(&rows, 8) != STATUS_OK;
}

static int release_rows(void **state)
{
    trace_rows_release(&rows);
    return 0;
}

static uint32_t name(const char *text)
{
    uint32_t number;

    assert_ok(trace_rows_name(&rows, text, strlen(text), &number));
    return number;
}

static uint32_t track(bool on_device, int64_t process, int64_t thread)
{
    uint32_t number;

    assert_ok(trace_rows_track(&rows, (struct event_track){ on_device, process, process, thread },
                               &number));
    return number;
}

static void add(struct trace_event event)
{
    assert_true(trace_rows_have_room(&rows, rows.file->event_count));
    assert_ok(trace_rows_event(&rows, &event));
}

static void add_at(int64_t start_ns)
{
    add((struct trace_event){ .start_ns = start_ns, .end_ns = start_ns + 1, .detail = NO_DETAIL });
}

static void settle(void)
{
    assert_ok(trace_rows_settle(&rows));
}

TEST(an_empty_trace_knows_nothing)
{
    settle();
    assert_int_equal(rows.file->event_count, 0);
    assert_int_equal(rows.file->rank, -1);
    assert_int_equal(rows.file->world_size, -1);
    assert_true(isnan(trace_file_overhead(rows.file)));
    assert_false(rows.file->partial);
}

TEST(names_and_tracks_have_one_number_each)
{
    assert_int_equal(name(""), 0);
    assert_int_equal(name("gemm"), name("gemm"));
    assert_int_not_equal(name("gemm"), name("gemv"));
    assert_string_equal(trace_file_name(rows.file, name("gemv")), "gemv");
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++) assert_int_equal(track(i & 1, i / 2 % 7, i / 14), i);
    assert_int_equal(rows.file->track_count, 1000);
    assert_true(rows.file->tracks[15].on_device);
    assert_int_equal(rows.file->tracks[15].process, 0);
    assert_int_equal(rows.file->tracks[15].thread, 1);
}

TEST(details_are_rows_of_the_kind)
{
    int32_t detail;

    for (int i = 0; i < 100; i++) {
        trace_rows_kernel(&rows, &(struct event_kernel){ .registers = (uint32_t)i }, &detail);
        assert_int_equal(detail, i);
    }
    trace_rows_block(&rows, &(struct event_block){ .device = 3 }, &detail);
    assert_int_equal(detail, 0);
    trace_rows_step(&rows, &(struct event_step){ .samples = 4 }, &detail);
    assert_int_equal(detail, 0);
    trace_rows_operator(&rows, &(struct event_operator){ .flops = 5 }, &detail);
    assert_int_equal(detail, 0);
    assert_int_equal(rows.file->kernel_count, 100);
    assert_int_equal(rows.file->kernels[99].registers, 99);
    assert_int_equal(rows.file->blocks[0].device, 3);
    assert_int_equal(rows.file->steps[0].samples, 4);
    assert_int_equal(rows.file->operators[0].flops, 5);
}

TEST(a_trace_without_room_is_partial)
{
    for (int i = 0; i < 8; i++) add_at(i);
    settle();
    assert_false(rows.file->partial);
    assert_false(trace_rows_have_room(&rows, rows.file->event_count));
    settle();
    assert_true(rows.file->partial);
    assert_string_equal(rows.file->partial_reason, "only the first 8 events were kept");
}

TEST(the_first_reason_for_an_early_end_is_kept)
{
    trace_rows_partial(&rows, "it ends at byte %d", 7);
    trace_rows_have_room(&rows, 8);
    settle();
    assert_string_equal(rows.file->partial_reason, "it ends at byte 7");
}

TEST(broken_events_are_counted_and_the_first_in_the_file_is_said)
{
    trace_rows_bad(&rows, 50, "it has no ts");
    trace_rows_bad(&rows, 20, "it has no ph");
    trace_rows_bad(&rows, 30, "it has no dur");
    assert_int_equal(rows.file->bad_count, 3);
    assert_int_equal(rows.file->bad_offset, 20);
    assert_string_equal(rows.file->bad_reason, "it has no ph");
}

TEST(events_of_another_day_are_left_out)
{
    for (int i = 0; i < 3; i++) add_at(i);
    add_at(2 * DAY_NS);
    settle();
    assert_int_equal(rows.file->event_count, 3);
    assert_int_equal(rows.file->stray_count, 1);
}

TEST(external_ids_join_only_if_there_is_no_correlation)
{
    const struct trace_event call = { .kind = EVENT_KIND_RUNTIME, .external = 9 };
    const struct trace_event one = { .kind = EVENT_KIND_OPERATOR, .external = 9 };

    add(call);
    add(one);
    settle();
    assert_int_equal(rows.file->events[0].correlation, 9);
    assert_int_equal(rows.file->events[1].correlation, 0);
    add(call);
    settle();
    assert_int_equal(rows.file->events[2].correlation, 0);
}

TEST(frames_are_sorted_and_calls_replace_stacks)
{
    static const struct event_frame frames[] = {
        { .start_ns = 1, .end_ns = 2, .is_stack = true },
        { .start_ns = 5, .end_ns = 9, .track = 1 },
        { .start_ns = 6, .end_ns = 7, .track = 0 },
        { .start_ns = 3, .end_ns = 4, .track = 1 },
        { .start_ns = 3, .end_ns = 9, .track = 1 },
    };
    static const int order[] = { 2, 4, 3, 1 };

    assert_int_equal(track(false, 1, 1), 0);
    assert_int_equal(track(false, 1, 2), 1);
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        assert_ok(trace_rows_frame(&rows, &frames[i]));
        assert_int_equal(rows.has_calls, i > 0);
    }
    settle();
    assert_int_equal(rows.file->frame_count, 4);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(&rows.file->frames[i], &frames[order[i]], sizeof *frames);
}

TEST(metadata_is_copied_and_the_last_of_a_key_counts)
{
    char json[] = "17, and more";

    assert_ok(trace_rows_metadata(&rows, "steps", "1", 1));
    assert_ok(trace_rows_metadata(&rows, "steps", json, 2));
    json[0] = 'x';
    assert_string_equal(trace_file_metadata(rows.file, "steps"), "17");
    assert_null(trace_file_metadata(rows.file, "step"));
    assert_int_equal(rows.file->metadata_count, 2);
}

TESTS_EACH(open_rows, release_rows)
