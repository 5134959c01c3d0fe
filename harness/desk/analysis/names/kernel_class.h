/* Classes of kernels, by the names that libraries give them: PyTorch's, those of cuBLAS, cuDNN,
 * CUTLASS, Composable Kernel, Tensile, FlashAttention and Inductor, and ours (kernels/kernels.h).
 *
 * A fused kernel has the class of the largest thing in it: "residual_layernorm_forward" is a
 * norm. */
#ifndef HARNESS_DESK_ANALYSIS_NAMES_KERNEL_CLASS_H
#define HARNESS_DESK_ANALYSIS_NAMES_KERNEL_CLASS_H

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

#endif
