/* Lists the files of an image set: a sub-folder per class, as torchvision's ImageFolder has it.
 * Names are read folder by folder and sorted before they are used, so that the order of samples
 * does not depend on the file system. Every tenth file of a class is held out, so the split is the
 * same in every run. */
#include "harness/engine/data/image_folder.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HELD_OUT_EVERY 10

/* The names in one folder that a filter lets through, sorted. */
struct names {
    char **items;
    size_t count;
    int64_t room;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) free(names->items[i]);
    free(names->items);
    *names = (struct names){ 0 };
}

/* By bytes, not by the locale, which may differ between machines. */
COMPARATOR_OF_POINTERS(by_bytes, char, strcmp(a, b))

/* Whether the entry, or what it links to, is of `type` (S_IFDIR, S_IFREG). Not every file system
 * tells types with the names (readdir(3)): then the entry itself is asked. */
static bool is_of_type(const char *folder, const struct dirent *entry, mode_t type)
{
    char path[PATH_MAX];
    struct stat info;

    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == IFTODT(type);
    return snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
           stat(path, &info) == 0 && (info.st_mode & S_IFMT) == type;
}

static bool is_class(const char *folder, const struct dirent *entry)
{
    return is_of_type(folder, entry, S_IFDIR);
}

static bool is_jpeg(const char *folder, const struct dirent *entry)
{
    const char *ending = strrchr(entry->d_name, '.');

    return ending != NULL &&
           (strcasecmp(ending, ".jpg") == 0 || strcasecmp(ending, ".jpeg") == 0) &&
           is_of_type(folder, entry, S_IFREG);
}

static bool is_other_image(const char *folder, const struct dirent *entry)
{
    static const char *const endings[] = { ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff" };
    const char *ending = strrchr(entry->d_name, '.');

    for (size_t i = 0; ending != NULL && i < ARRAY_SIZE(endings); i++)
        if (strcasecmp(ending, endings[i]) == 0)
            return is_of_type(folder, entry, S_IFREG);
    return false;
}

/* Names that begin with a dot are skipped. An error of readdir() is told from its end by errno. */
static enum status names_read(struct names *names, const char *folder,
                              bool (*filter)(const char *folder, const struct dirent *entry))
{
    enum status status = STATUS_OK;
    DIR *stream = opendir(folder);

    if (stream == NULL && errno == ENOTDIR)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%.300s is not a folder; name one with a sub-folder of JPEG files "
                 "for each class",
                 folder);
    if (stream == NULL)
        FAIL_OUT(errno == ENOENT ? STATUS_BAD_INPUT : STATUS_IO,
                 "the folder %.300s cannot be read: %s", folder, strerror(errno));
    for (;;) {
        struct dirent *entry;

        errno = 0;
        entry = readdir(stream);
        if (entry == NULL && errno != 0)
            FAIL_OUT(STATUS_IO, "the folder %.300s cannot be read: %s", folder, strerror(errno));
        if (entry == NULL)
            break;
        if (entry->d_name[0] == '.' || !filter(folder, entry))
            continue;
        TRY_OUT(rows_grow(&names->items, names->count + 1, &names->room));
        TRY_OUT(text_make(&names->items[names->count], "%s", entry->d_name));
        names->count++;
    }
    if (names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, by_bytes);

out:
    if (stream != NULL)
        closedir(stream);
    return status;
}

/* The split that file number `i` of a class with `count` files belongs to. A class with fewer files
 * than ten holds its last one out, one with a single file none. */
static enum split split_of(size_t i, size_t count)
{
    if (count < HELD_OUT_EVERY)
        return count > 1 && i == count - 1 ? SPLIT_HELD_OUT : SPLIT_TRAIN;
    return i % HELD_OUT_EVERY == HELD_OUT_EVERY - 1 ? SPLIT_HELD_OUT : SPLIT_TRAIN;
}

/* A folder without JPEG files: often there are other files, or the classes are one folder further
 * down. */
static enum status refuse_class(const char *path)
{
    enum status status = STATUS_OK;
    struct names folders = { 0 }, images = { 0 };

    TRY_OUT(names_read(&folders, path, is_class));
    TRY_OUT(names_read(&images, path, is_other_image));
    if (folders.count > 0)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "the class folder %.300s has no JPEG files but folders: if these are the classes, "
                 "give %.300s itself",
                 path, path);
    if (images.count > 0)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "the class folder %.300s has no JPEG files (.jpg, .jpeg); files like %.60s have to "
            "be converted to JPEG",
            path, images.items[0]);
    FAIL_OUT(STATUS_BAD_INPUT,
             "the class folder %.300s has no JPEG files (.jpg, .jpeg); add some or remove the "
             "folder",
             path);

out:
    names_release(&folders);
    names_release(&images);
    return status;
}

static enum status read_class(struct image_folder *folder, const char *path, int32_t label)
{
    enum status status = STATUS_OK;
    char class_path[PATH_MAX];
    struct names names = { 0 };

    if (snprintf(class_path, sizeof class_path, "%s/%s", path, folder->classes[label]) >=
        (int)sizeof class_path)
        FAIL_OUT(STATUS_BAD_INPUT, "the path %.300s/%s is too long", path, folder->classes[label]);
    TRY_OUT(names_read(&names, class_path, is_jpeg));
    if (names.count == 0)
        TRY_OUT(refuse_class(class_path));
    for (size_t i = 0; i < names.count; i++) {
        struct image_list *list = &folder->splits[split_of(i, names.count)];
        TRY_OUT(rows_grow(&list->files, (int64_t)list->count + 1, &list->room));
        TRY_OUT(text_make(&list->files[list->count].path, "%s/%s", class_path, names.items[i]));
        list->files[list->count++].label = label;
    }

out:
    names_release(&names);
    return status;
}

enum status image_folder_read(struct image_folder *folder, const char *path)
{
    enum status status = STATUS_OK;
    struct names names = { 0 };

    *folder = (struct image_folder){ 0 };
    TRY_OUT(names_read(&names, path, is_class));
    if (names.count == 0)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%.300s has no sub-folders; it needs one of JPEG files for each class", path);
    if (names.count == 1)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%.300s has only one sub-folder, %s; learning to tell classes apart "
                 "needs two or more",
                 path, names.items[0]);
    folder->classes = names.items;
    folder->class_count = (int)names.count;
    /* The names belong to the folder now. */
    names = (struct names){ 0 };
    for (int32_t label = 0; label < folder->class_count; label++)
        TRY_OUT(read_class(folder, path, label));

out:
    names_release(&names);
    if (status != STATUS_OK)
        image_folder_release(folder);
    return status;
}

void image_folder_release(struct image_folder *folder)
{
    for (int i = 0; i < folder->class_count; i++) free(folder->classes[i]);
    free(folder->classes);
    for (size_t s = 0; s < ARRAY_SIZE(folder->splits); s++) {
        struct image_list *list = &folder->splits[s];

        for (uint32_t i = 0; i < list->count; i++) free(list->files[i].path);
        free(list->files);
    }
    *folder = (struct image_folder){ 0 };
}
