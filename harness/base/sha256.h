/* SHA-256 (FIPS 180-4): tells whether a file is still the one that was written. Whoever may write
 * both the file and its digest can make them agree again: only a digest that is kept elsewhere
 * protects against that. */
#ifndef HARNESS_BASE_SHA256_H
#define HARNESS_BASE_SHA256_H

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BLOCK = 64, SHA256_TEXT = 65 }; /* bytes; 64 hexadecimal digits and the end */

struct sha256 {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    unsigned char block[SHA256_BLOCK];
};

struct sha256 sha256_start(void);
void sha256_add(struct sha256 *hash, const void *bytes, size_t count);
void sha256_print(const struct sha256 *hash, char text[SHA256_TEXT]); /* of all bytes so far */

/* The hash of a file's content. IO where it cannot be read. */
enum status sha256_file(const char *path, char text[SHA256_TEXT]);

#endif
