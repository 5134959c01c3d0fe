/* Loads, stores and atomic operations: the addresses of all lanes are found first, then the access
 * is checked and counted as a whole by the space that it goes to, and only then bytes move. So a
 * kernel that is wrong changes nothing but what it may. */
#include "harness/simt/access/access.h"

#include "kernels/dialect/half.h"

#include <string.h>

/* A parameter at a fixed place is the same for all lanes. */
void lanes_parameter(struct warp *warp, const struct instruction *instruction)
{
    const unsigned char *from = warp->launch->parameters + instruction->offset;

    for (int e = 0; e < instruction->vector; e++) {
        if (instruction->width == 8) {
            uint64_t x;
            memcpy(&x, from + 8 * e, sizeof x);
            LANES(uint64_t, REGISTER(uint64_t, instruction->d[e]), v = x)
        } else {
            uint32_t x = 0;
            memcpy(&x, from + instruction->width * e, instruction->width);
            if (instruction->is_signed && instruction->width < 4)
                x = instruction->width == 1 ? (uint32_t)(int8_t)x : (uint32_t)(int16_t)x;
            LANES(uint32_t, REGISTER(uint32_t, instruction->d[e]), v = x)
        }
    }
}

/* A generic address says by its window which space it is in; all lanes must be in one. */
static enum simt_space space_of(const struct instruction *instruction, struct access *access)
{
    const uint64_t windows = SIMT_SHARED_WINDOW | SIMT_LOCAL_WINDOW | SIMT_PARAM_WINDOW;
    uint64_t window = access->from & windows;

    if (instruction->space != SPACE_GENERIC)
        return (enum simt_space)instruction->space;
    if (window == 0)
        return SPACE_GLOBAL;
    for (int l = access->first; l < access->end; l++) access->address[l] &= ~window;
    access->from &= ~window;
    access->to &= ~window;
    return window == SIMT_SHARED_WINDOW  ? SPACE_SHARED
           : window == SIMT_LOCAL_WINDOW ? SPACE_LOCAL
                                         : SPACE_PARAM;
}

/* Each lane has its own local memory, and that of calls; its addresses become places in all lanes'.
 */
static bool local_check(struct warp *warp, const struct instruction *instruction,
                        struct access *access, bool call)
{
    const struct simt_kernel *kernel = warp->launch->kernel;
    uint64_t bytes = (uint64_t)(call ? kernel->call_bytes : kernel->local_bytes);

    for (int l = access->first; l < access->end; l++) {
        if (warp->lane[l] &&
            (access->address[l] >= bytes || access->address[l] + access->bytes > bytes)) {
            warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, l,
                      "byte %lld of %s memory, which has %llu", (long long)access->address[l],
                      call ? "a call's" : "local", (unsigned long long)bytes);
            return false;
        }
    }
    if (!call)
        access_count_local(access, warp, instruction);
    for (int l = access->first; l < access->end; l++) access->address[l] += (uint64_t)l * bytes;
    access->shape = ACCESS_SCATTERED;
    return true;
}

/* A parameter that is indexed, as an array in a struct may be. */
static bool parameter_check(struct warp *warp, const struct instruction *instruction,
                            const struct access *access)
{
    if (access->to <= (uint64_t)warp->launch->kernel->parameter_bytes && access->from < access->to)
        return true;
    warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, access->first,
              "byte %lld of the parameters, which have %d", (long long)access->from,
              warp->launch->kernel->parameter_bytes);
    return false;
}

/* Checks an access; *base is what the host adds to its addresses. */
static bool check_access(struct warp *warp, const struct instruction *instruction,
                         struct access *access, bool store, bool atomic, uint64_t *base)
{
    *base = 0;
    switch (space_of(instruction, access)) {
    case SPACE_SHARED:
        *base = (uint64_t)(uintptr_t)warp->group->shared;
        return shared_check(warp, instruction, access, store, atomic);
    case SPACE_LOCAL:
        *base = (uint64_t)(uintptr_t)warp->local;
        return local_check(warp, instruction, access, false);
    case SPACE_CALL:
        *base = (uint64_t)(uintptr_t)warp->calls;
        return local_check(warp, instruction, access, true);
    case SPACE_PARAM:
        *base = (uint64_t)(uintptr_t)warp->launch->parameters;
        return parameter_check(warp, instruction, access);
    case SPACE_CONST:
        return global_check(warp, instruction, access, store, atomic);
    default:
        if (!global_check(warp, instruction, access, store, atomic))
            return false;
        access_count_global(access, warp, instruction);
        return true;
    }
}

bool access_at(struct warp *warp, const struct instruction *instruction, struct access *access,
               bool store, uint64_t *base)
{
    access_shape_of(access, warp);
    return check_access(warp, instruction, access, store, false, base);
}

void lanes_load(struct warp *warp, const struct instruction *instruction)
{
    struct access access;
    uint64_t base;

    if (warp->exec == 0)
        return;
    access_find(&access, warp, instruction);
    if (check_access(warp, instruction, &access, false, false, &base))
        access_load(&access, warp, instruction, base);
}

void lanes_store(struct warp *warp, const struct instruction *instruction)
{
    struct access access;
    uint64_t base;

    if (warp->exec == 0)
        return;
    access_find(&access, warp, instruction);
    if (check_access(warp, instruction, &access, true, false, &base))
        access_store(&access, warp, instruction, base);
}

/* The sum of two doubles that are given by their bits. */
static uint64_t double_sum(uint64_t a, uint64_t b)
{
    double x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += y;
    memcpy(&a, &x, sizeof a);
    return a;
}

/* Comparisons of min and max. */
static uint64_t less(uint64_t a, uint64_t b, int mode, unsigned width)
{
    if (!(mode & ATOMIC_SIGNED))
        return a < b;
    return width == 4 ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b;
}

/* The value in memory after the operation; `swap` is the second operand of a compare and swap. inc
 * and dec wrap at x, not at the end of the type ("atom"). */
static uint64_t combined(uint64_t old, uint64_t x, uint64_t swap, int mode, unsigned width)
{
    if (mode & (ATOMIC_F16 | ATOMIC_BF16))
        return half_sums((uint32_t)old, (uint32_t)x, mode & ATOMIC_BF16);
    if (mode == (ATOMIC_ADD | ATOMIC_FLOAT))
        return width == 4 ? half_bits_of(half_float_of((uint32_t)old) + half_float_of((uint32_t)x))
                          : double_sum(old, x);
    switch (mode & (ATOMIC_FLOAT - 1)) {
    case ATOMIC_ADD:
        return old + x;
    case ATOMIC_MIN:
        return less(x, old, mode, width) ? x : old;
    case ATOMIC_MAX:
        return less(old, x, mode, width) ? x : old;
    case ATOMIC_AND:
        return old & x;
    case ATOMIC_OR:
        return old | x;
    case ATOMIC_XOR:
        return old ^ x;
    case ATOMIC_CAS:
        return old == x ? swap : old;
    case ATOMIC_INC:
        return old >= x ? 0 : old + 1;
    case ATOMIC_DEC:
        return old == 0 || old > x ? x : old - 1;
    default:
        return x;
    }
}

static void atomic_element(struct warp *warp, const struct instruction *instruction, int l, int e,
                           void *at)
{
    unsigned width = instruction->width;
    bool narrow = width <= 4;
    uint64_t old = 0, x, swap = 0;

    memcpy(&old, at, width);
    x = narrow ? REGISTER(uint32_t, instruction->s[e])[l]
               : REGISTER(uint64_t, instruction->s[e])[l];
    if ((instruction->mode & (ATOMIC_FLOAT - 1)) == ATOMIC_CAS) {
        swap = narrow ? REGISTER(uint32_t, instruction->s[1])[l]
                      : REGISTER(uint64_t, instruction->s[1])[l];
        x &= width == 2 ? 0xffff : UINT64_MAX;
    }
    x = combined(old, x, swap, instruction->mode, width);
    memcpy(at, &x, width);
    if (instruction->d[e] >= 0 && narrow)
        REGISTER(uint32_t, instruction->d[e])[l] = (uint32_t)old;
    else if (instruction->d[e] >= 0)
        REGISTER(uint64_t, instruction->d[e])[l] = old;
}

/* Lane after lane, which is one of the orders that PTX allows. */
void lanes_atomic(struct warp *warp, const struct instruction *instruction)
{
    struct access access;
    uint64_t base;
    unsigned width = instruction->width;

    if (warp->exec == 0)
        return;
    access_find(&access, warp, instruction);
    if (!check_access(warp, instruction, &access, false, true, &base))
        return;
    for (int l = access.first; l < access.end; l++)
        for (int e = 0; warp->lane[l] && e < instruction->vector; e++)
            atomic_element(warp, instruction, l, e,
                           (void *)(uintptr_t)(access.address[l] + base + (uint64_t)e * width));
}
