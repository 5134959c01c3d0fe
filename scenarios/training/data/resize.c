/* Rows first, columns second: the sum over rows runs along memory, three channels at once, and is
 * the only pass over all source pixels.
 *
 * Lengths are counted in units of which both grids are whole multiples: with side / size reduced to
 * span / step, a source pixel is `step` units long and a pixel of the result `span` units. */
#include "scenarios/training/data/resize.h"

#include <string.h>

static long shorter(long a, long b)
{
    return a < b ? a : b;
}

static int greatest_common_divisor(int a, int b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* sums[i] = the source rows under units `begin` to `end`, weighted by the units that each has there. */
static void sum_rows(const uint8_t *source, size_t stride, int width, long step, long begin,
                     long end, uint32_t *sums)
{
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (long y = begin / step; begin < end; y++) {
        const uint8_t *row = source + (size_t)y * stride;
        long row_end = shorter((y + 1) * step, end);
        uint32_t weight = (uint32_t)(row_end - begin);

        for (int i = 0; i < width; i++) sums[i] += weight * row[i];
        begin = row_end;
    }
}

/* The pixel whose columns are units `begin` to `end` of the row in `sums`. */
static void average_columns(const uint32_t *sums, long step, long begin, long end, double area,
                            uint8_t *pixel)
{
    uint64_t red = 0, green = 0, blue = 0;

    for (const uint32_t *sum = sums + begin / step * 3; begin < end; sum += 3) {
        long column_end = shorter((begin / step + 1) * step, end);
        uint64_t weight = (uint64_t)(column_end - begin);

        red += weight * sum[0];
        green += weight * sum[1];
        blue += weight * sum[2];
        begin = column_end;
    }
    pixel[0] = (uint8_t)((double)red / area + 0.5);
    pixel[1] = (uint8_t)((double)green / area + 0.5);
    pixel[2] = (uint8_t)((double)blue / area + 0.5);
}

void resize_area(const uint8_t *source, size_t stride, int side, uint8_t *result, int size,
                 uint32_t *sums)
{
    int divisor = greatest_common_divisor(side, size);
    long span = side / divisor, step = size / divisor;
    double area = (double)span * (double)span;

    for (long y = 0; y < size; y++) {
        uint8_t *row = result + (size_t)y * (size_t)size * 3;

        if (side == size) {
            memcpy(row, source + (size_t)y * stride, (size_t)size * 3);
            continue;
        }
        sum_rows(source, stride, 3 * side, step, y * span, (y + 1) * span, sums);
        for (long x = 0; x < size; x++)
            average_columns(sums, step, x * span, (x + 1) * span, area, row + 3 * x);
    }
}
