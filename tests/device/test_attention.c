/* Attention of the device's library against our own kernels' on the same device, which are tested
 * against double precision elsewhere. Skipped where the device has no such library. */
#include "harness/base/random.h"
#include "kernels/dialect/half.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/test_seed.h"

#include <math.h>

/* MANY tokens are more than a block of the CPU device's has. The stand-in executes each
 * instruction, in the square of the tokens: SEVERAL are some tiles of our kernels and a part of
 * one, and so is each length of samples. */
enum { SAMPLES = 3, HEADS = 2, TOKENS = 40, SEVERAL = 133, MANY = 1037, WIDTH = 32 };
enum { QUERIES_MOST = SAMPLES * HEADS * MANY, ELEMENTS_MOST = QUERIES_MOST * WIDTH };

static const struct attention_shape shape = {
    SAMPLES, HEADS, TOKENS, WIDTH, true, DTYPE_BF16, false
};

static bool on_the_stand_in(void)
{
    return getenv("CHOKEPOINT_PLUGINS") != NULL;
}

static size_t queries_of(const struct attention_shape *of)
{
    return (size_t)(SAMPLES * HEADS) * (size_t)of->tokens;
}

static size_t bytes_of(const struct attention_shape *of)
{
    return queries_of(of) * WIDTH * dtype_bytes(of->dtype);
}

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

/* A bf16 number is the upper half of an fp32 one. */
static void store_value(char *to, enum dtype dtype, float x)
{
    size_t size = dtype_bytes(dtype);
    uint16_t half = half_narrow(x);

    memcpy(to, dtype == DTYPE_F16 ? (const char *)&half : (const char *)&x + sizeof x - size, size);
}

static double value_of(const char *from, enum dtype dtype)
{
    size_t size = dtype_bytes(dtype);
    float x = 0;
    uint16_t half;

    memcpy((char *)&x + sizeof x - size, from, size);
    memcpy(&half, from, sizeof half);
    return (double)(dtype == DTYPE_F16 ? half_widen(half) : x);
}

static void *normal(struct cpu_device_test *test, const struct attention_shape *of,
                    struct random *random)
{
    size_t bytes = bytes_of(of), size = dtype_bytes(of->dtype);
    char *values = malloc(bytes);
    void *memory = cpu_device_memory(test->device, bytes);

    for (size_t at = 0; at < bytes; at += size)
        store_value(values + at, of->dtype, random_normal(random));
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, memory, values, bytes));
    free(values);
    return memory;
}

/* Anything that a library leaves unwritten, beyond a sample's length, is no number. */
static void *unwritten(struct cpu_device_test *test, size_t bytes)
{
    void *memory = cpu_device_memory(test->device, bytes);

    OK(device_memset(test->stream, memory, 0xff, bytes));
    return memory;
}

static struct tensors tensors_make(struct cpu_device_test *test, const struct attention_shape *of,
                                   size_t workspace_bytes)
{
    const int32_t lengths[SAMPLES] = { of->tokens, 1, of->tokens * 23 / 40 };
    struct random random = random_seed(test_seed(), 0);
    struct tensors t = { .q = normal(test, of, &random),
                         .k = normal(test, of, &random),
                         .v = normal(test, of, &random),
                         .dy = normal(test, of, &random) };

    t.lengths = cpu_device_memory(test->device, sizeof lengths);
    OK(device_copy(test->stream, COPY_HOST_TO_DEVICE, t.lengths, lengths, sizeof lengths));
    for (int i = 0; i < 2; i++) {
        t.y[i] = unwritten(test, bytes_of(of));
        t.dq[i] = unwritten(test, bytes_of(of));
        t.dk[i] = unwritten(test, bytes_of(of));
        t.dv[i] = unwritten(test, bytes_of(of));
        t.statistics[i] = unwritten(test, queries_of(of) * sizeof(float));
    }
    t.delta = cpu_device_memory(test->device, queries_of(of) * sizeof(float));
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

static void run_ours(struct cpu_device_test *test, const struct tensors *t,
                     const struct attention_shape *of, const int32_t *lengths)
{
    long tiles = ATTENTION_TILES(SAMPLES * HEADS, of->tokens);
    float scale = 1 / sqrtf(WIDTH);

    OK(LAUNCH(test->stream, of->dtype, tiled_attention_forward, tiles, .y = t->y[0],
              .lse = t->statistics[0], .q = t->q, .k = t->k, .v = t->v, .lengths = lengths,
              .scale = scale, .width = WIDTH, .heads = HEADS, .tokens = of->tokens));
    OK(LAUNCH(test->stream, of->dtype, tiled_attention_backward_query, tiles, .dq = t->dq[0],
              .delta = t->delta, .q = t->q, .k = t->k, .v = t->v, .y = t->y[0], .dy = t->dy,
              .lse = t->statistics[0], .lengths = lengths, .scale = scale, .width = WIDTH,
              .heads = HEADS, .tokens = of->tokens));
    OK(LAUNCH(test->stream, of->dtype, tiled_attention_backward_key, tiles, .dk = t->dk[0],
              .dv = t->dv[0], .q = t->q, .k = t->k, .v = t->v, .dy = t->dy, .lse = t->statistics[0],
              .delta = t->delta, .lengths = lengths, .scale = scale, .width = WIDTH, .heads = HEADS,
              .tokens = of->tokens));
}

static enum status both_passes(struct stream *stream, struct fused_attention attention)
{
    attention.backward = false;
    TRY(device_attention(stream, &attention));
    attention.backward = true;
    TRY(device_attention(stream, &attention));

    return STATUS_OK;
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

    return both_passes(stream, attention);
}

static void assert_close(struct cpu_device_test *test, const struct attention_shape *of,
                         const char *what, const void *ours, const void *librarys)
{
    static char values[2][ELEMENTS_MOST * sizeof(float)];
    const void *from[2] = { ours, librarys };
    static const double limits[DTYPE_COUNT] = {
        [DTYPE_F32] = 1e-5, [DTYPE_BF16] = 0.01, [DTYPE_F16] = 0.002
    };
    double limit = limits[of->dtype], squares = 0, size = 0;

    for (int i = 0; i < 2; i++)
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, values[i], from[i], bytes_of(of)));
    for (size_t at = 0; at < bytes_of(of); at += dtype_bytes(of->dtype)) {
        double x = value_of(values[0] + at, of->dtype);
        squares += pow(x - value_of(values[1] + at, of->dtype), 2);
        size += pow(x, 2);
    }
    if (!(sqrt(squares) <= limit * sqrt(size) && size > 0))
        fail_msg("%s differs by %g of its size", what, sqrt(squares / size));
}

static void assert_all_close(struct cpu_device_test *test, const struct attention_shape *of,
                             const struct tensors *t)
{
    static float statistics[2][QUERIES_MOST];

    assert_close(test, of, "y", t->y[0], t->y[1]);
    assert_close(test, of, "dq", t->dq[0], t->dq[1]);
    assert_close(test, of, "dk", t->dk[0], t->dk[1]);
    assert_close(test, of, "dv", t->dv[0], t->dv[1]);
    for (int i = 0; i < 2; i++)
        OK(device_copy(test->stream, COPY_DEVICE_TO_HOST, statistics[i], t->statistics[i],
                       queries_of(of) * sizeof(float)));
    for (size_t i = 0; i < queries_of(of); i++)
        assert_true(fabs((double)statistics[0][i] - (double)statistics[1][i]) <= 1e-3);
}

static void assert_like_ours(struct cpu_device_test *test, const struct attention_shape *of)
{
    size_t bytes = 0, again = 0;
    struct tensors t;
    const int32_t *lengths;

    OK(device_attention_plan(test->device, of, &bytes));
    OK(device_attention_plan(test->device, of, &again));
    assert_int_equal(bytes, again);
    t = tensors_make(test, of, bytes);
    lengths = of->lengths ? t.lengths : NULL;
    run_ours(test, &t, of, lengths);
    OK(run_librarys(test->stream, &t, of, lengths));
    assert_all_close(test, of, &t);
    tensors_free(test, &t);
}

DEVICE_TEST(the_librarys_attention_is_ours_to_rounding)
{
    const int tokens[] = { TOKENS, on_the_stand_in() ? SEVERAL : MANY };
    struct attention_shape of = shape;

    if (!has_attention(test))
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
        for (int with_lengths = 0; with_lengths < 2; with_lengths++) {
            of.tokens = tokens[i];
            of.lengths = with_lengths;
            of.dtype = DTYPE_BF16;
            assert_like_ours(test, &of);
            of.dtype = DTYPE_F16;
            assert_like_ours(test, &of);
            of.dtype = DTYPE_F32;
            if (!device_properties(test->device)->is_gpu)
                assert_like_ours(test, &of);
        }
}

/* The tensors of the linear layers around attention: qkv, y, dqkv and dy of as many samples. */
struct packed {
    char *qkv, *y, *dqkv, *dy;
};

static enum status run_packed(struct stream *stream, const struct tensors *t,
                              const struct attention_shape *of, const struct packed *packed)
{
    size_t part = (size_t)HEADS * WIDTH * dtype_bytes(of->dtype);
    struct fused_attention attention = {
        .shape = *of,
        .scale = 1 / sqrtf(WIDTH),
        .y = packed->y,
        .statistics = t->statistics[1],
        .q = packed->qkv,
        .k = packed->qkv + part,
        .v = packed->qkv + 2 * part,
        .lengths = t->lengths,
        .dy = packed->dy,
        .dq = packed->dqkv,
        .dk = packed->dqkv + part,
        .dv = packed->dqkv + 2 * part,
        .workspace = t->workspace,
    };

    attention.shape.packed = true;
    return both_passes(stream, attention);
}

static struct packed packed_make(struct cpu_device_test *test, const struct tensors *t,
                                 const struct attention_shape *of)
{
    long rows = (long)SAMPLES * of->tokens;
    struct packed packed = { .qkv = unwritten(test, 3 * bytes_of(of)),
                             .y = unwritten(test, bytes_of(of)),
                             .dqkv = unwritten(test, 3 * bytes_of(of)),
                             .dy = unwritten(test, bytes_of(of)) };

    OK(LAUNCH(test->stream, of->dtype, split_heads_backward, rows, .dqkv = (void *)packed.qkv,
              .dq = t->q, .dk = t->k, .dv = t->v, .width = HEADS * WIDTH, .heads = HEADS,
              .tokens = of->tokens));
    OK(LAUNCH(test->stream, of->dtype, merge_heads_forward, rows, .y = (void *)packed.dy,
              .x = t->dy, .width = HEADS * WIDTH, .heads = HEADS, .tokens = of->tokens));
    return packed;
}

/* Result 1 of `t`, in its order, is made from packed tensors that the library computed. */
static void unpack(struct cpu_device_test *test, const struct tensors *t,
                   const struct attention_shape *of, const struct packed *packed)
{
    long rows = (long)SAMPLES * of->tokens;

    OK(LAUNCH(test->stream, of->dtype, split_heads_forward, rows, .q = t->dq[1], .k = t->dk[1],
              .v = t->dv[1], .qkv = (void *)packed->dqkv, .width = HEADS * WIDTH, .heads = HEADS,
              .tokens = of->tokens));
    OK(LAUNCH(test->stream, of->dtype, merge_heads_backward, rows, .dx = t->y[1],
              .dy = (void *)packed->y, .width = HEADS * WIDTH, .heads = HEADS,
              .tokens = of->tokens));
}

DEVICE_TEST(packed_heads_need_no_copies)
{
    const int tokens[] = { TOKENS, on_the_stand_in() ? SEVERAL : MANY };

    if (!has_attention(test))
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        struct attention_shape of = shape, other;
        struct packed packed;
        struct tensors t;
        size_t bytes;

        of.tokens = tokens[i];
        other = of;
        other.packed = true;
        OK(device_attention_plan(test->device, &other, &bytes));
        t = tensors_make(test, &of, bytes);
        packed = packed_make(test, &t, &of);
        run_ours(test, &t, &of, t.lengths);
        OK(run_packed(test->stream, &t, &of, &packed));
        unpack(test, &t, &of, &packed);
        assert_all_close(test, &of, &t);
        tensors_free(test, &t);
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, packed.qkv));
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, packed.y));
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, packed.dqkv));
        OK(device_free(test->device, NULL, ALLOCATE_DIRECT, packed.dy));
    }
}

DEVICE_TEST(a_graph_captures_it)
{
    struct graph *graph;
    struct tensors t;
    size_t bytes;

    if (!has_attention(test))
        skip();
    OK(device_attention_plan(test->device, &shape, &bytes));
    t = tensors_make(test, &shape, bytes);
    run_ours(test, &t, &shape, t.lengths);
    OK(graph_begin(test->stream));
    OK(run_librarys(test->stream, &t, &shape, t.lengths));
    OK(graph_end(test->stream, &graph));
    for (int i = 0; i < 2; i++) OK(graph_launch(test->stream, graph));
    OK(stream_synchronize(test->stream));
    assert_all_close(test, &shape, &t);
    graph_destroy(graph);
    tensors_free(test, &t);
}

DEVICE_TEST(nothing_is_planned_during_a_capture)
{
    struct graph *graph = NULL;
    size_t bytes = 77;

    if (!has_attention(test))
        skip();
    OK(graph_begin(test->stream));
    assert_int_equal(device_attention_plan(test->device, &shape, &bytes), STATUS_CAPTURE);
    assert_error_says("device_attention_plan");
    assert_int_equal(bytes, 77);
    assert_int_equal(graph_end(test->stream, &graph), STATUS_CAPTURE);
    assert_null(graph);
}

DEVICE_TEST(what_it_cannot_do_is_said)
{
    struct attention_shape other = shape, unplanned = shape;
    struct tensors t = { 0 };
    size_t bytes = 77;
    bool is_gpu = device_properties(test->device)->is_gpu;

    other.dtype = DTYPE_F32;
    if (!is_gpu)
        other.width = 40;
    assert_int_equal(device_attention_plan(test->device, &other, &bytes), STATUS_UNSUPPORTED);
    assert_int_equal(bytes, 77);
    if (!device_properties(test->device)->fused_attention)
        assert_error_says("no library with fused");
    else
        assert_error_says(is_gpu ? "fp32" : "40");
    if (!device_properties(test->device)->fused_attention)
        return;
    unplanned.heads++;
    assert_int_equal(run_librarys(test->stream, &t, &unplanned, NULL), STATUS_BAD_USAGE);
    assert_error_says("planned");
}

/* Statuses of cudnn_errors.c: no compilation (NVRTC is missing), no memory, an error of the driver.
 * Another engine is tried, and where none is left the caller takes its own kernels. A bad parameter
 * is our mistake. */
DEVICE_TEST(an_engine_that_fails_is_passed_over)
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

    if (!has_attention(test) || !on_the_stand_in())
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
DEVICE_TEST(each_failing_call_is_an_error)
{
    enum { CALLS_FOR_AN_ENGINE = 8 }; /* at most: one that fails is passed over */
    int failures = 0, in_a_row = 0;

    if (!has_attention(test) || !on_the_stand_in())
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
            struct tensors t = tensors_make(&other, &shape, bytes);
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

TESTS_WITH(cpu_device_open, cpu_device_close)
