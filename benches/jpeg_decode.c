/* How fast one host thread decodes JPEG files of N by N pixels: what a loader without workers can
 * give.
 *
 * The picture is smooth waves of random phase with noise on them, which compresses about as
 * photographs do: plain colours decode faster, pure noise slower. */
#include "harness/base/rows.h"
#include "harness/bench/bench.h"
#include "harness/engine/data/images/jpeg.h"

#include <math.h>
#include <stdlib.h>

enum { QUALITY = 90, CHANNELS = 3 };

struct own {
    struct jpeg_encoder *encoder;
    struct jpeg_decoder *decoder;
    const uint8_t *file; /* the encoder's */
    size_t file_bytes;
    uint8_t *picture, *decoded; /* [N, N, CHANNELS] */
};

static enum status jpeg_run(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(jpeg_decode_square(own->decoder, own->file, own->file_bytes, "the bench's picture",
                               (int)work->argument, false, own->decoded));

    return STATUS_OK;
}

/* JPEG loses: at this quality the decoded picture is off by a few levels of 256 in the mean. A
 * picture that was shifted, or has its channels swapped, is off by much more. */
static enum status jpeg_check(const struct bench_work *work)
{
    enum { LIMIT = 10 };
    const struct own *own = work->own;
    int64_t count = work->argument * work->argument * CHANNELS;
    double off = 0;

    for (int64_t i = 0; i < count; i++)
        off += (double)abs((int)own->decoded[i] - (int)own->picture[i]) / (double)count;
    if (!(off <= LIMIT))
        FAIL(STATUS_INTERNAL, "the decoded picture is off by %.1f levels in the mean, not %d", off,
             LIMIT);

    return STATUS_OK;
}

static enum status jpeg_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    int64_t bytes = work->argument * work->argument * CHANNELS;

    TRY(rows_make(&own->picture, bytes));
    TRY(rows_make(&own->decoded, bytes));
    TRY(jpeg_encoder_open(&own->encoder));
    TRY(jpeg_decoder_open(&own->decoder));
    int64_t n = work->argument;
    double phases[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) phases[i] = 6 * (double)random_uniform(&work->random);
    for (int64_t i = 0; i < n * n * CHANNELS; i++) {
        double x = (double)(i / CHANNELS % n) / (double)n;
        double y = (double)(i / CHANNELS / n) / (double)n;
        double wave = sin(9 * x + phases[i % CHANNELS]) * cos(7 * y + phases[(i + 1) % CHANNELS]);
        own->picture[i] = (uint8_t)(128 + 90 * wave + 8 * (double)random_uniform(&work->random));
    }
    TRY(jpeg_encode(own->encoder, own->picture, (int)work->argument, (int)work->argument, QUALITY,
                    &own->file, &own->file_bytes));
    TRY(jpeg_run(work, 1));
    TRY(jpeg_check(work));
    work->items = 1;

    return STATUS_OK;
}

static void jpeg_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    jpeg_decoder_close(own->decoder);
    jpeg_encoder_close(own->encoder);
    free(own->picture);
    free(own->decoded);
}

const struct bench bench_jpeg_decode = {
    .name = "jpeg_decode",
    .text = "one JPEG file of N by N pixels decoded on one host thread; items are images",
    .arguments = { 32, 96, 224 },
    .own_bytes = sizeof(struct own),
    .set_up = jpeg_set_up,
    .run = jpeg_run,
    .tear_down = jpeg_tear_down,
};
