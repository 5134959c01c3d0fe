/* Checksums of memory, so that two runs can be compared bit for bit without moving their tensors.
 * They are sums of integers, which are the same in any order. */
#pragma once

/* sums[row] = sum of word * (2 * place + 1) modulo 2^32 over the words [row * width, (row + 1) *
 * width) of x, as far as `count` goes, where place counts from the row's beginning. A factor is
 * odd, so a change of a single word always changes the sum, and an exchange of two almost always.
 * Words are 32 bits of whatever x holds: the storage type does not matter. The last pack is read
 * whole. Launched with ceil(count / width) rows. */
struct checksum {
    uint32_t *sums;
    const float *x; /* [count] */
    int64_t count;
    int width;
};
