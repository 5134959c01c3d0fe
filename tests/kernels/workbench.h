/* The workbench of the kernel tests: tensors with fresh random values between guard bands,
 * launches, and comparison with a reference in double precision.
 *
 * A case goes: workbench_case() names it and gives it random numbers of its own; tensors are made;
 * RUN() launches; EXPECT() compares what was written with the reference. At the end of a case, when
 * the next one begins or the test is over, nothing else was written (inputs, guard bands, outputs
 * that no EXPECT() covered), and the case's tensors are freed. Everything starts as NaN: outputs,
 * guard bands, and what a case masks out. */
#pragma once

#include "harness/base/random.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/kernels/runner.h"

/* The type of a tensor's elements. REAL is the storage type under test. */
enum element { REAL, FLOAT, INT32, BYTE, DOUBLE };

enum { TENSORS_MAX = 256, FINGERPRINTS_MAX = 4096 };

/* A tensor in the runner's memory and what the host believes it holds. */
struct tensor {
    void *data;     /* for kernel arguments */
    double *values; /* [count], rounded to what is stored: for references. Owned by the workbench */
    long count;
    enum element element;
    unsigned char *memory, *image; /* guard, elements, guard; the image is the host's */
    size_t bytes;                  /* of the elements */
};

/* `state` of every kernel test points to one. */
struct workbench {
    const struct kernel_runner *runner;
    enum dtype dtype;
    uint64_t seed;
    uint64_t cases; /* so far: number of the case's random numbers */
    struct random random;
    char label[128];
    long launches[KERNEL_COUNT];

    struct tensor tensors[TENSORS_MAX];
    int tensor_count;
    double *scratch[TENSORS_MAX]; /* of workbench_doubles() */
    int scratch_count;

    double worst_share; /* of a limit that an error used up */
    char worst_label[128];

    /* A hash of all tensors after each case; the second time round they must be the same. */
    uint64_t fingerprints[FINGERPRINTS_MAX];
    int fingerprint_count, fingerprint_next;
    bool compare_fingerprints;
};

void workbench_case(struct workbench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A test: its cases, and the end of the last one. */
void workbench_test(struct workbench *bench, void (*cases)(struct workbench *bench));

/* In the middle of a case: nothing changed but what was fetched or expected. */
void workbench_untouched(struct workbench *bench);
void workbench_release(struct workbench *bench);

/* All NaN (for INT32 and BYTE: some odd pattern). */
struct tensor *tensor_output(struct workbench *bench, enum element element, long count);

/* Normal with the given mean and deviation. */
struct tensor *tensor_normal(struct workbench *bench, enum element element, long count, double mean,
                             double deviation);

/* INT32: uniform in 0 .. bound - 1. */
struct tensor *tensor_below(struct workbench *bench, long count, uint32_t bound);

/* `count` elements, bit for bit the host's. */
struct tensor *tensor_copy(struct workbench *bench, enum element element, const void *elements,
                           long count);

/* Rounds tensor->values, which the caller has changed, to what is stored and uploads it. NaN stays
 * NaN. */
void tensor_store(struct workbench *bench, struct tensor *tensor);

/* Downloads what a kernel was expected to change; `to` [tensor->bytes] may be NULL. */
void tensor_fetch(struct workbench *bench, struct tensor *tensor, void *to);

/* [count] zeros, until the case ends. */
double *workbench_doubles(struct workbench *bench, long count);

/* "fp32", for what is printed. */
const char *workbench_dtype(enum dtype dtype);

/* Half of the distance between neighbours at 1: what rounding to store changes at most,
 * relative. */
double workbench_unit(const struct workbench *bench, enum element element);

/* `value` as the element stores it, to nearest, ties to even. */
double workbench_round(const struct workbench *bench, enum element element, double value);

/* Launches kernel `name`: RUN(bench, gelu_forward, count, .y = y->data, .x = x->data) */
#define RUN(bench, name, count, ...)                                                               \
    workbench_run(bench, KERNEL_##name, count, &(const struct name){ __VA_ARGS__ },                \
                  sizeof(struct name), __FILE__, __LINE__)
void workbench_run(struct workbench *bench, enum kernel kernel, long count, const void *arguments,
                   size_t size, const char *file, int line);

/* Compares a REAL or FLOAT tensor with [count] reference values.
 *
 * `limit` is the error of the arithmetic, in fp32, relative to the root mean square of the
 * reference; what the storage type itself rounds away (half a unit in the last place) is allowed
 * for on top of it. Both the norm of the error and every single element must keep within. With
 * limit 0 the tensor must hold the reference exactly as it rounds. Afterwards `values` are what was
 * downloaded. */
#define EXPECT(bench, tensor, reference, limit)                                                    \
    workbench_expect(bench, tensor, reference, NULL, limit, __FILE__, __LINE__)

/* The same where terms cancel: element i's error is relative to sizes[i], the size of its terms. */
#define EXPECT_SIZED(bench, tensor, reference, sizes, limit)                                       \
    workbench_expect(bench, tensor, reference, sizes, limit, __FILE__, __LINE__)
void workbench_expect(struct workbench *bench, struct tensor *tensor, const double *reference,
                      const double *sizes, double limit, const char *file, int line);

/* Both tensors hold the same bits. */
#define EXPECT_SAME_BITS(bench, a, b) workbench_same_bits(bench, a, b, __FILE__, __LINE__)
void workbench_same_bits(struct workbench *bench, struct tensor *a, struct tensor *b,
                         const char *file, int line);

/* Fails unless error <= limit, so that NaN fails; both numbers and `what` are printed. */
#define WITHIN(bench, what, error, limit)                                                          \
    workbench_within(bench, what, error, limit, __FILE__, __LINE__)
void workbench_within(struct workbench *bench, const char *what, double error, double limit,
                      const char *file, int line);
