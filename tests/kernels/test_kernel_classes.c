/* A diagnosis knows what each of our kernels is. */
#include "harness/base/status.h"
#include "harness/desk/analysis/names/event_names.h"
#include "kernels/kernels.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(our_kernels_have_a_class_each)
{
    static const char *const names[] = {
#define KERNEL_NAME(name, shape, ...) #name "_bf16",
        KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (kernel_class_of(names[i]) == CLASS_OTHER)
            fail_msg("%s", names[i]);
    assert_int_equal(kernel_class_of("gemm_f32_nt_64x64x64_b8"), CLASS_PRODUCT);
    assert_int_equal(kernel_class_of("tiled_attention_forward_bf16"), CLASS_ATTENTION);
    assert_int_equal(kernel_class_of("residual_layernorm_backward_bf16"), CLASS_NORM);
    assert_int_equal(kernel_class_of("softmax_backward_bf16"), CLASS_SOFTMAX);
    assert_int_equal(kernel_class_of("cross_entropy_backward_bf16"), CLASS_END);
    assert_int_equal(kernel_class_of("adamw_multi_bf16"), CLASS_OPTIMIZER);
}
