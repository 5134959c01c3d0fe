/* Per block of a pre-norm encoder. Products have 12 width^2 weights and 9 width biases, and two
 * normalisations have 4 width weights. Backward needs 16 tensors of [rows, width]: both normalised
 * inputs, q, k, v, the merged heads, the sums after both branches, and the MLP's inner state before
 * and after GELU (4 each); the scores [rows * heads, tokens] after softmax; mean and 1 / deviation
 * of both norms. At the peak there are also the ends of the model and the gradients of the last
 * block: 7 more tensors of [rows, width]. Linear layers in fp64 keep their factors in it, 7 such
 * tensors and the weights of each block, and have a product and gradients of both factors beside
 * them: of the widest layers 9, and of weights 8 width^2. */
#include "harness/engine/settings/step_memory.h"

#include <math.h>

#define BUDGET_OVER_PEAK 1.09

enum {
    KEPT_A_BLOCK = 16,
    KEPT_OUTSIDE = 7,
    SCORES_MULTIPLE = 32, /* a row of scores is padded to this */
    PEAK_LEAST = 24 << 20,
};

static double parameters(const struct training_config *config)
{
    const struct model_config *model = &config->model;
    double width = model->width, block = 12 * width * width + 13 * width;
    double front = config->data.kind == DATA_IMAGES ? 3.0 * model->patch * model->patch + 1
                                                    : config->data.vocabulary;

    return model->blocks * block + (front + model->tokens + 2) * width;
}

/* `segment`: blocks between two that are kept by checkpointing; 0: without it. */
static double activations(const struct training_config *config, double bytes, int segment)
{
    const struct model_config *model = &config->model;
    double rows = (double)model->batch / config->launch.accumulate * model->tokens;
    double heads = (double)model->width / model->head_width;
    int scores = (model->tokens + SCORES_MULTIPLE - 1) / SCORES_MULTIPLE * SCORES_MULTIPLE;
    double tensor = rows * model->width * bytes;
    double block = KEPT_A_BLOCK * tensor + rows * heads * scores * bytes + 4 * rows * sizeof(float);
    double kept = segment > 0 ? ceil((double)model->blocks / segment) * tensor : 0;
    double whole = segment > 0 ? fmin(segment, model->blocks) : model->blocks;

    return kept + whole * block + KEPT_OUTSIDE * tensor;
}

static double doubles(const struct training_config *config)
{
    const struct model_config *model = &config->model;
    double width = model->width;
    double tensor = (double)model->batch / config->launch.accumulate * model->tokens * width;

    if (!model->fp64_linear)
        return 0;
    return sizeof(double) *
           (model->blocks * (7 * tensor + 12 * width * width) + 9 * tensor + 8 * width * width);
}

/* The bytes of a batch, and of those that are resident. */
static double input(const struct training_config *config)
{
    const struct model_config *model = &config->model;
    double side = config->data.image_size;
    double colour = config->loader.batching.wide_pixels ? sizeof(float) : 1;
    double sample = config->data.kind == DATA_IMAGES ? 3 * side * side * colour
                                                     : (double)model->tokens * sizeof(int32_t);
    double batch = sample * model->batch; /* resident_count() has the rest */
    double kept = fmin(fmin(RESIDENT_BATCHES, floor((double)GENERATED_TRAIN / model->batch)),
                       floor(RESIDENT_BYTES * colour / batch));

    return batch * (1 + fmax(kept, 1));
}

static double peak_bytes(const struct training_config *config, int segment)
{
    bool narrow =
        config->model.precision == PRECISION_BF16 || config->model.precision == PRECISION_FP16;
    double bytes = narrow ? 2 : 4;
    /* value and gradient, AdamW's two moments in fp32, and in 16 bits an fp32 master */
    double state = 2 * bytes + 2 * sizeof(float) + (narrow ? sizeof(float) : 0);

    return parameters(config) * state + activations(config, bytes, segment) + doubles(config) +
           input(config);
}

double step_memory_peak(const struct training_config *config)
{
    return peak_bytes(config, 0);
}

int64_t step_memory_budget(const struct training_config *config)
{
    double peak = step_memory_peak(config);

    return peak < PEAK_LEAST ? 0 : (int64_t)(BUDGET_OVER_PEAK * peak);
}

int step_memory_micro_batches(const struct training_config *config,
                              const struct device_properties *device)
{
    int64_t budget = config->allocator.budget > 0 ? config->allocator.budget : device->memory_bytes;
    struct training_config tried = *config;

    tried.model.batch = config->model.batch / config->ranks.count;
    for (int count = 1; count < tried.model.batch; count++) {
        tried.launch.accumulate = count;
        if (tried.model.batch % count == 0 &&
            (int64_t)(BUDGET_OVER_PEAK * peak_bytes(&tried, config->model.checkpointing)) <= budget)
            return count;
    }
    return tried.model.batch > 0 ? tried.model.batch : 1;
}
