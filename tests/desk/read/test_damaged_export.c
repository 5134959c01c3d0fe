/* Exports of Nsight Systems that are damaged anywhere: reading ends, with a sentence or with rows
 * that can be. */
#include "harness/base/random.h"
#include "harness/desk/read/reader.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"
#include "tests/fixtures/trace_folder.h"

#include <limits.h>

enum { ROUNDS = 3000, BYTES_MOST = 1 << 16, PAGE = 512, CHANGES_MOST = 8 };

static char path[PATH_MAX];
static unsigned char whole[BYTES_MOST];
static size_t whole_size;

static void read_seed(void)
{
    FILE *file = fopen(SEEDS "/nsys.sqlite", "rb");

    assert_non_null(file);
    whole_size = fread(whole, 1, sizeof whole, file);
    assert_in_range(whole_size, 10 * PAGE, sizeof whole - 1);
    fclose(file);
}

static void write_file(const unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int open_folder(void **state)
{
    int failure = trace_folder_open(state);

    snprintf(path, sizeof path, "%s", trace_folder_path("export.sqlite"));
    return failure;
}

/* Returns whether the file was read. */
static bool check_file(const unsigned char *bytes, size_t size)
{
    struct trace_file *trace = NULL;

    write_file(bytes, size);
    if (trace_file_read(&trace, path, NULL) != STATUS_OK) {
        assert_null(trace);
        assert_string_not_equal(status_last()->text, "");
        return false;
    }
    assert_int_equal(trace->partial, trace->partial_reason[0] != '\0');
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        assert_true(event->start_ns <= event->end_ns);
        assert_true(event->name < trace_file_name_count(trace));
        assert_true(event->track < trace->track_count);
        assert_true(event->kind != EVENT_KIND_KERNEL || event->detail < trace->kernel_count);
    }
    trace_file_close(trace);
    return true;
}

TEST(a_whole_export_is_read)
{
    struct trace_file *trace = NULL;

    write_file(whole, whole_size);
    assert_ok(trace_file_read(&trace, path, NULL));
    assert_false(trace->partial);
    assert_int_equal(trace->bad_count, 0);
    assert_int_equal(trace->whole_graph_count, 1);
    assert_string_equal(trace->recorder_said, "17 events were lost");
    trace_file_close(trace);
}

TEST(any_bytes_may_be_others)
{
    unsigned char bytes[BYTES_MOST];
    struct random random = random_seed(test_seed(), 0);
    int read = 0;

    for (int round = 0; round < ROUNDS; round++) {
        int changes = 1 + (int)(random_bits(&random) % CHANGES_MOST);
        memcpy(bytes, whole, whole_size);
        for (int i = 0; i < changes; i++) {
            size_t at = random_bits(&random) % whole_size;
            if (random_bits(&random) % 2 == 0) /* mostly within the head of a page */
                at = at / PAGE * PAGE + random_bits(&random) % 32;
            bytes[at] = random_bits(&random) % 4 == 0 ? 0xff : (unsigned char)random_bits(&random);
        }
        read += check_file(bytes, whole_size);
    }
    assert_in_range(read, ROUNDS / 4, ROUNDS);
}

TEST(the_file_may_end_anywhere)
{
    for (size_t size = 0; size < whole_size; size += 61) check_file(whole, size);
}

TEST(pages_may_be_in_each_others_place)
{
    unsigned char bytes[BYTES_MOST];
    size_t pages = whole_size / PAGE;
    struct random random = random_seed(test_seed(), 1);

    for (int round = 0; round < ROUNDS / 4; round++) {
        size_t from = random_bits(&random) % pages, to = 1 + random_bits(&random) % (pages - 1);
        memcpy(bytes, whole, whole_size);
        memcpy(bytes + to * PAGE, whole + from * PAGE, PAGE);
        check_file(bytes, whole_size);
    }
}

TESTS_WITH(open_folder, trace_folder_remove)

int main(int argc, char **argv)
{
    read_seed();
    return tests_run(argc, argv);
}
