/* AdamW in three forms over the same moments: a table of chunks for one kernel, a kernel for each
 * tensor, or six. The norm of all gradients is summed up in chunks too, always in one order.
 *
 * Step number, learning rate, scale of the loss and norm are in device memory (struct step_state),
 * so that the update needs no answer from the host and can be part of a graph. Two settings bring
 * the host back into it, as loops often do: clips_on_device off, and reads_overflow. */
#include "harness/engine/model/model_optimizer.h"

#include "harness/base/rows.h"
#include "harness/engine/model/encoder.h"
#include "harness/engine/model/ops/tensor_sums.h"

#include <math.h>
#include <stdlib.h>

/* Elements in a row of the multi-tensor table and of the norm's partial sums: enough that a row's
 * work hides its overhead, few enough that rows of a small model fill a GPU. */
enum { CHUNK = OPTIMIZER_CHUNK };

struct optimizer {
    struct optimizer_config config;
    const struct parameter *parameters;
    int count;
    const struct optimizer_piece *pieces; /* NULL: all of each */
    struct allocator *allocator;
    struct stream *stream;
    struct step_state *state;
    struct moments *moments;
    float *partial; /* [chunks]: each tensor's in order */
    int chunks;
    struct tensor_chunk *table;      /* multi-tensor form */
    struct tensor_chunk *norm_table; /* the same without what the norm has from other ranks */
    bool is_shared;                  /* other ranks have the rest of the norm's partial sums */
    float *work;                     /* unfused form: as long as the longest tensor */
    float *read;                     /* pinned host memory, where the host decides on something */
};

static enum dtype dtype_of(const struct optimizer *optimizer)
{
    return optimizer->parameters[0].value->dtype;
}

/* As torch.amp.GradScaler does: small gradients would be 0 in fp16. */
static bool scales_loss(const struct optimizer *optimizer)
{
    return dtype_of(optimizer) == DTYPE_F16;
}

static int chunks_of(const struct tensor *tensor)
{
    return (int)((tensor->elements + CHUNK - 1) / CHUNK);
}

static struct optimizer_piece own_piece(const struct optimizer *optimizer, int index)
{
    const struct parameter *p = &optimizer->parameters[index];

    if (optimizer->pieces != NULL)
        return optimizer->pieces[index];
    return (struct optimizer_piece){ 0, p->elsewhere ? 0 : p->value->elements, NULL };
}

static float decay_of(const struct optimizer *optimizer, int index)
{
    return optimizer->parameters[index].decays ? (float)optimizer->config.decay : 0;
}

static enum status alloc_floats(struct optimizer *optimizer, enum allocator_category category,
                                int64_t count, float **floats)
{
    return allocator_alloc(optimizer->allocator, category, (size_t)count * sizeof(float),
                           (void **)floats);
}

/* They begin at 0. */
static enum status allocate_moments(struct optimizer *optimizer, int index)
{
    struct moments *moments = &optimizer->moments[index];
    int64_t count = own_piece(optimizer, index).count;
    size_t bytes = (size_t)count * sizeof(float);

    if (count == 0)
        return STATUS_OK;
    TRY(alloc_floats(optimizer, MEMORY_OPTIMIZER, count, &moments->m));
    TRY(alloc_floats(optimizer, MEMORY_OPTIMIZER, count, &moments->v));
    TRY(device_memset(optimizer->stream, moments->m, 0, bytes));
    return device_memset(optimizer->stream, moments->v, 0, bytes);
}

/* The norm's partial sums and the work space need no value. */
static enum status allocate_state(struct optimizer *optimizer)
{
    int64_t longest = 0;

    for (int i = 0; i < optimizer->count; i++) {
        const struct tensor *value = optimizer->parameters[i].value;
        optimizer->chunks += chunks_of(value);
        if (value->elements > longest)
            longest = value->elements;
        TRY(allocate_moments(optimizer, i));
    }
    TRY(alloc_floats(optimizer, MEMORY_WORKSPACE, optimizer->chunks, &optimizer->partial));
    if (optimizer->config.form == OPTIMIZER_UNFUSED)
        TRY(alloc_floats(optimizer, MEMORY_WORKSPACE, longest, &optimizer->work));
    TRY(allocator_alloc(optimizer->allocator, MEMORY_OPTIMIZER, sizeof *optimizer->state,
                        (void **)&optimizer->state));
    return device_copy(
        optimizer->stream, COPY_HOST_TO_DEVICE, optimizer->state,
        &(struct step_state){ .step = -1,
                              .loss_scale = scales_loss(optimizer) ? LOSS_SCALE_FIRST : 1 },
        sizeof *optimizer->state);
}

/* The row of the chunk that begins at element `at` of a parameter. Those that other ranks update
 * are empty: the kernels do nothing there, and their sum of squares is 0. */
static struct tensor_chunk chunk_at(const struct optimizer *optimizer, int index, int64_t at)
{
    const struct parameter *p = &optimizer->parameters[index];
    struct optimizer_piece piece = own_piece(optimizer, index);
    size_t offset = (size_t)at * dtype_bytes(p->value->dtype);
    int64_t left = p->value->elements - at;
    float *values;

    if (at < piece.first || at >= piece.first + piece.count)
        return (struct tensor_chunk){ .count = 0 };
    values = piece.values != NULL ? piece.values + (at - piece.first) : NULL;
    return (struct tensor_chunk){
        .parameter = values != NULL ? (char *)values : (char *)p->value->data + offset,
        .gradient = (char *)p->value->gradient->data + offset,
        .master = values != NULL ? values : p->master + at,
        .m = optimizer->moments[index].m + (at - piece.first),
        .v = optimizer->moments[index].v + (at - piece.first),
        .decay = decay_of(optimizer, index),
        .count = (int32_t)(left < CHUNK ? left : CHUNK),
    };
}

/* The table of all tensors' chunks, made on the host and copied to the device. For the norm, chunks
 * that it has from another rank are empty. */
static enum status make_table(struct optimizer *optimizer, bool for_norm,
                              struct tensor_chunk **made)
{
    enum status status = STATUS_OK;
    size_t bytes = (size_t)optimizer->chunks * sizeof(struct tensor_chunk);
    struct tensor_chunk *table;
    int chunk = 0;

    TRY_OUT(rows_make(&table, optimizer->chunks));
    for (int i = 0; i < optimizer->count; i++) {
        const struct parameter *p = &optimizer->parameters[i];
        /* Rows are numbered over all tensors; those left out keep their place, so sums have one
         * order. */
        for (int64_t at = 0; at < p->value->elements; at += CHUNK, chunk++)
            if (!for_norm || !p->counted_elsewhere)
                table[chunk] = chunk_at(optimizer, i, at);
    }
    TRY_OUT(allocator_alloc(optimizer->allocator, MEMORY_OPTIMIZER, bytes, (void **)made));
    TRY_OUT(device_copy(optimizer->stream, COPY_HOST_TO_DEVICE, *made, table, bytes));

out:
    free(table);
    return status;
}

enum status optimizer_open(struct optimizer **opened, const struct optimizer_config *config,
                           const struct parameter *parameters, int count,
                           const struct optimizer_piece *pieces, struct allocator *allocator,
                           struct stream *stream)
{
    enum status status = STATUS_OK;
    struct optimizer *optimizer;
    bool differs = false; /* the norm's table from the update's */

    *opened = NULL;
    TRY_OUT(rows_make(&optimizer, 1));
    optimizer->config = *config;
    optimizer->parameters = parameters;
    optimizer->count = count;
    optimizer->pieces = pieces;
    optimizer->is_shared = pieces != NULL;
    for (int i = 0; i < count; i++) {
        optimizer->is_shared = optimizer->is_shared || parameters[i].elsewhere;
        differs = differs || parameters[i].counted_elsewhere;
    }
    optimizer->allocator = allocator;
    optimizer->stream = stream;
    TRY_OUT(rows_make(&optimizer->moments, count));
    TRY_OUT(allocate_state(optimizer));
    if (config->form == OPTIMIZER_MULTI_TENSOR) {
        TRY_OUT(make_table(optimizer, false, &optimizer->table));
        if (differs)
            TRY_OUT(make_table(optimizer, true, &optimizer->norm_table));
    }
    if (!config->clips_on_device || config->reads_overflow)
        TRY_OUT(host_alloc(stream_device(stream), true, sizeof *optimizer->read,
                           (void **)&optimizer->read));
    *opened = optimizer;
    optimizer = NULL;

out:
    optimizer_close(optimizer);
    return status;
}

void optimizer_close(struct optimizer *optimizer)
{
    if (optimizer == NULL)
        return;
    for (int i = 0; optimizer->moments != NULL && i < optimizer->count; i++) {
        allocator_free(optimizer->allocator, optimizer->moments[i].m);
        allocator_free(optimizer->allocator, optimizer->moments[i].v);
    }
    allocator_free(optimizer->allocator, optimizer->partial);
    allocator_free(optimizer->allocator, optimizer->work);
    allocator_free(optimizer->allocator, optimizer->table);
    allocator_free(optimizer->allocator, optimizer->norm_table);
    allocator_free(optimizer->allocator, optimizer->state);
    if (optimizer->read != NULL)
        host_free(stream_device(optimizer->stream), true, optimizer->read);
    free(optimizer->moments);
    free(optimizer);
}

struct moments optimizer_moments(const struct optimizer *optimizer, int parameter)
{
    return optimizer->moments[parameter];
}

int64_t optimizer_state_bytes(const struct optimizer *optimizer)
{
    int64_t floats = 0;

    for (int i = 0; i < optimizer->count; i++) {
        const struct parameter *p = &optimizer->parameters[i];
        floats += 2 * own_piece(optimizer, i).count;
        if (p->master != p->value->data)
            floats += p->value->elements;
    }
    return floats * (int64_t)sizeof(float);
}

struct step_state *optimizer_state(const struct optimizer *optimizer)
{
    return optimizer->state;
}

enum status optimizer_begin(struct optimizer *optimizer)
{
    return LAUNCH(optimizer->stream, DTYPE_F32, step_advance, 1, .state = optimizer->state,
                  .rate = (float)optimizer->config.rate, .warmup = optimizer->config.warmup,
                  .width = ROW_MULTIPLE);
}

/* One row that adds the partial sums up and sets the scale of all gradients. */
static enum status finish_norm(struct optimizer *optimizer, double max_norm)
{
    return LAUNCH(optimizer->stream, DTYPE_F32, gradient_norm_finish, 1, .state = optimizer->state,
                  .partial = optimizer->partial, .count = optimizer->chunks,
                  .max_norm = (float)max_norm, .width = ROW_MULTIPLE);
}

/* `if norm > max_norm`, with the norm brought to the host: it waits for all work queued so far. The
 * second launch computes what the device's own decision would. */
static enum status clip_from_host(struct optimizer *optimizer)
{
    double max_norm = optimizer->config.max_norm;

    TRY(finish_norm(optimizer, 0));
    TRY(device_copy(optimizer->stream, COPY_DEVICE_TO_HOST, optimizer->read,
                    &optimizer->state->gradient_norm, sizeof *optimizer->read));
    if (max_norm > 0 && isfinite(*optimizer->read) && *optimizer->read > max_norm)
        TRY(finish_norm(optimizer, max_norm));

    return STATUS_OK;
}

/* Partial sums of squares by the form's own kernels, then the norm. */
static enum status queue_norm(struct optimizer *optimizer)
{
    /* Each partial sum is one rank's, and 0 on the others: added up they are those of all. */
    const struct collective all_reduce = { COLLECTIVE_ALL_REDUCE, optimizer->partial,
                                           optimizer->chunks, .dtype = DTYPE_F32 };
    int chunk = 0;

    if (optimizer->config.form == OPTIMIZER_MULTI_TENSOR)
        TRY(LAUNCH(optimizer->stream, dtype_of(optimizer), square_sum_multi, optimizer->chunks,
                   .partial = optimizer->partial,
                   .table =
                       optimizer->norm_table != NULL ? optimizer->norm_table : optimizer->table,
                   .width = CHUNK));
    else
        for (int i = 0; i < optimizer->count; i++) {
            const struct tensor *gradient = optimizer->parameters[i].value->gradient;
            TRY(LAUNCH(optimizer->stream, gradient->dtype, square_sum, chunks_of(gradient),
                       .partial = optimizer->partial + chunk, .x = gradient->data,
                       .count = gradient->elements, .width = CHUNK));
            chunk += chunks_of(gradient);
        }
    if (optimizer->is_shared)
        TRY(device_collective(optimizer->stream, &all_reduce));
    return optimizer->config.clips_on_device ? finish_norm(optimizer, optimizer->config.max_norm)
                                             : clip_from_host(optimizer);
}

static enum status update_tensor(struct optimizer *optimizer, int index)
{
    const struct parameter *p = &optimizer->parameters[index];
    const struct tensor *value = p->value;

    return LAUNCH(optimizer->stream, value->dtype, adamw, (long)value->elements,
                  .parameter = value->data, .gradient = value->gradient->data, .master = p->master,
                  .m = optimizer->moments[index].m, .v = optimizer->moments[index].v,
                  .state = optimizer->state, .decay = decay_of(optimizer, index));
}

/* The steps of AdamW as separate kernels, each over the whole tensor. */
static enum status update_tensor_unfused(struct optimizer *optimizer, int index)
{
    const struct parameter *p = &optimizer->parameters[index];
    const struct tensor *value = p->value, *gradient = value->gradient;
    const struct step_state *state = optimizer->state;
    struct stream *stream = optimizer->stream;
    float *m = optimizer->moments[index].m, *v = optimizer->moments[index].v;
    float *work = optimizer->work;
    long count = (long)value->elements;
    enum dtype dtype = value->dtype;

    TRY(LAUNCH(stream, dtype, adamw_decay, count, .master = p->master, .state = state,
               .decay = decay_of(optimizer, index)));
    TRY(LAUNCH(stream, dtype, adamw_momentum, count, .m = m, .gradient = gradient->data,
               .state = state));
    TRY(LAUNCH(stream, dtype, adamw_variance, count, .v = v, .gradient = gradient->data,
               .state = state));
    TRY(LAUNCH(stream, dtype, adamw_root, count, .work = work, .v = v));
    TRY(LAUNCH(stream, dtype, adamw_denominator, count, .work = work, .state = state));
    return LAUNCH(stream, dtype, adamw_update, count, .parameter = value->data, .master = p->master,
                  .m = m, .work = work, .state = state);
}

enum status optimizer_update(struct optimizer *optimizer)
{
    bool overflow = false; /* The device knows in any case, and skips the update by itself. */

    TRY(queue_norm(optimizer));
    if (scales_loss(optimizer) && optimizer->config.reads_overflow) {
        /* `if not found_inf.item()`, as torch.amp.GradScaler.step() has it: waits for all work
         * queued so far. */
        TRY(device_copy(optimizer->stream, COPY_DEVICE_TO_HOST, optimizer->read,
                        &optimizer->state->gradient_scale, sizeof *optimizer->read));
        overflow = *optimizer->read < 0;
    }
    if (!overflow) {
        if (optimizer->config.form == OPTIMIZER_MULTI_TENSOR)
            TRY(LAUNCH(optimizer->stream, dtype_of(optimizer), adamw_multi, optimizer->chunks,
                       .table = optimizer->table, .state = optimizer->state, .width = CHUNK));
        else
            for (int i = 0; i < optimizer->count; i++)
                TRY(optimizer->config.form == OPTIMIZER_PER_TENSOR
                        ? update_tensor(optimizer, i)
                        : update_tensor_unfused(optimizer, i));
    }
    if (scales_loss(optimizer))
        TRY(LAUNCH(optimizer->stream, DTYPE_F32, loss_scale_update, 1, .state = optimizer->state,
                   .interval = optimizer->config.scale_interval, .width = ROW_MULTIPLE));

    return STATUS_OK;
}

enum status optimizer_skipped(struct optimizer *optimizer, int64_t *updates)
{
    int32_t overflows = 0;

    TRY(device_copy(optimizer->stream, COPY_DEVICE_TO_HOST, &overflows,
                    &optimizer->state->overflows, sizeof overflows));
    *updates = overflows;

    return STATUS_OK;
}

enum status optimizer_sum_state(const struct optimizer *optimizer, struct tensor_sums *sums)
{
    return tensor_sums_add_memory(sums, "optimizer", "optimizer_state", "", optimizer->state,
                                  sizeof *optimizer->state);
}

/* Moments are of this rank's piece only. */
static enum status sum_parameter(const struct optimizer *optimizer, int index, const char *after,
                                 struct tensor_sums *sums)
{
    const struct parameter *p = &optimizer->parameters[index];
    const struct moments *moments = &optimizer->moments[index];
    size_t bytes = (size_t)p->value->elements * sizeof(float);
    size_t own_bytes = (size_t)own_piece(optimizer, index).count * sizeof(float);

    TRY(tensor_sums_add(sums, after, false, p->value));
    if (p->master != p->value->data)
        TRY(tensor_sums_add_memory(sums, after, p->value->name, ".master", p->master, bytes));
    if (own_bytes == 0)
        return STATUS_OK;
    TRY(tensor_sums_add_memory(sums, after, p->value->name, ".m", moments->m, own_bytes));
    return tensor_sums_add_memory(sums, after, p->value->name, ".v", moments->v, own_bytes);
}

enum status optimizer_sum_parameters(const struct optimizer *optimizer, const char *after,
                                     struct tensor_sums *sums)
{
    for (int i = 0; sums != NULL && i < optimizer->count; i++)
        TRY(sum_parameter(optimizer, i, after, sums));

    return STATUS_OK;
}

enum status optimizer_sum_update(const struct optimizer *optimizer, struct tensor_sums *sums)
{
    TRY(tensor_sums_add_memory(sums, "optimizer", "gradient_norm_partials", "", optimizer->partial,
                               (size_t)optimizer->chunks * sizeof *optimizer->partial));
    TRY(optimizer_sum_state(optimizer, sums));
    return optimizer_sum_parameters(optimizer, "optimizer", sums);
}
