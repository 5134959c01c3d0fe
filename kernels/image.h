/* Image normalisation and cutting into patches, in one pass: bytes in, patches out.
 *
 * patches[sample, p, e] = (byte / 255 - mean[channel]) / deviation[channel], where patch p is the one
 * in row p / (size / patch) and column p % (size / patch) of the image, and e runs over the patch's
 * rows, columns, channels in that order. mean and deviation are ImageNet's (0.485, 0.456, 0.406;
 * 0.229, 0.224, 0.225), as torchvision's models use them. */
#ifndef KERNELS_IMAGE_H
#define KERNELS_IMAGE_H

/* A row is a patch: samples * (size / patch)^2 rows. */
struct image_patches {
    real *patches;         /* [samples, (size / patch)^2, width] */
    const uint8_t *images; /* [samples, size, size, 3] */
    int size, patch;       /* patch is a multiple of 8 and divides size */
    int width;             /* patch * patch * 3 */
};

#endif
