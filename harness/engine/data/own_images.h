/* The user's own images, brought to one size.
 *
 * A scenario needs files of a certain size, whatever the user's have. So each of the user's files
 * is decoded once, cut to its middle square, resized, and stored in the cache folder as a JPEG file
 * of the generated ones' quality, in a folder named after its class. This first set has
 * OWN_PIXELS_FIRST, the most that a balance asks for; smaller sets are made from it, because
 * photographs of many megapixels take a hundred times as long to decode. A set is found again by
 * the path of the user's folder and the names, sizes and times of the files in it, so a folder that
 * has changed gives a new set. Files that cannot be decoded are left out and counted.
 *
 * OWN_IMAGES_MOST images are taken of a large folder, evenly from all classes: enough for a
 * window's batches to be different ones. OWN_SETS_MOST sets stay in the cache folder (a full one
 * takes 100 to 200 MB at 512 pixels and 5 to 10 MB at 64): the one unused for longest makes room,
 * but none that was used within the last hour (cache_folder.h), so the sets of one run may be
 * more. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stdint.h>

enum { OWN_IMAGES_MOST = 2048, OWN_SETS_MOST = 16, OWN_PIXELS_FIRST = 512 };

struct own_images {
    uint32_t found;          /* JPEG files in the user's folder */
    uint32_t images;         /* in the set */
    uint32_t damaged;        /* files taken that cannot be decoded */
    char first_damaged[512]; /* of them, in the order of names: its path; "": none */
};

/* The path of the set of `pixels` x `pixels` (as generated ones: 16 to 1024), which is made if it
 * is not there. Errors: those of dataset_open() and cache_folder_get(); BAD_INPUT when no file of a
 * class can be decoded, with the name of one. `about` may be NULL. */
enum status own_images_get(char path[PATH_MAX], const char *folder, int pixels,
                           struct own_images *about);
