/* Token, patch and position embeddings. */
#include "tests/kernels/families.h"
#include "tests/kernels/references.h"

static const struct {
    int samples, tokens, width;
    uint32_t vocabulary; /* from ids all alike to many that never occur */
} shapes[] = {
    { 1, 2, 32, 1 },    { 3, 5, 64, 7 },    { 2, 17, 96, 50 },
    { 1, 197, 128, 3 }, { 4, 64, 768, 20 }, { 5, 13, 32, 1000 },
};

/* Where the kernel adds, what it adds to; else nothing. `before` are the values to start from. */
static struct tensor *sums_make(struct workbench *bench, long count, bool accumulate,
                                double *before)
{
    struct tensor *sums =
        accumulate ? tensor_normal(bench, REAL, count, 0, 1) : tensor_output(bench, REAL, count);

    memcpy(before, sums->values, (size_t)count * sizeof *before);
    return sums;
}

KERNEL_TEST(token_embedding_forward_follows_its_reference)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        int width = shapes[i].width, tokens = shapes[i].tokens;
        long rows = shapes[i].samples * tokens;

        workbench_case(bench, "token embedding: rows %ld, width %d", rows, width);
        struct tensor *ids = tensor_below(bench, rows, shapes[i].vocabulary);
        struct tensor *table = tensor_normal(bench, REAL, (long)shapes[i].vocabulary * width, 0, 1);
        struct tensor *positions = tensor_normal(bench, REAL, tokens * width, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        reference_token_embedding_forward(reference, ids->values, table->values, positions->values,
                                          rows, width, tokens);
        RUN(bench, token_embedding_forward, rows, .y = y->data, .ids = ids->data,
            .table = table->data, .positions = positions->data, .width = width, .tokens = tokens);
        EXPECT(bench, y, reference, 1e-7);
    }
}

KERNEL_TEST(token_embedding_backward_adds_up_repeated_ids)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        bool accumulate = i % 2;
        int width = shapes[i / 2].width;
        int count = shapes[i / 2].samples * shapes[i / 2].tokens;
        long vocabulary = shapes[i / 2].vocabulary;

        workbench_case(bench, "token embedding: count %d, width %d, vocabulary %ld", count, width,
                       vocabulary);
        struct tensor *ids = tensor_below(bench, count, shapes[i / 2].vocabulary);
        struct tensor *dy = tensor_normal(bench, REAL, count * width, 0, 1);
        double *reference = workbench_doubles(bench, vocabulary * width);
        struct tensor *dtable = sums_make(bench, vocabulary * width, accumulate, reference);

        reference_token_embedding_backward(reference, dy->values, ids->values, vocabulary, width,
                                           count, accumulate);
        RUN(bench, token_embedding_backward, vocabulary, .dtable = dtable->data, .dy = dy->data,
            .ids = ids->data, .width = width, .count = count, .accumulate = accumulate);
        EXPECT(bench, dtable, reference, 1e-6);
    }
}

KERNEL_TEST(patch_embedding_forward_follows_its_reference)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        int width = shapes[i].width, tokens = shapes[i].tokens, samples = shapes[i].samples;
        long rows = samples * tokens;

        workbench_case(bench, "patch embedding: samples %d, tokens %d, width %d", samples, tokens,
                       width);
        struct tensor *x = tensor_normal(bench, REAL, (rows - samples) * width, 0, 1);
        struct tensor *bias = tensor_normal(bench, REAL, width, 0, 1);
        struct tensor *positions = tensor_normal(bench, REAL, tokens * width, 0, 1);
        struct tensor *y = tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        reference_patch_embedding_forward(reference, x->values, bias->values, positions->values,
                                          samples, width, tokens);
        RUN(bench, patch_embedding_forward, rows, .y = y->data, .x = x->data, .bias = bias->data,
            .positions = positions->data, .width = width, .tokens = tokens);
        EXPECT(bench, y, reference, 2e-7);
    }
}

KERNEL_TEST(patch_embedding_backward_leaves_out_token_0)
{
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        int width = shapes[i].width, tokens = shapes[i].tokens, samples = shapes[i].samples;
        long rows = samples * (tokens - 1);

        workbench_case(bench, "patch embedding: samples %d, tokens %d, width %d", samples, tokens,
                       width);
        struct tensor *dy = tensor_normal(bench, REAL, samples * tokens * width, 0, 1);
        struct tensor *dx = tensor_output(bench, REAL, rows * width);
        double *reference = workbench_doubles(bench, rows * width);

        reference_patch_embedding_backward(reference, dy->values, samples, width, tokens);
        RUN(bench, patch_embedding_backward, rows, .dx = dx->data, .dy = dy->data, .width = width,
            .tokens = tokens);
        EXPECT(bench, dx, reference, 0);
    }
}

KERNEL_TEST(positions_backward_sums_over_samples)
{
    for (size_t i = 0; i < 2 * ARRAY_SIZE(shapes); i++) {
        bool accumulate = i % 2;
        int width = shapes[i / 2].width, tokens = shapes[i / 2].tokens;
        int samples = shapes[i / 2].samples;

        workbench_case(bench, "positions: samples %d, tokens %d, width %d", samples, tokens, width);
        struct tensor *dy = tensor_normal(bench, REAL, samples * tokens * width, 0, 1);
        double *reference = workbench_doubles(bench, tokens * width);
        struct tensor *dpositions = sums_make(bench, tokens * width, accumulate, reference);

        reference_positions_backward(reference, dy->values, width, tokens, samples, accumulate);
        RUN(bench, positions_backward, tokens * width, .dpositions = dpositions->data,
            .dy = dy->data, .elements = tokens * width, .samples = samples,
            .accumulate = accumulate);
        EXPECT(bench, dpositions, reference, 1e-6);
    }
}

enum { SLOPE_SAMPLES = 3, SLOPE_TOKENS = 4, SLOPE_WIDTH = 32, SLOPE_VOCABULARY = 5 };
enum { SLOPE_ROWS = SLOPE_SAMPLES * SLOPE_TOKENS };

struct embedding_slope {
    const double *ids, *x, *bias, *dy;
    double *table, *positions, *y;
};

static double token_loss(void *context)
{
    const struct embedding_slope *slope = context;

    reference_token_embedding_forward(slope->y, slope->ids, slope->table, slope->positions,
                                      SLOPE_ROWS, SLOPE_WIDTH, SLOPE_TOKENS);
    return reference_dot(slope->y, slope->dy, SLOPE_ROWS * SLOPE_WIDTH);
}

static double patch_loss(void *context)
{
    const struct embedding_slope *slope = context;

    reference_patch_embedding_forward(slope->y, slope->x, slope->bias, slope->positions,
                                      SLOPE_SAMPLES, SLOPE_WIDTH, SLOPE_TOKENS);
    return reference_dot(slope->y, slope->dy, SLOPE_ROWS * SLOPE_WIDTH);
}

KERNEL_TEST(embedding_backward_references_are_the_slopes_of_forward)
{
    workbench_case(bench, "references of embeddings");
    struct tensor *ids = tensor_below(bench, SLOPE_ROWS, SLOPE_VOCABULARY);
    struct tensor *table = tensor_normal(bench, FLOAT, SLOPE_VOCABULARY * SLOPE_WIDTH, 0, 1);
    struct tensor *positions = tensor_normal(bench, FLOAT, SLOPE_TOKENS * SLOPE_WIDTH, 0, 1);
    struct tensor *x = tensor_normal(bench, FLOAT, SLOPE_ROWS * SLOPE_WIDTH, 0, 1);
    struct tensor *bias = tensor_normal(bench, FLOAT, SLOPE_WIDTH, 0, 1);
    struct tensor *dy = tensor_normal(bench, FLOAT, SLOPE_ROWS * SLOPE_WIDTH, 0, 1);
    double *gradient = workbench_doubles(bench, SLOPE_ROWS * SLOPE_WIDTH);
    struct embedding_slope slope = {
        .ids = ids->values,
        .x = x->values,
        .bias = bias->values,
        .dy = dy->values,
        .table = table->values,
        .positions = positions->values,
        .y = workbench_doubles(bench, SLOPE_ROWS * SLOPE_WIDTH),
    };

    reference_token_embedding_backward(gradient, dy->values, ids->values, SLOPE_VOCABULARY,
                                       SLOPE_WIDTH, SLOPE_ROWS, false);
    WITHIN(bench, "slope of the table",
           reference_slope_error(table->values, gradient, SLOPE_VOCABULARY * SLOPE_WIDTH,
                                 token_loss, &slope, &bench->random),
           1e-7);
    reference_positions_backward(gradient, dy->values, SLOPE_WIDTH, SLOPE_TOKENS, SLOPE_SAMPLES,
                                 false);
    WITHIN(bench, "slope of the positions of tokens",
           reference_slope_error(positions->values, gradient, SLOPE_TOKENS * SLOPE_WIDTH,
                                 token_loss, &slope, &bench->random),
           1e-7);
    WITHIN(bench, "slope of the positions of patches",
           reference_slope_error(positions->values, gradient, SLOPE_TOKENS * SLOPE_WIDTH,
                                 patch_loss, &slope, &bench->random),
           1e-7);
    reference_patch_embedding_backward(gradient, dy->values, SLOPE_SAMPLES, SLOPE_WIDTH,
                                       SLOPE_TOKENS);
    WITHIN(bench, "slope of the patches",
           reference_slope_error(x->values, gradient,
                                 SLOPE_SAMPLES * (SLOPE_TOKENS - 1) * SLOPE_WIDTH, patch_loss,
                                 &slope, &bench->random),
           1e-7);
}
