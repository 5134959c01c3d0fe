/* Matrix instructions. Their many registers pass through a stage of the warp, word by word, so that
 * other instructions need no room for them. All have one layout: lane 4 g + t of a tile has row g
 * of A, column g of B, and columns 2 t and 2 t + 1 of C ("Matrix Fragments for mma"); where PTX
 * leaves a layout open (wmma), it is the same. Numbers of 16 and fewer bits are multiplied and
 * added in double precision and rounded once, whole numbers exactly. */
#include "harness/simt/lanes/tiles.h"

#include "harness/simt/access/access.h"
#include "harness/simt/code/number_types.h"
#include "kernels/dialect/half.h"

#include <math.h>
#include <string.h>

enum { MOST_M = 32, MOST_N = 32, MOST_K = 64 };

void lanes_stage(struct warp *warp, const struct instruction *instruction)
{
    uint32_t(*stage)[SIMT_LANES] = warp->stage + instruction->mode;

    for (int i = 0; i < instruction->vector; i++) {
        const uint32_t *word = REGISTER(uint32_t, instruction->s[i]);
        const uint64_t *wide = REGISTER(uint64_t, instruction->s[i]);
        for (int l = 0; l < SIMT_LANES; l++)
            if (instruction->width == 8)
                memcpy((char *)stage[2 * i] + 8 * l, &wide[l], 8);
            else
                stage[i][l] = word[l];
    }
}

void lanes_unstage(struct warp *warp, const struct instruction *instruction)
{
    uint32_t(*stage)[SIMT_LANES] = warp->stage + instruction->mode;

    for (int i = 0; i < instruction->vector; i++) {
        if (instruction->d[i] < 0)
            continue;
        if (instruction->width == 8) {
            const uint64_t *wide = (const uint64_t *)(const void *)stage[2 * i];
            LANES(uint64_t, REGISTER(uint64_t, instruction->d[i]), v = wide[l])
        } else {
            LANES(uint32_t, REGISTER(uint32_t, instruction->d[i]), v = stage[i][l])
        }
    }
}

/* Element `e` of register `r` of a lane: where it is in a tile of `rows` and `columns`. `each` is
 * how many elements a register has. Registers of A and C go down the rows first, in steps of 8;
 * those of B reach the next columns last. */
static void place_of(const struct tile *tile, enum tile_part part, int lane, int r, int e, int *row,
                     int *column)
{
    int g = lane / 4, t = lane % 4, each = tile_each(tile, part), down;

    if (part == TILE_A) {
        down = tile->m / 8;
        *row = g + 8 * (r % down);
        *column = t * each + e + r / down * 4 * each;
    } else if (part == TILE_B) {
        down = tile->k / (4 * each);
        *row = t * each + e + r % down * 4 * each;
        *column = g + 8 * (r / down);
    } else {
        /* Two neighbours of a row: in one register, or in two. */
        int pair = each == 2 ? r : r / 2;
        down = tile->m / 8;
        *row = g + 8 * (pair % down);
        *column = 2 * t + (each == 2 ? e : r % 2) + 8 * (pair / down);
    }
}

static uint64_t staged(const struct warp *warp, int first, int bits, int each, int lane, int r,
                       int e)
{
    uint64_t wide;

    if (bits == 64) {
        memcpy(&wide, (const char *)warp->stage[first + 2 * r] + 8 * lane, 8);
        return wide;
    }
    return each == 1 ? warp->stage[first + r][lane]
                     : warp->stage[first + r][lane] >> e * bits & ((UINT64_C(1) << bits) - 1);
}

static double value_of_bits(int type, uint64_t bits)
{
    double real;

    switch (type) {
    case NUMBER_f16:
        return (double)half_widen((uint16_t)bits);
    case NUMBER_bf16:
        return (double)half_float_of((uint32_t)bits << 16);
    case NUMBER_f32:
        return (double)half_float_of((uint32_t)bits);
    case NUMBER_f64:
        memcpy(&real, &bits, sizeof real);
        return real;
    default:
        return (double)number_read(type, bits);
    }
}

/* The tile of A or B, as numbers. */
static void read_tile(const struct warp *warp, const struct tile *tile, enum tile_part part,
                      double values[MOST_M][MOST_K])
{
    int each = tile_each(tile, part), type = tile->types[part], row, column;

    for (int l = 0; l < SIMT_LANES; l++)
        for (int r = 0; r < tile_registers(tile, part); r++)
            for (int e = 0; e < each; e++) {
                place_of(tile, part, l, r, e, &row, &column);
                if (part == TILE_B) /* by columns, which are short */
                    values[column][row] = value_of_bits(
                        type, staged(warp, STAGE_B, number_types[type].bits, each, l, r, e));
                else
                    values[row][column] = value_of_bits(
                        type, staged(warp, STAGE_A, number_types[type].bits, each, l, r, e));
            }
}

/* An element of D: the element of C, and the products that are added to it. Sums of whole numbers
 * are exact in doubles: at most 64 products of 16 bits, and 32 bits. */
static uint64_t sum_of(const struct tile *tile, const double *a, const double *b, uint64_t c,
                       bool saturates)
{
    double sum = value_of_bits(tile->types[TILE_C], c), rest = 0;
    int type = tile->types[TILE_D];

    if (type == NUMBER_f64) {
        for (int k = 0; k < tile->k; k++) sum = __builtin_fma(a[k], b[k], sum);
    } else {
        for (int k = 0; k < tile->k; k++) rest += a[k] * b[k];
        sum += rest;
    }
    if (type == NUMBER_s32 && !saturates)
        return (uint32_t)(int64_t)sum;
    return number_write(type, (long double)sum, ROUND_NEAREST, NUMBER_HELD * (type == NUMBER_s32));
}

/* PTX does not define the result if lanes are missing, so then the instruction does nothing. */
static bool is_whole(struct warp *warp, const struct instruction *instruction)
{
    warp_check_members(warp, instruction, UINT32_MAX);
    if (warp->exec != 0 && warp->exec != UINT32_MAX)
        warp_find(warp, instruction, SIMT_LANE_MASK, first_lane(~warp->exec),
                  "a matrix instruction wants all 32 lanes; 0x%08x are there", warp->exec);
    return warp->exec == UINT32_MAX;
}

/* D = A B + C */
void lanes_product(struct warp *warp, const struct instruction *instruction)
{
    struct tile tile = tile_unpack(instruction->offset);
    double a[MOST_M][MOST_K], b[MOST_N][MOST_K];
    int each_c = tile_each(&tile, TILE_C), each_d = tile_each(&tile, TILE_D), row, column;
    int bits_c = number_types[tile.types[TILE_C]].bits,
        bits_d = number_types[tile.types[TILE_D]].bits;
    uint64_t c[MOST_M][MOST_N];

    if (!is_whole(warp, instruction))
        return;
    read_tile(warp, &tile, TILE_A, a);
    read_tile(warp, &tile, TILE_B, b);
    for (int l = 0; l < SIMT_LANES; l++)
        for (int r = 0; r < tile_registers(&tile, TILE_C); r++)
            for (int e = 0; e < each_c; e++) {
                place_of(&tile, TILE_C, l, r, e, &row, &column);
                c[row][column] = staged(warp, STAGE_C, bits_c, each_c, l, r, e);
            }
    for (int l = 0; l < SIMT_LANES; l++)
        for (int r = 0; r < tile_registers(&tile, TILE_D); r++) {
            uint64_t word = 0;
            for (int e = 0; e < each_d; e++) {
                place_of(&tile, TILE_D, l, r, e, &row, &column);
                word |= sum_of(&tile, a[row], b[column], c[row][column], instruction->mode)
                        << e * bits_d;
            }
            if (bits_d == 64)
                memcpy((char *)warp->stage[STAGE_D + 2 * r] + 8 * l, &word, 8);
            else
                warp->stage[STAGE_D + r][l] = (uint32_t)word;
        }
}

/* A tile in memory, register by register: each is a request of the warp, of as many bytes as lie
 * next to each other. */
void lanes_tile_access(struct warp *warp, const struct instruction *instruction)
{
    struct tile tile = tile_unpack(instruction->offset);
    enum tile_part part = (enum tile_part)(instruction->mode & 3);
    bool columns = instruction->mode & TILE_BY_COLUMNS, store = instruction->mode & TILE_STORES;
    int each = tile_each(&tile, part), bytes = number_types[tile.types[part]].bits / 8;
    const uint32_t *stride = REGISTER(uint32_t, instruction->s[0]);
    int whole = columns == (part == TILE_B) && part <= TILE_B ? each : 1;
    struct access addresses;
    struct instruction one = *instruction;

    if (!is_whole(warp, instruction))
        return;
    one.offset = 0;
    access_find(&addresses, warp, &one);
    for (int r = 0; r < tile_registers(&tile, part); r++)
        for (int e = 0; e < each; e += whole) {
            struct access access = { .bytes = (unsigned)(bytes * whole) };
            int row, column, first = part == TILE_A ? STAGE_A : part == TILE_B ? STAGE_B : STAGE_C;
            unsigned char *words = (unsigned char *)warp->stage[first + r * (bytes == 8 ? 2 : 1)];
            uint64_t base;

            for (int l = 0; l < SIMT_LANES; l++) {
                place_of(&tile, part, l, r, e, &row, &column);
                access.address[l] =
                    addresses.address[l] +
                    (uint64_t)bytes * (columns ? (uint64_t)column * stride[l] + (uint64_t)row
                                               : (uint64_t)row * stride[l] + (uint64_t)column);
            }
            if (!access_at(warp, instruction, &access, store, &base))
                return;
            for (int l = 0; l < SIMT_LANES; l++) {
                unsigned char *lane = words + (bytes == 8 ? 8 : 4) * l + bytes * e;
                void *host = (void *)(uintptr_t)(access.address[l] + base);
                memcpy(store ? host : lane, store ? lane : host, access.bytes);
            }
        }
}

/* Matrices of 8 rows of 16 bytes, whose addresses lanes 8 i to 8 i + 7 give. */
void lanes_rows(struct warp *warp, const struct instruction *instruction)
{
    int count = instruction->mode & 7;
    bool transposed = instruction->mode & ROWS_TRANSPOSED, store = instruction->mode & ROWS_STORE;
    uint32_t all = warp->exec, own = count == 4 ? UINT32_MAX : (UINT32_C(1) << 8 * count) - 1;
    struct access access;
    uint64_t base;

    if (!is_whole(warp, instruction))
        return;
    warp_take(warp, all & own);
    access_find(&access, warp, instruction);
    if (!access_at(warp, instruction, &access, store, &base)) {
        warp_take(warp, all & warp->live);
        return;
    }
    warp_take(warp, all);
    for (int i = 0; i < count; i++)
        for (int l = 0; l < SIMT_LANES; l++)
            for (int e = 0; e < 2; e++) {
                int row = transposed ? l % 4 * 2 + e : l / 4;
                int column = transposed ? l / 4 : l % 4 * 2 + e;
                void *host =
                    (void *)(uintptr_t)(access.address[8 * i + row] + base + 2 * (uint64_t)column);
                void *half = (char *)&warp->stage[i][l] + 2 * e;
                memcpy(store ? host : half, store ? half : host, 2);
            }
}
