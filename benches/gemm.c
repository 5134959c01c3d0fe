/* How fast matrices are multiplied: square ones of N rows, and those of the training step.
 *
 * The step's are the forward products of one block of the encoder: [rows, N] times the weights of
 * qkv [N, 3 N], out [N, N], up [N, 4 N] and down [4 N, N], where N is the model's width and `rows`
 * the tokens of a micro-batch. N is that of the roles balanced and heavy on this device.
 *
 * As in a step, the input has just been written, but a block's weights come back only after all
 * else that the step goes through; and so do the results of qkv and up, while those of out and
 * down, which are as small as most tensors of the step, take memory that was freed a moment before.
 * With the same memory in each iteration up was 23% and qkv 14% faster than in a step of
 * model=heavy, whose state is as large as the L3 cache (fp32, EPYC Zen 4). */
#include "benches/parts/operand.h"
#include "harness/engine/settings/roles.h"

#include <math.h>

/* The step's weights as multiples of the model's width. */
enum weights { SQUARE, QKV, OUT, UP, DOWN };
static const struct {
    int in, out;
    bool comes_back; /* the memory of the result, as that of the weights does */
} widths[] = {
    [SQUARE] = { 1, 1, true }, [QKV] = { 1, 3, true },   [OUT] = { 1, 1, false },
    [UP] = { 1, 4, true },     [DOWN] = { 4, 1, false },
};

struct own {
    struct operand c, a, b;
    int m, n, k;
};

static enum status gemm_run(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;
    struct gemm gemm = {
        .a = own->a.device,
        .m = own->m,
        .n = own->n,
        .k = own->k,
        .batch = 1,
        .lda = own->k,
        .ldb = own->n,
        .ldc = own->n,
        .dtype_ab = work->bench->dtype,
        .dtype_c = work->bench->dtype,
        .math = work->bench->math,
    };

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        int64_t block = operands_next(work);
        gemm.b = operand_at(&own->b, block);
        gemm.c = operand_at(&own->c, widths[work->bench->variant].comes_back ? block : 0);
        TRY(device_gemm(work->stream, &gemm));
    }
    return stream_synchronize(work->stream);
}

/* Some elements, drawn at random, against the sum in double precision. A product of two values from
 * -1 to 1 has a standard deviation of 1/3, so a sum of k is of the size of sqrt(k) / 3. Each of k
 * additions in fp32 is off by at most half a unit in the last place of that, and in tf32, whose
 * fraction has 10 bits, each factor by 2^-11: limits that only a wrong product passes. */
static enum status gemm_check(struct bench_work *work)
{
    enum { SAMPLES = 64 };
    const struct own *own = work->own;
    int64_t n = own->n, k = own->k;
    double size = fmax(1, sqrt((double)k) / 3);
    double limit = 0x1p-24 * (double)k * size;

    if (work->bench->math == MATH_TF32)
        limit += 8 * 0x1p-11 * size;
    for (int i = 0; i < SAMPLES; i++) {
        int64_t row = random_below(&work->random, (uint32_t)own->m);
        int64_t column = random_below(&work->random, (uint32_t)n);
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += operand_value(&own->a, row * k + j) * operand_value(&own->b, j * n + column);
        TRY(operand_check(&own->c, "a matrix product", row * n + column, sum, limit));
    }

    return STATUS_OK;
}

/* The role whose model is that wide; the heavy one where none is. */
static const struct role_sizes *role_of(const struct device_properties *device, int64_t width)
{
    const struct role_sizes *balanced = role_sizes(ROLE_BALANCED, device);

    return balanced->width == width ? balanced : role_sizes(ROLE_HEAVY, device);
}

static enum status gemm_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    enum weights weights = (enum weights)work->bench->variant;
    enum dtype dtype = work->bench->dtype;
    int width = (int)work->argument;
    const struct role_sizes *role = role_of(device_properties(work->device), width);
    int64_t m, n, k;

    own->m = weights == SQUARE ? width : role->image_tokens * role->batch; /* of a micro-batch */
    own->n = width * widths[weights].out;
    own->k = width * widths[weights].in;
    m = own->m, n = own->n, k = own->k;
    /* The memory that a step touches before it comes back to a block: the matrices of all blocks,
     * 12 N^2 elements each, with their gradients, both moments of AdamW and, in 16 bits, the copy
     * in fp32. These take 16 bytes per element in fp32 and in 16 bits (Rajbhandari et al., "ZeRO",
     * 2020, section 3.1). */
    if (weights != SQUARE)
        operands_span(
            work, (k * n + (widths[weights].comes_back ? m * n : 0)) * (int64_t)dtype_bytes(dtype),
            (int64_t)16 * 12 * role->width * role->width * role->blocks);
    TRY(operand_open(&own->c, work, dtype, m * n));
    TRY(operand_open(&own->a, work, dtype, m * k));
    TRY(operand_open(&own->b, work, dtype, k * n));
    TRY(gemm_run(work, 1));
    TRY(operand_read(&own->c, work));
    TRY(gemm_check(work));
    work->flops = 2 * m * n * k;
    work->bytes = (m * n + m * k + k * n) * (int64_t)dtype_bytes(dtype);

    return STATUS_OK;
}

static const char *lack_tf32(const struct bench *bench, const struct device_properties *device)
{
    (void)bench;
    return device->tf32 ? NULL : "the device has no tf32";
}

static const char *lack_fp16(const struct bench *bench, const struct device_properties *device)
{
    (void)bench;
    return device->fp16_matrix_units ? NULL : "the device has no matrix units for fp16";
}

#define GEMM(name_, text_, variant_, dtype_, math_, lack_, ...)                                    \
    const struct bench bench_##name_ = { .name = #name_,                                           \
                                         .text = text_,                                            \
                                         .variant = variant_,                                      \
                                         .dtype = dtype_,                                          \
                                         .math = math_,                                            \
                                         .roof = ROOF_PRODUCTS,                                    \
                                         .own_bytes = sizeof(struct own),                          \
                                         .lack = lack_,                                            \
                                         .set_up = gemm_set_up,                                    \
                                         .run = gemm_run,                                          \
                                         __VA_ARGS__ }
#define GEMM_TYPES(name, text, variant, ...)                                                       \
    GEMM(name##_fp32, text, variant, DTYPE_F32, MATH_STRICT, NULL, __VA_ARGS__);                   \
    GEMM(name##_tf32, text, variant, DTYPE_F32, MATH_TF32, lack_tf32, __VA_ARGS__);                \
    GEMM(name##_bf16, text, variant, DTYPE_BF16, MATH_STRICT, NULL, __VA_ARGS__);                  \
    GEMM(name##_fp16, text, variant, DTYPE_F16, MATH_STRICT, lack_fp16, __VA_ARGS__)
#define GEMM_STEP(name, text, variant)                                                             \
    GEMM(name##_fp32, text, variant, DTYPE_F32, MATH_STRICT, NULL, .arguments = { 64, 128 },       \
         .arguments_large = { 384, 768 });                                                         \
    GEMM(name##_bf16, text, variant, DTYPE_BF16, MATH_STRICT, NULL, .arguments = { 64, 128 },      \
         .arguments_large = { 384, 768 })

GEMM_TYPES(gemm, "the product of two N by N matrices", SQUARE, .arguments = { 64, 256, 1024 },
           .arguments_large = { 256, 1024, 4096, 8192 });
GEMM_STEP(gemm_qkv, "the step's tokens of width N times the weights of queries, keys, values", QKV);
GEMM_STEP(gemm_out, "the step's tokens of width N times attention's output weights", OUT);
GEMM_STEP(gemm_up, "the step's tokens of width N times the MLP's first weights", UP);
GEMM_STEP(gemm_down, "the step's hidden states of width 4 N times the MLP's second weights", DOWN);
