/* Where in the program a cost comes from. */
#include "harness/desk/analysis/host/call_sites.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_trace.h"

#include <math.h>

/* --- Names --- */

static const struct {
    const char *name;
    enum frame_owner owner, listed; /* if the trace lists nothing, or OWN */
} owned[] = {
    { "train.py(12): log_loss", OWNER_USER, OWNER_USER },
    { "models/net.py(12): forward", OWNER_USER, OWNER_USER },
    { "project/data/loader.py(3): <lambda>", OWNER_USER, OWNER_LIBRARY },
    { "train_all.py(3): f", OWNER_USER, OWNER_LIBRARY },
    { "/home/me/project/train.py(3): main", OWNER_USER, OWNER_USER },
    { "<ipython-input-5-abc>(3): main", OWNER_USER, OWNER_USER },
    { "/tmp/ipykernel_24013/19260079.py(5): collate", OWNER_USER, OWNER_USER },
    { "cell 3(5): collate", OWNER_USER, OWNER_USER },
    { "ipykernel/kernelbase.py(5): f", OWNER_LIBRARY, OWNER_LIBRARY },
    { "keras/src/trainer.py(3): fit", OWNER_LIBRARY, OWNER_USER },
    { "transformers/trainer.py(3): train", OWNER_LIBRARY, OWNER_LIBRARY },
    { "models/lib/python_ops.py(3): f", OWNER_PYTHON, OWNER_USER },
    { "types/mine.py(3): f", OWNER_PYTHON, OWNER_PYTHON },
    { "my_types.py(3): f", OWNER_USER, OWNER_LIBRARY },
    { "torch/nn/modules/linear.py(130): forward", OWNER_PYTHON, OWNER_PYTHON },
    { "torch.py(1): f", OWNER_USER, OWNER_LIBRARY },
    { "threading.py(1032): _bootstrap", OWNER_PYTHON, OWNER_PYTHON },
    { "multiprocessing/process.py(314): _bootstrap", OWNER_PYTHON, OWNER_PYTHON },
    { "/usr/lib/python3.11/site-packages/lightning/loop.py(3): run", OWNER_LIBRARY, OWNER_LIBRARY },
    { "/venv/lib/python3.11/site-packages/torch/_tensor.py(3): run", OWNER_PYTHON, OWNER_PYTHON },
    { "/opt/venv/lib/python3.12/typing.py(3): cast", OWNER_PYTHON, OWNER_PYTHON },
    { "/tmp/torchinductor_me/ab/cab.py(9): call", OWNER_PYTHON, OWNER_PYTHON },
    { "C:\\me\\train.py(3): main", OWNER_USER, OWNER_USER },
    { "C:\\py\\Lib\\site-packages\\torch\\nn\\a.py(3): f", OWNER_PYTHON, OWNER_PYTHON },
    { "C:\\py\\lib\\random.py(3): f", OWNER_PYTHON, OWNER_PYTHON },
    { "/home/me/src/scripts/recorder/chokepoint_recorder.py(3): marked", OWNER_PYTHON,
      OWNER_PYTHON },
    { "chokepoint_switches.py(3): switched", OWNER_PYTHON, OWNER_PYTHON },
    { "<frozen os>(674): __getitem__", OWNER_PYTHON, OWNER_PYTHON },
    { "<string>(1): <module>", OWNER_PYTHON, OWNER_PYTHON },
    { "nn.Module: Linear_0", OWNER_PYTHON, OWNER_PYTHON },
    { "<built-in method item of Tensor object>", OWNER_PYTHON, OWNER_PYTHON },
    { "train.py(x): f", OWNER_PYTHON, OWNER_PYTHON },
    { "", OWNER_PYTHON, OWNER_PYTHON },
};

static const char OWN[] = "[\"keras\", \"models\", \"train\"]";

TEST(the_owner_of_code_is_told_by_its_path)
{
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        struct frame_name name = frame_name_of(owned[i].name, strlen(owned[i].name));
        if (frame_name_owner(&name, NULL) != owned[i].owner ||
            frame_name_owner(&name, OWN) != owned[i].listed)
            fail_msg("%s: %d, and %d", owned[i].name, (int)frame_name_owner(&name, NULL),
                     (int)frame_name_owner(&name, OWN));
    }
}

TEST(lines_of_notebooks_are_of_cells)
{
    static const struct {
        const char *file, *text;
    } cases[] = {
        { "train.py", "train.py:5" },
        { "cell 3", "cell 3, line 5" },
        { "<ipython-input-12-0b2a>", "cell 12, line 5" },
        { "/tmp/ipykernel_24013/19260079.py", "a notebook's cell, line 5" },
        { "my_ipykernel_tools.py", "my_ipykernel_tools.py:5" },
    };
    char text[64];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        frame_name_line(text, sizeof text, cases[i].file, 5);
        assert_string_equal(text, cases[i].text);
    }
}

TEST(calls_read_as_one_would_write_them)
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

TEST(stacks_are_read_in_both_orders)
{
    static const char *const stacks[] = {
        "/venv/lib/python3.7/site-packages/torch/x.py(3): step;model.py(54): run;train.py(9): "
        "<module>",
        "train.py(9): <module>;model.py(54): run;torch/x.py(3): step;<built-in method add>;",
    };
    struct frame_name name;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(frame_name_of_stack(stacks[i], NULL, &name), OWNER_USER);
        assert_int_equal(name.line, 54);
        assert_memory_equal(name.file, "model.py", name.file_length);
        assert_memory_equal(name.function, "run", name.function_length);
    }
    assert_int_equal(frame_name_of_stack("torch/x.py(3): step", NULL, &name), OWNER_PYTHON);
    assert_int_equal(frame_name_of_stack("", NULL, &name), OWNER_PYTHON);
    assert_int_equal(frame_name_of_stack("torch/x.py(3): a;keras/x.py(4): b", NULL, &name),
                     OWNER_LIBRARY);
    assert_int_equal(name.line, 4);
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
    for (int i = 0; i < count; i++) made_step(i, i * length_us, (i + 1) * length_us);
}

struct cost {
    int start_us, end_us;
};

/* The places that the trace gives for these costs, which end with one that is empty. */
static struct call_place places_of(const struct cost *costs, int window_us,
                                   struct call_place *library)
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
    place = call_site_of(&tree, &times, library);
    return place;
}

static struct call_place place_of(const struct cost *costs, int window_us)
{
    struct call_place library;

    return places_of(costs, window_us, &library);
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

TEST(a_call_in_a_helper_is_named_by_its_line)
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
TEST(comprehensions_belong_to_their_line)
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

TEST(time_in_libraries_belongs_to_the_line_that_called_them)
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

TEST(code_that_a_library_calls_back_is_the_place)
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

/* The user's line is the place, and the library's is a place in it. */
TEST(the_users_line_comes_before_the_librarys)
{
    static const struct cost costs[] = { { 100, 900 }, { 0, 0 } };
    static const char IN_KERAS[] = "keras/src/data_adapter.py:293 in pulled, stack()";
    struct call_place place, library;

    for (int whole = 0; whole < 2; whole++) {
        made_begin();
        add_steps(1, 1000);
        if (whole == 1)
            add_call("train.py(50): <module>", "", 0, 1000);
        add_call("keras/src/trainer.py(300): fit", "train.py:52", 10, 990);
        add_call("keras/src/data_adapter.py(290): pulled", "keras/src/trainer.py:320", 50, 950);
        add_call("torch/x.py(3): stack", "keras/src/data_adapter.py:293", 105, 895);
        place = places_of(costs, 1000, &library);
        check_place(&place, whole == 1 ? "train.py:52 in <module>, fit()" : IN_KERAS);
        assert_int_equal(library.kind, whole == 1 ? PLACE_LINE : PLACE_UNKNOWN);
        if (whole == 1)
            check_place(&library, IN_KERAS);
        assert_true(place.share > 0.97);
    }
}

/* What a library calls back is closer to the cost than the call of the library. */
TEST(a_library_that_calls_back_is_not_the_place)
{
    static const struct cost costs[] = { { 100, 900 }, { 0, 0 } };
    struct call_place place, library;

    made_begin();
    add_steps(1, 1000);
    add_call("train.py(50): <module>", "", 0, 1000);
    add_call("keras/src/trainer.py(300): fit", "train.py:52", 10, 990);
    add_call("train.py(20): collate", "keras/src/trainer.py:320", 100, 900);
    add_call("transformers/tokens.py(3): encode", "train.py:21", 105, 895);
    add_call("re/__init__.py(3): findall", "transformers/tokens.py:4", 110, 890);
    place = places_of(costs, 1000, &library);
    check_place(&place, "train.py:21 in collate, encode()");
    check_place(&library, "transformers/tokens.py:4 in encode, findall()");
}

/* A generator of the user's around the loader is a function that is all cost. */
TEST(code_that_a_library_calls_back_is_found_through_a_generator)
{
    static const struct cost costs[] = { { 95, 905 }, { 0, 0 } };
    struct call_place place;

    add_loading(780);
    add_call("train.py(40): batches", "train.py:52", 95, 905);
    place = place_of(costs, 1000);
    check_place(&place, "train.py:21 in __getitem__");
}

/* Whatever the line of its name, which is that where it goes on; what it calls is in it, and other
 * functions of the file are not. */
TEST(what_the_loop_iterates_over_is_known_by_the_recorders_list)
{
    static const struct cost costs[] = { { 100, 900 }, { 0, 0 } };
    struct call_place place;

    made_begin_with("\"chokepointIterators\":[\"data.py: __next__\",\"train.py: batches\"]");
    add_steps(1, 1000);
    add_call("train.py(50): <module>", "", 0, 1000);
    add_call("train.py(40): batches", "train.py:52", 100, 300);
    add_call("data.py(7): __next__", "train.py:41", 150, 250);
    add_call("train.py(44): batches", "train.py:52", 300, 500);
    add_call("train.py(60): batch", "train.py:53", 500, 900);
    place = place_of(costs, 1000);
    assert_true(fabs(place.iterated - 0.5) < 1e-9);
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
TEST(a_function_whose_parts_share_the_cost_is_named_whole)
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
TEST(time_without_a_call_lies_between_lines)
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

TEST(cost_that_is_spread_has_no_place)
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

TEST(without_python_annotations_and_operators_are_places)
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

TEST(stacks_of_operators_are_places)
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
TEST(calls_that_cross_are_cut)
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
