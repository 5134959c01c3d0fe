/* Matrix products by oneDNN. Plans are found by a hash of everything but the addresses, when the
 * product is queued or captured: making a primitive costs up to half a millisecond, finding one a
 * few tens of nanoseconds. Small products in fp32 need none: oneDNN's BLAS call starts sooner.
 *
 * Types that oneDNN cannot multiply (fp16 on most CPUs, bf16 on those without an instruction for
 * it) are widened into the stream's scratch and multiplied in fp32; a 16-bit c is narrowed
 * afterwards. It has none for fp64 at all: those are ours (product_f64.h).
 *
 * oneDNN counts OpenMP's threads when a primitive is made, so plans are made with one, too. A
 * primitive may run on any number of threads because its scratchpad is ours, one per stream; memory
 * objects hold the addresses of one execution, so each stream has its own.
 *
 * oneDNN 2 and 3 differ in how a primitive is described; the differences are in this file's first
 * section only. */
#include "harness/device/cpu/cpu_gemm.h"

#include "harness/device/cpu/arithmetic/convert.h"
#include "harness/device/cpu/arithmetic/product_f64.h"
#include "harness/device/cpu/cpu.h"

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- oneDNN, version 2 or 3 --- */

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t desc_view;
#else
typedef const dnnl_memory_desc_t *desc_view;
#endif

/* c (+)= a b with memory laid out as the operands say. */
struct cpu_operand {
    dnnl_data_type_t type;
    dnnl_dims_t dims, strides;
};

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t describe_product(dnnl_primitive_desc_t *result, dnnl_engine_t engine, int rank,
                                      const struct cpu_operand operands[3],
                                      dnnl_primitive_attr_t attributes)
{
    dnnl_memory_desc_t descs[3] = { NULL, NULL, NULL };
    dnnl_status_t error = dnnl_success;

    for (int i = 0; i < 3 && error == dnnl_success; i++)
        error = dnnl_memory_desc_create_with_strides(&descs[i], rank, operands[i].dims,
                                                     operands[i].type, operands[i].strides);
    if (error == dnnl_success)
        error = dnnl_matmul_primitive_desc_create(result, engine, descs[0], descs[1], NULL,
                                                  descs[2], attributes);
    for (int i = 0; i < 3; i++)
        if (descs[i] != NULL)
            dnnl_memory_desc_destroy(descs[i]);
    return error;
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1, 0, dnnl_data_type_undef);
}
#else
static dnnl_status_t describe_product(dnnl_primitive_desc_t *result, dnnl_engine_t engine, int rank,
                                      const struct cpu_operand operands[3],
                                      dnnl_primitive_attr_t attributes)
{
    dnnl_memory_desc_t descs[3];
    dnnl_matmul_desc_t matmul;
    dnnl_status_t error = dnnl_success;

    for (int i = 0; i < 3 && error == dnnl_success; i++)
        error = dnnl_memory_desc_init_by_strides(&descs[i], rank, operands[i].dims,
                                                 operands[i].type, operands[i].strides);
    if (error == dnnl_success)
        error = dnnl_matmul_desc_init(&matmul, &descs[0], &descs[1], NULL, &descs[2]);
    if (error == dnnl_success)
        error = dnnl_primitive_desc_create(result, &matmul, attributes, engine, NULL);
    return error;
}

static dnnl_status_t append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1);
}
#endif

void gemm_library(char *text, size_t size)
{
    const dnnl_version_t *version = dnnl_version();

    snprintf(text, size, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
}

/* Whether oneDNN would use this instruction set of x86-64; ONEDNN_MAX_CPU_ISA may limit it.
 * oneDNN's sets are bit masks: an extension holds all the bits of the set that it extends. The same
 * bits mean other sets on other processors, where oneDNN rarely multiplies 16-bit types. */
static bool isa_has(unsigned isa)
{
#if defined(__x86_64__)
    return ((unsigned)dnnl_get_effective_cpu_isa() & isa) == isa;
#else
    (void)isa;
    return false;
#endif
}

/* bf16 products are computed in bf16; otherwise they are widened and computed in fp32. */
static bool gemm_bf16_is_native(void)
{
    return isa_has(dnnl_cpu_isa_avx512_core_bf16);
}

bool gemm_has_bf16_tiles(void)
{
    return isa_has(dnnl_cpu_isa_avx512_core_amx);
}

static enum status dnnl_check(dnnl_status_t error, const char *what)
{
    enum status status = STATUS_OK;

    if (error == dnnl_out_of_memory)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for %s", what);
    if (error != dnnl_success)
        FAIL_OUT(STATUS_DEVICE_ERROR,
                 "oneDNN failed at %s (its status %d); ONEDNN_VERBOSE=1 shows more", what,
                 (int)error);

out:
    return status;
}

/* --- Plans --- */

enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERANDS, BUCKETS = 1024, SMALL = 1 << 15 };

/* Two products with equal keys share a plan. A key has no padding, because it is compared as
 * bytes. */
struct shape {
    int64_t stride_a, stride_b, stride_c;
    int32_t m, n, k, batch, lda, ldb, ldc;
    int8_t transpose_a, transpose_b, accumulate, dtype_ab, dtype_c, padding[3];
};
_Static_assert(sizeof(struct shape) == 3 * 8 + 7 * 4 + 8 + 4, "struct shape has hidden padding");

/* A matrix as it is stored, times its count in the batch. */
struct stored {
    long rows, columns, ld, count, stride; /* count is 1 where all products share it */
    bool widened;
    enum dtype dtype;
};

struct gemm_plan {
    struct shape shape;
    int id; /* 0, 1, ... within the device */
    char name[64];
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive; /* NULL for small products, and in fp64 */
    struct stored stored[OPERANDS];
    size_t scratch_offset[OPERANDS]; /* of what is widened */
    size_t scratchpad_offset, scratch_bytes;
    struct gemm_plan *next; /* in its bucket */
};

struct cpu_gemms {
    dnnl_engine_t engine;
    bool bf16_is_native;
    pthread_rwlock_t lock;
    int count;
    struct gemm_plan *buckets[BUCKETS];
};

/* All that a plan depends on, with gaps cleared and strides of a single product left out: equal
 * products have equal bytes. */
static void shape_of(struct shape *shape, const struct gemm *gemm)
{
    bool batched = gemm->batch > 1;

    memset(shape, 0, sizeof *shape);
    shape->m = gemm->m;
    shape->n = gemm->n;
    shape->k = gemm->k;
    shape->batch = gemm->batch;
    shape->lda = gemm->lda;
    shape->ldb = gemm->ldb;
    shape->ldc = gemm->ldc;
    shape->stride_a = batched ? gemm->stride_a : 0;
    shape->stride_b = batched ? gemm->stride_b : 0;
    shape->stride_c = batched ? gemm->stride_c : 0;
    shape->transpose_a = gemm->transpose_a;
    shape->transpose_b = gemm->transpose_b;
    shape->accumulate = gemm->accumulate;
    shape->dtype_ab = (int8_t)gemm->dtype_ab;
    shape->dtype_c = (int8_t)gemm->dtype_c;
}

/* FNV-1a's scheme, a 64-bit word at a time. */
static size_t plan_bucket(const struct shape *shape)
{
    uint64_t words[sizeof *shape / 8 + 1] = { 0 }, hash = 0xcbf29ce484222325u;

    memcpy(words, shape, sizeof *shape);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash % BUCKETS;
}

static struct gemm_plan *find_plan(struct cpu_gemms *gemms, const struct shape *shape,
                                   size_t bucket)
{
    struct gemm_plan *plan = gemms->buckets[bucket];

    while (plan != NULL && memcmp(&plan->shape, shape, sizeof *shape) != 0) plan = plan->next;
    return plan;
}

const char *gemm_type_name(enum dtype dtype)
{
    static const char *const names[DTYPES_ALL] = { "f32", "bf16", "f16", "f64" };

    return names[dtype];
}

/* "gemm_bf16_nt_64x192x64_b8": types, transposes as BLAS writes them, m x n x k, and the batch. */
static void name_plan(struct gemm_plan *plan)
{
    const struct shape *shape = &plan->shape;
    char batch[16] = "";

    if (shape->batch > 1)
        snprintf(batch, sizeof batch, "_b%d", shape->batch);
    snprintf(plan->name, sizeof plan->name, "gemm_%s%s_%c%c_%dx%dx%d%s",
             gemm_type_name(shape->dtype_ab),
             shape->dtype_c == shape->dtype_ab ? "" : gemm_type_name(shape->dtype_c),
             shape->transpose_a ? 't' : 'n', shape->transpose_b ? 't' : 'n', shape->m, shape->n,
             shape->k, batch);
}

static struct stored stored_as(long rows, long columns, bool transposed, long ld, long stride,
                               int batch, enum dtype dtype, bool widened)
{
    struct stored stored = {
        .rows = transposed ? columns : rows,
        .columns = transposed ? rows : columns,
        .ld = ld,
        .count = batch > 1 && stride == 0 ? 1 : batch,
        .stride = stride,
        .widened = widened,
        .dtype = dtype,
    };

    return stored;
}

/* Operands that are widened have a place in the worker's scratch memory, the library's own
 * scratchpad behind them. */
static void lay_out(struct gemm_plan *plan, bool bf16_is_native)
{
    const struct shape *s = &plan->shape;
    enum dtype ab = (enum dtype)s->dtype_ab, c = (enum dtype)s->dtype_c;
    bool widened = ab == DTYPE_F16 || (ab == DTYPE_BF16 && !bf16_is_native);
    size_t bytes = 0;

    plan->stored[OPERAND_A] =
        stored_as(s->m, s->k, s->transpose_a, s->lda, s->stride_a, s->batch, ab, widened);
    plan->stored[OPERAND_B] =
        stored_as(s->k, s->n, s->transpose_b, s->ldb, s->stride_b, s->batch, ab, widened);
    plan->stored[OPERAND_C] =
        stored_as(s->m, s->n, false, s->ldc, s->stride_c, s->batch, c, widened && c != DTYPE_F32);
    for (int i = 0; i < OPERANDS; i++) {
        const struct stored *stored = &plan->stored[i];
        plan->scratch_offset[i] = bytes;
        if (stored->widened)
            bytes += (size_t)(stored->rows * stored->columns * stored->count) * sizeof(float);
        bytes = (bytes + 63) / 64 * 64;
    }
    plan->scratchpad_offset = bytes;
}

/* A widened matrix has no gaps in the scratch. */
static struct cpu_operand operand_of(const struct stored *stored, bool transposed, bool batched)
{
    static const dnnl_data_type_t types[DTYPE_COUNT] = { dnnl_f32, dnnl_bf16, dnnl_f16 };
    struct cpu_operand operand = { .type = stored->widened ? dnnl_f32 : types[stored->dtype] };
    long ld = stored->widened ? stored->columns : stored->ld;
    long stride = stored->widened ? stored->rows * stored->columns : stored->stride;
    int i = 0;

    if (batched) {
        operand.dims[i] = stored->count;
        operand.strides[i++] = stored->count > 1 ? stride : stored->rows * ld;
    }
    operand.dims[i] = transposed ? stored->columns : stored->rows;
    operand.strides[i++] = transposed ? 1 : ld;
    operand.dims[i] = transposed ? stored->rows : stored->columns;
    operand.strides[i] = transposed ? ld : 1;
    return operand;
}

/* The training step of `light` takes a third less time this way: its products are shorter than what
 * comes before a primitive's first instruction, code and descriptions that no other product
 * shares. */
static bool is_small(const struct shape *shape)
{
    return shape->dtype_ab == DTYPE_F32 && shape->dtype_c == DTYPE_F32 && shape->batch == 1 &&
           (int64_t)shape->m * shape->n * shape->k <= SMALL;
}

static void plan_destroy(struct gemm_plan *plan)
{
    if (plan->primitive != NULL)
        dnnl_primitive_destroy(plan->primitive);
    if (plan->desc != NULL)
        dnnl_primitive_desc_destroy(plan->desc);
    free(plan);
}

/* oneDNN plans for one thread, the stream's worker, and takes its scratchpad from us, so that
 * running allocates nothing. */
static enum status make_primitive(struct gemm_plan *plan, dnnl_engine_t engine)
{
    enum status status = STATUS_OK;
    const struct shape *shape = &plan->shape;
    bool batched = shape->batch > 1;
    const struct cpu_operand operands[OPERANDS] = {
        operand_of(&plan->stored[OPERAND_A], shape->transpose_a, batched),
        operand_of(&plan->stored[OPERAND_B], shape->transpose_b, batched),
        operand_of(&plan->stored[OPERAND_C], false, batched),
    };
    int threads = omp_get_max_threads();
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_post_ops_t operations = NULL;

    omp_set_num_threads(1);
    TRY_OUT(dnnl_check(dnnl_primitive_attr_create(&attributes), "a matmul's attributes"));
    TRY_OUT(
        dnnl_check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
                   "a matmul's attributes"));
    if (shape->accumulate) {
        TRY_OUT(dnnl_check(dnnl_post_ops_create(&operations), "a matmul's sum"));
        TRY_OUT(dnnl_check(append_sum(operations), "a matmul's sum"));
        TRY_OUT(
            dnnl_check(dnnl_primitive_attr_set_post_ops(attributes, operations), "a matmul's sum"));
    }
    TRY_OUT(dnnl_check(describe_product(&plan->desc, engine, batched ? 3 : 2, operands, attributes),
                       plan->name));
    TRY_OUT(dnnl_check(dnnl_primitive_create(&plan->primitive, plan->desc), plan->name));
    plan->scratch_bytes =
        plan->scratchpad_offset + dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(
                                      plan->desc, dnnl_query_scratchpad_md, 0));

out:
    if (operations != NULL)
        dnnl_post_ops_destroy(operations);
    if (attributes != NULL)
        dnnl_primitive_attr_destroy(attributes);
    omp_set_num_threads(threads);
    return status;
}

static enum status plan_create(struct cpu_gemms *gemms, const struct shape *shape,
                               struct gemm_plan **result)
{
    enum status status = STATUS_OK;
    struct gemm_plan *plan = calloc(1, sizeof *plan);

    if (plan == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a matrix product");
    plan->shape = *shape;
    plan->id = gemms->count;
    name_plan(plan);
    lay_out(plan, gemms->bf16_is_native);
    if (shape->dtype_ab == DTYPE_F64)
        plan->scratch_bytes = product_f64_scratch();
    else if (!is_small(shape))
        TRY_OUT(make_primitive(plan, gemms->engine));
    *result = plan;

out:
    if (status != STATUS_OK && plan != NULL)
        plan_destroy(plan);
    return status;
}

/* Plans are made once per shape and stay. Most calls only read, so readers share the lock; a
 * writer looks once more. */
static enum status plan_for(struct cpu_gemms *gemms, const struct gemm *gemm,
                            struct gemm_plan **result)
{
    enum status status = STATUS_OK;
    struct shape shape;
    size_t bucket;

    shape_of(&shape, gemm);
    bucket = plan_bucket(&shape);
    pthread_rwlock_rdlock(&gemms->lock);
    *result = find_plan(gemms, &shape, bucket);
    pthread_rwlock_unlock(&gemms->lock);
    if (*result != NULL)
        return STATUS_OK;

    pthread_rwlock_wrlock(&gemms->lock);
    *result = find_plan(gemms, &shape, bucket);
    if (*result == NULL) {
        TRY_OUT(plan_create(gemms, &shape, result));
        (*result)->next = gemms->buckets[bucket];
        gemms->buckets[bucket] = *result;
        gemms->count++;
    }

out:
    pthread_rwlock_unlock(&gemms->lock);
    return status;
}

enum status cpu_gemms_open(struct cpu_gemms **result)
{
    struct cpu_gemms *gemms = calloc(1, sizeof *gemms);

    if (gemms == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for matrix products");
    pthread_rwlock_init(&gemms->lock, NULL);
    gemms->bf16_is_native = gemm_bf16_is_native();
    *result = gemms;
    return dnnl_check(dnnl_engine_create(&gemms->engine, dnnl_cpu, 0), "opening its CPU engine");
}

void cpu_gemms_close(struct cpu_gemms *gemms)
{
    if (gemms == NULL)
        return;
    for (int i = 0; i < BUCKETS; i++)
        for (struct gemm_plan *plan = gemms->buckets[i], *next; plan != NULL; plan = next) {
            next = plan->next;
            plan_destroy(plan);
        }
    if (gemms->engine != NULL)
        dnnl_engine_destroy(gemms->engine);
    pthread_rwlock_destroy(&gemms->lock);
    free(gemms);
}

/* --- Running --- */

enum { MEMORIES = OPERANDS + 1, SCRATCHPAD = OPERANDS };

struct gemm_scratch {
    struct cpu_gemms *gemms;
    dnnl_stream_t stream;
    unsigned char *bytes;
    size_t size;
    dnnl_memory_t (*memories)[MEMORIES]; /* by the plan's id; NULL: not made yet */
    int count;
};

enum status gemm_scratch_open(struct gemm_scratch **result, struct cpu_gemms *gemms)
{
    struct gemm_scratch *scratch = calloc(1, sizeof *scratch);

    if (scratch == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a stream's matrix products");
    *result = scratch;
    scratch->gemms = gemms;
    return dnnl_check(
        dnnl_stream_create(&scratch->stream, gemms->engine, dnnl_stream_default_flags),
        "creating its stream");
}

void gemm_scratch_close(struct gemm_scratch *scratch)
{
    if (scratch == NULL)
        return;
    for (int i = 0; i < scratch->count; i++)
        for (int j = 0; j < MEMORIES; j++)
            if (scratch->memories[i][j] != NULL)
                dnnl_memory_destroy(scratch->memories[i][j]);
    free(scratch->memories);
    free(scratch->bytes);
    if (scratch->stream != NULL)
        dnnl_stream_destroy(scratch->stream);
    free(scratch);
}

void gemm_start_worker(void)
{
    omp_set_num_threads(1);
}

static enum status scratch_reserve(struct gemm_scratch *scratch, const struct gemm_plan *plan)
{
    if (plan->scratch_bytes > scratch->size) {
        size_t size = (plan->scratch_bytes + 4095) / 4096 * 4096;
        free(scratch->bytes);
        scratch->size = 0;
        scratch->bytes = aligned_alloc(4096, size);
        if (scratch->bytes == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for the scratch of %s (%zu bytes)",
                 plan->name, size);
        scratch->size = size;
    }
    if (plan->id >= scratch->count) {
        int count = plan->id * 2 + 16;
        size_t row = sizeof *scratch->memories;
        dnnl_memory_t(*memories)[MEMORIES] = realloc(scratch->memories, (size_t)count * row);
        if (memories == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no host memory for %s", plan->name);
        memset(memories + scratch->count, 0, (size_t)(count - scratch->count) * row);
        scratch->memories = memories;
        scratch->count = count;
    }

    return STATUS_OK;
}

/* Each stream has memory objects of its own for a plan, as their addresses change from call to
 * call. */
static enum status make_memories(struct gemm_scratch *scratch, const struct gemm_plan *plan,
                                 dnnl_memory_t memories[MEMORIES])
{
    static const dnnl_query_t queries[MEMORIES] = { dnnl_query_src_md, dnnl_query_weights_md,
                                                    dnnl_query_dst_md, dnnl_query_scratchpad_md };

    for (int i = 0; i < MEMORIES; i++) {
        desc_view desc = dnnl_primitive_desc_query_md(plan->desc, queries[i], 0);
        if (memories[i] == NULL)
            TRY(dnnl_check(
                dnnl_memory_create(&memories[i], desc, scratch->gemms->engine, DNNL_MEMORY_NONE),
                plan->name));
    }

    return STATUS_OK;
}

static void widen(const struct stored *stored, float *to, const void *from)
{
    for (long i = 0; i < stored->count; i++)
        convert_widen(to + i * stored->rows * stored->columns,
                      (const uint16_t *)from + i * stored->stride, stored->dtype, stored->rows,
                      stored->columns, stored->ld);
}

static void narrow(const struct stored *stored, void *to, const float *from)
{
    for (long i = 0; i < stored->count; i++)
        convert_narrow((uint16_t *)to + i * stored->stride,
                       from + i * stored->rows * stored->columns, stored->dtype, stored->rows,
                       stored->columns, stored->ld);
}

/* oneDNN's BLAS call, which takes row-major matrices as the primitives do. */
static enum status multiply_fp32(const struct gemm *gemm)
{
    return dnnl_check(dnnl_sgemm(gemm->transpose_a ? 'T' : 'N', gemm->transpose_b ? 'T' : 'N',
                                 gemm->m, gemm->n, gemm->k, 1, gemm->a, gemm->lda, gemm->b,
                                 gemm->ldb, gemm->accumulate ? 1 : 0, gemm->c, gemm->ldc),
                      "a product in fp32");
}

/* One product of the plan's. */
static struct gemm product_of(const struct shape *shape, void *c, const void *a, const void *b)
{
    return (struct gemm){ .c = c,
                          .a = a,
                          .b = b,
                          .m = shape->m,
                          .n = shape->n,
                          .k = shape->k,
                          .lda = shape->lda,
                          .ldb = shape->ldb,
                          .ldc = shape->ldc,
                          .transpose_a = shape->transpose_a,
                          .transpose_b = shape->transpose_b,
                          .accumulate = shape->accumulate };
}

static void multiply_fp64(const struct shape *shape, double *c, const double *a, const double *b,
                          void *scratch)
{
    for (int i = 0; i < shape->batch; i++) {
        struct gemm gemm = product_of(shape, c + i * shape->stride_c, a + i * shape->stride_a,
                                      b + i * shape->stride_b);
        product_f64(&gemm, scratch);
    }
}

/* c (+)= op(a) op(b), on the worker. */
static enum status run_plan(struct gemm_scratch *scratch, const struct gemm_plan *plan, void *c,
                            const void *a, const void *b)
{
    const void *given[OPERANDS] = { a, b, c };
    void *used[MEMORIES];
    dnnl_memory_t *memories;
    dnnl_exec_arg_t arguments[MEMORIES] = { { DNNL_ARG_SRC, NULL },
                                            { DNNL_ARG_WEIGHTS, NULL },
                                            { DNNL_ARG_DST, NULL },
                                            { DNNL_ARG_SCRATCHPAD, NULL } };

    if (is_small(&plan->shape)) {
        struct gemm gemm = product_of(&plan->shape, c, a, b);
        return multiply_fp32(&gemm);
    }
    TRY(scratch_reserve(scratch, plan));
    if (plan->shape.dtype_ab == DTYPE_F64) {
        multiply_fp64(&plan->shape, c, a, b, scratch->bytes);
        return STATUS_OK;
    }
    memories = scratch->memories[plan->id];
    if (memories[SCRATCHPAD] == NULL)
        TRY(make_memories(scratch, plan, memories));
    for (int i = 0; i < OPERANDS; i++) {
        const struct stored *stored = &plan->stored[i];
        used[i] = stored->widened ? scratch->bytes + plan->scratch_offset[i] : (void *)given[i];
        if (stored->widened && (i != OPERAND_C || plan->shape.accumulate))
            widen(stored, used[i], given[i]);
    }
    used[SCRATCHPAD] = scratch->bytes + plan->scratchpad_offset;
    for (int i = 0; i < MEMORIES; i++) {
        TRY(dnnl_check(dnnl_memory_set_data_handle(memories[i], used[i]), plan->name));
        arguments[i].memory = memories[i];
    }
    TRY(dnnl_check(dnnl_primitive_execute(plan->primitive, scratch->stream, MEMORIES, arguments),
                   plan->name));
    if (plan->stored[OPERAND_C].widened)
        narrow(&plan->stored[OPERAND_C], c, used[OPERAND_C]);

    return STATUS_OK;
}

/* In fp32 no plan is needed: a block that is in cache is at most a few percent slower by the BLAS
 * call, and up to a seventh faster where it is added to c. */
enum status gemm_compute(struct gemm_scratch *scratch, const struct gemm *gemm)
{
    struct gemm_plan *plan;

    if (gemm->dtype_ab == DTYPE_F32)
        return multiply_fp32(gemm);
    TRY(plan_for(scratch->gemms, gemm, &plan));
    return run_plan(scratch, plan, gemm->c, gemm->a, gemm->b);
}

static enum status run_gemm(struct cpu_stream *stream, const struct item *item)
{
    return run_plan(stream->gemm_scratch, item->gemm.plan, item->gemm.c, item->gemm.a,
                    item->gemm.b);
}

static void show_gemm(const struct cpu_stream *stream, const struct item *item,
                      struct activity *activity)
{
    const struct shape *shape = &item->gemm.plan->shape;

    (void)stream;
    activity->kind = ACTIVITY_KERNEL;
    activity->name = item->gemm.plan->name;
    activity->grid[0] = (uint32_t)(shape->m * shape->batch);
    activity->grid[1] = activity->grid[2] = 1;
    activity->block[0] = activity->block[1] = activity->block[2] = 1;
}

static const struct cpu_work gemm_work = { .run = run_gemm, .show = show_gemm };

enum status cpu_gemm(struct stream *base, const struct gemm *gemm)
{
    enum status status = STATUS_OK;
    struct cpu_stream *stream = (struct cpu_stream *)base;
    struct cpu_device *device = (struct cpu_device *)base->device;
    struct call call = call_begin(device);
    struct gemm_plan *plan;
    struct item *item;

    TRY_OUT(plan_for(device->gemms, gemm, &plan));
    TRY_OUT(stream_claim(stream, &item));
    item->work = &gemm_work;
    item->correlation = call.correlation;
    item->gemm.plan = plan;
    item->gemm.c = gemm->c;
    item->gemm.a = gemm->a;
    item->gemm.b = gemm->b;
    stream_submit(stream);

out:
    call_end(device, &call, "cudaLaunchKernel");
    return status;
}
