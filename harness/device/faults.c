#include "harness/device/faults.h"

#include "harness/base/words/text.h"

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

static void list_kinds(char *list, size_t size)
{
    list[0] = '\0';
    for (int i = 0; i < FAULT_COUNT; i++) text_join(list, size, ", ", "%s", kinds[i].name);
}

enum status faults_parse(struct faults *faults, const char *text)
{
    char list[160];

    memset(faults, 0, sizeof *faults);
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (faults->count == FAULTS_MAX || faults->flip_count == FAULTS_MAX)
            FAIL(STATUS_BAD_USAGE, "CHOKEPOINT_FAIL has more than %d parts", FAULTS_MAX);
        if (!parse_one(faults, text, length)) {
            list_kinds(list, sizeof list);
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
    enum status status = STATUS_OK;
    int64_t hit = faults_hit(faults, kind);

    if (hit != 0)
        FAIL_OUT(kinds[kind].status, "call %lld of kind \"%s\" failed: injected by CHOKEPOINT_FAIL",
                 (long long)hit, kinds[kind].name);

out:
    return status;
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
