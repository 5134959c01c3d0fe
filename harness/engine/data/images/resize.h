/* Shrinking (or stretching) a square image by averaging areas.
 *
 * Every pixel of the result is the mean of the source over the area that it covers; a source pixel
 * that is partly covered counts by that part: a box filter, as Pillow's BOX and OpenCV's INTER_AREA
 * use to shrink. The sums are integers, so the result is the exactly rounded mean on every
 * machine. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `source` has `side` rows of `side` RGB pixels, rows `stride` bytes apart; `result` gets `size`
 * rows of `size` RGB pixels without gaps. `sums` is scratch of 3 * side words for each of
 * `threads`, OpenMP's, which share the rows. Sides are 1 to 65535. */
void resize_area(const uint8_t *source, size_t stride, int side, uint8_t *result, int size,
                 uint32_t *sums, int threads);
