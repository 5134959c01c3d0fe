/* 16-bit rows whose length is no multiple of 8.
 *
 * cuBLAS before 11.0 used no tensor cores for such sizes; since then it does, with kernels whose
 * loads are shorter (NVIDIA, Matrix Multiplication Background, figure 2). */
#include "harness/lab/kernel/lesson.h"

enum { LANES = 32, ROWS = 256, LENGTH = 1001, EACH = 8, THREADS = 256, ROWS_PER_BLOCK = 8 };
enum { PACKS = (LENGTH + EACH - 1) / EACH, PADDED = PACKS * EACH };

/* Rounded up: the last load of a row is for fewer lanes. */
#define LOADS_OF_A_ROW(count) ((count + LANES - 1) / LANES)

#define HALVES(rows, stride)                                                                       \
    {                                                                                              \
        KERNEL_F16, rows *stride, KERNEL_SMALL, .row = stride, .filled = LENGTH                    \
    }
#define LAUNCH(how, stride)                                                                        \
    LESSON_LAUNCH(how, ON_ALL(ROWS / ROWS_PER_BLOCK), THREADS, HALVES(ROWS, stride),               \
                  HALVES(1, stride), LESSON_RESULT(ROWS))

const struct kernel_lesson kernel_lesson_tensor_core_shapes = {
    .name = "tensor_core_shapes",
    .title = "16-bit rows whose length is no multiple of 8",
    .also = "tensor core alignment, multiples of 8, vocabulary padding, pipe utilization, "
            "ComputeWorkloadAnalysis, cuBLAS, GEMM, matmul",
    .symptom = "a product in 16 bits is far from the peak, though its kernel uses tensor cores",
    .cause = "rows begin at any even address, so that loads of 16 bytes do not fit: the library "
             "takes a kernel that loads 2 or 4 bytes at a time (before cuBLAS 11 one without "
             "tensor cores)",
    .fix = "pad sizes to multiples of 8, better 64: the vocabulary, the hidden size, the batch of "
           "a last step",
    .look = "align1 or align2 in the kernel's name, and loads of 2 bytes per lane",
    .cost = "the padding's memory and arithmetic: 7 columns of 1001 here; this pair counts the "
            "loads alone, and has no tensor cores",
    .section = "ComputeWorkloadAnalysis",
    .rule = "HighPipeUtilization",
    .cuda = { "sum += __half2float(row[i]) * __half2float(v[i]);\n",
              "uint4 x = ((const uint4 *)row)[i];  // 8 numbers\n" },
    .triton = { "x = tl.load(matrix + row * 1001 + k, mask=k < 1001)\n",
                "x = tl.load(matrix + row * 1008 + k, mask=k < 1008)\n" },
    .pytorch = { "head = torch.nn.Linear(768, 50257)\n",
                 "head = torch.nn.Linear(768, 50304)  # 64 * 786\n" },
    .launches = { LAUNCH("rows of 1001", LENGTH), LAUNCH("padded to 1008", PADDED) },
    .predicted = {
        /* For each row, those of the matrix and those of the vector. */
        { KERNEL_COUNT_GLOBAL_LOADS, ON_ALL(ROWS * 2 * LOADS_OF_A_ROW(LENGTH)),
          ON_ALL(ROWS * 2 * LOADS_OF_A_ROW(PACKS)) },
    },
};
