/* Heads and softmax. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

#include <math.h>

static const struct {
    int samples, tokens, width, heads;
} head_shapes[] = {
    { 1, 1, 32, 1 },    { 3, 5, 64, 2 },   { 2, 17, 96, 3 },  { 2, 64, 128, 4 },
    { 1, 197, 128, 1 }, { 2, 5, 768, 12 }, { 1, 64, 768, 8 },
};

static void heads_case(struct workbench *bench, size_t i)
{
    workbench_case(bench, "heads: samples %d, tokens %d, width %d, heads %d",
                   head_shapes[i].samples, head_shapes[i].tokens, head_shapes[i].width,
                   head_shapes[i].heads);
}

KERNEL_TEST(split_heads_forward_adds_the_bias_and_reorders)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(head_shapes); i++) {
        size_t shape = i / 2;
        bool with_bias = i % 2;
        int width = head_shapes[shape].width, heads = head_shapes[shape].heads;
        int tokens = head_shapes[shape].tokens;
        long rows = head_shapes[shape].samples * tokens;

        heads_case(bench, shape);
        struct tensor *qkv = tensor_normal(bench, REAL, rows * 3 * width, 0, 1);
        struct tensor *bias = tensor_normal(bench, REAL, 3 * width, 0, 1);
        struct tensor *q = tensor_output(bench, REAL, rows * width);
        struct tensor *k = tensor_output(bench, REAL, rows * width);
        struct tensor *v = tensor_output(bench, REAL, rows * width);
        double *q_reference = workbench_doubles(bench, rows * width);
        double *k_reference = workbench_doubles(bench, rows * width);
        double *v_reference = workbench_doubles(bench, rows * width);

        RUN(bench, split_heads_forward, rows, .q = q->data, .k = k->data, .v = v->data,
            .qkv = qkv->data, .bias = with_bias ? bias->data : NULL, .width = width, .heads = heads,
            .tokens = tokens);
        reference_split_heads_forward(q_reference, k_reference, v_reference, qkv->values,
                                      with_bias ? bias->values : NULL, rows, width, heads, tokens);
        EXPECT(bench, q, q_reference, with_bias ? 1e-7 : 0);
        EXPECT(bench, k, k_reference, with_bias ? 1e-7 : 0);
        EXPECT(bench, v, v_reference, with_bias ? 1e-7 : 0);
    }
}

KERNEL_TEST(split_heads_backward_puts_everything_back)
{
    for (size_t i = 0; i < ARRAY_SIZE(head_shapes); i++) {
        int width = head_shapes[i].width, heads = head_shapes[i].heads;
        int tokens = head_shapes[i].tokens;
        long rows = head_shapes[i].samples * tokens;

        heads_case(bench, i);
        struct tensor *dqkv = tensor_output(bench, REAL, rows * 3 * width);
        struct tensor *dq = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *dk = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *dv = tensor_normal(bench, REAL, rows * width, 0, 1);
        double *reference = workbench_doubles(bench, rows * 3 * width);

        RUN(bench, split_heads_backward, rows, .dqkv = dqkv->data, .dq = dq->data, .dk = dk->data,
            .dv = dv->data, .width = width, .heads = heads, .tokens = tokens);
        reference_split_heads_backward(reference, dq->values, dk->values, dv->values, rows, width,
                                       heads, tokens);
        EXPECT(bench, dqkv, reference, 0);
    }
}

KERNEL_TEST(merge_heads_goes_there_and_back)
{
    for (size_t i = 0; i < ARRAY_SIZE(head_shapes); i++) {
        int width = head_shapes[i].width, heads = head_shapes[i].heads;
        int tokens = head_shapes[i].tokens;
        long rows = head_shapes[i].samples * tokens;

        heads_case(bench, i);
        struct tensor *x = tensor_normal(bench, REAL, rows * width, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, rows * width);
        struct tensor *back = tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        RUN(bench, merge_heads_forward, rows, .y = y->data, .x = x->data, .width = width,
            .heads = heads, .tokens = tokens);
        reference_merge_heads_forward(reference, x->values, rows, width, heads, tokens);
        EXPECT(bench, y, reference, 0);

        RUN(bench, merge_heads_backward, rows, .dx = back->data, .dy = y->data, .width = width,
            .heads = heads, .tokens = tokens);
        reference_merge_heads_backward(reference, y->values, rows, width, heads, tokens);
        EXPECT(bench, back, reference, 0);
        EXPECT_SAME_BITS(bench, back, x);
    }
}

/* A head's gradient is found where its element went: splitting and merging are permutations. */
KERNEL_TEST(heads_references_backward_undo_forward)
{
    enum { WIDTH = 64, HEADS = 2, TOKENS = 3, ROWS = 6 };

    workbench_case(bench, "references of heads");
    double *x = workbench_doubles(bench, ROWS * 3 * WIDTH);
    double *there = workbench_doubles(bench, ROWS * 3 * WIDTH);
    double *back = workbench_doubles(bench, ROWS * 3 * WIDTH);
    double *q = there, *k = there + ROWS * WIDTH, *v = there + 2 * ROWS * WIDTH;

    for (int i = 0; i < ROWS * 3 * WIDTH; i++) x[i] = i;
    reference_split_heads_forward(q, k, v, x, NULL, ROWS, WIDTH, HEADS, TOKENS);
    reference_split_heads_backward(back, q, k, v, ROWS, WIDTH, HEADS, TOKENS);
    assert_memory_equal(back, x, ROWS * 3 * WIDTH * sizeof *x);

    /* By hand: k's second head's element 5 of sample 1's token 2. */
    assert_true(k[((1 * HEADS + 1) * TOKENS + 2) * 32 + 5] == ((1 * TOKENS + 2) * 3 + 1) * 64 + 37);
}

/* Rows up to 256 (CUDA) and 1088 (CPU) are computed in another way than longer ones. */
static const struct {
    int samples, heads, tokens;
} softmax_shapes[] = {
    { 1, 1, 1 },   { 3, 2, 5 },   { 2, 3, 17 },   { 2, 2, 32 },  { 37, 1, 37 },
    { 1, 2, 64 },  { 2, 1, 96 },  { 1, 2, 197 },  { 5, 1, 128 }, { 1, 3, 768 },
    { 1, 1, 256 }, { 1, 1, 257 }, { 1, 1, 1105 },
};

/* Each row is computed alone: of the longest these say as much as all, and fill no number of
 * blocks. */
enum { LONG_ROW = 258, LONG_ROWS = 199 };

/* A softmax under test: scores with NaN wherever the contract lets anything stand. */
struct scores {
    struct tensor *x, *lengths;
    long rows;
    int width, heads, tokens;
    float scale;
};

/* Lengths are random, but all of 1 .. tokens where there are so many samples. */
static struct scores scores_make(struct workbench *bench, size_t shape, bool with_lengths,
                                 double deviation)
{
    int samples = softmax_shapes[shape].samples, heads = softmax_shapes[shape].heads;
    int tokens = softmax_shapes[shape].tokens;
    struct scores scores = {
        .rows = tokens >= LONG_ROW ? LONG_ROWS : (long)samples * heads * tokens,
        .width = (tokens + ROW_MULTIPLE - 1) / ROW_MULTIPLE * ROW_MULTIPLE,
        .heads = heads,
        .tokens = tokens,
    };

    workbench_case(bench, "softmax: samples %d, heads %d, tokens %d%s", samples, heads, tokens,
                   with_lengths ? ", lengths" : "");
    scores.scale = 0.1f + random_uniform(&bench->random);
    scores.lengths = tensor_below(bench, samples, (uint32_t)tokens);
    for (int i = 0; i < samples; i++)
        scores.lengths->values[i] = samples == tokens ? i + 1 : scores.lengths->values[i] + 1;
    tensor_store(bench, scores.lengths);
    scores.x = tensor_normal(bench, REAL, scores.rows * scores.width, 0, deviation);
    return scores;
}

static int scores_length(const struct scores *scores, bool with_lengths, long row)
{
    return with_lengths ? (int)scores->lengths->values[row / scores->tokens / scores->heads]
                        : scores->tokens;
}

static void scores_mask(struct workbench *bench, const struct scores *scores, bool with_lengths,
                        struct tensor *tensor, double value)
{
    for (long row = 0; row < scores->rows; row++)
        for (int c = scores_length(scores, with_lengths, row); c < scores->width; c++)
            tensor->values[row * scores->width + c] = value;
    tensor_store(bench, tensor);
}

KERNEL_TEST(softmax_forward_follows_its_reference)
{
    for (size_t i = 0; i < 4 * ARRAY_SIZE(softmax_shapes); i++) {
        bool with_lengths = i % 2, in_place = i / 2 % 2;
        struct scores s = scores_make(bench, i / 4, with_lengths, 2);
        scores_mask(bench, &s, with_lengths, s.x, NAN);
        struct tensor *y = in_place ? s.x : tensor_output(bench, REAL, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);

        reference_softmax_forward(reference, s.x->values, with_lengths ? s.lengths->values : NULL,
                                  s.scale, s.rows, s.width, s.heads, s.tokens);
        RUN(bench, softmax_forward, s.rows, .y = y->data, .x = s.x->data,
            .lengths = with_lengths ? s.lengths->data : NULL, .scale = s.scale, .width = s.width,
            .heads = s.heads, .tokens = s.tokens);
        EXPECT(bench, y, reference, 1e-6);
        for (long row = 0; row < s.rows; row++)
            for (int c = scores_length(&s, with_lengths, row); c < s.width; c++)
                assert_true(y->values[row * s.width + c] == 0);
    }
}

/* exp() of these scores overflows and underflows unless the largest is taken off first. */
KERNEL_TEST(softmax_forward_survives_large_scores)
{
    for (size_t i = 0; i < ARRAY_SIZE(softmax_shapes); i++) {
        struct scores s = scores_make(bench, i, false, 3000);
        scores_mask(bench, &s, false, s.x, NAN);
        struct tensor *y = tensor_output(bench, REAL, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);

        reference_softmax_forward(reference, s.x->values, NULL, s.scale, s.rows, s.width, s.heads,
                                  s.tokens);
        RUN(bench, softmax_forward, s.rows, .y = y->data, .x = s.x->data, .scale = s.scale,
            .width = s.width, .heads = s.heads, .tokens = s.tokens);
        /* A score of 10000 in fp32 is known to 2^-11, and so is its exponential. */
        EXPECT(bench, y, reference, 2e-3);
    }
}

KERNEL_TEST(softmax_of_equal_scores_is_one_over_their_number)
{
    for (size_t i = 0; i < ARRAY_SIZE(softmax_shapes); i++) {
        struct scores s = scores_make(bench, i, true, 1);
        for (long j = 0; j < s.x->count; j++) s.x->values[j] = 2.5;
        scores_mask(bench, &s, true, s.x, NAN);
        struct tensor *y = tensor_output(bench, REAL, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);

        for (long j = 0; j < s.rows * s.width; j++) {
            int length = scores_length(&s, true, j / s.width);
            reference[j] = j % s.width < length ? 1.0 / length : 0;
        }
        RUN(bench, softmax_forward, s.rows, .y = y->data, .x = s.x->data,
            .lengths = s.lengths->data, .scale = s.scale, .width = s.width, .heads = s.heads,
            .tokens = s.tokens);
        EXPECT(bench, y, reference, 2e-7);
    }
}

/* dy - sum(dy * y) cancels where one y is nearly 1: its terms are |dy| and the sum of |dy * y|. */
static void softmax_gradient_sizes(double *sizes, const struct scores *s, bool with_lengths,
                                   const double *y, const double *dy)
{
    for (long row = 0; row < s->rows; row++) {
        int length = scores_length(s, with_lengths, row);
        const double *p = y + row * s->width, *d = dy + row * s->width;
        double sum = 0;

        for (int c = 0; c < length; c++) sum += fabs(p[c] * d[c]);
        for (int c = 0; c < s->width; c++)
            sizes[row * s->width + c] =
                c < length ? (double)s->scale * p[c] * (fabs(d[c]) + sum) : 0;
    }
}

KERNEL_TEST(softmax_backward_follows_its_reference)
{
    for (size_t i = 0; i < 4 * ARRAY_SIZE(softmax_shapes); i++) {
        bool with_lengths = i % 2, in_place = i / 2 % 2;
        struct scores s = scores_make(bench, i / 4, with_lengths, 2);
        const double *lengths = with_lengths ? s.lengths->values : NULL;
        struct tensor *y = tensor_output(bench, REAL, s.rows * s.width);
        struct tensor *dy = tensor_normal(bench, REAL, s.rows * s.width, 0, 1);
        struct tensor *dx = in_place ? dy : tensor_output(bench, REAL, s.rows * s.width);
        double *reference = workbench_doubles(bench, s.rows * s.width);
        double *sizes = workbench_doubles(bench, s.rows * s.width);

        reference_softmax_forward(y->values, s.x->values, lengths, s.scale, s.rows, s.width,
                                  s.heads, s.tokens);
        tensor_store(bench, y);
        softmax_gradient_sizes(sizes, &s, with_lengths, y->values, dy->values);
        scores_mask(bench, &s, with_lengths, dy, NAN);
        reference_softmax_backward(reference, y->values, dy->values, lengths, s.scale, s.rows,
                                   s.width, s.heads, s.tokens);
        RUN(bench, softmax_backward, s.rows, .dx = dx->data, .y = y->data, .dy = dy->data,
            .lengths = with_lengths ? s.lengths->data : NULL, .scale = s.scale, .width = s.width,
            .heads = s.heads, .tokens = s.tokens);
        EXPECT_SIZED(bench, dx, reference, sizes, 1e-6);
        for (long row = 0; row < s.rows; row++)
            for (int c = scores_length(&s, with_lengths, row); c < s.width; c++)
                assert_true(dx->values[row * s.width + c] == 0);
    }
}

struct softmax_slope {
    const struct scores *scores;
    double *y;
    const double *dy;
};

static double softmax_loss(void *context)
{
    const struct softmax_slope *slope = context;
    const struct scores *s = slope->scores;

    reference_softmax_forward(slope->y, s->x->values, s->lengths->values, s->scale, s->rows,
                              s->width, s->heads, s->tokens);
    return reference_dot(slope->y, slope->dy, s->rows * s->width);
}

KERNEL_TEST(softmax_backward_reference_is_the_slope_of_forward)
{
    struct scores s = scores_make(bench, 1, true, 2);
    struct tensor *dy = tensor_normal(bench, FLOAT, s.rows * s.width, 0, 1);
    double *y = workbench_doubles(bench, s.rows * s.width);
    double *dx = workbench_doubles(bench, s.rows * s.width);
    struct softmax_slope slope = { &s, y, dy->values };

    for (int i = 0; i < 3; i++) s.lengths->values[i] = 5 - 2 * i; /* All 1 would have no slope. */
    tensor_store(bench, s.lengths);
    softmax_loss(&slope);
    reference_softmax_backward(dx, y, dy->values, s.lengths->values, s.scale, s.rows, s.width,
                               s.heads, s.tokens);
    WITHIN(bench, "slope",
           reference_slope_error(s.x->values, dx, s.rows * s.width, softmax_loss, &slope,
                                 &bench->random),
           1e-7);
}
