/* The line that a finding names, in made traces with the calls of Python and without. */
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/fixtures/cmocka_prelude.h"

enum { STEPS = 4, STEP_US = 1000 };

static void add_call(const char *name, const char *from, int start_us, int end_us)
{
    char arguments[96];

    snprintf(arguments, sizeof arguments, "\"CallFrom\":\"%s\"", from);
    made_add_with("python_function", name, 100, 100, start_us, end_us, 0, arguments);
}

/* Each step loads for 300 us, launches ten kernels that take 400 us, and reads the loss, for which
 * it waits. */
static struct found judge_loop(bool with_python)
{
    made_begin();
    for (int step = 0; step < STEPS; step++) {
        int at = step * STEP_US;
        made_step(step, at, at + STEP_US);
        made_add("user_annotation", "enumerate(DataLoader)#next", 100, 100, at + 10, at + 300, 0);
        for (int i = 0; i < 10; i++)
            made_add_work("kernel", "gemm", 7, at + 320 + 40 * i, at + 360 + 40 * i,
                          at + 305 + 2 * i);
        made_add("cuda_runtime", "cudaStreamSynchronize", 100, 100, at + 360, at + 721, 0);
        if (!with_python)
            continue;
        add_call("train.py(10): train_step", "train.py:60", at, at + STEP_US);
        add_call("torch/utils/data/dataloader.py(7): __next__", "train.py:11", at + 5, at + 301);
        add_call("torch/nn/modules/module.py(9): __call__", "train.py:12", at + 304, at + 330);
        add_call("train.py(30): log_loss", "train.py:15", at + 350, at + 730);
        add_call("<built-in method item of Tensor object at 0x7f2>", "train.py:32", at + 355,
                 at + 725);
    }
    return found_judge_trace(made_analyse());
}

static void check_where(const struct found *found, const char *id, const char *expected)
{
    const struct finding *finding = found_find(found, id);
    char text[384] = "";

    if (finding == NULL)
        fail_msg("%s is missing", id);
    if (finding->where.kind != PLACE_UNKNOWN)
        call_place_text(text, sizeof text, &finding->where);
    assert_string_equal(text, expected);
}

TEST(findings_name_their_lines)
{
    struct found found = judge_loop(true);

    check_where(&found, "data_loading", "train.py:11 in train_step, __next__()");
    check_where(&found, "host_sync", "train.py:32 in log_loss, .item()");
}

TEST(without_calls_of_python_annotations_are_named_or_nothing)
{
    struct found found = judge_loop(false);

    check_where(&found, "data_loading", "in enumerate(DataLoader)#next");
    check_where(&found, "host_sync", "");
}

/* The other copies, to the device, are none of them. */
TEST(copies_on_the_device_name_the_operator_that_makes_them)
{
    struct found found;

    made_begin();
    for (int step = 0; step < STEPS; step++) {
        int at = step * STEP_US;
        made_step(step, at, at + STEP_US);
        made_add("cpu_op", "aten::to", 100, 100, at + 2, at + 20, 0);
        made_add_work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, at + 20, at + 120, at + 5);
        made_add("cpu_op", "aten::clone", 100, 100, at + 25, at + 45, 0);
        made_add_work("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 7, at + 120, at + 520,
                      at + 30);
        made_add_work("kernel", "gemm", 7, at + 520, at + 980, at + 50);
    }
    found = found_judge_trace(made_analyse());
    check_where(&found, "device_copies", "in aten::clone");
    check_where(&found, "exposed_copy", "in aten::to");
}
