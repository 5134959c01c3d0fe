/* How fast one layer's attention is over N tokens, forward: naive, with its scores in memory;
 * tiled, which keeps them in registers; and fused, by a library of the device's.
 *
 * The bytes that the naive form moves grow with the square of the length, those of the others with
 * the length; all compute the same. */
#include "benches/parts/kernel_work.h"
#include "benches/parts/operand.h"
#include "harness/engine/settings/roles.h"

#include <math.h>

enum { HEADS = 4 };

struct own {
    int tokens, width;
    float scale;
    struct operand q, k, v, y; /* [HEADS, tokens, width] */
    struct operand scores;     /* naive: [HEADS, tokens, tokens] */
    struct operand lse;        /* tiled and fused: [HEADS, tokens] */
    void *workspace;           /* fused */
};

/* c [tokens, n] = a [tokens, k] op(b) [k, n] of every head. */
static enum status heads_product(struct bench_work *work, const struct operand *c,
                                 const struct operand *a, const struct operand *b, int n, int k,
                                 bool transpose_b)
{
    const struct own *own = work->own;

    return device_gemm(work->stream, &(struct gemm){ .c = c->device,
                                                     .a = a->device,
                                                     .b = b->device,
                                                     .m = own->tokens,
                                                     .n = n,
                                                     .k = k,
                                                     .batch = HEADS,
                                                     .lda = k,
                                                     .ldb = own->width,
                                                     .ldc = n,
                                                     .stride_a = (int64_t)own->tokens * k,
                                                     .stride_b = (int64_t)own->tokens * own->width,
                                                     .stride_c = (int64_t)own->tokens * n,
                                                     .transpose_b = transpose_b,
                                                     .dtype_ab = work->bench->dtype,
                                                     .dtype_c = work->bench->dtype });
}

static enum status run_naive(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        TRY(heads_product(work, &own->scores, &own->q, &own->k, own->tokens, own->width, true));
        TRY(LAUNCH(work->stream, work->bench->dtype, softmax_forward, (long)HEADS * own->tokens,
                   .y = own->scores.device, .x = own->scores.device, .lengths = NULL,
                   .scale = own->scale, .width = own->tokens, .heads = HEADS,
                   .tokens = own->tokens));
        TRY(heads_product(work, &own->y, &own->scores, &own->v, own->width, own->tokens, false));
    }
    return stream_synchronize(work->stream);
}

static enum status run_tiled(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(LAUNCH(work->stream, work->bench->dtype, tiled_attention_forward,
                   ATTENTION_TILES(HEADS, own->tokens), .y = own->y.device,
                   .lse = (float *)operand_at(&own->lse, 0), .q = own->q.device, .k = own->k.device,
                   .v = own->v.device, .lengths = NULL, .scale = own->scale, .width = own->width,
                   .heads = HEADS, .tokens = own->tokens));
    return stream_synchronize(work->stream);
}

static struct attention_shape shape_of(const struct bench_work *work)
{
    const struct own *own = work->own;

    return (struct attention_shape){ .samples = 1,
                                     .heads = HEADS,
                                     .tokens = own->tokens,
                                     .width = own->width,
                                     .dtype = work->bench->dtype };
}

static enum status run_fused(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;
    const struct fused_attention attention = { .shape = shape_of(work),
                                               .scale = own->scale,
                                               .y = own->y.device,
                                               .statistics = (float *)operand_at(&own->lse, 0),
                                               .q = own->q.device,
                                               .k = own->k.device,
                                               .v = own->v.device,
                                               .workspace = own->workspace };

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(device_attention(work->stream, &attention));
    return stream_synchronize(work->stream);
}

static double score(const struct own *own, int64_t head, int64_t query, int64_t key)
{
    int64_t q = (head * own->tokens + query) * own->width;
    int64_t k = (head * own->tokens + key) * own->width;
    double sum = 0;

    for (int64_t i = 0; i < own->width; i++)
        sum += operand_value(&own->q, q + i) * operand_value(&own->k, k + i);
    return exp((double)own->scale * sum);
}

/* softmax(scale q k') v of one query, in double precision (Vaswani et al.: "Attention is all you
 * need", 2017). Results are means of values up to 1; in bf16 the naive form rounds its scores,
 * which are of size 1, and its probabilities too: two roundings by 2^-9 at most each. */
static enum status check_query(const struct bench_work *work, int64_t head, int64_t query)
{
    enum { WIDTH_MOST = 128 };
    const struct own *own = work->own;
    double limit = work->bench->dtype == DTYPE_F32 ? 1e-5 : 0x1p-8;
    double sum = 0, y[WIDTH_MOST] = { 0 };

    for (int64_t key = 0; key < own->tokens; key++) {
        double p = score(own, head, query, key);
        int64_t v = (head * own->tokens + key) * own->width;
        sum += p;
        for (int64_t i = 0; i < own->width; i++) y[i] += p * operand_value(&own->v, v + i);
    }
    for (int64_t i = 0; i < own->width; i++)
        TRY(operand_check(&own->y, "attention", (head * own->tokens + query) * own->width + i,
                          y[i] / sum, limit));

    return STATUS_OK;
}

static enum status open_operands(struct bench_work *work)
{
    struct own *own = work->own;
    struct operand *const inputs[] = { &own->q, &own->k, &own->v, &own->y };
    const struct device_properties *device = device_properties(work->device);
    int64_t matrix;

    own->tokens = (int)work->argument;
    own->width = role_head_width(role_sizes(ROLE_HEAVY, device)->width, device);
    own->scale = 1 / sqrtf((float)own->width);
    matrix = (int64_t)HEADS * own->tokens * own->width;
    for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
        TRY(operand_open(inputs[i], work, work->bench->dtype, matrix));
    work->bytes = kernel_bytes(KERNEL_tiled_attention_forward, work->bench->dtype,
                               (struct kernel_extent){ .elements = matrix });
    work->flops = kernel_flops(KERNEL_tiled_attention_forward, matrix * own->tokens);

    return STATUS_OK;
}

static enum status attention_check(struct bench_work *work)
{
    enum { QUERIES = 8 };
    struct own *own = work->own;

    TRY(work->bench->run(work, 1));
    TRY(operand_read(&own->y, work));
    TRY(check_query(work, HEADS - 1, own->tokens - 1));
    for (int i = 0; i < QUERIES; i++)
        TRY(check_query(work, random_below(&work->random, HEADS),
                        random_below(&work->random, (uint32_t)own->tokens)));

    return STATUS_OK;
}

/* The naive form's scores are written, read and written by the softmax, and read. */
static enum status attention_set_up(struct bench_work *work)
{
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;
    int64_t queries = HEADS * work->argument, scores = queries * work->argument;

    TRY(open_operands(work));
    if (work->bench->run == run_naive) {
        TRY(operand_open(&own->scores, work, dtype, scores));
        work->bytes += 4 * scores * (int64_t)dtype_bytes(dtype);
    } else {
        TRY(operand_open(&own->lse, work, DTYPE_F32, queries));
        work->bytes += queries * (int64_t)sizeof(float);
    }
    if (work->bench->run == run_fused) {
        struct attention_shape shape = shape_of(work);
        size_t bytes;

        TRY(device_attention_plan(work->device, &shape, &bytes));
        if (bytes > 0)
            TRY(bench_alloc(work, BENCH_DEVICE, bytes, &own->workspace));
    }
    return attention_check(work);
}

static const char *lack_library(const struct bench *bench, const struct device_properties *device)
{
    if (!device->fused_attention)
        return "the device has no library with fused attention";
    return device->is_gpu && bench->dtype == DTYPE_F32
               ? "cuDNN's fused attention does not take fp32, only bf16 and fp16"
               : NULL;
}

#define ATTENTION(form, suffix, dtype_, lack_, text_)                                              \
    const struct bench bench_attention_##form##_##suffix = {                                       \
        .name = "attention_" #form "_" #suffix,                                                    \
        .text = text_,                                                                             \
        .dtype = dtype_,                                                                           \
        .lack = lack_,                                                                             \
        .roof = ROOF_PRODUCTS,                                                                     \
        .arguments = { 64, 256, 1024 },                                                            \
        .arguments_large = { 256, 1024, 4096 },                                                    \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = attention_set_up,                                                                \
        .run = run_##form,                                                                         \
    }

ATTENTION(naive, fp32, DTYPE_F32, NULL,
          "attention over N tokens, 4 heads, with its scores in memory");
ATTENTION(naive, bf16, DTYPE_BF16, NULL,
          "attention over N tokens, 4 heads, with its scores in memory");
ATTENTION(tiled, fp32, DTYPE_F32, NULL, "attention over N tokens, 4 heads, tile by tile");
ATTENTION(tiled, bf16, DTYPE_BF16, NULL, "attention over N tokens, 4 heads, tile by tile");
ATTENTION(fused, fp32, DTYPE_F32, lack_library,
          "attention over N tokens, 4 heads, by the device's library");
ATTENTION(fused, bf16, DTYPE_BF16, lack_library,
          "attention over N tokens, 4 heads, by the device's library");
