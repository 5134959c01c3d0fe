/* The parts of the CUDA device that decide without a GPU: what an error means, why there is no GPU
 * to use, how large a grid is, which operands cuBLAS gets. */
#include "harness/base/random.h"
#include "harness/device/cuda/kernels/geometry.h"
#include "harness/device/cuda/libraries/errors.h"
#include "harness/device/cuda/libraries/gemm_swap.h"
#include "harness/device/cuda/libraries/gpu_found.h"
#include "harness/device/plugin/library.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/fields.h"
#include "tests/fixtures/test_seed.h"

#include <cuda_runtime_api.h>

#define RELEASE LIBRARY_TEXT(CHOKEPOINT_CUDA_DRIVER)

static void assert_says(const char *part)
{
    if (strstr(status_last()->text, part) == NULL)
        fail_msg("the error says \"%s\", nothing of \"%s\"", status_last()->text, part);
}

/* --- Errors --- */

TEST(errors_have_the_status_they_deserve)
{
    static const struct {
        cudaError_t error;
        enum status status;
    } cases[] = {
        { cudaErrorMemoryAllocation, STATUS_DEVICE_OUT_OF_MEMORY },
        { cudaErrorNotReady, STATUS_NOT_READY },
        { cudaErrorNoDevice, STATUS_NO_DEVICE },
        { cudaErrorInvalidDevice, STATUS_NO_DEVICE },
        { cudaErrorDevicesUnavailable, STATUS_NO_DEVICE },
        { cudaErrorSystemNotReady, STATUS_NO_DEVICE },
        { cudaErrorInsufficientDriver, STATUS_NO_LIBRARY },
        { cudaErrorSystemDriverMismatch, STATUS_NO_LIBRARY },
        { cudaErrorStubLibrary, STATUS_NO_LIBRARY },
        { cudaErrorNoKernelImageForDevice, STATUS_UNSUPPORTED },
        { cudaErrorNotSupported, STATUS_UNSUPPORTED },
        { cudaErrorStreamCaptureUnsupported, STATUS_CAPTURE },
        { cudaErrorStreamCaptureWrongThread, STATUS_CAPTURE },
        { cudaErrorIllegalAddress, STATUS_DEVICE_ERROR },
        { cudaErrorLaunchFailure, STATUS_DEVICE_ERROR },
        { cudaErrorInvalidValue, STATUS_DEVICE_ERROR }, /* in no table */
        { cudaErrorUnknown, STATUS_DEVICE_ERROR },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(errors_check(cases[i].error, "cudaMalloc(&memory, bytes)", "f.c", 7),
                         cases[i].status);
        assert_int_equal(status_last()->status, cases[i].status);
        assert_int_equal(status_last()->line, 7);
        assert_says("cudaMalloc failed: ");
        assert_says(cudaGetErrorName(cases[i].error));
        assert_says(cudaGetErrorString(cases[i].error));
        assert_says(errors_advice(cases[i].error));
        assert_null(strstr(status_last()->text, "&memory")); /* the call, not the code */
    }
    assert_ok(errors_check(cudaSuccess, "cudaMalloc", "f.c", 1));
}

/* Every error that this toolkit knows fails: none is taken for a success or for an unknown
 * status. */
TEST(every_error_of_the_toolkit_fails_and_fits_in_the_sentence)
{
    int known = 0;

    for (int i = 1; i < 1100; i++) {
        cudaError_t error = (cudaError_t)i;
        if (strncmp(cudaGetErrorName(error), "cudaError", 9) != 0)
            continue;
        known++;
        enum status status = errors_check(error, "cudaStreamSynchronize(x)", "f.c", 1);
        assert_true(status > STATUS_OK && status < STATUS_COUNT);
        assert_true(strlen(status_last()->text) < sizeof status_last()->text - 1);
        assert_true(i < 900 || i > 908 || status == STATUS_CAPTURE);
    }
    assert_true(known > 100);
}

/* Those of which CUDA's header says that the process "must be terminated and relaunched". */
TEST(errors_that_end_the_context_say_so)
{
    static const cudaError_t lost[] = {
        (cudaError_t)226, /* cudaErrorContained, not in all headers */
        cudaErrorIllegalAddress,
        cudaErrorLaunchTimeout,
        cudaErrorAssert,
        cudaErrorHardwareStackError,
        cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress,
        cudaErrorInvalidAddressSpace,
        cudaErrorInvalidPc,
        cudaErrorLaunchFailure,
        (cudaError_t)721, /* cudaErrorTensorMemoryLeak, likewise */
        cudaErrorMpsClientTerminated,
    };
    static const cudaError_t passing[] = { cudaErrorMemoryAllocation, cudaErrorNotReady,
                                           cudaErrorInvalidValue, cudaErrorStreamCaptureUnsupported,
                                           cudaErrorUnknown };

    for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
        assert_true(errors_is_sticky(lost[i]));
        assert_int_equal(errors_check(lost[i], "cudaStreamSynchronize", "f.c", 1),
                         STATUS_DEVICE_ERROR);
        assert_says("start it again");
    }
    for (size_t i = 0; i < ARRAY_SIZE(passing); i++) assert_false(errors_is_sticky(passing[i]));
}

TEST(an_injected_failure_is_called_one)
{
    errors_check(cudaErrorLaunchFailure, "cudaStreamSynchronize", "f.c", 1);
    assert_null(strstr(status_last()->text, "injected"));
    errors_note_injected();
    errors_check(cudaErrorLaunchFailure, "cudaStreamSynchronize", "f.c", 1);
    assert_says("injected by CHOKEPOINT_FAIL");
    errors_check(cudaErrorMemoryAllocation, "cudaMalloc", "f.c", 1);
    assert_null(strstr(status_last()->text, "injected"));
}

/* --- GPUs --- */

/* A machine on which all is well; cases change one thing. */
static struct gpu_found fine(void)
{
    return (struct gpu_found){ .driver_version = 13000,
                               .count_error = cudaSuccess,
                               .count = 2,
                               .name = "NVIDIA H200",
                               .compute_capability = 90 };
}

TEST(what_is_missing_is_said)
{
    static const struct {
        struct gpu_found found;
        int index;
        enum status status;
        const char *says[3];
    } cases[] = {
        { FIELDS(.driver_missing = "libcuda.so.1: cannot open shared object file"), 0,
          STATUS_NO_LIBRARY, FIELDS("no NVIDIA driver", "cannot open shared object", RELEASE) },
        { FIELDS(.driver_version = 11040), 0, STATUS_NO_LIBRARY,
          FIELDS("driver is too old", "11.4", RELEASE) },
        { FIELDS(.driver_version = 11040, .driver_release = "470.82.01"), 0, STATUS_NO_LIBRARY,
          FIELDS("driver 470.82.01 is too old", "11.4", RELEASE) },
#if CHOKEPOINT_CUDA_MAJOR == 13
        { FIELDS(.driver_version = 12040, .driver_release = "550.54.15"), 0, STATUS_NO_LIBRARY,
          FIELDS("driver 550.54.15 is too old", "580 or newer", "a toolkit of CUDA 12") },
#endif
        { FIELDS(.driver_version = 0, .driver_release = "340.108"), 0, STATUS_NO_LIBRARY,
          FIELDS("driver 340.108 is far too old", RELEASE) },
        { FIELDS(.count_error = cudaErrorStubLibrary), 0, STATUS_NO_LIBRARY, FIELDS("stub") },
        { FIELDS(.driver_version = 13000, .count_error = cudaErrorNoDevice), 0, STATUS_NO_DEVICE,
          FIELDS("finds no GPU", "nvidia-smi -L") },
        { FIELDS(.driver_version = 13000, .count_error = cudaErrorNoDevice, .visible = ""), 0,
          STATUS_NO_DEVICE, FIELDS("finds no GPU", "CUDA_VISIBLE_DEVICES=\"\"") },
        { FIELDS(.driver_version = 13010, .count_error = cudaErrorSystemNotReady), 0,
          STATUS_NO_DEVICE, FIELDS("cudaErrorSystemNotReady", "fabricmanager") },
        { FIELDS(.driver_version = 13000, .count_error = cudaErrorSystemDriverMismatch), 0,
          STATUS_NO_LIBRARY, FIELDS("different versions") },
        { FIELDS(.driver_version = 13000, .count = 1), 1, STATUS_NO_DEVICE,
          FIELDS("cuda:1", "only 1 GPU,") },
        { FIELDS(.driver_version = 13000, .count = 2, .visible = "4,5"), 7, STATUS_NO_DEVICE,
          FIELDS("only 2 GPUs", "\"4,5\"") },
        { FIELDS(.driver_version = 13000, .count = 1, .name = "Tesla V100",
                 .compute_capability = 70),
          0, STATUS_UNSUPPORTED, FIELDS("Tesla V100", "7.0", "7.5") },
        { FIELDS(.driver_version = 13000, .count = 1, .name = "NVIDIA T4", .compute_capability = 75,
                 .prohibited = true),
          0, STATUS_NO_DEVICE, FIELDS("NVIDIA T4", "prohibited", "nvidia-smi -c 0") },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(gpu_verdict(&cases[i].found, cases[i].index), cases[i].status);
        assert_int_equal(status_exit_code(cases[i].status), 3);
        for (int j = 0; j < 3 && cases[i].says[j] != NULL; j++) assert_says(cases[i].says[j]);
    }
}

TEST(a_gpu_that_will_do_is_taken)
{
    struct gpu_found found = fine();

    assert_ok(gpu_verdict(&found, 0));
    assert_ok(gpu_verdict(&found, 1));
    found.driver_version = 1000 * CHOKEPOINT_CUDA_MAJOR; /* the oldest driver */
    assert_ok(gpu_verdict(&found, 0));
    found.driver_version = 13030; /* a newer driver, and the oldest GPU */
    found.compute_capability = 75;
    assert_ok(gpu_verdict(&found, 1));
    found.visible = "0,1";
    assert_ok(gpu_verdict(&found, 0));
}

/* --- Grids --- */

TEST(grids_have_a_thread_for_every_pack_and_a_warp_for_every_row)
{
    static const struct {
        enum geometry_shape shape;
        size_t element_bytes;
        int64_t count, blocks;
    } cases[] = {
        { GEOMETRY_PACKS, 4, 32, 1 },         { GEOMETRY_PACKS, 4, 1024, 1 },
        { GEOMETRY_PACKS, 4, 1056, 2 },       { GEOMETRY_PACKS, 2, 1056, 1 },
        { GEOMETRY_PACKS, 2, 2048, 1 },       { GEOMETRY_PACKS, 2, 2080, 2 },
        { GEOMETRY_ROWS, 4, 1, 1 },           { GEOMETRY_ROWS, 4, 8, 1 },
        { GEOMETRY_ROWS, 4, 9, 2 },           { GEOMETRY_ROWS, 2, 9, 2 },
        { GEOMETRY_ROWS, 4, 64 * 197, 1576 }, { GEOMETRY_PACKS, 4, INT64_C(1) << 40, 1 << 30 },
        { GEOMETRY_COLUMNS, 4, 32, 1 },       { GEOMETRY_COLUMNS, 4, 768, 24 },
        { GEOMETRY_COLUMNS, 2, 768, 12 },     { GEOMETRY_COLUMNS, 2, 800, 13 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(geometry_blocks(cases[i].shape, cases[i].element_bytes, cases[i].count),
                         cases[i].blocks);
}

/* Walks the grid as the kernels do: every element or row has its thread, and the last block has
 * work. */
TEST(no_element_is_without_a_thread_and_no_block_without_work)
{
    struct random random = random_seed(test_seed(), 1);

    for (int turn = 0; turn < 1000; turn++) {
        size_t bytes = turn % 2 ? 2 : 4;
        int64_t rows = 1 + random_below(&random, 5000), elements = 32 * rows;
        int64_t pack = 16 / (int64_t)bytes;
        int64_t row_blocks = geometry_blocks(GEOMETRY_ROWS, bytes, rows);
        int64_t pack_blocks = geometry_blocks(GEOMETRY_PACKS, bytes, elements);
        assert_true(row_blocks * GEOMETRY_BLOCK / 32 >= rows);
        assert_true((row_blocks - 1) * GEOMETRY_BLOCK / 32 < rows);
        assert_true(pack_blocks * GEOMETRY_BLOCK * pack >= elements);
        assert_true((pack_blocks - 1) * GEOMETRY_BLOCK * pack < elements);
    }
}

TEST(what_does_not_fit_in_a_grid_can_be_told)
{
    int64_t most_rows = (int64_t)GEOMETRY_BLOCKS_MAX * 8;

    assert_int_equal(geometry_blocks(GEOMETRY_ROWS, 4, most_rows), GEOMETRY_BLOCKS_MAX);
    assert_true(geometry_blocks(GEOMETRY_ROWS, 4, most_rows + 1) > GEOMETRY_BLOCKS_MAX);
    assert_true(geometry_blocks(GEOMETRY_PACKS, 2, INT64_MAX / 2) > GEOMETRY_BLOCKS_MAX);
}

/* --- Products --- */

/* Does what cuBLAS does with its arguments, by its reference: column-major throughout. */
static void multiply_columns(const struct column_product *p, float beta)
{
    for (int64_t batch = 0; batch < p->batch; batch++)
        for (int64_t column = 0; column < p->n; column++)
            for (int64_t row = 0; row < p->m; row++) {
                const float *first = (const float *)p->first + batch * p->stride_first;
                const float *second = (const float *)p->second + batch * p->stride_second;
                float *c = (float *)p->c + batch * p->stride_c + row + column * p->ld_c, sum = 0;
                for (int64_t k = 0; k < p->k; k++)
                    sum +=
                        first[p->transpose_first ? k + row * p->ld_first : row + k * p->ld_first] *
                        second[p->transpose_second ? column + k * p->ld_second
                                                   : k + column * p->ld_second];
                *c = sum + beta * *c;
            }
}

/* Does what device.h promises: row-major throughout. */
static void multiply_rows(const struct gemm *g, float *c)
{
    for (int64_t batch = 0; batch < g->batch; batch++)
        for (int64_t row = 0; row < g->m; row++)
            for (int64_t column = 0; column < g->n; column++) {
                const float *a = (const float *)g->a + batch * g->stride_a;
                const float *b = (const float *)g->b + batch * g->stride_b;
                float *to = c + batch * g->stride_c + row * g->ldc + column, sum = 0;
                for (int64_t k = 0; k < g->k; k++)
                    sum += a[g->transpose_a ? k * g->lda + row : row * g->lda + k] *
                           b[g->transpose_b ? column * g->ldb + k : k * g->ldb + column];
                *to = sum + (g->accumulate ? *to : 0);
            }
}

static int up_to(struct random *random, int most)
{
    return 1 + (int)random_below(random, (uint32_t)most);
}

/* A product of random shape, strides and padding; the strides of a and b may be 0. */
static struct gemm random_product(struct random *random)
{
    struct gemm g = { .m = up_to(random, 9),
                      .n = up_to(random, 9),
                      .k = up_to(random, 9),
                      .batch = up_to(random, 3),
                      .transpose_a = random_below(random, 2),
                      .transpose_b = random_below(random, 2),
                      .accumulate = random_below(random, 2) };

    g.lda = (g.transpose_a ? g.m : g.k) + (int)random_below(random, 4);
    g.ldb = (g.transpose_b ? g.k : g.n) + (int)random_below(random, 4);
    g.ldc = g.n + (int)random_below(random, 4);
    if (random_below(random, 4) > 0)
        g.stride_a = (g.transpose_a ? g.k : g.m) * g.lda + (int)random_below(random, 5);
    if (random_below(random, 4) > 0)
        g.stride_b = (g.transpose_b ? g.n : g.k) * g.ldb + (int)random_below(random, 5);
    g.stride_c = g.m * g.ldc + (int)random_below(random, 5);
    return g;
}

/* Small integers: sums are exact, so the two results are equal to the bit, padding included. */
TEST(swapped_operands_give_the_row_major_product)
{
    enum { ELEMENTS = 1024 }; /* at least 3 matrices of 9 x 12, and their padding */
    static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS], expected[ELEMENTS];
    struct random random = random_seed(test_seed(), 2);

    for (int turn = 0; turn < 4000; turn++) {
        struct gemm gemm = random_product(&random);
        struct column_product swapped;
        for (int i = 0; i < ELEMENTS; i++) {
            a[i] = (float)random_below(&random, 9) - 4;
            b[i] = (float)random_below(&random, 9) - 4;
            c[i] = expected[i] = (float)random_below(&random, 9) - 4;
        }
        gemm.a = a;
        gemm.b = b;
        gemm.c = c;
        multiply_rows(&gemm, expected);
        swapped = gemm_swap(&gemm);
        /* cuBLAS wants leading dimensions of at least the stored matrix's rows. */
        assert_true(swapped.ld_first >= (swapped.transpose_first ? swapped.k : swapped.m));
        assert_true(swapped.ld_second >= (swapped.transpose_second ? swapped.n : swapped.k));
        assert_true(swapped.ld_c >= swapped.m);
        multiply_columns(&swapped, gemm.accumulate ? 1 : 0);
        for (int i = 0; i < ELEMENTS; i++)
            if (c[i] != expected[i])
                fail_msg("%d x %d x %d, batch %d: element %d is %g, not %g", gemm.m, gemm.n, gemm.k,
                         gemm.batch, i, (double)c[i], (double)expected[i]);
    }
}
