/* Where in the program a cost comes from. */
#include "harness/desk/analysis/host/call_sites.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made_trace.h"

#include <math.h>

/* --- Names --- */

static void own_code_is_told_by_its_path(void **state)
{
    static const struct {
        const char *name;
        bool is_own;
    } cases[] = {
        { "train.py(12): log_loss", true },
        { "project/data/loader.py(3): <lambda>", true },
        { "/home/me/project/train.py(3): main", true },
        { "<ipython-input-5-abc>(3): main", true },
        { "types/mine.py(3): f", false },
        { "my_types.py(3): f", true },
        { "torch/nn/modules/linear.py(130): forward", false },
        { "torch.py(1): f", true },
        { "threading.py(1032): _bootstrap", false },
        { "multiprocessing/process.py(314): _bootstrap", false },
        { "/usr/lib/python3.11/site-packages/lightning/loop.py(3): run", false },
        { "/opt/venv/lib/python3.12/typing.py(3): cast", false },
        { "/tmp/torchinductor_me/ab/cab.py(9): call", false },
        { "C:\\me\\train.py(3): main", true },
        { "C:\\py\\Lib\\site-packages\\torch\\nn\\a.py(3): f", false },
        { "C:\\py\\lib\\random.py(3): f", false },
        { "<frozen os>(674): __getitem__", false },
        { "<string>(1): <module>", false },
        { "nn.Module: Linear_0", false },
        { "<built-in method item of Tensor object>", false },
        { "train.py(x): f", false },
        { "", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct frame_name name = frame_name_of(cases[i].name, strlen(cases[i].name));
        if (frame_name_is_own(&name) != cases[i].is_own)
            fail_msg("%s", cases[i].name);
    }
}

static void calls_read_as_one_would_write_them(void **state)
{
    static const struct {
        const char *name, *call;
    } cases[] = {
        { "<built-in method item of Tensor object>", ".item()" },
        { "<built-in function linear>", "linear()" },
        { "torch/_tensor.py(566): backward", "backward()" },
        { "nn.Module: Linear_0", "Linear_0()" },
        { "train.py(3): <lambda>", "" },
        { "nothing", "" },
    };
    char text[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        frame_name_call(text, sizeof text, cases[i].name);
        assert_string_equal(text, cases[i].call);
    }
}

static void stacks_are_read_in_both_orders(void **state)
{
    static const char *const stacks[] = {
        "/venv/lib/python3.7/site-packages/torch/x.py(3): step;model.py(54): run;train.py(9): "
        "<module>",
        "train.py(9): <module>;model.py(54): run;torch/x.py(3): step;<built-in method add>;",
    };
    struct frame_name name;

    for (size_t i = 0; i < 2; i++) {
        assert_true(frame_name_of_stack(stacks[i], &name));
        assert_int_equal(name.line, 54);
        assert_memory_equal(name.file, "model.py", name.file_length);
        assert_memory_equal(name.function, "run", name.function_length);
    }
    assert_false(frame_name_of_stack("torch/x.py(3): step", &name));
    assert_false(frame_name_of_stack("", &name));
}

/* --- Places --- */

static void add_call(const char *name, const char *from, int start_us, int end_us)
{
    char arguments[128];

    snprintf(arguments, sizeof arguments, "\"CallFrom\":\"%s\"", from);
    made_add_with("python_function", name, 100, 100, start_us, end_us, 0,
                  from[0] != '\0' ? arguments : "");
}

/* Steps on thread 100, so that this is the loop's thread. */
static void add_steps(int count, int length_us)
{
    char name[32];

    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        made_add("user_annotation", name, 100, 100, i * length_us, (i + 1) * length_us, 0);
    }
}

struct cost {
    int start_us, end_us;
};

/* The place that the trace gives for these costs, which end with one that is empty. */
static struct call_place place_of(const struct cost *costs, int window_us)
{
    struct analysed analysed = made_analyse();
    const struct first_uses no_uses = { .launches = 0 };
    const struct captures no_captures = { .count = 0 };
    struct host_activity activity =
        host_activity_of(analysed.arena, &analysed.timeline, &no_uses, &no_captures);
    struct call_tree tree =
        call_tree_of(analysed.arena, &analysed.timeline, &activity, 0, 1000 * window_us);
    struct costly_times times = { .arena = analysed.arena };
    struct call_place place;

    for (; costs->end_us > 0; costs++)
        costly_times_add(&times, 1000 * costs->start_us, 1000 * costs->end_us,
                         1000.0 * (costs->end_us - costs->start_us));
    place = call_site_of(&tree, &times);
    made_release(&analysed);
    return place;
}

static void check_place(const struct call_place *place, const char *expected)
{
    char text[384];

    call_place_text(text, sizeof text, place);
    assert_string_equal(text, expected);
}

/* A step of 1000 us that PyTorch's calls fill but for a helper; `helper_us` of it. */
static void add_training(int step, int helper_us)
{
    int at = 1000 * step, end = at + 1000 - helper_us;

    add_call("train.py(10): train_step", "train.py:60", at, at + 1000);
    add_call("torch/_tensor.py(566): backward", "train.py:14", at, end);
    add_call("<built-in method run_backward of torch._C._EngineBase object at 0x7f1>",
             "torch/autograd/graph.py:9", at + 10, end - 10);
    add_call("train.py(30): log_loss", "train.py:15", end, at + 1000);
    add_call("<built-in method item of Tensor object at 0x7f2>", "train.py:32", end + 1, at + 999);
}

static void a_call_in_a_helper_is_named_by_its_line(void **state)
{
    static const struct cost costs[] = { { 801, 999 }, { 1801, 1999 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(2, 1000);
    add_call("train.py(50): <module>", "train.py:50", 0, 2000);
    add_training(0, 200);
    add_training(1, 200);
    place = place_of(costs, 2000);
    assert_int_equal(place.kind, PLACE_LINE);
    check_place(&place, "train.py:32 in log_loss, .item()");
    assert_true(place.share > 0.99);
}

/* Only part of the time of run_backward() is the cost, so the line that called it is named. */
/* A comprehension is a call to Python, and part of a line to its reader. */
static void comprehensions_belong_to_their_line(void **state)
{
    static const struct cost costs[] = { { 100, 900 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(1, 1000);
    add_call("train.py(14): tokenize", "train.py:40", 100, 900);
    add_call("re/__init__.py(9): findall", "train.py:15", 110, 500);
    add_call("train.py(15): <listcomp>", "train.py:15", 510, 890);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:15 in tokenize");
}

static void time_in_libraries_belongs_to_the_line_that_called_them(void **state)
{
    static const struct cost costs[] = { { 100, 300 }, { 1100, 1300 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(2, 1000);
    add_call("train.py(50): <module>", "train.py:50", 0, 2000);
    add_training(0, 200);
    add_training(1, 200);
    place = place_of(costs, 2000);
    check_place(&place, "train.py:14 in train_step, backward()");
}

/* A loader, which calls the data set of the user back: most of its time, or half. */
static void add_loading(int own_us)
{
    made_begin();
    add_steps(1, 1000);
    add_call("train.py(50): <module>", "train.py:50", 0, 1000);
    add_call("torch/utils/data/dataloader.py(700): __next__", "train.py:52", 100, 900);
    add_call("torch/utils/data/_utils/fetch.py(50): fetch", "torch/utils/data/dataloader.py:710",
             105, 895);
    add_call("train.py(20): __getitem__", "torch/utils/data/_utils/fetch.py:52", 110, 110 + own_us);
    add_call("torch/x.py(3): randn", "train.py:21", 115, 125);
}

static void code_that_a_library_calls_back_is_the_place(void **state)
{
    static const struct cost costs[] = { { 100, 900 }, { 0, 0 } };
    struct call_place place;

    add_loading(780);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:21 in __getitem__");
    add_loading(420);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:21 in __getitem__");
    assert_true(fabs(place.share - 420 / 800.0) < 0.01);
    add_loading(400);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:52 in <module>, __next__()");
}

/* A generator of the user's around the loader is a function that is all cost. */
static void code_that_a_library_calls_back_is_found_through_a_generator(void **state)
{
    static const struct cost costs[] = { { 95, 905 }, { 0, 0 } };
    struct call_place place;

    add_loading(780);
    add_call("train.py(40): batches", "train.py:52", 95, 905);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:21 in __getitem__");
}

static void add_preprocessing(const char *lines[3])
{
    made_begin();
    add_steps(1, 1000);
    add_call("run.py(1): run", "", 0, 1000);
    add_call("video.py(129): preprocess", lines[0], 0, 700);
    add_call("images.py(5): decode", lines[1], 10, 200);
    add_call("images.py(40): resize", lines[2], 200, 690);
    add_call("torch/x.py(1): forward", "", 700, 1000);
}

/* Most of the cost is in one function, but no line of it has four fifths. */
static void a_function_whose_parts_share_the_cost_is_named_whole(void **state)
{
    static const char *without[3] = { "", "", "" };
    static const char *with[3] = { "run.py:3", "video.py:140", "video.py:150" };
    static const struct cost costs[] = { { 0, 750 }, { 0, 0 } };
    struct call_place place;

    add_preprocessing(without);
    place = place_of(costs, 1000);
    check_place(&place, "video.py:129 in preprocess");
    assert_true(place.share > 0.92 && place.share < 0.94);
    add_preprocessing(with);
    place = place_of(costs, 1000);
    check_place(&place, "video.py:129 in preprocess");
}

/* A loop between two calls has no row of its own. */
static void time_without_a_call_lies_between_lines(void **state)
{
    static const struct cost costs[] = { { 200, 800 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(1, 1000);
    add_call("train.py(3): <module>", "", 0, 1000);
    add_call("model.py(8): forward", "train.py:20", 0, 200);
    add_call("model.py(30): update", "train.py:27", 800, 1000);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:20-27 in <module>");
    assert_int_equal(place.line, 20);
    assert_int_equal(place.last_line, 27);
}

static void cost_that_is_spread_has_no_place(void **state)
{
    static const struct cost costs[] = { { 0, 1200 }, { 0, 0 } };
    struct call_place place;
    char name[32];

    made_begin();
    add_steps(1, 1200);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "f.py(%d): f", i + 1);
        add_call(name, "", 100 * i, 100 * i + 100);
    }
    place = place_of(costs, 1200);
    assert_int_equal(place.kind, PLACE_UNKNOWN);
}

static void without_python_annotations_and_operators_are_places(void **state)
{
    static const struct cost in_annotation[] = { { 100, 400 }, { 0, 0 } };
    static const struct cost in_operator[] = { { 500, 700 }, { 0, 0 } };
    static const struct cost outside[] = { { 800, 1000 }, { 0, 0 } };
    static const struct cost *const costs[] = { in_annotation, in_operator, outside };
    static const char *const expected[] = { "in augment", "in aten::randn", "" };

    for (int i = 0; i < 3; i++) {
        struct call_place place;
        made_begin();
        add_steps(1, 1000);
        made_add("user_annotation", "augment", 100, 100, 100, 400, 0);
        made_add("cpu_op", "aten::flip", 100, 100, 100, 250, 0);
        made_add("cpu_op", "aten::roll", 100, 100, 250, 400, 0);
        made_add("cpu_op", "aten::randn", 100, 100, 500, 700, 0);
        made_add("cpu_op", "aten::normal_", 100, 100, 510, 690, 0);
        place = place_of(costs[i], 1000);
        if (expected[i][0] != '\0')
            check_place(&place, expected[i]);
        assert_int_equal(place.kind, i == 0   ? PLACE_ANNOTATION
                                     : i == 1 ? PLACE_OPERATOR
                                              : PLACE_UNKNOWN);
    }
}

static void stacks_of_operators_are_places(void **state)
{
    static const struct cost costs[] = { { 100, 400 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(1, 1000);
    made_add_with(
        "cpu_op", "aten::randn", 100, 100, 100, 400, 0,
        "\"Call stack\":\"torch/x.py(1): f;train.py(33): augment;train.py(3): <module>\"");
    place = place_of(costs, 1000);
    check_place(&place, "train.py:33 in augment");
}

/* The end of a call may be a little later than that of the call around it. */
static void calls_that_cross_are_cut(void **state)
{
    static const struct cost costs[] = { { 100, 300 }, { 0, 0 } };
    struct call_place place;

    made_begin();
    add_steps(1, 1000);
    add_call("train.py(5): f", "", 100, 300);
    add_call("other.py(5): g", "train.py:6", 150, 320);
    add_call("train.py(9): h", "", 310, 900);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:5 in f");
}

TESTS(own_code_is_told_by_its_path, calls_read_as_one_would_write_them,
      stacks_are_read_in_both_orders, a_call_in_a_helper_is_named_by_its_line,
      comprehensions_belong_to_their_line, time_in_libraries_belongs_to_the_line_that_called_them,
      code_that_a_library_calls_back_is_the_place,
      code_that_a_library_calls_back_is_found_through_a_generator,
      a_function_whose_parts_share_the_cost_is_named_whole, time_without_a_call_lies_between_lines,
      cost_that_is_spread_has_no_place, without_python_annotations_and_operators_are_places,
      stacks_of_operators_are_places, calls_that_cross_are_cut)
