/* The user's own images, brought to one size in the cache folder. */
#include "harness/engine/data/dataset.h"
#include "harness/engine/data/images/jpeg.h"
#include "harness/engine/data/own_images.h"
#include "tests/engine/data/image_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PIXELS = 16 };

/* Classes "a" and "b", with `count` images each; image i of a class is of grey 10 * i. */
static const char *make_folder(const struct test_folder *folder, int count)
{
    static char path[128];
    char name[64];

    snprintf(path, sizeof path, "%s", test_folder_path(folder, "own"));
    assert_int_equal(mkdir(path, 0777), 0);
    for (char label = 'a'; label <= 'b'; label++)
        for (int i = 0; i < count; i++) {
            snprintf(name, sizeof name, "own/%c/%02d.jpg", label, i);
            test_jpeg(folder, name, (uint8_t)(10 * i));
        }
    return path;
}

static int sets_in_cache(const struct test_folder *folder)
{
    DIR *stream = opendir(folder->path);
    int count = 0;

    assert_non_null(stream);
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        count += strncmp(entry->d_name, "own-", 4) == 0;
    closedir(stream);
    return count;
}

static struct own_images get(char path[PATH_MAX], const char *folder, int pixels)
{
    struct own_images about;

    assert_ok(own_images_get(path, folder, pixels, &about));
    return about;
}

TEST(all_images_come_back_at_the_size_asked_for_with_their_classes)
{
    const char *folder = make_folder(*state, 5);
    struct dataset_config config = { .image_size = PIXELS, .jpeg_pixels = PIXELS };
    struct dataset *dataset;
    struct sample_reader *reader;
    uint8_t input[PIXELS * PIXELS * 3];
    char path[PATH_MAX];
    struct own_images about = get(path, folder, PIXELS);

    assert_int_equal(about.found, 10);
    assert_int_equal(about.images, 10);
    assert_int_equal(about.damaged, 0);
    assert_string_equal(about.first_damaged, "");
    snprintf(config.folder, sizeof config.folder, "%s", folder);
    assert_ok(dataset_open(&dataset, &config));
    assert_int_equal(dataset_classes(dataset), 2);
    assert_string_equal(dataset_class_name(dataset, 1), "b");
    assert_int_equal(dataset_count(dataset, SPLIT_TRAIN), 8);
    assert_int_equal(dataset_count(dataset, SPLIT_HELD_OUT), 2);
    assert_ok(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < 8; i++) {
        int32_t label, of_file, length;
        const char *file = dataset_file(dataset, SPLIT_TRAIN, i, &of_file);

        assert_int_equal(strncmp(file, path, strlen(path)), 0);
        assert_ok(sample_load(reader, SPLIT_TRAIN, i, input, &label, &length));
        assert_int_equal(label, i / 4);
        assert_int_equal(of_file, label);
        assert_in_range(input[0] + 2, 10 * (i % 4), 10 * (i % 4) + 4);
    }
    sample_reader_close(reader);
    dataset_close(dataset);
}

/* Overwrites a file with as many bytes that are no image, and leaves its time as it was. */
static void spoil_unnoticed(const char *path)
{
    static char noise[1 << 16];
    struct stat info;
    struct timespec times[2];
    int file = open(path, O_WRONLY);

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &info), 0);
    assert_true(info.st_size <= (off_t)sizeof noise);
    assert_int_equal(write(file, noise, (size_t)info.st_size), info.st_size);
    assert_int_equal(close(file), 0);
    times[0] = info.st_atim;
    times[1] = info.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(files_are_decoded_once_for_all_sizes)
{
    const char *folder = make_folder(*state, 3);
    char path[PATH_MAX], other[PATH_MAX];

    assert_int_equal(get(path, folder, PIXELS).images, 6);
    assert_int_equal(sets_in_cache(*state), 2); /* the first set, and this one of it */
    spoil_unnoticed(test_folder_path(*state, "own/a/00.jpg"));
    assert_int_equal(get(other, folder, 2 * PIXELS).images, 6);
    assert_string_not_equal(other, path);
    assert_int_equal(sets_in_cache(*state), 3);
}

TEST(a_folder_that_has_changed_is_another_set)
{
    const char *folder = make_folder(*state, 3);
    char path[PATH_MAX], changed[PATH_MAX], shorter[PATH_MAX];

    get(path, folder, PIXELS);
    test_file(*state, "own/a/00.jpg", "x", 1);
    assert_int_equal(get(changed, folder, PIXELS).damaged, 1);
    assert_string_not_equal(changed, path);
    assert_int_equal(unlink(test_folder_path(*state, "own/a/00.jpg")), 0);
    assert_int_equal(get(shorter, folder, PIXELS).damaged, 0);
    assert_string_not_equal(shorter, changed);
    assert_string_not_equal(shorter, path);
}

TEST(a_set_that_is_there_is_not_made_again)
{
    const char *folder = make_folder(*state, 3);
    char path[PATH_MAX], file[PATH_MAX + 32];
    struct stat before, after;

    get(path, folder, PIXELS);
    snprintf(file, sizeof file, "%s/a/000001.jpg", path);
    assert_int_equal(stat(file, &before), 0);
    get(path, folder, PIXELS);
    assert_int_equal(stat(file, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(unlink(file), 0);
    get(path, folder, PIXELS);
    assert_int_equal(access(file, R_OK), 0);
}

TEST(damaged_files_are_left_out_and_counted_and_one_is_named)
{
    const char *folder = make_folder(*state, 4);
    char path[PATH_MAX];
    struct own_images about;

    test_file(*state, "own/a/03.jpg", "noise", 5);
    test_file(*state, "own/b/01.jpg", "", 0);
    for (int i = 0; i < 2; i++) { /* when they are made, and when they are there */
        about = get(path, folder, PIXELS);
        assert_int_equal(about.found, 8);
        assert_int_equal(about.images, 6);
        assert_int_equal(about.damaged, 2);
        assert_string_equal(about.first_damaged, test_folder_path(*state, "own/a/03.jpg"));
    }
}

TEST(a_class_of_which_nothing_can_be_decoded_is_named)
{
    const char *folder = make_folder(*state, 2);
    char path[PATH_MAX];

    test_file(*state, "own/b/00.jpg", "noise", 5);
    test_file(*state, "own/b/01.jpg", "noise", 5);
    assert_int_equal(own_images_get(path, folder, PIXELS, NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "no JPEG file of the class b can be decoded"));
    assert_non_null(strstr(status_last()->text, "own/b/00.jpg"));
    assert_int_equal(sets_in_cache(*state), 0);
    assert_int_equal(own_images_get(path, "/no/such/folder", PIXELS, NULL), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->text, "/no/such/folder cannot be read"));
}

/* The files are links to one, so that they cost nothing. */
TEST(of_a_large_folder_images_are_taken_evenly)
{
    enum { FILES = OWN_IMAGES_MOST, FEW = 3 };
    const char *folder = make_folder(*state, FEW);
    char path[PATH_MAX], name[64];
    struct dataset_config config = { .image_size = PIXELS, .jpeg_pixels = PIXELS };
    struct dataset *dataset;
    struct own_images about;
    uint32_t of_class[2] = { 0 };

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "own/b/link%05d.jpg", i);
        assert_int_equal(symlink("00.jpg", test_folder_path(*state, name)), 0);
    }
    about = get(path, folder, PIXELS);
    assert_int_equal(about.found, FILES + 2 * FEW);
    assert_in_range(about.images, OWN_IMAGES_MOST, OWN_IMAGES_MOST + 2);
    snprintf(config.folder, sizeof config.folder, "%s", folder);
    assert_ok(dataset_open(&dataset, &config));
    for (int split = SPLIT_TRAIN; split <= SPLIT_HELD_OUT; split++)
        for (uint32_t i = 0; i < dataset_count(dataset, (enum split)split); i++) {
            int32_t label;
            dataset_file(dataset, (enum split)split, i, &label);
            of_class[label]++;
        }
    assert_in_range(of_class[0], FEW - 1, FEW);
    assert_in_range(of_class[1], OWN_IMAGES_MOST - FEW - 2, OWN_IMAGES_MOST);
    dataset_close(dataset);
}

/* Sets that were used a day ago make room, the first one first; those of the last hour stay. */
TEST(old_sets_make_room_for_new_ones)
{
    const char *folder = make_folder(*state, 2);
    char path[PATH_MAX], first[PATH_MAX], second[PATH_MAX];

    for (int i = 0; i < OWN_SETS_MOST; i++) get(path, folder, PIXELS + i); /* and the first set */
    assert_int_equal(sets_in_cache(*state), OWN_SETS_MOST + 1);
    get(first, folder, PIXELS);
    get(second, folder, PIXELS + 1);
    for (int i = 0; i < 2; i++) {
        const struct timespec used = { .tv_sec = time(NULL) - 86400 * (2 - i) };
        const struct timespec times[2] = { used, used };
        assert_int_equal(utimensat(AT_FDCWD, i == 0 ? first : second, times, 0), 0);
    }
    get(path, folder, 100);
    assert_int_equal(sets_in_cache(*state), OWN_SETS_MOST);
    assert_int_not_equal(access(first, F_OK), 0);
    assert_int_not_equal(access(second, F_OK), 0);
}

TESTS_EACH(test_folder_setup, test_folder_teardown)
