/* Image normalisation and cutting into patches. Bound by memory bandwidth, mostly of the writes.
 *
 * A patch's row is patch * 3 adjacent bytes, a multiple of 24: so 8 bytes that begin at a
 * multiple of 8 never straddle two of them, and a pack is copied together from runs of 8. */
#include "kernels/dialect/kernel.h"

#include "kernels/image.h"

enum { CHANNELS = 3, RUN = PACK < 8 ? PACK : 8 };

/* A value for each channel, over and over: element e of a patch has channel e % 3, so a pack reads
 * its PACK values from e % 3 on. */
#define THREE(r, g, b)         r, g, b, r, g, b, r, g, b
#define EVERY_ELEMENT(r, g, b) THREE(r, g, b), THREE(r, g, b), THREE(r, g, b), THREE(r, g, b)
KERNEL_TABLE float byte_scale[36] = { EVERY_ELEMENT(1 / (255 * 0.229f), 1 / (255 * 0.224f),
                                                    1 / (255 * 0.225f)) };
KERNEL_TABLE float byte_offset[36] = { EVERY_ELEMENT(0.485f / 0.229f, 0.456f / 0.224f,
                                                     0.406f / 0.225f) };

KERNEL_ROWS(image_patches, k, row)
{
    int patches = k->across, line = k->patch * CHANNELS;
    int sample = (int)row / (patches * patches), place = (int)row % (patches * patches);
    long pitch = (long)k->size * CHANNELS;
    const uint8_t *corner = k->images + sample * k->size * pitch +
                            place / patches * k->patch * pitch + place % patches * line;
    real *to = k->patches + row * k->width;

    PACKS(e, k->width) {
        uint8_t bytes[PACK];
        struct pack a;
        UNROLLED for (int run = 0; run < PACK; run += RUN)
        {
            int y = (e + run) / line, x = (e + run) % line;
            memcpy(bytes + run, __builtin_assume_aligned(corner + y * pitch + x, RUN), RUN);
        }
        const float *scale = byte_scale + e % CHANNELS, *offset = byte_offset + e % CHANNELS;
        EACH(j) a.v[j] = (float)bytes[j] * scale[j] - offset[j];
        store(to + e, a);
    }
}
