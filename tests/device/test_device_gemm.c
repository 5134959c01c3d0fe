/* Matrix products of a device against sums in double precision: types, transposes, leading
 * dimensions, batches and their strides, accumulation, epilogues.
 *
 * Operands are small integers over 4, exact in every type, so that the products are exact in fp32
 * while sums stay below 2^24 quarters of quarters; what is left is the rounding of c to its
 * type. */
#include "harness/base/random.h"
#include "tests/fixtures/fields.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>

struct product {
    const char *what;
    struct gemm gemm; /* shapes; the addresses are filled in */
};

/* Room behind each row and matrix, which must come back as it was. */
enum { GUARD = -77 };

static uint16_t bf16_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float of_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* By arithmetic on the value, not on its bits: fp16 has 10 fraction bits and subnormals of
 * 2^-24. */
static uint16_t f16_of(float f)
{
    int exponent;
    float magnitude = fabsf(f), unit;

    if (magnitude == 0)
        return signbit(f) ? 0x8000 : 0;
    frexpf(magnitude, &exponent);
    unit = ldexpf(1, (exponent < -13 ? -13 : exponent) - 11);
    magnitude = nearbyintf(magnitude / unit) * unit;
    frexpf(magnitude, &exponent);
    if (magnitude >= 65520)
        return (uint16_t)((signbit(f) ? 0x8000 : 0) | 0x7c00);
    if (magnitude < 0x1p-14f) /* subnormal, or zero by now */
        return (uint16_t)((signbit(f) ? 0x8000 : 0) | (int)ldexpf(magnitude, 24));
    return (uint16_t)((signbit(f) ? 0x8000 : 0) | (exponent + 14) << 10 |
                      ((int)ldexpf(magnitude, 11 - exponent) - 1024));
}

static float of_f16(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float magnitude = exponent == 0 ? ldexpf((float)fraction, -24)
                                    : ldexpf((float)(fraction + 1024), exponent - 25);

    return half & 0x8000 ? -magnitude : magnitude;
}

static void put(void *to, size_t i, enum dtype dtype, float value)
{
    if (dtype == DTYPE_F64)
        ((double *)to)[i] = (double)value;
    else if (dtype == DTYPE_F32)
        ((float *)to)[i] = value;
    else
        ((uint16_t *)to)[i] = dtype == DTYPE_BF16 ? bf16_of(value) : f16_of(value);
}

static float get(const void *from, size_t i, enum dtype dtype)
{
    if (dtype == DTYPE_F64)
        return (float)((const double *)from)[i];
    if (dtype == DTYPE_F32)
        return ((const float *)from)[i];
    return dtype == DTYPE_BF16 ? of_bf16(((const uint16_t *)from)[i])
                               : of_f16(((const uint16_t *)from)[i]);
}

/* A matrix set on the host and on the device. */
struct matrices {
    void *host, *device;
    size_t elements;
    enum dtype dtype;
};

static struct matrices matrices_new(struct cpu_device_test *test, int rows, int ld, int batch,
                                    int64_t stride, enum dtype dtype, struct random *random)
{
    struct matrices m = { .dtype = dtype };

    m.elements = (size_t)((batch - 1) * stride + (int64_t)rows * ld);
    m.host = malloc(m.elements * dtype_bytes(dtype));
    assert_non_null(m.host);
    for (size_t i = 0; i < m.elements; i++)
        put(m.host, i, dtype, random == NULL ? GUARD : ((float)random_below(random, 17) - 8) / 4);
    m.device = cpu_device_memory(test->device, m.elements * dtype_bytes(dtype));
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, m.device, m.host,
                   m.elements * dtype_bytes(dtype)));
    return m;
}

static void matrices_release(struct cpu_device_test *test, struct matrices *m)
{
    free(m->host);
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, m->device));
}

static double dot(const struct gemm *g, const struct matrices *a, const struct matrices *b,
                  int product, int row, int column)
{
    double sum = 0;

    for (int k = 0; k < g->k; k++) {
        int64_t at_a = product * g->stride_a +
                       (g->transpose_a ? (int64_t)k * g->lda + row : (int64_t)row * g->lda + k);
        int64_t at_b = product * g->stride_b + (g->transpose_b ? (int64_t)column * g->ldb + k
                                                               : (int64_t)k * g->ldb + column);
        sum += (double)get(a->host, (size_t)at_a, a->dtype) *
               (double)get(b->host, (size_t)at_b, b->dtype);
    }
    return sum;
}

/* True when [row, column] of some product of the batch is element i of c. */
static bool find_place(const struct gemm *g, int64_t i, int *product, int *row, int *column)
{
    *product = g->batch > 1 ? (int)(i / g->stride_c) : 0;
    i -= *product * g->stride_c;
    *row = (int)(i / g->ldc);
    *column = (int)(i % g->ldc);
    return *product < g->batch && *row < g->m && *column < g->n;
}

static void compare(const struct product *product, const struct matrices *a,
                    const struct matrices *b, const struct matrices *c, const void *before)
{
    const struct gemm *g = &product->gemm;

    for (size_t i = 0; i < c->elements; i++) {
        int p, row, column;
        double expected = (double)get(before, i, c->dtype), found, step;
        if (find_place(g, (int64_t)i, &p, &row, &column))
            expected = dot(g, a, b, p, row, column) + (g->accumulate ? expected : 0);
        found = (double)get(c->host, i, c->dtype);
        step = c->dtype == DTYPE_F32 || c->dtype == DTYPE_F64 ? 0x1p-22
               : c->dtype == DTYPE_BF16                       ? 0x1p-7
                                                              : 0x1p-10;
        if (!(fabs(found - expected) <= step * fabs(expected)))
            fail_msg("%s, %s to %s: element %zu is %g, expected %g", product->what,
                     dtype_name(g->dtype_ab), dtype_name(g->dtype_c), i, found, expected);
    }
}

static void multiply_and_compare(struct cpu_device_test *test, struct product product)
{
    struct gemm *g = &product.gemm;
    struct random random = random_seed(test_seed(), 1);
    struct matrices a, b, c;
    void *before;

    a = matrices_new(test, g->transpose_a ? g->k : g->m, g->lda, g->batch, g->stride_a, g->dtype_ab,
                     &random);
    b = matrices_new(test, g->transpose_b ? g->n : g->k, g->ldb, g->batch, g->stride_b, g->dtype_ab,
                     &random);
    c = matrices_new(test, g->m, g->ldc, g->batch, g->stride_c, g->dtype_c,
                     g->accumulate ? &random : NULL);
    before = malloc(c.elements * dtype_bytes(c.dtype));
    assert_non_null(before);
    memcpy(before, c.host, c.elements * dtype_bytes(c.dtype));
    g->a = a.device;
    g->b = b.device;
    g->c = c.device;
    OK(device_gemm(test->stream, g));
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, c.host, c.device,
                   c.elements * dtype_bytes(c.dtype)));
    compare(&product, &a, &b, &c, before);
    free(before);
    matrices_release(test, &a);
    matrices_release(test, &b);
    matrices_release(test, &c);
}

/* Every shape in every pair of types, with and without accumulation. */
static void multiply_in_all_types(struct cpu_device_test *test, struct product product)
{
    static const enum dtype types[][2] = {
        { DTYPE_F32, DTYPE_F32 }, { DTYPE_BF16, DTYPE_BF16 }, { DTYPE_BF16, DTYPE_F32 },
        { DTYPE_F16, DTYPE_F16 }, { DTYPE_F16, DTYPE_F32 },   { DTYPE_F64, DTYPE_F64 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            product.gemm.dtype_ab = types[i][0];
            product.gemm.dtype_c = types[i][1];
            product.gemm.accumulate = accumulate;
            multiply_and_compare(test, product);
        }
}

TEST(products_of_all_transposes_and_sizes_are_right)
{
    static const int sizes[][3] = {
        { 1, 1, 1 },   { 1, 64, 33 },   { 17, 64, 64 },   { 5, 7, 3 },
        { 33, 1, 65 }, { 64, 192, 64 }, { 101, 13, 520 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (int transposes = 0; transposes < 4; transposes++) {
            int m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
            bool ta = transposes & 1, tb = transposes & 2;
            multiply_in_all_types(*state, (struct product){ "dense",
                                                            { .m = m,
                                                              .n = n,
                                                              .k = k,
                                                              .batch = 1,
                                                              .lda = ta ? m : k,
                                                              .ldb = tb ? k : n,
                                                              .ldc = n,
                                                              .transpose_a = ta,
                                                              .transpose_b = tb } });
        }
}

TEST(rows_may_be_longer_than_the_matrix)
{
    for (int transposes = 0; transposes < 4; transposes++) {
        bool ta = transposes & 1, tb = transposes & 2;
        multiply_in_all_types(*state, (struct product){ "padded rows",
                                                        { .m = 9,
                                                          .n = 40,
                                                          .k = 20,
                                                          .batch = 1,
                                                          .lda = 45,
                                                          .ldb = 48,
                                                          .ldc = 43,
                                                          .transpose_a = ta,
                                                          .transpose_b = tb } });
    }
}

TEST(batches_with_strides_are_right)
{
    static const struct product products[] = {
        { "dense batch", FIELDS(.m = 8, .n = 8, .k = 32, .batch = 6, .lda = 32, .ldb = 8, .ldc = 8,
                                .stride_a = 256, .stride_b = 256, .stride_c = 64) },
        { "gaps in the batch",
          FIELDS(.m = 5, .n = 12, .k = 16, .batch = 3, .lda = 18, .ldb = 13, .ldc = 14,
                 .stride_a = 100, .stride_b = 300, .stride_c = 99) },
        { "one b for all", FIELDS(.m = 4, .n = 16, .k = 32, .batch = 5, .lda = 32, .ldb = 16,
                                  .ldc = 16, .stride_a = 128, .stride_b = 0, .stride_c = 64) },
        { "one a for all", FIELDS(.m = 4, .n = 16, .k = 8, .batch = 5, .lda = 8, .ldb = 16,
                                  .ldc = 16, .stride_a = 0, .stride_b = 128, .stride_c = 64) },
        { "attention scores", FIELDS(.m = 17, .n = 17, .k = 32, .batch = 16, .lda = 32, .ldb = 32,
                                     .ldc = 32, .stride_a = 17 * 32, .stride_b = 17 * 32,
                                     .stride_c = 17 * 32, .transpose_b = true) },
        { "gradient of scores", FIELDS(.m = 17, .n = 32, .k = 17, .batch = 4, .lda = 32, .ldb = 32,
                                       .ldc = 32, .stride_a = 17 * 32, .stride_b = 17 * 32,
                                       .stride_c = 17 * 32, .transpose_a = true) },
        { "a batch of one ignores strides",
          FIELDS(.m = 3, .n = 5, .k = 7, .batch = 1, .lda = 7, .ldb = 5, .ldc = 5, .stride_a = 1,
                 .stride_b = 2, .stride_c = 0) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(products); i++) multiply_in_all_types(*state, products[i]);
}

/* One primitive is run by several workers at once, each with memory and scratch of its own. */
DEVICE_TEST(streams_share_plans)
{
    enum { STREAMS = 3, SIZE = 64, TIMES = 200 };
    struct stream *streams[STREAMS];
    float *memory = cpu_device_memory(test->device, (2 + STREAMS) * SIZE * SIZE * sizeof *memory);
    float *a = memory, *b = memory + SIZE * SIZE, host[SIZE * SIZE];

    OK(LAUNCH(test->stream, DTYPE_F32, fill, SIZE * SIZE, .y = a, .value = 2));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, SIZE * SIZE, .y = b, .value = 0.5f));
    OK(LAUNCH(test->stream, DTYPE_F32, fill, STREAMS * SIZE * SIZE, .y = b + SIZE * SIZE));
    OK(stream_synchronize(test->stream));
    for (int i = 0; i < STREAMS; i++) OK(stream_create(test->device, &streams[i]));
    for (int j = 0; j < TIMES; j++)
        for (int i = 0; i < STREAMS; i++)
            OK(device_gemm(streams[i], &(struct gemm){ .c = b + (i + 1) * SIZE * SIZE,
                                                       .a = a,
                                                       .b = b,
                                                       .m = SIZE,
                                                       .n = SIZE,
                                                       .k = SIZE,
                                                       .batch = 1,
                                                       .lda = SIZE,
                                                       .ldb = SIZE,
                                                       .ldc = SIZE,
                                                       .accumulate = true }));
    OK(device_synchronize(test->device));
    for (int i = 0; i < STREAMS; i++) {
        OK(device_copy(streams[i], COPY_DEVICE_TO_HOST, host, b + (i + 1) * SIZE * SIZE,
                       sizeof host));
        for (int j = 0; j < SIZE * SIZE; j++) assert_float_equal(host[j], SIZE * TIMES, 0);
        stream_destroy(streams[i]);
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, memory));
}

/* An outer product: its elements are single products, exact in fp32 and then rounded once. The
 * magnitudes go beyond fp16's on both ends, but stay normal in fp32 and bf16. */
DEVICE_TEST(results_are_rounded_to_nearest_even)
{
    enum { SIZE = 96 };
    static const enum dtype types[] = { DTYPE_BF16, DTYPE_F16 };
    struct random random = random_seed(test_seed(), 2);

    for (size_t t = 0; t < ARRAY_SIZE(types); t++) {
        uint16_t a[SIZE], b[SIZE], c[SIZE * SIZE];
        uint16_t *memory = cpu_device_memory(test->device, 2 * SIZE + sizeof c + 2 * SIZE);
        for (int i = 0; i < SIZE; i++) {
            float scale = ldexpf(1, (int)random_below(&random, 24) - 12);
            put(a, (size_t)i, types[t], random_normal(&random) * scale);
            put(b, (size_t)i, types[t], i % 4 == 0 ? 1.5f : random_normal(&random) * scale);
        }
        OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, memory, a, sizeof a));
        OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, memory + SIZE, b, sizeof b));
        OK(device_gemm(test->stream, &(struct gemm){ .c = memory + 2 * SIZE,
                                                     .a = memory,
                                                     .b = memory + SIZE,
                                                     .m = SIZE,
                                                     .n = SIZE,
                                                     .k = 1,
                                                     .batch = 1,
                                                     .lda = 1,
                                                     .ldb = SIZE,
                                                     .ldc = SIZE,
                                                     .dtype_ab = types[t],
                                                     .dtype_c = types[t] }));
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, c, memory + 2 * SIZE, sizeof c));
        for (int i = 0; i < SIZE * SIZE; i++) {
            float exact = get(a, (size_t)i / SIZE, types[t]) * get(b, (size_t)i % SIZE, types[t]);
            uint16_t expected = types[t] == DTYPE_BF16 ? bf16_of(exact) : f16_of(exact);
            if (c[i] != expected)
                fail_msg("%s: %a became %#x, not %#x", dtype_name(types[t]), (double)exact, c[i],
                         expected);
        }
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, memory));
    }
}

/* --- Epilogues --- */

static double gelu_of(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* Two numbers that are to be stored, and how large the terms are of which they consist. */
struct expected {
    double c, aux, scale;
};

static struct expected expected_at(const struct gemm *g, const struct matrices *a,
                                   const struct matrices *b, double bias, double aux, int row,
                                   int column)
{
    const double h = 1e-4;
    struct expected at = { dot(g, a, b, 0, row, column), 0, 0 };

    at.scale = fabs(at.c);
    if (g->epilogue == EPILOGUE_BIAS || g->epilogue == EPILOGUE_GELU_AUX_BIAS) {
        at.scale += fabs(bias);
        at.c = at.aux = at.c + bias;
    }
    if (g->epilogue == EPILOGUE_GELU_AUX_BIAS)
        at.c = gelu_of(at.c);
    if (g->epilogue == EPILOGUE_DGELU)
        at.c *= (gelu_of(aux + h) - gelu_of(aux - h)) / (2 * h);
    return at;
}

/* The product, and then the kernels that compute what its epilogue does. */
static void run_by_kernels(struct cpu_device_test *test, const struct gemm *g)
{
    struct stream *stream = test->stream;
    struct gemm alone = *g;
    long elements = (long)g->m * g->n;
    float *partial = cpu_device_memory(test->device, (size_t)g->n * sizeof *partial);

    alone.epilogue = EPILOGUE_NONE;
    if (g->epilogue == EPILOGUE_GELU_AUX_BIAS)
        alone.c = g->aux;
    OK(device_gemm(stream, &alone));
    if (g->epilogue == EPILOGUE_DGELU) {
        OK(LAUNCH(stream, g->dtype_c, gelu_backward, elements, .dx = g->c, .dy = g->c,
                  .x = g->aux));
    } else if (g->epilogue == EPILOGUE_BGRAD) {
        OK(LAUNCH(stream, g->dtype_c, bias_backward, 1, .dbias = partial, .dy = g->b, .width = g->n,
                  .rows = g->k, .chunk = g->k, .columns = g->n));
        OK(LAUNCH(stream, g->dtype_c, columns_finish, g->n, .y = g->bias, .partial = partial,
                  .width = g->n, .parts = 1));
    } else {
        OK(LAUNCH(stream, g->dtype_c, bias_add, g->m, .y = alone.c, .x = alone.c, .bias = g->bias,
                  .width = g->n));
        if (g->epilogue == EPILOGUE_GELU_AUX_BIAS)
            OK(LAUNCH(stream, g->dtype_c, gelu_forward, elements, .y = g->c, .x = g->aux));
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, partial));
}

static const char *const epilogue_names[EPILOGUE_COUNT] = { "no epilogue", "BIAS", "GELU_AUX_BIAS",
                                                            "DGELU", "BGRAD" };

static void expect_near(const struct gemm *g, const char *what, int row, int column, double found,
                        double expected, double scale)
{
    /* Twice rounded to the type; our GELU is fp32's with a fast exponential. */
    double step = g->dtype_c == DTYPE_F32 ? 4e-6 : g->dtype_c == DTYPE_BF16 ? 0x1p-7 : 0x1p-10;

    if (!(fabs(found - expected) <= step * (scale + fabs(expected)) + 1e-6))
        fail_msg("%s of %d x %d x %d in %s: %s [%d, %d] is %g, expected %g",
                 epilogue_names[g->epilogue], g->m, g->n, g->k, dtype_name(g->dtype_c), what, row,
                 column, found, expected);
}

static void fetch(struct cpu_device_test *test, struct matrices *m)
{
    OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, m->host, m->device,
                   m->elements * dtype_bytes(m->dtype)));
}

static void compare_epilogue(const struct gemm *g, const struct matrices *a,
                             const struct matrices *b, const struct matrices *c,
                             const struct matrices *bias, const struct matrices *aux,
                             const void *bias_before, const void *aux_before)
{
    for (int row = 0; row < g->m; row++)
        for (int column = 0; column < g->ldc; column++) {
            size_t at = (size_t)(row * g->ldc + column);
            struct expected expected = { GUARD, GUARD, 0 };
            if (column < g->n)
                expected =
                    expected_at(g, a, b, (double)get(bias_before, (size_t)column, g->dtype_c),
                                (double)get(aux_before, at, g->dtype_c), row, column);
            expect_near(g, "c", row, column, (double)get(c->host, at, g->dtype_c), expected.c,
                        expected.scale);
            if (g->epilogue == EPILOGUE_GELU_AUX_BIAS)
                expect_near(g, "aux", row, column, (double)get(aux->host, at, g->dtype_c),
                            expected.aux, expected.scale);
        }
    for (int column = 0; g->epilogue == EPILOGUE_BGRAD && column < g->n; column++) {
        double sum = 0;
        for (int k = 0; k < g->k; k++)
            sum += (double)get(b->host, (size_t)(k * g->ldb + column), g->dtype_c);
        expect_near(g, "bias", 0, column, (double)get(bias->host, (size_t)column, g->dtype_c), sum,
                    fabs(sum));
    }
}

/* False where the device has no kernel for it. */
static bool run_and_compare(struct cpu_device_test *test, struct gemm gemm, bool by_kernels)
{
    const bool ta = gemm.transpose_a, tb = gemm.transpose_b;
    const bool reads_aux = gemm.epilogue == EPILOGUE_DGELU;
    struct random random = random_seed(test_seed(), 3);
    enum dtype dtype = gemm.dtype_c;
    struct matrices a, b, c, bias, aux;
    bool runs = true;
    void *bias_before, *aux_before;

    a = matrices_new(test, ta ? gemm.k : gemm.m, gemm.lda, 1, 0, dtype, &random);
    b = matrices_new(test, tb ? gemm.n : gemm.k, gemm.ldb, 1, 0, dtype, &random);
    c = matrices_new(test, gemm.m, gemm.ldc, 1, 0, dtype, NULL);
    bias = matrices_new(test, 1, gemm.n, 1, 0, dtype, &random);
    aux = matrices_new(test, gemm.m, gemm.ldc, 1, 0, dtype, reads_aux ? &random : NULL);
    bias_before = bias.host;
    aux_before = aux.host;
    bias.host = malloc(bias.elements * dtype_bytes(dtype));
    aux.host = malloc(aux.elements * dtype_bytes(dtype));
    assert_true(bias.host != NULL && aux.host != NULL);
    gemm.a = a.device;
    gemm.b = b.device;
    gemm.c = c.device;
    gemm.bias = gemm.epilogue != EPILOGUE_DGELU ? bias.device : NULL;
    gemm.aux = reads_aux || gemm.epilogue == EPILOGUE_GELU_AUX_BIAS ? aux.device : NULL;
    if (by_kernels)
        run_by_kernels(test, &gemm);
    else if (device_gemm(test->stream, &gemm) != STATUS_OK) {
        assert_int_equal(status_last()->status, STATUS_UNSUPPORTED);
        runs = false;
    }
    fetch(test, &c);
    fetch(test, &bias);
    fetch(test, &aux);
    if (runs)
        compare_epilogue(&gemm, &a, &b, &c, &bias, &aux, bias_before, aux_before);
    free(bias_before);
    free(aux_before);
    matrices_release(test, &a);
    matrices_release(test, &b);
    matrices_release(test, &c);
    matrices_release(test, &bias);
    matrices_release(test, &aux);
    return runs;
}

/* By the library, and by the kernels that take its place: both as they should be. A library may
 * lack some; of 16 bits, with sizes that are multiples of 8, it has all. */
DEVICE_TEST(epilogues_and_their_kernels_compute_the_same)
{
    static const int sizes[][3] = { { 1, 32, 1 }, { 5, 64, 7 }, { 33, 96, 65 }, { 104, 32, 136 } };
    const bool has_epilogues = device_properties(test->device)->gemm_epilogues;
    int lacking = 0;

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        for (int way = 0; way < 4 * 3 * EPILOGUE_COUNT; way++) {
            struct gemm gemm = { .m = sizes[i][0],
                                 .n = sizes[i][1],
                                 .k = sizes[i][2],
                                 .batch = 1,
                                 .ldc = sizes[i][1],
                                 .transpose_a = way & 1,
                                 .transpose_b = way & 2,
                                 .epilogue = (enum epilogue)(way / 4 % EPILOGUE_COUNT),
                                 .dtype_ab = (enum dtype)(way / 4 / EPILOGUE_COUNT),
                                 .dtype_c = (enum dtype)(way / 4 / EPILOGUE_COUNT) };
            if (gemm.epilogue == EPILOGUE_NONE ||
                (gemm.epilogue == EPILOGUE_BGRAD && gemm.transpose_b))
                continue;
            gemm.lda = gemm.transpose_a ? gemm.m : gemm.k;
            gemm.ldb = gemm.transpose_b ? gemm.k : gemm.n;
            assert_true(run_and_compare(test, gemm, true));
            for (int padding = 0; has_epilogues && padding <= 8; padding += 8) {
                bool whole = gemm.dtype_c != DTYPE_F32 && gemm.m % 8 == 0 && gemm.k % 8 == 0;
                gemm.ldc = gemm.n + padding;
                if (run_and_compare(test, gemm, false))
                    continue;
                print_message("none with %s, %d x %d x %d in %s%s%s\n",
                              epilogue_names[gemm.epilogue], gemm.m, gemm.n, gemm.k,
                              dtype_name(gemm.dtype_c), gemm.transpose_a ? ", a'" : "",
                              gemm.transpose_b ? ", b'" : "");
                assert_false(whole);
                lacking++;
            }
        }
    if (has_epilogues)
        print_message("%d products have no kernel\n", lacking);
}

DEVICE_TEST(a_device_without_epilogues_says_so)
{
    float *x = cpu_device_memory(test->device, 4096);
    struct gemm gemm = { .c = x,
                         .a = x,
                         .b = x,
                         .m = 4,
                         .n = 4,
                         .k = 4,
                         .batch = 1,
                         .lda = 4,
                         .ldb = 4,
                         .ldc = 4,
                         .epilogue = EPILOGUE_BIAS,
                         .bias = x };

    if (!device_properties(test->device)->gemm_epilogues) {
        assert_int_equal(device_gemm(test->stream, &gemm), STATUS_UNSUPPORTED);
        assert_error_says("epilogue");
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

DEVICE_TEST(impossible_products_are_refused)
{
    float *x = cpu_device_memory(test->device, 4096);
    const struct gemm good = {
        .c = x, .a = x, .b = x, .m = 4, .n = 4, .k = 4, .batch = 1, .lda = 4, .ldb = 4, .ldc = 4
    };
    enum { BAD = 13 };
    struct gemm bad[BAD];
    static const char *const says[BAD] = { "a is NULL",      "at least 1",  "lda is 3",
                                           "ldb is 3",       "ldc is 3",    "strides",
                                           "may have",       "NULL",        "bias is NULL",
                                           "aux is NULL",    "one product", "one product",
                                           "not an epilogue" };

    for (int i = 0; i < BAD; i++) {
        bad[i] = good;
        if (i >= 8)
            bad[i].bias = bad[i].aux = x;
    }
    bad[0].a = NULL;
    bad[1].k = 0;
    bad[2].lda = 3;
    bad[3].ldb = 3;
    bad[4].ldc = 3;
    bad[5].batch = 2;
    bad[6].dtype_c = DTYPE_BF16;
    bad[8].epilogue = EPILOGUE_BGRAD;
    bad[8].bias = NULL;
    bad[9].epilogue = EPILOGUE_DGELU;
    bad[9].aux = NULL;
    bad[10].epilogue = EPILOGUE_BIAS;
    bad[10].accumulate = true;
    bad[11].epilogue = EPILOGUE_BIAS;
    bad[11].dtype_ab = bad[11].dtype_c = DTYPE_F64;
    bad[12].epilogue = EPILOGUE_COUNT;
    for (int i = 0; i < BAD; i++) {
        assert_int_equal(device_gemm(test->stream, i == 7 ? NULL : &bad[i]), STATUS_BAD_USAGE);
        assert_error_says(says[i]);
    }
    OK(device_free(test->device, NULL, ALLOCATE_DIRECT, x));
}

TESTS_WITH(cpu_device_open, cpu_device_close)
