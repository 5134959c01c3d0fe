#include "harness/device/faults.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
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

/* "alloc:17", `length` bytes of it. */
static bool parse_one(struct planned_fault *planned, const char *text, size_t length)
{
    char one[64], *colon, *end;

    if (length >= sizeof one)
        return false;
    memcpy(one, text, length);
    one[length] = '\0';
    colon = strchr(one, ':');
    if (colon == NULL || colon[1] < '0' || colon[1] > '9')
        return false;
    *colon = '\0';
    errno = 0;
    planned->call = strtoll(colon + 1, &end, 10);
    if (errno != 0 || *end != '\0' || planned->call < 1)
        return false;
    for (int i = 0; i < FAULT_COUNT; i++)
        if (strcmp(one, kinds[i].name) == 0) {
            planned->kind = (enum fault)i;
            return true;
        }
    return false;
}

static void list_kinds(char *list, size_t size)
{
    size_t length = 0;

    for (int i = 0; i < FAULT_COUNT && length < size; i++)
        length += (size_t)snprintf(list + length, size - length, "%s%s", i > 0 ? ", " : "",
                                   kinds[i].name);
}

enum status faults_parse(struct faults *faults, const char *text)
{
    enum status status = STATUS_OK;
    char list[160];

    memset(faults, 0, sizeof *faults);
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (faults->count == FAULTS_MAX)
            FAIL(STATUS_BAD_USAGE, "CHOKEPOINT_FAIL has more than %d parts", FAULTS_MAX);
        if (!parse_one(&faults->planned[faults->count], text, length)) {
            list_kinds(list, sizeof list);
            FAIL(
                STATUS_BAD_USAGE,
                "CHOKEPOINT_FAIL has \"%.*s\": give KIND:N, where the N-th call of that kind is to "
                "fail (N from 1 on) and KIND is one of %s",
                (int)length, text, list);
        }
        faults->count++;
        text += length;
        text += *text == ',';
    }

out:
    return status;
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
        FAIL(kinds[kind].status, "call %lld of kind \"%s\" failed: injected by CHOKEPOINT_FAIL",
             (long long)hit, kinds[kind].name);

out:
    return status;
}
