/* Image normalisation and cutting into patches, in one pass: bytes in, patches out.
 *
 * patches[sample, p, e] = (byte / 255 - mean[channel]) / deviation[channel], where patch p is the
 * one in row p / across and column p % across of the image, and e runs over the patch's rows,
 * columns, channels in that order. The patches need not cover the image: those of a window may be
 * cut out. mean and deviation are ImageNet's (0.485, 0.456, 0.406; 0.229, 0.224, 0.225), as
 * torchvision's models use them. */
#pragma once

/* A row is a patch: samples * across^2 rows. */
struct image_patches {
    real *patches;         /* [samples, across^2, width] */
    const uint8_t *images; /* the first patch, in [samples, size, size, 3]; 8 divides its place */
    int size, patch;       /* multiples of 8 */
    int across;            /* patches in a row of them and in a column */
    int width;             /* patch * patch * 3 */
};

/* The same of bytes that came as floats. */
struct image_patches_of_floats {
    real *patches;
    const float *images;
    int size, patch, across, width;
};
