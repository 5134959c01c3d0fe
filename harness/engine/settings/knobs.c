/* One const row per knob: its place in the settings, the values it takes, its healthy value and its
 * meaning, and with which other settings it acts. Setting, printing and help all read the rows, so
 * a new knob is a row. knob_values.h reads and writes each kind of value. */
#include "harness/engine/settings/knobs.h"

#include "harness/base/words/nearest.h"
#include "harness/base/words/text.h"
#include "harness/engine/settings/knob_values.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 40, VALUE_SIZE = 64 };

/* A row: name, kind and member; then the other members of struct knob, by name or by the macros
 * that follow. */
#define KNOB(knob, its_kind, member, ...)                                                          \
    {                                                                                              \
        .name = #knob, .kind = KNOB_##its_kind,                                                    \
        .offset = offsetof(struct training_config, member), __VA_ARGS__                            \
    }
#define KEEPS_RESULTS        .changes_no_result = true
#define FROM_TO(first, last) .values = #first ".." #last, .least = (first), .most = (last)
#define OR_AUTO(first, last)                                                                       \
    .values = #first ".." #last "|auto", .least = (first), .most = (last), .zero = "auto",         \
    .healthy = "auto"

static const struct knob knobs[] = {
    KNOB(model, CHOICE, model.role, .values = "light|balanced|heavy", .healthy = "balanced",
         .text = "what bounds the step: launches (light), input and device alike (balanced), "
                 "arithmetic (heavy)"),
    KNOB(data, CHOICE, data.kind, .values = "images|sequences|auto", .healthy = "auto",
         .text = "what it trains on; auto: sequences for model=light, images for the others"),
    KNOB(batch, COUNT, model.batch, OR_AUTO(1, 65536), .text = "samples per step"),
    KNOB(accumulate, COUNT, launch.accumulate, .values = "1..4096|fit", .least = 1, .most = 4096,
         .zero = "fit", .healthy = "1",
         .text = "micro-batches per step, each of batch / accumulate samples; fit: as few as "
                 "memory_budget has room for"),
    KNOB(update, YES_NO, launch.one_update, .values = "micro_batch|step", .healthy = "step",
         .acts = "accumulate!=1",
         .text = "when the weights change: after every micro-batch, or after all of a step, whose "
                 "gradients add up"),
    KNOB(tokens, COUNT, model.tokens, OR_AUTO(2, 16384),
         .text = "tokens per sample, including the class token; for images a square number plus 1"),
    KNOB(width, COUNT, model.width, OR_AUTO(32, 16384),
         .text = "elements per token, a multiple of 32"),
    KNOB(blocks, COUNT, model.blocks, OR_AUTO(1, 256), .text = "transformer blocks"),
    KNOB(patch, COUNT, model.patch, OR_AUTO(8, 256),
         .text = "images: side of a patch in pixels, a multiple of 8"),
    KNOB(crop, COUNT, model.crop, FROM_TO(1, 32), .healthy = "1", .acts = "data=images",
         .text = "images: loaded and copied so many times as wide and as high as the model sees "
                 "them; the device cuts out the middle"),
    KNOB(precision, CHOICE, model.precision, .values = "auto|fp32|tf32|bf16|fp16",
         .healthy = "auto",
         .text = "storage and matrix products; fp16 scales the loss; auto: bf16 where the device "
                 "has matrix units for it and the model is large enough"),
    KNOB(linear, YES_NO, model.fp64_linear, .values = "stored|fp64", .healthy = "stored",
         .text = "products of the linear layers: in the type in which tensors are stored, or in "
                 "fp64, to which both factors are cast, and from which the product is cast back"),
    KNOB(elementwise, CHOICE, model.elementwise, .values = "fused|unfused|epilogue",
         .healthy = "fused",
         .text = "bias, GELU, residual and norm: fused into one kernel where they meet, or one "
                 "kernel each; epilogue: fused, but bias, GELU and their gradients by the kernels "
                 "of the products, where the device's library can"),
    KNOB(gelu, YES_NO, model.gelu_on_host, .values = "device|host", .healthy = "device",
         .text = "GELU's forward on the device, or on the host, to which its input is copied, and "
                 "from which its result comes back, in the middle of the step"),
    KNOB(attention, CHOICE, model.attention, .values = "naive|fused", .healthy = "naive",
         .text = "naive: all scores in device memory; fused: in tiles with an online softmax, by "
                 "the device's library where it can, else by our kernels"),
    KNOB(heads, YES_NO, model.strided_heads, .values = "copied|strided", .healthy = "copied",
         .acts = "attention=fused",
         .text = "q, k, v and the result of attention head by head: copied into that order, or "
                 "read and written where they are, by strides, which fused attention of the "
                 "device's library takes"),
    KNOB(selection, CHOICE, model.selection, .values = "all|counted|masked", .healthy = "all",
         .text = "samples whose loss counts: all, or those with at least the mean loss: as many as "
                 "the host reads that there are, or by a mask on the device"),
    KNOB(experts, COUNT, model.experts, .values = "2..64|none", .least = 2, .most = 64,
         .zero = "none", .healthy = "none",
         .text = "MLPs of which a router chooses one for each token, instead of one MLP in each "
                 "block; every rank has an equal part of them"),
    KNOB(router_skew, REAL, model.router_skew, FROM_TO(0, 1), .healthy = "0",
         .acts = "experts!=none",
         .text = "by how much the router's choice prefers the last expert at first, as routers "
                 "come to do that train unbalanced; gates are from 0 to 1"),
    KNOB(
        router_bias, YES_NO, model.balances_experts, .values = "none|load", .healthy = "load",
        .acts = "experts!=none",
        .text =
            "what the router's choice has beside its gates: what it begins with, or a bias that "
            "rises after each backward for experts with few tokens, and falls for those with many"),
    KNOB(checkpointing, COUNT, model.checkpointing, .values = "none|block|N", .least = 2,
         .most = 256, .zero = "none", .one = "block", .healthy = "none", KEEPS_RESULTS,
         .text = "none: keep all activations; block: keep each block's input and recompute the "
                 "rest; N: keep the input of every N-th block and recompute N blocks together"),
    KNOB(input, CHOICE, loader.input, .values = "resident|loaded|cached|decoded",
         .healthy = "resident",
         .text = "resident: batches are in device memory; loaded: in host memory; cached: decoded "
                 "in host memory; decoded: decoded for every step"),
    KNOB(workers, WORKERS, loader.workers, .values = "0..4096|cores|2xcores..64xcores",
         .most = 4096, .healthy = "cores", .acts = "input=cached|decoded", KEEPS_RESULTS,
         .text = "loader threads; 0: the training thread loads"),
    KNOB(collate, CHOICE, loader.collate, .values = "workers|loop", .healthy = "workers",
         .acts = "input=decoded", KEEPS_RESULTS,
         .text = "batches are decoded and put together by the workers; or by the training thread, "
                 "and workers only read files"),
    KNOB(prefetch, COUNT, loader.prefetch, FROM_TO(1, 256), .healthy = "2",
         .acts = "input=cached|decoded workers!=0", KEEPS_RESULTS,
         .text = "batches that each worker keeps ready or in progress"),
    KNOB(persistent_workers, YES_NO, loader.persistent_workers, .values = "no|yes",
         .healthy = "yes", .acts = "input=cached|decoded workers!=0", KEEPS_RESULTS,
         .text = "keep the workers from epoch to epoch, or start new ones"),
    KNOB(padding, CHOICE, loader.batching.padding, .values = "max_length|longest",
         .healthy = "max_length", .acts = "data=sequences",
         .text = "sequences: pad all samples to tokens, or those of a micro-batch to the longest "
                 "among them"),
    KNOB(pad_to_multiple_of, COUNT, loader.batching.pad_to_multiple_of, FROM_TO(1, 16384),
         .healthy = "8", .acts = "data=sequences padding=longest",
         .text = "padding=longest: round the padded length up to a multiple of so many tokens"),
    KNOB(group_by_length, YES_NO, loader.batching.group_by_length, .values = "no|yes",
         .healthy = "yes", .acts = "data=sequences padding=longest",
         .text = "padding=longest: sort the samples of an update by length, so that those of a "
                 "micro-batch are alike"),
    KNOB(max_tokens, COUNT, loader.batching.max_tokens, .values = "2..1048576|none", .least = 2,
         .most = 1048576, .zero = "none", .healthy = "none",
         .acts = "data=sequences padding=longest accumulate!=1",
         .text = "padding=longest: a micro-batch has as many samples as fit, padded, into so many "
                 "tokens; none: all have as many samples"),
    KNOB(jpeg_pixels, COUNT, data.jpeg_pixels, OR_AUTO(16, 1024),
         .text = "side of the JPEG files in pixels; auto: generated ones have the image's for "
                 "model=heavy, else twice that, and a folder's are taken as they are"),
    KNOB(jpeg_sizes, YES_NO, data.uneven, .values = "even|uneven", .healthy = "even",
         .text =
             "generated JPEG files: all of jpeg_pixels, or one in 32 with sides 12 times as long"),
    KNOB(jpeg_scaling, YES_NO, data.scales, .values = "after_decoding|in_decoder",
         .healthy = "in_decoder", .acts = "input=cached|decoded",
         .text = "larger JPEG files: shrunk once they are decoded whole, or by 2, 4 or 8 while "
                 "they are decoded, which is faster"),
    KNOB(resize_threads, COUNT, data.threads, FROM_TO(1, 64), .healthy = "1",
         .acts = "data=images input=cached|decoded", KEEPS_RESULTS,
         .text = "threads of the library that resizes a decoded image, in each loader thread"),
    KNOB(page_cache, YES_NO, data.drops_cache, .values = "kept|dropped", .healthy = "kept",
         .acts = "data=images input=cached|decoded", KEEPS_RESULTS,
         .text =
             "files that are read stay in the host's memory; or are dropped from it before they "
             "are read again, as those of a data set that is larger"),
    KNOB(storage, YES_NO, data.in_shards, .values = "files|shards", .healthy = "files",
         .acts = "data=images input=cached|decoded page_cache=dropped", KEEPS_RESULTS,
         .text =
             "samples are read from a file each; or from shards of many samples, which are read "
             "whole, and kept in memory until each of their samples has been used"),
    KNOB(index, CHOICE, data.index, .values = "none|objects|arrays", .healthy = "none",
         .acts = "input=decoded", KEEPS_RESULTS,
         .text = "notes on each sample, which whoever loads it looks up in memory that workers "
                 "share until they write to it: none; objects that count references, so that a "
                 "look copies their page for the worker; or arrays"),
    KNOB(host_memory, YES_NO, transfer.pinned, .values = "pageable|pinned", .healthy = "pinned",
         .acts = "input=loaded|cached|decoded", KEEPS_RESULTS,
         .text = "host memory that batches are loaded into"),
    KNOB(pinning, YES_NO, transfer.pinned_once, .values = "loop|loader", .healthy = "loader",
         .acts = "input=loaded|cached|decoded host_memory=pinned", KEEPS_RESULTS,
         .text = "loader: batches are loaded into pinned memory, which is kept; loop: the loop "
                 "allocates it for each batch, copies the batch there, and frees it"),
    KNOB(transfer, CHOICE, transfer.mode, .values = "overlapped|inline|blocking",
         .healthy = "overlapped", .acts = "input=loaded|cached|decoded", KEEPS_RESULTS,
         .text =
             "copy batches on a separate stream, on the compute stream, or while the host waits"),
    KNOB(copies, YES_NO, transfer.one_copy, .values = "per_tensor|one", .healthy = "one",
         .acts = "input=loaded|cached|decoded", KEEPS_RESULTS,
         .text =
             "one copy per batch, or one per tensor: each sample's input, the labels, the lengths"),
    KNOB(pixels, YES_NO, loader.batching.wide_pixels, .values = "bytes|fp32", .healthy = "bytes",
         .acts = "data=images", KEEPS_RESULTS,
         .text = "images: copied to the device as bytes, or as fp32, four times as long, which the "
                 "device narrows to the type that it computes in"),
    KNOB(optimizer, CHOICE, optimizer.form, .values = "multi_tensor|per_tensor|unfused",
         .healthy = "multi_tensor",
         .text = "AdamW as one kernel for all tensors, one kernel per tensor, or six per tensor"),
    KNOB(clipping, YES_NO, optimizer.clips_on_device, .values = "host|device", .healthy = "device",
         KEEPS_RESULTS,
         .text = "who decides whether the gradients are clipped: the host, which reads their norm "
                 "in every step, or the device"),
    KNOB(loss_scaling, YES_NO, optimizer.reads_overflow, .values = "device|host",
         .healthy = "device", .acts = "precision=fp16", KEEPS_RESULTS,
         .text = "precision=fp16: the device decides to skip an update whose gradients overflow, "
                 "or the host, which reads the flag in every step"),
    KNOB(growth_interval, COUNT, optimizer.scale_interval, FROM_TO(1, 1000000), .healthy = "2000",
         .acts = "precision=fp16",
         .text = "precision=fp16: updates in a row without an overflow, after which the loss scale "
                 "is doubled"),
    KNOB(rate, REAL, optimizer.rate, FROM_TO(1e-12, 1), .healthy = "0.001",
         .text = "learning rate after warm-up"),
    KNOB(launch, CHOICE, launch.mode, .values = "eager|graph|blocking|auto", .healthy = "auto",
         KEEPS_RESULTS,
         .text = "launch kernel by kernel, each step as one graph, or kernel by kernel with a wait "
                 "after each; auto: a graph for model=light"),
    KNOB(backward_streams, YES_NO, launch.two_streams, .values = "one|two", .healthy = "one",
         .acts = "launch=eager|blocking", KEEPS_RESULTS,
         .text = "the two products of a linear layer's backward, neither of which needs the other: "
                 "one after the other, or at once on two streams"),
    KNOB(graphs, CHOICE, launch.graphs, .values = "per_shape|latest", .healthy = "per_shape",
         .acts = "launch=graph data=sequences padding=longest", KEEPS_RESULTS,
         .text = "launch=graph with padding=longest: keep a graph for each length, or only the "
                 "latest and capture the others anew"),
    KNOB(allocation, CHOICE, allocator.mode, .values = "caching|stream_ordered|direct",
         .healthy = "caching", KEEPS_RESULTS,
         .text = "freed device memory: kept by the step, kept by the device's pool, or given back "
                 "at once"),
    KNOB(segments, CHOICE, allocator.segments, .values = "rounded|pooled|exact",
         .healthy = "rounded", .acts = "allocation=caching", KEEPS_RESULTS,
         .text = "segments of allocation=caching: multiples of 2 MiB; also 20 MiB for blocks below "
                 "10 MiB, as in PyTorch; or of each block's size"),
    KNOB(memory_budget, BYTES, allocator.budget, .values = "SIZE|role|device", .least = 1,
         .most = 0x1p62, .zero = "device", .healthy = "device", KEEPS_RESULTS,
         .text = "device memory that the step may reserve; device: all of it; role: little more "
                 "than the model needs"),
    KNOB(empty_cache_every, COUNT, allocator.empty_cache_every, .values = "1..1000000|never",
         .least = 1, .most = 1000000, .zero = "never", .healthy = "never",
         .acts = "allocation=caching", KEEPS_RESULTS,
         .text = "steps after which allocation=caching gives its free memory back to the device"),
    KNOB(loss_every, COUNT, logging.loss_every, FROM_TO(1, 1000000), .healthy = "20", KEEPS_RESULTS,
         .text = "steps between blocking reads of the loss"),
    KNOB(log, CHOICE, logging.log, .values = "none|synced|queued|posted|posted_queued",
         .healthy = "none", KEEPS_RESULTS,
         .text = "a line of a log for each loss that is read: none; forced to disk (fsync) by the "
                 "loop, or queued for a thread that does it; or posted to a service that answers "
                 "after 3 ms, by the loop or by the thread"),
    KNOB(accuracy, CHOICE, logging.accuracy, .values = "none|host|device", .healthy = "none",
         KEEPS_RESULTS,
         .text = "right answers: not counted; on the host, which waits for the logits in every "
                 "step; or on the device, whose sum is read at the end"),
    KNOB(predictions, CHOICE, logging.predictions, .values = "none|rewritten|appended",
         .healthy = "none", .acts = "accuracy=host", KEEPS_RESULTS,
         .text = "a table of the epoch's logits and labels in a file: none; written whole after "
                 "each step; or with the rows of the step appended"),
    KNOB(validate_every, COUNT, logging.validate_every, .values = "1..1000000|never", .least = 1,
         .most = 1000000, .zero = "never", .healthy = "never", KEEPS_RESULTS,
         .text = "steps between evaluations of all held-out samples, which the training waits for"),
    KNOB(timer, CHOICE, logging.timer, .values = "no|queue|cold|end", .healthy = "no",
         KEEPS_RESULTS,
         .text = "the loop's own time of a step: no; until its work is queued; until the device "
                 "has done it, of the first 8 steps; or the same of the steps that are measured"),
    KNOB(profiler, YES_NO, logging.profiles, .values = "none|stacks", .healthy = "none",
         .acts = "launch=eager", KEEPS_RESULTS,
         .text = "a profiler of the loop's own: none; or one that keeps the call stack of every "
                 "operator that is launched"),
    KNOB(self_comparison, CHOICE, logging.self_comparison, .values = "none|one_sample|pairs",
         .healthy = "none", KEEPS_RESULTS,
         .text = "A/A of the loop's own steps: none; one step with the next; or 10 pairs in turns, "
                 "by the interval of their median"),
    KNOB(garbage, CHOICE, logging.garbage, .values = "none|collected|frozen", .healthy = "none",
         KEEPS_RESULTS,
         .text = "objects of the host: none; a heap and records of steps that refer to each other, "
                 "which are collected every 10 steps by going through all; or the same with the "
                 "heap frozen, so that a collection goes through the records alone"),
    KNOB(kept_loss, CHOICE, logging.kept, .values = "number|graph", .healthy = "number",
         KEEPS_RESULTS,
         .text = "kept of each loss until the epoch ends: the number, or its graph too, and so all "
                 "activations of its step"),
    KNOB(save_every, COUNT, saving.save_every, .values = "1..1000000|never", .least = 1,
         .most = 1000000, .zero = "never", .healthy = "never", KEEPS_RESULTS,
         .text = "steps between saves of the training state to a file"),
    KNOB(save_mode, CHOICE, saving.mode, .values = "asynchronous|blocking",
         .healthy = "asynchronous", .acts = "save_every!=never", KEEPS_RESULTS,
         .text =
             "save from pinned memory by a thread, or while the step waits for copies and write"),
    KNOB(ranks, COUNT, ranks.count, FROM_TO(1, 1024), .healthy = "1",
         .text = "processes that train together, over MPI, each with an equal part of every batch "
                 "(or of the model) and of the cores"),
    KNOB(parallel, YES_NO, ranks.pipeline, .values = "data|pipeline", .healthy = "data",
         .acts = "ranks!=1",
         .text = "what ranks have a part of: every batch; or the model's blocks, through which the "
                 "micro-batches of a step go one after another (1F1B)"),
    KNOB(allreduce, CHOICE, ranks.allreduce, .values = "after_backward|overlap",
         .healthy = "overlap", .acts = "ranks!=1 parallel=data",
         .text = "when the gradients of all ranks are added up: after backward, or bucket by "
                 "bucket while it goes on"),
    KNOB(bucket_mb, COUNT, ranks.bucket_mb, .values = "tensor|1..4096", .least = 1, .most = 4096,
         .zero = "tensor", .healthy = "25", .acts = "ranks!=1 parallel=data parameters=whole",
         .text = "MiB of gradients that one all-reduce adds up; tensor: one for each tensor"),
    KNOB(gradient_sync, YES_NO, ranks.one_sync, .values = "micro_batch|update", .healthy = "update",
         .acts = "ranks!=1 parallel=data accumulate!=1 update=step",
         .text = "how often the gradients of all ranks are added up: after every micro-batch, or "
                 "once an update, when those of its micro-batches have added up on each rank"),
    KNOB(bucket_view, YES_NO, ranks.bucket_view, .values = "no|yes", .healthy = "yes",
         .acts = "ranks!=1 parallel=data",
         .text = "yes: gradients are views of the buckets that the ranks add up; no: they are "
                 "copied into them and back"),
    KNOB(optimizer_state, YES_NO, ranks.shards_state, .values = "whole|sharded", .healthy = "whole",
         .acts = "ranks!=1 parallel=data parameters=whole",
         .text = "each rank keeps the whole state of the optimizer; or only that of its part of "
                 "the parameters, which it updates for all"),
    KNOB(parameters, CHOICE, ranks.parameters, .values = "whole|sharded|prefetched",
         .healthy = "whole", .acts = "ranks!=1 parallel=data",
         .text =
             "sharded: each rank keeps a part of the parameters, with the optimizer's state of it, "
             "and gathers each block's before use; prefetched: while the block before computes"),
    KNOB(uncached_rank, RANK, ranks.uncached_rank, .values = "none|0..1023", .most = 1023,
         .zero = "none", .healthy = "none", .acts = "ranks!=1 input=cached",
         .text =
             "input=cached: a rank without the cache, which decodes its samples for every step"),
    KNOB(seed, SEED, seed, .values = "0..18446744073709551615", .healthy = "1",
         .text = "seed of parameters, sample order and generated samples"),
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

/* A name that no knob has is answered with the nearest one. */
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

/* --- With which other settings a knob acts --- */

/* One setting of a condition. */
struct condition {
    char knob[VALUE_SIZE], values[VALUE_SIZE];
    bool excludes; /* "!=" */
};

/* Reads the setting at `text`; returns what follows it. NULL: the text is over. */
static const char *next_condition(const char *text, struct condition *condition)
{
    size_t name, values;

    text += strspn(text, " ");
    if (*text == '\0')
        return NULL;
    name = strcspn(text, "!=");
    snprintf(condition->knob, VALUE_SIZE, "%.*s", (int)name, text);
    condition->excludes = text[name] == '!';
    text += name + strspn(text + name, "!=");
    values = strcspn(text, " ");
    snprintf(condition->values, VALUE_SIZE, "%.*s", (int)values, text);
    return text + values;
}

bool knob_acts(const struct training_config *resolved, const char *name, char why[KNOB_WHY])
{
    const char *next = "";
    struct condition condition;

    why[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
        if (strcmp(knobs[i].name, name) == 0 && knobs[i].acts != NULL)
            next = knobs[i].acts;
    while ((next = next_condition(next, &condition)) != NULL) {
        char value[VALUE_SIZE];
        if (knob_get(resolved, condition.knob, value, sizeof value) == STATUS_OK &&
            (knob_word_find(condition.values, value) >= 0) == condition.excludes) {
            char flag[VALUE_SIZE];
            snprintf(flag, sizeof flag, "%s", condition.knob);
            for (char *letter = flag; *letter != '\0'; letter++)
                if (*letter == '_')
                    *letter = '-';
            snprintf(why, KNOB_WHY, "%s acts only with --%s%s%s (here %s=%s)", name, flag,
                     condition.excludes ? " other than " : "=", condition.values, condition.knob,
                     value);
            return false;
        }
    }
    return true;
}

bool knobs_next_idle(const struct training_config *config, const struct training_config *resolved,
                     int *at, char why[KNOB_WHY])
{
    struct training_config defaults;

    knobs_defaults(&defaults);
    while (*at < (int)ARRAY_SIZE(knobs)) {
        const char *name = knobs[(*at)++].name;
        char value[VALUE_SIZE], usual[VALUE_SIZE];
        if (knob_get(config, name, value, sizeof value) == STATUS_OK &&
            knob_get(&defaults, name, usual, sizeof usual) == STATUS_OK &&
            strcmp(value, usual) != 0 && !knob_acts(resolved, name, why))
            return true;
    }
    return false;
}
