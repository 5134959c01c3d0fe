/* Kernels written by hand for one CPU: what the dialect of kernels/dialect/kernel.h is measured
 * against. Compiled once a storage type, with the options of the kernels. */
#include "tests/tools/bench_kernels.h"

#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

#ifdef REAL_F32
typedef float element;
#define NAME(name) name##_loop_f32

static inline float widen(element x)
{
    return x;
}

static inline element narrow(float x)
{
    return x;
}
#else
typedef uint16_t element;
#define NAME(name) name##_loop_bf16

static inline float widen(element x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline element narrow(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (element)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
#endif

void NAME(layernorm_forward)(const void *arguments, long first, long last)
{
    const struct layernorm_forward *k = arguments;
    const element *restrict weight = k->weight, *restrict bias = k->bias;
    float *restrict means = k->mean, *restrict rstds = k->rstd;
    int width = k->width;

    for (long row = first; row < last; row++) {
        const element *restrict x = (const element *)k->x + row * width;
        element *restrict y = (element *)k->y + row * width;
        float sum = 0, squares = 0;
        for (int c = 0; c < width; c++) sum += widen(x[c]);
        float mean = sum / (float)width;
        for (int c = 0; c < width; c++) squares += (widen(x[c]) - mean) * (widen(x[c]) - mean);
        float rstd = 1 / sqrtf(squares / (float)width + 1e-5f);
        for (int c = 0; c < width; c++)
            y[c] = narrow((widen(x[c]) - mean) * rstd * widen(weight[c]) + widen(bias[c]));
        means[row] = mean;
        rstds[row] = rstd;
    }
}

void NAME(layernorm_backward)(const void *arguments, long first, long last)
{
    const struct layernorm_backward *k = arguments;
    const element *restrict weight = k->weight;
    int width = k->width;

    for (long row = first; row < last; row++) {
        const element *restrict x = (const element *)k->x + row * width;
        const element *restrict dy = (const element *)k->dy + row * width;
        element *restrict dx = (element *)k->dx + row * width;
        float mean = k->mean[row], rstd = k->rstd[row], g_mean = 0, gn_mean = 0;
        for (int c = 0; c < width; c++) {
            float g = widen(dy[c]) * widen(weight[c]);
            g_mean += g;
            gn_mean += g * (widen(x[c]) - mean) * rstd;
        }
        g_mean /= (float)width;
        gn_mean /= (float)width;
        for (int c = 0; c < width; c++) {
            float g = widen(dy[c]) * widen(weight[c]);
            dx[c] = narrow((g - g_mean - (widen(x[c]) - mean) * rstd * gn_mean) * rstd);
        }
    }
}

/* Row by row into the sums, which stay in the first-level cache. */
void NAME(layernorm_backward_weight)(const void *arguments, long first, long last)
{
    const struct layernorm_backward_weight *k = arguments;
    int width = k->width;

    for (long part = first; part < last; part++) {
        float *restrict dweight = k->dweight + part * width;
        float *restrict dbias = k->dbias + part * width;
        long end = (part + 1) * k->chunk < k->rows ? (part + 1) * k->chunk : k->rows;
        memset(dweight, 0, (size_t)width * sizeof *dweight);
        memset(dbias, 0, (size_t)width * sizeof *dbias);
        for (long row = part * k->chunk; row < end; row++) {
            const element *restrict x = (const element *)k->x + row * width;
            const element *restrict dy = (const element *)k->dy + row * width;
            float mean = k->mean[row], rstd = k->rstd[row];
            for (int c = 0; c < width; c++) {
                dweight[c] += widen(dy[c]) * (widen(x[c]) - mean) * rstd;
                dbias[c] += widen(dy[c]);
            }
        }
    }
}

/* Keeps a row of exponentials in fp32. */
void NAME(softmax_forward)(const void *arguments, long first, long last)
{
    const struct softmax_forward *k = arguments;
    float scale = k->scale, kept[4096];
    int width = k->width;

    for (long row = first; row < last; row++) {
        const element *restrict x = (const element *)k->x + row * width;
        element *restrict y = (element *)k->y + row * width;
        int length = k->lengths ? k->lengths[row / (k->heads * k->tokens)] : k->tokens;
        float max = scale * widen(x[0]), sum = 0;
        for (int c = 0; c < length; c++)
            max = scale * widen(x[c]) > max ? scale * widen(x[c]) : max;
        for (int c = 0; c < length; c++) {
            kept[c] = expf(scale * widen(x[c]) - max);
            sum += kept[c];
        }
        float share = 1 / sum;
        for (int c = 0; c < length; c++) y[c] = narrow(kept[c] * share);
        for (int c = length; c < width; c++) y[c] = narrow(0);
    }
}

void NAME(softmax_backward)(const void *arguments, long first, long last)
{
    const struct softmax_backward *k = arguments;
    float scale = k->scale;
    int width = k->width;

    for (long row = first; row < last; row++) {
        const element *restrict y = (const element *)k->y + row * width;
        const element *restrict dy = (const element *)k->dy + row * width;
        element *restrict dx = (element *)k->dx + row * width;
        int length = k->lengths ? k->lengths[row / (k->heads * k->tokens)] : k->tokens;
        float dot = 0;
        for (int c = 0; c < length; c++) dot += widen(y[c]) * widen(dy[c]);
        for (int c = 0; c < length; c++) dx[c] = narrow(scale * widen(y[c]) * (widen(dy[c]) - dot));
        for (int c = length; c < width; c++) dx[c] = narrow(0);
    }
}

static inline float logistic_of_gelu(float x)
{
    return 1 / (1 + expf(-2 * 0.797884561f * (x + 0.044715f * x * x * x)));
}

static inline float gelu_slope(float x)
{
    float s = logistic_of_gelu(x);
    return s + x * s * (1 - s) * 2 * 0.797884561f * (1 + 3 * 0.044715f * x * x);
}

void NAME(gelu_forward)(const void *arguments, long first, long last)
{
    const struct gelu_forward *k = arguments;
    const element *restrict x = k->x;
    element *restrict y = k->y;

    for (long i = first; i < last; i++) y[i] = narrow(widen(x[i]) * logistic_of_gelu(widen(x[i])));
}

void NAME(gelu_backward)(const void *arguments, long first, long last)
{
    const struct gelu_backward *k = arguments;
    const element *restrict x = k->x, *restrict dy = k->dy;
    element *restrict dx = k->dx;

    for (long i = first; i < last; i++) dx[i] = narrow(widen(dy[i]) * gelu_slope(widen(x[i])));
}

void NAME(bias_gelu_forward)(const void *arguments, long first, long last)
{
    const struct bias_gelu_forward *k = arguments;
    const element *restrict bias = k->bias;
    int width = k->width;

    for (long row = first; row < last; row++) {
        const element *restrict x = (const element *)k->x + row * width;
        element *restrict y = (element *)k->y + row * width;
        for (int c = 0; c < width; c++) {
            float a = widen(x[c]) + widen(bias[c]);
            y[c] = narrow(a * logistic_of_gelu(a));
        }
    }
}

void NAME(residual_add)(const void *arguments, long first, long last)
{
    const struct residual_add *k = arguments;
    const element *restrict a = k->a, *restrict b = k->b;
    element *restrict y = k->y;

    for (long i = first; i < last; i++) y[i] = narrow(widen(a[i]) + widen(b[i]));
}

void NAME(adamw)(const void *arguments, long first, long last)
{
    const struct adamw *k = arguments;
    const element *restrict gradient = k->gradient;
    float *restrict master = k->master, *restrict ms = k->m, *restrict vs = k->v;
    float scale = k->state->gradient_scale, shrink = 1 - k->state->rate * k->decay;
    float rate = k->state->rate / k->state->correction1;
    float root = 1 / sqrtf(k->state->correction2);

    for (long i = first; i < last; i++) {
        float g = widen(gradient[i]) * scale;
        float m = ADAMW_BETA1 * ms[i] + (1 - ADAMW_BETA1) * g;
        float v = ADAMW_BETA2 * vs[i] + (1 - ADAMW_BETA2) * g * g;
        float w = master[i] * shrink - rate * m / (sqrtf(v) * root + ADAMW_EPSILON);
        ms[i] = m;
        vs[i] = v;
        master[i] = w;
#ifndef REAL_F32
        ((element *restrict)k->parameter)[i] = narrow(w);
#endif
    }
}
