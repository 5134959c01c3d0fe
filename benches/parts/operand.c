/* Values are drawn and rounded to the operand's type on the host and copied to the device as often
 * as a cold row needs, so that a reference is computed from the same values. */
#include "benches/parts/operand.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ALIGNMENT = 256 };

/* The draws repeat after so many: enough to look random to any cache or link, and odd, so that a
 * row that is off by a power of two differs. */
enum { PERIOD = (1 << 20) - 3 };

static int64_t cold_span(const struct bench_work *work)
{
    const int64_t unknown = 64 << 20; /* as large as that of most devices */
    int64_t cache = device_properties(work->device)->cache_bytes;

    return 4 * (cache > 0 ? cache : unknown);
}

void operands_span(struct bench_work *work, int64_t bytes, int64_t span)
{
    int64_t most = cold_span(work);

    if (span > most)
        span = most;
    work->copies = bytes < span ? (int)((span + bytes - 1) / bytes) : 1;
}

void operands_rotate(struct bench_work *work, int64_t bytes)
{
    operands_span(work, bytes, work->bench->cold ? cold_span(work) : bytes);
}

int64_t operands_next(struct bench_work *work)
{
    int64_t copy = work->next_copy;

    work->next_copy = copy + 1 < work->copies ? copy + 1 : 0;
    return copy;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exact, since `value` is a multiple of 1 / levels and at most 1. An fp16's exponent is biased by
 * 15, an fp32's by 127. */
static void put_value(struct operand *operand, int64_t index, float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;

    if (operand->dtype == DTYPE_F32)
        ((float *)operand->host)[index] = value;
    else if (operand->dtype == DTYPE_BF16)
        ((uint16_t *)operand->host)[index] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)operand->host)[index] =
            (uint16_t)(value == 0 ? 0 : sign | ((magnitude >> 13) - ((127 - 15) << 10)));
}

double operand_value(const struct operand *operand, int64_t index)
{
    uint32_t half;
    double magnitude;

    if (operand->dtype == DTYPE_F32)
        return (double)((const float *)operand->host)[index];
    half = ((const uint16_t *)operand->host)[index];
    if (operand->dtype == DTYPE_BF16)
        return (double)float_of(half << 16);
    magnitude = ldexp((double)float_of((half & 0x7fff) << 13), 127 - 15);
    return half & 0x8000 ? -magnitude : magnitude;
}

static void fill_operand(struct operand *operand, struct random *random)
{
    size_t element = dtype_bytes(operand->dtype);
    /* Values are multiples of 1 / levels: 2^-7, 2^-10, and 2^-23 in fp32. */
    int most = operand->dtype == DTYPE_BF16  ? 1 << 7
               : operand->dtype == DTYPE_F16 ? 1 << 10
                                             : 1 << 23;
    unsigned char *bytes = operand->host;

    for (int64_t i = 0; i < operand->count && i < PERIOD; i++) {
        int draw = (int)random_below(random, 2 * (uint32_t)most + 1) - most;
        put_value(operand, i, (float)draw / (float)most);
    }
    for (int64_t i = PERIOD; i < operand->count; i += PERIOD) {
        int64_t left = operand->count - i < PERIOD ? operand->count - i : PERIOD;
        memcpy(bytes + (size_t)i * element, bytes, (size_t)left * element);
    }
}

enum status operand_open(struct operand *operand, struct bench_work *work, enum dtype dtype,
                         int64_t count)
{
    size_t bytes = (size_t)count * dtype_bytes(dtype);
    void *device;

    operand->dtype = dtype;
    operand->count = count;
    operand->stride = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    TRY(bench_alloc(work, BENCH_DEVICE, operand->stride * (size_t)work->copies, &device));
    operand->device = device;
    TRY(bench_alloc(work, BENCH_PINNED, bytes, &operand->host));
    fill_operand(operand, &work->random);
    for (int i = 0; i < work->copies; i++)
        TRY(device_copy(work->stream, COPY_HOST_TO_DEVICE, operand_at(operand, i), operand->host,
                        bytes));
    return stream_synchronize(work->stream);
}

void *operand_at(const struct operand *operand, int64_t copy)
{
    return operand->device + (size_t)copy * operand->stride;
}

enum status operand_read(struct operand *operand, struct bench_work *work)
{
    return device_copy(work->stream, COPY_DEVICE_TO_HOST, operand->host, operand->device,
                       (size_t)operand->count * dtype_bytes(operand->dtype));
}

enum status operand_check(const struct operand *operand, const char *what, int64_t index,
                          double expected, double limit)
{
    /* Half a unit in the last place, and as much again for a result at the border between two
     * values. */
    static const double rounding[DTYPE_COUNT] = {
        [DTYPE_F32] = 0x1p-23,
        [DTYPE_BF16] = 0x1p-7,
        [DTYPE_F16] = 0x1p-10,
    };

    return value_check(what, index, operand_value(operand, index), expected,
                       limit + fabs(expected) * rounding[operand->dtype]);
}

int64_t operand_check_step(int64_t count)
{
    enum { CHECKED_MOST = 1 << 17 };

    return count <= CHECKED_MOST ? 1 : (count / CHECKED_MOST) | 1; /* odd: all places of a row */
}

enum status value_check(const char *what, int64_t index, double value, double expected,
                        double limit)
{
    if (!(fabs(value - expected) <= limit))
        FAIL(STATUS_INTERNAL, "%s computes wrongly: element %" PRId64 " is %.9g, not %.9g", what,
             index, value, expected);

    return STATUS_OK;
}
