/* cp.async: a copy from global to shared memory that is done when its group is waited for. The warp
 * keeps the bytes that it read until then; so a kernel that does not wait finds what was there
 * before, or what nobody wrote. */
#include "harness/base/rows.h"
#include "harness/simt/access/access.h"

#include <stdlib.h>
#include <string.h>

struct pending_copy {
    const struct instruction *row; /* that wrote it */
    struct access to;
    uint32_t mask;
    int64_t group; /* by which it was committed */
    unsigned char bytes[SIMT_LANES][16];
};

/* The bytes beyond the size that a lane gives are zeros, and are not read. */
void lanes_copy_read(struct warp *warp, const struct instruction *instruction)
{
    struct access access;
    struct pending_copy *copy;
    uint32_t all = warp->exec, reads = all;
    uint64_t base;

    if (warp->exec == 0)
        return;
    if (rows_grow(&warp->copies, warp->copy_count + 1, &warp->copy_room) != STATUS_OK) {
        warp_find(warp, instruction, SIMT_LIMITS, first_lane(all), "no memory for its copies");
        return;
    }
    copy = &warp->copies[warp->copy_count++];
    *copy = (struct pending_copy){ .mask = all, .group = INT64_MAX };
    for (int l = 0; instruction->s[0] >= 0 && l < SIMT_LANES; l++)
        if (REGISTER(uint32_t, instruction->s[0])[l] == 0)
            reads &= ~(UINT32_C(1) << l);
    if (reads != 0) {
        warp_take(warp, reads);
        access_find(&access, warp, instruction);
        if (!access_at(warp, instruction, &access, false, &base)) {
            copy->mask = 0;
            warp_take(warp, all & warp->live);
            return;
        }
        for (int l = 0; l < SIMT_LANES; l++) {
            unsigned bytes = access.bytes;
            if (instruction->s[0] >= 0 && REGISTER(uint32_t, instruction->s[0])[l] < bytes)
                bytes = REGISTER(uint32_t, instruction->s[0])[l];
            if (warp->lane[l])
                memcpy(copy->bytes[l], (void *)(uintptr_t)(access.address[l] + base), bytes);
        }
        warp_take(warp, all);
    }
}

/* The other half of the instruction: where the bytes will go. */
void lanes_copy_write(struct warp *warp, const struct instruction *instruction)
{
    struct pending_copy *copy;

    if (warp->exec == 0 || warp->copy_count == 0)
        return;
    copy = &warp->copies[warp->copy_count - 1];
    copy->row = instruction;
    access_find(&copy->to, warp, instruction);
}

void lanes_copy_commit(struct warp *warp, const struct instruction *instruction)
{
    (void)instruction;
    for (int64_t i = 0; i < warp->copy_count; i++)
        if (warp->copies[i].group == INT64_MAX)
            warp->copies[i].group = warp->copy_groups;
    warp->copy_groups++;
}

static void finish_copy(struct warp *warp, struct pending_copy *copy, uint32_t lanes)
{
    uint64_t base;

    warp_take(warp, lanes);
    access_shape_of(&copy->to, warp);
    if (access_at(warp, copy->row, &copy->to, true, &base))
        for (int l = 0; l < SIMT_LANES; l++)
            if (warp->lane[l])
                memcpy((void *)(uintptr_t)(copy->to.address[l] + base), copy->bytes[l],
                       copy->to.bytes);
    copy->mask &= ~lanes;
}

/* All groups but the last `offset` are done then; with a width, those that are not committed too.
 */
void lanes_copy_wait(struct warp *warp, const struct instruction *instruction)
{
    int64_t before = instruction->mode ? INT64_MAX : warp->copy_groups - instruction->offset;
    uint32_t all = warp->exec;
    int64_t left = 0;

    for (int64_t i = 0; i < warp->copy_count; i++) {
        struct pending_copy *copy = &warp->copies[i];
        bool done = copy->group < before || instruction->mode;
        if (done && (copy->mask & warp->exec) != 0)
            finish_copy(warp, copy, copy->mask & warp->exec);
        if (warp->exec == 0 && all != 0)
            return;
        warp_take(warp, all);
        if (copy->mask != 0)
            warp->copies[left++] = *copy;
    }
    warp->copy_count = left;
}
