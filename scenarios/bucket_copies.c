/* Copying gradients into the buckets and back.
 *
 * Buckets are memory of their own. If the gradients are not in it, each is copied into its bucket
 * before the bucket is sent, and the sum is copied back to where the optimizer looks for it: two
 * copies of all gradients in every step, and memory for both. As views of the buckets, the
 * gradients are written there in the first place.
 *
 * PyTorch's zero_grad() drops the views, unless set_to_none=False. Backward then makes gradients of
 * its own, and DistributedDataParallel copies each into its bucket, as without views; only the copy
 * back is saved (mark_variable_ready_dense() in torch/csrc/distributed/c10d/reducer.cpp, and the
 * documentation of gradient_as_bucket_view). */
#include "scenarios/scenario.h"

const struct scenario scenario_bucket_copies = {
    .name = "bucket_copies",
    .title = "Copying gradients into the buckets and back",
    .also = "gradient_as_bucket_view, bucket view",
    .group = GROUP_RANKS,
    .symptom = "the device copies in backward and before the optimizer, and the gradients take "
               "twice their memory",
    .cause = "each gradient has memory of its own, and is copied to its bucket and back",
    .fix = "let the gradients be views of the buckets (gradient_as_bucket_view=True), and keep "
           "them there: zero_grad(set_to_none=False)",
    .look = "copies from device to device before and after the all-reduce kernels",
    .cost = "gradients cannot be detached from the buckets (p.grad.detach_()), and setting them to "
            "0 takes kernels",
    .pytorch = {
        .before = "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                  "for inputs, labels in loader:\n"
                  "    loss_fn(ddp(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad(set_to_none=False)\n",
        .after = "ddp = torch.nn.parallel.DistributedDataParallel(\n"
                 "    model, gradient_as_bucket_view=True)\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(ddp(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad(set_to_none=False)\n",
    },
    .base = "model=heavy blocks=3 tokens=5 width=192 batch=4 precision=fp32 ranks=2 bucket_mb=1 "
            "loss_every=5",
    .knob = "bucket_view",
    .before = "no",
    .after = "yes",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 86 copies per step, and that of the batch; twice 5.2 MiB of gradients. */
        { METRIC_COPIES_PER_STEP, SHRINKS, .at_least = 32, .exact = true },
        { METRIC_D2D_BYTES_PER_STEP, SHRINKS, .at_least = 32, .exact = true },
        { METRIC_MEMORY_PEAK, SHRINKS, .at_least = 1.1, .exact = true },
    },
    /* The trace shows the copies (device_copies), but sending the same bytes takes longer, and
     * comes first where it is not hidden: no finding is accepted. */
    .tolerated_after = { { "exposed_communication", ANYWHERE },
                         { "optimizer_overhead", ANYWHERE },
                         { "fp32_matmul", ANYWHERE } },
};
