/* Data sets: the generated images and their cache folder, folders of one's own, sequences. */
#include "harness/base/hash.h"
#include "harness/engine/data/dataset.h"
#include "harness/engine/data/images/generated_images.h"
#include "harness/engine/data/sample_index.h"
#include "harness/engine/data/shards.h"
#include "tests/engine/data/image_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRAIN = GENERATED_TRAIN, HELD_OUT = 110, SMALL = 16 };

static const struct dataset_config generated = { .image_size = 8, .jpeg_pixels = SMALL };

static struct dataset_config folder_config(const struct test_folder *folder, const char *name)
{
    struct dataset_config config = { .image_size = 4 };

    snprintf(config.folder, sizeof config.folder, "%s/%s", folder->path, name);
    return config;
}

/* Opening fails with `expected`, and the sentence holds `part`. */
static void assert_refused(const struct dataset_config *config, enum status expected,
                           const char *part)
{
    struct dataset *dataset;

    assert_int_equal(dataset_open(&dataset, config), expected);
    assert_null(dataset);
    if (strstr(status_last()->text, part) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", status_last()->text, part);
}

static void assert_opens(const struct dataset_config *config, uint32_t train, uint32_t held_out)
{
    struct dataset *dataset;

    assert_ok(dataset_open(&dataset, config));
    assert_int_equal(dataset_count(dataset, SPLIT_TRAIN), train);
    assert_int_equal(dataset_count(dataset, SPLIT_HELD_OUT), held_out);
    dataset_close(dataset);
}

/* The names in the cache folder that contain `part`. */
static int count_entries(const struct test_folder *folder, const char *part)
{
    DIR *stream = opendir(folder->path);
    int count = 0;

    assert_non_null(stream);
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        count += strstr(entry->d_name, part) != NULL;
    closedir(stream);
    return count;
}

/* --- The generated set --- */

WITH_FOLDER(every_generated_sample_decodes_and_has_its_class)
{
    struct dataset *dataset;
    struct sample_reader *reader;
    uint8_t input[8 * 8 * 3];
    int32_t label, length;

    assert_ok(dataset_open(&dataset, &generated));
    assert_int_equal(dataset_classes(dataset), 10);
    assert_string_equal(dataset_class_name(dataset, 0), "000_degrees_narrow");
    assert_int_equal(dataset_sample_bytes(dataset), sizeof input);
    assert_ok(sample_reader_open(&reader, dataset));
    for (int split = SPLIT_TRAIN; split <= SPLIT_HELD_OUT; split++) {
        uint32_t of_class[10] = { 0 }, count = dataset_count(dataset, (enum split)split);

        assert_int_equal(count, split == SPLIT_TRAIN ? TRAIN : HELD_OUT);
        for (uint32_t i = 0; i < count; i++) {
            assert_ok(sample_load(reader, (enum split)split, i, input, &label, &length));
            assert_in_range(label, 0, 9);
            assert_int_equal(length, 0);
            of_class[label]++;
        }
        for (int c = 0; c < 10; c++) assert_in_range(of_class[c], count / 10, count / 10 + 1);
    }
    sample_reader_close(reader);
    dataset_close(dataset);
}

static off_t bytes_of(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

/* Files of equal sides have about as many bytes within a class. */
WITH_FOLDER(one_file_in_32_of_an_uneven_set_is_large)
{
    const struct dataset_config uneven = { .image_size = 8, .jpeg_pixels = SMALL, .uneven = true };
    char name[80];

    assert_opens(&uneven, TRAIN, HELD_OUT);
    assert_opens(&generated, TRAIN, HELD_OUT);
    for (int number = 0; number < 113; number++) {
        off_t bytes, even;
        snprintf(name, sizeof name, "images-v1-16px-uneven/036_degrees_wide/%05d.jpg", number);
        bytes = bytes_of(test_folder_path(*state, name));
        snprintf(name, sizeof name, "images-v1-16px/036_degrees_wide/%05d.jpg", number);
        even = bytes_of(test_folder_path(*state, name));
        if (number % 32 == 0)
            assert_true(bytes > 10 * even);
        else
            assert_int_equal(bytes, even);
    }
    assert_int_equal(generated_image_pixels(100, true, 32), GENERATED_PIXELS_MAX);
}

WITH_FOLDER(a_set_that_is_there_is_not_made_again)
{
    struct stat before, after;
    const char *path;

    assert_opens(&generated, TRAIN, HELD_OUT);
    path = test_folder_path(*state, "images-v1-16px/000_degrees_wide/00000.jpg");
    assert_int_equal(stat(path, &before), 0);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
}

WITH_FOLDER(a_set_that_lost_files_is_made_again)
{
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(unlink(test_folder_path(*state, "images-v1-16px/036_degrees_wide/00007.jpg")),
                     0);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(
        access(test_folder_path(*state, "images-v1-16px/036_degrees_wide/00007.jpg"), R_OK), 0);
}

WITH_FOLDER(a_set_with_a_file_cut_short_is_made_again)
{
    const char *path;
    off_t whole;

    assert_opens(&generated, TRAIN, HELD_OUT);
    path = test_folder_path(*state, "images-v1-16px/036_degrees_wide/00007.jpg");
    whole = bytes_of(path);
    assert_int_equal(truncate(path, whole / 2), 0);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(bytes_of(path), whole);
}

WITH_FOLDER(a_whole_set_is_read_while_another_process_holds_the_lock)
{
    int lock;

    assert_opens(&generated, TRAIN, HELD_OUT);
    lock = open(test_folder_path(*state, "lock"), O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_opens(&generated, TRAIN, HELD_OUT);
    close(lock);
}

/* In a child: opens the set and exits with whether it is as it should be. */
static pid_t open_in_child(const struct dataset_config *config)
{
    pid_t child = fork();
    struct dataset *dataset;

    if (child != 0)
        return child;
    if (dataset_open(&dataset, config) != STATUS_OK)
        _exit(1);
    _exit(dataset_count(dataset, SPLIT_TRAIN) == TRAIN ? 0 : 2);
}

WITH_FOLDER(processes_that_create_at_once_all_get_the_whole_set)
{
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    int result;

    for (int i = 0; i < PROCESSES; i++) children[i] = open_in_child(&generated);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_int_equal(result, 0);
    }
    assert_int_equal(count_entries(*state, "images-v1-16px"), 1);
    assert_int_equal(count_entries(*state, "unfinished"), 0);
}

WITH_FOLDER(a_killed_creator_leaves_nothing_that_is_taken_for_whole)
{
    static const struct dataset_config large = { .image_size = 8, .jpeg_pixels = 256 };
    const char *begun = test_folder_path(*state, "images-v1-256px.unfinished/000_degrees_wide");
    pid_t child = open_in_child(&large);
    int result;

    while (access(begun, F_OK) != 0) {
        assert_int_equal(waitpid(child, &result, WNOHANG), 0);
        sched_yield();
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(count_entries(*state, "unfinished"), 1);

    /* The next that makes a set, be it another, clears up and gets all of its own. */
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(count_entries(*state, "unfinished"), 0);
    assert_int_equal(count_entries(*state, "images-v1-256px"), 0);
}

WITH_FOLDER(a_cache_folder_that_cannot_be_made_is_named_with_the_way_out)
{
    test_file(*state, "file", "x", 1);
    setenv("CHOKEPOINT_CACHE", test_folder_path(*state, "file/cache"), 1);
    assert_refused(&generated, STATUS_IO, "/file");
    assert_refused(&generated, STATUS_IO, "set CHOKEPOINT_CACHE");
    setenv("CHOKEPOINT_CACHE", "/proc/chokepoint", 1);
    assert_refused(&generated, STATUS_IO, "/proc/chokepoint cannot be made");

    unsetenv("CHOKEPOINT_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_refused(&generated, STATUS_IO, "set CHOKEPOINT_CACHE");
}

WITH_FOLDER(a_cache_folder_that_is_none_is_found_before_anything_runs)
{
    test_file(*state, "file", "x", 1);
    setenv("CHOKEPOINT_CACHE", test_folder_path(*state, "file"), 1);
    assert_int_equal(generated_images_try(16, false), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "file cannot be made: Not a directory"));
    setenv("CHOKEPOINT_CACHE", test_folder_path(*state, "made/below"), 1);
    assert_ok(generated_images_try(16, false));
    assert_ok(generated_images_try(16, false));
    assert_int_equal(access(test_folder_path(*state, "made/below/images-v1-16px"), F_OK), -1);
}

/* A folder in place of the lock cannot be written by root either. */
WITH_FOLDER(a_cache_folder_that_is_read_only_serves_what_it_has)
{
    setenv("CHOKEPOINT_CACHE", test_folder_path(*state, "cache"), 1);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(unlink(test_folder_path(*state, "cache/lock")), 0);
    assert_int_equal(mkdir(test_folder_path(*state, "cache/lock"), 0777), 0);
    assert_ok(generated_images_try(generated.jpeg_pixels, false));
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(generated_images_try(generated.jpeg_pixels + 8, false), STATUS_IO);
    assert_non_null(strstr(status_last()->text, "cache/lock cannot be written"));
    assert_non_null(strstr(status_last()->text, "set CHOKEPOINT_CACHE"));
}

WITH_FOLDER(the_cache_folder_follows_the_environment)
{
    unsetenv("CHOKEPOINT_CACHE");
    setenv("HOME", test_folder_path(*state, "home"), 1);
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(
        access(test_folder_path(*state, "home/.cache/chokepoint/images-v1-16px"), F_OK), 0);

    setenv("XDG_CACHE_HOME", test_folder_path(*state, "xdg"), 1);
    assert_opens(&generated, TRAIN, HELD_OUT);
    assert_int_equal(access(test_folder_path(*state, "xdg/chokepoint/images-v1-16px"), F_OK), 0);
}

/* A limit on the size of files stands in for a full disk: write() fails part of the way. */
WITH_FOLDER(a_write_that_fails_names_the_file_and_leaves_nothing)
{
    static const struct dataset_config large = { .image_size = 8, .jpeg_pixels = 128 };
    struct rlimit before, little;
    struct dataset *dataset;
    enum status status;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){ 1000, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    status = dataset_open(&dataset, &large);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);

    assert_int_equal(status, STATUS_IO);
    /* Several threads write: which of their files fails first is not known. */
    assert_non_null(strstr(status_last()->text, ".jpg cannot be written"));
    assert_non_null(strstr(status_last()->text, "CHOKEPOINT_CACHE"));
    assert_int_equal(count_entries(*state, "images"), 0);
    assert_opens(&large, TRAIN, HELD_OUT);
}

TEST(sizes_out_of_range_are_refused)
{
    static const struct {
        struct dataset_config config;
        const char *part;
    } cases[] = {
        { { .image_size = 0, .jpeg_pixels = 32 }, "images of 0 x 0 pixels" },
        { { .image_size = 2000, .jpeg_pixels = 32 }, "images of 2000 x 2000 pixels" },
        { { .image_size = 32, .jpeg_pixels = 8 }, "JPEG files of 8 x 8 pixels" },
        { { .image_size = 32, .jpeg_pixels = 5000 }, "JPEG files of 5000 x 5000 pixels" },
        { { .kind = DATA_SEQUENCES, .tokens = 1, .vocabulary = 64 }, "up to 1 tokens" },
        { { .kind = DATA_SEQUENCES, .tokens = 16, .vocabulary = 9 }, "vocabulary of 9 ids" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_refused(&cases[i].config, STATUS_BAD_USAGE, cases[i].part);
}

TEST(decoding_more_pixels_takes_longer)
{
    double small = 0, large = 0;

    assert_ok(dataset_decode_ns(32, 32, true, &small));
    assert_ok(dataset_decode_ns(512, 32, true, &large));
    assert_true(small > 0);
    assert_true(large > small); /* by 70 times, measured */
}

/* --- A folder of one's own --- */

WITH_FOLDER(classes_and_files_are_sorted_and_other_files_ignored)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "own");
    struct dataset *dataset;
    struct sample_reader *reader;
    uint8_t input[4 * 4 * 3];
    int32_t label, length;

    assert_int_equal(mkdir(test_folder_path(folder, "own"), 0777), 0);
    test_jpeg(folder, "own/zebra/b.JPEG", 20);
    test_jpeg(folder, "own/zebra/a.jpg", 10);
    test_jpeg(folder, "own/zebra/c.Jpg", 30);
    test_jpeg(folder, "own/ape/1.jpg", 40);
    test_jpeg(folder, "own/.hidden/1.jpg", 99);
    test_file(folder, "own/zebra/notes.txt", "x", 1);
    test_file(folder, "own/zebra/.d.jpg", "x", 1);
    test_file(folder, "own/readme.jpg", "x", 1);
    assert_int_equal(mkdir(test_folder_path(folder, "own/ape/folder.jpg"), 0777), 0);

    assert_ok(dataset_open(&dataset, &config));
    assert_int_equal(dataset_classes(dataset), 2);
    assert_string_equal(dataset_class_name(dataset, 0), "ape");
    assert_string_equal(dataset_class_name(dataset, 1), "zebra");
    assert_int_equal(dataset_count(dataset, SPLIT_TRAIN), 3);
    assert_int_equal(dataset_count(dataset, SPLIT_HELD_OUT), 1); /* zebra/c.Jpg */
    assert_ok(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < 3; i++) {
        static const int values[3] = { 40, 10, 20 };

        assert_ok(sample_load(reader, SPLIT_TRAIN, i, input, &label, &length));
        assert_int_equal(label, i > 0);
        assert_in_range(input[0], values[i] - 1, values[i] + 1);
    }
    assert_ok(sample_load(reader, SPLIT_HELD_OUT, 0, input, &label, &length));
    assert_int_equal(label, 1);
    assert_in_range(input[0], 29, 31);
    sample_reader_close(reader);
    dataset_close(dataset);
}

WITH_FOLDER(every_tenth_file_is_held_out_and_one_of_a_few)
{
    static const struct {
        int files;
        uint32_t held_out;
    } cases[] = { { 1, 0 }, { 2, 1 }, { 9, 1 }, { 10, 1 }, { 19, 1 }, { 20, 2 }, { 29, 2 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct test_folder *folder = *state;
        struct dataset_config config;
        char name[64];

        snprintf(name, sizeof name, "set%zu", i);
        config = folder_config(folder, name);
        assert_int_equal(mkdir(test_folder_path(folder, name), 0777), 0);
        for (int f = 0; f < cases[i].files; f++) {
            snprintf(name, sizeof name, "set%zu/a/%d.jpg", i, f);
            test_file(folder, name, "x", 1);
        }
        snprintf(name, sizeof name, "set%zu/b/only.jpg", i);
        test_file(folder, name, "x", 1);
        assert_opens(&config, (uint32_t)cases[i].files - cases[i].held_out + 1, cases[i].held_out);
    }
}

static struct dataset_identity identity_of(const char *path)
{
    struct dataset_config config = { .image_size = 16 };
    struct dataset *dataset;
    struct dataset_identity identity;

    snprintf(config.folder, sizeof config.folder, "%s", path);
    assert_ok(dataset_open(&dataset, &config));
    identity = dataset_identity(dataset);
    dataset_close(dataset);
    return identity;
}

/* Other images with the same names and sizes are not told apart: no file is read. */
WITH_FOLDER(data_are_known_by_classes_names_and_sizes_wherever_they_are)
{
    static const struct {
        const char *path, *text;
        bool same;
    } rows[] = {
        { "a/1.jpg", "one", true },  { "a/1.jpg", "eno", true },  { "a/1.jpg", "ones", false },
        { "a/2.jpg", "one", false }, { "b/1.jpg", "one", false }, { "c/1.jpg", "one", false },
        { "a/1.JPG", "one", false },
    };
    const struct test_folder *folder = *state;
    struct dataset_identity first = { 0 };
    char name[64], path[128];

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct dataset_identity identity;

        snprintf(name, sizeof name, "set%zu", i);
        snprintf(path, sizeof path, "%s", test_folder_path(folder, name));
        assert_int_equal(mkdir(path, 0777), 0);
        snprintf(name, sizeof name, "set%zu/a/0.jpg", i);
        test_file(folder, name, "two", 3);
        snprintf(name, sizeof name, "set%zu/b/0.jpg", i);
        test_file(folder, name, "four", 4);
        snprintf(name, sizeof name, "set%zu/b/9.jpg", i);
        test_file(folder, name, "held out", 8);
        snprintf(name, sizeof name, "set%zu/a/9.jpg", i);
        test_file(folder, name, "held out", 8);
        snprintf(name, sizeof name, "set%zu/%s", i, rows[i].path);
        test_file(folder, name, rows[i].text, strlen(rows[i].text));
        identity = identity_of(path);
        if (i == 0)
            first = identity;
        if ((identity.files == first.files) != rows[i].same)
            fail_msg("%s of %zu bytes is %s", rows[i].path, strlen(rows[i].text),
                     rows[i].same ? "told apart" : "not told apart");
    }
    assert_int_equal(first.samples, 3);
}

WITH_FOLDER(symbolic_links_are_followed)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "linked");
    char target[PATH_MAX];

    test_jpeg(folder, "elsewhere/1.jpg", 10);
    test_jpeg(folder, "elsewhere/2.jpg", 20);
    assert_int_equal(mkdir(test_folder_path(folder, "linked"), 0777), 0);
    test_jpeg(folder, "linked/b/1.jpg", 30);
    snprintf(target, sizeof target, "%s/elsewhere", folder->path);
    assert_int_equal(symlink(target, test_folder_path(folder, "linked/a")), 0);
    snprintf(target, sizeof target, "%s/elsewhere/1.jpg", folder->path);
    assert_int_equal(symlink(target, test_folder_path(folder, "linked/b/0.jpg")), 0);
    assert_int_equal(symlink("nowhere", test_folder_path(folder, "linked/b/dangling.jpg")), 0);
    assert_opens(&config, 2, 2);
}

WITH_FOLDER(folders_that_cannot_serve_are_refused_with_the_reason)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "absent");

    assert_refused(&config, STATUS_BAD_INPUT, "absent cannot be read: No such file");

    test_file(folder, "file", "x", 1);
    config = folder_config(folder, "file");
    assert_refused(&config, STATUS_BAD_INPUT, "file is not a folder");

    test_file(folder, "flat/1.jpg", "x", 1);
    config = folder_config(folder, "flat");
    assert_refused(&config, STATUS_BAD_INPUT, "flat has no sub-folders");

    assert_int_equal(mkdir(test_folder_path(folder, "one"), 0777), 0);
    test_file(folder, "one/lonely/1.jpg", "x", 1);
    config = folder_config(folder, "one");
    assert_refused(&config, STATUS_BAD_INPUT, "only one sub-folder, lonely");

    test_file(folder, "one/other/1.png", "x", 1);
    assert_refused(&config, STATUS_BAD_INPUT, "one/other has no JPEG files");
    assert_refused(&config, STATUS_BAD_INPUT, "files like 1.png have to be converted");

    assert_int_equal(mkdir(test_folder_path(folder, "split"), 0777), 0);
    assert_int_equal(mkdir(test_folder_path(folder, "split/train"), 0777), 0);
    assert_int_equal(mkdir(test_folder_path(folder, "split/val"), 0777), 0);
    test_file(folder, "split/train/cat/1.jpg", "x", 1);
    test_file(folder, "split/val/cat/1.jpg", "x", 1);
    config = folder_config(folder, "split");
    assert_refused(&config, STATUS_BAD_INPUT, "split/train itself");
}

WITH_FOLDER(files_that_are_gone_empty_or_damaged_are_named)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "own");
    struct dataset *dataset;
    struct sample_reader *reader;
    uint8_t input[4 * 4 * 3];
    int32_t label, length;
    static const char *const expected[] = { "a/gone.jpg cannot be read", "b/empty.jpg is empty",
                                            "c/noise.jpg cannot be decoded" };

    assert_int_equal(mkdir(test_folder_path(folder, "own"), 0777), 0);
    test_jpeg(folder, "own/a/gone.jpg", 10);
    test_file(folder, "own/b/empty.jpg", "", 0);
    test_file(folder, "own/c/noise.jpg", "noise", 5);
    assert_ok(dataset_open(&dataset, &config));
    assert_int_equal(unlink(test_folder_path(folder, "own/a/gone.jpg")), 0);
    assert_ok(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_int_equal(sample_load(reader, SPLIT_TRAIN, i, input, &label, &length),
                         STATUS_BAD_INPUT);
        assert_non_null(strstr(status_last()->text, expected[i]));
    }
    sample_reader_close(reader);
    dataset_close(dataset);
}

/* The loader says what is wrong with a file, and replaces the sample. */
WITH_FOLDER(reading_all_files_passes_over_those_that_cannot_be_read)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "own");

    assert_int_equal(dataset_read_files(&config), STATUS_BAD_INPUT);
    assert_int_equal(mkdir(test_folder_path(folder, "own"), 0777), 0);
    test_file(folder, "own/a/empty.jpg", "", 0);
    test_jpeg(folder, "own/b/whole.jpg", 10);
    assert_ok(dataset_read_files(&config));
}

/* --- Shards --- */

/* Loads all training samples, the last one first, and adds their bytes up. */
static uint64_t load_backwards(const struct dataset_config *config, int64_t *reads)
{
    struct dataset *dataset;
    struct sample_reader *reader;
    uint8_t input[8 * 8 * 3];
    int32_t label, length;
    uint64_t sum = HASH_EMPTY;

    assert_ok(dataset_open(&dataset, config));
    assert_ok(sample_reader_open(&reader, dataset));
    for (uint32_t i = dataset_count(dataset, SPLIT_TRAIN); i-- > 0;) {
        assert_ok(sample_load(reader, SPLIT_TRAIN, i, input, &label, &length));
        sum = hash_add(hash_add(sum, input, sizeof input), &label, sizeof label);
    }
    assert_ok(sample_load(reader, SPLIT_HELD_OUT, 0, input, &label, &length));
    *reads = sample_reader_reading(reader).count;
    sample_reader_close(reader);
    dataset_close(dataset);
    return sum;
}

TEST(shards_have_the_same_samples_and_are_read_once)
{
    struct dataset_config config = generated;
    int64_t files, shards;
    uint64_t expected;

    expected = load_backwards(&config, &files);
    assert_int_equal(files, TRAIN + 1);
    config.drops_cache = true;
    assert_int_equal(load_backwards(&config, &files), expected);
    config.in_shards = true;
    assert_int_equal(load_backwards(&config, &shards), expected);
    assert_int_equal(shards, TRAIN / SHARD_SAMPLES + 1); /* and the file that is held out */
}

WITH_FOLDER(a_shard_is_read_again_when_all_its_samples_have_been_used)
{
    const struct test_folder *folder = *state;
    struct shards *shards;
    char byte;
    bool reads;

    assert_ok(shards_open(&shards, folder->path, SHARD_SAMPLES + 1, true));
    for (int i = 0; i <= SHARD_SAMPLES; i++) {
        byte = (char)i;
        assert_ok(shards_add(shards, &byte, 1));
    }
    assert_ok(shards_finish(shards));
    for (int time = 0; time < 2; time++)
        for (uint32_t i = 0; i < SHARD_SAMPLES; i++) {
            assert_ok(shards_take(shards, i, &byte, &reads));
            assert_int_equal(byte, (char)i);
            assert_int_equal(reads, i == 0);
        }
    for (int time = 0; time < 2; time++) { /* the last one has a single sample */
        assert_ok(shards_take(shards, SHARD_SAMPLES, &byte, &reads));
        assert_true(reads);
    }
    shards_close(shards);
}

WITH_FOLDER(shards_of_files_that_are_not_copied_are_refused)
{
    const struct test_folder *folder = *state;
    struct dataset_config config = folder_config(folder, "own");

    config.in_shards = true;
    assert_refused(&config, STATUS_BAD_USAGE, "set jpeg_pixels");
}

/* --- The index --- */

/* Objects are copied when they are looked at, by whoever looks; arrays never are. */
TEST(what_is_looked_up_in_objects_is_copied_for_each_view)
{
    enum { SAMPLES = 512, LOOKED_UP = 100 };
    uint64_t sums[2] = { 0 };

    (void)state;
    for (int form = INDEX_OBJECTS; form <= INDEX_ARRAYS; form++) {
        struct sample_index *index;
        struct index_view *views[2];
        double one, both;

        assert_int_equal(sample_index_open(&index, (enum index_form)form, SAMPLES), STATUS_OK);
        for (int v = 0; v < 2; v++) assert_int_equal(index_view_open(&views[v], index), STATUS_OK);
        if (isnan(sample_index_copied_bytes(index)))
            skip(); /* the kernel does not show the page table */
        assert_true(sample_index_copied_bytes(index) == 0);
        for (uint32_t i = 0; i < LOOKED_UP; i++)
            sums[form - INDEX_OBJECTS] += index_view_read(views[0], 5 * i);
        one = sample_index_copied_bytes(index);
        index_view_read(views[0], 5);
        assert_true(sample_index_copied_bytes(index) == one);
        for (uint32_t i = 0; i < LOOKED_UP; i++) index_view_read(views[1], 5 * i);
        both = sample_index_copied_bytes(index);
        if (form == INDEX_OBJECTS)
            assert_true(one >= LOOKED_UP * 64 * 64 && both == 2 * one);
        else
            assert_true(one == 0 && both == 0);
        index_view_close(views[0]);
        assert_true(sample_index_copied_bytes(index) == both - one);
        index_view_close(views[1]);
        sample_index_close(index);
    }
    assert_true(sums[0] == sums[1] && sums[0] != 0);
}

/* --- Sequences --- */

enum { TOKENS = 32, VOCABULARY = 64, CLASSES = 8 };

static const struct dataset_config sequences = {
    .kind = DATA_SEQUENCES, .tokens = TOKENS, .vocabulary = VOCABULARY, .seed = 7
};

TEST(sequences_begin_with_the_class_token_and_stay_in_range)
{
    static const struct {
        int tokens, vocabulary, shortest;
    } cases[] = { { 32, 64, 8 }, { 2, 16, 2 }, { 5, 17, 2 }, { 128, 1000, 32 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct dataset_config config = sequences;
        struct dataset *dataset;
        struct sample_reader *reader;
        int32_t ids[128], label, length, least = INT32_MAX, most = 0;

        config.tokens = cases[i].tokens;
        config.vocabulary = cases[i].vocabulary;
        assert_ok(dataset_open(&dataset, &config));
        assert_int_equal(dataset_sample_bytes(dataset), (size_t)config.tokens * 4);
        assert_ok(sample_reader_open(&reader, dataset));
        for (uint32_t s = 0; s < dataset_count(dataset, SPLIT_TRAIN); s++) {
            assert_ok(sample_load(reader, SPLIT_TRAIN, s, ids, &label, &length));
            assert_in_range(label, 0, CLASSES - 1);
            assert_in_range(length, cases[i].shortest, config.tokens);
            assert_int_equal(ids[0], 0);
            for (int t = 1; t < config.tokens; t++)
                assert_in_range(ids[t], t < length, t < length ? config.vocabulary - 1 : 0);
            least = length < least ? length : least;
            most = length > most ? length : most;
        }
        assert_int_equal(least, cases[i].shortest); /* 1024 draws of at most 97 lengths */
        assert_int_equal(most, config.tokens);
        sample_reader_close(reader);
        dataset_close(dataset);
    }
}

TEST(sequences_depend_on_seed_split_and_index_alone)
{
    struct dataset_config other = sequences;
    struct dataset *datasets[2];
    struct sample_reader *readers[3];
    int32_t ids[3][TOKENS], label, length;
    int differ[2] = { 0 };

    other.seed++;
    assert_ok(dataset_open(&datasets[0], &sequences));
    assert_ok(dataset_open(&datasets[1], &other));
    for (int r = 0; r < 3; r++) assert_ok(sample_reader_open(&readers[r], datasets[r / 2]));
    for (uint32_t i = 100; i-- > 0;) {
        sample_load(readers[0], SPLIT_TRAIN, i, ids[0], &label, &length);
        sample_load(readers[1], SPLIT_HELD_OUT, i, ids[1], &label, &length);
        sample_load(readers[2], SPLIT_TRAIN, i, ids[2], &label, &length);
        differ[0] += memcmp(ids[0], ids[1], sizeof ids[0]) != 0;
        differ[1] += memcmp(ids[0], ids[2], sizeof ids[0]) != 0;
        sample_load(readers[1], SPLIT_TRAIN, i, ids[1], &label, &length);
        assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
    }
    assert_int_equal(differ[0], 100);
    assert_int_equal(differ[1], 100);
    for (int r = 0; r < 3; r++) sample_reader_close(readers[r]);
    dataset_close(datasets[0]);
    dataset_close(datasets[1]);
}

/* Naive Bayes on the training split: counts of ids per class, add-one smoothed. */
TEST(what_is_learnt_from_training_sequences_holds_for_the_others)
{
    double counts[CLASSES][VOCABULARY], totals[CLASSES] = { 0 };
    struct dataset *dataset;
    struct sample_reader *reader;
    int32_t ids[TOKENS], label, length;
    uint32_t right = 0, held_out;

    for (int c = 0; c < CLASSES; c++)
        for (int v = 0; v < VOCABULARY; v++) counts[c][v] = 1;
    assert_ok(dataset_open(&dataset, &sequences));
    assert_ok(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < dataset_count(dataset, SPLIT_TRAIN); i++) {
        sample_load(reader, SPLIT_TRAIN, i, ids, &label, &length);
        for (int t = 1; t < length; t++) counts[label][ids[t]]++;
        totals[label] += length - 1;
    }
    held_out = dataset_count(dataset, SPLIT_HELD_OUT);
    for (uint32_t i = 0; i < held_out; i++) {
        double best = 0;
        int guess = -1;

        sample_load(reader, SPLIT_HELD_OUT, i, ids, &label, &length);
        for (int c = 0; c < CLASSES; c++) {
            double likelihood = 1;

            for (int t = 1; t < length; t++)
                likelihood *= counts[c][ids[t]] / (totals[c] + VOCABULARY) * VOCABULARY;
            if (likelihood > best) {
                best = likelihood;
                guess = c;
            }
        }
        right += guess == label;
    }
    print_message("naive Bayes: %u of %u held-out sequences right\n", right, held_out);
    assert_true(right > held_out * 6 / 10); /* chance: 1 in 8 */
    assert_true(right < held_out);          /* nothing is given away */
    sample_reader_close(reader);
    dataset_close(dataset);
}
