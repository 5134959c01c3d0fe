/* Writing the files of an image set on all cores that this process may use. Painting or decoding,
 * and encoding, take milliseconds per file of 512 pixels, and a set has a thousand files. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct image_set {
    uint32_t count; /* of images */
    void *context;
    /* Makes what one thread needs for itself. *worker is NULL after a failure; close takes that
     * too. */
    enum status (*open)(void *context, void **worker);
    void (*close)(void *worker);
    /* Makes image `number` below `folder`. Threads take the numbers in order, each number once. */
    enum status (*write)(void *worker, uint32_t number, const char *folder);
};

/* Makes all images. After a failure the threads finish the image in hand, and the first error comes
 * back. */
enum status image_set_write(const struct image_set *set, const char *folder);

/* A new file of the cache folder. IO names it and says what to do. */
enum status image_set_write_file(const char *path, const void *bytes, size_t count);
