/* Sorts the instructions of launches by the part of a multiprocessor that does them. The name in
 * the PTX tells: its first word, and the type at its end. It is read when somebody asks, from the
 * text that each row keeps, so that execution pays nothing.
 *
 * ptxas makes other instructions of these: it leaves out moves, joins what belongs together and
 * writes a division as ten. A sum, a product, an exchange and an access stay one. */
#include "harness/simt/simt_machine.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* "@!%p1 fma.rn.f32 %f1, ..." is ".fma.rn.f32.": each word stands between dots. */
static void dotted_name(char name[NAME_SIZE], const char *text)
{
    if (*text == '@')
        text += strcspn(text, " \t\n");
    text += strspn(text, " \t\n");
    snprintf(name, NAME_SIZE, ".%.*s.", (int)strcspn(text, " \t\n;"), text);
}

/* Whether the first part of the name is one of `words`: " add sub ". */
static bool begins_with(const char *name, const char *words)
{
    char first[NAME_SIZE];

    snprintf(first, sizeof first, " %.*s ", (int)strcspn(name + 1, ".:"), name + 1);
    return strstr(words, first) != NULL;
}

static bool has(const char *name, const char *word)
{
    return strstr(name, word) != NULL;
}

static bool is_half(const char *name)
{
    return has(name, ".f16.") || has(name, ".bf16.") || has(name, ".f16x2.") ||
           has(name, ".bf16x2.");
}

static enum simt_work work_of(const char *name)
{
    bool is_real = has(name, ".f32.") || has(name, ".f32x2.") || is_half(name);

    if (begins_with(name, " mma ") || has(name, ".wmma.mma."))
        return SIMT_TENSOR;
    if (begins_with(name, " ld ") && (has(name, ".param.") || has(name, ".const.")))
        return SIMT_MOVE;
    if (begins_with(name, " ld ldu st atom red cp prefetch prefetchu tex tld4 suld sust ldmatrix "
                          "stmatrix wmma "))
        return SIMT_MEMORY;
    if (begins_with(name, " shfl vote match redux activemask "))
        return SIMT_EXCHANGE;
    if (begins_with(name, " bra bar barrier ret exit call trap membar fence nanosleep brkpt "))
        return SIMT_CONTROL;
    if (begins_with(name, " mov cvta isspacep createpolicy "))
        return SIMT_MOVE;
    if (begins_with(name, " cvt "))
        return SIMT_CONVERT;
    if (has(name, ".f64."))
        return SIMT_FP64;
    if (is_real && begins_with(name, " ex2 lg2 sin cos rcp rsqrt sqrt tanh div "))
        return SIMT_SPECIAL;
    if (is_real && begins_with(name, " add sub mul fma mad "))
        return is_half(name) ? SIMT_FP16 : SIMT_FP32;
    return SIMT_ALU;
}

/* Operations of a lane. */
static uint64_t flops_of(const char *name)
{
    uint64_t elements = has(name, "x2.") ? 2 : 1;

    if (begins_with(name, " fma mad "))
        return 2 * elements;
    return begins_with(name, " add sub mul ") ? elements : 0;
}

/* "m16n8k16", and types from which the narrowest tells what is multiplied: wmma names only those of
 * the sums if it is f16. */
static void add_products(struct simt_mix *mix, const char *name, uint64_t times)
{
    const char *shape = strstr(name, ".m");
    int m = 0, n = 0, k = 0;
    enum simt_matrix type = SIMT_MATRIX_16;

    while (shape != NULL && sscanf(shape, ".m%dn%dk%d.", &m, &n, &k) != 3)
        shape = strstr(shape + 1, ".m");
    if (has(name, ".tf32."))
        type = SIMT_MATRIX_TF32;
    else if (has(name, ".f64."))
        type = SIMT_MATRIX_FP64;
    else if (has(name, ".e4m3.") || has(name, ".e5m2.") || has(name, ".s8.") || has(name, ".u8."))
        type = SIMT_MATRIX_8;
    if (shape != NULL)
        mix->matrix_products[type] += (uint64_t)m * (uint64_t)n * (uint64_t)k * times;
}

static enum status add_row(void *to, const struct simt_kernel *kernel,
                           const struct instruction *row, const struct step_counts *step)
{
    struct simt_mix *mix = to;
    char name[NAME_SIZE];
    enum simt_work work;

    (void)kernel;
    if (row->helper || row->text == NULL)
        return STATUS_OK;
    dotted_name(name, row->text);
    work = work_of(name);
    mix->of[work] += step->times;
    if (work == SIMT_FP32 || work == SIMT_FP16 || work == SIMT_FP64)
        mix->flops += flops_of(name) * step->lanes;
    if (work == SIMT_TENSOR)
        add_products(mix, name, step->times);
    return STATUS_OK;
}

struct simt_mix simt_mix_of(struct simt *simt, const struct simt_kernel *kernel)
{
    struct simt_mix mix = { 0 };

    pthread_mutex_lock(&simt->lock);
    executed_rows(kernel, add_row, &mix);
    pthread_mutex_unlock(&simt->lock);
    for (int type = 0; type < SIMT_MATRICES; type++) mix.flops += 2 * mix.matrix_products[type];
    return mix;
}
