/* Every argument that could make a driver read or write where it must not, or compute nonsense, is
 * refused here, once for all devices.
 *
 * Sizes and widths come from the list of kernels itself, so a new kernel is checked without a line
 * here. */
#include "harness/device/check.h"

#include <string.h>

enum { ARGUMENTS_MAX = 112, NO_WIDTH = -1 };

/* The properties that a launch must match, from the one list of kernels. */
#define WIDTH_OF_ROWS(name)    offsetof(struct name, width)
#define WIDTH_OF_PACKS(name)   NO_WIDTH
#define WIDTH_OF_COLUMNS(name) NO_WIDTH
static const struct {
    const char *name;
    size_t size;
    long width_offset; /* of `int width` in the arguments; NO_WIDTH: the count is of elements */
} kernels[KERNEL_COUNT] = {
#define KERNEL_ROW(name, shape, ...) { #name, sizeof(struct name), WIDTH_OF_##shape(name) },
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

#define KERNEL_FITS(name, shape, ...)                                                              \
    _Static_assert(sizeof(struct name) <= ARGUMENTS_MAX, #name ": its arguments do not fit");
KERNELS(KERNEL_FITS)
#undef KERNEL_FITS

enum status check_given(const void *pointer, const char *call, const char *what)
{
    if (pointer == NULL)
        FAIL(STATUS_BAD_USAGE, "%s: %s is NULL", call, what);

    return STATUS_OK;
}

/* 1 for a kernel whose count is of elements. */
int check_width(enum kernel kernel, const void *arguments)
{
    int width = 1;

    if (kernels[kernel].width_offset != NO_WIDTH)
        memcpy(&width, (const char *)arguments + kernels[kernel].width_offset, sizeof width);
    return width;
}

enum status check_launch(enum kernel kernel, enum dtype dtype, long count, const void *arguments,
                         size_t size)
{
    const char *name;
    int width;

    if ((unsigned)kernel >= KERNEL_COUNT)
        FAIL(STATUS_BAD_USAGE, "launch: %d is not a kernel", (int)kernel);
    name = kernels[kernel].name;
    if ((unsigned)dtype >= DTYPE_COUNT)
        FAIL(STATUS_BAD_USAGE, "launch of %s: %d is not a storage type", name, (int)dtype);
    TRY(check_given(arguments, name, "its argument struct"));
    if (size != kernels[kernel].size)
        FAIL(STATUS_BAD_USAGE, "launch of %s: its argument struct has %zu bytes, but %zu are given",
             name, kernels[kernel].size, size);
    if (count < 1)
        FAIL(STATUS_BAD_USAGE, "launch of %s: a count of %ld; it must be at least 1", name, count);
    if (kernels[kernel].width_offset == NO_WIDTH) {
        if (count % ROW_MULTIPLE != 0)
            FAIL(STATUS_BAD_USAGE, "launch of %s: %ld elements are not a multiple of %d", name,
                 count, ROW_MULTIPLE);
        return STATUS_OK;
    }
    width = check_width(kernel, arguments);
    if (width < 1 || width % ROW_MULTIPLE != 0)
        FAIL(STATUS_BAD_USAGE, "launch of %s: a width of %d is not a positive multiple of %d", name,
             width, ROW_MULTIPLE);

    return STATUS_OK;
}

/* Pieces that are received are the others' business; here the pieces must add up to what is
 * sent. */
static enum status check_pieces(const struct collective *collective, int ranks)
{
    int64_t sent = 0;
    bool valid = collective->rank_pieces > 0;

    TRY(check_given(collective->received, "collective", "room for what is received"));
    TRY(check_given(collective->pieces, "collective", "the pieces of all ranks"));
    for (int i = 0; i < ranks * collective->rank_pieces; i++) {
        const struct collective_piece *piece = &collective->pieces[i];
        valid = valid && piece->sent >= 0 && piece->received >= 0 && piece->sent_first >= 0 &&
                piece->received_first >= 0;
        sent += piece->sent;
    }
    if (!valid || sent != collective->count)
        FAIL(STATUS_BAD_USAGE, "collective: %d pieces for each rank with %lld elements, not %lld",
             collective->rank_pieces, (long long)sent, (long long)collective->count);

    return STATUS_OK;
}

enum status check_collective(const struct collective *collective, int ranks, int rank)
{
    bool parts;

    TRY(check_given(collective, "collective", "the collective"));
    if ((unsigned)collective->kind >= COLLECTIVE_COUNT)
        FAIL(STATUS_BAD_USAGE, "collective: %d is not one", (int)collective->kind);
    if ((unsigned)collective->dtype >= DTYPE_COUNT)
        FAIL(STATUS_BAD_USAGE, "collective: %d is no type of data", (int)collective->dtype);
    TRY(check_given(collective->data, "collective", "the data"));
    if (collective->kind == COLLECTIVE_ALL_TO_ALL)
        return check_pieces(collective, ranks);
    parts =
        collective->kind == COLLECTIVE_REDUCE_SCATTER || collective->kind == COLLECTIVE_ALL_GATHER;
    if (collective->count < 1 || (parts && collective->count % ranks != 0))
        FAIL(STATUS_BAD_USAGE, "collective: %lld elements of %d ranks; give at least 1%s",
             (long long)collective->count, ranks, parts ? ", and as many for each rank" : "");
    if (!collective_has_peer(collective))
        return STATUS_OK;
    /* A message has two ends, and memory for each way. */
    if (collective->peer < 0 || collective->peer >= ranks || collective->peer == rank)
        FAIL(STATUS_BAD_USAGE, "collective: a message between rank %d and rank %d of %d", rank,
             collective->peer, ranks);
    if (collective->kind == COLLECTIVE_SEND_RECV)
        TRY(check_given(collective->received, "collective", "room for what is received"));

    return STATUS_OK;
}

static enum status check_leading(const char *which, int given, int columns)
{
    if (given < columns)
        FAIL(STATUS_BAD_USAGE, "gemm: ld%s is %d, but a row of %s as stored has %d elements", which,
             given, which, columns);

    return STATUS_OK;
}

static enum status check_epilogue(const struct gemm *gemm)
{
    enum epilogue epilogue = gemm->epilogue;

    if ((unsigned)epilogue >= EPILOGUE_COUNT)
        FAIL(STATUS_BAD_USAGE, "gemm: %d is not an epilogue", (int)epilogue);
    if (epilogue == EPILOGUE_NONE)
        return STATUS_OK;
    if (epilogue != EPILOGUE_DGELU)
        TRY(check_given(gemm->bias, "gemm", "the epilogue's bias"));
    if (epilogue == EPILOGUE_GELU_AUX_BIAS || epilogue == EPILOGUE_DGELU)
        TRY(check_given(gemm->aux, "gemm", "the epilogue's aux"));
    if (gemm->batch > 1 || gemm->accumulate || gemm->dtype_c != gemm->dtype_ab ||
        gemm->dtype_c == DTYPE_F64)
        FAIL(STATUS_BAD_USAGE,
             "gemm: an epilogue takes one product, not a batch of %d, in the type of a and b, not "
             "fp64, that is not added to c",
             gemm->batch);

    return STATUS_OK;
}

enum status check_gemm(const struct gemm *gemm)
{
    TRY(check_given(gemm, "gemm", "the product"));
    TRY(check_given(gemm->a, "gemm", "a"));
    TRY(check_given(gemm->b, "gemm", "b"));
    TRY(check_given(gemm->c, "gemm", "c"));
    if (gemm->m < 1 || gemm->n < 1 || gemm->k < 1 || gemm->batch < 1)
        FAIL(STATUS_BAD_USAGE, "gemm: m %d, n %d, k %d and batch %d must all be at least 1",
             gemm->m, gemm->n, gemm->k, gemm->batch);
    TRY(check_leading("a", gemm->lda, gemm->transpose_a ? gemm->m : gemm->k));
    TRY(check_leading("b", gemm->ldb, gemm->transpose_b ? gemm->k : gemm->n));
    TRY(check_leading("c", gemm->ldc, gemm->n));
    if (gemm->batch > 1 && (gemm->stride_a < 0 || gemm->stride_b < 0 || gemm->stride_c < 1))
        FAIL(STATUS_BAD_USAGE,
             "gemm: strides %lld, %lld and %lld; a's and b's must not be negative, and c's at "
             "least 1",
             (long long)gemm->stride_a, (long long)gemm->stride_b, (long long)gemm->stride_c);
    if ((unsigned)gemm->dtype_ab >= DTYPES_ALL || (unsigned)gemm->dtype_c >= DTYPES_ALL ||
        (gemm->dtype_c != gemm->dtype_ab &&
         (gemm->dtype_c != DTYPE_F32 || gemm->dtype_ab == DTYPE_F64)))
        FAIL(STATUS_BAD_USAGE,
             "gemm: c in %s from a and b in %s; c may have their type, or fp32 from 16 bits",
             dtype_name(gemm->dtype_c), dtype_name(gemm->dtype_ab));
    if (gemm->math != MATH_STRICT && gemm->math != MATH_TF32)
        FAIL(STATUS_BAD_USAGE, "gemm: %d is not a math mode", (int)gemm->math);

    return check_epilogue(gemm);
}

enum status check_copy(enum copy_kind kind, const void *to, const void *from, size_t bytes)
{
    if ((unsigned)kind > COPY_DEVICE_TO_DEVICE)
        FAIL(STATUS_BAD_USAGE, "copy: %d is not a kind of copy", (int)kind);
    if (bytes == 0)
        FAIL(STATUS_BAD_USAGE, "copy: 0 bytes asked for");
    TRY(check_given(to, "copy", "the destination"));
    return check_given(from, "copy", "the source");
}
