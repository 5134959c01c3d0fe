/* Loading NCCL: what is said when it is not there or lacks something, and of its errors; and
 * whether our own declarations are those of nccl.h. A process loads it once, so each case is a run
 * of this program:
 *
 *     test_nccl missing|lacking|complete|real
 *
 * The folders of the stand-ins come in LD_LIBRARY_PATH; `real` takes what the machine has. */
#include "harness/device/cuda/libraries/nccl.h"
#include "tests/fixtures/lab/cpu_device.h"

#ifdef HAVE_NCCL_HEADER
#include <nccl.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(sizeof(struct nccl_id), sizeof(ncclUniqueId));
SAME(NCCL_SUCCESS, ncclSuccess);
SAME(NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError);
SAME(NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(NCCL_IN_PROGRESS, ncclInProgress);
SAME(NCCL_FLOAT32, ncclFloat32);
SAME(NCCL_BFLOAT16, ncclBfloat16);
SAME(NCCL_FLOAT16, ncclFloat16);
SAME(NCCL_SUM, ncclSum);

#define TAKES(function, ...)                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(function), ncclResult_t(__VA_ARGS__)),  \
                   #function)
TAKES(ncclGetVersion, int *);
TAKES(ncclGetUniqueId, ncclUniqueId *);
TAKES(ncclCommInitRank, ncclComm_t *, int, ncclUniqueId, int);
TAKES(ncclCommGetAsyncError, ncclComm_t, ncclResult_t *);
TAKES(ncclCommDestroy, ncclComm_t);
TAKES(ncclCommAbort, ncclComm_t);
TAKES(ncclAllReduce, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
      cudaStream_t);
TAKES(ncclReduceScatter, const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
      cudaStream_t);
TAKES(ncclAllGather, const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
TAKES(ncclBroadcast, const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TAKES(ncclSend, const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TAKES(ncclRecv, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
TAKES(ncclGroupStart, void);
TAKES(ncclGroupEnd, void);
#endif

static void a_missing_library_is_named_with_what_to_do(void **state)
{
    const struct nccl *nccl = NULL;

    for (int i = 0; i < 2; i++) { /* The second try says the same. */
        assert_int_equal(nccl_load(&nccl), STATUS_NO_LIBRARY);
        assert_null(nccl);
        assert_error_says("libnccl.so.2");
        assert_error_says("install it (libnccl2");
        assert_error_says("LD_LIBRARY_PATH");
    }
}

static void a_library_that_lacks_a_function_is_refused(void **state)
{
    const struct nccl *nccl = NULL;

    assert_int_equal(nccl_load(&nccl), STATUS_NO_LIBRARY);
    assert_null(nccl);
    assert_error_says("ncclBroadcast; install NCCL 2.13 or newer");
}

static void errors_have_a_status_and_what_nccl_says(void **state)
{
    static const struct {
        enum nccl_result result;
        enum status status;
    } cases[] = {
        { NCCL_SUCCESS, STATUS_OK },
        { NCCL_UNHANDLED_CUDA_ERROR, STATUS_DEVICE_ERROR },
        { NCCL_SYSTEM_ERROR, STATUS_DEVICE_ERROR },
        { NCCL_INTERNAL_ERROR, STATUS_DEVICE_ERROR },
        { NCCL_INVALID_ARGUMENT, STATUS_INTERNAL },
        { NCCL_INVALID_USAGE, STATUS_BAD_USAGE },
        { NCCL_REMOTE_ERROR, STATUS_DEVICE_ERROR },
    };
    const struct nccl *nccl = NULL, *again = NULL;

    OK(nccl_load(&nccl));
    OK(nccl_load(&again));
    assert_ptr_equal(nccl, again);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(nccl_check(nccl, cases[i].result, "ncclAllReduce(x, y)"), cases[i].status);
    assert_string_equal(status_last()->text, "ncclAllReduce failed: an error of the stand-in: it "
                                             "was told to fail (NCCL 2.28.9)");
}

static void the_real_one_has_all_that_is_used(void **state)
{
    const struct nccl *nccl = NULL;

    if (nccl_load(&nccl) != STATUS_OK) {
        printf("skipped: %s\n", status_last()->text);
        skip();
    }
    assert_int_equal(nccl_check(nccl, NCCL_INVALID_USAGE, "ncclCommInitRank"), STATUS_BAD_USAGE);
    assert_error_says("ncclCommInitRank failed: invalid usage");
    assert_error_says("NCCL 2.");
    print_message("%s\n", status_last()->text);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        struct CMUnitTest test;
    } cases[] = {
        { "missing", cmocka_unit_test(a_missing_library_is_named_with_what_to_do) },
        { "lacking", cmocka_unit_test(a_library_that_lacks_a_function_is_refused) },
        { "complete", cmocka_unit_test(errors_have_a_status_and_what_nccl_says) },
        { "real", cmocka_unit_test(the_real_one_has_all_that_is_used) },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (count == 2 && strcmp(arguments[1], cases[i].name) == 0) {
            const struct CMUnitTest tests[] = { cases[i].test };
            return cmocka_run_group_tests_name(cases[i].name, tests, NULL, NULL);
        }
    fprintf(stderr, "usage: test_nccl missing|lacking|complete|real\n");
    return 2;
}
