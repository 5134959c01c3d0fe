/* Recognises events by the names that libraries give them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a name begins with a text, has one of `count` parts in it, or is one of `count` names. */
bool name_begins(const char *name, const char *with);
bool name_has_one(const char *name, const char *const *parts, size_t count);
bool name_is_one(const char *name, const char *const *names, size_t count);

/* A kernel that communicates between devices: those of the libraries for that, and any that names
 * a collective, as vLLM's, FlashInfer's and PyTorch's symmetric memory do. HolisticTraceAnalysis
 * has NCCL, RCCL and HCCL (hta/common/types.py). */
bool name_is_communication(const char *name);

/* An event of the host that communicates between processes: PyTorch's "gloo:all_reduce",
 * "mpi:broadcast". */
bool name_is_host_communication(const char *name);

/* An operator or annotation of the host that only a program with a GPU has: messages by NCCL,
 * memory that a stream uses or that is pinned for copies, cuDNN's and MIOpen's operators. */
bool name_needs_device(const char *name);

/* A kernel that Inductor generates: "triton_poi_fused_convolution_relu_3". Three letters say of
 * which kind its code is, as "poi" that it is pointwise (torch/_inductor/wrapper_benchmark.py,
 * get_kernel_category_by_source_code()). The rest names all operators that it comes from, also
 * products that other kernels compute. */
bool name_is_of_inductor(const char *name);

/* A kernel that multiplies matrices, or convolves; those with a vector are bound by memory.
 * Inductor's kernels from templates ("tem") do, but for attention. */
bool name_is_product(const char *name);

/* The wait for the next batch: PyTorch's enumerate(DataLoader) and enumerate(DataPipe), as in
 * torch_tb_profiler's event_parser.py, the phase "data", and what a reader names NAME_OF_WAITS: a
 * loop's waits in the operating system for anything but the device and its own threads. */
#define NAME_OF_WAITS "system wait: "
bool name_is_data_loading(const char *name);

/* A phase that writes what training reports ("log"), or its state ("save"), and the annotations
 * that frameworks give them. */
bool name_is_logging(const char *name);
bool name_is_saving(const char *name);

/* A call that launches a kernel or a graph: cudaLaunchKernel, cuLaunchKernelEx, hipGraphLaunch
 * ... */
bool name_is_launch(const char *name);

/* Calls that begin and end a capture: launches between them go into a graph and are not done. */
bool name_begins_capture(const char *name);
bool name_ends_capture(const char *name);
bool name_instantiates(
    const char *name); /* and one that makes a graph of it that can be launched */

/* A call that loads a module of kernels, or compiles one: cuModuleLoadData, cuLibraryLoadData,
 * hipModuleLoadDataEx, nvrtcCompileProgram ... */
bool name_loads_module(const char *name);

/* A span in which PyTorch compiles: "_compile.compile_inner (dynamo_timed)", "CUDAGraphNode.record
 * (dynamo_timed)"; torch._dynamo.utils.dynamo_timed() names those of TorchDynamo and Inductor. A
 * "Torch-Compiled Region" runs what was compiled. */
bool name_compiles(const char *name);

/* An overhead that is CUPTI's own work; others ("Command Buffer Full", "Lazy Function Loading") are
 * the driver's. */
bool name_is_of_profiler(const char *name);

/* A call of the runtime or the driver that waits for the device: cudaStreamSynchronize,
 * hipDeviceSynchronize, cuCtxSynchronize, urQueueFinish (SYCL) ... */
bool name_is_wait(const char *name);

/* One that allocates or releases memory of the device, or pinned memory of the host. */
bool name_is_allocation(const char *name);
bool name_is_release(const char *name); /* those of them that release */

/* One that PyTorch's profiler leaves out of its own tables: what it does itself
 * (torch/autograd/profiler_util.py, _filter_name). */
bool name_is_hidden(const char *name);

/* The mark of a step of an engine that serves requests: vLLM's
 * "execute_context_1(888_788544)_generation_0(0)" (vllm/v1/worker/gpu_worker.py), SGLang's
 * "step[DECODE bs=16]" (sglang/srt/managers/scheduler_profiler_mixin.py). And whether there are
 * prompts in it, to prefill; else it decodes alone. */
bool name_is_engine_step(const char *name);
bool name_prefills(const char *name);

/* "ProfilerStep#12" is step 12; false: it is not a step. */
bool name_is_step(const char *name, int64_t *number);

/* --- Classes of kernels --- */

/* Classes of kernels, by the names that libraries give them: PyTorch's, those of cuBLAS, cuDNN,
 * CUTLASS, Composable Kernel, Tensile, FlashAttention and Inductor, and ours (kernels/kernels.h).
 *
 * A fused kernel has the class of the largest thing in it: "residual_layernorm_forward" is a
 * norm. */

enum kernel_class {
    CLASS_PRODUCT,     /* products of matrices and with vectors, convolutions */
    CLASS_ATTENTION,   /* fused: products and softmax in one kernel */
    CLASS_NORM,        /* layer and RMS norms */
    CLASS_SOFTMAX,     /* of attention: not the loss's, nor one that chooses experts */
    CLASS_ELEMENTWISE, /* biases, activations, dropout, residuals; tensors put together or in
                          another order */
    CLASS_REDUCTION,   /* sums, means and other reductions, such as the gradients of biases */
    CLASS_END,         /* what comes before the layers and after them: embedding, loss */
    CLASS_OPTIMIZER,   /* with the clipping and scaling of gradients */
    CLASS_OTHER,
    KERNEL_CLASS_COUNT
};

/* The class of a kernel that does not communicate (name_is_communication()). */
enum kernel_class kernel_class_of(const char *name);
