/* Updating each tensor with kernels of its own.
 *
 * AdamW is a dozen operations per weight. Written as one kernel per group of operations and tensor
 * it launches six kernels, and one for the gradients' norm, for each of the 31 tensors of this
 * model. Most of them are tiny (biases, norms), and every kernel reads and writes its values again.
 * One kernel over a table of all tensors does the same with one launch, and moves every value
 * once. PyTorch's takes another launch where the table is full (ATen, MultiTensorApply.cuh).
 *
 * PyTorch's own default on a GPU lies between: foreach=True has a kernel for each operation, over
 * all tensors, and keeps intermediates as large as the parameters (docs.pytorch.org, torch.optim).
 * So foreach=False is what loops of one's own do, and optimizers that have no other form. */
#include "scenarios/scenario.h"

const struct scenario scenario_unfused_optimizer = {
    .name = "unfused_optimizer",
    .title = "Updating each tensor with kernels of its own",
    .also = "fused, foreach, fused optimizer, FusedAdam, multi-tensor apply, adamw_torch_fused",
    .group = GROUP_KERNELS,
    .symptom = "the optimizer takes a quarter of the step, in hundreds of short kernels",
    .cause = "AdamW runs as six kernels per tensor, and most tensors are tiny",
    .fix = "update all tensors in one kernel, or a few if they are many (AdamW(fused=True)); "
           "foreach=True, PyTorch's default on a GPU, takes one for each operation",
    .look = "a long row of short kernels after backward, the same six for each tensor",
    .cost = "none with fused=True; foreach=True holds as much memory more as the parameters take; "
            "gains little where forward and backward take far longer than the update",
    .pytorch = {
        .before = "optimizer = torch.optim.AdamW(model.parameters(),\n"
                  "                              foreach=False)\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(model(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "optimizer = torch.optim.AdamW(model.parameters(),\n"
                 "                              fused=True)\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(model(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced batch=1 width=256 blocks=1 launch=eager",
    .knob = "optimizer",
    .before = "unfused",
    .after = "multi_tensor",
    .loss = LOSS_ORDER,
    .expect = {
        /* 202 per step, then 71. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 2, .exact = true },
        /* Quick runs on two busy cores of an EPYC: 2.1 to 3.0. */
        { METRIC_OPTIMIZER_TIME, SHRINKS, .at_least = 1.5 },
        /* The same: 1.6 to 2.0. */
        { METRIC_OPTIMIZER_SHARE, SHRINKS, .at_least = 1.3 },
    },
    .accept = { { "optimizer_overhead", ANYWHERE }, { "launch_bound", WHERE_CUDA } },
    /* So small a model cannot fill a GPU, whatever its optimizer does; with one sample per step, a
     * fused optimizer still takes up to a third of the step on a CPU. */
    .tolerated_after = { { "launch_bound", WHERE_CUDA },
                         { "optimizer_overhead", WHERE_CPU_DEVICE } },
};
