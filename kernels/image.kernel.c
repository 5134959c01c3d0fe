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

/* The place where a patch begins in the images, and its lines there, in elements. */
struct patch_place {
    long corner, pitch;
    int line;
};

KERNEL_INLINE struct patch_place place_of(long row, int size, int patch, int across)
{
    int patches = across * across;
    int sample = (int)row / patches, number = (int)row % patches;
    struct patch_place place;

    place.line = patch * CHANNELS;
    place.pitch = (long)size * CHANNELS;
    place.corner = sample * size * place.pitch + number / across * patch * place.pitch +
                   number % across * place.line;
    return place;
}

KERNEL_INLINE struct pack normalised(struct pack a, int e)
{
    const float *scale = byte_scale + e % CHANNELS, *offset = byte_offset + e % CHANNELS;

    EACH(j) a.v[j] = a.v[j] * scale[j] - offset[j];
    return a;
}

KERNEL_ROWS(image_patches, k, row)
{
    struct patch_place place = place_of(row, k->size, k->patch, k->across);
    const uint8_t *corner = k->images + place.corner;
    real *to = k->patches + row * k->width;

    PACKS(e, k->width) {
        uint8_t bytes[PACK];
        struct pack a;
        UNROLLED for (int run = 0; run < PACK; run += RUN)
        {
            int y = (e + run) / place.line, x = (e + run) % place.line;
            memcpy(bytes + run, __builtin_assume_aligned(corner + y * place.pitch + x, RUN), RUN);
        }
        EACH(j) a.v[j] = (float)bytes[j];
        store(to + e, normalised(a, e));
    }
}

KERNEL_ROWS(image_patches_of_floats, k, row)
{
    struct patch_place place = place_of(row, k->size, k->patch, k->across);
    const float *corner = k->images + place.corner;
    real *to = k->patches + row * k->width;

    PACKS(e, k->width) {
        struct pack a;
        UNROLLED for (int run = 0; run < PACK; run += RUN)
        {
            int y = (e + run) / place.line, x = (e + run) % place.line;
            memcpy(a.v + run, __builtin_assume_aligned(corner + y * place.pitch + x, 16), 4 * RUN);
        }
        store(to + e, normalised(a, e));
    }
}
