/* Turns what was asked for into what is run. The role, the device and the host fill in the values that
 * were left open; then one table refuses what is impossible. A row is a condition and a sentence;
 * "{width}" in a sentence stands for "width=100", and a few other words in braces for values that
 * follow from the settings. A setting without effect (workers without decoding) is not refused,
 * unless it says who does work that is then done elsewhere (collate=loop without decoding). */
#include "scenarios/training/settings/knobs.h"
#include "scenarios/training/settings/roles.h"
#include "scenarios/training/settings/step_memory.h"

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

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

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

/* Generated files are twice the size that the model sees: photographs on disk are larger than what is
 * trained on (ImageNet's are about 500 x 375 pixels, for 224). The heavy role studies arithmetic, not
 * input, and images that the device crops are large already: there larger files would only make every
 * start slower. */
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
        data->jpeg_pixels = clamp(times * data->image_size, JPEG_LEAST, JPEG_MOST);
    }
}

static void fill(struct training_config *config, const struct device_properties *device)
{
    const struct role_sizes *sizes = role_sizes(config->model.role, device);

    if (config->data.kind == DATA_AUTO)
        config->data.kind = config->data.folder[0] != '\0' ? DATA_IMAGES : sizes->data;
    fill_model(config, sizes, device);
    fill_data(config, sizes);
    if (config->loader.workers < 0)
        config->loader.workers = -config->loader.workers * device->host_cores;
    if (config->allocator.budget == MEMORY_BUDGET_ROLE)
        config->allocator.budget = step_memory_budget(config);
    if (config->launch.mode == LAUNCH_AUTO)
        config->launch.mode =
            sizes->graph && config->ranks.count == 1 ? LAUNCH_GRAPH : LAUNCH_EAGER;
    config->loader.batching.micro_batches = config->launch.accumulate;
    config->data.seed = config->seed;
    config->loader.seed = config->seed;
}

/* --- Refusals --- */

typedef bool condition(const struct training_config *config,
                       const struct device_properties *device);

/* A condition that looks at the settings alone, or at the device too. */
#define SETTINGS(name, expression)                                                                 \
    static bool name(const struct training_config *config, const struct device_properties *device) \
    {                                                                                              \
        (void)device;                                                                              \
        return expression;                                                                         \
    }
#define DEVICE(name, expression)                                                                   \
    static bool name(const struct training_config *config, const struct device_properties *device) \
    {                                                                                              \
        return expression;                                                                         \
    }

static bool is_images(const struct training_config *config)
{
    return config->data.kind == DATA_IMAGES;
}

SETTINGS(sequences_from_folder, !is_images(config) && config->data.folder[0] != '\0')
SETTINGS(jpeg_of_sequences, config->data.jpeg_pixels > 0 && !is_images(config))
SETTINGS(uneven_without_images, config->data.uneven && !is_images(config))
SETTINGS(uneven_folder, config->data.uneven && config->data.folder[0] != '\0')
SETTINGS(patch_of_sequences, config->model.patch > 0 && !is_images(config))
SETTINGS(crop_of_sequences, config->model.crop > 1 && !is_images(config))
SETTINGS(patch_not_of_eight, config->model.patch % 8 != 0)
SETTINGS(patches_not_square, is_images(config) && config->data.image_size == 0)
SETTINGS(image_too_large, config->data.image_size > IMAGE_MOST)
SETTINGS(width_not_of_packs, config->model.width % ROW_MULTIPLE != 0)
SETTINGS(width_not_of_heads, config->model.width % config->model.head_width != 0)
SETTINGS(strides_of_products,
         config->model.strided_heads && config->model.attention != ATTENTION_FUSED)
SETTINGS(batch_not_divided, config->model.batch % config->launch.accumulate != 0)
SETTINGS(too_many_rows, (int64_t)config->model.batch / config->launch.accumulate *
                                config->model.tokens * config->model.width /
                                config->model.head_width >
                            INT32_MAX)
DEVICE(no_tf32, config->model.precision == PRECISION_TF32 && !device->tf32)
SETTINGS(graph_allocates,
         config->launch.mode == LAUNCH_GRAPH && config->allocator.mode != ALLOCATION_CACHING)
SETTINGS(graph_of_many_lengths, config->launch.mode == LAUNCH_GRAPH && !is_images(config) &&
                                    config->launch.accumulate > 1 &&
                                    config->loader.batching.padding == PADDING_LONGEST)
SETTINGS(graph_keeps_activations,
         config->launch.mode == LAUNCH_GRAPH && config->logging.kept == KEPT_GRAPH)
SETTINGS(graph_waits_for_host,
         config->launch.mode == LAUNCH_GRAPH && !config->optimizer.clips_on_device)
SETTINGS(graph_reads_overflow, config->launch.mode == LAUNCH_GRAPH &&
                                   config->model.precision == PRECISION_FP16 &&
                                   config->optimizer.reads_overflow)
SETTINGS(graph_of_host_work, config->launch.mode == LAUNCH_GRAPH && config->model.gelu_on_host)
SETTINGS(too_far_ahead,
         (int64_t)config->loader.workers * config->loader.prefetch > BATCHES_AHEAD_MAX)
SETTINGS(collates_undecoded,
         config->loader.collate == COLLATE_LOOP && config->loader.input != INPUT_DECODED)
SETTINGS(collates_without_workers,
         config->loader.collate == COLLATE_LOOP && config->loader.workers == 0)
DEVICE(budget_beyond_device, config->allocator.budget > device->memory_bytes)
SETTINGS(losses_overwritten, config->logging.loss_every > LOSS_RING)

SETTINGS(has_ranks, config->ranks.count > 1)
SETTINGS(ranks_not_divided,
         config->model.batch % (config->launch.accumulate * config->ranks.count) != 0)
DEVICE(ranks_in_graph, has_ranks(config, device) && config->launch.mode == LAUNCH_GRAPH)
DEVICE(parts_of_tensors, has_ranks(config, device) && config->ranks.shards_state &&
                             config->optimizer.form != OPTIMIZER_MULTI_TENSOR)
DEVICE(parts_of_narrow,
       has_ranks(config, device) && config->ranks.shards_state &&
           (config->model.precision == PRECISION_BF16 || config->model.precision == PRECISION_FP16))
DEVICE(ranks_save, has_ranks(config, device) &&
                       (config->saving.save_every > 0 || config->saving.folder[0] != '\0' ||
                        config->saving.resume[0] != '\0'))
SETTINGS(uncached_is_no_rank, config->ranks.uncached_rank > config->ranks.count)

static const struct refusal {
    condition *applies;
    const char *reason;
} refusals[] = {
    { sequences_from_folder,
      "{data} with the folder {folder}: a folder holds images, sequences are "
      "generated; leave out the folder or set data=images" },
    { jpeg_of_sequences,
      "{jpeg_pixels} with {data}: sequences are not decoded from JPEG files; set "
      "data=images or jpeg_pixels=auto" },
    { uneven_without_images, "{jpeg_sizes} with {data}: sequences are not decoded from JPEG files; "
                             "set data=images or jpeg_sizes=even" },
    { uneven_folder,
      "{jpeg_sizes} with the folder {folder}: its files have the sizes that they have; "
      "leave out the folder or set jpeg_sizes=even" },
    { patch_of_sequences, "{patch} with {data}: sequences have no patches; set data=images or "
                          "patch=auto" },
    { crop_of_sequences, "{crop} with {data}: sequences are not cropped; set data=images or "
                         "crop=1" },
    { patch_not_of_eight, "{patch} with {data}: pixels are read eight at a time; set patch to a "
                          "multiple of 8" },
    { patches_not_square,
      "{tokens} with {data}: a square image has a square number of patches, and "
      "the class token is one more; set tokens to 5, 17, 65 or 197, say, or "
      "data=sequences" },
    { image_too_large,
      "{patch} with {tokens} and {crop}: images of {image_size} x {image_size} pixels are larger "
      "than the 1024 x 1024 that are supported; set patch, tokens or crop lower" },
    { width_not_of_packs,
      "{width} on {device}: kernels need rows of a multiple of 32 elements; set "
      "width to such a multiple" },
    { width_not_of_heads, "{width} on {device}: attention heads have {head_width} elements on this "
                          "device; set width to a multiple of {head_width}" },
    { strides_of_products, "{heads} with {attention}: the matrices of a batched product are one "
                           "distance apart, heads and samples two; set attention=fused or "
                           "heads=copied" },
    { batch_not_divided, "{batch} with {accumulate}: all micro-batches of an update "
                         "have the same size; set batch to a multiple of accumulate" },
    { too_many_rows, "{batch} with {tokens} and {width}: more than 2147483647 rows of attention "
                     "scores; set batch lower or accumulate higher" },
    { no_tf32,
      "{precision} on {device}: the device does not round products to tf32; set precision to "
      "auto, fp32 or bf16" },
    { graph_allocates,
      "{launch} with {allocation}: a graph keeps the addresses that it was captured "
      "with, so no memory may be allocated during capture; set launch=eager or "
      "allocation=caching" },
    { graph_of_many_lengths, "{launch} with {padding} and {accumulate}: every combination of "
                             "lengths would need a graph of "
                             "its own; set launch=eager, padding=max_length or accumulate=1" },
    { graph_keeps_activations, "{launch} with {kept_loss}: every run of a captured graph writes to "
                               "the same activations, so a "
                               "step cannot keep its own; set launch=eager or kept_loss=number" },
    { graph_waits_for_host,
      "{launch} with {clipping}: the host decides nothing while a graph runs; set launch=eager or "
      "clipping=device" },
    { graph_reads_overflow, "{launch} with {precision} and {loss_scaling}: the host decides "
                            "nothing while a graph runs; set "
                            "launch=eager or loss_scaling=device" },
    { graph_of_host_work,
      "{launch} with {gelu}: a graph holds no work of the host; set launch=eager or "
      "gelu=device" },
    { too_far_ahead, "{workers} with {prefetch}: more than 4096 batches would be loaded ahead; set "
                     "workers or prefetch lower" },
    { collates_undecoded, "{collate} with {input}: samples are decoded before the timing; set "
                          "input=decoded or collate=workers" },
    { collates_without_workers,
      "{collate} with {workers}: without workers the training thread reads, decodes and collates "
      "anyway; set workers to 1 or more, or collate=workers" },
    { budget_beyond_device, "{memory_budget} on {device}: the device has {memory_bytes} bytes; set "
                            "memory_budget lower or to device" },
    { ranks_not_divided, "{batch} with {ranks} and {accumulate}: every rank takes as many samples "
                         "of each micro-batch; set batch to a multiple of ranks times accumulate" },
    { ranks_in_graph, "{launch} with {ranks}: a graph holds no communication; set launch=eager or "
                      "ranks=1" },
    { parts_of_tensors,
      "{optimizer} with {optimizer_state}: a rank updates its parts of all tensors "
      "in one kernel; set optimizer=multi_tensor or optimizer_state=whole" },
    { parts_of_narrow, "{precision} with {optimizer_state}: a rank updates the parameters that all "
                       "gather, and not fp32 weights beside them; set precision=fp32 or "
                       "optimizer_state=whole" },
    { ranks_save, "{save_every} with {ranks}: the state of one rank only can be saved and resumed; "
                  "set save_every=never, leave out --save and --resume, or set ranks=1" },
    { uncached_is_no_rank,
      "{uncached_rank} with {ranks}: ranks count from 0; set uncached_rank lower "
      "than ranks, or to none" },
    { losses_overwritten,
      "{loss_every}: the device keeps the losses of the last 1024 steps, so older "
      "ones would be overwritten between two reads; set loss_every to 1024 or less" },
};

_Static_assert(LOSS_RING == 1024 && ROW_MULTIPLE == 32 && BATCHES_AHEAD_MAX == 4096,
               "the sentences above name these");

/* --- Sentences --- */

/* What `word` in braces stands for. */
static void expand(const char *word, const struct training_config *config,
                   const struct device_properties *device, char *text, size_t size)
{
    char value[64];

    if (strcmp(word, "device") == 0)
        snprintf(text, size, "%s", device->name);
    else if (strcmp(word, "memory_bytes") == 0)
        snprintf(text, size, "%lld", (long long)device->memory_bytes);
    else if (strcmp(word, "folder") == 0)
        snprintf(text, size, "%.160s", config->data.folder);
    else if (strcmp(word, "head_width") == 0)
        snprintf(text, size, "%d", config->model.head_width);
    else if (strcmp(word, "image_size") == 0)
        snprintf(text, size, "%d", config->data.image_size);
    else if (knob_get(config, word, value, sizeof value) == STATUS_OK)
        snprintf(text, size, "%s=%s", word, value);
    else
        snprintf(text, size, "{%s}", word);
}

static void write_reason(const char *reason, const struct training_config *config,
                         const struct device_properties *device, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    while (*reason != '\0' && used < size - 1) {
        size_t plain = strcspn(reason, "{");
        int length = snprintf(text + used, size - used, "%.*s", (int)plain, reason);

        used = used + (size_t)length < size ? used + (size_t)length : size - 1;
        reason += plain;
        if (*reason == '{') {
            char word[40];
            snprintf(word, sizeof word, "%.*s", (int)strcspn(reason + 1, "}"), reason + 1);
            expand(word, config, device, text + used, size - used);
            used += strlen(text + used);
            reason += strcspn(reason, "}") + 1;
        }
    }
}

enum status knobs_resolve(struct training_config *config, const struct device_properties *device)
{
    enum status status = STATUS_OK;
    struct training_config filled = *config;

    fill(&filled, device);
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        char reason[512];

        if (!refusals[i].applies(&filled, device))
            continue;
        write_reason(refusals[i].reason, &filled, device, reason, sizeof reason);
        FAIL(STATUS_REFUSED, "%s", reason);
    }
    *config = filled;

out:
    return status;
}
