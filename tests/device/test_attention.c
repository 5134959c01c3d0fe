/* Attention of the device's library against our own kernels' on the same device, which are tested
 * against double precision elsewhere. Skipped where the device has no such library. */
#include "harness/base/random.h"
#include "tests/fixtures/cpu_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 3, HEADS = 2, TOKENS = 40, WIDTH = 32 };
enum { QUERIES = SAMPLES * HEADS * TOKENS, ELEMENTS = QUERIES * WIDTH };

static const struct attention_shape shape = { SAMPLES, HEADS, TOKENS, WIDTH, true, DTYPE_BF16 };

/* Device memory: what one attention reads, what a library's and ours write. */
struct tensors {
    void *q, *k, *v, *dy;
    int32_t *lengths;
    void *y[2], *dq[2], *dk[2], *dv[2];
    float *statistics[2], *delta;
    void *workspace;
};

static bool has_attention(const struct cpu_device_test *test)
{
    if (device_properties(test->device)->fused_attention)
        return true;
    print_message("%s has no library with fused attention\n",
                  device_properties(test->device)->name);
    return false;
}

static void *normal(struct cpu_device_test *test, struct random *random)
{
    uint16_t *bits = malloc(ELEMENTS * sizeof *bits);
    void *memory = cpu_device_memory(test->device, ELEMENTS * sizeof *bits);

    for (int i = 0; i < ELEMENTS; i++) {
        float x = random_normal(random);
        uint32_t whole;
        memcpy(&whole, &x, sizeof whole);
        bits[i] = (uint16_t)(whole >> 16);
    }
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, memory, bits, ELEMENTS * sizeof *bits));
    free(bits);
    return memory;
}

static struct tensors tensors_make(struct cpu_device_test *test, size_t workspace_bytes)
{
    static const int32_t lengths[SAMPLES] = { TOKENS, 1, 23 };
    struct random random = random_seed(11, 0);
    struct tensors t = { .q = normal(test, &random),
                         .k = normal(test, &random),
                         .v = normal(test, &random),
                         .dy = normal(test, &random) };

    t.lengths = cpu_device_memory(test->device, sizeof lengths);
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, t.lengths, lengths, sizeof lengths));
    /* Anything that a library leaves unwritten, beyond a sample's length, is then no number. */
    for (int i = 0; i < 2; i++) {
        t.y[i] = cpu_device_memory(test->device, ELEMENTS * 2);
        t.dq[i] = cpu_device_memory(test->device, ELEMENTS * 2);
        t.dk[i] = cpu_device_memory(test->device, ELEMENTS * 2);
        t.dv[i] = cpu_device_memory(test->device, ELEMENTS * 2);
        t.statistics[i] = cpu_device_memory(test->device, QUERIES * sizeof(float));
        OK(device_memset(test->stream, t.y[i], 0xff, ELEMENTS * 2));
        OK(device_memset(test->stream, t.dq[i], 0xff, ELEMENTS * 2));
        OK(device_memset(test->stream, t.dk[i], 0xff, ELEMENTS * 2));
        OK(device_memset(test->stream, t.dv[i], 0xff, ELEMENTS * 2));
    }
    t.delta = cpu_device_memory(test->device, QUERIES * sizeof(float));
    t.workspace = cpu_device_memory(test->device, workspace_bytes);
    return t;
}

static void tensors_free(struct cpu_device_test *test, struct tensors *t)
{
    void *all[] = { t->q,
                    t->k,
                    t->v,
                    t->dy,
                    t->lengths,
                    t->y[0],
                    t->y[1],
                    t->dq[0],
                    t->dq[1],
                    t->dk[0],
                    t->dk[1],
                    t->dv[0],
                    t->dv[1],
                    t->delta,
                    t->statistics[0],
                    t->statistics[1],
                    t->workspace };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, all[i]));
}

static void run_ours(struct cpu_device_test *test, const struct tensors *t, const int32_t *lengths)
{
    long tiles = ATTENTION_TILES(SAMPLES * HEADS, TOKENS);
    float scale = 1 / sqrtf(WIDTH);

    OK(LAUNCH(test->stream, DTYPE_BF16, tiled_attention_forward, tiles, .y = t->y[0],
              .lse = t->statistics[0], .q = t->q, .k = t->k, .v = t->v, .lengths = lengths,
              .scale = scale, .width = WIDTH, .heads = HEADS, .tokens = TOKENS));
    OK(LAUNCH(test->stream, DTYPE_BF16, tiled_attention_backward_query, tiles, .dq = t->dq[0],
              .delta = t->delta, .q = t->q, .k = t->k, .v = t->v, .y = t->y[0], .dy = t->dy,
              .lse = t->statistics[0], .lengths = lengths, .scale = scale, .width = WIDTH,
              .heads = HEADS, .tokens = TOKENS));
    OK(LAUNCH(test->stream, DTYPE_BF16, tiled_attention_backward_key, tiles, .dk = t->dk[0],
              .dv = t->dv[0], .q = t->q, .k = t->k, .v = t->v, .dy = t->dy, .lse = t->statistics[0],
              .delta = t->delta, .lengths = lengths, .scale = scale, .width = WIDTH, .heads = HEADS,
              .tokens = TOKENS));
}

static enum status run_librarys(struct stream *stream, const struct tensors *t,
                                const struct attention_shape *of, const int32_t *lengths)
{
    struct fused_attention attention = {
        .shape = *of,
        .scale = 1 / sqrtf(WIDTH),
        .y = t->y[1],
        .statistics = t->statistics[1],
        .q = t->q,
        .k = t->k,
        .v = t->v,
        .lengths = lengths,
        .dy = t->dy,
        .dq = t->dq[1],
        .dk = t->dk[1],
        .dv = t->dv[1],
        .workspace = t->workspace,
    };
    enum status status = STATUS_OK;

    TRY(device_attention(stream, &attention));
    attention.backward = true;
    TRY(device_attention(stream, &attention));

out:
    return status;
}

static void assert_close(struct cpu_device_test *test, const char *what, const void *ours,
                         const void *librarys)
{
    static uint16_t bits[2][ELEMENTS];
    const void *from[2] = { ours, librarys };
    double squares = 0, size = 0;

    for (int i = 0; i < 2; i++)
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, bits[i], from[i], sizeof bits[i]));
    for (int i = 0; i < ELEMENTS; i++) {
        float x[2];
        for (int side = 0; side < 2; side++) {
            uint32_t whole = (uint32_t)bits[side][i] << 16;
            memcpy(&x[side], &whole, sizeof whole);
        }
        squares += pow((double)x[0] - (double)x[1], 2);
        size += pow((double)x[0], 2);
    }
    if (!(sqrt(squares) <= 0.01 * sqrt(size) && size > 0))
        fail_msg("%s differs by %g of its size", what, sqrt(squares / size));
}

static void assert_all_close(struct cpu_device_test *test, const struct tensors *t)
{
    static float statistics[2][QUERIES];

    assert_close(test, "y", t->y[0], t->y[1]);
    assert_close(test, "dq", t->dq[0], t->dq[1]);
    assert_close(test, "dk", t->dk[0], t->dk[1]);
    assert_close(test, "dv", t->dv[0], t->dv[1]);
    for (int i = 0; i < 2; i++)
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, statistics[i], t->statistics[i],
                       sizeof statistics[i]));
    for (int i = 0; i < QUERIES; i++)
        assert_true(fabs((double)statistics[0][i] - (double)statistics[1][i]) <= 1e-3);
}

static void the_librarys_attention_is_ours_to_rounding(void **state)
{
    struct cpu_device_test *test = *state;

    if (!has_attention(test))
        skip();
    for (int with_lengths = 0; with_lengths < 2; with_lengths++) {
        struct attention_shape of = shape;
        size_t bytes = 0, again = 0;
        struct tensors t;
        const int32_t *lengths;

        of.lengths = with_lengths;
        OK(device_attention_plan(test->device, &of, &bytes));
        OK(device_attention_plan(test->device, &of, &again));
        assert_int_equal(bytes, again);
        t = tensors_make(test, bytes);
        lengths = with_lengths ? t.lengths : NULL;
        run_ours(test, &t, lengths);
        OK(run_librarys(test->stream, &t, &of, lengths));
        assert_all_close(test, &t);
        tensors_free(test, &t);
    }
}

static void a_graph_captures_it(void **state)
{
    struct cpu_device_test *test = *state;
    struct graph *graph;
    struct tensors t;
    size_t bytes;

    if (!has_attention(test))
        skip();
    OK(device_attention_plan(test->device, &shape, &bytes));
    t = tensors_make(test, bytes);
    run_ours(test, &t, t.lengths);
    OK(graph_begin(test->stream));
    OK(run_librarys(test->stream, &t, &shape, t.lengths));
    OK(graph_end(test->stream, &graph));
    for (int i = 0; i < 2; i++) OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    assert_all_close(test, &t);
    graph_destroy(graph);
    tensors_free(test, &t);
}

static void what_it_cannot_do_is_said(void **state)
{
    struct cpu_device_test *test = *state;
    struct attention_shape fp32 = shape, unplanned = shape;
    struct tensors t = { 0 };
    size_t bytes = 77;

    fp32.dtype = DTYPE_F32;
    assert_int_equal(device_attention_plan(test->device, &fp32, &bytes), STATUS_UNSUPPORTED);
    assert_int_equal(bytes, 77);
    assert_error_says(device_properties(test->device)->fused_attention ? "fp32"
                                                                       : "no library with fused");
    if (!device_properties(test->device)->fused_attention)
        return;
    unplanned.tokens++;
    assert_int_equal(run_librarys(test->stream, &t, &unplanned, NULL), STATUS_BAD_USAGE);
    assert_error_says("planned");
}

/* Statuses of cudnn_graph.h: no compilation (NVRTC is missing), no memory, an error of the driver. Another
 * engine is tried, and where none is left the caller takes its own kernels. A bad parameter is our mistake. */
static void an_engine_that_fails_is_passed_over(void **state)
{
    static const struct {
        const char *plans;
        enum status status;
    } cases[] = {
        { "4001,0", STATUS_OK },
        { "4003,0", STATUS_OK },
        { "4004,0", STATUS_OK },
        { "5001,0", STATUS_OK },
        { "3000,0", STATUS_OK },
        { "3000,4001", STATUS_UNSUPPORTED },
        { "4001,3000", STATUS_UNSUPPORTED },
        { "5001,4004", STATUS_UNSUPPORTED },
        { "2000,0", STATUS_OK },
        { "3000,2000", STATUS_INTERNAL },
    };
    struct cpu_device_test *test = *state;

    if (!has_attention(test) || getenv("CHOKEPOINT_PLUGINS") == NULL)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct device *device;
        size_t bytes = 0;
        enum status status;

        setenv("STAND_IN_CUDNN_PLANS", cases[i].plans, 1);
        OK(test_device_open(&device, NULL));
        status = device_attention_plan(device, &shape, &bytes);
        unsetenv("STAND_IN_CUDNN_PLANS");
        if (status != cases[i].status)
            fail_msg("%s: %s", cases[i].plans, status_name(status));
        if (status != STATUS_OK)
            assert_error_says("the stand-in's reason");
        device_close(device);
    }
}

/* Each call to cuDNN fails in turn, on the stand-in for it; nothing may be lost or left behind. */
static void each_failing_call_is_an_error(void **state)
{
    struct cpu_device_test *test = *state;
    enum { CALLS_FOR_AN_ENGINE = 8 }; /* at most: one that fails is passed over */
    int failures = 0, in_a_row = 0;

    if (!has_attention(test) || getenv("CHOKEPOINT_PLUGINS") == NULL)
        skip();
    for (int call = 1; in_a_row < CALLS_FOR_AN_ENGINE; call++) {
        struct device *device;
        struct stream *stream;
        size_t bytes = 0;
        enum status status;
        char text[16];

        snprintf(text, sizeof text, "%d", call);
        setenv("STAND_IN_CUDNN_FAIL", text, 1);
        OK(test_device_open(&device, NULL));
        OK(stream_create(device, &stream));
        status = device_attention_plan(device, &shape, &bytes);
        if (status == STATUS_OK) {
            struct cpu_device_test other = { .device = device, .stream = stream };
            struct tensors t = tensors_make(&other, bytes);
            status = run_librarys(stream, &t, &shape, t.lengths);
            if (status != STATUS_OK)
                assert_error_says("the stand-in's reason");
            OK(stream_synchronize(stream));
            tensors_free(&other, &t);
        }
        unsetenv("STAND_IN_CUDNN_FAIL");
        stream_destroy(stream);
        device_close(device);
        in_a_row = status == STATUS_OK ? in_a_row + 1 : 0;
        if (status == STATUS_OK)
            continue;
        assert_int_equal(status, bytes > 0 ? STATUS_DEVICE_ERROR : STATUS_UNSUPPORTED);
        failures++;
    }
    assert_true(failures > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_librarys_attention_is_ours_to_rounding),
        cmocka_unit_test(a_graph_captures_it),
        cmocka_unit_test(what_it_cannot_do_is_said),
        cmocka_unit_test(an_engine_that_fails_is_passed_over),
        cmocka_unit_test(each_failing_call_is_an_error),
    };
    return cmocka_run_group_tests_name("attention", tests, cpu_device_open, cpu_device_close);
}
