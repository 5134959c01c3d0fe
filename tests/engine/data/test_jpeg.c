/* Decoding, resizing and encoding of JPEG files. */
#include "harness/engine/data/images/jpeg.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <turbojpeg.h>

enum { MOST_BYTES = 1 << 20 };

TEST(areas_are_averaged_exactly)
{
    static const struct {
        int side, size;
        uint8_t source[36], result[36]; /* one channel, rows of `side` and of `size` */
    } cases[] = {
        { 1, 1, { 7 }, { 7 } },
        { 2, 1, { 0, 10, 20, 31 }, { 15 } },                          /* 15.25 */
        { 2, 1, { 0, 10, 20, 32 }, { 16 } },                          /* 15.5: halves go up */
        { 2, 2, { 1, 2, 3, 4 }, { 1, 2, 3, 4 } },                     /* the same */
        { 1, 2, { 9 }, { 9, 9, 9, 9 } },                              /* stretched */
        { 3, 2, { 90, 0, 0, 0, 0, 0, 0, 0, 90 }, { 40, 0, 0, 40 } },  /* 1 / 1.5^2 of 90 */
        { 3, 2, { 0, 0, 0, 0, 90, 0, 0, 0, 0 }, { 10, 10, 10, 10 } }, /* 0.25 / 1.5^2 of 90 */
        { 2, 3, { 0, 90, 0, 90 }, { 0, 45, 90, 0, 45, 90, 0, 45, 90 } },
        { 4, 2, { 1, 3, 5, 5, 1, 3, 5, 5, 8, 8, 0, 255, 8, 8, 255, 0 }, { 2, 5, 8, 128 } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int side = cases[i].side, size = cases[i].size;
        uint8_t source[108] = { 0 }, result[108] = { 0 };
        uint32_t sums[3 * 18];

        for (int p = 0; p < side * side; p++)
            for (int c = 0; c < 3; c++) source[3 * p + c] = (uint8_t)(cases[i].source[p] >> c);
        resize_area(source, (size_t)side * 3, side, result, size, sums, 1 + (int)i % 3);
        for (int p = 0; p < size * size; p++) assert_int_equal(result[3 * p], cases[i].result[p]);
    }
}

/* The mean over an area by sampling it finely: slow, and right without any thought. */
static double mean_of_area(const uint8_t *source, int side, int size, int x, int y, int channel)
{
    double sum = 0;

    for (int v = y * side; v < (y + 1) * side; v++)
        for (int u = x * side; u < (x + 1) * side; u++)
            sum += source[3 * (v / size * side + u / size) + channel];
    return sum / side / side;
}

TEST(any_pair_of_sizes_agrees_with_a_naive_mean)
{
    static const int sides[] = { 1, 2, 3, 5, 8, 12, 17, 32, 33 };
    uint8_t source[33 * 33 * 3], result[33 * 33 * 3];
    uint32_t sums[4 * 33 * 3];

    for (size_t i = 0; i < sizeof source; i++) source[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
        for (size_t j = 0; j < ARRAY_SIZE(sides); j++) {
            int side = sides[i], size = sides[j];

            resize_area(source, (size_t)side * 3, side, result, size, sums, 1 + (int)(i + j) % 4);
            for (int p = 0; p < size * size * 3; p++) {
                double mean = mean_of_area(source, side, size, p / 3 % size, p / 3 / size, p % 3);
                assert_int_equal(result[p], (int)(mean + 0.5));
            }
        }
}

/* Encodes with TurboJPEG itself, in any of its formats. */
static size_t encode(const uint8_t *pixels, int width, int height, int format, int subsampling,
                     uint8_t *file)
{
    tjhandle turbo = tjInitCompress();
    unsigned char *jpeg = NULL;
    unsigned long bytes = 0;

    assert_non_null(turbo);
    assert_int_equal(
        tjCompress2(turbo, pixels, width, 0, height, format, &jpeg, &bytes, subsampling, 100, 0),
        0);
    assert_true(bytes <= MOST_BYTES);
    memcpy(file, jpeg, bytes);
    tjFree(jpeg);
    tjDestroy(turbo);
    return bytes;
}

/* Left third red, middle third a ramp of grey from top to bottom, right third blue; 3 : 1. */
static void paint_three_squares(uint8_t *rgb, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < 3 * height; x++, rgb += 3) {
            uint8_t grey = (uint8_t)(40 + 160 * y / height);

            rgb[0] = x < height ? 255 : x < 2 * height ? grey : 0;
            rgb[1] = x < height || x >= 2 * height ? 0 : grey;
            rgb[2] = x < height ? 0 : x < 2 * height ? grey : 255;
        }
}

TEST(the_middle_square_of_a_known_image_comes_back)
{
    enum { HEIGHT = 48, SIZE = 12 };
    struct jpeg_decoder *decoder;
    uint8_t *rgb = malloc(HEIGHT * HEIGHT * 9), *file = malloc(MOST_BYTES);
    uint8_t small[SIZE * SIZE * 3];
    size_t bytes;

    assert_non_null(rgb);
    assert_non_null(file);
    paint_three_squares(rgb, HEIGHT);
    bytes = encode(rgb, 3 * HEIGHT, HEIGHT, TJPF_RGB, TJSAMP_444, file);
    assert_ok(jpeg_decoder_open(&decoder));
    assert_ok(jpeg_decode_square(decoder, file, bytes, "known", SIZE, false, small));
    for (int p = 0; p < SIZE * SIZE; p++) {
        /* The mean of four rows of the ramp. */
        float expected = 40 + 160 * (4 * (float)(p / SIZE) + 1.5f) / HEIGHT;

        for (int c = 0; c < 3; c++) assert_float_equal(small[3 * p + c], expected, 3);
    }
    jpeg_decoder_close(decoder);
    free(file);
    free(rgb);
}

/* The same file at SIZE by SIZE, shrunk after decoding and by the decoder. */
static void decode_both(const uint8_t *file, size_t bytes, int size, uint8_t *after,
                        uint8_t *in_decoder)
{
    struct jpeg_decoder *decoder;

    assert_ok(jpeg_decoder_open(&decoder));
    assert_ok(jpeg_decode_square(decoder, file, bytes, "after", size, false, after));
    assert_ok(jpeg_decode_square(decoder, file, bytes, "in", size, true, in_decoder));
    jpeg_decoder_close(decoder);
}

/* A picture with waves and edges of 2 to 8 pixels. By 2, 4 and 8, and by what no such shrinking
 * gives alone. */
TEST(a_decoder_that_shrinks_differs_a_little)
{
    enum { SIDE = 256 };
    static const int sizes[] = { 128, 64, 32, 96, 40, 20 };
    uint8_t *rgb = malloc(SIDE * SIDE * 3), *file = malloc(MOST_BYTES),
            *after = malloc(SIDE * SIDE * 3), *in_decoder = malloc(SIDE * SIDE * 3);
    size_t bytes;

    assert_true(rgb != NULL && file != NULL && after != NULL && in_decoder != NULL);
    for (int i = 0; i < SIDE * SIDE; i++) {
        int x = i % SIDE, y = i / SIDE;
        rgb[3 * i] = (uint8_t)(128 + 100 * sin(x / 9.0) * cos(y / 13.0));
        rgb[3 * i + 1] = (uint8_t)(x / 8 % 2 == 0 ? 60 : 190);
        rgb[3 * i + 2] = (uint8_t)((x + y) / 4 % 2 == 0 ? 90 : 160);
    }
    bytes = encode(rgb, SIDE, SIDE, TJPF_RGB, TJSAMP_420, file);
    for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
        int count = sizes[s] * sizes[s] * 3;
        double off = 0;

        decode_both(file, bytes, sizes[s], after, in_decoder);
        for (int i = 0; i < count; i++) off += fabs((double)after[i] - in_decoder[i]) / count;
        assert_true(off > 0 && off < 8);
    }
    decode_both(file, bytes, SIDE / 2 + 1, after, in_decoder); /* half would be too small */
    assert_memory_equal(after, in_decoder, (SIDE / 2 + 1) * (SIDE / 2 + 1) * 3);
    decode_both(file, bytes, SIDE, after, in_decoder);
    assert_memory_equal(after, in_decoder, SIDE * SIDE * 3);
    free(rgb);
    free(file);
    free(after);
    free(in_decoder);
}

TEST(grayscale_and_cmyk_become_rgb)
{
    enum { SIDE = 16 };
    uint8_t grey[SIDE * SIDE], cmyk[SIDE * SIDE * 4], *file = malloc(MOST_BYTES);
    static const uint8_t ink[4] = { 200, 100, 50, 128 }; /* inverted: 255 is no ink */
    uint8_t pixel[3], same[SIDE * SIDE * 3];
    struct jpeg_decoder *decoder;
    size_t bytes;

    assert_non_null(file);
    assert_ok(jpeg_decoder_open(&decoder));
    memset(grey, 77, sizeof grey);
    bytes = encode(grey, SIDE, SIDE, TJPF_GRAY, TJSAMP_GRAY, file);
    assert_ok(jpeg_decode_square(decoder, file, bytes, "grey", 1, false, pixel));
    for (int c = 0; c < 3; c++) assert_in_range(pixel[c], 76, 78);
    assert_ok(jpeg_decode_square(decoder, file, bytes, "grey", SIDE, false, same));
    for (size_t i = 0; i < sizeof same; i++) assert_in_range(same[i], 76, 78);

    for (size_t i = 0; i < sizeof cmyk; i++) cmyk[i] = ink[i % 4];
    bytes = encode(cmyk, SIDE, SIDE, TJPF_CMYK, TJSAMP_444, file);
    assert_ok(jpeg_decode_square(decoder, file, bytes, "cmyk", 1, false, pixel));
    for (int c = 0; c < 3; c++)
        assert_in_range(pixel[c], ink[c] * 128 / 255 - 2, ink[c] * 128 / 255 + 2);
    assert_ok(jpeg_decode_square(decoder, file, bytes, "cmyk", SIDE, false, same));
    for (size_t i = 0; i < sizeof same; i++)
        assert_in_range(same[i], ink[i % 3] * 128 / 255 - 2, ink[i % 3] * 128 / 255 + 2);
    jpeg_decoder_close(decoder);
    free(file);
}

TEST(what_is_no_whole_jpeg_is_refused_by_name)
{
    enum { HEIGHT = 48 };
    uint8_t *rgb = malloc(HEIGHT * HEIGHT * 9), *file = malloc(MOST_BYTES), small[12];
    struct jpeg_decoder *decoder;
    size_t bytes;

    assert_non_null(rgb);
    assert_non_null(file);
    paint_three_squares(rgb, HEIGHT);
    bytes = encode(rgb, 3 * HEIGHT, HEIGHT, TJPF_RGB, TJSAMP_420, file);
    assert_ok(jpeg_decoder_open(&decoder));
    for (size_t cut = 0; cut < bytes - 2; cut += cut < 700 ? 1 : 97) {
        assert_int_equal(jpeg_decode_square(decoder, file, cut, "cut.jpg", 2, false, small),
                         STATUS_BAD_INPUT);
        assert_non_null(strstr(status_last()->text, "cut.jpg cannot be decoded: "));
        /* The next file is not taken for the rest of this one. */
        assert_ok(jpeg_decode_square(decoder, file, bytes, "whole", 2, false, small));
    }
    assert_int_equal(
        jpeg_decode_square(decoder, "GIF89a, not a JPEG", 18, "a.gif", 2, false, small),
        STATUS_BAD_INPUT);
    jpeg_decoder_close(decoder);
    free(file);
    free(rgb);
}

TEST(flipped_bytes_never_crash_the_decoder)
{
    enum { HEIGHT = 16 };
    uint8_t rgb[HEIGHT * HEIGHT * 9], *file = malloc(MOST_BYTES), small[12];
    struct jpeg_decoder *decoder;
    int refused = 0;
    size_t bytes;

    assert_non_null(file);
    paint_three_squares(rgb, HEIGHT);
    bytes = encode(rgb, 3 * HEIGHT, HEIGHT, TJPF_RGB, TJSAMP_420, file);
    assert_ok(jpeg_decoder_open(&decoder));
    for (size_t i = 0; i < bytes; i++) {
        enum status status;

        file[i] ^= 0x5a;
        status = jpeg_decode_square(decoder, file, bytes, "flipped", 2, false, small);
        assert_true(status == STATUS_OK || status == STATUS_BAD_INPUT);
        refused += status != STATUS_OK;
        file[i] ^= 0x5a;
    }
    assert_true(refused > 10);
    jpeg_decoder_close(decoder);
    free(file);
}

TEST(a_stream_of_images_of_many_sizes_is_encoded_and_decoded)
{
    static const int sides[] = { 64, 8, 200, 1, 17, 128, 64 };
    struct jpeg_encoder *encoder;
    struct jpeg_decoder *decoder;
    uint8_t *rgb = malloc(200 * 200 * 3), small[3];

    assert_non_null(rgb);
    assert_ok(jpeg_encoder_open(&encoder));
    assert_ok(jpeg_decoder_open(&decoder));
    for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
        const uint8_t *file;
        size_t bytes;

        memset(rgb, (int)(30 * i), 200 * 200 * 3);
        assert_ok(jpeg_encode(encoder, rgb, sides[i], sides[i], 90, &file, &bytes));
        assert_ok(jpeg_decode_square(decoder, file, bytes, "stream", 1, false, small));
        for (int c = 0; c < 3; c++) assert_in_range(small[c] + 2, 30 * i, 30 * i + 4);
    }
    jpeg_decoder_close(decoder);
    jpeg_encoder_close(encoder);
    free(rgb);
}
