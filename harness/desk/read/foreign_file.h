/* Names a file that is no trace: people try what else their tools write. */
#ifndef HARNESS_DESK_READ_FOREIGN_FILE_H
#define HARNESS_DESK_READ_FOREIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* "a report of Nsight Systems, which ... ", by the first bytes or the end of the name; NULL:
 * nothing that is known. The bytes are those before any decompression of gzip was needed. */
const char *foreign_file(const char *bytes, size_t count, const char *path);

/* Whether a file that begins so is a pickle with the parts of a snapshot of PyTorch's memory. */
bool file_is_snapshot(const char *bytes, size_t count);

#endif
