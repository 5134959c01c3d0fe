/* Textures and surfaces of one level, in one to three dimensions: arrays that the machine was told
 * the extents of. A fetch is done lane by lane as "Texture Fetching" has it, with weights of 8 bits
 * between texels; it counts no sectors, since a GPU keeps textures in another order. A surface's
 * accesses are those of global memory. */
#include "harness/simt/access/access.h"
#include "harness/simt/code/number_types.h"

#include <math.h>
#include <string.h>

static const struct simt_texture *texture_of(struct warp *warp,
                                             const struct instruction *instruction, int lane)
{
    const struct grid_launch *launch = warp->launch;
    uint64_t handle = REGISTER(uint64_t, instruction->s[SIMT_BASE])[lane];

    for (int64_t i = 0; i < launch->texture_count; i++)
        if ((uint64_t)(uintptr_t)launch->textures[i].memory == handle)
            return &launch->textures[i];
    warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, lane,
              "0x%llx is no texture or surface: give an array for it", (unsigned long long)handle);
    return NULL;
}

/* A number of a texel; integers that are read as real numbers are parts of the most that the type
 * holds. */
static double texel(const struct simt_texture *texture, const int64_t *at, int channel, bool real)
{
    const struct number_type *type = &number_types[texture->type];
    const int *size = texture->size;
    uint64_t bits = 0;
    int64_t place = ((at[2] * size[1] + at[1]) * size[0] + at[0]) * texture->channels + channel;
    double value, most;

    if (channel >= texture->channels)
        return channel == 3 ? 1 : 0;
    memcpy(&bits, (const char *)texture->memory + place * (type->bits / 8), (size_t)type->bits / 8);
    value = (double)number_read(texture->type, bits);
    most = ldexp(1, type->bits - type->is_signed) - 1;
    if (real && type->exponent == 0)
        value = value < -most ? -1 : value / most;
    return value;
}

/* The texel for a place that may be outside. */
static int64_t inside(int64_t at, int size, bool wraps)
{
    if (wraps)
        return (at % size + size) % size;
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static double filtered(const struct simt_texture *texture, const double *where, int dimensions,
                       int channel, bool real)
{
    double sum = 0, weight[3] = { 0 };
    int64_t low[3] = { 0 };

    for (int i = 0; i < dimensions; i++) {
        double x = where[i] - (texture->linear ? 0.5 : 0);
        x = x == x && fabs(x) < 1e9 ? x : 0;
        low[i] = (int64_t)floor(x);
        weight[i] = texture->linear ? rint((x - floor(x)) * 256) / 256 : 0;
    }
    for (int corner = 0; corner < (texture->linear ? 1 << dimensions : 1); corner++) {
        int64_t at[3] = { 0 };
        double part = 1;
        for (int i = 0; i < dimensions; i++) {
            at[i] = inside(low[i] + (corner >> i & 1), texture->size[i], texture->wraps);
            part *= corner >> i & 1 ? weight[i] : 1 - weight[i];
        }
        if (part != 0)
            sum += part * texel(texture, at, channel, real);
    }
    return sum;
}

/* Coordinates that are whole numbers name a texel, and outside there are zeros. */
static double fetched(const struct warp *warp, const struct instruction *instruction,
                      const struct simt_texture *texture, int lane, int channel)
{
    int dimensions = instruction->mode & 3;
    bool real = instruction->mode & TEXTURE_REAL;
    double where[3] = { 0 };
    int64_t at[3] = { 0 };

    for (int i = 0; i < dimensions; i++) {
        if (instruction->mode & TEXTURE_WHOLE) {
            at[i] = REGISTER(int32_t, instruction->s[i])[lane];
            if (at[i] < 0 || at[i] >= texture->size[i])
                return 0;
        } else {
            where[i] = (double)REGISTER(float, instruction->s[i])[lane];
            where[i] *= texture->normalized ? texture->size[i] : 1;
        }
    }
    return instruction->mode & TEXTURE_WHOLE ? texel(texture, at, channel, real)
                                             : filtered(texture, where, dimensions, channel, real);
}

void lanes_texture(struct warp *warp, const struct instruction *instruction)
{
    for (int l = 0; l < SIMT_LANES; l++) {
        const struct simt_texture *texture =
            warp->lane[l] ? texture_of(warp, instruction, l) : NULL;
        double values[SIMT_DESTINATIONS];

        if (texture == NULL)
            continue;
        /* All are read before one is written: they may be in the places of the coordinates. */
        for (int c = 0; c < SIMT_DESTINATIONS; c++)
            values[c] = fetched(warp, instruction, texture, l, c);
        for (int c = 0; c < SIMT_DESTINATIONS; c++) {
            if (instruction->d[c] < 0)
                continue;
            if (instruction->mode & TEXTURE_REAL)
                REGISTER(float, instruction->d[c])[l] = (float)values[c];
            else
                REGISTER(uint32_t, instruction->d[c])[l] = (uint32_t)(int64_t)values[c];
        }
    }
}

/* The first coordinate is in bytes. */
void lanes_surface(struct warp *warp, const struct instruction *instruction)
{
    int dimensions = instruction->mode & 3;
    struct access access = { .bytes = (unsigned)instruction->width * instruction->vector };
    uint64_t base;

    for (int l = 0; l < SIMT_LANES; l++) {
        const struct simt_texture *texture =
            warp->lane[l] ? texture_of(warp, instruction, l) : NULL;
        int64_t at = 0;

        if (texture == NULL)
            continue;
        for (int i = dimensions - 1; i >= 0; i--) {
            int64_t x = (int32_t)warp->stage[i][l], size = texture->size[i];
            size *= i == 0 ? texture->channels * (number_types[texture->type].bits / 8) : 1;
            if (x < 0 || x >= size) {
                warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, l,
                          "coordinate %d of a surface is %lld, and it has %lld", i, (long long)x,
                          (long long)size);
                return;
            }
            at = at * size + x;
        }
        access.address[l] = (uint64_t)(uintptr_t)texture->memory + (uint64_t)at;
    }
    if (warp->exec == 0 || !access_at(warp, instruction, &access, instruction->stores, &base))
        return;
    if (instruction->stores)
        access_store(&access, warp, instruction, base);
    else
        access_load(&access, warp, instruction, base);
}
