/* The files of kernels/lessons that the program has in itself: NAME.cu and NAME.ptx of each lesson,
 * and registers.txt. */
#ifndef HARNESS_LAB_LESSONS_LESSON_FILES_H
#define HARNESS_LAB_LESSONS_LESSON_FILES_H

#include <stddef.h>

struct embedded_file {
    const char *name, *text; /* a NUL follows the text */
    size_t bytes;
};
extern const struct embedded_file lesson_files[]; /* ends with a NULL name */

#endif
