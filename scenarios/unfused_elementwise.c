/* Running each element-wise operation as a kernel of its own.
 *
 * A bias, an activation or a residual connection computes next to nothing: its time is that of
 * reading and writing the tensor. As kernels of their own they move the same tensor again and
 * again. Fused where they meet (bias with GELU, bias and residual with the norm that follows), each
 * tensor is read once and written once, and there are fewer kernels to launch.
 *
 * The gain grows with the gap between arithmetic and memory bandwidth. On the CPU device the
 * tensors stay in the caches and the products take far longer: forward and backward gain 3 to 5%
 * there, too little to promise or to be called a finding. */
#include "scenarios/scenario.h"

const struct scenario scenario_unfused_elementwise = {
    .name = "unfused_elementwise",
    .title = "Running each element-wise operation as a kernel of its own",
    .also = "kernel fusion, operator fusion, pointwise operations, memory-bound, "
            "bandwidth-bound, TorchInductor, element-wise kernels, epilogue fusion, Triton, "
            "torch.jit.script",
    .group = GROUP_KERNELS,
    .symptom = "kernels that hardly compute take a good part of the step",
    .cause = "bias, GELU, residual and norm each read and write whole tensors",
    .fix = "fuse them with each other (torch.compile, fused modules, the epilogues of cuBLASLt)",
    .look = "bias_add, gelu and residual_add between the matrix products (in PyTorch kernels named "
            "elementwise_kernel)",
    .cost = "torch.compile takes seconds to minutes at first, and again for new shapes; gains "
            "little where products fill the step",
    .pytorch = {
        .before = "def mlp(x):\n"
                  "    bias = torch.ones(x.shape[-1], device=x.device)\n"
                  "    return x + F.gelu(x + bias)\n",
        .after = "@torch.compile\n"
                 "def mlp(x):\n"
                 "    bias = torch.ones(x.shape[-1], device=x.device)\n"
                 "    return x + F.gelu(x + bias)\n",
    },
    .base = "model=balanced batch=64 launch=eager",
    .knob = "elementwise",
    .before = "unfused",
    .after = "fused",
    .loss = LOSS_ORDER,
    .expect = {
        /* 130 per step, then 116, with two blocks. The products are among them, and stay. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 1.05, .exact = true },
        { METRIC_OP_BYTES_PER_STEP, SHRINKS, .at_least = 1.1, .exact = true }, /* measured: 1.22 */
        { METRIC_STEP_TIME, SHRINKS, .where = WHERE_CUDA },
    },
    .accept = { { "unfused_ops", WHERE_CUDA } },
};
