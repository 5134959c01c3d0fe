/* Bits flipped on purpose: exactly the one that was asked for, in the output of exactly that
 * launch. */
#include "harness/device/faults.h"
#include "tests/fixtures/lab/cpu_device.h"

enum { ELEMENTS = 64, BYTES = 4096 };

struct scene {
    struct device *device;
    struct stream *stream;
    char *memory; /* BYTES of it, all 0 */
};

static void scene_open(struct scene *scene, const char *flips)
{
    setenv("CHOKEPOINT_FAIL", flips, 1);
    OK(test_device_open(&scene->device, NULL));
    OK(stream_create(scene->device, &scene->stream));
    scene->memory = cpu_device_memory(scene->device, BYTES);
    OK(device_memset(scene->stream, scene->memory, 0, BYTES));
}

static void scene_close(struct scene *scene)
{
    OK(stream_synchronize(scene->stream));
    stream_destroy(scene->stream);
    OK(device_free(scene->device, NULL, ALLOCATE_DIRECT, scene->memory));
    device_close(scene->device);
    unsetenv("CHOKEPOINT_FAIL");
}

static void put(struct scene *scene, size_t offset, const void *from, size_t bytes)
{
    OK(device_copy(scene->stream, COPY_HOST_TO_DEVICE, scene->memory + offset, from, bytes));
}

static void get(struct scene *scene, size_t offset, void *to, size_t bytes)
{
    OK(device_copy(scene->stream, COPY_DEVICE_TO_HOST, to, scene->memory + offset, bytes));
}

/* The only bit of [ELEMENTS] words that is not as in `expected`; -1: there is none. */
static int odd_bit(const uint32_t *words, uint32_t expected)
{
    int found = -1;

    for (int i = 0; i < ELEMENTS; i++)
        for (int bit = 0; bit < 32; bit++)
            if (((words[i] ^ expected) >> bit & 1) != 0) {
                assert_int_equal(found, -1);
                found = 32 * i + bit;
            }
    return found;
}

TEST(the_planned_bit_of_the_nth_launch_is_wrong)
{
    static const struct {
        const char *flips;
        int call, bit;
    } cases[] = {
        { "flip:fill:2", 2, 0 },
        { "flip:fill:3:31", 3, 31 },
        { "flip:fill:1:777", 1, 777 },
        { "flip:fill:1:2825", 1, 2825 - 32 * ELEMENTS }, /* It has 2048 bits. */
        { "flip:gemm:1,flip:triad:2", 0, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scene scene;
        scene_open(&scene, cases[i].flips);
        for (int call = 1; call <= 4; call++) {
            uint32_t words[ELEMENTS];
            OK(LAUNCH(scene.stream, DTYPE_F32, fill, ELEMENTS, .y = scene.memory, .value = 1));
            get(&scene, 0, words, sizeof words);
            assert_int_equal(odd_bit(words, 0x3f800000), call == cases[i].call ? cases[i].bit : -1);
        }
        scene_close(&scene);
    }
}

/* Two products of 2 x 3 with rows 5 apart and products 16: bit 32 * 7 + 4 is in the second product,
 * row 0, column 1. */
TEST(a_product_has_its_flip_in_an_element_that_it_computed)
{
    const float ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    struct scene scene;
    uint32_t words[ELEMENTS];

    scene_open(&scene, "flip:gemm:2:228");
    put(&scene, 1024, ones, sizeof ones);
    for (int call = 1; call <= 2; call++) {
        OK(device_gemm(scene.stream, &(struct gemm){ .c = scene.memory,
                                                     .a = scene.memory + 1024,
                                                     .b = scene.memory + 1024,
                                                     .m = 2,
                                                     .n = 3,
                                                     .k = 1,
                                                     .batch = 2,
                                                     .lda = 1,
                                                     .ldb = 4,
                                                     .ldc = 5,
                                                     .stride_a = 2,
                                                     .stride_b = 4,
                                                     .stride_c = 16 }));
        get(&scene, 0, words, sizeof words);
        for (int i = 0; i < ELEMENTS; i++) {
            bool computed = i < 32 && i % 16 % 5 < 3 && i % 16 < 10;
            uint32_t flipped = call == 2 && i == 17 ? 1u << 4 : 0;
            assert_int_equal(words[i], (computed ? 0x3f800000 : 0) ^ flipped);
        }
    }
    scene_close(&scene);
}

/* Where the output is no tensor: a number per row, the ring's place of this step, the tensors of a
 * table. */
TEST(other_outputs_are_found)
{
    struct scene scene;
    uint32_t words[ELEMENTS];
    struct step_state step = { .step = 5, .correction1 = 1, .correction2 = 1, .gradient_scale = 1 };
    struct tensor_chunk chunk;

    scene_open(&scene, "flip:square_sum:1:63,flip:loss_mean:1:3,flip:adamw_multi:1:100");
    OK(LAUNCH(scene.stream, DTYPE_F32, square_sum, 2, .partial = (void *)scene.memory,
              .x = scene.memory + 1024, .count = 64, .width = 32));
    get(&scene, 0, words, sizeof words);
    assert_int_equal(odd_bit(words, 0), 63);
    OK(device_memset(scene.stream, scene.memory, 0, BYTES));

    put(&scene, 2048, &step, sizeof step);
    OK(LAUNCH(scene.stream, DTYPE_F32, loss_mean, 1, .ring = (void *)scene.memory,
              .loss = (void *)(scene.memory + 1024), .state = (void *)(scene.memory + 2048),
              .count = 1, .ring_length = 4, .updates = 1, .width = 32));
    get(&scene, 0, words, sizeof words);
    assert_int_equal(odd_bit(words, 0), 32 * (5 % 4) + 3);

    OK(device_memset(scene.stream, scene.memory, 0, 2048));
    chunk = (struct tensor_chunk){ .parameter = scene.memory,
                                   .gradient = scene.memory + 256,
                                   .master = (void *)scene.memory,
                                   .m = (void *)(scene.memory + 512),
                                   .v = (void *)(scene.memory + 768),
                                   .count = ELEMENTS };
    put(&scene, 3072, &chunk, sizeof chunk);
    OK(LAUNCH(scene.stream, DTYPE_F32, adamw_multi, 1, .table = (void *)(scene.memory + 3072),
              .state = (void *)(scene.memory + 2048), .width = ELEMENTS));
    get(&scene, 0, words, sizeof words);
    assert_int_equal(odd_bit(words, 0), 100);
    scene_close(&scene);
}

TEST(launches_that_are_captured_do_not_count)
{
    struct graph *graph;
    struct scene scene;
    uint32_t words[ELEMENTS];

    scene_open(&scene, "flip:fill:1");
    OK(graph_begin(scene.stream));
    OK(LAUNCH(scene.stream, DTYPE_F32, fill, ELEMENTS, .y = scene.memory, .value = 1));
    OK(graph_end(scene.stream, &graph));
    OK(graph_launch(scene.stream, graph));
    get(&scene, 0, words, sizeof words);
    assert_int_equal(odd_bit(words, 0x3f800000), -1);
    OK(LAUNCH(scene.stream, DTYPE_F32, fill, ELEMENTS, .y = scene.memory, .value = 1));
    get(&scene, 0, words, sizeof words);
    assert_int_equal(odd_bit(words, 0x3f800000), 0);
    graph_destroy(graph);
    scene_close(&scene);
}

TEST(flips_that_are_malformed_are_refused)
{
    static const char *const bad[] = {
        "flip",        "flip:",           "flip:fill",     "flip:fill:",
        "flip:fill:0", "flip:fill:1:",    "flip:fill:1:x", "flip:fil:1",
        "flip:1",      "flip:fill:1:2:3", "flip:fill:-1"
    };
    struct device *device;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setenv("CHOKEPOINT_FAIL", bad[i], 1);
        assert_int_equal(device_open(&device, test_device_name(), NULL), STATUS_BAD_USAGE);
        assert_error_says("or flip:KERNEL:N");
        assert_error_says(bad[i]);
    }
    unsetenv("CHOKEPOINT_FAIL");
}

TESTS_WITH(cpu_device_find, NULL)
