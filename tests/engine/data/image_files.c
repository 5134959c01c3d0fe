#include "tests/engine/data/image_files.h"

#include "harness/engine/data/images/jpeg.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 16 };

int test_folder_setup(void **state)
{
    struct test_folder *folder = calloc(1, sizeof *folder);

    *state = folder;
    if (folder == NULL)
        return -1;
    /* In memory where that can be: the tests of data sets write ten thousand files. */
    snprintf(folder->path, sizeof folder->path, "%s/chokepoint-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(folder->path) != NULL ? setenv("CHOKEPOINT_CACHE", folder->path, 1) : -1;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

int test_folder_teardown(void **state)
{
    struct test_folder *folder = *state;
    int failed = nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);

    free(folder);
    return failed;
}

const char *test_folder_path(const struct test_folder *folder, const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return path;
}

const char *test_file(const struct test_folder *folder, const char *name, const void *bytes,
                      size_t count)
{
    static char path[PATH_MAX];
    char *slash;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *test_jpeg(const struct test_folder *folder, const char *name, uint8_t value)
{
    uint8_t rgb[SIDE * SIDE * 3];
    struct jpeg_encoder *encoder;
    const uint8_t *jpeg;
    size_t bytes;
    const char *path;

    memset(rgb, value, sizeof rgb);
    assert_ok(jpeg_encoder_open(&encoder));
    assert_ok(jpeg_encode(encoder, rgb, SIDE, SIDE, 95, &jpeg, &bytes));
    path = test_file(folder, name, jpeg, bytes);
    jpeg_encoder_close(encoder);
    return path;
}
