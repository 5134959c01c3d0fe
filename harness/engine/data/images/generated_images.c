/* Painting an image from its class and number, then writing the set as an entry of the cache
 * folder. The stripes' angle and width are the class; clouds, colours and place are noise. */
#include "harness/engine/data/images/generated_images.h"

#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/engine/data/images/cache_folder.h"
#include "harness/engine/data/images/image_set.h"
#include "harness/engine/data/images/jpeg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTIONS  5
#define PI          3.14159265f
#define FORMAT      1     /* of the set; another one goes to another folder */
#define SEED        2026  /* of the set */
#define CLOUDS      0.22f /* peak of the coarsest clouds, where 1 is black to white */
#define CLOUD_DECAY 0.75f /* of the contrast, from octave to octave */
#define CLOUD_CELLS 4     /* of the coarsest clouds, per side */

/* Every tenth file of a class is held out: 4 x 103 + 6 x 102 remain, GENERATED_TRAIN. */
static uint32_t files_of_class(int label)
{
    return label < 4 ? 114 : 113;
}

static void class_name(char name[32], int label)
{
    snprintf(name, 32, "%03d_degrees_%s", label / 2 * 180 / DIRECTIONS,
             label % 2 == 0 ? "narrow" : "wide");
}

struct image_painter {
    int pixels;
    float *clouds, *coarser; /* squares of side `cells` */
    int cells;               /* the least power of two that covers `pixels` */
    uint8_t *rgb;
};

/* The contents of one image; lengths are shares of the image's side. */
struct scene {
    float direction[2]; /* across the stripes, a unit vector */
    float stripes;      /* over the image's side */
    float phase, x, y, radius;
    float background[3], difference[3]; /* 0 .. 1; to the other colour of the stripes */
};

enum status image_painter_open(struct image_painter **painter, int pixels)
{
    enum status status = STATUS_OK;
    struct image_painter *made;

    TRY_OUT(rows_make(&made, 1));
    made->pixels = pixels;
    for (made->cells = CLOUD_CELLS; made->cells < pixels;) made->cells *= 2;
    TRY_OUT(rows_make(&made->clouds, (int64_t)made->cells * made->cells));
    TRY_OUT(rows_make(&made->coarser, (int64_t)made->cells * made->cells));
    TRY_OUT(rows_make(&made->rgb, (int64_t)pixels * pixels * 3));

out:
    if (status != STATUS_OK) {
        image_painter_close(made);
        made = NULL;
    }
    *painter = made;
    return status;
}

void image_painter_close(struct image_painter *painter)
{
    if (painter == NULL)
        return;
    free(painter->clouds);
    free(painter->coarser);
    free(painter->rgb);
    free(painter);
}

static float draw_between(struct random *random, float least, float most)
{
    return least + (most - least) * random_uniform(random);
}

/* Doubles the side of a square that repeats at its borders: every other value is the mean of its
 * two or four neighbours. */
static void refine(float *fine, const float *coarse, int cells)
{
    for (int y = 0; y < cells; y++) {
        const float *row = coarse + (size_t)y * (size_t)cells;
        const float *below = coarse + (size_t)((y + 1) % cells) * (size_t)cells;
        float *even = fine + (size_t)y * 4 * (size_t)cells, *odd = even + 2 * cells;

        for (int x = 0; x < cells; x++) {
            int right = (x + 1) % cells;
            even[2 * x] = row[x];
            even[2 * x + 1] = (row[x] + row[right]) / 2;
            odd[2 * x] = (row[x] + below[x]) / 2;
            odd[2 * x + 1] = (row[x] + row[right] + below[x] + below[right]) / 4;
        }
    }
}

/* Random midpoint displacement: each octave adds a part of what the one before did. */
static void paint_clouds(struct image_painter *painter, struct random *random)
{
    float amplitude = CLOUDS;

    memset(painter->clouds, 0, CLOUD_CELLS * CLOUD_CELLS * sizeof *painter->clouds);
    for (int cells = CLOUD_CELLS;; cells *= 2) {
        size_t count = (size_t)cells * (size_t)cells;

        /* Adds uniform noise between -amplitude and amplitude. One random word serves four values,
         * because this is most of the work of painting. `count` is a multiple of four. */
        for (size_t i = 0; i < count; i += 4) {
            uint64_t bits = random_bits(random);

            for (size_t j = 0; j < 4; j++)
                painter->clouds[i + j] +=
                    amplitude * 0x1p-15f * (float)(int16_t)(uint16_t)(bits >> 16 * j);
        }
        if (cells == painter->cells)
            return;
        memcpy(painter->coarser, painter->clouds, count * sizeof *painter->clouds);
        refine(painter->clouds, painter->coarser, cells);
        amplitude *= CLOUD_DECAY;
    }
}

/* The class decides the angle and the number of stripes; the tint follows it, too; everything
 * else is drawn. */
static struct scene draw_scene(struct random *random, int label)
{
    float jitter =
        draw_between(random, -PI / 30, PI / 30); /* 6 of the 36 degrees between classes */
    float angle = PI * (float)(label / 2) / DIRECTIONS + jitter;
    float sign = random_below(random, 2) == 0 ? -1 : 1;
    struct scene scene = { .direction = { cosf(angle), sinf(angle) } };

    scene.stripes =
        label % 2 == 0 ? draw_between(random, 5.5f, 6.5f) : draw_between(random, 3, 3.6f);
    scene.phase = draw_between(random, 0, 2 * PI);
    scene.x = draw_between(random, 0.35f, 0.65f);
    scene.y = draw_between(random, 0.35f, 0.65f);
    scene.radius = draw_between(random, 0.3f, 0.45f);
    for (int c = 0; c < 3; c++) {
        float tint = 0.1f * cosf(2 * PI * ((float)label / GENERATED_CLASSES + (float)c / 3));

        scene.background[c] = 0.5f + tint + draw_between(random, -0.2f, 0.2f);
        scene.difference[c] = sign * draw_between(random, 0.2f, 0.6f);
    }
    return scene;
}

/* How much of the stripes' colour a point has, -0.5 to 0.5; 0 outside the disc. */
static float stripe_at(const struct scene *scene, float x, float y)
{
    float dx = x - scene->x, dy = y - scene->y, square = dx * dx + dy * dy;
    float across, rim;

    if (square >= scene->radius * scene->radius)
        return 0;
    across = scene->direction[0] * x + scene->direction[1] * y;
    rim = (scene->radius - sqrtf(square)) * 10; /* a soft one */
    rim = rim < 0 ? 0 : rim > 1 ? 1 : rim;
    return rim * 0.5f * sinf(2 * PI * scene->stripes * across + scene->phase);
}

const uint8_t *image_painter_paint(struct image_painter *painter, int label, uint32_t number)
{
    struct random random = random_seed(SEED, (uint64_t)label << 32 | number);
    struct scene scene = draw_scene(&random, label);
    float share = 1 / (float)painter->pixels;
    uint8_t *pixel = painter->rgb;

    paint_clouds(painter, &random);
    for (int y = 0; y < painter->pixels; y++) {
        const float *clouds = painter->clouds + (size_t)y * (size_t)painter->cells;

        for (int x = 0; x < painter->pixels; x++, pixel += 3) {
            float stripe = stripe_at(&scene, ((float)x + 0.5f) * share, ((float)y + 0.5f) * share);

            for (int c = 0; c < 3; c++) {
                int byte =
                    (int)(255 * (scene.background[c] + scene.difference[c] * stripe + clouds[x]) +
                          0.5f);
                pixel[c] = (uint8_t)(byte < 0 ? 0 : byte > 255 ? 255 : byte);
            }
        }
    }
    return painter->rgb;
}

/* --- Writing the set --- */

struct set_request {
    int pixels;
    bool uneven;
};

/* The tools of one thread. */
struct set_writer {
    struct set_request request;
    struct image_painter *painter, *large; /* large: of an uneven set */
    struct jpeg_encoder *encoder;
};

int generated_image_pixels(int pixels, bool uneven, uint32_t number)
{
    if (!uneven || number % GENERATED_UNEVEN_EVERY != 0)
        return pixels;
    return pixels < GENERATED_PIXELS_MAX / GENERATED_UNEVEN_TIMES ? pixels * GENERATED_UNEVEN_TIMES
                                                                  : GENERATED_PIXELS_MAX;
}

static void close_writer(void *worker)
{
    struct set_writer *writer = worker;

    if (writer == NULL)
        return;
    image_painter_close(writer->painter);
    image_painter_close(writer->large);
    jpeg_encoder_close(writer->encoder);
    free(writer);
}

static enum status open_writer(void *context, void **worker)
{
    enum status status = STATUS_OK;
    struct set_writer *writer;

    TRY_OUT(rows_make(&writer, 1));
    writer->request = *(const struct set_request *)context;
    TRY_OUT(image_painter_open(&writer->painter, writer->request.pixels));
    if (writer->request.uneven)
        TRY_OUT(image_painter_open(&writer->large,
                                   generated_image_pixels(writer->request.pixels, true, 0)));
    TRY_OUT(jpeg_encoder_open(&writer->encoder));

out:
    if (status != STATUS_OK) {
        close_writer(writer);
        writer = NULL;
    }
    *worker = writer;
    return status;
}

/* Numbers run through the classes in order. */
static enum status write_image(void *worker, uint32_t number, const char *folder)
{
    struct set_writer *writer = worker;
    struct image_painter *painter;
    int label = 0, pixels;
    char name[32], path[PATH_MAX];
    const uint8_t *file;
    size_t bytes;

    while (number >= files_of_class(label)) number -= files_of_class(label++);
    pixels = generated_image_pixels(writer->request.pixels, writer->request.uneven, number);
    painter = pixels > writer->request.pixels ? writer->large : writer->painter;
    class_name(name, label);
    snprintf(path, sizeof path, "%s/%s/%05u.jpg", folder, name, number);
    TRY(jpeg_encode(writer->encoder, image_painter_paint(painter, label, number), pixels, pixels,
                    GENERATED_QUALITY, &file, &bytes));
    return image_set_write_file(path, file, bytes);
}

/* A folder for each class, then all images on all cores. */
static enum status write_set(void *context, const char *folder)
{
    struct image_set set = {
        .context = context, .open = open_writer, .close = close_writer, .write = write_image
    };

    for (int label = 0; label < GENERATED_CLASSES; label++) {
        char name[32], path[PATH_MAX];

        class_name(name, label);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (mkdir(path, 0777) != 0)
            FAIL(STATUS_IO, "the folder %.300s cannot be made: %s; set CHOKEPOINT_CACHE to another",
                 path, strerror(errno));
        set.count += files_of_class(label);
    }
    return image_set_write(&set, folder);
}

/* Cleaners of temporary folders may take some of the files. */
static bool has_all_files(void *context, const char *folder)
{
    (void)context;

    for (int label = 0; label < GENERATED_CLASSES; label++) {
        char name[32], path[PATH_MAX];

        class_name(name, label);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (cache_folder_count_files(path) != files_of_class(label))
            return false;
    }
    return true;
}

/* `name` and `request` must live as long as the entry. */
static struct cache_entry entry_of(char name[64], struct set_request *request)
{
    snprintf(name, 64, "images-v%d-%dpx%s", FORMAT, request->pixels,
             request->uneven ? "-uneven" : "");
    return (struct cache_entry){
        .name = name,
        .context = request,
        .is_whole = has_all_files,
        .fill = write_set,
    };
}

enum status generated_images_get(char path[PATH_MAX], int pixels, bool uneven)
{
    struct set_request request = { pixels, uneven };
    char name[64];
    const struct cache_entry entry = entry_of(name, &request);

    return cache_folder_get(path, &entry);
}

enum status generated_images_try(int pixels, bool uneven)
{
    struct set_request request = { pixels, uneven };
    char name[64];
    const struct cache_entry entry = entry_of(name, &request);

    return cache_folder_try(&entry);
}
