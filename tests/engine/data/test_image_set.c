/* The threads that write a set of images: each number once, on every core, and the first error. */
#include "harness/base/system/machine.h"
#include "harness/engine/data/images/image_set.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdatomic.h>

enum { IMAGES = 500 };

static struct {
    atomic_int written[IMAGES], opened, closed;
    int fails_at;   /* image; -1: none */
    int fails_open; /* the n-th, from 1; 0: none */
} made;

static enum status open_worker(void *context, void **worker)
{
    assert_ptr_equal(context, &made);
    *worker = NULL;
    if (atomic_fetch_add(&made.opened, 1) + 1 == made.fails_open)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a worker");
    *worker = &made;

    return STATUS_OK;
}

/* Hides the last error, as releasing something may. */
static void close_worker(void *worker)
{
    (void)worker;
    atomic_fetch_add(&made.closed, 1);
    status_fail(STATUS_INTERNAL, __FILE__, __LINE__, "closing hides the first error");
}

static enum status write_one(void *worker, uint32_t number, const char *folder)
{
    assert_ptr_equal(worker, &made);
    assert_string_equal(folder, "/a/folder");
    atomic_fetch_add(&made.written[number], 1);
    if ((int)number == made.fails_at)
        FAIL(STATUS_IO, "image %u cannot be written", number);

    return STATUS_OK;
}

static enum status write_all_images(int fails_at, int fails_open)
{
    const struct image_set set = { IMAGES, &made, open_worker, close_worker, write_one };

    memset(&made, 0, sizeof made);
    made.fails_at = fails_at;
    made.fails_open = fails_open;
    return image_set_write(&set, "/a/folder");
}

TEST(each_image_is_written_once_by_as_many_threads_as_cores)
{
    assert_ok(write_all_images(-1, 0));
    for (int i = 0; i < IMAGES; i++) assert_int_equal(made.written[i], 1);
    assert_int_equal(made.opened, machine_cores());
    assert_int_equal(made.closed, made.opened);
}

TEST(the_first_error_ends_the_work_and_comes_back)
{
    assert_int_equal(write_all_images(3, 0), STATUS_IO);
    assert_string_equal(status_last()->text, "image 3 cannot be written");
    for (int i = 0; i < IMAGES; i++) assert_in_range(made.written[i], i <= 3, 1);
    assert_int_equal(made.closed, made.opened);
    assert_int_equal(write_all_images(-1, 1), STATUS_OUT_OF_MEMORY);
    assert_string_equal(status_last()->text, "no memory for a worker");
    assert_int_equal(made.closed, made.opened);
}
