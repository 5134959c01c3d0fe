/* Images to patches. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

KERNEL_TEST(image_patches_follow_their_reference)
{
    static const struct {
        int samples, size, patch, stored, corner;
    } shapes[] = {
        { 1, 8, 8, 8, 0 },      { 3, 16, 8, 16, 0 },  { 2, 32, 8, 32, 0 },  { 1, 32, 16, 32, 0 },
        { 2, 32, 32, 32, 0 },   { 2, 48, 24, 48, 0 }, { 1, 96, 16, 96, 0 }, { 1, 96, 32, 96, 0 },
        { 1, 224, 16, 224, 0 }, { 3, 16, 8, 64, 24 }, { 2, 32, 16, 40, 8 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        int samples = shapes[i].samples, size = shapes[i].size, patch = shapes[i].patch;
        int stored = shapes[i].stored, corner = shapes[i].corner;
        int rows = samples * (size / patch) * (size / patch), width = patch * patch * 3;

        workbench_case(bench, "image_patches: samples %d, size %d of %d, patch %d", samples, size,
                       stored, patch);
        struct tensor *images = tensor_output(bench, BYTE, (long)samples * stored * stored * 3);
        double *windows = workbench_doubles(bench, (long)samples * size * size * 3);
        struct tensor *patches = tensor_output(bench, REAL, (long)rows * width);
        double *reference = workbench_doubles(bench, (long)rows * width);
        for (long j = 0; j < images->count; j++)
            images->values[j] = random_below(&bench->random, 256);
        tensor_store(bench, images);
        struct tensor *floats = tensor_output(bench, FLOAT, images->count);
        struct tensor *of_floats = tensor_output(bench, REAL, patches->count);
        memcpy(floats->values, images->values, (size_t)images->count * sizeof *images->values);
        tensor_store(bench, floats);

        for (long row = 0; row < (long)samples * size; row++)
            memcpy(windows + row * size * 3,
                   images->values +
                       (((row / size) * stored + corner + row % size) * stored + corner) * 3,
                   (size_t)size * 3 * sizeof *windows);
        reference_image_patches(reference, windows, samples, size, patch);
        RUN(bench, image_patches, rows, .patches = patches->data,
            .images = (const uint8_t *)images->data + ((long)corner * stored + corner) * 3,
            .size = stored, .patch = patch, .across = size / patch, .width = width);
        EXPECT(bench, patches, reference, 2e-7);
        workbench_untouched(bench);
        RUN(bench, image_patches_of_floats, rows, .patches = of_floats->data,
            .images = (const float *)floats->data + ((long)corner * stored + corner) * 3,
            .size = stored, .patch = patch, .across = size / patch, .width = width);
        EXPECT(bench, of_floats, reference, 2e-7);
        assert_memory_equal(of_floats->values, patches->values,
                            (size_t)patches->count * sizeof *patches->values);
    }
}

/* Black, white and the order of channels, worked out by hand. */
KERNEL_TEST(image_patches_known_answers)
{
    enum { SIZE = 16, PATCH = 8, WIDTH = PATCH * PATCH * 3, ROWS = 4 };

    workbench_case(bench, "image_patches: known answers");
    struct tensor *image = tensor_output(bench, BYTE, SIZE * SIZE * 3);
    struct tensor *patches = tensor_output(bench, REAL, ROWS * WIDTH);
    for (long i = 0; i < image->count; i++) image->values[i] = 0;
    /* The pixel in row 9, column 2: patch 2, its row 1, column 2; green is white. */
    image->values[(9 * SIZE + 2) * 3 + 1] = 255;
    tensor_store(bench, image);
    RUN(bench, image_patches, ROWS, .patches = patches->data, .images = image->data, .size = SIZE,
        .patch = PATCH, .across = SIZE / PATCH, .width = WIDTH);
    tensor_fetch(bench, patches, NULL);

    double limit = fmax(3 * workbench_unit(bench, REAL), 1e-6);
    const double *green = patches->values + 2 * WIDTH + (1 * PATCH + 2) * 3 + 1;
    WITHIN(bench, "white in green", fabs(*green - 2.4285714286), limit);
    WITHIN(bench, "red beside it", fabs(green[-1] - -2.1179039301), limit);
    WITHIN(bench, "blue beside it", fabs(green[1] - -1.8044444444), limit);
    WITHIN(bench, "black in green", fabs(patches->values[1] - -2.0357142857), limit);
}
