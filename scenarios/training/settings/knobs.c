/* One const row a knob: where it lies in the settings, what it takes, what it means. Setting, printing
 * and help all read the rows; adding a knob is a row, and its default in knobs_defaults(). How a kind
 * of value is read and written is knob_values.h's. */
#include "scenarios/training/settings/knobs.h"

#include "harness/base/nearest.h"
#include "scenarios/training/settings/knob_values.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 40, VALUE_SIZE = 64 };

#define AT(member)           .offset = offsetof(struct training_config, member)
#define FROM_TO(first, last) .values = #first ".." #last, .least = (first), .most = (last)
#define OR_AUTO(first, last)                                                                       \
    .values = #first ".." #last "|auto", .least = (first), .most = (last), .zero = "auto"

static const struct knob knobs[] = {
    { .name = "model",
      .kind = KNOB_CHOICE,
      AT(model.role),
      .values = "light|balanced|heavy",
      .text = "role of the model: bound by launches, by its input too, or by arithmetic" },
    { .name = "data",
      .kind = KNOB_CHOICE,
      AT(data.kind),
      .values = "images|sequences|auto",
      .text = "what it trains on; auto: sequences for light, images for the others" },
    { .name = "batch",
      .kind = KNOB_COUNT,
      AT(model.batch),
      OR_AUTO(1, 65536),
      .text = "samples an update" },
    { .name = "accumulate",
      .kind = KNOB_COUNT,
      AT(launch.accumulate),
      FROM_TO(1, 4096),
      .text = "micro-batches an update: each has batch / accumulate samples" },
    { .name = "tokens",
      .kind = KNOB_COUNT,
      AT(model.tokens),
      OR_AUTO(2, 16384),
      .text = "tokens a sample, the class token included; images: a square number and 1" },
    { .name = "width",
      .kind = KNOB_COUNT,
      AT(model.width),
      OR_AUTO(32, 16384),
      .text = "elements of a token, a multiple of 32" },
    { .name = "blocks",
      .kind = KNOB_COUNT,
      AT(model.blocks),
      OR_AUTO(1, 256),
      .text = "transformer blocks" },
    { .name = "patch",
      .kind = KNOB_COUNT,
      AT(model.patch),
      OR_AUTO(8, 256),
      .text = "images: pixels a side of a patch, a multiple of 8" },
    { .name = "precision",
      .kind = KNOB_CHOICE,
      AT(model.precision),
      .values = "auto|fp32|tf32|bf16",
      .text = "storage and matrix products; auto: bf16 where the device has matrix units "
              "for it and the role's products gain by them" },
    { .name = "elementwise",
      .kind = KNOB_CHOICE,
      AT(model.elementwise),
      .values = "fused|unfused",
      .text = "bias, GELU, residual and norm in one kernel where they meet, or each in its own" },
    { .name = "attention",
      .kind = KNOB_CHOICE,
      AT(model.attention),
      .values = "naive|fused",
      .text = "scores in device memory, or tiled with an online softmax: by cuDNN where it can, "
              "else by our kernels" },
    { .name = "checkpointing",
      .kind = KNOB_YES_NO,
      AT(model.checkpointing),
      .values = "none|block",
      .text = "keep all activations, or each block's input only and recompute the rest" },
    { .name = "input",
      .kind = KNOB_CHOICE,
      AT(loader.input),
      .values = "resident|cached|decoded",
      .text = "batches lie on the device, or decoded on the host, or are decoded each time" },
    { .name = "workers",
      .kind = KNOB_WORKERS,
      AT(loader.workers),
      .values = "0..4096|cores|2xcores..64xcores",
      .most = 4096,
      .text = "loader threads; 0: the training thread loads" },
    { .name = "prefetch",
      .kind = KNOB_COUNT,
      AT(loader.prefetch),
      FROM_TO(1, 256),
      .text = "batches a worker keeps ready or under way" },
    { .name = "persistent_workers",
      .kind = KNOB_YES_NO,
      AT(loader.persistent_workers),
      .values = "no|yes",
      .text = "keep the workers from epoch to epoch, or start them anew" },
    { .name = "jpeg_pixels",
      .kind = KNOB_COUNT,
      AT(data.jpeg_pixels),
      OR_AUTO(16, 1024),
      .text = "pixels a side of the generated JPEG files; auto: twice the image's, as large where "
              "model=heavy" },
    { .name = "host_memory",
      .kind = KNOB_YES_NO,
      AT(transfer.pinned),
      .values = "pageable|pinned",
      .text = "where batches lie on the host" },
    { .name = "transfer",
      .kind = KNOB_CHOICE,
      AT(transfer.mode),
      .values = "overlapped|inline|blocking",
      .text =
          "copy batches on a stream of their own, on the compute stream, or while the host waits" },
    { .name = "copies",
      .kind = KNOB_YES_NO,
      AT(transfer.one_copy),
      .values = "per_tensor|one",
      .text = "copies a batch" },
    { .name = "optimizer",
      .kind = KNOB_CHOICE,
      AT(optimizer.form),
      .values = "multi_tensor|per_tensor|unfused",
      .text = "AdamW as one kernel for all tensors, one a tensor, or six a tensor" },
    { .name = "rate",
      .kind = KNOB_REAL,
      AT(optimizer.rate),
      FROM_TO(1e-8, 1),
      .text = "learning rate after warm-up" },
    { .name = "launch",
      .kind = KNOB_CHOICE,
      AT(launch.mode),
      .values = "eager|graph|auto",
      .text = "launch kernel by kernel, or a step as one graph; auto: a graph for light" },
    { .name = "allocation",
      .kind = KNOB_CHOICE,
      AT(allocator.mode),
      .values = "caching|stream_ordered|direct",
      .text = "keep freed memory in the step, in the device's pool, or give it back" },
    { .name = "memory_budget",
      .kind = KNOB_BYTES,
      AT(allocator.budget),
      .values = "BYTES, KiB, MiB, GiB|role|device",
      .least = 1,
      .most = 0x1p62,
      .zero = "device",
      .text = "device memory the step may reserve; device: all; role: hardly more than the role "
              "needs" },
    { .name = "loss_every",
      .kind = KNOB_COUNT,
      AT(logging.loss_every),
      FROM_TO(1, 1000000),
      .text = "steps between blocking reads of the loss" },
    { .name = "seed",
      .kind = KNOB_SEED,
      AT(seed),
      .values = "0..18446744073709551615",
      .text = "of parameters, sample order and generated samples" },
};

const struct knob *knobs_list(int *count)
{
    *count = ARRAY_SIZE(knobs);
    return knobs;
}

/* Every byte is set, also those between members: configurations can be compared as memory. */
void knobs_defaults(struct training_config *config)
{
    memset(config, 0, sizeof *config); /* the first word of every choice, and 0 for auto */
    config->model.role = ROLE_BALANCED;
    config->data.kind = DATA_AUTO;
    config->loader.workers = -1;
    config->loader.prefetch = 2;
    config->loader.persistent_workers = true;
    config->transfer.pinned = true;
    config->transfer.one_copy = true;
    /* More than the steps a loop that reads every 20th loss can be ahead: the host never waits here. */
    config->transfer.batches_in_flight = 32;
    config->optimizer.rate = 1e-3;
    config->optimizer.decay = 0.01; /* PyTorch's default for AdamW */
    config->optimizer.max_norm = 1;
    config->optimizer.warmup = 20;
    config->launch.mode = LAUNCH_AUTO;
    config->launch.accumulate = 1;
    config->logging.loss_every = 20;
    config->seed = 1;
}

/* --- finding a knob --------------------------------------------------------------------------- */

static bool same_name(const char *knob, const char *name)
{
    while (*knob != '\0' && (*knob == *name || (*knob == '_' && *name == '-'))) {
        knob++;
        name++;
    }
    return *knob == '\0' && *name == '\0';
}

static enum status knob_find(const char *name, const struct knob **found)
{
    enum status status = STATUS_OK;
    const char *names[ARRAY_SIZE(knobs)];

    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        names[i] = knobs[i].name;
        if (same_name(knobs[i].name, name)) {
            *found = &knobs[i];
            goto out;
        }
    }
    FAIL(STATUS_BAD_USAGE, "there is no knob \"%s\"; did you mean %s?", name,
         nearest_name(name, names, ARRAY_SIZE(knobs)));

out:
    return status;
}

/* --- the interface ---------------------------------------------------------------------------- */

enum status knob_set(struct training_config *config, const char *name, const char *text)
{
    enum status status = STATUS_OK;
    const struct knob *knob;
    union knob_value value;

    TRY(knob_find(name, &knob));
    if (!knob_value_parse(knob, text, &value))
        FAIL(STATUS_BAD_USAGE, "%s does not take \"%s\"; it takes %s: %s", knob->name, text,
             knob->values, knob->text);
    memcpy((char *)config + knob->offset, &value, knob_value_size(knob));

out:
    return status;
}

enum status knobs_apply(struct training_config *config, const char *settings)
{
    enum status status = STATUS_OK;
    struct training_config changed = *config;

    for (;;) {
        char name[NAME_SIZE], value[VALUE_SIZE];
        size_t name_length, value_length;

        settings += strspn(settings, " \t\n");
        if (*settings == '\0')
            break;
        name_length = strcspn(settings, "= \t\n");
        if (settings[name_length] != '=')
            FAIL(STATUS_BAD_USAGE,
                 "\"%.*s\" is not a setting; write name=value, with blanks between",
                 (int)name_length, settings);
        value_length = strcspn(settings + name_length + 1, " \t\n");
        if (name_length >= sizeof name || value_length >= sizeof value)
            FAIL(STATUS_BAD_USAGE, "\"%.*s\" is too long for a setting",
                 (int)(name_length + 1 + value_length), settings);
        snprintf(name, sizeof name, "%.*s", (int)name_length, settings);
        snprintf(value, sizeof value, "%.*s", (int)value_length, settings + name_length + 1);
        TRY(knob_set(&changed, name, value));
        settings += name_length + 1 + value_length;
    }
    *config = changed;

out:
    return status;
}

enum status knob_get(const struct training_config *config, const char *name, char *text,
                     size_t size)
{
    enum status status = STATUS_OK;
    const struct knob *knob;
    union knob_value value = { 0 };
    int length;

    TRY(knob_find(name, &knob));
    memcpy(&value, (const char *)config + knob->offset, knob_value_size(knob));
    length = knob_value_print(knob, &value, text, size);
    if (length < 0 || (size_t)length >= size)
        FAIL(STATUS_BAD_USAGE, "%zu bytes are too few for the value of %s", size, knob->name);

out:
    return status;
}

enum status knobs_print(const struct training_config *config, char *text, size_t size)
{
    enum status status = STATUS_OK;
    size_t used = 0;

    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        char value[VALUE_SIZE];
        int length;

        TRY(knob_get(config, knobs[i].name, value, sizeof value));
        length =
            snprintf(text + used, size - used, "%s%s=%s", i > 0 ? " " : "", knobs[i].name, value);
        if (length < 0 || (size_t)length >= size - used)
            FAIL(STATUS_BAD_USAGE, "%zu bytes are too few for the values of all knobs", size);
        used += (size_t)length;
    }

out:
    return status;
}
