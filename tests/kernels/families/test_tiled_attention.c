/* Attention by tiles. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

/* Scores of 10 or 20 are known to about 2e-6, and so are their exponentials. */
static const double LIMIT = 1e-5;

static const struct {
    int samples, heads, tokens, width;
} shapes[] = {
    { 1, 1, 1, 32 },  { 3, 2, 5, 32 },  { 2, 1, 31, 64 },   { 2, 2, 32, 32 },  { 37, 1, 37, 32 },
    { 2, 1, 33, 64 }, { 1, 2, 64, 32 }, { 1, 1, 197, 128 }, { 2, 2, 100, 64 }, { 1, 1, 513, 32 },
};

/* One attention, as tensors and as what they should hold. */
struct attention {
    int samples, heads, tokens, width;
    float scale;
    long vectors, count;    /* queries; elements */
    struct tensor *lengths; /* NULL: all sequences are full */
    struct tensor *q, *k, *v, *y, *lse, *dy, *delta, *dq, *dk, *dv;
    double *y_reference, *lse_reference;
    double *delta_reference, *dq_reference, *dk_reference, *dv_reference;
    double *y_sizes, *lse_sizes, *delta_sizes, *dq_sizes, *dk_sizes,
        *dv_sizes; /* of the terms, where they cancel */
};

static int keys_of(const struct attention *a, long vector)
{
    return a->lengths ? (int)a->lengths->values[vector / a->tokens / a->heads] : a->tokens;
}

static double dot(const double *x, const double *y, int width)
{
    double sum = 0;

    for (int c = 0; c < width; c++) sum += x[c] * y[c];
    return sum;
}

static double dot_size(const double *x, const double *y, int width)
{
    double sum = 0;

    for (int c = 0; c < width; c++) sum += fabs(x[c] * y[c]);
    return sum;
}

static void reference_forward(struct attention *a)
{
    int width = a->width;

    for (long i = 0; i < a->vectors; i++) {
        const double *q = a->q->values + i * width;
        long first = i / a->tokens * a->tokens; /* key of the head */
        double max = -INFINITY, sum = 0, size = 0;

        for (long j = first; j < first + keys_of(a, i); j++) {
            max = fmax(max, (double)a->scale * dot(q, a->k->values + j * width, width));
            size = fmax(size, (double)a->scale * dot_size(q, a->k->values + j * width, width));
        }
        for (int c = 0; c < width; c++)
            a->y_reference[i * width + c] = a->y_sizes[i * width + c] = 0;
        for (long j = first; j < first + keys_of(a, i); j++) {
            double p = exp((double)a->scale * dot(q, a->k->values + j * width, width) - max);
            sum += p;
            for (int c = 0; c < width; c++) {
                a->y_reference[i * width + c] += p * a->v->values[j * width + c];
                a->y_sizes[i * width + c] += p * fabs(a->v->values[j * width + c]);
            }
        }
        for (int c = 0; c < width; c++) {
            a->y_reference[i * width + c] /= sum;
            a->y_sizes[i * width + c] /= sum;
        }
        a->lse_reference[i] = max + log(sum);
        a->lse_sizes[i] = size + log(sum);
    }
}

/* From y and lse as they are stored. */
static void reference_backward(struct attention *a)
{
    int width = a->width;

    for (long i = 0; i < a->count; i++)
        a->dq_reference[i] = a->dk_reference[i] = a->dv_reference[i] = a->dq_sizes[i] =
            a->dk_sizes[i] = a->dv_sizes[i] = 0;
    for (long i = 0; i < a->vectors; i++) {
        const double *q = a->q->values + i * width, *dy = a->dy->values + i * width;
        long first = i / a->tokens * a->tokens;
        double lse = a->lse->values[i], delta_size = dot_size(dy, a->y->values + i * width, width);

        a->delta_reference[i] = dot(dy, a->y->values + i * width, width);
        a->delta_sizes[i] = delta_size;
        for (long j = first; j < first + keys_of(a, i); j++) {
            const double *k = a->k->values + j * width, *v = a->v->values + j * width;
            double p = exp((double)a->scale * dot(q, k, width) - lse);
            double size = (double)a->scale * p * (delta_size + dot_size(dy, v, width));
            double ds = (double)a->scale * p * (dot(dy, v, width) - a->delta_reference[i]);

            for (int c = 0; c < width; c++) {
                a->dq_reference[i * width + c] += ds * k[c];
                a->dk_reference[j * width + c] += ds * q[c];
                a->dv_reference[j * width + c] += p * dy[c];
                a->dq_sizes[i * width + c] += size * fabs(k[c]);
                a->dk_sizes[j * width + c] += size * fabs(q[c]);
                a->dv_sizes[j * width + c] += p * fabs(dy[c]);
            }
        }
    }
}

/* Lengths are random, but all of 1 .. tokens where there are so many samples. The elements of k and
 * v that do not count are NaN. */
static struct attention attention_make(struct workbench *bench, size_t shape, bool with_lengths,
                                       double deviation)
{
    struct attention a = { .samples = shapes[shape].samples,
                           .heads = shapes[shape].heads,
                           .tokens = shapes[shape].tokens,
                           .width = shapes[shape].width };

    workbench_case(bench, "attention: samples %d, heads %d, tokens %d, width %d%s", a.samples,
                   a.heads, a.tokens, a.width, with_lengths ? ", lengths" : "");
    a.vectors = (long)a.samples * a.heads * a.tokens;
    a.count = a.vectors * a.width;
    a.scale = 1 / sqrtf((float)a.width);
    if (with_lengths) {
        a.lengths = tensor_below(bench, a.samples, (uint32_t)a.tokens);
        for (int i = 0; i < a.samples; i++)
            a.lengths->values[i] = a.samples == a.tokens ? i + 1 : a.lengths->values[i] + 1;
        tensor_store(bench, a.lengths);
    }
    a.q = tensor_normal(bench, REAL, a.count, 0, deviation);
    a.k = tensor_normal(bench, REAL, a.count, 0, deviation);
    a.v = tensor_normal(bench, REAL, a.count, 0, 1);
    a.y_reference = workbench_doubles(bench, a.count);
    a.lse_reference = workbench_doubles(bench, a.vectors);
    a.lse_sizes = workbench_doubles(bench, a.vectors);
    a.y_sizes = workbench_doubles(bench, a.count);
    reference_forward(&a);
    for (long i = 0; i < a.vectors; i++)
        for (int c = 0; c < a.width; c++)
            if (i % a.tokens >= keys_of(&a, i))
                a.k->values[i * a.width + c] = a.v->values[i * a.width + c] = NAN;
    tensor_store(bench, a.k);
    tensor_store(bench, a.v);
    return a;
}

static void run_forward(struct workbench *bench, struct attention *a)
{
    a->y = tensor_output(bench, REAL, a->count);
    a->lse = tensor_output(bench, FLOAT, a->vectors);
    RUN(bench, tiled_attention_forward, ATTENTION_TILES(a->samples * a->heads, a->tokens),
        .y = a->y->data, .lse = a->lse->data, .q = a->q->data, .k = a->k->data, .v = a->v->data,
        .lengths = a->lengths ? a->lengths->data : NULL, .scale = a->scale, .width = a->width,
        .heads = a->heads, .tokens = a->tokens);
}

KERNEL_TEST(forward_follows_its_reference)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        struct attention a = attention_make(bench, i / 2, i % 2, 1.5);

        run_forward(bench, &a);
        EXPECT_SIZED(bench, a.y, a.y_reference, a.y_sizes, LIMIT);
        EXPECT_SIZED(bench, a.lse, a.lse_reference, a.lse_sizes, 1e-6);
    }
}

/* exp() of these scores overflows and underflows unless the largest so far is taken off, and later
 * tiles hold larger ones. */
KERNEL_TEST(forward_survives_large_scores)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct attention a = attention_make(bench, i, false, 40);

        run_forward(bench, &a);
        /* A score of 10000 in fp32 is known to 2^-11, and so is its exponential. */
        EXPECT_SIZED(bench, a.y, a.y_reference, a.y_sizes, 1e-2);
        EXPECT_SIZED(bench, a.lse, a.lse_reference, a.lse_sizes, 1e-6);
    }
}

KERNEL_TEST(attention_to_equal_keys_is_the_mean_of_the_values)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        struct attention a = attention_make(bench, i, true, 0);

        for (long j = 0; j < a.vectors; j++) {
            long first = j / a.tokens * a.tokens;
            a.lse_reference[j] = log(keys_of(&a, j));
            for (int c = 0; c < a.width; c++) {
                double sum = 0;
                for (int key = 0; key < keys_of(&a, j); key++)
                    sum += a.v->values[(first + key) * a.width + c];
                a.y_reference[j * a.width + c] = sum / keys_of(&a, j);
            }
        }
        run_forward(bench, &a);
        EXPECT_SIZED(bench, a.y, a.y_reference, a.y_sizes, 1e-6);
        EXPECT(bench, a.lse, a.lse_reference, 1e-6);
    }
}

static void backward_tensors(struct workbench *bench, struct attention *a)
{
    a->y = tensor_output(bench, REAL, a->count);
    a->lse = tensor_output(bench, FLOAT, a->vectors);
    a->dy = tensor_normal(bench, REAL, a->count, 0, 1);
    for (long i = 0; i < a->count; i++) a->y->values[i] = a->y_reference[i];
    for (long i = 0; i < a->vectors; i++) a->lse->values[i] = a->lse_reference[i];
    tensor_store(bench, a->y);
    tensor_store(bench, a->lse);
    a->delta_reference = workbench_doubles(bench, a->vectors);
    a->delta_sizes = workbench_doubles(bench, a->vectors);
    a->dq_reference = workbench_doubles(bench, a->count);
    a->dk_reference = workbench_doubles(bench, a->count);
    a->dv_reference = workbench_doubles(bench, a->count);
    a->dq_sizes = workbench_doubles(bench, a->count);
    a->dk_sizes = workbench_doubles(bench, a->count);
    a->dv_sizes = workbench_doubles(bench, a->count);
}

KERNEL_TEST(backward_follows_its_reference)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        struct attention a = attention_make(bench, i / 2, i % 2, 1.5);
        long rows = ATTENTION_TILES(a.samples * a.heads, a.tokens);
        const int32_t *lengths = a.lengths ? a.lengths->data : NULL;

        backward_tensors(bench, &a);
        reference_backward(&a);
        a.delta = tensor_output(bench, FLOAT, a.vectors);
        a.dq = tensor_output(bench, REAL, a.count);
        RUN(bench, tiled_attention_backward_query, rows, .dq = a.dq->data, .delta = a.delta->data,
            .q = a.q->data, .k = a.k->data, .v = a.v->data, .y = a.y->data, .dy = a.dy->data,
            .lse = a.lse->data, .lengths = lengths, .scale = a.scale, .width = a.width,
            .heads = a.heads, .tokens = a.tokens);
        EXPECT_SIZED(bench, a.delta, a.delta_reference, a.delta_sizes, 1e-6);
        EXPECT_SIZED(bench, a.dq, a.dq_reference, a.dq_sizes, LIMIT);

        a.dk = tensor_output(bench, REAL, a.count);
        a.dv = tensor_output(bench, REAL, a.count);
        RUN(bench, tiled_attention_backward_key, rows, .dk = a.dk->data, .dv = a.dv->data,
            .q = a.q->data, .k = a.k->data, .v = a.v->data, .dy = a.dy->data, .lse = a.lse->data,
            .delta = a.delta->data, .lengths = lengths, .scale = a.scale, .width = a.width,
            .heads = a.heads, .tokens = a.tokens);
        EXPECT_SIZED(bench, a.dk, a.dk_reference, a.dk_sizes, LIMIT);
        EXPECT_SIZED(bench, a.dv, a.dv_reference, a.dv_sizes, LIMIT);
        for (long j = 0; j < a.count; j++)
            if (j / a.width % a.tokens >= keys_of(&a, j / a.width))
                assert_true(a.dk->values[j] == 0 && a.dv->values[j] == 0);
    }
}

static double attention_loss(void *context)
{
    struct attention *a = context;

    reference_forward(a);
    return reference_dot(a->y_reference, a->dy->values, a->count);
}

KERNEL_TEST(backward_reference_is_the_slope_of_forward)
{
    struct attention a = attention_make(bench, 1, false, 1);

    backward_tensors(bench, &a);
    attention_loss(&a);
    for (long i = 0; i < a.count; i++) a.y->values[i] = a.y_reference[i];
    for (long i = 0; i < a.vectors; i++) a.lse->values[i] = a.lse_reference[i];
    reference_backward(&a);
    WITHIN(bench, "slope in q",
           reference_slope_error(a.q->values, a.dq_reference, a.count, attention_loss, &a,
                                 &bench->random),
           1e-7);
    WITHIN(bench, "slope in k",
           reference_slope_error(a.k->values, a.dk_reference, a.count, attention_loss, &a,
                                 &bench->random),
           1e-7);
    WITHIN(bench, "slope in v",
           reference_slope_error(a.v->values, a.dv_reference, a.count, attention_loss, &a,
                                 &bench->random),
           1e-7);
}
