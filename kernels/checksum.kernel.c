/* Checksums: memory traffic, and an integer product per word. */
#include "kernels/dialect/kernel.h"

#include "kernels/checksum.h"

KERNEL_ROWS(checksum, k, row)
{
    long first = row * k->width;
    int count = smaller_int(k->width, k->count - first);
    uint32_t sums[PACK] = { 0 }, sum = 0;

    PACKS(c, count) {
        struct pack x = load_floats(k->x + first + c);
        EACH(j) sums[j] += c + j < count ? float_bits(x.v[j]) * (2 * (uint32_t)(c + j) + 1) : 0;
    }
    EACH(j) sum += sums[j];
    sum = lanes_sum_words(sum);
    if (LANE == 0)
        k->sums[row] = sum;
}
