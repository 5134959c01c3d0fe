/* The meaning of event names. Each meaning is a list of beginnings or of parts, which are looked
 * for in order; classes of kernels are rows of a table. */
#include "harness/desk/analysis/names/event_names.h"

#include "harness/base/status.h"

#include <stdlib.h>
#include <string.h>

/* Most names differ in their first letter, and each event of a trace is asked. */
bool name_begins(const char *name, const char *with)
{
    return name[0] == with[0] && strncmp(name, with, strlen(with)) == 0;
}

bool name_has_one(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i]) != NULL)
            return true;
    return false;
}

bool name_is_one(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool name_is_communication(const char *name)
{
    static const char *const beginnings[] = { "nccl", "hccl", "rccl", "hcom" };
    static const char *const libraries[] = { "ncclKernel",
                                             "ncclDevKernel",
                                             "rcclKernel",
                                             "deep_ep::",
                                             "multimem",
                                             "cross_device_",
                                             "msccl",
                                             "quickreduce",
                                             "userbuffers_",
                                             "nvshmem",
                                             "A2ADispatch",
                                             "A2ACombine",
                                             "a2a_dispatch",
                                             "a2a_combine",
                                             "all2all",
                                             "put_signal_kernel",
                                             "wait_signal_kernel",
                                             "c10d::symmetric_memory::" };
    /* Collectives, however they are spelt. */
    static const char *const collectives[] = { "allreduce",      "all_reduce",    "AllReduce",
                                               "reduce_scatter", "ReduceScatter", "allgather",
                                               "all_gather",     "AllGather",     "alltoall",
                                               "all_to_all",     "AllToAll" };

    if (name_is_of_inductor(name)) /* after what it comes from */
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
        if (name_begins(name, beginnings[i]))
            return true;
    return name_has_one(name, libraries, ARRAY_SIZE(libraries)) ||
           name_has_one(name, collectives, ARRAY_SIZE(collectives));
}

bool name_is_of_inductor(const char *name)
{
    static const char kind[] = "triton_poi";

    return name_begins(name, "triton_") && strstr(name, "_fused") == name + strlen(kind);
}

/* "convert" has "conv" in it. */
bool name_is_product(const char *name)
{
    static const char *const parts[] = { "gemm",  "Gemm",     "conv", "Conv",  "scudnn", "dgrad",
                                         "wgrad", "winograd", "xmma", "nvjet", "Cijk_" };
    static const char *const others[] = { "gemv", "gemmk1", "depthwise", "convert" };

    if (name_is_of_inductor(name))
        return name_begins(name, "triton_tem") && strstr(name, "attention") == NULL;
    return name_has_one(name, parts, ARRAY_SIZE(parts)) &&
           !name_has_one(name, others, ARRAY_SIZE(others));
}

bool name_is_host_communication(const char *name)
{
    return name_begins(name, "gloo:") || name_begins(name, "mpi:");
}

/* Recurrent layers ask aten::cudnn_is_acceptable on any device (aten/src/ATen/native/RNN.cpp). */
bool name_needs_device(const char *name)
{
    static const char *const beginnings[] = {
        "nccl:",        "aten::record_stream", "aten::pin_memory", "aten::_pin_memory",
        "aten::cudnn_", "aten::_cudnn_rnn",    "aten::miopen_"
    };

    for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
        if (name_begins(name, beginnings[i]))
            return strcmp(name, "aten::cudnn_is_acceptable") != 0;
    return false;
}

bool name_is_data_loading(const char *name)
{
    return name_begins(name, "enumerate(DataLoader)#") ||
           name_begins(name, "enumerate(DataPipe)#") || name_begins(name, NAME_OF_WAITS) ||
           strcmp(name, "data") == 0;
}

bool name_is_logging(const char *name)
{
    static const char *const names[] = { "log", "logging", "logger" };

    return name_is_one(name, names, ARRAY_SIZE(names));
}

bool name_is_saving(const char *name)
{
    static const char *const names[] = { "save", "saving", "checkpoint", "save_checkpoint" };

    return name_is_one(name, names, ARRAY_SIZE(names));
}

bool name_is_launch(const char *name)
{
    static const char *const parts[] = { "LaunchKernel", "LaunchCooperativeKernel", "GraphLaunch" };

    return name_has_one(name, parts, ARRAY_SIZE(parts));
}

bool name_begins_capture(const char *name)
{
    return strstr(name, "StreamBeginCapture") != NULL;
}

bool name_ends_capture(const char *name)
{
    return strstr(name, "StreamEndCapture") != NULL;
}

bool name_instantiates(const char *name)
{
    return strstr(name, "GraphInstantiate") != NULL;
}

bool name_loads_module(const char *name)
{
    static const char *const parts[] = { "ModuleLoad", "LibraryLoad", "nvrtcCompile",
                                         "hiprtcCompile" };

    return name_has_one(name, parts, ARRAY_SIZE(parts));
}

bool name_compiles(const char *name)
{
    return strstr(name, "(dynamo_timed)") != NULL || name_begins(name, "_compile");
}

bool name_is_of_profiler(const char *name)
{
    static const char *const names[] = { "Activity Buffer Request", "Buffer Flush",
                                         "Instrumentation", "Resource" };

    return name_is_one(name, names, ARRAY_SIZE(names));
}

bool name_is_wait(const char *name)
{
    static const char *const others[] = { "urQueueFinish", "urEventWait" };

    return strstr(name, "Synchronize") != NULL || name_is_one(name, others, ARRAY_SIZE(others));
}

bool name_is_allocation(const char *name)
{
    static const char *const parts[] = { "Malloc", "Free",     "HostAlloc", "HostRegister",
                                         "HostUn", "MemAlloc", "MemCreate", "MemMap" };

    return name_has_one(name, parts, ARRAY_SIZE(parts));
}

bool name_is_release(const char *name)
{
    static const char *const parts[] = { "Free", "HostUn" };

    return name_has_one(name, parts, ARRAY_SIZE(parts));
}

bool name_is_hidden(const char *name)
{
    static const char *const names[] = {
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };

    return name_is_one(name, names, ARRAY_SIZE(names));
}

bool name_is_engine_step(const char *name)
{
    return name_begins(name, "step[DECODE") || name_begins(name, "step[EXTEND") ||
           name_begins(name, "step[PREFILL") || name_begins(name, "step[MIXED") ||
           (name_begins(name, "execute_") && strstr(name, "_generation_") != NULL);
}

bool name_prefills(const char *name)
{
    static const char requests[] = "context_";
    const char *count = strstr(name, requests);

    if (name_begins(name, "step["))
        return !name_begins(name, "step[DECODE");
    return count != NULL && strtol(count + sizeof requests - 1, NULL, 10) > 0;
}

bool name_is_step(const char *name, int64_t *number)
{
    static const char step[] = "ProfilerStep#";
    const char *digits = name + sizeof step - 1;
    char *end;

    if (!name_begins(name, step) || *digits < '0' || *digits > '9')
        return false;
    *number = strtoll(digits, &end, 10);
    return *end == '\0';
}

/* --- Classes of kernels --- */

/* The first row that matches counts. */
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
