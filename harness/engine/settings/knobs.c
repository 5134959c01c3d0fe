/* One const row per knob: its place in the settings, the values it takes, its healthy value and its
 * meaning, and with which other settings it acts. Setting, printing and help all read the rows, so
 * a new knob is a row. knob_values.h reads and writes each kind of value, knob_acts.h reads with
 * what it acts. */
#include "harness/engine/settings/knobs.h"

#include "harness/base/words/nearest.h"
#include "harness/base/words/text.h"
#include "harness/engine/settings/knob_values.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 40, VALUE_SIZE = 64 };

#define AT(member)           .offset = offsetof(struct training_config, member)
#define FROM_TO(first, last) .values = #first ".." #last, .least = (first), .most = (last)
#define OR_AUTO(first, last)                                                                       \
    .values = #first ".." #last "|auto", .least = (first), .most = (last), .zero = "auto",         \
    .healthy = "auto"

static const struct knob knobs[] = {
    { .name = "model",
      .kind = KNOB_CHOICE,
      AT(model.role),
      .values = "light|balanced|heavy",
      .healthy = "balanced",
      .text = "what bounds the step: launches (light), input and device alike (balanced), "
              "arithmetic (heavy)" },
    { .name = "data",
      .kind = KNOB_CHOICE,
      AT(data.kind),
      .values = "images|sequences|auto",
      .healthy = "auto",
      .text = "what it trains on; auto: sequences for model=light, images for the others" },
    { .name = "batch",
      .kind = KNOB_COUNT,
      AT(model.batch),
      OR_AUTO(1, 65536),
      .text = "samples per step" },
    { .name = "accumulate",
      .kind = KNOB_COUNT,
      AT(launch.accumulate),
      .values = "1..4096|fit",
      .least = 1,
      .most = 4096,
      .zero = "fit",
      .healthy = "1",
      .text = "micro-batches per step, each of batch / accumulate samples; fit: as few as "
              "memory_budget has room for" },
    { .name = "update",
      .kind = KNOB_YES_NO,
      AT(launch.one_update),
      .values = "micro_batch|step",
      .healthy = "step",
      .acts = "accumulate!=1",
      .text = "when the weights change: after every micro-batch, or after all of a step, whose "
              "gradients add up" },
    { .name = "tokens",
      .kind = KNOB_COUNT,
      AT(model.tokens),
      OR_AUTO(2, 16384),
      .text = "tokens per sample, including the class token; for images a square number plus 1" },
    { .name = "width",
      .kind = KNOB_COUNT,
      AT(model.width),
      OR_AUTO(32, 16384),
      .text = "elements per token, a multiple of 32" },
    { .name = "blocks",
      .kind = KNOB_COUNT,
      AT(model.blocks),
      OR_AUTO(1, 256),
      .text = "transformer blocks" },
    { .name = "patch",
      .kind = KNOB_COUNT,
      AT(model.patch),
      OR_AUTO(8, 256),
      .text = "images: side of a patch in pixels, a multiple of 8" },
    { .name = "crop",
      .kind = KNOB_COUNT,
      AT(model.crop),
      FROM_TO(1, 32),
      .healthy = "1",
      .acts = "data=images",
      .text = "images: loaded and copied so many times as wide and as high as the model sees them; "
              "the device cuts out the middle" },
    { .name = "precision",
      .kind = KNOB_CHOICE,
      AT(model.precision),
      .values = "auto|fp32|tf32|bf16|fp16",
      .healthy = "auto",
      .text = "storage and matrix products; fp16 scales the loss; auto: bf16 where the device has "
              "matrix units for it and the model is large enough" },
    { .name = "elementwise",
      .kind = KNOB_CHOICE,
      AT(model.elementwise),
      .values = "fused|unfused",
      .healthy = "fused",
      .text = "bias, GELU, residual and norm: fused into one kernel where they meet, or one kernel "
              "each" },
    { .name = "gelu",
      .kind = KNOB_YES_NO,
      AT(model.gelu_on_host),
      .values = "device|host",
      .healthy = "device",
      .text =
          "GELU's forward on the device, or on the host, to which its input is copied, and from "
          "which its result comes back, in the middle of the step" },
    { .name = "attention",
      .kind = KNOB_CHOICE,
      AT(model.attention),
      .values = "naive|fused",
      .healthy = "naive",
      .text = "naive: all scores in device memory; fused: in tiles with an online softmax, by "
              "the device's library where it can, else by our kernels" },
    { .name = "heads",
      .kind = KNOB_YES_NO,
      AT(model.strided_heads),
      .values = "copied|strided",
      .healthy = "copied",
      .acts = "attention=fused",
      .text = "q, k, v and the result of attention head by head: copied into that order, or read "
              "and written where they are, by strides, which fused attention of the device's "
              "library takes" },
    { .name = "selection",
      .kind = KNOB_CHOICE,
      AT(model.selection),
      .values = "all|counted|masked",
      .healthy = "all",
      .text = "samples whose loss counts: all, or those with at least the mean loss: as many as "
              "the host reads that there are, or by a mask on the device" },
    { .name = "experts",
      .kind = KNOB_COUNT,
      AT(model.experts),
      .values = "2..64|none",
      .least = 2,
      .most = 64,
      .zero = "none",
      .healthy = "none",
      .text =
          "MLPs of which a router chooses one for each token, instead of one MLP in each block; "
          "every rank has an equal part of them" },
    { .name = "router_skew",
      .kind = KNOB_REAL,
      AT(model.router_skew),
      FROM_TO(0, 1),
      .healthy = "0",
      .acts = "experts!=none",
      .text =
          "by how much the router's choice prefers the last expert at first, as routers come to "
          "do that train unbalanced; gates are from 0 to 1" },
    { .name = "router_bias",
      .kind = KNOB_YES_NO,
      AT(model.balances_experts),
      .values = "none|load",
      .healthy = "load",
      .acts = "experts!=none",
      .text =
          "what the router's choice has beside its gates: what it begins with, or a bias that "
          "rises after each backward for experts with few tokens, and falls for those with many" },
    { .name = "checkpointing",
      .kind = KNOB_COUNT,
      AT(model.checkpointing),
      .values = "none|block|N",
      .least = 2,
      .most = 256,
      .zero = "none",
      .one = "block",
      .healthy = "none",
      .changes_no_result = true,
      .text = "none: keep all activations; block: keep each block's input and recompute the rest; "
              "N: keep the input of every N-th block and recompute N blocks together" },
    { .name = "input",
      .kind = KNOB_CHOICE,
      AT(loader.input),
      .values = "resident|loaded|cached|decoded",
      .healthy = "resident",
      .text = "resident: batches are in device memory; loaded: in host memory; cached: "
              "decoded in host memory; decoded: decoded for every step" },
    { .name = "workers",
      .kind = KNOB_WORKERS,
      AT(loader.workers),
      .values = "0..4096|cores|2xcores..64xcores",
      .most = 4096,
      .healthy = "cores",
      .acts = "input=cached|decoded",
      .changes_no_result = true,
      .text = "loader threads; 0: the training thread loads" },
    { .name = "collate",
      .kind = KNOB_CHOICE,
      AT(loader.collate),
      .values = "workers|loop",
      .healthy = "workers",
      .acts = "input=decoded",
      .changes_no_result = true,
      .text = "batches are decoded and put together by the workers; or by the training thread, and "
              "workers only read files" },
    { .name = "prefetch",
      .kind = KNOB_COUNT,
      AT(loader.prefetch),
      FROM_TO(1, 256),
      .healthy = "2",
      .acts = "input=cached|decoded workers!=0",
      .changes_no_result = true,
      .text = "batches that each worker keeps ready or in progress" },
    { .name = "persistent_workers",
      .kind = KNOB_YES_NO,
      AT(loader.persistent_workers),
      .values = "no|yes",
      .healthy = "yes",
      .acts = "input=cached|decoded workers!=0",
      .changes_no_result = true,
      .text = "keep the workers from epoch to epoch, or start new ones" },
    { .name = "padding",
      .kind = KNOB_CHOICE,
      AT(loader.batching.padding),
      .values = "max_length|longest",
      .healthy = "max_length",
      .acts = "data=sequences",
      .text =
          "sequences: pad all samples to tokens, or those of a micro-batch to the longest among "
          "them" },
    { .name = "pad_to_multiple_of",
      .kind = KNOB_COUNT,
      AT(loader.batching.pad_to_multiple_of),
      FROM_TO(1, 16384),
      .healthy = "8",
      .acts = "data=sequences padding=longest",
      .text = "padding=longest: round the padded length up to a multiple of so many tokens" },
    { .name = "group_by_length",
      .kind = KNOB_YES_NO,
      AT(loader.batching.group_by_length),
      .values = "no|yes",
      .healthy = "yes",
      .acts = "data=sequences padding=longest",
      .text = "padding=longest: sort the samples of an update by length, so that those of a "
              "micro-batch are alike" },
    { .name = "jpeg_pixels",
      .kind = KNOB_COUNT,
      AT(data.jpeg_pixels),
      OR_AUTO(16, 1024),
      .text = "side of the JPEG files in pixels; auto: generated ones have the image's for "
              "model=heavy, else twice that, and a folder's are taken as they are" },
    { .name = "jpeg_sizes",
      .kind = KNOB_YES_NO,
      AT(data.uneven),
      .values = "even|uneven",
      .healthy = "even",
      .text =
          "generated JPEG files: all of jpeg_pixels, or one in 32 with sides 12 times as long" },
    { .name = "jpeg_scaling",
      .kind = KNOB_YES_NO,
      AT(data.scales),
      .values = "after_decoding|in_decoder",
      .healthy = "in_decoder",
      .acts = "input=cached|decoded",
      .text = "larger JPEG files: shrunk once they are decoded whole, or by 2, 4 or 8 while they "
              "are decoded, which is faster" },
    { .name = "host_memory",
      .kind = KNOB_YES_NO,
      AT(transfer.pinned),
      .values = "pageable|pinned",
      .healthy = "pinned",
      .acts = "input=loaded|cached|decoded",
      .changes_no_result = true,
      .text = "host memory that batches are loaded into" },
    { .name = "transfer",
      .kind = KNOB_CHOICE,
      AT(transfer.mode),
      .values = "overlapped|inline|blocking",
      .healthy = "overlapped",
      .acts = "input=loaded|cached|decoded",
      .changes_no_result = true,
      .text = "copy batches on a separate stream, on the compute stream, or while the host waits" },
    { .name = "copies",
      .kind = KNOB_YES_NO,
      AT(transfer.one_copy),
      .values = "per_tensor|one",
      .healthy = "one",
      .acts = "input=loaded|cached|decoded",
      .changes_no_result = true,
      .text = "one copy per batch, or one per tensor: each sample's input, the labels, the "
              "lengths" },
    { .name = "pixels",
      .kind = KNOB_YES_NO,
      AT(loader.batching.wide_pixels),
      .values = "bytes|fp32",
      .healthy = "bytes",
      .acts = "data=images",
      .changes_no_result = true,
      .text = "images: copied to the device as bytes, or as fp32, four times as long, which the "
              "device narrows "
              "to the type that it computes in" },
    { .name = "optimizer",
      .kind = KNOB_CHOICE,
      AT(optimizer.form),
      .values = "multi_tensor|per_tensor|unfused",
      .healthy = "multi_tensor",
      .text = "AdamW as one kernel for all tensors, one kernel per tensor, or six per tensor" },
    { .name = "clipping",
      .kind = KNOB_YES_NO,
      AT(optimizer.clips_on_device),
      .values = "host|device",
      .healthy = "device",
      .changes_no_result = true,
      .text = "who decides whether the gradients are clipped: the host, which reads their norm in "
              "every step, or the device" },
    { .name = "loss_scaling",
      .kind = KNOB_YES_NO,
      AT(optimizer.reads_overflow),
      .values = "device|host",
      .healthy = "device",
      .acts = "precision=fp16",
      .changes_no_result = true,
      .text = "precision=fp16: the device decides to skip an update whose gradients overflow, or "
              "the host, which reads the flag in every step" },
    { .name = "rate",
      .kind = KNOB_REAL,
      AT(optimizer.rate),
      FROM_TO(1e-12, 1),
      .healthy = "0.001",
      .text = "learning rate after warm-up" },
    { .name = "launch",
      .kind = KNOB_CHOICE,
      AT(launch.mode),
      .values = "eager|graph|blocking|auto",
      .healthy = "auto",
      .changes_no_result = true,
      .text = "launch kernel by kernel, each step as one graph, or kernel by kernel with a wait "
              "after each; auto: a graph for model=light" },
    { .name = "backward_streams",
      .kind = KNOB_YES_NO,
      AT(launch.two_streams),
      .values = "one|two",
      .healthy = "one",
      .acts = "launch=eager|blocking",
      .changes_no_result = true,
      .text = "the two products of a linear layer's backward, neither of which needs the other: "
              "one after the other, or at once on two streams" },
    { .name = "graphs",
      .kind = KNOB_CHOICE,
      AT(launch.graphs),
      .values = "per_shape|latest",
      .healthy = "per_shape",
      .acts = "launch=graph data=sequences padding=longest",
      .changes_no_result = true,
      .text = "launch=graph with padding=longest: keep a graph for each length, or only the latest "
              "and capture the others anew" },
    { .name = "allocation",
      .kind = KNOB_CHOICE,
      AT(allocator.mode),
      .values = "caching|stream_ordered|direct",
      .healthy = "caching",
      .changes_no_result = true,
      .text = "freed device memory: kept by the step, kept by the device's pool, or given back at "
              "once" },
    { .name = "segments",
      .kind = KNOB_CHOICE,
      AT(allocator.segments),
      .values = "rounded|pooled|exact",
      .healthy = "rounded",
      .acts = "allocation=caching",
      .changes_no_result = true,
      .text = "segments of allocation=caching: multiples of 2 MiB; also 20 MiB for blocks below 10 "
              "MiB, as in PyTorch; or of each block's size" },
    { .name = "memory_budget",
      .kind = KNOB_BYTES,
      AT(allocator.budget),
      .values = "SIZE|role|device",
      .least = 1,
      .most = 0x1p62,
      .zero = "device",
      .healthy = "device",
      .changes_no_result = true,
      .text = "device memory that the step may reserve; device: all of it; role: little more than "
              "the model needs" },
    { .name = "empty_cache_every",
      .kind = KNOB_COUNT,
      AT(allocator.empty_cache_every),
      .values = "1..1000000|never",
      .least = 1,
      .most = 1000000,
      .zero = "never",
      .healthy = "never",
      .acts = "allocation=caching",
      .changes_no_result = true,
      .text = "steps after which allocation=caching gives its free memory back to the device" },
    { .name = "loss_every",
      .kind = KNOB_COUNT,
      AT(logging.loss_every),
      FROM_TO(1, 1000000),
      .healthy = "20",
      .changes_no_result = true,
      .text = "steps between blocking reads of the loss" },
    { .name = "log",
      .kind = KNOB_CHOICE,
      AT(logging.log),
      .values = "none|synced|queued|posted|posted_queued",
      .healthy = "none",
      .changes_no_result = true,
      .text = "a line of a log for each loss that is read: none; forced to disk (fsync) by the "
              "loop, or queued for a thread that does it; or posted to a service that answers "
              "after 3 ms, by the loop or by the thread" },
    { .name = "accuracy",
      .kind = KNOB_CHOICE,
      AT(logging.accuracy),
      .values = "none|host|device",
      .healthy = "none",
      .changes_no_result = true,
      .text = "right answers: not counted; on the host, which waits for the logits in every step; "
              "or on the device, whose sum is read at the end" },
    { .name = "timer",
      .kind = KNOB_CHOICE,
      AT(logging.timer),
      .values = "no|queue|cold|end",
      .healthy = "no",
      .changes_no_result = true,
      .text = "the loop's own time of a step: no; until its work is queued; until the device has "
              "done it, of the first 8 steps; or the same of the steps that are measured" },
    { .name = "profiler",
      .kind = KNOB_YES_NO,
      AT(logging.profiles),
      .values = "none|stacks",
      .healthy = "none",
      .acts = "launch=eager",
      .changes_no_result = true,
      .text = "a profiler of the loop's own: none; or one that keeps the call stack of every "
              "operator that is launched" },
    { .name = "self_comparison",
      .kind = KNOB_CHOICE,
      AT(logging.self_comparison),
      .values = "none|one_sample|pairs",
      .healthy = "none",
      .changes_no_result = true,
      .text = "A/A of the loop's own steps: none; one step with the next; or 10 pairs in turns, by "
              "the interval of their median" },
    { .name = "kept_loss",
      .kind = KNOB_CHOICE,
      AT(logging.kept),
      .values = "number|graph",
      .healthy = "number",
      .changes_no_result = true,
      .text = "kept of each loss until the epoch ends: the number, or its graph too, and so all "
              "activations of its step" },
    { .name = "save_every",
      .kind = KNOB_COUNT,
      AT(saving.save_every),
      .values = "1..1000000|never",
      .least = 1,
      .most = 1000000,
      .zero = "never",
      .healthy = "never",
      .changes_no_result = true,
      .text = "steps between saves of the training state to a file" },
    { .name = "save_mode",
      .kind = KNOB_CHOICE,
      AT(saving.mode),
      .values = "asynchronous|blocking",
      .healthy = "asynchronous",
      .acts = "save_every!=never",
      .changes_no_result = true,
      .text = "save from pinned memory by a thread, or while the step waits for copies and write" },
    { .name = "ranks",
      .kind = KNOB_COUNT,
      AT(ranks.count),
      FROM_TO(1, 1024),
      .healthy = "1",
      .text = "processes that train together, over MPI, each with an equal part of every batch (or "
              "of the model) and of the cores" },
    { .name = "parallel",
      .kind = KNOB_YES_NO,
      AT(ranks.pipeline),
      .values = "data|pipeline",
      .healthy = "data",
      .acts = "ranks!=1",
      .text = "what ranks have a part of: every batch; or the model's blocks, through which the "
              "micro-batches of a step go one after another (1F1B)" },
    { .name = "allreduce",
      .kind = KNOB_CHOICE,
      AT(ranks.allreduce),
      .values = "after_backward|overlap",
      .healthy = "overlap",
      .acts = "ranks!=1 parallel=data",
      .text = "when the gradients of all ranks are added up: after backward, or bucket by bucket "
              "while it goes on" },
    { .name = "bucket_mb",
      .kind = KNOB_COUNT,
      AT(ranks.bucket_mb),
      .values = "tensor|1..4096",
      .least = 1,
      .most = 4096,
      .zero = "tensor",
      .healthy = "25",
      .acts = "ranks!=1 parallel=data parameters=whole",
      .text = "MiB of gradients that one all-reduce adds up; tensor: one for each tensor" },
    { .name = "bucket_view",
      .kind = KNOB_YES_NO,
      AT(ranks.bucket_view),
      .values = "no|yes",
      .healthy = "yes",
      .acts = "ranks!=1 parallel=data",
      .text = "yes: gradients are views of the buckets that the ranks add up; no: they are copied "
              "into them and back" },
    { .name = "optimizer_state",
      .kind = KNOB_YES_NO,
      AT(ranks.shards_state),
      .values = "whole|sharded",
      .healthy = "whole",
      .acts = "ranks!=1 parallel=data parameters=whole",
      .text = "each rank keeps the whole state of the optimizer; or only that of its part of the "
              "parameters, which it updates for all" },
    { .name = "parameters",
      .kind = KNOB_CHOICE,
      AT(ranks.parameters),
      .values = "whole|sharded|prefetched",
      .healthy = "whole",
      .acts = "ranks!=1 parallel=data",
      .text =
          "sharded: each rank keeps a part of the parameters, with the optimizer's state of "
          "it, and gathers each block's before use; prefetched: while the block before computes" },
    { .name = "uncached_rank",
      .kind = KNOB_RANK,
      AT(ranks.uncached_rank),
      .values = "none|0..1023",
      .most = 1023,
      .zero = "none",
      .healthy = "none",
      .acts = "ranks!=1 input=cached",
      .text = "input=cached: a rank without the cache, which decodes its samples for every step" },
    { .name = "seed",
      .kind = KNOB_SEED,
      AT(seed),
      .values = "0..18446744073709551615",
      .healthy = "1",
      .text = "seed of parameters, sample order and generated samples" },
};

const struct knob *knobs_list(int *count)
{
    *count = ARRAY_SIZE(knobs);
    return knobs;
}

/* Every byte is set, also those between members: configurations can be compared as memory. */
void knobs_defaults(struct training_config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        union knob_value value;
        if (knob_value_parse(&knobs[i], knobs[i].healthy, &value))
            memcpy((char *)config + knobs[i].offset, &value, knob_value_size(&knobs[i]));
    }
    /* More than the steps a loop that reads every 20th loss can be ahead: the host never waits
     * here. */
    config->transfer.batches_in_flight = 32;
    config->optimizer.decay = 0.01; /* PyTorch's default for AdamW */
    config->optimizer.max_norm = 1;
    config->optimizer.warmup = 20;
    config->optimizer.scale_interval = LOSS_SCALE_INTERVAL;
}

/* --- Finding a knob --- */

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
    const char *names[ARRAY_SIZE(knobs)];
    char advice[NEAREST_ADVICE];

    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        names[i] = knobs[i].name;
        if (same_name(knobs[i].name, name)) {
            *found = &knobs[i];
            return STATUS_OK;
        }
    }
    nearest_advice(advice, name, names, ARRAY_SIZE(knobs));
    FAIL(STATUS_BAD_USAGE, "there is no knob \"%s\"%s", name,
         advice[0] != '\0' ? advice : "; train --help lists them");
}

/* --- The interface --- */

enum status knob_set(struct training_config *config, const char *name, const char *text)
{
    const struct knob *knob;
    union knob_value value;

    TRY(knob_find(name, &knob));
    if (!knob_value_parse(knob, text, &value)) {
        char advice[256];
        knob_value_advice(knob, advice, sizeof advice);
        FAIL(STATUS_BAD_USAGE, "%s: \"%s\" is not valid. Use %s.", knob->name, text, advice);
    }
    memcpy((char *)config + knob->offset, &value, knob_value_size(knob));

    return STATUS_OK;
}

void knob_advice(const char *name, char *text, size_t size)
{
    const struct knob *knob;

    text[0] = '\0';
    if (knob_find(name, &knob) == STATUS_OK)
        knob_value_advice(knob, text, size);
}

enum status knobs_apply(struct training_config *config, const char *settings)
{
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

    return STATUS_OK;
}

enum status knob_get(const struct training_config *config, const char *name, char *text,
                     size_t size)
{
    const struct knob *knob;
    union knob_value value = { 0 };
    int length;

    TRY(knob_find(name, &knob));
    memcpy(&value, (const char *)config + knob->offset, knob_value_size(knob));
    length = knob_value_print(knob, &value, text, size);
    if (length < 0 || (size_t)length >= size)
        FAIL(STATUS_BAD_USAGE, "%zu bytes are too few for the value of %s", size, knob->name);

    return STATUS_OK;
}

void knobs_differences(const struct training_config *saved, const struct training_config *now,
                       char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        char before[VALUE_SIZE], after[VALUE_SIZE];
        int length;

        if (knobs[i].changes_no_result ||
            knob_get(saved, knobs[i].name, before, sizeof before) != STATUS_OK ||
            knob_get(now, knobs[i].name, after, sizeof after) != STATUS_OK ||
            strcmp(before, after) == 0)
            continue;
        length = snprintf(text + used, size - used, "%s%s=%s instead of %s", used > 0 ? ", " : "",
                          knobs[i].name, before, after);
        if (length < 0 || (size_t)length >= size - used) {
            text[used] = '\0';
            return;
        }
        used += (size_t)length;
    }
}

enum status knobs_print(const struct training_config *config, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
        char value[VALUE_SIZE];

        TRY(knob_get(config, knobs[i].name, value, sizeof value));
        if (!text_join(text, size, " ", "%s=%s", knobs[i].name, value))
            FAIL(STATUS_BAD_USAGE, "%zu bytes are too few for the values of all knobs", size);
    }

    return STATUS_OK;
}
