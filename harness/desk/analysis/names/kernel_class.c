/* Rows of a table, of which the first that matches counts. */
#include "harness/desk/analysis/names/kernel_class.h"

#include "harness/base/status.h"
#include "harness/desk/analysis/names/event_names.h"

#include <string.h>

enum { PARTS_MOST = 18 };

struct row {
    enum kernel_class class;
    const char *parts[PARTS_MOST]; /* a name has one of them */
};

static const struct row rows[] = {
    { CLASS_ELEMENTWISE, { "rotary", "Copy<" } }, /* torch._foreach_copy_() is no optimizer's */
    { CLASS_OTHER,
      { "topk", "Topk", "batch_norm", "BatchNorm", "bn_fw", "bn_bw", "group_norm", "groupnorm" } },
    { CLASS_OPTIMIZER,
      { "multi_tensor", "adamw_", "Adam", "adam_", "LAMB", "FusedSgd", "fused_sgd", "step_advance",
        "square_sum", "gradient_norm", "loss_scale", "balance_experts" } },
    { CLASS_END,
      { "embedding", "Embedding", "indexSelect", "positions_backward", "image_patches",
        "cross_entropy", "CrossEntropy", "nll_loss", "log_softmax", "LogSoftMax", "mse_",
        "loss_mean", "count_right", "hard_rows" } },
    { CLASS_ATTENTION, { "attention", "Attention", "flash", "Flash", "fmha", "sdpa", "attn" } },
    { CLASS_NORM,
      { "layer_norm", "layernorm", "LayerNorm", "rms_norm", "rmsnorm", "RMSNorm", "RmsNorm",
        "GammaBeta", "ln_fwd", "ln_bwd" } },
    { CLASS_SOFTMAX, { "softmax", "SoftMax", "Softmax" } },
    { CLASS_PRODUCT, { "gemv", "gemmk1", "gemmSN", "splitKreduce" } }, /* and name_is_product() */
    { CLASS_REDUCTION,
      { "reduce_kernel", "Reduce", "bias_backward", "columns_finish", "checksum" } },
    { CLASS_ELEMENTWISE,
      { "elementwise", "bias", "gelu", "silu", "ropout", "residual", "CatArray", "cast_", "convert",
        "copy", "fill", "transpose", "split_heads", "merge_heads", "permute", "triad",
        "_tokens" } }, /* to experts and back */
};

/* Inductor names a kernel after all that it comes from, also after products and attention beside
 * it: only what it can compute itself counts. "triton_poi" is element-wise, and so is "triton_for",
 * the loop of a foreach operator; "triton_tem" is from a template, of a product or of attention;
 * "triton_red" and "triton_per" reduce. */
static const struct row inductor_rows[] = {
    { CLASS_ELEMENTWISE, { "triton_poi", "triton_for" } },
    { CLASS_PRODUCT, { NULL } }, /* name_is_product() */
    { CLASS_ATTENTION, { "triton_tem" } },
    { CLASS_END, { "log_softmax", "nll_loss", "embedding" } },
    { CLASS_SOFTMAX, { "softmax" } },
    { CLASS_NORM, { "layer_norm", "rms_norm" } },
    { CLASS_REDUCTION, { "triton_red", "triton_per" } },
};

static bool matches(const char *name, const struct row *row)
{
    for (int i = 0; i < PARTS_MOST && row->parts[i] != NULL; i++)
        if (strstr(name, row->parts[i]) != NULL)
            return true;
    return row->class == CLASS_PRODUCT && name_is_product(name);
}

static enum kernel_class first_of(const struct row *table, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (matches(name, &table[i]))
            return table[i].class;
    return CLASS_OTHER;
}

enum kernel_class kernel_class_of(const char *name)
{
    return name_is_of_inductor(name) ? first_of(inductor_rows, ARRAY_SIZE(inductor_rows), name)
                                     : first_of(rows, ARRAY_SIZE(rows), name);
}
