/* The source of samples: JPEG files with a label each, or generated token sequences.
 *
 * Images are JPEG files of any size. They are decoded with libjpeg-turbo, cropped to the middle
 * square and resized to image_size by averaging areas, as in a vision training job. They are the
 * user's own (one sub-folder per class) or a generated, learnable set, which is made once per JPEG
 * size in the cache folder. Sequences are token ids of varying length, from which their class can
 * be learnt.
 *
 * About a tenth of the samples is held out of training, always the same ones. */
#pragma once

#include "harness/base/status.h"
#include "harness/engine/settings/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum split { SPLIT_TRAIN, SPLIT_HELD_OUT };

struct dataset; /* threads may share it: loading only takes note of damaged files */

/* The decoder and buffers that one thread needs to load samples. */
struct sample_reader;

/* Errors: BAD_USAGE when a size is out of range; BAD_INPUT when the folder has fewer than two
 * classes or a class has no files; IO says which path. The first open of a generated set writes it
 * to the cache folder: $CHOKEPOINT_CACHE, else $XDG_CACHE_HOME/chokepoint, else
 * ~/.cache/chokepoint. Several processes may do so at once; a set is there whole or not at all. */
enum status dataset_open(struct dataset **dataset, const struct dataset_config *config);
void dataset_close(struct dataset *dataset);

const struct dataset_config *dataset_config(const struct dataset *dataset);
uint32_t dataset_count(const struct dataset *dataset, enum split split);
int dataset_classes(const struct dataset *dataset);
const char *dataset_class_name(const struct dataset *dataset, int label);

/* The path and class of an image's file; the path is the dataset's. */
const char *dataset_file(const struct dataset *dataset, enum split split, uint32_t index,
                         int32_t *label);

/* The data that are trained on: the number of training samples, and a hash over the files' classes,
 * names and sizes, not over the path of their folder; 0 for sequences, which follow from the
 * settings. It asks the file system about every file. */
struct dataset_identity {
    int64_t samples;
    uint64_t files;
};
struct dataset_identity dataset_identity(const struct dataset *dataset);

/* The image files that sample_load() could not load so far, each counted once. */
struct dataset_damage {
    uint32_t files;
    /* path of the first, in the dataset's order; the dataset's own; NULL: none */
    const char *first;
};
struct dataset_damage dataset_damage(const struct dataset *dataset);

/* Bytes of one sample's input: image_size^2 * 3 bytes, RGB by rows; or tokens int32 ids, 0 after
 * the sequence's end. */
size_t dataset_sample_bytes(const struct dataset *dataset);

bool dataset_has_lengths(const struct dataset *dataset); /* sequences have, images have none */

/* The length of a sequence in tokens, known without loading it; of images 0. */
int32_t dataset_length(const struct dataset *dataset, enum split split, uint32_t index);

enum status sample_reader_open(struct sample_reader **reader, const struct dataset *dataset);
void sample_reader_close(struct sample_reader *reader);

/* Loads sample `index` of `split`. `length` is the sequence's length in tokens; for images 0. A
 * file that is gone, cannot be read or cannot be decoded is BAD_INPUT and names the file; IO when
 * the process is short of file descriptors. */
enum status sample_load(struct sample_reader *reader, enum split split, uint32_t index, void *input,
                        int32_t *label, int32_t *length);

/* Reads the file of a sample, so that sample_load() finds it in the host's memory; of sequences
 * there is nothing to read. Errors: those of sample_load(). */
enum status sample_read(struct sample_reader *reader, enum split split, uint32_t index);

/* The files, or shards of many, that a reader has read so far, and how long that took. */
struct sample_reading {
    int64_t count, ns;
};
struct sample_reading sample_reader_reading(const struct sample_reader *reader);

/* Bytes of the index that its readers have copies of (sample_index.h); NaN: there is no index. */
double dataset_copied_bytes(const struct dataset *dataset);

/* Reads every file once, so that later reads find them in the host's memory. Sequences need no
 * reading. Errors: those of dataset_open(). */
enum status dataset_read_files(const struct dataset_config *config);

/* Host time to read and decode one generated sample of `jpeg_pixels`, for choosing a size that
 * gives a wanted ratio of host to device work: the lower quartile over a few files made in memory,
 * because other processes can only add to it. */
enum status dataset_decode_ns(int jpeg_pixels, int image_size, bool scales, double *decode_ns);
