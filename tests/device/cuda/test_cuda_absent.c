/* The CUDA device on a machine without a driver: it says so, and nothing else happens. Skipped
 * where there is a driver. */
#include "harness/device/device.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(opening_says_what_is_missing_and_what_to_do)
{
    static const char *const names[] = { "cuda", "cuda:0", "cuda:3" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct device *device = (struct device *)&device;
        assert_int_equal(device_open(&device, names[i], NULL), STATUS_NO_LIBRARY);
        assert_null(device);
        assert_int_equal(status_exit_code(status_last()->status), 3);
        assert_non_null(strstr(status_last()->text, "there is no NVIDIA driver here"));
        assert_non_null(strstr(status_last()->text, "libcuda.so.1"));
        assert_non_null(strstr(status_last()->text, "--device cpu"));
    }
}

TEST(the_program_ends_with_3_and_the_sentence)
{
    char said[1024];
    size_t length;
    FILE *output = popen("'" PROGRAM "' train --device=cuda --steps=20 2>&1", "r");
    int result;

    assert_non_null(output);
    length = fread(said, 1, sizeof said - 1, output);
    said[length] = '\0';
    result = pclose(output);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 3);
    assert_non_null(strstr(said, "chokepoint: train: cuda: there is no NVIDIA driver here"));
    assert_ptr_equal(strchr(said, '\n'), said + length - 1); /* one line */
}

TEST(a_run_that_may_choose_takes_the_cpu_device)
{
    struct device *device;

    assert_ok(device_open(&device, "auto", NULL));
    assert_string_equal(device_properties(device)->kind, "cpu");
    assert_string_equal(device_fallback(), ""); /* no GPU is in sight */
    device_close(device);
}

TEST(a_driver_is_in_sight_by_its_files)
{
    char root[] = "/tmp/chokepoint-sight-XXXXXX", path[128], version[128];
    FILE *file;

    assert_non_null(mkdtemp(root));
    assert_false(device_gpu_in_sight(root));
    snprintf(path, sizeof path, "%s/dev", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(version, sizeof version, "%s/dev/nvidia0", root);
    file = fopen(version, "w");
    assert_non_null(file);
    fclose(file);
    assert_true(device_gpu_in_sight(root));
    unlink(version);
    rmdir(path);
    rmdir(root);
}

int main(int argc, char **argv)
{
    if (dlopen("libcuda.so.1", RTLD_LAZY) != NULL) {
        printf("skipped: there is an NVIDIA driver here\n");
        return 77;
    }
    return tests_run(argc, argv);
}
