/* The classes of kernels, by name, and the mix that they make of a step. */
#include "harness/desk/analysis/tables/kernel_table.h"

#include "harness/desk/analysis/names/event_names.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

#include <math.h>

/* As they are in traces of PyTorch, on NVIDIA's and AMD's devices. */
TEST(kernels_of_libraries_are_classed)
{
    static const struct {
        enum kernel_class class;
        const char *name;
    } cases[] = {
        { CLASS_PRODUCT, "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn" },
        { CLASS_PRODUCT, "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT" },
        { CLASS_PRODUCT, "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16>" },
        { CLASS_PRODUCT, "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256" },
        { CLASS_PRODUCT, "void gemv2N_kernel<int, int, float, float, float, float, 128>" },
        { CLASS_PRODUCT, "void cublasLt::splitKreduce_kernel<32, 16, int, float>" },
        { CLASS_PRODUCT, "void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<ck::tensor_layout>>" },
        { CLASS_PRODUCT, "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5>" },
        { CLASS_PRODUCT, "triton_tem_fused_mm_3" },
        { CLASS_PRODUCT, "triton_tem_fused__native_batch_norm_legit_convolution_relu_2" },
        { CLASS_PRODUCT, "triton_tem_fused__to_copy_add_addmm_bmm_clone_mean_pow_rsqrt_139" },
        { CLASS_ATTENTION, "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>" },
        { CLASS_ATTENTION, "fmha_cutlassF_bf16_aligned_64x128_rf_sm80" },
        { CLASS_ATTENTION, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16" },
        { CLASS_ATTENTION, "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>" },
        { CLASS_ATTENTION, "aiter::fmha_fwd_hd128_bf16_rtz" },
        { CLASS_ATTENTION, "triton_tem_fused_flex_attention_mm_0" },
        { CLASS_NORM, "void at::native::vectorized_layer_norm_kernel<c10::BFloat16, float>" },
        { CLASS_NORM, "void at::native::GammaBetaBackwardCUDAKernel_32x32<float, float>" },
        { CLASS_NORM, "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1E" },
        { CLASS_NORM, "triton_red_fused_add_addmm_cat_mul_native_layer_norm_slice_27" },
        { CLASS_SOFTMAX, "void at::native::cunn_SoftMaxForwardReg<c10::BFloat16, float>" },
        { CLASS_SOFTMAX, "void (anonymous namespace)::softmax_warp_forward<float, 9, false>" },
        { CLASS_SOFTMAX, "triton_per_fused__softmax_4" },
        { CLASS_ELEMENTWISE, "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add>" },
        { CLASS_ELEMENTWISE,
          "void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda>" },
        { CLASS_ELEMENTWISE, "void at::native::(anonymous namespace)::CatArrayBatchedCopy<bool>" },
        { CLASS_ELEMENTWISE, "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<>" },
        { CLASS_ELEMENTWISE, "triton_poi_fused_convolution_gelu_view_19" },
        { CLASS_ELEMENTWISE, "triton_for_fused_convolution_0" },
        { CLASS_ELEMENTWISE, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>" },
        { CLASS_ELEMENTWISE,
          "void multi_tensor_apply_kernel<UnaryOpFunctor<long>, Copy<long, long>>" },
        { CLASS_REDUCTION, "void at::native::reduce_kernel<512, 1, ReduceOp<float, MeanOps>>" },
        { CLASS_REDUCTION, "triton_red_fused_convolution_backward_native_batch_norm_backward_4" },
        { CLASS_REDUCTION, "triton_red_fused__to_copy_add_addmm_fmha_v3_fwd_mean_pow_rsqrt_2" },
        { CLASS_END, "void at::native::(anonymous namespace)::indexSelectLargeIndex<float>" },
        { CLASS_END, "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda" },
        { CLASS_END, "void cunn_SoftMaxForward<4, float, at::native::LogSoftMaxForwardEpilogue>" },
        { CLASS_END, "void at::native::embedding_backward_feature_kernel<float, float, long>" },
        { CLASS_END, "void vectorized_elementwise_kernel<4, at::native::mse_kernel_cuda>" },
        { CLASS_OPTIMIZER, "void multi_tensor_apply_kernel<TensorListMetadata<2>, LpNormFunctor>" },
        { CLASS_OPTIMIZER, "void multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>" },
        { CLASS_OTHER, "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>" },
        { CLASS_OTHER, "aiter::topksoftmax_4x128x8_bf16" },
        { CLASS_OTHER, "triton__0d1d2d3de" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (kernel_class_of(cases[i].name) != cases[i].class)
            fail_msg("%s: class %d, not %d", cases[i].name, (int)kernel_class_of(cases[i].name),
                     (int)cases[i].class);
}

/* Inductor's kernels are named after what they come from: a bias that is added after a convolution
 * is none. */
TEST(only_templates_of_inductor_are_products)
{
    static const struct {
        const char *name;
        bool is_product;
    } cases[] = {
        { "triton_poi_fused_convolution_relu_3", false },
        { "triton_per_fused__native_batch_norm_legit_convolution_7", false },
        { "triton_red_fused_convolution_backward_native_batch_norm_backward_4", false },
        { "triton_for_fused_convolution_0", false },
        { "triton_spl_fused_convolution_cumsum_1", false },
        { "triton_tem_fused_flex_attention_0", false },
        { "triton_tem_fused_convolution_relu_2", true },
        { "triton_tem_fused_addmm_gelu_11", true },
        { "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", true },
        { "my_triton_gemm_fused_kernel", true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (name_is_product(cases[i].name) != cases[i].is_product)
            fail_msg("%s: %d", cases[i].name, !cases[i].is_product);
}

/* Each of these takes so many us, one after the other. */
struct launched {
    const char *name;
    int us;
};

enum { STEP = 1000 };

/* Two steps of the same work. The kernel "elementwise" comes once more, from the optimizer. */
static struct analysed made_steps(const struct launched *kernels, size_t count, int optimizer_us)
{
    made_begin();
    for (int step = 0; step < 2; step++) {
        int at = step * STEP + 10;
        made_add("user_annotation", step == 0 ? "ProfilerStep#0" : "ProfilerStep#1", 100, 100,
                 step * STEP, (step + 1) * STEP, 0);
        for (size_t i = 0; i < count; i++) {
            made_add_work("kernel", kernels[i].name, 7, at, at + kernels[i].us, at - 5);
            at += kernels[i].us;
        }
        made_add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, at, at + 10, at - 5);
        made_add_work("kernel", "ncclDevKernel_AllReduce", 8, at + 10, at + 40, at + 5);
        if (optimizer_us == 0)
            continue;
        made_add("user_annotation", "Optimizer.step#AdamW.step", 100, 100, at + 50, at + 60, 0);
        made_add_work("kernel", "vectorized_elementwise_kernel", 7, at + 60, at + 60 + optimizer_us,
                      at + 52);
    }
    return made_analyse();
}

static struct mix mix_of_steps(const struct launched *kernels, size_t count, int optimizer_us)
{
    struct analysed analysed = made_steps(kernels, count, optimizer_us);
    struct phases phases = phases_of(analysed.arena, &analysed.timeline, &analysed.steps);
    struct mix mix = mix_of(analysed.arena, &analysed.timeline, &phases);

    return mix;
}

static const struct launched layer[] = {
    { "sgemm_nt", 100 },   { "flash_fwd_kernel", 50 },
    { "layer_norm", 40 },  { "softmax_warp_forward", 10 },
    { "elementwise", 20 }, { "reduce_kernel", 30 },
    { "nll_loss", 5 },     { "unheard_of", 15 },
};

TEST(the_mix_is_all_of_the_work)
{
    static const int us[MIX_COUNT] = {
        [CLASS_PRODUCT] = 100,    [CLASS_ATTENTION] = 50,   [CLASS_NORM] = 40,
        [CLASS_SOFTMAX] = 10,     [CLASS_ELEMENTWISE] = 20, [CLASS_REDUCTION] = 30,
        [CLASS_END] = 5,          [CLASS_OPTIMIZER] = 25,   [CLASS_OTHER] = 15,
        [MIX_COMMUNICATION] = 30, [MIX_COPIES] = 10,
    };
    struct mix mix = mix_of_steps(layer, ARRAY_SIZE(layer), 25);
    int64_t sum = 0;

    for (int i = 0; i < MIX_COUNT; i++) {
        assert_int_equal(mix.count[i], 2);
        check_us(mix.ns[i], 2 * us[i]);
        sum += mix.ns[i];
    }
    assert_int_equal(mix.all_ns, sum);
    assert_true(mix.is_transformer);
    assert_true(mix.trains);
}

/* Shares are those of the 250 us of the layers. */
TEST(shares_beside_the_usual_are_of_the_layers)
{
    struct mix mix = mix_of_steps(layer, ARRAY_SIZE(layer), 25), none = { .all_ns = 0 };
    double usual = 0;

    assert_true(fabs(mix_share(&mix, MIX_CONTRACTIONS) - 0.6) < 1e-9);
    assert_true(fabs(mix_share(&mix, MIX_NORMALISATIONS) - 0.2) < 1e-9);
    assert_true(fabs(mix_share(&mix, MIX_ELEMENTWISE) - 0.2) < 1e-9);
    for (int i = 0; i < MIX_GROUP_COUNT; i++) usual += mix_usual[i];
    assert_true(fabs(usual - 1) < 1e-9);
    assert_true(isnan(mix_share(&none, MIX_CONTRACTIONS)));
}

/* Without an optimizer the trace may be of inference. */
TEST(a_forward_pass_does_not_train)
{
    struct mix mix = mix_of_steps(layer, ARRAY_SIZE(layer), 0);

    assert_true(mix.is_transformer);
    assert_false(mix.trains);
}

TEST(other_models_are_no_transformers)
{
    static const struct launched resnet[] = { { "scudnn", 100 },
                                              { "bn_fw_tr_1C11_kernel_NCHW", 40 },
                                              { "softmax_warp_forward", 5 } },
                                 mlp[] = { { "sgemm", 100 }, { "layer_norm", 10 } },
                                 /* A classifier at the end of many norms. */
        convnext[] = { { "conv", 50 },      { "layer_norm", 5 }, { "layer_norm", 5 },
                       { "layer_norm", 5 }, { "layer_norm", 5 }, { "layer_norm", 5 },
                       { "layer_norm", 5 }, { "layer_norm", 5 }, { "layer_norm", 5 },
                       { "layer_norm", 5 }, { "softmax", 1 } };

    assert_false(mix_of_steps(resnet, ARRAY_SIZE(resnet), 25).is_transformer);
    assert_false(mix_of_steps(mlp, ARRAY_SIZE(mlp), 25).is_transformer);
    assert_false(mix_of_steps(convnext, ARRAY_SIZE(convnext), 25).is_transformer);
}
