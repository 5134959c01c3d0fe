/* How a gradient's rows and columns are divided for column sums. */
#include "harness/engine/model/ops/op_build.h"
#include "tests/fixtures/cmocka_prelude.h"

static struct model_shape shape_on(bool is_gpu)
{
    struct device_properties device = { .is_gpu = is_gpu };
    struct model_shape shape = { 0 };

    column_sums_choose(&shape, &device);
    return shape;
}

static const int widths[] = { 32, 96, 768, 1024, 2304, 3072 };

/* Every row is in one part, every column in one tile, and neither is empty. */
TEST(parts_and_tiles_cover_the_matrix_once)
{
    static const int row_counts[] = { 1, 31, 32, 33, 64, 65, 25216 };

    for (size_t i = 0; i < 4 * ARRAY_SIZE(widths) * ARRAY_SIZE(row_counts); i++) {
        struct model_shape shape = shape_on(i % 2);
        enum dtype dtype = i / 2 % 2 ? DTYPE_BF16 : DTYPE_F32;
        int width = widths[i / 4 % ARRAY_SIZE(widths)];
        int rows = row_counts[i / 4 / ARRAY_SIZE(widths)];
        struct column_grid grid = column_grid(&shape, dtype, rows, width);
        long tiles = grid.count / grid.parts;
        assert_true(grid.parts * grid.chunk >= rows && (grid.parts - 1) * grid.chunk < rows);
        assert_int_equal(grid.count, grid.parts * tiles);
        assert_true(tiles * grid.columns >= width && (tiles - 1) * grid.columns < width);
    }
}

/* A warp adds up a load of 16 bytes per lane for each row and has four rows on their way;
 * scripts/predict_gpu.py counts them in the machine code. 23 KB per multiprocessor are what
 * 4.3 TB/s take at 700 ns; one holds 32 warps of the kernel with the most registers. */
TEST(a_gpu_has_enough_loads_on_their_way)
{
    enum { MULTIPROCESSORS = 132, ROWS = 128 * 197, LOADS = 4, LOAD_BYTES = 16, LANES = 32 };
    struct model_shape shape = shape_on(true);

    for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
        for (enum dtype dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++) {
            struct column_grid grid = column_grid(&shape, dtype, ROWS, widths[i]);
            long warps = grid.count / MULTIPROCESSORS;
            if (widths[i] >= 768)
                assert_true((warps < 32 ? warps : 32) * LANES * LOADS * LOAD_BYTES >= 23000);
        }
}

TEST(the_cpu_device_sums_up_whole_rows)
{
    struct model_shape shape = shape_on(false);

    for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
        assert_int_equal(column_grid(&shape, DTYPE_BF16, 6400, widths[i]).count, 100);
}
