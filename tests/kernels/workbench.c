#include "tests/kernels/workbench.h"

#include <math.h>

enum { GUARD = 256 }; /* bytes on either side; keeps the elements aligned */

static const uint16_t poison = 0xffe5; /* NaN in bf16 and fp16, and twice in a row NaN in fp32 */

/* A failed call of the runner ends the test with the runner's own words. */
static void must(struct workbench *bench, enum status status, const char *file, int line)
{
    if (status == STATUS_OK)
        return;
    print_error("%s, seed %llu: %s: %s\n", bench->label, (unsigned long long)bench->seed,
                status_text(status), status_last()->text);
    _fail(file, line);
}
#define MUST(bench, call) must(bench, call, __FILE__, __LINE__)

const char *workbench_dtype(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = { "fp32", "bf16", "fp16" };

    return names[dtype];
}

static void complain(const struct workbench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(const struct workbench *bench, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s %s, seed %llu: %s\n", workbench_dtype(bench->dtype), bench->label,
                (unsigned long long)bench->seed, text);
}

static size_t element_bytes(const struct workbench *bench, enum element element)
{
    switch (element) {
    case REAL:
        return bench->dtype == DTYPE_F32 ? 4 : 2;
    case BYTE:
        return 1;
    case DOUBLE:
        return 8;
    default:
        return 4;
    }
}

/* To bf16 from a double in one rounding: by way of fp32 it would be two. */
static uint16_t bf16_from_double(double value)
{
    int exponent;
    uint32_t bits;
    float rounded;

    if (isfinite(value) && value != 0) {
        frexp(value, &exponent);
        double unit = ldexp(1, (exponent > -125 ? exponent : -125) - 8);
        value = rint(value / unit) * unit;
    }
    rounded = (float)value;
    memcpy(&bits, &rounded, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double bf16_to_double(uint16_t stored)
{
    uint32_t bits = (uint32_t)stored << 16;
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The same of fp16: below 2^-14 all numbers are 2^-24 apart, and from 65520 on they are
 * infinite. */
static uint16_t f16_from_double(double value)
{
    int exponent;
    double size = fabs(value), unit;
    uint16_t sign = signbit(value) ? 0x8000 : 0;

    if (size >= 65520 || size == 0)
        return size == 0 ? sign : sign | 0x7c00;
    frexp(size, &exponent);
    exponent = exponent > -13 ? exponent : -13;
    unit = ldexp(1, exponent - 11);
    /* 1024 units are the least of an exponent; 2048 are the next one's, by the carry. */
    return sign | (uint16_t)((exponent + 13) * 1024 + (int)rint(size / unit));
}

static double f16_to_double(uint16_t stored)
{
    int exponent = stored >> 10 & 31, fraction = stored & 1023;
    double size = exponent == 31  ? (fraction != 0 ? (double)NAN : (double)INFINITY)
                  : exponent == 0 ? ldexp(fraction, -24)
                                  : ldexp(1024 + fraction, exponent - 25);

    return stored & 0x8000 ? -size : size;
}

static bool is_half(const struct workbench *bench, enum element element)
{
    return element == REAL && bench->dtype != DTYPE_F32;
}

static void element_put(const struct workbench *bench, enum element element, unsigned char *to,
                        double value)
{
    if (is_half(bench, element)) {
        uint16_t stored = isnan(value)                 ? poison
                          : bench->dtype == DTYPE_BF16 ? bf16_from_double(value)
                                                       : f16_from_double(value);
        memcpy(to, &stored, sizeof stored);
    } else if (element == REAL || element == FLOAT) {
        float stored = (float)value;
        memcpy(to, &stored, sizeof stored);
    } else if (element == DOUBLE) {
        memcpy(to, &value, sizeof value);
    } else if (element == INT32) {
        int32_t stored = (int32_t)value;
        memcpy(to, &stored, sizeof stored);
    } else {
        *to = (unsigned char)value;
    }
}

static double element_get(const struct workbench *bench, enum element element,
                          const unsigned char *from)
{
    if (is_half(bench, element)) {
        uint16_t stored;
        memcpy(&stored, from, sizeof stored);
        return bench->dtype == DTYPE_BF16 ? bf16_to_double(stored) : f16_to_double(stored);
    } else if (element == REAL || element == FLOAT) {
        float stored;
        memcpy(&stored, from, sizeof stored);
        return stored;
    } else if (element == DOUBLE) {
        double stored;
        memcpy(&stored, from, sizeof stored);
        return stored;
    } else if (element == INT32) {
        int32_t stored;
        memcpy(&stored, from, sizeof stored);
        return stored;
    }
    return *from;
}

double workbench_unit(const struct workbench *bench, enum element element)
{
    static const double units[DTYPE_COUNT] = { 0x1p-24, 0x1p-8, 0x1p-11 };

    return units[element == REAL ? bench->dtype : DTYPE_F32];
}

double workbench_round(const struct workbench *bench, enum element element, double value)
{
    unsigned char stored[8];

    element_put(bench, element, stored, value);
    return element_get(bench, element, stored);
}

static void read_values(const struct workbench *bench, struct tensor *tensor)
{
    size_t size = element_bytes(bench, tensor->element);

    for (long i = 0; i < tensor->count; i++)
        tensor->values[i] =
            element_get(bench, tensor->element, tensor->image + GUARD + (size_t)i * size);
}

/* The guard bands, open to the test or closed to the kernels. */
static void forbid_guards(struct workbench *bench, const struct tensor *tensor, bool forbidden)
{
    if (bench->runner->forbid == NULL)
        return;
    bench->runner->forbid(bench->runner->context, tensor->memory, GUARD, forbidden);
    bench->runner->forbid(bench->runner->context, tensor->memory + GUARD + tensor->bytes, GUARD,
                          forbidden);
}

static struct tensor *tensor_new(struct workbench *bench, enum element element, long count)
{
    assert_true(bench->tensor_count < TENSORS_MAX);
    struct tensor *tensor = &bench->tensors[bench->tensor_count++];
    size_t size = (size_t)count * element_bytes(bench, element);
    void *memory;

    *tensor = (struct tensor){ .count = count, .element = element, .bytes = size };
    MUST(bench, bench->runner->alloc(bench->runner->context, size + 2 * GUARD, &memory));
    tensor->memory = memory;
    tensor->data = tensor->memory + GUARD;
    tensor->image = malloc(size + 2 * GUARD);
    tensor->values = malloc((size_t)count * sizeof *tensor->values);
    assert_non_null(tensor->image);
    assert_non_null(tensor->values);
    for (size_t i = 0; i < size + 2 * GUARD; i++)
        tensor->image[i] = (unsigned char)(poison >> i % 2 * 8);
    MUST(bench,
         bench->runner->upload(bench->runner->context, memory, tensor->image, size + 2 * GUARD));
    read_values(bench, tensor);
    return tensor;
}

struct tensor *tensor_output(struct workbench *bench, enum element element, long count)
{
    return tensor_new(bench, element, count);
}

void tensor_store(struct workbench *bench, struct tensor *tensor)
{
    size_t size = element_bytes(bench, tensor->element);

    for (long i = 0; i < tensor->count; i++)
        element_put(bench, tensor->element, tensor->image + GUARD + (size_t)i * size,
                    tensor->values[i]);
    MUST(bench, bench->runner->upload(bench->runner->context, tensor->data, tensor->image + GUARD,
                                      tensor->bytes));
    read_values(bench, tensor);
}

struct tensor *tensor_normal(struct workbench *bench, enum element element, long count, double mean,
                             double deviation)
{
    struct tensor *tensor = tensor_new(bench, element, count);

    for (long i = 0; i < count; i++)
        tensor->values[i] = mean + deviation * (double)random_normal(&bench->random);
    tensor_store(bench, tensor);
    return tensor;
}

struct tensor *tensor_below(struct workbench *bench, long count, uint32_t bound)
{
    struct tensor *tensor = tensor_new(bench, INT32, count);

    for (long i = 0; i < count; i++) tensor->values[i] = random_below(&bench->random, bound);
    tensor_store(bench, tensor);
    return tensor;
}

struct tensor *tensor_copy(struct workbench *bench, enum element element, const void *elements,
                           long count)
{
    struct tensor *tensor = tensor_new(bench, element, count);

    memcpy(tensor->image + GUARD, elements, tensor->bytes);
    MUST(bench,
         bench->runner->upload(bench->runner->context, tensor->data, elements, tensor->bytes));
    read_values(bench, tensor);
    return tensor;
}

void tensor_fetch(struct workbench *bench, struct tensor *tensor, void *to)
{
    MUST(bench, bench->runner->download(bench->runner->context, tensor->image + GUARD, tensor->data,
                                        tensor->bytes));
    read_values(bench, tensor);
    if (to != NULL)
        memcpy(to, tensor->image + GUARD, tensor->bytes);
}

double *workbench_doubles(struct workbench *bench, long count)
{
    assert_true(bench->scratch_count < TENSORS_MAX);
    double *doubles = calloc((size_t)count, sizeof *doubles);

    assert_non_null(doubles);
    bench->scratch[bench->scratch_count++] = doubles;
    return doubles;
}

void workbench_release(struct workbench *bench)
{
    for (int i = 0; i < bench->tensor_count; i++) {
        forbid_guards(bench, &bench->tensors[i], false);
        bench->runner->release(bench->runner->context, bench->tensors[i].memory);
        free(bench->tensors[i].image);
        free(bench->tensors[i].values);
    }
    for (int i = 0; i < bench->scratch_count; i++) free(bench->scratch[i]);
    bench->tensor_count = bench->scratch_count = 0;
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t hash(uint64_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* The first byte that is not as the host believes, from the elements' first; or `size`. */
static long first_change(struct workbench *bench, const struct tensor *tensor, long size)
{
    unsigned char *now = malloc((size_t)size);
    long at = 0;

    assert_non_null(now);
    MUST(bench, bench->runner->download(bench->runner->context, now, tensor->memory, (size_t)size));
    while (at < size && now[at] == tensor->image[at]) at++;
    free(now);
    return at;
}

void workbench_untouched(struct workbench *bench)
{
    bool untouched = true;

    for (int i = 0; i < bench->tensor_count; i++) {
        const struct tensor *tensor = &bench->tensors[i];
        long size = (long)tensor->bytes + 2 * GUARD;
        long at = first_change(bench, tensor, size);

        if (at < size) {
            complain(bench, "tensor %d of %ld elements (in order of making): byte %ld was written",
                     i, tensor->count, at - GUARD);
            untouched = false;
        }
    }
    assert_true(untouched);
}

/* The first time round the case's fingerprint is kept, the second time it must be the same. Device
 * addresses in BYTE tensors differ from run to run and stay out. */
static void check_fingerprint(struct workbench *bench)
{
    uint64_t fingerprint = 0xcbf29ce484222325u;

    for (int i = 0; i < bench->tensor_count; i++)
        if (bench->tensors[i].element != BYTE)
            fingerprint =
                hash(fingerprint, bench->tensors[i].image + GUARD, bench->tensors[i].bytes);
    if (!bench->compare_fingerprints) {
        assert_true(bench->fingerprint_count < FINGERPRINTS_MAX);
        bench->fingerprints[bench->fingerprint_count++] = fingerprint;
        return;
    }
    assert_true(bench->fingerprint_next < bench->fingerprint_count);
    if (bench->fingerprints[bench->fingerprint_next++] != fingerprint) {
        complain(bench, "other bits than in one piece");
        fail();
    }
}

/* Nothing else was written, in one piece or in several. */
static void settle(struct workbench *bench)
{
    if (bench->tensor_count == 0)
        return;
    workbench_untouched(bench);
    check_fingerprint(bench);
}

void workbench_case(struct workbench *bench, const char *format, ...)
{
    va_list arguments;

    settle(bench);
    workbench_release(bench);
    bench->random = random_seed(bench->seed, bench->cases++);
    va_start(arguments, format);
    vsnprintf(bench->label, sizeof bench->label, format, arguments);
    va_end(arguments);
}

void workbench_test(struct workbench *bench, void (*cases)(struct workbench *bench))
{
    workbench_release(bench); /* what a test that failed left behind */
    cases(bench);
    settle(bench);
    workbench_release(bench);
}

void workbench_run(struct workbench *bench, enum kernel kernel, long count, const void *arguments,
                   size_t size, const char *file, int line)
{
    for (int i = 0; i < bench->tensor_count; i++) forbid_guards(bench, &bench->tensors[i], true);
    enum status status =
        bench->runner->launch(bench->runner->context, kernel, bench->dtype, count, arguments, size);
    for (int i = 0; i < bench->tensor_count; i++) forbid_guards(bench, &bench->tensors[i], false);
    must(bench, status, file, line);
    bench->launches[kernel]++;
}

void workbench_within(struct workbench *bench, const char *what, double error, double limit,
                      const char *file, int line)
{
    if (!(error <= limit)) {
        complain(bench, "%s: error %g, limit %g", what, error, limit);
        _fail(file, line);
    }
    if (limit > 0 && error / limit > bench->worst_share) {
        bench->worst_share = error / limit;
        snprintf(bench->worst_label, sizeof bench->worst_label, "%s: %s", bench->label, what);
    }
}

static void expect_exactly(struct workbench *bench, const struct tensor *tensor,
                           const double *reference, const char *file, int line)
{
    for (long i = 0; i < tensor->count; i++) {
        double want = workbench_round(bench, tensor->element, reference[i]);
        if (tensor->values[i] == want || (isnan(want) && isnan(tensor->values[i])))
            continue;
        complain(bench, "element %ld is %.9g, not exactly %.9g", i, tensor->values[i], want);
        _fail(file, line);
    }
}

static double root_mean_square(const double *values, long count)
{
    double squares = 0;

    for (long i = 0; i < count; i++) squares += values[i] * values[i];
    return sqrt(squares / (double)count);
}

void workbench_expect(struct workbench *bench, struct tensor *tensor, const double *reference,
                      const double *sizes, double limit, const char *file, int line)
{
    double unit = workbench_unit(bench, tensor->element);
    double normal = unit == 0x1p-11 ? 0x1p-14 : 0x1p-126;
    double least = unit * normal; /* of subnormal numbers, which gradients are */
    double scale = root_mean_square(reference, tensor->count);
    double allowed_scale = sizes ? root_mean_square(sizes, tensor->count) : scale;
    double error_squares = 0, worst = 0;
    long worst_at = 0;
    char what[128];

    tensor_fetch(bench, tensor, NULL);
    if (limit == 0) {
        expect_exactly(bench, tensor, reference, file, line);
        return;
    }

    for (long i = 0; i < tensor->count; i++) {
        double error = fabs(tensor->values[i] - reference[i]);
        double beyond =
            error - fmax(unit * fabs(reference[i]), least); /* Rounding explains the rest. */
        double size = sizes ? sizes[i] : fabs(reference[i]) + scale;
        double share = beyond <= 0 ? 0 : beyond / (limit * size);
        error_squares += error * error;
        if (!(share <= worst)) {
            worst = share;
            worst_at = i;
        }
        if (isnan(share))
            break;
    }

    snprintf(what, sizeof what, "element %ld is %.9g, should be %.9g; in limits", worst_at,
             tensor->values[worst_at], reference[worst_at]);
    workbench_within(bench, what, worst, 1, file, line);
    workbench_within(bench, "root mean square of the error",
                     sqrt(error_squares / (double)tensor->count),
                     fmax(unit * scale, least) + limit * allowed_scale, file, line);
}

void workbench_same_bits(struct workbench *bench, struct tensor *a, struct tensor *b,
                         const char *file, int line)
{
    tensor_fetch(bench, a, NULL);
    tensor_fetch(bench, b, NULL);
    assert_true(a->bytes == b->bytes);
    if (memcmp(a->image + GUARD, b->image + GUARD, a->bytes) != 0) {
        complain(bench, "the bits differ");
        _fail(file, line);
    }
}
