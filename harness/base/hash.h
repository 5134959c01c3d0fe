/* FNV-1a, 64 bits (Fowler, Noll, Vo): tells data apart that nobody makes alike on purpose. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_EMPTY 0xcbf29ce484222325u /* the hash of no bytes */

/* The hash of what `hash` is of, followed by these bytes. */
static inline uint64_t hash_add(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 0x100000001b3;
    return hash;
}
