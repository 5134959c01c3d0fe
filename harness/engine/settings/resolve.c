/* Turns what was asked for into what is run. The role, the device and the host fill in the values
 * that were left open; then what is impossible is refused with a sentence. "{width}" in a sentence
 * stands for "width=100", and a few other words in braces for values that follow from the settings.
 * A setting without effect (workers without decoding) is not refused, unless it says who does work
 * that is then done elsewhere (collate=loop without decoding).
 *
 * Refusals come after all values are filled in, so that a sentence can name them. */
#include "harness/base/words/text.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/settings/roles.h"
#include "harness/engine/settings/step_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    JPEG_LEAST = 16,
    JPEG_MOST = 1024, /* as the knob's range */
    IMAGE_MOST = 1024,
    BATCHES_AHEAD_MAX = 4096,
};

/* --- Filling in --- */

static int or_role(int value, int of_role)
{
    return value > 0 ? value : of_role;
}

/* The whole root of a square number; 0 where it has none. */
static int square_root(int number)
{
    int root = 0;

    while (root * root < number) root++;
    return root * root == number ? root : 0;
}

/* Sizes that were left open are the role's; precision=auto needs matrix units and products that
 * gain by them. */
static void fill_model(struct training_config *config, const struct role_sizes *sizes,
                       const struct device_properties *device)
{
    struct model_config *model = &config->model;
    bool images = config->data.kind == DATA_IMAGES;

    model->batch = or_role(model->batch, sizes->batch);
    model->tokens = or_role(model->tokens, images ? sizes->image_tokens : sizes->sequence_tokens);
    model->width = or_role(model->width, sizes->width);
    model->blocks = or_role(model->blocks, sizes->blocks);
    model->head_width = or_role(model->head_width, role_head_width(model->width, device));
    if (images)
        model->patch = or_role(model->patch, sizes->patch);
    if (model->precision == PRECISION_AUTO)
        model->precision = device->bf16_matrix_units && !sizes->fp32 && config->ranks.count == 1
                               ? PRECISION_BF16
                               : PRECISION_FP32;
}

/* Generated files are twice the size that the model sees: photographs on disk are larger than what
 * is trained on (ImageNet's are about 500 x 375 pixels, for 224). The heavy role studies
 * arithmetic, not input, and images that the device crops are large already: there larger files
 * would only make every start slower. */
static void fill_data(struct training_config *config, const struct role_sizes *sizes)
{
    struct dataset_config *data = &config->data;

    data->tokens = config->model.tokens;
    data->vocabulary = sizes->vocabulary;
    data->image_size = 0;
    if (data->kind != DATA_IMAGES)
        return;
    data->image_size =
        config->model.patch * square_root(config->model.tokens - 1) * config->model.crop;
    if (data->jpeg_pixels == 0 && data->folder[0] == '\0') {
        int times = config->model.role == ROLE_HEAVY || config->model.crop > 1 ? 1 : 2;
        data->jpeg_pixels = times * data->image_size;
        if (data->jpeg_pixels < JPEG_LEAST)
            data->jpeg_pixels = JPEG_LEAST;
        if (data->jpeg_pixels > JPEG_MOST)
            data->jpeg_pixels = JPEG_MOST;
    }
}

/* The order matters: sizes come before the budget that is made for them, and the budget before
 * the micro-batches that must fit it. */
static void fill(struct training_config *config, const struct device_properties *device)
{
    const struct role_sizes *sizes = role_sizes(config->model.role, device);
    bool fits;

    if (config->data.kind == DATA_AUTO)
        config->data.kind = config->data.folder[0] != '\0' ? DATA_IMAGES : sizes->data;
    fill_model(config, sizes, device);
    fill_data(config, sizes);
    if (config->loader.workers < 0)
        config->loader.workers = -config->loader.workers * device->host_cores;
    fits = config->launch.accumulate == ACCUMULATE_FIT;
    if (fits)
        config->launch.accumulate = 1; /* which the role's budget is for */
    if (config->allocator.budget == MEMORY_BUDGET_ROLE)
        config->allocator.budget = step_memory_budget(config);
    if (fits)
        config->launch.accumulate = step_memory_micro_batches(config, device);
    /* Only where a graph can be captured at all: it holds no communication, and launches of one
     * size each. */
    if (config->launch.mode == LAUNCH_AUTO)
        config->launch.mode = sizes->graph && config->ranks.count == 1 && config->model.experts == 0
                                  ? LAUNCH_GRAPH
                                  : LAUNCH_EAGER;
    config->logging.read_logits_every = config->logging.accuracy == ACCURACY_HOST ? 1 : 0;
    config->logging.predictions_every =
        config->logging.predictions != PREDICTIONS_NONE ? config->logging.read_logits_every : 0;
    config->logging.collect_every = config->logging.garbage != GARBAGE_NONE ? COLLECT_EVERY : 0;
    /* A rank that has a part of the parameters updates that part, and needs no more of the
     * state. */
    if (config->ranks.count > 1 && config->ranks.parameters != PARAMETERS_WHOLE)
        config->ranks.shards_state = true;
    config->loader.batching.micro_batches = config->launch.accumulate;
    config->data.seed = config->seed;
    config->loader.seed = config->seed;
}

/* --- Refusals --- */

/* Each of these returns the sentence of the first refusal, or NULL. */

static const char *refused_data(const struct training_config *config)
{
    const struct model_config *model = &config->model;
    const struct dataset_config *data = &config->data;
    const bool images = data->kind == DATA_IMAGES;

    if (!images && data->folder[0] != '\0')
        return "{data} with the folder {folder}: a folder holds images, sequences are generated; "
               "leave out the folder or set data=images";
    if (data->jpeg_pixels > 0 && !images)
        return "{jpeg_pixels} with {data}: sequences are not decoded from JPEG files; set "
               "data=images or jpeg_pixels=auto";
    if (data->uneven && !images)
        return "{jpeg_sizes} with {data}: sequences are not decoded from JPEG files; set "
               "data=images or jpeg_sizes=even";
    if (data->uneven && data->folder[0] != '\0')
        return "{jpeg_sizes} with the folder {folder}: its files have the sizes that they have; "
               "leave out the folder or set jpeg_sizes=even";
    if (model->patch > 0 && !images)
        return "{patch} with {data}: sequences have no patches; set data=images or patch=auto";
    if (model->crop > 1 && !images)
        return "{crop} with {data}: sequences are not cropped; set data=images or crop=1";
    if (config->loader.batching.wide_pixels && !images)
        return "{pixels} with {data}: sequences have no pixels; set data=images or pixels=bytes";
    if (model->patch % 8 != 0)
        return "{patch} with {data}: pixels are read eight at a time; set patch to a multiple of 8";
    if (images && data->image_size == 0)
        return "{tokens} with {data}: a square image has a square number of patches, and the class "
               "token is one more; set tokens to 5, 17, 65 or 197, say, or data=sequences";
    if (data->image_size > IMAGE_MOST)
        return "{patch} with {tokens} and {crop}: images of {image_size} x {image_size} pixels are "
               "larger than the 1024 x 1024 that are supported; set patch, tokens or crop lower";
    return NULL;
}

static const char *refused_model(const struct training_config *config,
                                 const struct device_properties *device)
{
    const struct model_config *model = &config->model;
    const int accumulate = config->launch.accumulate;

    if (model->width % ROW_MULTIPLE != 0)
        return "{width} on {device}: kernels need rows of a multiple of 32 elements; set width to "
               "such a multiple";
    if (model->width % model->head_width != 0)
        return "{width} on {device}: attention heads have {head_width} elements on this device; "
               "set width to a multiple of {head_width}";
    if (model->strided_heads && model->attention != ATTENTION_FUSED)
        return "{heads} with {attention}: the matrices of a batched product are one distance "
               "apart, heads and samples two; set attention=fused or heads=copied";
    if (model->batch % accumulate != 0)
        return "{batch} with {accumulate}: all micro-batches of an update have the same size; set "
               "batch to a multiple of accumulate";
    if ((int64_t)model->batch / accumulate * model->tokens * model->width / model->head_width >
        INT32_MAX)
        return "{batch} with {tokens} and {width}: more than 2147483647 rows of attention scores; "
               "set batch lower or accumulate higher";
    if (config->logging.accuracy == ACCURACY_HOST && accumulate > 1)
        return "{accuracy} with {accumulate}: only the last micro-batch's logits are left at the "
               "end of "
               "a step; set accuracy=device or accumulate=1";
    if (model->precision == PRECISION_TF32 && !device->tf32)
        return "{precision} on {device}: the device does not round products to tf32; set precision "
               "to auto, fp32 or bf16";
    return NULL;
}

static const char *refused_graph(const struct training_config *config)
{
    if (config->allocator.mode != ALLOCATION_CACHING)
        return "{launch} with {allocation}: a graph keeps the addresses that it was captured with, "
               "so no memory may be allocated during capture; set launch=eager or "
               "allocation=caching";
    if (config->data.kind != DATA_IMAGES && config->launch.accumulate > 1 &&
        config->loader.batching.padding == PADDING_LONGEST)
        return "{launch} with {padding} and {accumulate}: every combination of lengths would need "
               "a graph of its own; set launch=eager, padding=max_length or accumulate=1";
    if (config->logging.kept == KEPT_GRAPH)
        return "{launch} with {kept_loss}: every run of a captured graph writes to the same "
               "activations, so a step cannot keep its own; set launch=eager or kept_loss=number";
    if (!config->optimizer.clips_on_device)
        return "{launch} with {clipping}: the host decides nothing while a graph runs; set "
               "launch=eager or clipping=device";
    if (config->model.precision == PRECISION_FP16 && config->optimizer.reads_overflow)
        return "{launch} with {precision} and {loss_scaling}: the host decides nothing while a "
               "graph runs; set launch=eager or loss_scaling=device";
    if (config->model.gelu_on_host)
        return "{launch} with {gelu}: a graph holds no work of the host; set launch=eager or "
               "gelu=device";
    if (config->model.experts > 0)
        return "{launch} with {experts}: a graph's launches keep their sizes, and each expert's "
               "depends on how many tokens it gets; set launch=eager or experts=none";
    if (config->model.selection == SELECTION_COUNTED)
        return "{launch} with {selection}: a graph's launches keep their sizes; set launch=eager "
               "or "
               "selection=masked";
    return NULL;
}

/* With it an update has no more micro-batches than without, but how many depends on its samples. */
static const char *refused_max_tokens(const struct training_config *config)
{
    const struct batching_config *batching = &config->loader.batching;
    const int accumulate = config->launch.accumulate;

    if (batching->max_tokens == 0 || batching->padding != PADDING_LONGEST ||
        config->data.kind == DATA_IMAGES)
        return NULL;
    if ((int64_t)config->model.batch / accumulate * config->model.tokens > batching->max_tokens)
        return "{max_tokens} with {batch}, {accumulate} and {tokens}: batch / accumulate of the "
               "longest samples have more tokens; set max_tokens or accumulate higher";
    if (!config->launch.one_update && accumulate > 1)
        return "{max_tokens} with {update}: each step would have another number of updates; set "
               "update=step or max_tokens=none";
    if (config->ranks.count > 1)
        return "{max_tokens} with {ranks}: each rank would have another number of micro-batches; "
               "set max_tokens=none or ranks=1";
    return NULL;
}

static const char *refused_loader(const struct training_config *config,
                                  const struct device_properties *device)
{
    const struct loader_config *loader = &config->loader;

    if ((int64_t)loader->workers * loader->prefetch > BATCHES_AHEAD_MAX)
        return "{workers} with {prefetch}: more than 4096 batches would be loaded ahead; set "
               "workers or prefetch lower";
    if (loader->collate == COLLATE_LOOP && loader->input != INPUT_DECODED)
        return "{collate} with {input}: samples are decoded before the timing; set input=decoded "
               "or collate=workers";
    if (loader->collate == COLLATE_LOOP && loader->workers == 0)
        return "{collate} with {workers}: without workers the training thread reads, decodes and "
               "collates anyway; set workers to 1 or more, or collate=workers";
    if (refused_max_tokens(config) != NULL)
        return refused_max_tokens(config);
    if (config->allocator.budget > device->memory_bytes)
        return "{memory_budget} on {device}: the device has {memory_bytes} bytes; set "
               "memory_budget lower or to device";
    return NULL;
}

/* Micro-batches meet the parts of the model one after another. */
static const char *refused_pipeline(const struct training_config *config)
{
    const struct ranks_config *ranks = &config->ranks;

    if (config->model.blocks < ranks->count)
        return "{blocks} with {ranks} and {parallel}: every rank has a block at least; set blocks "
               "to ranks or more, or parallel=data";
    if (config->optimizer.form != OPTIMIZER_MULTI_TENSOR)
        return "{optimizer} with {parallel}: a rank updates its tensors in one kernel, which knows "
               "those of the others by their norm; set optimizer=multi_tensor or parallel=data";
    if (!config->launch.one_update && config->launch.accumulate > 1)
        return "{update} with {parallel}: each update would wait until the pipeline is empty; set "
               "update=step or parallel=data";
    if (config->loader.batching.padding == PADDING_LONGEST && config->data.kind != DATA_IMAGES)
        return "{padding} with {parallel}: ranks exchange as many tokens each time; set "
               "padding=max_length or parallel=data";
    if (config->logging.accuracy == ACCURACY_HOST)
        return "{accuracy} with {parallel}: the last rank alone has the logits; set "
               "accuracy=device or none, or parallel=data";
    if (config->logging.log != LOGGING_NONE)
        return "{log} with {parallel}: the last rank alone has the loss; set log=none or "
               "parallel=data";
    return NULL;
}

static const char *refused_ranks(const struct training_config *config)
{
    const struct model_config *model = &config->model;
    const struct ranks_config *ranks = &config->ranks;
    const bool several = ranks->count > 1;

    if (several && ranks->pipeline && refused_pipeline(config) != NULL)
        return refused_pipeline(config);
    if (!ranks->pipeline && model->batch % (config->launch.accumulate * ranks->count) != 0)
        return "{batch} with {ranks} and {accumulate}: every rank takes as many samples of each "
               "micro-batch; set batch to a multiple of ranks times accumulate";
    if (several && config->launch.mode == LAUNCH_GRAPH)
        return "{launch} with {ranks}: a graph holds no communication; set launch=eager or ranks=1";
    if (several && ranks->parameters != PARAMETERS_WHOLE &&
        config->optimizer.form != OPTIMIZER_MULTI_TENSOR)
        return "{optimizer} with {parameters}: a rank updates its parts of all tensors in one "
               "kernel; set optimizer=multi_tensor or parameters=whole";
    if (several && ranks->parameters != PARAMETERS_WHOLE &&
        (model->precision == PRECISION_BF16 || model->precision == PRECISION_FP16))
        return "{precision} with {parameters}: a rank updates the parameters that all gather, "
               "and not fp32 weights beside them; set precision=fp32 or parameters=whole";
    if (several && ranks->shards_state && config->optimizer.form != OPTIMIZER_MULTI_TENSOR)
        return "{optimizer} with {optimizer_state}: a rank updates its parts of all tensors in one "
               "kernel; set optimizer=multi_tensor or optimizer_state=whole";
    if (several && ranks->shards_state &&
        (model->precision == PRECISION_BF16 || model->precision == PRECISION_FP16))
        return "{precision} with {optimizer_state}: a rank updates the parameters that all gather, "
               "and not fp32 weights beside them; set precision=fp32 or optimizer_state=whole";
    if (several && ranks->shards_state && !ranks->one_sync && config->launch.accumulate > 1 &&
        config->launch.one_update)
        return "{gradient_sync} with {optimizer_state} and {parameters}: a rank has the sums of "
               "its part only, so that the next micro-batch has nothing to be added to; set "
               "gradient_sync=update, or optimizer_state=whole and parameters=whole";
    if (several && (config->saving.save_every > 0 || config->saving.folder[0] != '\0' ||
                    config->saving.resume[0] != '\0'))
        return "{save_every} with {ranks}: the state of one rank only can be saved and resumed; "
               "set save_every=never, leave out --save and --resume, or set ranks=1";
    if (ranks->uncached_rank > ranks->count)
        return "{uncached_rank} with {ranks}: ranks count from 0; set uncached_rank lower than "
               "ranks, or to none";
    return NULL;
}

/* A mixture of experts, which is on all ranks. */
static const char *refused_experts(const struct training_config *config)
{
    const struct ranks_config *ranks = &config->ranks;
    const bool several = ranks->count > 1;

    if (config->model.experts % ranks->count != 0)
        return "{experts} with {ranks}: every rank has as many experts; set experts to a multiple "
               "of ranks";
    if (several && ranks->pipeline)
        return "{experts} with {parallel}: ranks divide the experts and the samples, not the "
               "blocks; set parallel=data or experts=none";
    if (several && ranks->shards_state)
        return "{experts} with {parameters} and {optimizer_state}: an expert is whole on its rank; "
               "set parameters=whole and optimizer_state=whole, or experts=none";
    if (several && config->optimizer.form != OPTIMIZER_MULTI_TENSOR)
        return "{optimizer} with {experts}: a rank updates its tensors in one kernel, which knows "
               "those of the others by their norm; set optimizer=multi_tensor or experts=none";
    if (config->model.gelu_on_host)
        return "{gelu} with {experts}: experts compute on the device; set gelu=device or "
               "experts=none";
    if (config->model.checkpointing > 0)
        return "{checkpointing} with {experts}: tokens would be exchanged again in backward; set "
               "checkpointing=none or experts=none";
    if (config->loader.batching.padding == PADDING_LONGEST && config->data.kind != DATA_IMAGES)
        return "{padding} with {experts}: a router chooses among as many tokens each time; set "
               "padding=max_length or experts=none";
    if (config->saving.save_every > 0 || config->saving.folder[0] != '\0' ||
        config->saving.resume[0] != '\0')
        return "{save_every} with {experts}: the bias of the routers is not saved; set "
               "save_every=never, leave out --save and --resume, or set experts=none";
    return NULL;
}

/* The first refusal that applies is the one that is told. */
static const char *refused(const struct training_config *config,
                           const struct device_properties *device)
{
    const char *sentence = refused_data(config);

    if (sentence == NULL)
        sentence = refused_model(config, device);
    if (sentence == NULL && config->launch.mode == LAUNCH_GRAPH)
        sentence = refused_graph(config);
    if (sentence == NULL)
        sentence = refused_loader(config, device);
    if (sentence == NULL)
        sentence = refused_ranks(config);
    if (sentence == NULL && config->model.experts > 0)
        sentence = refused_experts(config);
    if (sentence == NULL && config->logging.loss_every > LOSS_RING)
        sentence = "{loss_every}: the device keeps the losses of the last 1024 steps, so older "
                   "ones would be overwritten between two reads; set loss_every to 1024 or less";
    return sentence;
}

_Static_assert(LOSS_RING == 1024 && ROW_MULTIPLE == 32 && BATCHES_AHEAD_MAX == 4096,
               "the sentences above name these");

/* --- Sentences --- */

/* Appends what `word` in braces stands for. */
static void expand(const char *word, const struct training_config *config,
                   const struct device_properties *device, char *text, size_t size)
{
    char value[64];

    if (strcmp(word, "device") == 0)
        text_append(text, size, "%s", device->name);
    else if (strcmp(word, "memory_bytes") == 0)
        text_append(text, size, "%lld", (long long)device->memory_bytes);
    else if (strcmp(word, "folder") == 0)
        text_append(text, size, "%.160s", config->data.folder);
    else if (strcmp(word, "head_width") == 0)
        text_append(text, size, "%d", config->model.head_width);
    else if (strcmp(word, "image_size") == 0)
        text_append(text, size, "%d", config->data.image_size);
    else if (knob_get(config, word, value, sizeof value) == STATUS_OK)
        text_append(text, size, "%s=%s", word, value);
    else
        text_append(text, size, "{%s}", word);
}

/* Copies the sentence and replaces each word in braces. */
static void write_reason(const char *reason, const struct training_config *config,
                         const struct device_properties *device, char *text, size_t size)
{
    text[0] = '\0';
    while (*reason != '\0') {
        size_t plain = strcspn(reason, "{");

        text_append(text, size, "%.*s", (int)plain, reason);
        reason += plain;
        if (*reason == '{') {
            char word[40];
            snprintf(word, sizeof word, "%.*s", (int)strcspn(reason + 1, "}"), reason + 1);
            expand(word, config, device, text, size);
            reason += strcspn(reason, "}") + 1;
        }
    }
}

enum status knobs_resolve(struct training_config *config, const struct device_properties *device)
{
    /* A copy: a refusal leaves the caller's settings as they were. */
    struct training_config filled = *config;
    const char *sentence;
    char reason[512];

    fill(&filled, device);
    sentence = refused(&filled, device);
    if (sentence != NULL) {
        write_reason(sentence, &filled, device, reason, sizeof reason);
        FAIL(STATUS_REFUSED, "%s", reason);
    }
    *config = filled;

    return STATUS_OK;
}
