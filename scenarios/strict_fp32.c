/* Multiplying in strict fp32 where tf32 would do.
 *
 * GPUs since Ampere multiply fp32 matrices on their matrix units if the factors may be rounded to
 * tf32: ten bits of mantissa, as in fp16, and the range of fp32. Sums stay in fp32. PyTorch does
 * not allow that for products unless it is told to, and the matrix units idle. Storage is fp32
 * either way, so no byte is saved; bf16 saves them, too. */
#include "scenarios/scenario.h"

const struct scenario scenario_strict_fp32 = {
    .name = "strict_fp32",
    .title = "Multiplying in strict fp32 where tf32 would do",
    .also = "tf32, allow_tf32, set_float32_matmul_precision, float32_matmul_precision, matmul "
            "precision, TensorFloat-32, fp32_precision",
    .group = GROUP_DTYPES,
    .symptom = "matrix products fill the step, and the matrix units are not used",
    .cause = "products are computed in strict fp32, a type that the matrix units do not multiply",
    .fix = "allow tf32 (torch.set_float32_matmul_precision(\"high\")), or train in bf16",
    .look = "the names of the matrix kernels: sgemm before, tf32 or s1688 after",
    .cost = "factors are rounded to 10 bits of mantissa; gains nothing where products are a small "
            "part",
    .pytorch = {
        .before = "torch.set_float32_matmul_precision(\"highest\")\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "torch.set_float32_matmul_precision(\"high\")\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=heavy blocks=4 loss_every=3",
    .knob = "precision",
    .before = "fp32",
    .after = "tf32",
    .needs = WHERE_TF32,
    .loss = LOSS_16_BIT,
    .expect = {
        /* By the peaks of an H200, which no run has confirmed: 67 TFLOPS in fp32, 494 in tf32. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.5 },
    },
    .accept = { { "fp32_matmul", ANYWHERE } },
};
