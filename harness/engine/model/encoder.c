/* Opening and closing an encoder: the memory of what encoder_build.c describes, and its first
 * values.
 *
 * A model for shorter samples has ops of its own and the parameters of the longest one. */
#include "harness/engine/model/encoder.h"

#include "harness/base/random.h"
#include "harness/base/rows.h"

#include <math.h>
#include <stdlib.h>

size_t tensor_bytes(const struct tensor *tensor)
{
    return (size_t)tensor->elements * dtype_bytes(tensor->dtype);
}

/* In a pipeline each rank has some of the blocks: parameters that only other ranks read have no
 * memory here. */
static bool is_read_here(const struct encoder *encoder, const struct tensor *value)
{
    for (int i = encoder->first_op; i < encoder->end_op; i++)
        for (int r = 0; r < PASS_READS; r++)
            if (encoder->ops[i].forward.reads[r] == value)
                return true;
    return false;
}

/* The norm of all gradients has those that every rank keeps from the first one. */
static enum status allocate_parameters(struct encoder *encoder, const struct model_config *model)
{
    for (int i = 0; i < encoder->parameter_count; i++) {
        struct parameter *p = &encoder->parameters[i];
        struct tensor *value = p->value, *gradient = value->gradient;
        p->elsewhere = !is_read_here(encoder, value);
        if (p->elsewhere)
            continue;
        p->counted_elsewhere =
            encoder->mixtures != NULL && model->expert_part > 0 && !p->is_experts;
        TRY(allocator_alloc(encoder->allocator, value->category, tensor_bytes(value),
                            &value->data));
        TRY(allocator_alloc(encoder->allocator, gradient->category, tensor_bytes(gradient),
                            &gradient->data));
        /* A parameter of 16 bits has a master of 32, which updates go to: they would be lost in 16
         * (Micikevicius et al., "Mixed precision training", 2018, 3.1). */
        p->master = value->data;
        if (value->dtype != DTYPE_F32)
            TRY(allocator_alloc(encoder->allocator, MEMORY_OPTIMIZER,
                                (size_t)value->elements * sizeof(float), (void **)&p->master));
    }

    return STATUS_OK;
}

/* Tensors that no pass allocates, beside the parameters. */
static enum status allocate_kept(struct encoder *encoder, const struct model_config *model,
                                 struct stream *stream)
{
    struct tensor *right = encoder->right;
    struct tensor *const kept[] = { encoder->logits, encoder->input, encoder->output,
                                    encoder->stream };

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (kept[i] != NULL && kept[i]->persistent)
            TRY(allocator_alloc(encoder->allocator, kept[i]->category, tensor_bytes(kept[i]),
                                &kept[i]->data));
    if (encoder->mixtures != NULL) {
        /* A router that prefers one expert. */
        const float skew = (float)model->router_skew;

        for (int i = 0; i < encoder->shape.blocks; i++) {
            struct tensor *bias = encoder->router_biases[i];
            TRY(allocator_alloc(encoder->allocator, bias->category, tensor_bytes(bias),
                                &bias->data));
            TRY(device_memset(stream, bias->data, 0, tensor_bytes(bias)));
            TRY(device_copy(stream, COPY_HOST_TO_DEVICE, (float *)bias->data + model->experts - 1,
                            &skew, sizeof skew));
        }
    }
    if (right == NULL)
        return STATUS_OK;
    TRY(allocator_alloc(encoder->allocator, right->category, tensor_bytes(right), &right->data));
    return device_memset(stream, right->data, 0, tensor_bytes(right));
}

static enum status narrow_parameter(const struct parameter *p, struct stream *stream)
{
    const struct tensor *value = p->value;

    if (value->dtype == DTYPE_F32 || p->elsewhere)
        return STATUS_OK;
    return LAUNCH(stream, value->dtype, cast_from_float, (long)value->elements, .y = value->data,
                  .x = p->master);
}

enum status encoder_narrow(const struct encoder *encoder, struct stream *stream)
{
    for (int i = 0; i < encoder->parameter_count; i++)
        TRY(narrow_parameter(&encoder->parameters[i], stream));

    return STATUS_OK;
}

/* Made on the host in fp32, copied to the master, narrowed to the parameter. */
static enum status set_parameters(struct encoder *encoder, const struct initial *initials,
                                  uint64_t seed, struct stream *stream)
{
    struct random random = random_seed(seed, 1);
    float *values = NULL;
    int64_t longest = 0;
    enum status status = STATUS_OK;

    for (int i = 0; i < encoder->parameter_count; i++)
        if (encoder->parameters[i].value->elements > longest)
            longest = encoder->parameters[i].value->elements;
    TRY_OUT(rows_make(&values, longest));
    for (int i = 0; i < encoder->parameter_count; i++) {
        const struct parameter *p = &encoder->parameters[i];
        const struct tensor *value = p->value;
        for (int64_t j = 0; j < value->elements; j++)
            /* A uniform number in [-a, a] has the deviation a / sqrt(3). */
            values[j] = initials[i].deviation > 0
                            ? initials[i].deviation * sqrtf(3) * (2 * random_uniform(&random) - 1)
                            : initials[i].constant;
        if (p->elsewhere)
            continue; /* its numbers are drawn, so that the others are the same for any number of
                         ranks */
        TRY_OUT(device_copy(stream, COPY_HOST_TO_DEVICE, p->master, values,
                            (size_t)value->elements * sizeof *values));
        TRY_OUT(narrow_parameter(p, stream));
    }

out:
    free(values);
    return status;
}

enum status encoder_open(struct encoder **opened, const struct training_config *config, int classes,
                         struct allocator *allocator, struct stream *stream)
{
    enum status status = STATUS_OK;
    struct encoder *encoder;
    struct initial *initials = NULL;

    *opened = NULL;
    TRY_OUT(rows_make(&encoder, 1));
    encoder->shape = encoder_shape(config, classes);
    encoder->allocator = allocator;
    TRY_OUT(encoder_build(encoder, config, stream_device(stream), &initials));
    TRY_OUT(allocate_parameters(encoder, &config->model));
    TRY_OUT(allocate_kept(encoder, &config->model, stream));
    TRY_OUT(set_parameters(encoder, initials, config->seed, stream));
    *opened = encoder;
    encoder = NULL;

out:
    encoder_close(encoder);
    free(initials);
    return status;
}

enum status encoder_open_shorter(struct encoder **opened, const struct encoder *longer,
                                 const struct training_config *config, int samples, int tokens,
                                 struct stream *stream)
{
    enum status status = STATUS_OK;
    struct training_config shorter = *config;
    struct encoder *encoder;
    struct initial *initials = NULL;

    *opened = NULL;
    TRY_OUT(rows_make(&encoder, 1));
    shorter.model.tokens = tokens;
    shorter.model.batch = samples * config->launch.accumulate;
    encoder->shape = encoder_shape(&shorter, longer->shape.classes);
    encoder->allocator = longer->allocator;
    encoder->longer = longer;
    TRY_OUT(encoder_build(encoder, &shorter, stream_device(stream), &initials));
    TRY_OUT(allocate_kept(encoder, &config->model, stream));
    *opened = encoder;
    encoder = NULL;

out:
    encoder_close(encoder);
    free(initials);
    return status;
}

void encoder_close(struct encoder *encoder)
{
    if (encoder == NULL)
        return;
    /* The parameters of a shorter encoder are the longer one's. */
    for (int i = 0; encoder->longer == NULL && i < encoder->parameter_count; i++)
        if (encoder->parameters[i].master != encoder->parameters[i].value->data)
            allocator_free(encoder->allocator, encoder->parameters[i].master);
    if (encoder->longer == NULL)
        free(encoder->parameters);
    for (int i = 0; i < encoder->tensor_count; i++)
        allocator_free(encoder->allocator, encoder->tensors[i].data);
    program_free(encoder->train);
    program_free(encoder->evaluate);
    for (int i = 0; encoder->mixtures != NULL && i < encoder->shape.blocks; i++)
        mixture_close(encoder->mixtures[i]);
    free(encoder->mixtures);
    free(encoder->router_biases);
    free(encoder->tensors);
    free(encoder->ops);
    if (encoder->host != NULL)
        host_free(encoder->device, true, encoder->host);
    if (encoder->kept != NULL)
        host_free(encoder->device, true, encoder->kept);
    free(encoder);
}

int64_t encoder_parameters(const struct encoder *encoder)
{
    int64_t elements = 0;

    for (int i = 0; i < encoder->parameter_count; i++)
        elements += encoder->parameters[i].value->elements;
    return elements;
}
