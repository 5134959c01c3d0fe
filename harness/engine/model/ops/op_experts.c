/* A mixture of experts in place of a block's MLP: a router sends each token to one of several MLPs,
 * which are on different ranks (Lepikhin et al.: "GShard", 2020; Fedus et al.: "Switch
 * Transformer", 2021).
 *
 * Every rank has as many experts, in order. A token's vector goes to the rank of its expert by an
 * all-to-all, is computed there with those of all other ranks, and comes back by another; in
 * backward its gradient goes the same ways. No token is dropped, so a rank computes as many as the
 * routers choose, and the host reads these numbers before it can launch the rest: it waits for the
 * device once per mixture.
 *
 * An expert's tokens are in the order of ranks and of their rows there, so they are in the same
 * order for any number of ranks. The update adds up the gradients of experts on their rank alone,
 * and those of routers on all.
 *
 * Products of experts have no epilogues: their rows change from step to step, and a library chooses
 * its kernel anew for each number of rows.
 *
 * How much goes where is known only when the router has chosen. So the first op brings the counts
 * of all ranks to the host, and the tensors of what is received get their sizes before the op that
 * allocates them begins. */
#include "harness/base/rows.h"
#include "harness/engine/model/ops/op_build.h"

#include <stdio.h>
#include <stdlib.h>

/* The balancing bias changes by so much, in units of a gate, per step in which an expert has twice
 * the mean. The paper's 0.001 is for thousands of steps. */
#define BALANCE_RATE 0.05f

struct mixture {
    struct device *device;
    const struct model_shape *shape;
    struct expert_tensors tensors;
    struct mixture_options options;
    int own;                               /* experts on this rank */
    float *counts;                         /* pinned memory: as the tensor */
    struct collective_piece *there, *back; /* [ranks, own] */
    int *rows;                             /* [own]: tokens of each expert here */
};

/* --- Opening --- */

enum status mixture_open(struct mixture **opened, struct device *device,
                         const struct model_shape *shape, const struct mixture_options *options)
{
    enum status status = STATUS_OK;
    struct mixture *mixture;
    size_t counts_bytes = (size_t)options->ranks * (size_t)options->experts * sizeof(float);

    *opened = NULL;
    TRY_OUT(rows_make(&mixture, 1));
    mixture->device = device;
    mixture->shape = shape;
    mixture->options = *options;
    mixture->own = options->experts / options->ranks;
    TRY_OUT(rows_make(&mixture->there, options->experts));
    TRY_OUT(rows_make(&mixture->back, options->experts));
    TRY_OUT(rows_make(&mixture->rows, mixture->own));
    TRY_OUT(host_alloc(device, true, counts_bytes, (void **)&mixture->counts));
    *opened = mixture;
    mixture = NULL;

out:
    mixture_close(mixture);
    return status;
}

void mixture_close(struct mixture *mixture)
{
    if (mixture == NULL)
        return;
    if (mixture->counts != NULL)
        host_free(mixture->device, true, mixture->counts);
    free(mixture->there);
    free(mixture->back);
    free(mixture->rows);
    free(mixture);
}

/* y [m, n] (+)= a b, by the rows of each: [m, k] and [k, n], or turned. */
static enum status multiply_rows(const struct op_context *context, const struct op *op,
                                 const struct tensor *y, const struct tensor *a, bool turn_a,
                                 const struct tensor *b, bool turn_b, bool accumulate)
{
    int rows_a = (int)(a->elements / a->width), width_a = (int)a->width;
    struct gemm gemm = op_gemm(op, y, a, b);

    gemm.m = turn_a ? width_a : rows_a;
    gemm.k = turn_a ? rows_a : width_a;
    gemm.n = gemm.ldc = (int)y->width;
    gemm.lda = width_a;
    gemm.ldb = (int)b->width;
    gemm.transpose_a = turn_a;
    gemm.transpose_b = turn_b;
    gemm.accumulate = accumulate;
    return device_gemm(context->stream, &gemm);
}

/* --- Routing --- */

/* Tokens that rank `rank` has for expert `expert`. */
static int64_t tokens_for(const struct mixture *mixture, int rank, int expert)
{
    return (int64_t)mixture->counts[rank * mixture->options.experts + expert];
}

/* This rank sends its tokens sorted by expert, so by rank and by expert there. */
static void plan_sent(struct mixture *mixture)
{
    const struct mixture_options *options = &mixture->options;
    int64_t at = 0, width = mixture->shape->width;

    for (int expert = 0; expert < options->experts; expert++) {
        struct collective_piece *piece = &mixture->there[expert];
        piece->sent_first = at;
        piece->sent = tokens_for(mixture, options->rank, expert) * width;
        at += piece->sent;
    }
}

/* It receives tokens sorted by expert, and then by rank: so an expert computes all of its tokens at
 * once. */
static void plan_received(struct mixture *mixture)
{
    const struct mixture_options *options = &mixture->options;
    int64_t at = 0, width = mixture->shape->width;

    for (int i = 0; i < mixture->own; i++) {
        int64_t first = at;
        for (int rank = 0; rank < options->ranks; rank++) {
            struct collective_piece *piece = &mixture->there[rank * mixture->own + i];
            piece->received_first = at;
            piece->received = tokens_for(mixture, rank, options->rank * mixture->own + i) * width;
            at += piece->received;
        }
        mixture->rows[i] = (int)((at - first) / width);
    }
}

/* Tensors of what is received have as many rows, and one at least: there is no memory of no
 * bytes. */
static void size_received(struct mixture *mixture)
{
    const struct expert_tensors *t = &mixture->tensors;
    struct tensor *const sized[] = { t->received,      t->computed,           t->expanded,
                                     t->gelu,          t->received->gradient, t->computed->gradient,
                                     t->gelu->gradient };
    int64_t rows = 0;

    for (int i = 0; i < mixture->own; i++) rows += mixture->rows[i];
    for (size_t i = 0; i < ARRAY_SIZE(sized); i++)
        sized[i]->elements = (rows > 0 ? rows : 1) * sized[i]->width;
}

static int32_t *experts_of(const struct tensor *routes)
{
    return routes->data;
}

static int32_t *places_of(const struct tensor *routes)
{
    return (int32_t *)routes->data + routes->elements / 2;
}

/* Counts of all ranks come to the host, which waits for them. */
static enum status read_counts(const struct op *op, const struct op_context *context,
                               const struct tensor *counts, const struct tensor *routes)
{
    const struct mixture_options *options = &op->mixture->options;
    const int all = options->ranks * options->experts;
    const struct collective all_gather = { COLLECTIVE_ALL_GATHER, counts->data, all,
                                           .dtype = DTYPE_F32 };

    TRY(LAUNCH(context->stream, DTYPE_F32, count_tokens, options->experts,
               .counts = (float *)counts->data + options->rank * options->experts,
               .expert = experts_of(routes), .count = op->rows, .width = ROW_MULTIPLE));
    if (options->ranks > 1)
        TRY(device_collective(context->stream, &all_gather));
    return device_copy(context->stream, COPY_DEVICE_TO_HOST, op->mixture->counts, counts->data,
                       (size_t)all * sizeof(float));
}

/* Chooses, sends the tokens' vectors into the order of experts, and plans both exchanges from
 * the counts of all ranks. */
static enum status route_forward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads, *const *writes = op->forward.writes;
    const struct tensor *x = reads[0], *logits = writes[0], *routes = writes[1];
    struct mixture *mixture = op->mixture;

    TRY(multiply_rows(context, op, logits, x, false, reads[1], false, false));
    TRY(LAUNCH(context->stream, x->dtype, route_tokens, op->rows, .expert = experts_of(routes),
               .gate = writes[2]->data, .logits = logits->data, .bias = reads[2]->data,
               .width = op->out, .experts = mixture->options.experts));
    TRY(LAUNCH(context->stream, x->dtype, dispatch_tokens, op->rows, .place = places_of(routes),
               .y = writes[4]->data, .x = x->data, .expert = experts_of(routes), .width = op->in,
               .count = op->rows));
    TRY(read_counts(op, context, writes[3], routes));
    plan_sent(mixture);
    plan_received(mixture);
    for (int i = 0; i < mixture->options.experts; i++) {
        const struct collective_piece *there = &mixture->there[i];
        mixture->back[i] = (struct collective_piece){ there->received_first, there->received,
                                                      there->sent_first, there->sent };
    }
    size_received(mixture);
    /* How uneven the routers' choices are: tokens of the busiest rank, and of all. */
    const struct mixture_options *options = &mixture->options;
    int64_t busiest = 0;
    for (int rank = 0; rank < options->ranks; rank++) {
        int64_t tokens = 0;
        for (int from = 0; from < options->ranks; from++)
            for (int i = 0; i < mixture->own; i++)
                tokens += tokens_for(mixture, from, rank * mixture->own + i);
        busiest = tokens > busiest ? tokens : busiest;
        options->tokens->all += tokens;
    }
    options->tokens->busiest += busiest;

    return STATUS_OK;
}

/* dweight = x' dlogits; dx = what comes back from the experts, and dlogits weight'. */
static enum status route_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads, *const *writes = op->backward.writes;
    const struct tensor *routes = reads[1], *logits = reads[3], *dlogits = writes[1];
    const struct mixture_options *options = &op->mixture->options;

    TRY(LAUNCH(context->stream, logits->dtype, route_tokens_backward, op->rows,
               .dlogits = dlogits->data, .logits = logits->data, .dgate = reads[2]->data,
               .expert = experts_of(routes), .width = op->out, .experts = options->experts));
    TRY(LAUNCH(context->stream, logits->dtype, combine_tokens, op->rows, .y = writes[2]->data,
               .x = reads[0]->data, .place = places_of(routes), .gate = NULL, .width = op->in));
    TRY(multiply_rows(context, op, writes[0], reads[4], true, dlogits, false, context->accumulate));
    TRY(multiply_rows(context, op, writes[2], dlogits, false, reads[5], true, true));
    if (options->balances)
        TRY(LAUNCH(context->stream, DTYPE_F32, balance_experts, 1, .bias = writes[3]->data,
                   .counts = reads[6]->data, .rate = BALANCE_RATE, .experts = options->experts,
                   .ranks = options->ranks, .width = ROW_MULTIPLE));

    return STATUS_OK;
}

static struct op op_route(struct mixture *mixture)
{
    const struct expert_tensors *t = &mixture->tensors;
    struct op op = { .rows = mixture->shape->rows,
                     .in = mixture->shape->width,
                     .out = (int)t->router->width };

    op.forward = (struct pass){ route_forward,
                                { t->x, t->router, t->bias },
                                { t->logits, t->routes, t->gate, t->counts, t->sent },
                                0,
                                2 * (int64_t)op.rows * op.in * op.out };
    op.backward =
        (struct pass){ route_backward,
                       { t->sent->gradient, t->routes, t->gate->gradient, t->logits, t->x,
                         t->router, t->counts },
                       { t->router->gradient, t->logits->gradient, t->x->gradient, t->bias },
                       0,
                       2 * op.forward.flops };
    return op;
}

/* --- There and back --- */

/* One rank keeps what it has, which is sorted by expert on both sides. */
static enum status exchange(const struct op *op, const struct op_context *context,
                            const struct pass *pass, const struct collective_piece *pieces)
{
    const struct tensor *from = pass->reads[0], *to = pass->writes[0];
    struct collective all_to_all = { .kind = COLLECTIVE_ALL_TO_ALL,
                                     .data = from->data,
                                     .dtype = from->dtype,
                                     .received = to->data,
                                     .pieces = pieces,
                                     .rank_pieces = op->mixture->own };

    if (op->mixture->options.ranks == 1)
        return device_copy_async(context->stream, COPY_DEVICE_TO_DEVICE, to->data, from->data,
                                 tensor_bytes(from));
    for (int i = 0; i < op->mixture->options.experts; i++) all_to_all.count += pieces[i].sent;
    /* On the stream on which gradients travel: ranks must communicate in one order. */
    const struct side_stream *side = context->communication;
    if (side == NULL)
        return device_collective(context->stream, &all_to_all);
    TRY(event_record(side->forked, context->stream));
    TRY(stream_wait_event(side->stream, side->forked));
    TRY(device_collective(side->stream, &all_to_all));
    TRY(event_record(side->joined, side->stream));
    return stream_wait_event(context->stream, side->joined);
}

static enum status dispatch_forward(const struct op *op, const struct op_context *context)
{
    return exchange(op, context, &op->forward, op->mixture->there);
}

static enum status dispatch_backward(const struct op *op, const struct op_context *context)
{
    return exchange(op, context, &op->backward, op->mixture->back);
}

static enum status return_forward(const struct op *op, const struct op_context *context)
{
    return exchange(op, context, &op->forward, op->mixture->back);
}

static enum status return_backward(const struct op *op, const struct op_context *context)
{
    return exchange(op, context, &op->backward, op->mixture->there);
}

static struct op op_exchange(struct tensor *to, struct tensor *from, op_run *forward,
                             op_run *backward)
{
    struct op op = { .exchanges = true };

    op.forward = (struct pass){ forward, { from }, { to }, 0, 0 };
    op.backward = (struct pass){ backward, { to->gradient }, { from->gradient }, 0, 0 };
    return op;
}

/* --- Experts --- */

/* Rows `first` and the `rows - 1` after them. */
static struct tensor rows_of(const struct tensor *tensor, int64_t first, int64_t rows)
{
    struct tensor part = *tensor;

    part.elements = rows * tensor->width;
    part.data = (char *)tensor->data + (size_t)(first * tensor->width) * dtype_bytes(tensor->dtype);
    return part;
}

/* Part `index` of a parameter of which each expert here has an equal one. */
static struct tensor expert_part_of(const struct mixture *mixture, const struct tensor *parameter,
                                    int index)
{
    int64_t rows = parameter->elements / parameter->width / mixture->own;

    return rows_of(parameter, index * rows, rows);
}

/* The rows of one expert, from `first` on. */
static enum status compute_expert(const struct op *op, const struct op_context *context, int index,
                                  int64_t first, int rows)
{
    const struct mixture *mixture = op->mixture;
    const struct expert_tensors *t = &mixture->tensors;
    struct tensor x = rows_of(t->received, first, rows), y = rows_of(t->computed, first, rows);
    struct tensor expanded = rows_of(t->expanded, first, rows),
                  gelu = rows_of(t->gelu, first, rows);
    struct tensor expand = expert_part_of(mixture, t->expand_weight, index);
    struct tensor expand_bias = expert_part_of(mixture, t->expand_bias, index);
    struct tensor contract = expert_part_of(mixture, t->contract_weight, index);
    struct tensor contract_bias = expert_part_of(mixture, t->contract_bias, index);

    TRY(multiply_rows(context, op, &expanded, &x, false, &expand, false, false));
    TRY(LAUNCH(context->stream, x.dtype, bias_gelu_forward, rows, .y = gelu.data,
               .x = expanded.data, .bias = expand_bias.data, .width = op->out));
    TRY(multiply_rows(context, op, &y, &gelu, false, &contract, false, false));
    return LAUNCH(context->stream, x.dtype, bias_add, rows, .y = y.data, .x = y.data,
                  .bias = contract_bias.data, .width = op->in);
}

static enum status experts_forward(const struct op *op, const struct op_context *context)
{
    const struct mixture *mixture = op->mixture;
    int64_t first = 0;

    for (int i = 0; i < mixture->own; i++) {
        if (mixture->rows[i] > 0)
            TRY(compute_expert(op, context, i, first, mixture->rows[i]));
        first += mixture->rows[i];
    }

    return STATUS_OK;
}

/* Backward of compute_expert(), in reverse. */
static enum status differentiate_expert(const struct op *op, const struct op_context *context,
                                        int index, int64_t first, int rows)
{
    const struct mixture *mixture = op->mixture;
    const struct expert_tensors *t = &mixture->tensors;
    struct tensor x = rows_of(t->received, first, rows), gelu = rows_of(t->gelu, first, rows);
    struct tensor expanded = rows_of(t->expanded, first, rows);
    struct tensor dy = rows_of(t->computed->gradient, first, rows);
    struct tensor dgelu = rows_of(t->gelu->gradient, first, rows);
    struct tensor dx = rows_of(t->received->gradient, first, rows);
    struct tensor expand = expert_part_of(mixture, t->expand_weight, index);
    struct tensor expand_bias = expert_part_of(mixture, t->expand_bias, index);
    struct tensor contract = expert_part_of(mixture, t->contract_weight, index);
    struct tensor dexpand = expert_part_of(mixture, t->expand_weight->gradient, index);
    struct tensor dexpand_bias = expert_part_of(mixture, t->expand_bias->gradient, index);
    struct tensor dcontract = expert_part_of(mixture, t->contract_weight->gradient, index);
    struct tensor dcontract_bias = expert_part_of(mixture, t->contract_bias->gradient, index);

    TRY(column_sums(op->shape, context, &dcontract_bias, &dy, t->partial, rows, op->in));
    TRY(multiply_rows(context, op, &dcontract, &gelu, true, &dy, false, context->accumulate));
    TRY(multiply_rows(context, op, &dgelu, &dy, false, &contract, true, false));
    TRY(LAUNCH(context->stream, x.dtype, bias_gelu_backward, rows, .dx = dgelu.data,
               .dy = dgelu.data, .x = expanded.data, .bias = expand_bias.data, .width = op->out));
    TRY(column_sums(op->shape, context, &dexpand_bias, &dgelu, t->partial, rows, op->out));
    TRY(multiply_rows(context, op, &dexpand, &x, true, &dgelu, false, context->accumulate));
    return multiply_rows(context, op, &dx, &dgelu, false, &expand, true, false);
}

/* Gradients of the experts here, one after the other. */
static enum status experts_backward(const struct op *op, const struct op_context *context)
{
    const struct mixture *mixture = op->mixture;
    const struct expert_tensors *t = &mixture->tensors;
    const struct tensor *const parameters[] = { t->expand_weight, t->expand_bias,
                                                t->contract_weight, t->contract_bias };
    int64_t first = 0;

    for (int i = 0; i < mixture->own; i++) {
        if (mixture->rows[i] > 0)
            TRY(differentiate_expert(op, context, i, first, mixture->rows[i]));
        first += mixture->rows[i];
        if (mixture->rows[i] > 0 || context->accumulate)
            continue;
        for (size_t p = 0; p < ARRAY_SIZE(parameters); p++) { /* without tokens, gradients are 0 */
            struct tensor part = expert_part_of(mixture, parameters[p]->gradient, i);
            TRY(device_memset(context->stream, part.data, 0, tensor_bytes(&part)));
        }
    }

    return STATUS_OK;
}

/* The products of the experts here. The flops are those of an average rank, since the number of
 * tokens is known only later. */
static struct op op_compute(struct mixture *mixture)
{
    const struct expert_tensors *t = &mixture->tensors;
    struct op op = { .in = mixture->shape->width, .out = mixture->shape->hidden };

    op.forward = (struct pass){ experts_forward,
                                { t->received, t->expand_weight, t->expand_bias, t->contract_weight,
                                  t->contract_bias },
                                { t->expanded, t->gelu, t->computed },
                                0,
                                4 * (int64_t)mixture->shape->rows * op.in * op.out };
    op.backward = (struct pass){ experts_backward,
                                 { t->computed->gradient, t->received, t->expanded, t->gelu,
                                   t->expand_weight, t->expand_bias, t->contract_weight },
                                 { t->expand_weight->gradient, t->expand_bias->gradient,
                                   t->contract_weight->gradient, t->contract_bias->gradient,
                                   t->gelu->gradient, t->received->gradient, t->partial },
                                 0,
                                 2 * op.forward.flops };
    return op;
}

/* --- Combining --- */

static enum status combine_forward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->forward.reads;
    const struct tensor *y = op->forward.writes[0];

    return LAUNCH(context->stream, y->dtype, combine_tokens, op->rows, .y = y->data,
                  .x = reads[0]->data, .place = places_of(reads[1]), .gate = reads[2]->data,
                  .width = op->in);
}

static enum status combine_backward(const struct op *op, const struct op_context *context)
{
    struct tensor *const *reads = op->backward.reads, *const *writes = op->backward.writes;

    return LAUNCH(context->stream, reads[0]->dtype, combine_tokens_backward, op->rows,
                  .dx = writes[0]->data, .dgate = writes[1]->data, .dy = reads[0]->data,
                  .x = reads[1]->data, .place = places_of(reads[2]), .gate = reads[3]->data,
                  .width = op->in);
}

static struct op op_combine(struct mixture *mixture)
{
    const struct expert_tensors *t = &mixture->tensors;
    struct op op = { .rows = mixture->shape->rows, .in = mixture->shape->width };

    op.forward =
        (struct pass){ combine_forward, { t->returned, t->routes, t->gate }, { t->y }, 0, 0 };
    op.backward = (struct pass){ combine_backward,
                                 { t->y->gradient, t->returned, t->routes, t->gate },
                                 { t->returned->gradient, t->gate->gradient },
                                 0,
                                 0 };
    return op;
}

/* --- The ops --- */

void mixture_build(struct mixture *mixture, const struct expert_tensors *tensors,
                   struct op ops[MIXTURE_OPS])
{
    static const char *const names[MIXTURE_OPS] = { "route", "dispatch", "experts", "return",
                                                    "combine" };
    const struct expert_tensors *t = &mixture->tensors;

    mixture->tensors = *tensors;
    ops[0] = op_route(mixture);
    ops[1] = op_exchange(t->received, t->sent, dispatch_forward, dispatch_backward);
    ops[2] = op_compute(mixture);
    ops[3] = op_exchange(t->returned, t->computed, return_forward, return_backward);
    ops[4] = op_combine(mixture);
    for (int i = 0; i < MIXTURE_OPS; i++) {
        snprintf(ops[i].name, sizeof ops[i].name, "%s", names[i]);
        ops[i].shape = mixture->shape;
        ops[i].mixture = mixture;
    }
}
