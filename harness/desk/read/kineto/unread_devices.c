/* Devices whose rows the reader does not keep, and profilers whose rows have no category at all: a
 * trace of these seems to show a host that works alone. Tables tell them by the category of an
 * event or by the name of its process. */
#include "harness/desk/read/kineto/kineto_events.h"

#include "harness/base/status.h"

#include <string.h>

/* By the category, how it begins: the names of Kineto's ActivityType.cpp, of vendors' forks of it,
 * and of other tools. Those of Intel's GPUs and of PrivateUse1 are read: their work is "kernel",
 * "gpu_memcpy" and "gpu_memset". */
static const struct {
    const char *category, *device;
} categories[] = {
    { "mtia_", "an MTIA" },
    { "hpu_op", "a Gaudi (HPU)" },
    { "glow_runtime", "Glow" },
    { "gcu_", "a GCU" },
    { "dynamo_timed", "torch.compile, about its compilation" },
    { "POSIX", "DFTracer" },
    { "STDIO", "DFTracer" },
    { "FEE", "VizTracer" },
    { "triton", "Triton's Proton" },
};

/* By the name of a process, which an event without a time gives: XLA's profiler (JAX, PyTorch/XLA,
 * TensorFlow 2) and TensorFlow 1's timeline, and the profilers of Ascend (torch_npu's
 * trace_view.json) and Neuron. The first of these tells most. */
static const struct {
    const char *process, *device;
} processes[] = {
    { "/device:TPU:", "a TPU" },
    { "device:GPU:", "a GPU, by XLA's or TensorFlow's profiler" },
    { "Ascend Hardware", "an Ascend NPU" },
    { "NeuronCore", "a Neuron device" },
    { "HIP API", "rocprof" },
    { "HSA API", "rocprof" },
    { "/host:CPU", "a host, by XLA's or TensorFlow's profiler" },
};

/* By the name of an event without a category: Horovod's timeline. */
static const char horovod[] = "NEGOTIATE_";

static void note_process(const char **device, struct event_text name)
{
    for (size_t i = 0; i < ARRAY_SIZE(processes) && *device != processes[i].device; i++)
        if (memmem(name.bytes, name.length, processes[i].process, strlen(processes[i].process)) !=
            NULL) {
            *device = processes[i].device;
            return;
        }
}

void unread_device_note(const char **device, const struct event_fields *fields)
{
    static const char process_name[] = "process_name";

    if (fields->phase != 'M') {
        for (size_t i = 0; i < ARRAY_SIZE(categories); i++) {
            size_t length = strlen(categories[i].category);
            if (fields->category.length >= length &&
                memcmp(fields->category.bytes, categories[i].category, length) == 0)
                *device = categories[i].device;
        }
        if (fields->category.length == 0 && fields->name.length >= sizeof horovod - 1 &&
            memcmp(fields->name.bytes, horovod, sizeof horovod - 1) == 0)
            *device = "Horovod's timeline";
    } else if (fields->named.bytes != NULL && fields->name.length == sizeof process_name - 1 &&
               memcmp(fields->name.bytes, process_name, fields->name.length) == 0)
        note_process(device, fields->named);
}
