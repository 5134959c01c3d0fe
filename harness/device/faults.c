/* The plan of what fails is made when the device opens. Each call of a kind is counted, from any
 * thread, and compared with the plan. Bits are flipped by copying a byte to the host and back. */
#include "harness/device/faults.h"

#include "harness/base/words/text.h"
#include "harness/device/check.h"
#include "harness/device/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum status status;
} kinds[FAULT_COUNT] = {
#define FAULT_ROW(name, status) { #name, STATUS_##status },
    FAULTS(FAULT_ROW)
#undef FAULT_ROW
};

static const char *const kernels[FLIP_GEMM + 1] = {
#define KERNEL_ROW(name, shape, ...) #name,
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
        "gemm",
};

/* ":17", up to the end or the next colon. False where it is no number of a call. */
static bool parse_call(const char *text, int64_t *call, char **end)
{
    if (text == NULL || text[1] < '0' || text[1] > '9')
        return false;
    errno = 0;
    *call = strtoll(text + 1, end, 10);
    return errno == 0 && *call >= 1;
}

/* "alloc:17" */
static bool parse_fault(struct planned_fault *planned, char *text)
{
    char *colon = strchr(text, ':'), *end;

    if (!parse_call(colon, &planned->call, &end) || *end != '\0')
        return false;
    *colon = '\0';
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strcmp(text, kinds[i].name) == 0) {
            planned->kind = (enum fault)i;
            return true;
        }
    return false;
}

/* "gelu_backward:17", "gelu_backward:17:4096" */
static bool parse_flip(struct planned_flip *planned, char *text)
{
    char *colon = strchr(text, ':'), *end;

    if (!parse_call(colon, &planned->call, &end))
        return false;
    if (*end == ':' && end[1] >= '0' && end[1] <= '9')
        planned->place = strtoull(end + 1, &end, 10);
    if (errno != 0 || *end != '\0')
        return false;
    *colon = '\0';
    for (int i = 0; i <= FLIP_GEMM; i++)
        if (strcmp(text, kernels[i]) == 0) {
            planned->kernel = i;
            return true;
        }
    return false;
}

/* `length` bytes of `text`. */
static bool parse_one(struct faults *faults, const char *text, size_t length)
{
    static const char flip[] = "flip:";
    char one[96];

    if (length >= sizeof one)
        return false;
    memcpy(one, text, length);
    one[length] = '\0';
    if (strncmp(one, flip, sizeof flip - 1) == 0)
        return parse_flip(&faults->flips[faults->flip_count++], one + sizeof flip - 1);
    return parse_fault(&faults->planned[faults->count++], one);
}

enum status faults_parse(struct faults *faults, const char *text)
{
    char list[160] = "";

    memset(faults, 0, sizeof *faults);
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (faults->count == FAULTS_MAX || faults->flip_count == FAULTS_MAX)
            FAIL(STATUS_BAD_USAGE, "CHOKEPOINT_FAIL has more than %d parts", FAULTS_MAX);
        if (!parse_one(faults, text, length)) {
            for (int i = 0; i < FAULT_COUNT; i++)
                text_join(list, sizeof list, ", ", "%s", kinds[i].name);
            FAIL(
                STATUS_BAD_USAGE,
                "CHOKEPOINT_FAIL has \"%.*s\": give KIND:N, where the N-th call of that kind is to "
                "fail (N from 1 on) and KIND is one of %s; or flip:KERNEL:N",
                (int)length, text, list);
        }
        text += length;
        text += *text == ',';
    }

    return STATUS_OK;
}

/* A count that two threads raise at once is still hit once, by the one that makes it the planned
 * number. */
int64_t faults_hit(struct faults *faults, enum fault kind)
{
    int64_t hit = 0;

    for (int i = 0; i < faults->count; i++) {
        struct planned_fault *planned = &faults->planned[i];
        if (planned->kind == kind && atomic_fetch_add(&planned->so_far, 1) + 1 == planned->call)
            hit = planned->call;
    }
    return hit;
}

enum status faults_check(struct faults *faults, enum fault kind)
{
    int64_t hit = faults_hit(faults, kind);

    if (hit != 0)
        FAIL(kinds[kind].status, "call %lld of kind \"%s\" failed: injected by CHOKEPOINT_FAIL",
             (long long)hit, kinds[kind].name);

    return STATUS_OK;
}

bool faults_flip(struct faults *faults, int kernel, uint64_t *place)
{
    bool hit = false;

    for (int i = 0; i < faults->flip_count; i++) {
        struct planned_flip *planned = &faults->flips[i];
        if (planned->kernel != kernel || atomic_fetch_add(&planned->so_far, 1) + 1 != planned->call)
            continue;
        *place = planned->place;
        hit = true;
    }
    return hit;
}

/* --- Flips --- */

/* How large the output is that the first member of a kernel's arguments points to. */
enum extent {
    TENSOR, /* an element of the storage type for each that is computed */
    FLOATS, /* the same in fp32 */
    PER_ROW,
    PART,  /* the first row of partial sums, in fp32 */
    STATE, /* a struct step_state */
    RING,  /* the element of a ring that this step is to write */
    TABLE, /* the parameter of the first chunk */
};

static const enum extent extents[KERNEL_COUNT] = {
    [KERNEL_cast_to_float] = FLOATS,
    [KERNEL_adamw_decay] = FLOATS,
    [KERNEL_adamw_momentum] = FLOATS,
    [KERNEL_adamw_variance] = FLOATS,
    [KERNEL_adamw_root] = FLOATS,
    [KERNEL_adamw_denominator] = FLOATS,
    [KERNEL_cross_entropy_forward] = PER_ROW,
    [KERNEL_checksum] = PER_ROW,
    [KERNEL_square_sum] = PER_ROW,
    [KERNEL_square_sum_multi] = PER_ROW,
    [KERNEL_bias_backward] = PART,
    [KERNEL_layernorm_backward_weight] = PART,
    [KERNEL_step_advance] = STATE,
    [KERNEL_gradient_norm_finish] = STATE,
    [KERNEL_loss_scale_update] = STATE,
    [KERNEL_loss_mean] = RING,
    [KERNEL_adamw_multi] = TABLE,
};

struct output {
    unsigned char *at;
    size_t bytes;
};

/* The first member of every kernel's arguments points to what it writes; how much that is
 * depends on the kernel. */
static enum status find_output(struct output *output, struct stream *stream, enum kernel kernel,
                               enum dtype dtype, long count, const void *arguments)
{
    size_t width = (size_t)check_width(kernel, arguments), all = (size_t)count * width;
    const struct loss_mean *loss = arguments;
    const struct adamw_multi *adamw = arguments;
    struct step_state state;
    struct tensor_chunk chunk;

    memcpy(&output->at, arguments, sizeof output->at);
    switch (extents[kernel]) {
    case TENSOR:
        output->bytes = all * dtype_bytes(dtype);
        break;
    case FLOATS:
        output->bytes = all * sizeof(float);
        break;
    case PER_ROW:
        output->bytes = (size_t)count * sizeof(float);
        break;
    case PART:
        output->bytes = width * sizeof(float);
        break;
    case STATE:
        output->bytes = sizeof(struct step_state);
        break;
    case RING:
        TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &state, loss->state, sizeof state));
        output->at = (void *)(loss->ring + state.step / loss->updates % loss->ring_length);
        output->bytes = sizeof *loss->ring;
        break;
    case TABLE:
        TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &chunk, adamw->table, sizeof chunk));
        output->at = chunk.parameter;
        output->bytes = (size_t)chunk.count * dtype_bytes(dtype);
        break;
    }

    return STATUS_OK;
}

static enum status flip_bit(struct stream *stream, unsigned char *at, int bit)
{
    unsigned char byte;

    TRY(device_copy(stream, COPY_DEVICE_TO_HOST, &byte, at, sizeof byte));
    byte = (unsigned char)(byte ^ 1u << bit);
    return device_copy(stream, COPY_HOST_TO_DEVICE, at, &byte, sizeof byte);
}

/* In a capture nothing is computed yet, so there is no bit to flip. */
static bool is_planned(struct stream *stream, int kernel, uint64_t *place)
{
    struct faults *faults = &stream->device->ledger->faults;

    return faults->flip_count > 0 && !stream->capturing && faults_flip(faults, kernel, place);
}

enum status flip_kernel(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments)
{
    struct output output = { .bytes = 1 };
    uint64_t place = 0;

    if (!is_planned(stream, (int)kernel, &place))
        return STATUS_OK;
    TRY(find_output(&output, stream, kernel, dtype, count, arguments));
    place %= output.bytes * 8;
    return flip_bit(stream, output.at + place / 8, (int)(place % 8));
}

/* Rows of c may be apart, and what is between them is no output. */
enum status flip_gemm(struct stream *stream, const struct gemm *gemm)
{
    size_t element = dtype_bytes(gemm->dtype_c);
    uint64_t place = 0, rows, number;
    int64_t at;

    if (!is_planned(stream, FLIP_GEMM, &place))
        return STATUS_OK;
    rows = (uint64_t)gemm->m * (uint64_t)gemm->batch;
    place %= rows * (uint64_t)gemm->n * element * 8;
    number = place / 8 / element;
    rows = number / (uint64_t)gemm->n;
    at = (int64_t)(rows / (uint64_t)gemm->m) * gemm->stride_c +
         (int64_t)(rows % (uint64_t)gemm->m) * gemm->ldc + (int64_t)(number % (uint64_t)gemm->n);
    return flip_bit(stream, (unsigned char *)gemm->c + (size_t)at * element + place / 8 % element,
                    (int)(place % 8));
}
