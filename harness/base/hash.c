#include "harness/base/hash.h"

uint64_t hash_add(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 0x100000001b3;
    return hash;
}
