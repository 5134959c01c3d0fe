/* Attention, bias, residual, cross-entropy, embedding, image, GELU. */
#include "tests/kernels/references.h"

#include <math.h>

/* The index of token `row`'s element `c` in [samples, heads, tokens, width / heads]. */
static long head_index(long row, int c, int width, int heads, int tokens)
{
    int head_width = width / heads;
    long sample = row / tokens, token = row % tokens;
    int head = c / head_width;

    return ((sample * heads + head) * tokens + token) * head_width + c % head_width;
}

void reference_split_heads_forward(double *q, double *k, double *v, const double *qkv,
                                   const double *bias, long rows, int width, int heads, int tokens)
{
    double *const to[3] = { q, k, v };

    for (long row = 0; row < rows; row++)
        for (int part = 0; part < 3; part++)
            for (int c = 0; c < width; c++)
                to[part][head_index(row, c, width, heads, tokens)] =
                    qkv[(row * 3 + part) * width + c] + (bias ? bias[part * width + c] : 0);
}

void reference_split_heads_backward(double *dqkv, const double *dq, const double *dk,
                                    const double *dv, long rows, int width, int heads, int tokens)
{
    const double *const from[3] = { dq, dk, dv };

    for (long row = 0; row < rows; row++)
        for (int part = 0; part < 3; part++)
            for (int c = 0; c < width; c++)
                dqkv[(row * 3 + part) * width + c] =
                    from[part][head_index(row, c, width, heads, tokens)];
}

void reference_merge_heads_forward(double *y, const double *x, long rows, int width, int heads,
                                   int tokens)
{
    for (long row = 0; row < rows; row++)
        for (int c = 0; c < width; c++)
            y[row * width + c] = x[head_index(row, c, width, heads, tokens)];
}

void reference_merge_heads_backward(double *dx, const double *dy, long rows, int width, int heads,
                                    int tokens)
{
    for (long row = 0; row < rows; row++)
        for (int c = 0; c < width; c++)
            dx[head_index(row, c, width, heads, tokens)] = dy[row * width + c];
}

static int row_length(const double *lengths, long row, int heads, int tokens)
{
    return lengths ? (int)lengths[row / tokens / heads] : tokens;
}

void reference_softmax_forward(double *y, const double *x, const double *lengths, double scale,
                               long rows, int width, int heads, int tokens)
{
    for (long row = 0; row < rows; row++) {
        int length = row_length(lengths, row, heads, tokens);
        const double *from = x + row * width;
        double *to = y + row * width;
        double max = -INFINITY, sum = 0;

        for (int c = 0; c < length; c++) max = fmax(max, scale * from[c]);
        for (int c = 0; c < length; c++) sum += exp(scale * from[c] - max);
        for (int c = 0; c < width; c++) to[c] = c < length ? exp(scale * from[c] - max) / sum : 0;
    }
}

void reference_softmax_backward(double *dx, const double *y, const double *dy,
                                const double *lengths, double scale, long rows, int width,
                                int heads, int tokens)
{
    for (long row = 0; row < rows; row++) {
        int length = row_length(lengths, row, heads, tokens);
        const double *p = y + row * width, *dp = dy + row * width;
        double sum = 0;

        for (int c = 0; c < length; c++) sum += p[c] * dp[c];
        for (int c = 0; c < width; c++)
            dx[row * width + c] = c < length ? scale * p[c] * (dp[c] - sum) : 0;
    }
}

void reference_bias_add(double *y, const double *x, const double *bias, long rows, int width)
{
    for (long i = 0; i < rows * width; i++) y[i] = x[i] + bias[i % width];
}

void reference_bias_backward(double *dbias, const double *dy, int width, int rows, int chunk)
{
    int parts = (rows + chunk - 1) / chunk;

    for (long i = 0; i < (long)parts * width; i++) dbias[i] = 0;
    for (long row = 0; row < rows; row++)
        for (int c = 0; c < width; c++) dbias[row / chunk * width + c] += dy[row * width + c];
}

void reference_columns_finish(double *y, const double *partial, int width, int parts,
                              bool accumulate)
{
    for (int c = 0; c < width; c++) {
        double sum = accumulate ? y[c] : 0;
        for (long part = 0; part < parts; part++) sum += partial[part * width + c];
        y[c] = sum;
    }
}

void reference_residual_add(double *y, const double *a, const double *b, long count)
{
    for (long i = 0; i < count; i++) y[i] = a[i] + b[i];
}

void reference_bias_residual(double *y, const double *a, const double *b, const double *bias,
                             long rows, int width)
{
    for (long i = 0; i < rows * width; i++) y[i] = a[i] + b[i] + bias[i % width];
}

static double log_sum_exp(const double *logits, int classes)
{
    double max = -INFINITY, sum = 0;

    for (int c = 0; c < classes; c++) max = fmax(max, logits[c]);
    for (int c = 0; c < classes; c++) sum += exp(logits[c] - max);
    return max + log(sum);
}

void reference_cross_entropy_forward(double *loss, const double *logits, const double *labels,
                                     long rows, int width, int classes)
{
    for (long row = 0; row < rows; row++) {
        const double *from = logits + row * width;
        loss[row] = log_sum_exp(from, classes) - from[(int)labels[row]];
    }
}

void reference_cross_entropy_backward(double *dlogits, const double *logits, const double *labels,
                                      double scale, long rows, int width, int classes)
{
    for (long row = 0; row < rows; row++) {
        const double *from = logits + row * width;
        double log_sum = log_sum_exp(from, classes);

        for (int c = 0; c < width; c++) {
            double onehot = c == (int)labels[row];
            dlogits[row * width + c] = c < classes ? (exp(from[c] - log_sum) - onehot) * scale : 0;
        }
    }
}

void reference_loss_mean(double *ring, const double *loss, int step, double scale, int count,
                         int ring_length, bool accumulate)
{
    double sum = 0;

    for (int i = 0; i < count; i++) sum += loss[i];
    ring[step % ring_length] = scale * sum + (accumulate ? ring[step % ring_length] : 0);
}

void reference_token_embedding_forward(double *y, const double *ids, const double *table,
                                       const double *positions, long rows, int width, int tokens)
{
    for (long row = 0; row < rows; row++)
        for (int c = 0; c < width; c++)
            y[row * width + c] =
                table[(long)ids[row] * width + c] + positions[row % tokens * width + c];
}

void reference_token_embedding_backward(double *dtable, const double *dy, const double *ids,
                                        long vocabulary, int width, int count, bool accumulate)
{
    for (long i = 0; i < vocabulary * width && !accumulate; i++) dtable[i] = 0;
    for (long token = 0; token < count; token++)
        for (int c = 0; c < width; c++)
            dtable[(long)ids[token] * width + c] += dy[token * width + c];
}

void reference_patch_embedding_forward(double *y, const double *x, const double *bias,
                                       const double *positions, int samples, int width, int tokens)
{
    for (long sample = 0; sample < samples; sample++)
        for (long token = 0; token < tokens; token++)
            for (int c = 0; c < width; c++) {
                double patch =
                    token == 0 ? 0 : x[(sample * (tokens - 1) + token - 1) * width + c] + bias[c];
                y[(sample * tokens + token) * width + c] = patch + positions[token * width + c];
            }
}

void reference_patch_embedding_backward(double *dx, const double *dy, int samples, int width,
                                        int tokens)
{
    for (long sample = 0; sample < samples; sample++)
        for (long patch = 0; patch < tokens - 1; patch++)
            for (int c = 0; c < width; c++)
                dx[(sample * (tokens - 1) + patch) * width + c] =
                    dy[(sample * tokens + patch + 1) * width + c];
}

void reference_positions_backward(double *dpositions, const double *dy, int width, int tokens,
                                  int samples, bool accumulate)
{
    for (long token = 0; token < tokens; token++)
        for (int c = 0; c < width; c++) {
            double sum = accumulate ? dpositions[token * width + c] : 0;
            for (long sample = 0; sample < samples; sample++)
                sum += dy[(sample * tokens + token) * width + c];
            dpositions[token * width + c] = sum;
        }
}

void reference_image_patches(double *patches, const double *images, int samples, int size,
                             int patch)
{
    static const double mean[3] = { 0.485, 0.456, 0.406 };
    static const double deviation[3] = { 0.229, 0.224, 0.225 };
    long next = 0;

    for (long sample = 0; sample < samples; sample++)
        for (int top = 0; top < size; top += patch)
            for (int left = 0; left < size; left += patch)
                for (int y = top; y < top + patch; y++)
                    for (int x = left; x < left + patch; x++)
                        for (int channel = 0; channel < 3; channel++) {
                            double byte = images[((sample * size + y) * size + x) * 3 + channel];
                            patches[next++] = (byte / 255 - mean[channel]) / deviation[channel];
                        }
}

static const double sqrt_2_over_pi = 0.79788456080286535588;

static double gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
    double t = tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x));

    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt_2_over_pi * (1 + 3 * 0.044715 * x * x);
}

void reference_gelu_forward(double *y, const double *x, const double *bias, long rows, int width)
{
    for (long i = 0; i < rows * width; i++) y[i] = gelu(x[i] + (bias ? bias[i % width] : 0));
}

void reference_gelu_backward(double *dx, const double *dy, const double *x, const double *bias,
                             long rows, int width)
{
    for (long i = 0; i < rows * width; i++)
        dx[i] = dy[i] * gelu_slope(x[i] + (bias ? bias[i % width] : 0));
}

double reference_dot(const double *a, const double *b, long count)
{
    double sum = 0;

    for (long i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

double reference_slope_error(double *input, const double *gradient, long count,
                             double (*loss)(void *context), void *context, struct random *random)
{
    const double h = 1e-5; /* Truncation h^2 and rounding 1e-16 / h are then both about 1e-10. */
    double scale = sqrt(reference_dot(gradient, gradient, count) / (double)count);
    double worst = 0;

    for (int place = 0; place < 64; place++) {
        long i = random_below(random, (uint32_t)count);
        double before = input[i];

        input[i] = before + h;
        double above = loss(context);
        input[i] = before - h;
        double below = loss(context);
        input[i] = before;
        double error = fabs((above - below) / (2 * h) - gradient[i]) / scale;
        if (!(error <= worst))
            worst = error;
    }
    return worst;
}
