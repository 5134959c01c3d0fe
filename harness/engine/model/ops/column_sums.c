#include "harness/engine/model/ops/column_sums.h"

void column_sums_choose(struct model_shape *shape, const struct device_properties *device)
{
    enum { LANES = 32, LOAD_BYTES = 16 };

    shape->column_chunk = device->is_gpu ? 32 : 64;
    shape->column_bytes = device->is_gpu ? LANES * LOAD_BYTES : 0;
}

struct column_grid column_grid(const struct model_shape *shape, enum dtype dtype, int rows,
                               int width)
{
    int columns = shape->column_bytes > 0 ? shape->column_bytes / (int)dtype_bytes(dtype) : width;
    struct column_grid grid = { .chunk = shape->column_chunk, .columns = columns };

    grid.parts = (rows + grid.chunk - 1) / grid.chunk;
    grid.count = (long)grid.parts * ((width + columns - 1) / columns);
    return grid;
}

enum status column_sums(const struct model_shape *shape, const struct op_context *context,
                        const struct tensor *dbias, const struct tensor *dy,
                        const struct tensor *partial, int rows, int width)
{
    struct column_grid grid = column_grid(shape, dy->dtype, rows, width);

    TRY(LAUNCH(context->stream, dy->dtype, bias_backward, grid.count, .dbias = partial->data,
               .dy = dy->data, .width = width, .rows = rows, .chunk = grid.chunk,
               .columns = grid.columns));
    TRY(LAUNCH(context->stream, dbias->dtype, columns_finish, width, .y = dbias->data,
               .partial = partial->data, .width = width, .parts = grid.parts,
               .accumulate = context->accumulate));

    return STATUS_OK;
}
