/* A folder of JPEG files, one sub-folder per class: the usual layout of image classification sets.
 *
 * Classes are the sub-folders in the order of their names' bytes, as torchvision's ImageFolder
 * orders them; samples are the files named .jpg or .jpeg in any case, in that order too. Symbolic
 * links are followed, names that begin with a dot and all other files are ignored, deeper folders
 * are not searched. Every tenth file of a class is held out; of two to nine files it is one. */
#pragma once

#include "harness/engine/data/dataset.h"

struct image_file {
    char *path;
    int32_t label;
};

struct image_list {
    struct image_file *files;
    uint32_t count;
    int64_t room;
};

struct image_folder {
    char **classes;
    int class_count;
    struct image_list splits[2]; /* by enum split */
};

/* BAD_INPUT when `path` is not a folder, has fewer than two sub-folders or one without JPEG files;
 * IO when it cannot be read. Nothing is to be released then. */
enum status image_folder_read(struct image_folder *folder, const char *path);
void image_folder_release(struct image_folder *folder);
