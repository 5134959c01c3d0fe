/* Files that the program has in itself (cmake/embed.cmake). */
#pragma once

#include <stddef.h>

/* A row of an array that ends with a NULL name. */
struct embedded_file {
    const char *name, *text; /* a NUL follows the text */
    size_t bytes;
};
