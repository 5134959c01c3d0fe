/* Gradients of the whole model against finite differences of its loss.
 *
 * Along a direction d the loss must change by d . gradient. Two directions a parameter: the
 * gradient itself, where the change is largest, and a random one, which notices what the first
 * cannot: an error at a right angle to it. */
#include "tests/fixtures/lab/training_fixture.h"

#include "harness/base/random.h"

#include <math.h>

/* The loss of the batch that is in the input, and its gradients in device memory. */
static double loss_and_gradients(struct training *training)
{
    float loss;

    assert_ok(optimizer_begin(training->optimizer));
    for (int micro = 0; micro < training->config.launch.accumulate; micro++) {
        struct op_context context = training_context(training, micro);
        assert_ok(program_run(training->encoder->train, &context, training->allocator, NULL, NULL));
    }
    assert_ok(device_copy(training->compute, COPY_DEVICE_TO_HOST, &loss,
                          training_loss_ring(training) + training->steps % LOSS_RING, sizeof loss));
    training->steps++; /* the ring's place follows the optimizer's count */
    return loss;
}

static void download(struct training *training, const struct tensor *tensor, float *values)
{
    assert_ok(device_copy(training->compute, COPY_DEVICE_TO_HOST, values, tensor->data,
                          (size_t)tensor->elements * sizeof *values));
}

static void upload(struct training *training, const struct tensor *tensor, const float *values)
{
    assert_ok(device_copy(training->compute, COPY_HOST_TO_DEVICE, tensor->data, values,
                          (size_t)tensor->elements * sizeof *values));
}

static double norm(const float *values, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++) sum += (double)values[i] * values[i];
    return sqrt(sum);
}

/* Central difference of the loss along `direction`, a unit vector, over a step of `length`. */
static double difference(struct training *training, const struct tensor *tensor,
                         const float *values, const float *direction, double length)
{
    float *moved = malloc((size_t)tensor->elements * sizeof *moved);
    double losses[2];

    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < tensor->elements; i++)
            moved[i] = values[i] + (float)(side == 0 ? length : -length) * direction[i];
        upload(training, tensor, moved);
        losses[side] = loss_and_gradients(training);
    }
    upload(training, tensor, values);
    free(moved);
    return (losses[0] - losses[1]) / (2 * length);
}

static void check(struct training *training, const struct tensor *tensor, const float *gradient,
                  const float *direction, const char *kind)
{
    float *values = malloc((size_t)tensor->elements * sizeof *values);
    double expected = 0, limit, measured, size = norm(gradient, tensor->elements);
    /* Short where the loss is steep and bends soon; long enough that fp32's rounding of the loss,
     * some 2e-7, is small beside its change. */
    double length = 0.02 / (size > 0.5 ? size : 0.5);

    download(training, tensor, values);
    for (int64_t i = 0; i < tensor->elements; i++) expected += (double)gradient[i] * direction[i];
    limit = 0.01 * fabs(expected) + 0.002 * size + 5e-7 / length;
    measured = difference(training, tensor, values, direction, length);
    if (!(fabs(measured - expected) <= limit)) {
        print_error("%s along %s: gradient %.7f, difference %.7f\n", tensor->name, kind, expected,
                    measured);
        fail();
    }
    free(values);
}

static void check_parameter(struct training *training, const struct parameter *parameter,
                            struct random *random)
{
    const struct tensor *value = parameter->value;
    int64_t count = value->elements;
    float *gradient = malloc((size_t)count * sizeof *gradient);
    float *direction = malloc((size_t)count * sizeof *direction);
    double length;

    loss_and_gradients(training);
    download(training, value->gradient, gradient);
    length = norm(gradient, count);
    assert_true(isfinite(length));
    if (length > 0) {
        for (int64_t i = 0; i < count; i++) direction[i] = (float)(gradient[i] / length);
        check(training, value, gradient, direction, "itself");
    }
    for (int64_t i = 0; i < count; i++) direction[i] = random_normal(random);
    length = norm(direction, count);
    for (int64_t i = 0; i < count; i++) direction[i] = (float)(direction[i] / length);
    check(training, value, gradient, direction, "a random direction");
    free(gradient);
    free(direction);
}

static void check_model(struct device *device, const char *settings)
{
    struct training *training = open_training(device, settings);
    struct random random = random_seed(5, 0);

    assert_ok(training_run(training, 3)); /* norms and biases away from 1 and 0 */
    assert_ok(training_load(training));
    for (int i = 0; i < training->encoder->parameter_count; i++)
        check_parameter(training, &training->encoder->parameters[i], &random);
    training_close(training);
}

TEST(image_model)
{
    check_model(*state, "model=balanced batch=4 precision=fp32 rate=0.01 launch=eager");
}

TEST(image_model_unfused)
{
    check_model(*state,
                "model=balanced batch=4 precision=fp32 rate=0.01 launch=eager elementwise=unfused");
}

TEST(sequence_model_with_epilogues)
{
    check_model(*state, "model=light batch=6 precision=fp32 rate=0.01 launch=eager "
                        "elementwise=epilogue backward_streams=two");
}

TEST(sequence_model)
{
    check_model(*state, "model=light batch=6 precision=fp32 rate=0.01 launch=eager");
}

TEST(sequence_model_accumulated_and_checkpointed)
{
    check_model(*state, "model=light batch=6 accumulate=2 precision=fp32 rate=0.01 launch=eager "
                        "checkpointing=block");
}

TEST(image_model_with_fused_attention)
{
    check_model(*state, "model=balanced batch=4 precision=fp32 rate=0.01 launch=eager "
                        "attention=fused");
}

TEST(sequence_model_in_double_precision)
{
    check_model(*state, "model=light batch=6 accumulate=2 precision=fp32 rate=0.01 launch=eager "
                        "linear=fp64 checkpointing=block");
}

/* A token that changes its expert makes the loss jump. None does if all have the last one. */
TEST(image_model_with_experts)
{
    check_model(*state, "model=balanced batch=4 precision=fp32 rate=0.01 launch=eager experts=3 "
                        "router_skew=1 router_bias=none");
}

/* With one block the experts, and what comes after them, change no choice. */
TEST(image_model_whose_tokens_have_different_experts)
{
    struct training *training =
        open_training(*state, "model=balanced blocks=1 batch=4 precision=fp32 rate=0.01 "
                              "launch=eager experts=3 router_bias=none");
    struct encoder *encoder = training->encoder;
    struct random random = random_seed(5, 0);
    int i = 0;

    assert_ok(training_run(training, 3));
    assert_ok(training_load(training));
    while (!encoder->parameters[i].is_experts) i++;
    for (; i < encoder->parameter_count; i++)
        check_parameter(training, &encoder->parameters[i], &random);
    training_close(training);
}

/* A GPU's library does not take fp32. */
TEST(image_model_with_strided_heads)
{
    if (device_properties(*state)->is_gpu)
        skip();
    check_model(*state, "model=balanced batch=4 precision=fp32 rate=0.01 launch=eager "
                        "attention=fused heads=strided");
}

TEST(sequence_model_with_fused_attention_checkpointed)
{
    check_model(*state, "model=light tokens=40 batch=6 precision=fp32 rate=0.01 launch=eager "
                        "attention=fused checkpointing=block");
}

TESTS_WITH(open_device, close_device)
