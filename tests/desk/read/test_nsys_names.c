/* Names in exports of Nsight Systems: what calls, kernels and ranges are called elsewhere, and
 * which ranges are steps. */
#include "harness/desk/read/nsys/nsys_names.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(calls_lose_the_version_that_nsys_appends)
{
    static const char *const cases[][2] = {
        { "cudaLaunchKernel_v7000", "cudaLaunchKernel" },
        { "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel_ptsz" },
        { "cudaMemcpyAsync_v3020_ptsz", "cudaMemcpyAsync" },
        { "cuMemAlloc_v2", "cuMemAlloc_v2" },
        { "cuLaunchKernel", "cuLaunchKernel" },
        { "_v7000", "_v7000" },
        { "", "" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t length = nsys_call_length(cases[i][0], strlen(cases[i][0]));
        if (length != strlen(cases[i][1]) || memcmp(cases[i][0], cases[i][1], length) != 0)
            fail_msg("%s: %.*s", cases[i][0], (int)length, cases[i][0]);
    }
}

TEST(kernels_are_spelt_as_by_cupti)
{
    static const char *const cases[][2] = {
        { "void k<(int)4, (bool)0, (bool)1>(float *)", "void k<4, false, true>(float *)" },
        { "f<(unsigned long)3, (int)-1, (unsigned int)2>", "f<3ul, -1, 2u>" },
        { "<unnamed>::f((int))", "(anonymous namespace)::f((int))" },
        { "g<[lambda(float) (instance 12)]>", "g<{lambda(float)#12}>" },
        { "g<[lambda(float) (instance ", "g<[lambda(float) (instance " },
        { "(int)", "(int)" },
        { "(int", "(int" },
        { "", "" },
    };
    static char long_name[2 * NAME_BYTES], text[NAME_BYTES];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t length = nsys_kernel_name(text, cases[i][0], strlen(cases[i][0]));
        if (length != strlen(cases[i][1]) || memcmp(text, cases[i][1], length) != 0)
            fail_msg("%s: %.*s", cases[i][0], (int)length, text);
    }
    for (size_t i = 0; i + 9 < sizeof long_name; i += 9) memcpy(long_name + i, "<unnamed>", 9);
    assert_in_range(nsys_kernel_name(text, long_name, strlen(long_name)), NAME_BYTES - 22,
                    NAME_BYTES - 1);
}

TEST(copies_are_named_by_kind_and_memory)
{
    char text[80];

    assert_string_equal(nsys_copy_name(text, 1, 0, 2), "Memcpy HtoD (Pageable -> Device)");
    assert_string_equal(nsys_copy_name(text, 2, 2, 1), "Memcpy DtoH (Device -> Pinned)");
    assert_string_equal(nsys_copy_name(text, 10, -1, 99), "Memcpy PtoP (Unknown -> Unknown)");
    assert_null(nsys_copy_name(text, 0, 0, 0));
    assert_null(nsys_copy_name(text, 11, 7, 7));
    assert_null(nsys_copy_name(text, INT64_MIN, 0, 0));
}

TEST(ranges_named_like_steps_are_told_from_others)
{
    static const struct {
        const char *name;
        bool is_step;
        int64_t number;
    } cases[] = {
        { "iteration_12", true, 12 },
        { "iteration 12", true, 12 },
        { "Iteration 3 - OVERLAP", true, 3 },
        { "iteration[100,104)", true, 100 },
        { "iter5", true, 5 },
        { "step 7", true, 7 },
        { "train_step", true, -1 },
        { "training_step_12", true, 12 },
        { "megatron.training_step_12", true, 12 },
        { "batch_3", true, 3 },
        { "sample_0", true, 0 },
        { "STEP", true, -1 },
        { "batch", false, 0 },
        { "optimizer_step", false, 0 },
        { "optimizer.step", false, 0 },
        { "timestep 3", false, 0 },
        { "stepper 3", false, 0 },
        { "steps", false, 0 },
        { "epoch 3", false, 0 },
        { "{'traceMarker': ['train.py:12'], 'op': 'step 3'}", false, 0 },
        { "", false, 0 },
    };
    struct nsys_range_name name;
    int64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool is_step;
        nsys_range_name(&name, cases[i].name, strlen(cases[i].name));
        is_step = nsys_range_is_step(&name, &number);
        if (is_step != cases[i].is_step || (is_step && number != cases[i].number))
            fail_msg("%s: %d, %lld", cases[i].name, is_step, (long long)number);
    }
}

TEST(operators_are_taken_apart)
{
    static const struct {
        const char *text, *name, *dims;
        bool is_operator, is_backward;
        int64_t sequence;
    } cases[] = {
        { "aten::addmm, seq = 12, op_id = 30, sizes = [[2, 3], []], input_op_ids = [(14,0)]",
          "aten::addmm", "[[2,3],[]]", true, false, 12 },
        { "AddmmBackward0, seq = 12, op_id = 31", "AddmmBackward0", "", true, true, 12 },
        { "AddmmBackward0, stashed seq = 4", "AddmmBackward0", "", true, true, 4 },
        { "autograd::engine::evaluate_function: MulBackward0, op_id = 3",
          "autograd::engine::evaluate_function: MulBackward0", "", true, true, -1 },
        { "aten::relu", "aten::relu", "", true, false, -1 },
        { "Optimizer.step#AdamW.step, op_id = 3", "Optimizer.step#AdamW.step", "", false, false,
          -1 },
        { "FSDP::pre_forward (blocks.3), op_id = 3", "FSDP::pre_forward (blocks.3)", "", false,
          false, -1 },
        { "forward", "forward", "", false, false, -1 },
        { "Load Batch", "data", "", false, false, -1 },
        { "aten::cut, sizes = [[2, ", "aten::cut", "[[2,...", true, false, -1 },
        { "a, seq = x", "a", "", true, false, -1 },
        { ", seq = 3", "", "", true, false, 3 },
    };
    struct nsys_range_name name;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        nsys_range_name(&name, cases[i].text, strlen(cases[i].text));
        if (name.length != strlen(cases[i].name) ||
            memcmp(name.text, cases[i].name, name.length) != 0 ||
            name.is_operator != cases[i].is_operator || name.is_backward != cases[i].is_backward ||
            name.sequence != cases[i].sequence || name.dims_length != strlen(cases[i].dims) ||
            memcmp(name.dims, cases[i].dims, name.dims_length) != 0)
            fail_msg("%s: %.*s, %d, %d, %lld, %.*s", cases[i].text, (int)name.length, name.text,
                     name.is_operator, name.is_backward, (long long)name.sequence,
                     (int)name.dims_length, name.dims);
    }
}
