/* Files that are written whole or not at all, and folders. */
#include "harness/base/system/atomic_file.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test's own; the other paths are in it. */
static char folder[64], file[128], below[128];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/chokepoint-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(file, sizeof file, "%s/file", folder);
    snprintf(below, sizeof below, "%s/one/two", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(file);
    rmdir(below);
    *strrchr(below, '/') = '\0';
    rmdir(below);
    return rmdir(folder); /* fails if a temporary file was left behind */
}

static void assert_holds(const char *text)
{
    char read[64] = "";
    FILE *stream = fopen(file, "r");

    assert_non_null(stream);
    assert_true(fread(read, 1, sizeof read - 1, stream) == strlen(text));
    fclose(stream);
    assert_string_equal(read, text);
}

static void assert_fails(enum status status, const char *reason)
{
    assert_int_equal(status, STATUS_IO);
    if (strstr(status_last()->text, reason) == NULL)
        fail_msg("\"%s\" is not in: %s", reason, status_last()->text);
}

TEST(a_file_is_replaced_and_has_the_usual_permissions)
{
    mode_t before = umask(027);
    struct stat facts;

    assert_ok(atomic_file_write(file, "old and long", 12));
    assert_ok(atomic_file_write(file, "new", 3));
    umask(before);
    assert_holds("new");
    assert_int_equal(stat(file, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
}

TEST(a_file_that_is_not_finished_leaves_the_old_one)
{
    char temporary[PATH_MAX];
    int descriptor;

    assert_ok(atomic_file_write(file, "old", 3));
    assert_ok(atomic_file_open(temporary, &descriptor, file));
    assert_int_equal(write(descriptor, "half", 4), 4);
    assert_holds("old");
    atomic_file_discard(temporary, descriptor);
    assert_holds("old");
    assert_ok(atomic_file_open(temporary, &descriptor, file));
    assert_int_equal(write(descriptor, "whole", 5), 5);
    assert_ok(atomic_file_finish(temporary, file, descriptor));
    assert_holds("whole");
}

TEST(a_try_leaves_no_file_and_fails_as_a_write_does)
{
    char path[200];

    assert_ok(atomic_file_try(file, "new", 3));
    assert_int_not_equal(access(file, F_OK), 0);
    assert_ok(atomic_file_write(file, "old", 3));
    assert_ok(atomic_file_try(file, "new", 3));
    assert_holds("old");
    snprintf(path, sizeof path, "%s/missing/file", folder);
    assert_fails(atomic_file_try(path, "x", 1), "No such file or directory");
}

/* A rename would put a file in place of /dev/null. */
TEST(what_is_no_file_is_not_replaced)
{
    static const char *const others[] = { folder, "/dev/null" };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_fails(atomic_file_write(others[i], "x", 1), "exists and is not a file");
        assert_fails(atomic_file_try(others[i], "x", 1), "exists and is not a file");
    }
}

static void put(const char *path)
{
    FILE *stream = fopen(path, "w");

    assert_non_null(stream);
    fclose(stream);
}

/* Files of another writer, who is at work, or of another path stay. */
TEST(what_a_killed_writer_left_is_removed_by_the_next)
{
    char temporary[PATH_MAX], left[200], others[4][200];
    int descriptor;

    snprintf(left, sizeof left, "%s.a1B2c3" ATOMIC_FILE_END, file);
    snprintf(others[0], sizeof others[0], "%s.backup", file);
    snprintf(others[1], sizeof others[1], "%s.a1B2c3d" ATOMIC_FILE_END, file);
    snprintf(others[2], sizeof others[2], "%s2.a1B2c3" ATOMIC_FILE_END, file);
    snprintf(others[3], sizeof others[3], "%s.a1B2c3" ATOMIC_FILE_END ".gz", file);
    put(left);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) put(others[i]);
    assert_ok(atomic_file_open(temporary, &descriptor, file));
    assert_int_not_equal(access(left, F_OK), 0);
    assert_ok(atomic_file_write(file, "new", 3));
    assert_int_equal(access(temporary, F_OK), 0);
    atomic_file_discard(temporary, descriptor);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) assert_int_equal(unlink(others[i]), 0);
}

TEST(a_write_that_fails_leaves_the_old_file_and_no_other)
{
    static const char large[8192];
    struct rlimit limit, before;
    enum status status;

    assert_ok(atomic_file_write(file, "old", 3));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    status = atomic_file_write(file, large, sizeof large);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_fails(status, "File too large; the limit on file sizes (ulimit -f) is too low for it");
    assert_non_null(strstr(status_last()->file, "atomic_file.c"));
    assert_holds("old");
}

TEST(folders_are_created_with_their_parents)
{
    struct stat facts;

    for (int i = 0; i < 2; i++) assert_ok(atomic_file_create_folder(below));
    assert_int_equal(stat(below, &facts), 0);
    assert_true(S_ISDIR(facts.st_mode));
    assert_int_equal(atomic_file_create_folder(""), STATUS_BAD_USAGE);
}

TEST(errors_say_what_to_do)
{
    char path[200];

    assert_ok(atomic_file_write(file, "x", 1));
    snprintf(path, sizeof path, "%s/missing/file", folder);
    assert_fails(atomic_file_write(path, "x", 1),
                 "No such file or directory; create the folder or choose another");
    snprintf(path, sizeof path, "%s/file", file);
    assert_fails(atomic_file_write(path, "x", 1),
                 "Not a directory; a part of this path is a file; choose another folder");
    assert_fails(atomic_file_create_folder(path),
                 "Not a directory; a part of this path is a file; choose another folder");
    assert_fails(atomic_file_create_folder(file), "exists and is not a folder");
    assert_fails(atomic_file_create_folder("/proc/none"),
                 "cannot create the folder /proc/none: No such file or directory; choose another");
    assert_string_equal(atomic_file_advice(ENOSPC), "free some space or choose another folder");
    assert_string_equal(atomic_file_advice(EACCES), "choose a folder that you may write to");
    assert_string_equal(atomic_file_advice(EIO), "choose another folder");
}

TESTS_EACH(make_folder, remove_folder)
