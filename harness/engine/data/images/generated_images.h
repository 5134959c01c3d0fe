/* The generated image set: JPEG files that a small model can learn in a few hundred steps.
 *
 * An image shows a striped disc on a cloudy background. Its class is the direction (five) and width
 * (two) of the stripes. Phase, position, size, colours, contrast and clouds are random, so no
 * linear model can tell the class. A faint tint depends on the class too, so that the loss falls
 * from the first steps on. A vision transformer of two blocks of width 64 (32 x 32 pixels, patches
 * of 8, batch 8, AdamW at 1e-3) had 59% of the held-out images right after 500 steps, 79% after
 * 1000 and 91% after 1500; chance is 10%.
 *
 * The contrast of the clouds falls slowly from octave to octave of spatial frequency. (In
 * photographs it stays about the same: Field, "Relations between the statistics of natural images
 * and the response properties of cortical cells", 1987; but most of that is in edges.) So a file is
 * about as large, and takes about as long to decode, as a photograph of its size.
 *
 * The set has the same samples at every JPEG size and does not depend on any seed: the cache folder
 * holds one per size, written by all cores that the process may use. GENERATED_TRAIN of its files
 * are for training. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GENERATED_CLASSES = 10,
    GENERATED_PIXELS_MIN = 16,
    GENERATED_PIXELS_MAX = 1024,
    GENERATED_QUALITY = 90,      /* of the JPEG files */
    GENERATED_UNEVEN_EVERY = 32, /* of an uneven set: one file in so many of a class */
    GENERATED_UNEVEN_TIMES = 12  /* has a side so many times as long */
};

struct image_painter;

/* For images of `pixels` x `pixels`, GENERATED_PIXELS_MIN to _MAX. */
enum status image_painter_open(struct image_painter **painter, int pixels);
void image_painter_close(struct image_painter *painter); /* NULL is allowed */

/* Paints sample `number` of a class: pixels * pixels RGB bytes that live until the next call. */
const uint8_t *image_painter_paint(struct image_painter *painter, int label, uint32_t number);

/* `pixels` or, in an uneven set, the side of file `number` of a class; at most
 * GENERATED_PIXELS_MAX. */
int generated_image_pixels(int pixels, bool uneven, uint32_t number);

/* The path of the set of that size, a folder with a sub-folder for each class; written to the cache
 * folder when it is not there. Errors: those of cache_folder_get(); IO when a file cannot be
 * written. */
enum status generated_images_get(char path[PATH_MAX], int pixels, bool uneven);

/* Whether the set of that size is there or the cache folder can be written: cache_folder_try(). */
enum status generated_images_try(int pixels, bool uneven);
