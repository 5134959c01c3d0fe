#include "harness/device/flips.h"

#include "harness/device/check.h"
#include "harness/device/driver.h"
#include "harness/device/ledger.h"

#include <string.h>

/* How large the output is that the first member of a kernel's arguments points to. */
enum extent {
    TENSOR, /* an element of the storage type for each that is computed */
    FLOATS, /* the same in fp32 */
    PER_ROW,
    PART,  /* the first row of partial sums, in fp32 */
    STATE, /* a struct step_state */
    RING,  /* the element of a ring that this step is to write */
    TABLE, /* the parameter of the first chunk */
};

static const enum extent extents[KERNEL_COUNT] = {
    [KERNEL_cast_to_float] = FLOATS,
    [KERNEL_adamw_decay] = FLOATS,
    [KERNEL_adamw_momentum] = FLOATS,
    [KERNEL_adamw_variance] = FLOATS,
    [KERNEL_adamw_root] = FLOATS,
    [KERNEL_adamw_denominator] = FLOATS,
    [KERNEL_cross_entropy_forward] = PER_ROW,
    [KERNEL_checksum] = PER_ROW,
    [KERNEL_square_sum] = PER_ROW,
    [KERNEL_square_sum_multi] = PER_ROW,
    [KERNEL_bias_backward] = PART,
    [KERNEL_layernorm_backward_weight] = PART,
    [KERNEL_step_advance] = STATE,
    [KERNEL_gradient_norm_finish] = STATE,
    [KERNEL_loss_scale_update] = STATE,
    [KERNEL_loss_mean] = RING,
    [KERNEL_adamw_multi] = TABLE,
};

struct output {
    unsigned char *at;
    size_t bytes;
};

static enum status find_in_ring(struct output *output, struct stream *stream,
                                const struct loss_mean *loss)
{
    struct step_state state;

    TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &state, loss->state, sizeof state));
    output->at = (void *)(loss->ring + state.step / loss->updates % loss->ring_length);
    output->bytes = sizeof *loss->ring;

    return STATUS_OK;
}

static enum status find_in_table(struct output *output, struct stream *stream, enum dtype dtype,
                                 const struct adamw_multi *adamw)
{
    struct tensor_chunk chunk;

    TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &chunk, adamw->table, sizeof chunk));
    output->at = chunk.parameter;
    output->bytes = (size_t)chunk.count * dtype_bytes(dtype);

    return STATUS_OK;
}

static enum status find_output(struct output *output, struct stream *stream, enum kernel kernel,
                               enum dtype dtype, long count, const void *arguments)
{
    size_t width = (size_t)check_width(kernel, arguments), all = (size_t)count * width;

    memcpy(&output->at, arguments, sizeof output->at);
    switch (extents[kernel]) {
    case TENSOR:
        output->bytes = all * dtype_bytes(dtype);
        break;
    case FLOATS:
        output->bytes = all * sizeof(float);
        break;
    case PER_ROW:
        output->bytes = (size_t)count * sizeof(float);
        break;
    case PART:
        output->bytes = width * sizeof(float);
        break;
    case STATE:
        output->bytes = sizeof(struct step_state);
        break;
    case RING:
        return find_in_ring(output, stream, arguments);
    case TABLE:
        return find_in_table(output, stream, dtype, arguments);
    }
    return STATUS_OK;
}

static enum status flip(struct stream *stream, unsigned char *at, int bit)
{
    unsigned char byte;

    TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &byte, at, sizeof byte));
    byte = (unsigned char)(byte ^ 1u << bit);
    TRY(device_copy(stream, COPY_HOST_TO_DEVICE, at, &byte, sizeof byte));

    return STATUS_OK;
}

static bool is_planned(struct stream *stream, int kernel, uint64_t *place)
{
    struct faults *faults = &stream->device->ledger->faults;

    return faults->flip_count > 0 && !stream->capturing && faults_flip(faults, kernel, place);
}

enum status flip_kernel(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments)
{
    struct output output = { .bytes = 1 };
    uint64_t place;

    if (!is_planned(stream, (int)kernel, &place))
        return STATUS_OK;
    TRY(find_output(&output, stream, kernel, dtype, count, arguments));
    place %= output.bytes * 8;
    TRY(flip(stream, output.at + place / 8, (int)(place % 8)));

    return STATUS_OK;
}

/* Rows of c may be apart, and what is between them is no output. */
enum status flip_gemm(struct stream *stream, const struct gemm *gemm)
{
    size_t element = dtype_bytes(gemm->dtype_c);
    uint64_t place, rows, number;
    int64_t at;

    if (!is_planned(stream, FLIP_GEMM, &place))
        return STATUS_OK;
    rows = (uint64_t)gemm->m * (uint64_t)gemm->batch;
    place %= rows * (uint64_t)gemm->n * element * 8;
    number = place / 8 / element;
    rows = number / (uint64_t)gemm->n;
    at = (int64_t)(rows / (uint64_t)gemm->m) * gemm->stride_c +
         (int64_t)(rows % (uint64_t)gemm->m) * gemm->ldc + (int64_t)(number % (uint64_t)gemm->n);
    return flip(stream, (unsigned char *)gemm->c + (size_t)at * element + place / 8 % element,
                (int)(place % 8));
}
