/* Multiplying in double precision.
 *
 * A tensor becomes fp64 without a word: NumPy computes in it, torch.from_numpy() keeps it ("NumPy
 * manual", "Data types"), and a layer to which .double() was added for one experiment stays so.
 * autocast does not help: operators that run in fp64 are not eligible for it (PyTorch, "Automatic
 * Mixed Precision package", "Op Eligibility"). Products in fp64 move twice the bytes of fp32 at
 * half the rate of a CPU's vectors. On GPUs it depends: 67 TFLOP/s in fp64, 989 in bf16 (NVIDIA,
 * "H100 Tensor Core GPU Architecture"), but on GPUs for graphics and inference two results per
 * clock and multiprocessor, against 128 in fp32 ("CUDA C++ Programming Guide", "Throughput of
 * Native Arithmetic Instructions", 8.6 and 8.9).
 *
 * Here every linear layer casts its input and its weights to fp64, multiplies, and casts the
 * product back. The casts are kernels of their own, and fp64 copies stay until backward. */
#include "scenarios/scenario.h"

const struct scenario scenario_double_precision = {
    .name = "double_precision",
    .title = "Multiplying in double precision",
    .also = "fp64, float64, .double(), torch.float64, set_default_dtype, from_numpy, dgemm",
    .group = GROUP_DTYPES,
    .symptom = "matrix products fill the step, and casts surround them",
    .cause = "factors are fp64: from NumPy, by .double(), or by set_default_dtype",
    .fix = "cast data and model to float32 where they come in, and leave the rest to autocast",
    .look = "names of kernels with <double, dgemm or d884 (on the CPU device f64); "
            "Double among the inputs of aten::mm",
    .cost = "fp32's 24 bits of mantissa: enough for training, not for every sum of statistics or "
            "solver of equations",
    .pytorch = {
        .before = "class Linear(torch.nn.Linear):\n"
                  "    def forward(self, x):\n"
                  "        y = F.linear(x.double(), self.weight.double())\n"
                  "        return y.to(x.dtype) + self.bias\n",
        .after = "class Linear(torch.nn.Linear):\n"
                 "    def forward(self, x):\n"
                 "        y = F.linear(x, self.weight)\n"
                 "        return y + self.bias\n",
    },
    .base = "model=heavy blocks=2 loss_every=6",
    .knob = "linear",
    .before = "fp64",
    .after = "stored",
    .loss = LOSS_ORDER,
    .expect = {
        { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 1.5, .exact = true },
        /* Ten quick runs on two cores of an EPYC without AMX, busy with other work: 2.1 to 2.6. On
         * GPUs, by their rates, no less; none has run it. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.3 },
    },
    .accept = { { "fp64_matmul", ANYWHERE } },
    .tolerated_after = { { "naive_attention", ANYWHERE } },
};
