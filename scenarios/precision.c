/* Computing in fp32 where bf16 would do.
 *
 * A bf16 number takes half the bytes, so activations, gradients and the traffic between kernels
 * halve on every device. Matrix units multiply bf16 several times faster than fp32. Without them,
 * as on most CPUs, the products gain nothing, and the scenario promises only the bytes. Weights
 * keep an fp32 master copy, so that small updates are not lost. */
#include "scenarios/scenario.h"

const struct scenario scenario_precision = {
    .name = "precision",
    .title = "Computing in fp32 where bf16 would do",
    .also = "mixed precision, automatic mixed precision, AMP, autocast, torch.autocast, bf16, "
            "bfloat16, fp16, half precision, tensor cores",
    .group = GROUP_DTYPES,
    .symptom = "matrix products fill the step, and the matrix units are not used",
    .cause = "weights and activations are fp32, which the matrix units do not multiply unless tf32 "
             "is allowed",
    .fix = "compute in bf16 and keep fp32 weights for the update (torch.autocast)",
    .look = "the names of the matrix kernels: fp32 (sgemm) before, bf16 after",
    .cost = "8 bits of precision, though fp32's range; gains little where products do not fill "
            "the step or the device has no matrix units for bf16",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    loss = loss_fn(model(inputs), labels)\n"
                  "    loss.backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "for inputs, labels in loader:\n"
                 "    with torch.autocast(device.type, torch.bfloat16):\n"
                 "        loss = loss_fn(model(inputs), labels)\n"
                 "    loss.backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    /* Fewer blocks than the role has, since each gains the same, and short steps alternate more
     * often in a window. With 24 seeds the losses differed by at most 0.7%. */
    .base = "model=heavy blocks=2 loss_every=6",
    .knob = "precision",
    .before = "fp32",
    .after = "bf16",
    .loss = LOSS_16_BIT,
    .expect = {
        { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 1.8, .exact = true },
        /* Forty quick runs of four blocks on two cores with AMX: 1.40 to 1.54. The products take
         * less than half the time; other kernels are a third of the step. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.25, .where = WHERE_CPU_BF16_UNITS },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 2, .where = WHERE_CUDA_BF16_UNITS },
    },
    .accept = { { "fp32_matmul", WHERE_CPU_BF16_UNITS }, { "fp32_matmul", WHERE_CUDA_BF16_UNITS } },
};
