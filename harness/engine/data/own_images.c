/* A set is made as an entry of the cache folder: the images are chosen, decoded and written again
 * by all cores, and a note beside them says how many there are and which could not be decoded. */
#include "harness/engine/data/own_images.h"

#include "harness/base/hash.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/engine/data/dataset.h"
#include "harness/engine/data/images/cache_folder.h"
#include "harness/engine/data/images/generated_images.h"
#include "harness/engine/data/images/image_set.h"
#include "harness/engine/data/images/jpeg.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FAMILY "own-v1-" /* how names of these sets begin; another version for another content */
#define ABOUT  ".about"  /* a file in the set: what is in it */

/* An image of the user's folder. */
struct own_image {
    const char *path; /* the dataset's */
    enum split split;
    uint32_t index; /* in the split */
    int32_t label;
};

struct own_set {
    struct dataset *dataset; /* the user's files or the first set, read at the size of this one */
    int pixels;
    struct own_image *images; /* those taken, by class and name */
    uint32_t count;
    struct own_images about;
    struct own_images first_set; /* what this one is made from; zeros: the user's files */
    pthread_mutex_t mutex;       /* guards what follows, while the set is made */
    uint32_t *of_class;          /* images stored, per class */
    uint32_t damaged, first;     /* the first one's number in `images` */
};

/* --- The choice of images --- */

COMPARATOR(by_class_and_name, struct own_image, ASCENDING(label) ?: strcmp(a->path, b->path))

/* Every class keeps its first image, so that no class is lost in a large folder. */
static enum status choose_images(struct own_set *set)
{
    uint32_t count = 0, kept = 0;

    for (int split = SPLIT_TRAIN; split <= SPLIT_HELD_OUT; split++)
        set->about.found += dataset_count(set->dataset, (enum split)split);
    TRY(rows_make(&set->images, set->about.found));
    for (int split = SPLIT_TRAIN; split <= SPLIT_HELD_OUT; split++)
        for (uint32_t i = 0; i < dataset_count(set->dataset, (enum split)split); i++) {
            struct own_image *image = &set->images[count++];
            image->split = (enum split)split;
            image->index = i;
            image->path = dataset_file(set->dataset, image->split, i, &image->label);
        }
    qsort(set->images, count, sizeof *set->images, by_class_and_name);
    for (uint32_t i = 0; i < count; i++) {
        bool first = i == 0 || set->images[i].label != set->images[i - 1].label;
        /* In a large folder, one is kept whenever the even share of those up to it grows by one. */
        if (count <= OWN_IMAGES_MOST || first ||
            (uint64_t)(i + 1) * OWN_IMAGES_MOST / count > (uint64_t)i * OWN_IMAGES_MOST / count)
            set->images[kept++] = set->images[i];
    }
    set->count = kept;

    return STATUS_OK;
}

/* --- The name --- */

/* A file that is gone counts as one of no size: reading it will say so. */
static void name_set(char *name, size_t size, const struct own_set *set, const char *folder)
{
    char path[PATH_MAX];
    uint64_t sum = HASH_EMPTY;

    if (realpath(folder, path) == NULL)
        snprintf(path, sizeof path, "%s", folder);
    sum = hash_add(sum, path, strlen(path) + 1);
    for (uint32_t i = 0; i < set->count; i++) {
        const char *file = set->images[i].path + strlen(folder);
        struct stat info;
        int64_t facts[3] = { -1, 0, 0 };

        if (stat(set->images[i].path, &info) == 0) {
            facts[0] = info.st_size;
            facts[1] = info.st_mtim.tv_sec;
            facts[2] = info.st_mtim.tv_nsec;
        }
        sum = hash_add(sum, file, strlen(file) + 1);
        sum = hash_add(sum, facts, sizeof facts);
    }
    snprintf(name, size, FAMILY "%016llx-%dpx", (unsigned long long)sum, set->pixels);
}

/* --- Making the set --- */

/* The tools of one thread. */
struct own_worker {
    struct own_set *set;
    struct sample_reader *reader;
    struct jpeg_encoder *encoder;
    uint8_t *rgb;
};

static void close_worker(void *opened)
{
    struct own_worker *worker = opened;

    if (worker == NULL)
        return;
    sample_reader_close(worker->reader);
    jpeg_encoder_close(worker->encoder);
    free(worker->rgb);
    free(worker);
}

static enum status open_worker(void *context, void **opened)
{
    enum status status = STATUS_OK;
    struct own_set *set = context;
    struct own_worker *worker;

    TRY_OUT(rows_make(&worker, 1));
    worker->set = set;
    TRY_OUT(rows_make(&worker->rgb, dataset_sample_bytes(set->dataset)));
    TRY_OUT(sample_reader_open(&worker->reader, set->dataset));
    TRY_OUT(jpeg_encoder_open(&worker->encoder));

out:
    if (status != STATUS_OK) {
        close_worker(worker);
        worker = NULL;
    }
    *opened = worker;
    return status;
}

static void class_path(char path[PATH_MAX], const struct own_set *set, int label,
                       const char *folder)
{
    snprintf(path, PATH_MAX, "%s/%s", folder, dataset_class_name(set->dataset, label));
}

/* A file that cannot be decoded is counted and left out; any other failure ends the set. */
static enum status write_image(void *opened, uint32_t number, const char *folder)
{
    enum status status;
    struct own_worker *worker = opened;
    struct own_set *set = worker->set;
    const struct own_image *image = &set->images[number];
    char class_folder[PATH_MAX], path[PATH_MAX];
    const uint8_t *file;
    int32_t label, length;
    size_t bytes;

    status = sample_load(worker->reader, image->split, image->index, worker->rgb, &label, &length);
    pthread_mutex_lock(&set->mutex);
    if (status != STATUS_BAD_INPUT)
        set->of_class[image->label]++;
    else if (set->damaged++ == 0 || number < set->first)
        set->first = number;
    pthread_mutex_unlock(&set->mutex);
    if (status == STATUS_BAD_INPUT)
        return STATUS_OK;
    TRY(status);
    TRY(jpeg_encode(worker->encoder, worker->rgb, set->pixels, set->pixels, GENERATED_QUALITY,
                    &file, &bytes));
    class_path(class_folder, set, label, folder);
    if (snprintf(path, sizeof path, "%s/%06u.jpg", class_folder, number) >= (int)sizeof path)
        FAIL(STATUS_IO, "the path %.300s is too long; set CHOKEPOINT_CACHE to a shorter one",
             class_folder);
    return image_set_write_file(path, file, bytes);
}

static enum status fill_set(void *context, const char *folder)
{
    struct own_set *set = context;
    const struct image_set writing = { .count = set->count,
                                       .context = set,
                                       .open = open_worker,
                                       .close = close_worker,
                                       .write = write_image };

    char path[PATH_MAX], text[1024];

    TRY(rows_make(&set->of_class, dataset_classes(set->dataset)));
    for (int label = 0; label < dataset_classes(set->dataset); label++) {
        class_path(path, set, label, folder);
        if (mkdir(path, 0777) != 0)
            FAIL(STATUS_IO, "the folder %.300s cannot be made: %s; set CHOKEPOINT_CACHE to another",
                 path, strerror(errno));
    }
    TRY(image_set_write(&writing, folder));
    /* A class without images would be none. */
    for (int label = 0; label < dataset_classes(set->dataset); label++) {
        uint32_t first = 0;

        if (set->of_class[label] > 0)
            continue;
        while (set->images[first].label != label) first++;
        FAIL(STATUS_BAD_INPUT,
             "no JPEG file of the class %.100s can be decoded, %.300s for one; replace them or "
             "remove the class",
             dataset_class_name(set->dataset, label), set->images[first].path);
    }
    snprintf(path, sizeof path, "%s/" ABOUT, folder);
    snprintf(text, sizeof text, "%u %u\n%.*s\n", set->count - set->damaged,
             set->damaged + set->first_set.damaged, (int)sizeof set->about.first_damaged - 1,
             set->damaged > 0 ? set->images[set->first].path : set->first_set.first_damaged);
    return image_set_write_file(path, text, strlen(text));
}

static bool read_about(struct own_images *about, const char *folder)
{
    char path[PATH_MAX];
    FILE *file;
    bool is_read;

    snprintf(path, sizeof path, "%s/" ABOUT, folder);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    is_read = fscanf(file, "%u %u\n", &about->images, &about->damaged) == 2;
    if (fgets(about->first_damaged, sizeof about->first_damaged, file) == NULL)
        about->first_damaged[0] = '\0';
    about->first_damaged[strcspn(about->first_damaged, "\n")] = '\0';
    fclose(file);
    return is_read;
}

/* Counts the files, since a cleaner of temporary folders may have taken some. */
static bool has_all_files(void *context, const char *folder)
{
    struct own_set *set = context;
    uint32_t count = 0;

    if (!read_about(&set->about, folder))
        return false;
    for (int label = 0; label < dataset_classes(set->dataset); label++) {
        char path[PATH_MAX];

        class_path(path, set, label, folder);
        count += cache_folder_count_files(path);
    }
    return count == set->about.images;
}

/* Opens the images that the set is to be made from, and chooses among them. */
static enum status open_source(struct own_set *set, const char *folder)
{
    struct dataset_config config = { .image_size = set->pixels };

    dataset_close(set->dataset);
    set->dataset = NULL;
    free(set->images);
    set->images = NULL;
    set->about.found = 0;
    if (strlen(folder) >= sizeof config.folder)
        FAIL(STATUS_BAD_INPUT, "the folder's name is longer than %zu characters: %.80s...",
             sizeof config.folder - 1, folder);
    snprintf(config.folder, sizeof config.folder, "%s", folder);
    TRY(dataset_open(&set->dataset, &config));
    return choose_images(set);
}

enum status own_images_get(char path[PATH_MAX], const char *folder, int pixels,
                           struct own_images *about)
{
    enum status status = STATUS_OK;
    struct own_set set = { .pixels = pixels, .mutex = PTHREAD_MUTEX_INITIALIZER };
    char name[64];
    const struct cache_entry entry = {
        .name = name,
        .context = &set,
        .is_whole = has_all_files,
        .fill = fill_set,
        .family = FAMILY,
        .most = OWN_SETS_MOST,
    };
    uint32_t files;
    bool found;

    TRY_OUT(open_source(&set, folder));
    files = set.about.found;
    name_set(name, sizeof name, &set, folder);
    TRY_OUT(cache_folder_find(path, &entry, &found));
    if (!found && pixels < OWN_PIXELS_FIRST) { /* from the first set, which may have to be made */
        TRY_OUT(own_images_get(path, folder, OWN_PIXELS_FIRST, &set.first_set));
        TRY_OUT(open_source(&set, path));
    }
    TRY_OUT(cache_folder_get(path, &entry));
    read_about(&set.about, path);
    set.about.found = files;
    if (about != NULL)
        *about = set.about;

out:
    pthread_mutex_destroy(&set.mutex);
    free(set.of_class);
    free(set.images);
    dataset_close(set.dataset);
    return status;
}
