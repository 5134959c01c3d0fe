/* For tests: a temporary folder, JPEG files in it, and a cache folder of the test's own. */
#pragma once

#include "tests/fixtures/cmocka_prelude.h"

struct test_folder {
    char path[64];
};

/* A cmocka setup and teardown: *state becomes a struct test_folder, and CHOKEPOINT_CACHE its
 * path. */
int test_folder_setup(void **state);
int test_folder_teardown(void **state);

/* A test with it. */
#define WITH_FOLDER(test) TEST_WITH(test, test_folder_setup, test_folder_teardown)

/* These fail the test when they cannot do it. `name` is relative to the folder and may hold one /,
 * whose folder is made. Returned paths are static. */
const char *test_folder_path(const struct test_folder *folder, const char *name);
const char *test_file(const struct test_folder *folder, const char *name, const void *bytes,
                      size_t count);

/* A JPEG file of one colour: all pixels (value, value, value). */
const char *test_jpeg(const struct test_folder *folder, const char *name, uint8_t value);
