/* JPEG files in memory: decoding to a square RGB image, and encoding.
 *
 * Both are libjpeg-turbo's, through its TurboJPEG interface. A decoder or encoder belongs to one
 * thread at a time and keeps its buffers, so that a stream of images costs no allocation. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_decoder;

enum status jpeg_decoder_open(struct jpeg_decoder **decoder);
void jpeg_decoder_close(struct jpeg_decoder *decoder); /* NULL is allowed */

/* The library that resizes uses so many for each image from now on; 1 at first. */
void jpeg_decoder_set_threads(struct jpeg_decoder *decoder, int threads);

/* Decodes the whole file, crops the middle square and resizes it to `size` x `size` RGB bytes by
 * averaging areas. If `scales`, the decoder shrinks by 2, 4 or 8 as far as the square stays no
 * smaller than that (libjpeg's scaled inverse DCT, as Pillow's draft mode): less to compute, and
 * pixels that differ a little. Grayscale and CMYK files become RGB. BAD_INPUT, with `name` in the
 * sentence, when the file is not a JPEG, is truncated or damaged (whatever libjpeg warns about is
 * damage), has chroma subsampled in a way that TurboJPEG does not know, or more than 178 million
 * pixels. */
enum status jpeg_decode_square(struct jpeg_decoder *decoder, const void *file, size_t bytes,
                               const char *name, int size, bool scales, uint8_t *rgb);

struct jpeg_encoder;

enum status jpeg_encoder_open(struct jpeg_encoder **encoder);
void jpeg_encoder_close(struct jpeg_encoder *encoder); /* NULL is allowed */

/* Encodes `rgb`, `height` rows of `width` pixels, with 4:2:0 chroma. *file belongs to the encoder
 * and lives until its next image. `quality` is 1 to 100. */
enum status jpeg_encode(struct jpeg_encoder *encoder, const uint8_t *rgb, int width, int height,
                        int quality, const uint8_t **file, size_t *bytes);

/* Shrinking (or stretching) a square image by averaging areas.
 *
 * Every pixel of the result is the mean of the source over the area that it covers; a source pixel
 * that is partly covered counts by that part: a box filter, as Pillow's BOX and OpenCV's INTER_AREA
 * use to shrink. The sums are integers, so the result is the exactly rounded mean on every
 * machine. */

/* `source` has `side` rows of `side` RGB pixels, rows `stride` bytes apart; `result` gets `size`
 * rows of `size` RGB pixels without gaps. `sums` is scratch of 3 * side words for each of
 * `threads`, OpenMP's, which share the rows. Sides are 1 to 65535. */
void resize_area(const uint8_t *source, size_t stride, int side, uint8_t *result, int size,
                 uint32_t *sums, int threads);
