/* How fast the training step's optimizer updates the parameters of N blocks of the heavy model:
 * with one kernel for all tensors, one per tensor, or six per tensor. An update is the step's own:
 * the gradient's norm, clipping by it, and AdamW. */
#include "benches/parts/kernel_work.h"
#include "benches/parts/operand.h"
#include "harness/base/rows.h"
#include "harness/engine/model/encoder.h"
#include "harness/engine/model/model_optimizer.h"
#include "harness/engine/settings/roles.h"

#include <math.h>
#include <stdlib.h>

#define RATE     1e-3
#define DECAY    0.1
#define MAX_NORM 1.0

/* A block's parameters by the model's width w: rows * w in one direction, columns * w in the other;
 * a vector has 0 rows. As encoder_build.c has them: norm, qkv, out, norm, up, down. */
static const struct {
    int rows, columns;
} shapes[] = {
    { 0, 1 }, { 0, 1 }, { 1, 3 }, { 0, 3 }, { 1, 1 }, { 0, 1 },
    { 0, 1 }, { 0, 1 }, { 1, 4 }, { 0, 4 }, { 4, 1 }, { 0, 1 },
};

/* One copy of the parameters, as an optimizer wants them. */
struct set {
    struct tensor *values, *gradients;
    struct parameter *parameters;
    struct optimizer *optimizer;
};

struct own {
    int width, tensors;
    int64_t elements;
    struct operand value, gradient;
    struct operand master; /* bf16 only; in fp32 the value is its own */
    struct allocator *allocator;
    struct set *sets; /* [copies] */
};

static int64_t elements_of(const struct own *own, int tensor)
{
    int shape = tensor % (int)ARRAY_SIZE(shapes);
    int64_t rows = (int64_t)shapes[shape].rows * own->width;

    return (rows > 0 ? rows : 1) * shapes[shape].columns * own->width;
}

static bool decays(int tensor)
{
    return shapes[tensor % (int)ARRAY_SIZE(shapes)].rows > 0;
}

static enum status adamw_run(struct bench_work *work, int64_t iterations)
{
    const struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++) {
        const struct set *set = &own->sets[operands_next(work)];
        TRY(optimizer_begin(set->optimizer));
        TRY(optimizer_update(set->optimizer));
    }
    return stream_synchronize(work->stream);
}

static enum status open_set(struct bench_work *work, int copy)
{
    const struct own *own = work->own;
    const struct optimizer_config config = { .form = (enum optimizer_form)work->bench->variant,
                                             .rate = RATE,
                                             .decay = DECAY,
                                             .max_norm = MAX_NORM };
    struct set *set = &own->sets[copy];
    enum dtype dtype = work->bench->dtype;
    size_t at = 0;

    TRY(rows_make(&set->values, own->tensors));
    TRY(rows_make(&set->gradients, own->tensors));
    TRY(rows_make(&set->parameters, own->tensors));
    for (int i = 0; i < own->tensors; i++) {
        char *value = (char *)operand_at(&own->value, copy) + at * dtype_bytes(dtype);
        char *gradient = (char *)operand_at(&own->gradient, copy) + at * dtype_bytes(dtype);
        set->gradients[i] = (struct tensor){ .dtype = dtype, .data = gradient };
        set->values[i] =
            (struct tensor){ .dtype = dtype, .data = value, .gradient = &set->gradients[i] };
        set->gradients[i].elements = set->values[i].elements = elements_of(own, i);
        set->parameters[i] = (struct parameter){
            .value = &set->values[i],
            .master = dtype == DTYPE_F32 ? set->values[i].data
                                         : (float *)operand_at(&own->master, copy) + at,
            .decays = decays(i),
        };
        at += (size_t)elements_of(own, i);
    }
    return optimizer_open(&set->optimizer, &config, set->parameters, own->tensors, NULL,
                          own->allocator, work->stream);
}

/* The first update of weight w, in double precision: m and v are the gradient and its square, less
 * what the corrections put right. */
static double updated(double w, double gradient, bool is_decayed)
{
    double direction = gradient / (fabs(gradient) + (double)ADAMW_EPSILON);

    return w * (1 - RATE * (is_decayed ? DECAY : 0)) - RATE * direction;
}

static enum status adamw_check(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    struct operand *weights = own->master.count > 0 ? &own->master : &own->value;
    double *before = NULL, squares = 0, scale;
    int tensor = 0;
    int64_t end = elements_of(own, 0);

    TRY_OUT(rows_make(&before, own->elements));
    for (int64_t i = 0; i < own->elements; i++) {
        before[i] = operand_value(weights, i);
        squares += pow(operand_value(&own->gradient, i), 2);
    }
    /* Clipping as torch.nn.utils.clip_grad_norm_() has it, with its 1e-6. */
    scale = fmin(1, MAX_NORM / (sqrt(squares) + 1e-6));
    TRY_OUT(adamw_run(work, 1));
    TRY_OUT(operand_read(weights, work));
    TRY_OUT(operand_read(&own->value, work));
    for (int64_t i = 0; i < own->elements; i++) {
        while (i >= end) end += elements_of(own, ++tensor);
        TRY_OUT(operand_check(
            weights, work->bench->name, i,
            updated(before[i], scale * operand_value(&own->gradient, i), decays(tensor)), 1e-6));
        TRY_OUT(operand_check(&own->value, work->bench->name, i, operand_value(weights, i), 0));
    }

out:
    free(before);
    return status;
}

static void count_work(struct bench_work *work)
{
    static const enum kernel fused[] = { KERNEL_square_sum, KERNEL_adamw };
    static const enum kernel unfused[] = { KERNEL_square_sum,     KERNEL_adamw_decay,
                                           KERNEL_adamw_momentum, KERNEL_adamw_variance,
                                           KERNEL_adamw_root,     KERNEL_adamw_denominator,
                                           KERNEL_adamw_update };
    const struct own *own = work->own;
    const bool is_unfused = work->bench->variant == OPTIMIZER_UNFUSED;
    const enum kernel *kernels = is_unfused ? unfused : fused;

    for (size_t i = 0; i < (is_unfused ? ARRAY_SIZE(unfused) : ARRAY_SIZE(fused)); i++) {
        work->bytes += kernel_bytes(kernels[i], work->bench->dtype,
                                    (struct kernel_extent){ .elements = own->elements });
        work->flops += kernel_flops(kernels[i], own->elements);
    }
    work->items = own->elements;
}

static enum status adamw_set_up(struct bench_work *work)
{
    enum { STATE = 3 * sizeof(float) }; /* master and moments of an element */
    struct own *own = work->own;
    enum dtype dtype = work->bench->dtype;

    own->width = role_sizes(ROLE_HEAVY, device_properties(work->device))->width;
    own->tensors = (int)(work->argument * (int64_t)ARRAY_SIZE(shapes));
    for (int i = 0; i < own->tensors; i++) own->elements += elements_of(own, i);
    operands_rotate(work, own->elements * (STATE + 2 * (int64_t)dtype_bytes(dtype)));
    TRY(operand_open(&own->value, work, dtype, own->elements));
    TRY(operand_open(&own->gradient, work, dtype, own->elements));
    if (dtype != DTYPE_F32)
        TRY(operand_open(&own->master, work, DTYPE_F32, own->elements));
    TRY(allocator_open(&own->allocator, work->stream,
                       &(struct allocator_config){ .mode = ALLOCATION_CACHING }));
    TRY(rows_make(&own->sets, work->copies));
    for (int i = 0; i < work->copies; i++) TRY(open_set(work, i));
    TRY(adamw_check(work));
    count_work(work);

    return STATUS_OK;
}

static void adamw_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    for (int i = 0; own->sets != NULL && i < work->copies; i++) {
        optimizer_close(own->sets[i].optimizer);
        free(own->sets[i].parameters);
        free(own->sets[i].values);
        free(own->sets[i].gradients);
    }
    free(own->sets);
    allocator_close(own->allocator);
}

#define ADAMW(form, text_, variant_)                                                               \
    BENCH_KERNEL(adamw_##form, .text = text_, .variant = variant_, .arguments = { 1, 8 },          \
                 .arguments_large = { 1, 4 }, .own_bytes = sizeof(struct own),                     \
                 .set_up = adamw_set_up, .run = adamw_run, .tear_down = adamw_tear_down)

ADAMW(multi_tensor, "an update of N blocks' parameters, one kernel; items are parameters",
      OPTIMIZER_MULTI_TENSOR);
ADAMW(per_tensor, "an update of N blocks' parameters, one kernel per tensor; items are parameters",
      OPTIMIZER_PER_TENSOR);
ADAMW(unfused, "an update of N blocks' parameters, six kernels per tensor; items are parameters",
      OPTIMIZER_UNFUSED);
