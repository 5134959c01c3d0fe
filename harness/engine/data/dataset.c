/* One interface to both kinds of data. An image set is a folder of files, the user's or the
 * generated one; a sequence set has no files and is generated from its settings.
 *
 * A data set is read-only once it is open, but for the marks of damaged files, so any number of
 * threads may read it, each with a sample_reader of its own: the reader has the decoder and the
 * buffer. */
#include "harness/engine/data/dataset.h"

#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/hash.h"
#include "harness/base/rows.h"
#include "harness/engine/data/image_folder.h"
#include "harness/engine/data/images/generated_images.h"
#include "harness/engine/data/images/jpeg.h"
#include "harness/engine/data/own_images.h"
#include "harness/engine/data/sample_index.h"
#include "harness/engine/data/sequences.h"
#include "harness/engine/data/shards.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_SIZE_MAX 1024
#define FILE_BYTES_MAX ((size_t)1 << 30) /* far above any JPEG that the decoder takes */
#define TOKENS_MAX     65536
#define TIMED_SAMPLES  9 /* one for each of as many classes */
#define TIMINGS_A_FILE 3

struct dataset {
    struct dataset_config config;
    struct sample_index *index; /* of the training split; NULL: none */
    struct image_folder folder; /* images only, as what follows */
    atomic_bool *is_damaged;    /* by file, those of the first split first */
    struct shards *shards;      /* of the training split; NULL: it is read file by file */
};

struct sample_reader {
    const struct dataset *dataset;
    struct index_view *index;     /* NULL: none */
    struct jpeg_decoder *decoder; /* images only, as what follows */
    unsigned char *file;
    size_t capacity;
    struct sample_reading reading;
};

/* Knobs have ranges of their own; these are what the code can make and decode. */
static enum status check_config(const struct dataset_config *config)
{
    if (config->kind == DATA_SEQUENCES) {
        if (config->tokens < SEQUENCE_TOKENS_MIN || config->tokens > TOKENS_MAX)
            FAIL(STATUS_BAD_USAGE, "sequences of up to %d tokens cannot be made; choose %d to %d",
                 config->tokens, SEQUENCE_TOKENS_MIN, TOKENS_MAX);
        if (config->vocabulary < SEQUENCE_VOCABULARY_MIN)
            FAIL(STATUS_BAD_USAGE, "a vocabulary of %d ids is too small; choose %d or more",
                 config->vocabulary, SEQUENCE_VOCABULARY_MIN);
        return STATUS_OK;
    }
    if (config->image_size < 1 || config->image_size > IMAGE_SIZE_MAX)
        FAIL(STATUS_BAD_USAGE, "images of %d x %d pixels cannot be used; choose 1 to %d",
             config->image_size, config->image_size, IMAGE_SIZE_MAX);
    if ((config->folder[0] == '\0' || config->jpeg_pixels != 0) &&
        (config->jpeg_pixels < GENERATED_PIXELS_MIN || config->jpeg_pixels > GENERATED_PIXELS_MAX))
        FAIL(STATUS_BAD_USAGE, "JPEG files of %d x %d pixels are not made; choose %d to %d",
             config->jpeg_pixels, config->jpeg_pixels, GENERATED_PIXELS_MIN, GENERATED_PIXELS_MAX);
    if (config->in_shards && config->jpeg_pixels == 0)
        FAIL(STATUS_BAD_USAGE,
             "storage=shards would copy your files into their folder; set jpeg_pixels, so that "
             "they are copied elsewhere first, or storage=files");

    return STATUS_OK;
}

static uint32_t file_count(const struct dataset *dataset)
{
    const struct image_list *splits = dataset->folder.splits;

    return splits[SPLIT_TRAIN].count + splits[SPLIT_HELD_OUT].count;
}

static enum status make_shards(struct dataset *dataset, const char *folder);

static enum status open_images(struct dataset *dataset)
{
    const struct dataset_config *config = &dataset->config;
    char path[PATH_MAX];

    if (config->folder[0] == '\0')
        TRY(generated_images_get(path, config->jpeg_pixels, config->uneven));
    else if (config->jpeg_pixels > 0)
        TRY(own_images_get(path, config->folder, config->jpeg_pixels, NULL));
    else
        snprintf(path, sizeof path, "%s", config->folder);
    TRY(image_folder_read(&dataset->folder, path));
    TRY(rows_make(&dataset->is_damaged, file_count(dataset)));
    if (config->in_shards)
        TRY(make_shards(dataset, path));

    return STATUS_OK;
}

enum status dataset_open(struct dataset **dataset, const struct dataset_config *config)
{
    enum status status = STATUS_OK;

    *dataset = NULL;
    TRY_OUT(check_config(config));
    TRY_OUT(rows_make(dataset, 1));
    (*dataset)->config = *config;
    if (config->kind == DATA_IMAGES)
        TRY_OUT(open_images(*dataset));
    if (config->index != INDEX_NONE)
        TRY_OUT(sample_index_open(&(*dataset)->index, config->index,
                                  dataset_count(*dataset, SPLIT_TRAIN)));

out:
    if (status != STATUS_OK) {
        dataset_close(*dataset);
        *dataset = NULL;
    }
    return status;
}

void dataset_close(struct dataset *dataset)
{
    if (dataset == NULL)
        return;
    sample_index_close(dataset->index);
    image_folder_release(&dataset->folder);
    shards_close(dataset->shards);
    free(dataset->is_damaged);
    free(dataset);
}

const struct dataset_config *dataset_config(const struct dataset *dataset)
{
    return &dataset->config;
}

uint32_t dataset_count(const struct dataset *dataset, enum split split)
{
    if (dataset->config.kind == DATA_SEQUENCES)
        return split == SPLIT_TRAIN ? SEQUENCES_TRAIN : SEQUENCES_HELD_OUT;
    return dataset->folder.splits[split].count;
}

int dataset_classes(const struct dataset *dataset)
{
    return dataset->config.kind == DATA_SEQUENCES ? SEQUENCE_CLASSES : dataset->folder.class_count;
}

const char *dataset_class_name(const struct dataset *dataset, int label)
{
    static const char *const sequence_classes[SEQUENCE_CLASSES] = {
        "ranking_0", "ranking_1", "ranking_2", "ranking_3",
        "ranking_4", "ranking_5", "ranking_6", "ranking_7",
    };

    if (label < 0 || label >= dataset_classes(dataset))
        return "unknown";
    return dataset->config.kind == DATA_SEQUENCES ? sequence_classes[label]
                                                  : dataset->folder.classes[label];
}

const char *dataset_file(const struct dataset *dataset, enum split split, uint32_t index,
                         int32_t *label)
{
    const struct image_file *file = &dataset->folder.splits[split].files[index];

    *label = file->label;
    return file->path;
}

/* Names and sizes of the files, not their bytes: to read them all would take as long as an
 * epoch. */
struct dataset_identity dataset_identity(const struct dataset *dataset)
{
    struct dataset_identity identity = { .samples = dataset_count(dataset, SPLIT_TRAIN) };

    if (dataset->config.kind == DATA_SEQUENCES)
        return identity;
    identity.files = HASH_EMPTY;
    for (uint32_t i = 0; i < identity.samples; i++) {
        const struct image_file *file = &dataset->folder.splits[SPLIT_TRAIN].files[i];
        const char *class = dataset->folder.classes[file->label];
        const char *name = strrchr(file->path, '/') + 1;
        struct stat info;
        /* A file that is gone counts as one of no size: another sample is trained on instead. */
        int64_t bytes = stat(file->path, &info) == 0 ? (int64_t)info.st_size : -1;

        identity.files = hash_add(identity.files, class, strlen(class) + 1);
        identity.files = hash_add(identity.files, name, strlen(name) + 1);
        identity.files = hash_add(identity.files, &bytes, sizeof bytes);
    }
    return identity;
}

size_t dataset_sample_bytes(const struct dataset *dataset)
{
    size_t size = (size_t)dataset->config.image_size, tokens = (size_t)dataset->config.tokens;

    return dataset->config.kind == DATA_SEQUENCES ? tokens * sizeof(int32_t) : size * size * 3;
}

bool dataset_has_lengths(const struct dataset *dataset)
{
    return dataset->config.kind == DATA_SEQUENCES;
}

int32_t dataset_length(const struct dataset *dataset, enum split split, uint32_t index)
{
    return dataset->config.kind == DATA_SEQUENCES ? sequence_length(&dataset->config, split, index)
                                                  : 0;
}

enum status sample_reader_open(struct sample_reader **reader, const struct dataset *dataset)
{
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(reader, 1));
    (*reader)->dataset = dataset;
    if (dataset->index != NULL)
        TRY_OUT(index_view_open(&(*reader)->index, dataset->index));
    if (dataset->config.kind == DATA_IMAGES)
        TRY_OUT(jpeg_decoder_open(&(*reader)->decoder));
    if ((*reader)->decoder != NULL && dataset->config.threads > 1)
        jpeg_decoder_set_threads((*reader)->decoder, dataset->config.threads);

out:
    if (status != STATUS_OK) {
        sample_reader_close(*reader);
        *reader = NULL;
    }
    return status;
}

void sample_reader_close(struct sample_reader *reader)
{
    if (reader == NULL)
        return;
    index_view_close(reader->index);
    jpeg_decoder_close(reader->decoder);
    free(reader->file);
    free(reader);
}

/* True when the process, not the file, is the reason that a file cannot be read. Other files would
 * fail too, so replacing the sample would only hide the reason. */
static bool is_of_process(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* The buffer only grows; what was in it is not kept. */
static enum status reserve_file(struct sample_reader *reader, size_t bytes, const char *path)
{
    if (bytes > FILE_BYTES_MAX)
        FAIL(STATUS_BAD_INPUT, "%.300s has %zu bytes, too many for an image", path, bytes);
    if (bytes <= reader->capacity)
        return STATUS_OK;
    free(reader->file);
    reader->file = malloc(bytes);
    reader->capacity = reader->file != NULL ? bytes : 0;
    if (reader->file == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the %zu bytes of %.300s", bytes, path);

    return STATUS_OK;
}

/* Reads the whole file into reader->file. */
static enum status read_sample_file(struct sample_reader *reader, const char *path, size_t *bytes)
{
    enum status status = STATUS_OK;
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    *bytes = 0;
    if (file < 0 || fstat(file, &info) != 0)
        FAIL_OUT(is_of_process(errno) ? STATUS_IO : STATUS_BAD_INPUT, "%.300s cannot be read: %s",
                 path, strerror(errno));
    if (reader->dataset->config.drops_cache)
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    TRY_OUT(reserve_file(reader, (size_t)info.st_size, path));
    while (*bytes < (size_t)info.st_size) {
        ssize_t count = read(file, reader->file + *bytes, (size_t)info.st_size - *bytes);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            FAIL_OUT(is_of_process(errno) ? STATUS_IO : STATUS_BAD_INPUT,
                     "%.300s cannot be read: %s", path, strerror(errno));
        /* The file was cut meanwhile: the decoder will say so. */
        if (count == 0)
            break;
        *bytes += (size_t)count;
    }
    if (*bytes == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%.300s is empty", path);

out:
    if (file >= 0)
        close(file);
    return status;
}

/* A file that could not be read when shards were made has no bytes there. */
static enum status take_from_shard(struct sample_reader *reader, uint32_t index, const char *path,
                                   size_t *bytes)
{
    struct shards *shards = reader->dataset->shards;
    bool reads;

    *bytes = shards_size(shards, index);
    if (*bytes == 0)
        FAIL(STATUS_BAD_INPUT, "%.300s could not be read", path);
    TRY(reserve_file(reader, *bytes, path));
    TRY(shards_take(shards, index, reader->file, &reads));
    reader->reading.count += reads;

    return STATUS_OK;
}

/* Reads the file of a sample, from wherever it is. */
static enum status read_sample(struct sample_reader *reader, enum split split, uint32_t index,
                               size_t *bytes)
{
    const struct dataset *dataset = reader->dataset;
    const char *path = dataset->folder.splits[split].files[index].path;
    int64_t begin_ns = clock_ns();
    enum status status;

    if (dataset->shards != NULL && split == SPLIT_TRAIN) {
        status = take_from_shard(reader, index, path, bytes);
    } else {
        status = read_sample_file(reader, path, bytes);
        reader->reading.count++;
    }
    reader->reading.ns += clock_ns() - begin_ns;
    return status;
}

struct sample_reading sample_reader_reading(const struct sample_reader *reader)
{
    return reader->reading;
}

static enum status make_shards(struct dataset *dataset, const char *folder)
{
    enum status status = STATUS_OK;
    const struct image_list *files = &dataset->folder.splits[SPLIT_TRAIN];
    struct sample_reader *reader = NULL;

    TRY_OUT(sample_reader_open(&reader, dataset));
    TRY_OUT(shards_open(&dataset->shards, folder, files->count, dataset->config.drops_cache));
    for (uint32_t i = 0; i < files->count; i++) {
        size_t bytes = 0;
        status = read_sample_file(reader, files->files[i].path, &bytes);
        if (status != STATUS_BAD_INPUT) /* whoever loads the sample will say so */
            TRY_OUT(status);
        TRY_OUT(shards_add(dataset->shards, reader->file, status == STATUS_OK ? bytes : 0));
    }
    TRY_OUT(shards_finish(dataset->shards));

out:
    sample_reader_close(reader);
    return status;
}

static enum status decode_image(struct sample_reader *reader, const char *path, size_t bytes,
                                int size, void *input)
{
    return jpeg_decode_square(reader->decoder, reader->file, bytes, path, size,
                              reader->dataset->config.scales, input);
}

enum status sample_load(struct sample_reader *reader, enum split split, uint32_t index, void *input,
                        int32_t *label, int32_t *length)
{
    const struct dataset *dataset = reader->dataset;
    const struct image_file *file;
    enum status status;
    size_t bytes;

    if (reader->index != NULL && split == SPLIT_TRAIN)
        index_view_read(reader->index, index);
    if (dataset->config.kind == DATA_SEQUENCES) {
        sequence_draw(&dataset->config, split, index, input, label, length);
        return STATUS_OK;
    }
    file = &dataset->folder.splits[split].files[index];
    *label = file->label;
    *length = 0;
    status = read_sample(reader, split, index, &bytes);
    if (status == STATUS_OK)
        status = decode_image(reader, file->path, bytes, dataset->config.image_size, input);
    /* The file is marked, and the caller takes another sample (sample_load_usable()). */
    if (status == STATUS_BAD_INPUT) {
        uint32_t before = split == SPLIT_TRAIN ? 0 : dataset->folder.splits[SPLIT_TRAIN].count;
        atomic_store(&dataset->is_damaged[before + index], true);
    }
    return status;
}

enum status sample_read(struct sample_reader *reader, enum split split, uint32_t index)
{
    const struct dataset *dataset = reader->dataset;
    size_t bytes;

    if (dataset->config.kind == DATA_SEQUENCES)
        return STATUS_OK;
    return read_sample(reader, split, index, &bytes);
}

struct dataset_damage dataset_damage(const struct dataset *dataset)
{
    struct dataset_damage damage = { 0, NULL };
    const struct image_list *splits = dataset->folder.splits;
    uint32_t trained = splits[SPLIT_TRAIN].count;

    for (uint32_t i = 0; i < file_count(dataset); i++) {
        if (!atomic_load(&dataset->is_damaged[i]))
            continue;
        if (damage.files++ == 0)
            damage.first = i < trained ? splits[SPLIT_TRAIN].files[i].path
                                       : splits[SPLIT_HELD_OUT].files[i - trained].path;
    }
    return damage;
}

double dataset_copied_bytes(const struct dataset *dataset)
{
    return dataset->index != NULL ? sample_index_copied_bytes(dataset->index) : NAN;
}

/* So that the first epoch reads from the page cache, as later ones do. */
enum status dataset_read_files(const struct dataset_config *config)
{
    enum status status = STATUS_OK;
    struct dataset *dataset = NULL;
    struct sample_reader *reader = NULL;

    TRY_OUT(dataset_open(&dataset, config));
    TRY_OUT(sample_reader_open(&reader, dataset));
    for (int split = SPLIT_TRAIN; split <= SPLIT_HELD_OUT; split++)
        for (uint32_t i = 0; i < dataset->folder.splits[split].count; i++) {
            size_t bytes;
            status = read_sample_file(reader, dataset->folder.splits[split].files[i].path, &bytes);
            if (status != STATUS_BAD_INPUT) /* whoever loads the sample will say so */
                TRY_OUT(status);
        }
    status = STATUS_OK;

out:
    sample_reader_close(reader);
    dataset_close(dataset);
    return status;
}

/* Times one file in memory, opened by path as files on disk are. */
static enum status time_file(struct sample_reader *reader, const uint8_t *jpeg, size_t bytes,
                             int image_size, uint8_t *rgb, double *ns)
{
    enum status status = STATUS_OK;
    char path[64];
    int file = memfd_create("sample.jpg", MFD_CLOEXEC);

    if (file < 0 || write(file, jpeg, bytes) != (ssize_t)bytes)
        FAIL_OUT(STATUS_IO, "a file in memory cannot be written: %s", strerror(errno));
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    for (int i = 0; i < TIMINGS_A_FILE; i++) {
        int64_t begin = clock_ns();
        size_t read;

        TRY_OUT(read_sample_file(reader, path, &read));
        TRY_OUT(decode_image(reader, path, read, image_size, rgb));
        ns[i] = (double)(clock_ns() - begin);
    }

out:
    if (file >= 0)
        close(file);
    return status;
}

enum status dataset_decode_ns(int jpeg_pixels, int image_size, bool scales, double *decode_ns)
{
    enum status status = STATUS_OK;
    const struct dataset_config config = { .image_size = image_size,
                                           .jpeg_pixels = jpeg_pixels,
                                           .scales = scales };
    const struct dataset no_files = { .config = config };
    struct image_painter *painter = NULL;
    struct jpeg_encoder *encoder = NULL;
    struct sample_reader *reader = NULL;
    uint8_t *rgb = NULL;
    double ns[TIMED_SAMPLES * TIMINGS_A_FILE];

    TRY_OUT(check_config(&config));
    TRY_OUT(image_painter_open(&painter, jpeg_pixels));
    TRY_OUT(jpeg_encoder_open(&encoder));
    TRY_OUT(sample_reader_open(&reader, &no_files));
    TRY_OUT(rows_make(&rgb, dataset_sample_bytes(&no_files)));
    for (int i = 0; i < TIMED_SAMPLES; i++) {
        const uint8_t *jpeg;
        size_t bytes;

        TRY_OUT(jpeg_encode(encoder, image_painter_paint(painter, i, 0), jpeg_pixels, jpeg_pixels,
                            GENERATED_QUALITY, &jpeg, &bytes));
        TRY_OUT(time_file(reader, jpeg, bytes, image_size, rgb, ns + i * TIMINGS_A_FILE));
    }
    /* The faster quarter: other programs only ever add time. */
    *decode_ns = stats_percentile(ns, ARRAY_SIZE(ns), 25);

out:
    free(rgb);
    sample_reader_close(reader);
    jpeg_encoder_close(encoder);
    image_painter_close(painter);
    return status;
}
