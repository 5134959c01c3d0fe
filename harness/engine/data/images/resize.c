/* Resizes a square image by area: each pixel of the result is the average of the source under it.
 * Rows first, columns second: the sum over rows runs along memory, three channels at once, and is
 * the only pass over all source pixels.
 *
 * Lengths are counted in units of which both grids are whole multiples: with side / size reduced to
 * span / step, a source pixel is `step` units long and a pixel of the result `span` units. So all
 * sums are whole numbers and exact. */
#include "harness/engine/data/images/jpeg.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static long shorter(long a, long b)
{
    return a < b ? a : b;
}

static int greatest_common_divisor(int a, int b)
{
    return b == 0 ? a : greatest_common_divisor(b, a % b);
}

/* sums[i] = the source rows under units `begin` to `end`, weighted by the units that each has
 * there. */
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

/* A row of the result from the row in `sums`: each pixel is the sum of `span` units over `area`. */
static void average_columns(const uint32_t *sums, long step, long span, double area, uint8_t *row,
                            int size)
{
    /* A reciprocal, because a division takes several times as long. It may err in the last bit, so
     * that a tie could fall below its .5: the quarter lifts ties, and is too little to lift
     * anything else. */
    double reciprocal = 1 / area, half = 0.5 + 0.25 / area;
    long begin = 0, column_end = step;

    for (int x = 0; x < size; x++, row += 3) {
        long end = (x + 1) * span;
        uint64_t red = 0, green = 0, blue = 0;

        while (begin < end) {
            long part_end = shorter(column_end, end);
            uint64_t weight = (uint64_t)(part_end - begin);

            red += weight * sums[0];
            green += weight * sums[1];
            blue += weight * sums[2];
            begin = part_end;
            if (begin == column_end) {
                sums += 3;
                column_end += step;
            }
        }
        row[0] = (uint8_t)((double)red * reciprocal + half);
        row[1] = (uint8_t)((double)green * reciprocal + half);
        row[2] = (uint8_t)((double)blue * reciprocal + half);
    }
}

/* Rows `first` to before `last` of the result. */
static void resize_rows(const uint8_t *source, size_t stride, int side, uint8_t *result, int size,
                        int first, int last, uint32_t *sums)
{
    int divisor = greatest_common_divisor(side, size);
    long span = side / divisor, step = size / divisor;
    double area = (double)span * (double)span;
    size_t row_bytes = (size_t)size * 3;

    for (long y = first; y < last; y++) {
        uint8_t *row = result + (size_t)y * row_bytes;
        long begin = y * span, end = begin + span;

        if (side == size) {
            memcpy(row, source + (size_t)y * stride, row_bytes);
        } else if (y > first && (begin - span) / step == (end - 1) / step) {
            /* Enlarged so far that this row and the last are within the same row of the source. */
            memcpy(row, row - row_bytes, row_bytes);
        } else {
            sum_rows(source, stride, 3 * side, step, begin, end, sums);
            average_columns(sums, step, span, area, row, size);
        }
    }
}

/* As OpenCV's resize() does with its threads: they begin and end with every image. A compiler
 * without OpenMP makes one of them. */
void resize_area(const uint8_t *source, size_t stride, int side, uint8_t *result, int size,
                 uint32_t *sums, int threads)
{
    int thread = 0, all = 1;

    (void)threads;
#ifdef _OPENMP
#pragma omp parallel num_threads(threads) private(thread, all) if (threads > 1)
    {
        thread = omp_get_thread_num();
        all = omp_get_num_threads();
#else
    {
#endif
        resize_rows(source, stride, side, result, size, size * thread / all,
                    size * (thread + 1) / all, sums + (size_t)thread * 3 * (size_t)side);
    }
}
