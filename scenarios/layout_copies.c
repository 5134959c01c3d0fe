/* Copying attention's heads into an order of their own.
 *
 * The product that makes q, k and v writes them token by token, [samples, tokens, 3, heads, width],
 * and the product that follows attention reads its result token by token as well. Attention works
 * head by head. Code that calls .contiguous() after each transpose copies q, k and v before
 * attention and the result after it, and the gradients of all of them in backward: kernels that
 * compute nothing. The matrices of one head are there all along, with rows further apart, and fused
 * attention takes that distance, the stride.
 *
 * The copy of q, k and v adds their bias in passing. With strides that is a kernel of its own,
 * unless the product adds it, so of four kernels per block one comes back. */
#include "scenarios/scenario.h"

const struct scenario scenario_layout_copies = {
    .name = "layout_copies",
    .title = "Copying attention's heads into an order of their own",
    .also = "contiguous(), transpose, permute, memory layout",
    .group = GROUP_KERNELS,
    .symptom = "kernels that only copy run before and after attention",
    .cause = "q, k, v and the heads' results are transposed in memory, .contiguous()",
    .fix = "hand views with strides to fused attention, which reads heads where they are",
    .look = "split_heads and merge_heads beside attention, forward and backward (in PyTorch "
            "aten::contiguous and aten::clone)",
    .cost = "operators that insist on contiguous tensors copy anyway; .view() of a transposed "
            "result fails, .reshape() copies",
    .pytorch = {
        .before = "def attention(qkv, heads):\n"
                  "    qkv = qkv.unflatten(-1, (3, heads, -1))\n"
                  "    q, k, v = (x.transpose(1, 2).contiguous()\n"
                  "               for x in qkv.unbind(2))\n"
                  "    y = F.scaled_dot_product_attention(q, k, v)\n"
                  "    return y.transpose(1, 2).flatten(2)\n",
        .after = "def attention(qkv, heads):\n"
                 "    qkv = qkv.unflatten(-1, (3, heads, -1))\n"
                 "    q, k, v = (x.transpose(1, 2)\n"
                 "               for x in qkv.unbind(2))\n"
                 "    y = F.scaled_dot_product_attention(q, k, v)\n"
                 "    return y.transpose(1, 2).flatten(2)\n",
    },
    .base = "model=balanced batch=16 launch=eager attention=fused",
    .knob = "heads",
    .before = "copied",
    .after = "strided",
    .needs = WHERE_ATTENTION_LIBRARY,
    .loss = LOSS_ORDER,
    .expect = {
        /* On the CPU device with two blocks: 104 launches per step, then 98; 1.06 for the bytes and
         * for the activations. Time changes by less than can be measured there. */
        { METRIC_LAUNCHES_PER_STEP, SHRINKS, .at_least = 1.03, .exact = true },
        { METRIC_OP_BYTES_PER_STEP, SHRINKS, .at_least = 1.03, .exact = true },
        { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 1.03, .exact = true },
    },
    .tolerated_after = { { "launch_bound", WHERE_CUDA } }, /* of 16 samples' kernels */
};
