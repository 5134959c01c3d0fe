#ifndef HARNESS_BASE_SYSTEM_WRITE_ALL_H
#define HARNESS_BASE_SYSTEM_WRITE_ALL_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all bytes to a file or a pipe, in as many calls as it takes. False: errno says why. */
bool write_all(int descriptor, const void *bytes, size_t count);

#endif
