/* Loading cuBLAS: from where, and what is said when it is not there or lacks something. A process
 * loads it once, so each case is one run of this program, told apart by its argument:
 *
 *     test_cublas missing|lacking|linker|home
 *
 * The folders of the stand-ins come in LD_LIBRARY_PATH or CUDA_HOME. Where none is to be found by
 * the linker, it finds an empty file first: a machine with CUDA has a cuBLAS of its own. */
#include "harness/device/cuda/libraries/cublas.h"

#include "harness/device/plugin/library.h"
#include "tests/fixtures/cmocka_prelude.h"

static void assert_says(const char *part)
{
    if (strstr(status_last()->text, part) == NULL)
        fail_msg("the error says \"%s\", nothing of \"%s\"", status_last()->text, part);
}

static void a_missing_library_is_named_with_what_to_do(void **state)
{
    const struct cublas *cublas = NULL;
    const struct cublaslt *lt = NULL;

    for (int i = 0; i < 2; i++) { /* The second try says the same. */
        assert_int_equal(cublas_load(&cublas), STATUS_NO_LIBRARY);
        assert_null(cublas);
        assert_says("libcublas.so." LIBRARY_TEXT(CUBLAS_VER_MAJOR));
        assert_says("file too short");
        assert_says("CUDA_HOME");
        assert_int_equal(cublaslt_load(&lt), STATUS_NO_LIBRARY);
        assert_null(lt);
        assert_says("libcublasLt.so." LIBRARY_TEXT(CUBLAS_VER_MAJOR));
    }
}

static void a_library_that_lacks_a_function_is_refused(void **state)
{
    const struct cublas *cublas = NULL;
    const struct cublaslt *lt = NULL;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(cublas_load(&cublas), STATUS_NO_LIBRARY);
        assert_null(cublas);
        assert_says("cublasGemmEx");
        assert_says("newer");
        assert_int_equal(cublaslt_load(&lt), STATUS_NO_LIBRARY);
        assert_says("cublasLtCreate");
    }
}

static void a_library_that_has_all_is_taken_and_tells_its_version(void **state)
{
    const struct cublas *cublas = NULL, *again = NULL;
    char text[64];

    assert_ok(cublas_load(&cublas));
    assert_ok(cublas_load(&again));
    assert_ptr_equal(cublas, again);
    cublas_version(cublas, text, sizeof text);
    assert_string_equal(text, "cuBLAS 13.7.9");

    assert_ok(cublas_check(cublas, CUBLAS_STATUS_SUCCESS, "cublasGemmEx"));
    assert_int_equal(cublas_check(cublas, CUBLAS_STATUS_NOT_SUPPORTED, "cublasGemmEx"),
                     STATUS_UNSUPPORTED);
    assert_says("cublasGemmEx failed: CUBLAS_STATUS_NOT_SUPPORTED (no such product)");
    assert_int_equal(cublas_check(cublas, CUBLAS_STATUS_ARCH_MISMATCH, "cublasGemmEx"),
                     STATUS_UNSUPPORTED);
    assert_int_equal(cublas_check(cublas, CUBLAS_STATUS_ALLOC_FAILED, "cublasCreate"),
                     STATUS_DEVICE_OUT_OF_MEMORY);
    assert_int_equal(cublas_check(cublas, CUBLAS_STATUS_INTERNAL_ERROR, "cublasCreate"),
                     STATUS_DEVICE_ERROR);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest missing[] = {
        cmocka_unit_test(a_missing_library_is_named_with_what_to_do),
    };
    const struct CMUnitTest lacking[] = {
        cmocka_unit_test(a_library_that_lacks_a_function_is_refused),
    };
    const struct CMUnitTest complete[] = {
        cmocka_unit_test(a_library_that_has_all_is_taken_and_tells_its_version),
    };
    const char *which = count == 2 ? arguments[1] : "";

    if (strcmp(which, "lacking") == 0)
        return cmocka_run_group_tests_name("cuBLAS that lacks a function", lacking, NULL, NULL);
    if (strcmp(which, "linker") == 0)
        return cmocka_run_group_tests_name("cuBLAS that the linker finds", complete, NULL, NULL);
    if (strcmp(which, "missing") == 0)
        return cmocka_run_group_tests_name("no cuBLAS", missing, NULL, NULL);
    if (strcmp(which, "home") == 0)
        return cmocka_run_group_tests_name("cuBLAS in CUDA_HOME", complete, NULL, NULL);
    fprintf(stderr, "usage: test_cublas missing|lacking|linker|home\n");
    return 2;
}
