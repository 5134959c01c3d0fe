/* By the names of a trace: of operators, annotations, kernels and calls. */
#include "harness/desk/diagnosis/facts/traced_program.h"

#include "harness/base/status.h"
#include "harness/desk/analysis/names/event_names.h"

#include <string.h>

bool device_is_amd(const struct event_device *device)
{
    static const char *const names[] = { "AMD", "Radeon", "Instinct" };

    return name_has_one(device->name, names, ARRAY_SIZE(names));
}

/* A kernel "dgrad" tells nothing: a transposed convolution runs it, without any training. */
static bool trains(const struct summary *summary)
{
    static const char *const parts[] = { "ackward", "bwd", "wgrad", "autograd::engine" };
    const struct kernels *kernels = &summary->kernels;
    bool trains = summary->phases.seen[PHASE_BACKWARD] || summary->phases.seen[PHASE_OPTIMIZER] ||
                  spans_find(&summary->spans, summary->trace, "Optimizer.", true) != NULL ||
                  spans_find(&summary->spans, summary->trace, "autograd::engine", true) != NULL;

    for (int64_t i = 0; i < kernels->count && !trains; i++) {
        const char *name = trace_file_name(summary->trace, kernels->rows[i].name);
        trains = name_has_one(name, parts, ARRAY_SIZE(parts)) ||
                 kernel_class_of(name) == CLASS_OPTIMIZER;
    }
    return trains;
}

struct traced_program traced_program_of(const struct summary *summary)
{
    const struct trace_file *trace = summary->trace;
    const struct event_device *device = timeline_device(&summary->timeline);
    struct traced_program kind = { .trains = trains(summary),
                                   .is_rocm = device != NULL && device_is_amd(device) };
    static const char *const torch[] = { "at::native", "c10::", "torch", "DataLoader",
                                         "Optimizer." };
    bool is_torch = false;

    for (uint32_t i = 0; i < trace_file_name_count(trace); i++) {
        const char *name = trace_file_name(trace, i);
        kind.serves = kind.serves ||
                      (!kind.trains && (name_begins(name, "vllm::") || name_is_engine_step(name)));
        kind.is_pytorch = kind.is_pytorch || name_begins(name, "aten::");
        is_torch = is_torch || name_has_one(name, torch, ARRAY_SIZE(torch));
        kind.is_rocm = kind.is_rocm || name_begins(name, "hip");
    }
    kind.is_plain = trace->recorder != NULL && !kind.is_pytorch && !is_torch;
    return kind;
}

const char *traced_program_viewer(const char *unread_device)
{
    static const struct {
        const char *part, *advice;
    } viewers[] = {
        { "TPU", "look at it with XProf, TensorBoard's plugin for profiles" },
        { "XLA",
          "look at it with XProf, TensorBoard's plugin for profiles; if the GPU is NVIDIA's, "
          "Nsight Systems records the program, and its exports are read" },
        { "Ascend", "look at it with MindStudio Insight" },
        { "Proton", "look at it with proton-viewer" },
        { "VizTracer", "look at it with vizviewer" },
    };

    for (size_t i = 0; unread_device != NULL && i < ARRAY_SIZE(viewers); i++)
        if (strstr(unread_device, viewers[i].part) != NULL)
            return viewers[i].advice;
    return "look at it with Perfetto (ui.perfetto.dev), which draws rows of any kind; a program of "
           "PyTorch on a GPU can be recorded with PyTorch's profiler";
}
