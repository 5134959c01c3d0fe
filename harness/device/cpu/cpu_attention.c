/* Fused attention on the CPU device. Attention in blocks of queries and keys, after Dao et al.:
 * "FlashAttention", 2022: scores never leave the cache, and backward computes them again from the
 * logarithm of each query's sum of exponentials. All sums of a head are in fp32 and added up block
 * by block in order, so results are the same in every run.
 *
 * One worker computes it, head after head. A product of a block runs at 1.1 to 1.9 times the rate
 * of the same product of a whole head, whose scores go through memory: 215 GFLOP/s in fp32 and 350
 * to 400 in bf16, to 120 to 200 and 170 to 210 (1025 tokens, heads of 32, oneDNN 2.6.3, an EPYC of
 * type Zen 5). */
#include "harness/device/cpu/cpu.h"

#include "harness/device/cpu/arithmetic/attention_rows.h"
#include "harness/device/cpu/cpu_gemm.h"
#include "harness/device/plugin/attention_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* About as many queries and keys are in a block, and about the same in each of a head. Scores are
 * then 256 KiB in fp32; backward has two such blocks, and two halves in 16 bits, which together fit
 * the megabyte of second-level cache that a core of a server has. Smaller blocks multiply more
 * slowly. Where samples have lengths, the keys of a product are rounded up to KEYS_STEP, so that
 * few plans serve all. */
enum { QUERIES = 128, KEYS = 512, KEYS_STEP = 64 };

struct row_functions {
    attention_softmax *softmax;
    attention_finish *finish;
    attention_delta *delta;
    attention_gradient *gradient;
    attention_store *store;
};

static const struct row_functions functions[DTYPE_COUNT] = {
    [DTYPE_F32] = { attention_softmax_f32, attention_finish_f32, attention_delta_f32,
                    attention_gradient_f32, attention_store_f32 },
    [DTYPE_BF16] = { attention_softmax_bf16, attention_finish_bf16, attention_delta_bf16,
                     attention_gradient_bf16, attention_store_bf16 },
    [DTYPE_F16] = { attention_softmax_f16, attention_finish_f16, attention_delta_f16,
                    attention_gradient_f16, attention_store_f16 },
};

struct attention_plan {
    struct attention_shape shape;
    int queries, keys; /* of a block */
    int stride;        /* of a row of scores */
    char names[2][64];
    struct attention_plan *next;
};

struct cpu_attentions {
    pthread_mutex_t lock;
    struct attention_plan *plans;
};

/* The parts of the workspace. p and ds are scores and dp where `real` is fp32. */
struct workspace {
    void *scores, *dp; /* fp32, like all the rest */
    void *p, *ds;
    void *dk, *dv; /* [tokens, width] */
    void *y;       /* [queries, width]: y, and dq */
    void *maxima, *sums, *delta;
};

/* --- Plans --- */

/* Lays out the workspace at `base`, which may be NULL: its size in bytes. */
static size_t lay_out(struct workspace *space, const struct attention_plan *plan, char *base)
{
    const struct attention_shape *shape = &plan->shape;
    size_t block = (size_t)plan->queries, scores = block * (size_t)plan->stride;
    size_t head = (size_t)shape->tokens * (size_t)shape->width;
    bool narrow = shape->dtype != DTYPE_F32;
    const struct {
        void **part;
        size_t bytes;
    } parts[] = {
        { &space->scores, scores * sizeof(float) },
        { &space->dp, scores * sizeof(float) },
        { &space->p, narrow ? scores * dtype_bytes(shape->dtype) : 0 },
        { &space->ds, narrow ? scores * dtype_bytes(shape->dtype) : 0 },
        { &space->dk, head * sizeof(float) },
        { &space->dv, head * sizeof(float) },
        { &space->y, block * (size_t)shape->width * sizeof(float) },
        { &space->maxima, block * sizeof(float) },
        { &space->sums, block * sizeof(float) },
        { &space->delta, block * sizeof(float) },
    };
    size_t bytes = 0;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (base != NULL)
            *parts[i].part = base + bytes;
        bytes += (parts[i].bytes + 63) / 64 * 64;
    }
    if (base != NULL && !narrow) {
        space->p = space->scores;
        space->ds = space->dp;
    }
    return bytes;
}

static struct attention_plan *find_plan(struct cpu_attentions *attentions,
                                        const struct attention_shape *shape)
{
    struct attention_plan *plan;

    pthread_mutex_lock(&attentions->lock);
    plan = attentions->plans;
    while (plan != NULL && !attention_shapes_equal(&plan->shape, shape)) plan = plan->next;
    pthread_mutex_unlock(&attentions->lock);
    return plan;
}

/* Parts of `tokens`, about equal and about `wanted` long. */
static int part_length(int tokens, int wanted)
{
    int count = (tokens + wanted / 2) / wanted;

    return count < 2 ? tokens : (tokens + count - 1) / count;
}

/* Rows of scores a power of two apart would share the cache's sets: hence the gap. */
static void fill_plan(struct attention_plan *plan, const struct attention_shape *shape)
{
    static const char *const passes[2] = { "forward", "backward" };

    plan->shape = *shape;
    plan->queries = part_length(shape->tokens, QUERIES);
    plan->keys = part_length(shape->tokens, KEYS);
    plan->stride = (plan->keys + ROW_MULTIPLE - 1) / ROW_MULTIPLE * ROW_MULTIPLE + ROW_MULTIPLE;
    for (int i = 0; i < 2; i++)
        snprintf(plan->names[i], sizeof plan->names[i], "fused_attention_%s_%s", passes[i],
                 gemm_type_name(shape->dtype));
}

enum status cpu_attention_plan(struct device *base, const struct attention_shape *shape,
                               size_t *workspace_bytes)
{
    struct cpu_attentions *attentions = ((struct cpu_device *)base)->attentions;
    struct attention_plan *plan = find_plan(attentions, shape);
    struct workspace unused;

    TRY(capture_forbids_thread("device_attention_plan"));
    if (shape->width % ROW_MULTIPLE != 0)
        FAIL(STATUS_UNSUPPORTED, "heads have %d elements, which is no multiple of %d", shape->width,
             ROW_MULTIPLE);
    if (plan == NULL) {
        plan = calloc(1, sizeof *plan);
        if (plan == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a plan of attention");
        fill_plan(plan, shape);
        pthread_mutex_lock(&attentions->lock);
        plan->next = attentions->plans;
        attentions->plans = plan;
        pthread_mutex_unlock(&attentions->lock);
    }
    *workspace_bytes = lay_out(&unused, plan, NULL);

    return STATUS_OK;
}

enum status cpu_attentions_open(struct cpu_attentions **result)
{
    struct cpu_attentions *attentions = calloc(1, sizeof *attentions);

    if (attentions == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for attention");
    pthread_mutex_init(&attentions->lock, NULL);
    *result = attentions;

    return STATUS_OK;
}

void cpu_attentions_close(struct cpu_attentions *attentions)
{
    if (attentions == NULL)
        return;
    for (struct attention_plan *plan = attentions->plans, *next; plan != NULL; plan = next) {
        next = plan->next;
        free(plan);
    }
    pthread_mutex_destroy(&attentions->lock);
    free(attentions);
}

/* --- Running --- */

/* The vectors of one head of one sample, `ld` elements apart. */
struct vectors {
    const char *at;
    int ld;
};

/* One head of one sample, and the block at hand: queries from `query` on, keys from `key` on. */
struct head {
    struct gemm_scratch *scratch;
    const struct row_functions *rows;
    struct workspace space;
    struct attention_sums so_far;
    struct attention_rows block;
    int query, key;
    int width, tokens, length;
    enum dtype dtype;
    struct vectors q, k, v, y, dy, dq, dk, dv;
    float *lse;
};

static const char *vector(const struct head *head, struct vectors of, int token)
{
    return of.at + (size_t)token * (size_t)of.ld * dtype_bytes(head->dtype);
}

/* The same of vectors that are results. */
static char *result(const struct head *head, struct vectors of, int token)
{
    return (char *)(uintptr_t)vector(head, of, token);
}

/* A product with the vectors of `b` from `token` on; sizes are still to be set. */
static struct gemm block_gemm(const struct head *head, float *c, const void *a, struct vectors b,
                              int token)
{
    return (struct gemm){ .c = c,
                          .a = a,
                          .b = vector(head, b, token),
                          .batch = 1,
                          .ldb = b.ld,
                          .dtype_ab = head->dtype,
                          .dtype_c = DTYPE_F32 };
}

/* c [queries, keys] = x [queries, width] y' [width, keys]: scores, or their gradients. */
static enum status outer(const struct head *head, float *c, struct vectors x, struct vectors y)
{
    struct gemm gemm = block_gemm(head, c, vector(head, x, head->query), y, head->key);

    gemm.m = head->block.rows;
    gemm.n = head->block.keys;
    gemm.k = head->width;
    gemm.lda = x.ld;
    gemm.ldc = head->block.stride;
    gemm.transpose_b = true;
    return gemm_compute(head->scratch, &gemm);
}

/* c [queries, width] += p [queries, keys] x [keys, width]; the first keys define it. */
static enum status inner(const struct head *head, float *c, const void *p, struct vectors x)
{
    struct gemm gemm = block_gemm(head, c, p, x, head->key);

    gemm.m = head->block.rows;
    gemm.n = gemm.ldc = head->width;
    gemm.k = head->block.keys;
    gemm.lda = head->block.stride;
    gemm.accumulate = head->key > 0;
    return gemm_compute(head->scratch, &gemm);
}

/* The keys' rows of c [tokens, width] += p' [keys, queries] x [queries, width]; the first queries
 * define them. */
static enum status add_up(const struct head *head, float *c, const void *p, struct vectors x)
{
    struct gemm gemm =
        block_gemm(head, c + (size_t)head->key * (size_t)head->width, p, x, head->query);

    gemm.m = head->block.keys;
    gemm.n = gemm.ldc = head->width;
    gemm.k = head->block.rows;
    gemm.lda = head->block.stride;
    gemm.transpose_a = true;
    gemm.accumulate = head->query > 0;
    return gemm_compute(head->scratch, &gemm);
}

static enum status forward_block(const struct head *head)
{
    const struct workspace *space = &head->space;

    TRY(outer(head, space->scores, head->q, head->k));
    head->rows->softmax(&head->block, space->p, &head->so_far, space->scores, head->key == 0);
    return inner(head, space->y, space->p, head->v);
}

/* Scores are computed again rather than kept; from them and dy come the gradients of all three
 * inputs. */
static enum status backward_block(const struct head *head)
{
    const struct workspace *space = &head->space;

    TRY(outer(head, space->scores, head->q, head->k));
    TRY(outer(head, space->dp, head->dy, head->v));
    head->rows->gradient(&head->block, space->p, space->ds, space->scores, space->dp,
                         head->lse + head->query, space->delta);
    TRY(inner(head, space->y, space->ds, head->k));
    TRY(add_up(head, space->dv, space->p, head->dy));
    return add_up(head, space->dk, space->ds, head->q);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* The block's queries with all keys. head->key is behind the last key then. */
static enum status run_queries(struct head *head, int keys, bool backward)
{
    int rows = head->block.rows;

    if (backward)
        head->rows->delta(head->space.delta, vector(head, head->y, head->query),
                          vector(head, head->dy, head->query), rows, head->width, head->y.ld);
    for (head->key = 0; head->key < head->length; head->key += head->block.keys) {
        int left = head->length - head->key;
        int rounded = (left + KEYS_STEP - 1) / KEYS_STEP * KEYS_STEP;
        head->block.keys = smaller(smaller(keys, rounded), head->tokens - head->key);
        head->block.length = smaller(left, head->block.keys);
        TRY(backward ? backward_block(head) : forward_block(head));
    }
    if (backward)
        head->rows->store(result(head, head->dq, head->query), head->space.y, rows, head->width,
                          head->dq.ld);
    else
        head->rows->finish(result(head, head->y, head->query), head->lse + head->query,
                           &head->so_far, rows, head->y.ld);

    return STATUS_OK;
}

/* dk and dv of the head; 0 for keys that no product met. */
static void store_keys(const struct head *head)
{
    float *const sums[] = { head->space.dk, head->space.dv };
    const struct vectors to[] = { head->dk, head->dv };
    size_t row = (size_t)head->width * sizeof(float);

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
        memset((char *)sums[i] + (size_t)head->key * row, 0,
               (size_t)(head->tokens - head->key) * row);
        head->rows->store(result(head, to[i], 0), sums[i], head->tokens, head->width, to[i].ld);
    }
}

/* The vectors of head `matrix` in `x`, where a token has `parts` of every head if packed. */
static struct vectors vectors_of(const struct attention_shape *shape, const void *x, int matrix,
                                 int parts)
{
    int ld = shape->packed ? parts * shape->heads * shape->width : shape->width;
    size_t sample = (size_t)(matrix / shape->heads), head = (size_t)(matrix % shape->heads);
    size_t token = sample * (size_t)shape->tokens;
    size_t at = shape->packed ? token * (size_t)ld + head * (size_t)shape->width
                              : (size_t)matrix * (size_t)shape->tokens * (size_t)ld;

    return (struct vectors){ (const char *)x + at * dtype_bytes(shape->dtype), ld };
}

static struct head head_of(struct cpu_stream *stream, const struct item *item, int matrix)
{
    const struct attention_plan *plan = item->attention.plan;
    const struct fused_attention *given = &item->attention.given;
    const struct attention_shape *shape = &plan->shape;
    struct head head = {
        .scratch = stream->gemm_scratch,
        .rows = &functions[shape->dtype],
        .block = { .stride = plan->stride, .scale = given->scale },
        .width = shape->width,
        .tokens = shape->tokens,
        .length = shape->lengths ? given->lengths[matrix / shape->heads] : shape->tokens,
        .dtype = shape->dtype,
        .q = vectors_of(shape, given->q, matrix, 3),
        .k = vectors_of(shape, given->k, matrix, 3),
        .v = vectors_of(shape, given->v, matrix, 3),
        .y = vectors_of(shape, given->y, matrix, 1),
        .lse = given->statistics + (size_t)matrix * (size_t)shape->tokens,
    };

    if (given->backward) {
        head.dy = vectors_of(shape, given->dy, matrix, 1);
        head.dq = vectors_of(shape, given->dq, matrix, 3);
        head.dk = vectors_of(shape, given->dk, matrix, 3);
        head.dv = vectors_of(shape, given->dv, matrix, 3);
    }
    lay_out(&head.space, plan, given->workspace);
    head.so_far = (struct attention_sums){ .maxima = head.space.maxima,
                                           .sums = head.space.sums,
                                           .y = head.space.y,
                                           .width = shape->width };
    return head;
}

/* Heads one after the other, each by blocks of queries, so that a block's scores stay in the
 * cache. */
static enum status run_attention(struct cpu_stream *stream, const struct item *item)
{
    const struct attention_plan *plan = item->attention.plan;
    const struct attention_shape *shape = &plan->shape;
    bool backward = item->attention.given.backward;

    for (int matrix = 0; matrix < shape->samples * shape->heads; matrix++) {
        struct head head = head_of(stream, item, matrix);
        for (; head.query < shape->tokens; head.query += plan->queries) {
            head.block.rows = smaller(plan->queries, shape->tokens - head.query);
            TRY(run_queries(&head, plan->keys, backward));
        }
        if (backward)
            store_keys(&head);
    }

    return STATUS_OK;
}

static void show_attention(const struct cpu_stream *stream, const struct item *item,
                           struct activity *activity)
{
    const struct attention_shape *shape = &item->attention.plan->shape;

    (void)stream;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = item->attention.plan->names[item->attention.given.backward];
    activity->grid[0] = (uint32_t)(shape->samples * shape->heads);
    activity->grid[1] = activity->grid[2] = 1;
    activity->block[0] = activity->block[1] = activity->block[2] = 1;
}

static const struct cpu_work attention_work = { .run = run_attention, .show = show_attention };

enum status cpu_attention(struct stream *base, const struct fused_attention *attention)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    const struct attention_plan *plan = find_plan(device->attentions, &attention->shape);
    struct item *item;

    if (plan == NULL)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "device_attention: this shape is not planned; call device_attention_plan() first");
    TRY_OUT(stream_claim(stream, &item));
    item->work = &attention_work;
    item->correlation = call.correlation;
    item->attention.plan = plan;
    item->attention.given = *attention;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaLaunchKernel");
    return status;
}
