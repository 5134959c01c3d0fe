/* Blocks as in Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008):
 * DEPTH of k at a time, ROWS rows of a are copied into panels of TALL rows, which stay in the
 * second-level cache, and each WIDE columns of b into a panel that stays in the first. A tile of
 * TALL x WIDE sums stays in registers: twelve vectors of AVX2, or six of AVX-512. A
 * panel at an edge is filled up with zeros. Built like the conversions, for the CPU of the kernels.
 */
#include "harness/device/cpu/arithmetic/product_f64.h"

#include <string.h>

enum { TALL = 6, WIDE = 8, DEPTH = 256, ROWS = 16 * TALL };

/* As wide as a register: gcc keeps wider ones in memory. */
#ifdef __AVX512F__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef double vector __attribute__((vector_size(LANES * sizeof(double)), aligned(8)));
enum { VECTORS = WIDE / LANES };

struct packed_blocks {
    double a[ROWS * DEPTH], b[WIDE * DEPTH];
};

size_t product_f64_scratch(void)
{
    return sizeof(struct packed_blocks);
}

/* Copies `count` of `size` rows (of a) or columns (of b) for `depth` of k, those of one k next to
 * each other. `across` and `along` are elements from one of them to the next, and from one k to the
 * next. */
static void pack(double *to, const double *from, int size, int count, int depth, long across,
                 long along)
{
    if (count < size)
        memset(to, 0, (size_t)(size * depth) * sizeof *to);
    for (int k = 0; k < depth; k++)
        for (int i = 0; i < count; i++) to[k * size + i] = from[i * across + k * along];
}

/* sums[TALL, WIDE] = a panel of a times a panel of b. */
static void multiply_panels(double sums[TALL * WIDE], const double *a, const double *b, int depth)
{
    vector kept[TALL][VECTORS] = { 0 };

    for (int k = 0; k < depth; k++, a += TALL, b += WIDE)
#pragma GCC unroll 6
        for (int i = 0; i < TALL; i++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++) kept[i][v] += a[i] * ((const vector *)b)[v];
    memcpy(sums, kept, sizeof kept);
}

static void put_tile(double *c, long ldc, const double sums[TALL * WIDE], int rows, int columns,
                     bool adds)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            c[i * ldc + j] = (adds ? c[i * ldc + j] : 0) + sums[i * WIDE + j];
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* c[rows, n] (+)= the block of a that is packed times `depth` rows of b. */
static void multiply_block(const struct gemm *g, struct packed_blocks *blocks, double *c,
                           const double *b, int rows, int depth, bool adds)
{
    const long across = g->transpose_b ? g->ldb : 1, along = g->transpose_b ? 1 : g->ldb;

    for (int column = 0; column < g->n; column += WIDE) {
        int columns = smaller(WIDE, g->n - column);
        pack(blocks->b, b + column * across, WIDE, columns, depth, across, along);
        for (int row = 0; row < rows; row += TALL) {
            double sums[TALL * WIDE];
            multiply_panels(sums, blocks->a + row * depth, blocks->b, depth);
            put_tile(c + row * (long)g->ldc + column, g->ldc, sums, smaller(TALL, rows - row),
                     columns, adds);
        }
    }
}

void product_f64(const struct gemm *g, void *scratch)
{
    const double *a = g->a, *b = g->b;
    struct packed_blocks *blocks = scratch;
    const long across = g->transpose_a ? 1 : g->lda, along = g->transpose_a ? g->lda : 1;

    for (int k = 0; k < g->k; k += DEPTH) {
        int depth = smaller(DEPTH, g->k - k);
        for (int first = 0; first < g->m; first += ROWS) {
            int rows = smaller(ROWS, g->m - first);
            for (int row = 0; row < rows; row += TALL)
                pack(blocks->a + row * depth, a + (first + row) * across + k * along, TALL,
                     smaller(TALL, rows - row), depth, across, along);
            multiply_block(g, blocks, (double *)g->c + first * (long)g->ldc,
                           b + k * (g->transpose_b ? 1 : (long)g->ldb), rows, depth,
                           g->accumulate || k > 0);
        }
    }
}
