/* Gives registers their places. nvcc writes each value into a register of its own, thousands of
 * them; where one is in use is a stretch of the code, and stretches that do not overlap share a
 * place, so that the file fits into the first-level cache. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/simt/code/code.h"

#include <stdlib.h>
#include <string.h>

/* From the first to the last instruction at which a register holds something that is still read. */
struct stretch {
    int32_t number, first, last;
};

struct liveness {
    struct simt_kernel *kernel;
    size_t words;
    uint64_t *live; /* [instructions][words]: before it */
    struct stretch *stretches;
};

static void include(struct stretch *stretch, int32_t at)
{
    if (stretch->first < 0 || at < stretch->first)
        stretch->first = at;
    if (at > stretch->last)
        stretch->last = at;
}

/* Puts a register into a set, or takes it out; -1 is no register. */
static void put(uint64_t *set, int32_t number, bool in)
{
    uint64_t bit;

    if (number < 0)
        return;
    bit = UINT64_C(1) << number % 64;
    set[number / 64] = in ? set[number / 64] | bit : set[number / 64] & ~bit;
}

/* Registers live before an instruction: those live after it, less those it writes in all lanes, and
 * those it reads. */
static bool refine(struct liveness *liveness, int64_t i, uint64_t *set)
{
    const struct simt_kernel *kernel = liveness->kernel;
    const struct instruction *row = &kernel->code[i];
    uint64_t *own = liveness->live + (size_t)i * liveness->words;
    bool ends =
        (row->kind == END || row->kind == TRAP || row->kind == BRANCH) && row->predicate < 0;
    size_t bytes = liveness->words * sizeof *set;

    memset(set, 0, bytes);
    if (!ends)
        memcpy(set, own + liveness->words, bytes);
    if (row->target >= 0)
        for (size_t w = 0; w < liveness->words; w++)
            set[w] |= liveness->live[(size_t)row->target * liveness->words + w];
    for (int d = 0; row->predicate < 0 && d < SIMT_DESTINATIONS; d++) put(set, row->d[d], false);
    for (int s = 0; s < SIMT_SOURCES; s++) put(set, row->s[s], true);
    put(set, row->predicate, true);
    if (memcmp(set, own, bytes) == 0)
        return false;
    memcpy(own, set, bytes);
    return true;
}

/* Until nothing changes: a loop makes what its begin reads live at its end. From the last
 * instruction to the first, since what is live before one follows from what is live after it. */
static enum status find_live(struct liveness *liveness)
{
    enum status status = STATUS_OK;
    uint64_t *set = NULL;
    int64_t steps = 0;
    bool changed = true;

    liveness->words = (size_t)liveness->kernel->register_count / 64 + 1;
    TRY_OUT(rows_make(&liveness->live, (liveness->kernel->count + 1) * (int64_t)liveness->words));
    TRY_OUT(rows_make(&set, (int64_t)liveness->words));
    while (changed) {
        changed = false;
        for (int64_t i = liveness->kernel->count - 1; i >= 0; i--)
            changed |= refine(liveness, i, set);
        steps += liveness->kernel->count * (int64_t)liveness->words;
        if (steps > SIMT_MOST_STEPS)
            FAIL_OUT(STATUS_BAD_INPUT, "the branches of %s are too tangled",
                     liveness->kernel->name);
    }

out:
    free(set);
    return status;
}

/* Constants and special registers are none of the file's. */
static void find_pressure(const struct liveness *liveness)
{
    struct simt_kernel *kernel = liveness->kernel;

    for (int64_t i = 0; i < kernel->count; i++) {
        const uint64_t *set = liveness->live + (size_t)i * liveness->words;
        int words = 0;
        for (size_t w = 0; w < liveness->words; w++)
            for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
                const struct simt_register *row =
                    &kernel->registers[64 * w + (size_t)__builtin_ctzll(bits)];
                words += row->kind == REGISTER_OWN && row->bits > 1 ? row->bytes / 4 : 0;
            }
        kernel->live_words = words > kernel->live_words ? words : kernel->live_words;
    }
}

/* nvcc writes atomic operations as if their results were wanted. Only one that is read orders the
 * block after others. */
static void find_unread(const struct liveness *liveness)
{
    for (int64_t i = 0; i < liveness->kernel->count; i++) {
        struct instruction *row = &liveness->kernel->code[i];
        const uint64_t *after = liveness->live + (size_t)(i + 1) * liveness->words;
        if (row->acquires && row->d[0] >= 0)
            row->acquires = after[row->d[0] / 64] >> row->d[0] % 64 & 1;
    }
}

/* A register that is written and never read still needs a place at that instruction, or the write
 * would change another register. */
static enum status find_stretches(struct liveness *liveness)
{
    const struct simt_kernel *kernel = liveness->kernel;

    TRY(rows_make(&liveness->stretches, kernel->register_count));
    for (int64_t n = 0; n < kernel->register_count; n++)
        liveness->stretches[n] = (struct stretch){ (int32_t)n, -1, -1 };
    for (int64_t i = 0; i < kernel->count; i++) {
        const uint64_t *set = liveness->live + (size_t)i * liveness->words;
        for (size_t w = 0; w < liveness->words; w++)
            for (uint64_t bits = set[w]; bits != 0; bits &= bits - 1)
                include(&liveness->stretches[64 * w + (size_t)__builtin_ctzll(bits)], (int32_t)i);
        for (int d = 0; d < SIMT_DESTINATIONS; d++)
            if (kernel->code[i].d[d] >= 0)
                include(&liveness->stretches[kernel->code[i].d[d]], (int32_t)i);
    }
    return STATUS_OK;
}

COMPARATOR(by_first, struct stretch, ASCENDING(first) ?: ASCENDING(number))

static int32_t new_place(struct simt_kernel *kernel, int bytes)
{
    int32_t place = (int32_t)kernel->file_bytes;

    kernel->file_bytes += bytes * SIMT_LANES;
    return place;
}

/* A place in use, and the instruction that reads it last. Registers of different sizes never share
 * a place. */
struct used_place {
    int32_t place, last;
    uint8_t bytes;
};

/* A place is free again at the instruction that reads it last: that one may write to it. */
static enum status share(struct liveness *liveness)
{
    struct simt_kernel *kernel = liveness->kernel;
    struct used_place *used;
    int64_t count = 0;

    TRY(rows_make(&used, kernel->register_count));
    qsort(liveness->stretches, (size_t)kernel->register_count, sizeof *liveness->stretches,
          by_first);
    for (int64_t n = 0; n < kernel->register_count; n++) {
        const struct stretch *stretch = &liveness->stretches[n];
        struct simt_register *row = &kernel->registers[stretch->number];
        int64_t k = 0;
        if (row->kind != REGISTER_OWN || stretch->first < 0)
            continue;
        while (k < count && (used[k].last > stretch->first || used[k].bytes != row->bytes)) k++;
        if (k == count)
            used[count++] = (struct used_place){ new_place(kernel, row->bytes), 0, row->bytes };
        used[k].last = stretch->last > stretch->first ? stretch->last : stretch->first + 1;
        row->place = used[k].place;
    }
    free(used);
    return STATUS_OK;
}

static void place_operands(struct simt_kernel *kernel)
{
    for (int64_t i = 0; i < kernel->count; i++) {
        struct instruction *row = &kernel->code[i];
        for (int d = 0; d < SIMT_DESTINATIONS; d++)
            if (row->d[d] >= 0)
                row->d[d] = kernel->registers[row->d[d]].place;
        for (int s = 0; s < SIMT_SOURCES; s++)
            if (row->s[s] >= 0)
                row->s[s] = kernel->registers[row->s[s]].place;
        if (row->predicate >= 0)
            row->predicate = kernel->registers[row->predicate].place;
    }
}

/* The register file as a warp begins with it: constants are filled in once, and cost nothing when
 * they are read. */
static enum status make_file(struct simt_kernel *kernel)
{
    size_t bytes = ((size_t)kernel->file_bytes + 63) / 64 * 64 + 64;

    kernel->file = aligned_alloc(64, bytes);
    if (kernel->file == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the registers of %s", kernel->name);
    memset(kernel->file, 0, bytes);
    for (int64_t n = 0; n < kernel->register_count; n++) {
        const struct simt_register *row = &kernel->registers[n];
        if (row->kind != REGISTER_CONSTANT)
            continue;
        for (int l = 0; l < SIMT_LANES; l++)
            memcpy(kernel->file + row->place + l * row->bytes, &row->value, row->bytes);
    }
    return STATUS_OK;
}

/* Constants and special registers keep their places. */
static void place_fixed(struct simt_kernel *kernel)
{
    for (int64_t n = 0; n < kernel->register_count; n++) {
        struct simt_register *row = &kernel->registers[n];
        if (row->kind == REGISTER_OWN)
            continue;
        row->place = new_place(kernel, row->bytes);
        if (row->kind == REGISTER_SPECIAL) {
            kernel->specials[kernel->special_count].special = row->special;
            kernel->specials[kernel->special_count++].place = row->place;
        }
    }
}

enum status places_give(struct simt_kernel *kernel)
{
    enum status status = STATUS_OK;
    struct liveness liveness = { .kernel = kernel };

    place_fixed(kernel);
    TRY_OUT(find_live(&liveness));
    find_pressure(&liveness);
    find_unread(&liveness);
    TRY_OUT(find_stretches(&liveness));
    TRY_OUT(share(&liveness));
    place_operands(kernel);
    TRY_OUT(make_file(kernel));

out:
    free(liveness.live);
    free(liveness.stretches);
    return status;
}
