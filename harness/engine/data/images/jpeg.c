/* JPEG files to square images and back, by TurboJPEG, with handles and buffers that are kept from
 * image to image. A file is decoded as a whole, at a fraction of its size if that is allowed, and
 * the square in its middle is resized. */
#include "harness/engine/data/images/jpeg.h"

#include "harness/base/rows.h"
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

/* Where Pillow refuses a file as a decompression bomb: twice its MAX_IMAGE_PIXELS. */
#define MOST_PIXELS 178956970

struct jpeg_decoder {
    tjhandle turbo;
    uint8_t *pixels; /* the decoded file, RGB or CMYK */
    size_t pixels_bytes;
    uint32_t *sums; /* resize_area's scratch, for `threads` */
    int threads;
    size_t sums_bytes;
};

struct jpeg_encoder {
    tjhandle turbo;
    unsigned char *file;
    size_t file_bytes; /* as many as the worst image of the last size could take */
};

/* After a header that it cannot read, TurboJPEG takes the next file for the rest of that header
 * (seen with 2.1.5). So decode() drops the handle after a failure, and this makes a new one. */
static enum status need_turbo(struct jpeg_decoder *decoder)
{
    if (decoder->turbo == NULL)
        decoder->turbo = tjInitDecompress();
    if (decoder->turbo == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a JPEG decoder: %s", tjGetErrorStr2(NULL));

    return STATUS_OK;
}

static void drop_turbo(struct jpeg_decoder *decoder)
{
    if (decoder->turbo != NULL)
        tjDestroy(decoder->turbo);
    decoder->turbo = NULL;
}

enum status jpeg_decoder_open(struct jpeg_decoder **decoder)
{
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(decoder, 1));
    (*decoder)->threads = 1;
    TRY_OUT(need_turbo(*decoder));

out:
    if (status != STATUS_OK) {
        jpeg_decoder_close(*decoder);
        *decoder = NULL;
    }
    return status;
}

void jpeg_decoder_close(struct jpeg_decoder *decoder)
{
    if (decoder == NULL)
        return;
    drop_turbo(decoder);
    free(decoder->pixels);
    free(decoder->sums);
    free(decoder);
}

void jpeg_decoder_set_threads(struct jpeg_decoder *decoder, int threads)
{
    decoder->threads = threads;
}

/* Makes the buffer at `buffer` at least `bytes` long; what was in it is lost. */
static enum status reserve_bytes(void *buffer, size_t *capacity, size_t bytes, const char *name)
{
    void **memory = buffer;

    if (bytes <= *capacity)
        return STATUS_OK;
    free(*memory);
    *memory = malloc(bytes);
    *capacity = *memory != NULL ? bytes : 0;
    if (*memory == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the %zu bytes that %.300s takes", bytes, name);

    return STATUS_OK;
}

/* To RGB in place. CMYK JPEGs hold inverted values, 255 being no ink: Adobe's convention, which
 * libjpeg-turbo's own tools assume too. */
static void cmyk_to_rgb(uint8_t *pixels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *cmyk = pixels + 4 * i;
        unsigned key = cmyk[3];
        uint8_t rgb[3];

        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((cmyk[c] * key + 127) / 255);
        memcpy(pixels + 3 * i, rgb, sizeof rgb);
    }
}

/* Decodes all of the file as RGB without gaps, *width by *height pixels. *decoded is where: `rgb`
 * for an image of that size, which needs no resizing, else decoder->pixels. */
static enum status decode(struct jpeg_decoder *decoder, const void *file, size_t bytes,
                          const char *name, int size, bool scales, uint8_t *rgb, uint8_t **decoded,
                          int *width, int *height)
{
    enum status status = STATUS_OK;
    int subsampling, colours;
    bool is_cmyk;
    size_t pixels;

    TRY_OUT(need_turbo(decoder));
    *width = *height = 0; /* They stay so for a file that holds tables and no image. */
    if (tjDecompressHeader3(decoder->turbo, file, bytes, width, height, &subsampling, &colours) !=
            0 ||
        *width < 1 || *height < 1)
        FAIL_OUT(STATUS_BAD_INPUT, "%.300s cannot be decoded: %s; is it a JPEG file?", name,
                 tjGetErrorStr2(decoder->turbo));
    pixels = (size_t)*width * (size_t)*height;
    if (pixels > MOST_PIXELS)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "%.300s cannot be decoded: it has %d x %d pixels, more than %d in all", name,
                 *width, *height, MOST_PIXELS);
    if (scales) {
        int side = *width < *height ? *width : *height;
        tjscalingfactor factor = { 1, 1 };
        /* As far as the side stays no smaller than `size`. */
        while (factor.denom < 8 && side >= 2 * factor.denom * size) factor.denom *= 2;
        *width = TJSCALED(*width, factor);
        *height = TJSCALED(*height, factor);
        pixels = (size_t)*width * (size_t)*height;
    }
    is_cmyk = colours == TJCS_CMYK || colours == TJCS_YCCK;
    *decoded = rgb;
    if (*width != size || *height != size || is_cmyk) {
        TRY_OUT(reserve_bytes(&decoder->pixels, &decoder->pixels_bytes, pixels * (is_cmyk ? 4 : 3),
                              name));
        *decoded = decoder->pixels;
    }
    /* libjpeg only warns about a file that ends early and fills the rest with grey, and after a
     * warning TurboJPEG does not report later errors. So decoding stops at the first warning. */
    if (tjDecompress2(decoder->turbo, file, bytes, *decoded, *width, 0, *height,
                      is_cmyk ? TJPF_CMYK : TJPF_RGB,
                      TJFLAG_LIMITSCANS | TJFLAG_STOPONWARNING) != 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%.300s cannot be decoded: %s", name,
                 tjGetErrorStr2(decoder->turbo));
    if (is_cmyk)
        cmyk_to_rgb(decoder->pixels, pixels);

out:
    if (status != STATUS_OK)
        drop_turbo(decoder);
    return status;
}

enum status jpeg_decode_square(struct jpeg_decoder *decoder, const void *file, size_t bytes,
                               const char *name, int size, bool scales, uint8_t *rgb)
{
    uint8_t *decoded = NULL;
    int width, height, side;
    size_t left, top, stride;

    TRY(decode(decoder, file, bytes, name, size, scales, rgb, &decoded, &width, &height));
    if (decoded == rgb)
        return STATUS_OK;
    side = width < height ? width : height;
    left = (size_t)(width - side) / 2;
    top = (size_t)(height - side) / 2;
    stride = (size_t)width * 3;
    TRY(reserve_bytes(&decoder->sums, &decoder->sums_bytes,
                      (size_t)side * 3 * (size_t)decoder->threads * sizeof *decoder->sums, name));
    resize_area(decoded + top * stride + left * 3, stride, side, rgb, size, decoder->sums,
                decoder->threads);

    return STATUS_OK;
}

enum status jpeg_encoder_open(struct jpeg_encoder **encoder)
{
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(encoder, 1));
    (*encoder)->turbo = tjInitCompress();
    if ((*encoder)->turbo == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for a JPEG encoder: %s", tjGetErrorStr2(NULL));

out:
    if (status != STATUS_OK) {
        jpeg_encoder_close(*encoder);
        *encoder = NULL;
    }
    return status;
}

void jpeg_encoder_close(struct jpeg_encoder *encoder)
{
    if (encoder == NULL)
        return;
    if (encoder->turbo != NULL)
        tjDestroy(encoder->turbo);
    free(encoder->file);
    free(encoder);
}

enum status jpeg_encode(struct jpeg_encoder *encoder, const uint8_t *rgb, int width, int height,
                        int quality, const uint8_t **file, size_t *bytes)
{
    unsigned long written = tjBufSize(width, height, TJSAMP_420);

    TRY(reserve_bytes(&encoder->file, &encoder->file_bytes, written, "an image"));
    if (tjCompress2(encoder->turbo, rgb, width, 0, height, TJPF_RGB, &encoder->file, &written,
                    TJSAMP_420, quality, TJFLAG_NOREALLOC) != 0)
        FAIL(STATUS_INTERNAL, "an image of %d x %d pixels cannot be encoded: %s", width, height,
             tjGetErrorStr2(encoder->turbo));
    *file = encoder->file;
    *bytes = written;

    return STATUS_OK;
}
