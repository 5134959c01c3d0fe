/* A warp as it goes: a stack of masks, of which the uppermost runs until it comes to where it meets
 * the one below. Where lanes meet was found before (flow.c): at the immediate post-dominator of the
 * branch that parted them, as GPUs before Volta had it. Later GPUs may run parted lanes in turns;
 * the counts of a kernel are those of lanes that meet as early as they can. */
#include "harness/simt/simt_machine.h"

/* Lanes as words of all ones or none too, which LANES() chooses by without a branch. */
void warp_take(struct warp *warp, uint32_t mask)
{
    if (mask == warp->exec)
        return;
    warp->exec = mask;
    warp->full = mask == UINT32_MAX;
    for (int l = 0; l < SIMT_LANES; l++) warp->lane[l] = 0u - (mask >> l & 1);
}

void warp_push(struct warp *warp, int32_t pc, int32_t meet, uint32_t mask)
{
    warp->stack[warp->depth++] = (struct lane_entry){ pc, meet, mask };
}

static uint32_t lanes_with(const struct warp *warp, const struct instruction *row)
{
    const uint32_t *predicate = REGISTER(uint32_t, row->predicate);
    uint32_t bits = 0;

    for (int l = 0; l < SIMT_LANES; l++) bits |= (predicate[l] & 1) << l;
    return (row->negated ? ~bits : bits) & warp->exec;
}

/* One count for a whole straight run. The budget of instructions is taken at once for the run, and
 * stops at 0, which warp_run() looks for. */
static void count_step(struct warp *warp, int32_t pc)
{
    const struct instruction *row = &warp->launch->kernel->code[pc];
    struct step_counts *counts = &warp->launch->kernel->steps[pc];
    uint64_t length = row->straight > 0 ? (uint64_t)row->straight : 1, *left = &warp->launch->left;

    counts->times++;
    counts->lanes += (uint64_t)__builtin_popcount(warp->exec);
    counts->alone += warp->exec != 0 && (warp->exec & (warp->exec - 1)) == 0;
    *left -= length < *left ? length : *left;
}

/* Plain instructions, in a row or one with a predicate. Returns the next one. */
static int32_t run_plain(struct warp *warp, int32_t pc)
{
    const struct instruction *row = &warp->launch->kernel->code[pc];

    if (row->straight > 0) {
        count_step(warp, pc);
        for (const struct instruction *end = row + row->straight; row < end; row++)
            row->run(warp, row);
        return (int32_t)(row - warp->launch->kernel->code);
    }
    uint32_t before = warp->exec, mask = lanes_with(warp, row);
    warp_take(warp, mask);
    count_step(warp, pc);
    if (mask != 0)
        row->run(warp, row);
    warp_take(warp, before & warp->live);
    return pc + 1;
}

/* Lanes go two ways: they become two entries, above the one in which they are together again. If
 * that is where the entry itself ends, the entry below serves, so a loop that loses lanes in every
 * iteration does not deepen the stack. A way that begins where lanes meet has nothing to run. */
static void split(struct warp *warp, const struct instruction *row, int32_t pc, int32_t meet,
                  uint32_t jumping)
{
    uint32_t mask = warp->exec;

    warp->launch->kernel->steps[pc].diverged++;
    if (row->meet == meet)
        warp->depth--;
    else
        warp->stack[warp->depth - 1] = (struct lane_entry){ row->meet, meet, mask };
    if (pc + 1 != row->meet)
        warp_push(warp, pc + 1, row->meet, mask & ~jumping);
    if (row->target != row->meet)
        warp_push(warp, row->target, row->meet, jumping);
}

static void check_barrier(struct warp *warp, const struct instruction *row, uint32_t here)
{
    if (here != warp->live)
        warp_find(warp, row, SIMT_BARRIER, first_lane(warp->live & ~here),
                  "lanes 0x%08x of its warp are elsewhere", warp->live & ~here);
}

/* Executes an instruction that is not plain; *pc is the next one. Returns whether the same entry of
 * the stack goes on. */
static bool run_control(struct warp *warp, int32_t *pc, int32_t meet)
{
    const struct instruction *row = &warp->launch->kernel->code[*pc];
    uint32_t mask = warp->exec, here = row->predicate >= 0 ? lanes_with(warp, row) : mask;

    count_step(warp, *pc);
    if (row->kind == BRANCH) {
        if (here != 0 && here != mask) {
            split(warp, row, *pc, meet, here);
            return false;
        }
        *pc = here != 0 ? row->target : *pc + 1;
        return true;
    }
    ++*pc;
    if (row->kind == BARRIER && here != 0) {
        check_barrier(warp, row, here);
        warp->group->opener = *pc - 1;
        /* The warp goes on behind the barrier, once run_group() has had all others come to it. */
        warp->stack[warp->depth - 1].pc = *pc;
        warp->waits = warp->live != 0;
        return false;
    }
    if (row->kind == TRAP && here != 0)
        warp_find(warp, row, SIMT_TRAP, first_lane(here), "the kernel gives up");
    warp->live &= row->kind == END ? ~here : UINT32_MAX;
    warp_take(warp, mask & warp->live);
    return warp->exec != 0;
}

static void give_up(struct warp *warp, int32_t pc)
{
    warp_find(warp, &warp->launch->kernel->code[pc], SIMT_ENDLESS, first_lane(warp->exec),
              "after %llu instructions of warps",
              (unsigned long long)warp->launch->grid->most_instructions);
    warp->live = 0;
    warp_take(warp, 0);
}

void warp_run(struct warp *warp)
{
    while (warp->depth > 0 && !warp->waits) {
        struct lane_entry *top = &warp->stack[warp->depth - 1];
        int32_t pc = top->pc, meet = top->meet;
        int depth = warp->depth;
        bool goes_on = true;

        warp_take(warp, top->mask & warp->live);
        if (warp->exec == 0) {
            warp->depth--;
            continue;
        }
        while (goes_on && pc != meet && warp->exec != 0) {
            if (warp->launch->left == 0)
                give_up(warp, pc);
            else if (warp->launch->kernel->code[pc].kind == PLAIN)
                pc = run_plain(warp, pc);
            else
                goes_on = run_control(warp, &pc, meet);
        }
        if (warp->waits)
            return;
        if (goes_on || warp->exec == 0) /* it came to its end, and nothing was put above it */
            warp->depth = depth - 1;
    }
}
