/* GELU's forward on the host: its input is copied there and its result back, in the middle of the
 * step.
 *
 * The host waits for all work before, and the device for the host. One buffer serves all blocks: a
 * copy into it is queued behind the copy out of it. */
#include "harness/engine/model/ops/op_build.h"

#include "kernels/dialect/half.h"

#include <math.h>
#include <string.h>

/* As kernels/model/gelu.kernel.c has it. */
static float gelu(float x)
{
    float exponent = -2 * 0.797884561f * x * (1 + 0.044715f * x * x);

    return x / (1 + expf(exponent < 85 ? exponent : 85));
}

static void gelu_f32(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) values[i] = gelu(values[i]);
}

/* A bf16 number is the upper half of an fp32 one; it is rounded to the nearest, ties to even. */
static void gelu_bf16(uint16_t *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)values[i] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        value = gelu(value);
        memcpy(&bits, &value, sizeof bits);
        values[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

static void gelu_f16(uint16_t *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) values[i] = half_narrow(gelu(half_widen(values[i])));
}

enum status host_gelu_pass(const struct op *op, const struct op_context *context)
{
    const struct tensor *x = op->forward.reads[0], *y = op->forward.writes[0];

    TRY(device_copy(context->stream, COPY_DEVICE_TO_HOST, op->host, x->data, tensor_bytes(x)));
    if (x->dtype == DTYPE_BF16)
        gelu_bf16(op->host, x->elements);
    else if (x->dtype == DTYPE_F16)
        gelu_f16(op->host, x->elements);
    else
        gelu_f32(op->host, x->elements);
    TRY(device_copy_async(context->stream, COPY_HOST_TO_DEVICE, y->data, op->host,
                          tensor_bytes(y)));

    return STATUS_OK;
}
