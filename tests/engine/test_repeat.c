/* The same steps over and over: equal where nothing is wrong, and a single wrong bit is found and
 * named. */
#include "harness/base/random.h"
#include "harness/device/driver.h"
#include "harness/device/faults.h"
#include "harness/engine/step/repeat.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/lab/training_fixture.h"
#include "tests/fixtures/test_seed.h"

enum { STEPS = 3, RUNS = 3, OPENED = 2 /* runs of repeat_open() */, KERNELS = FLIP_GEMM + 1 };

static const char *const kernels[KERNELS] = {
#define KERNEL_ROW(name, shape, ...) #name,
    KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
        "gemm",
};

static const char *const precisions[] = { "fp32", "bf16" };

struct scene {
    struct device *device;
    struct training *training;
    struct repeat *repeat;
};

static void scene_open(struct scene *scene, const char *precision, const char *faults)
{
    char settings[160];

    setenv("CHOKEPOINT_FAIL", faults, 1);
    assert_ok(test_device_open(&scene->device, NULL));
    snprintf(settings, sizeof settings,
             "model=balanced blocks=1 jpeg_pixels=32 input=loaded launch=eager precision=%s",
             precision);
    scene->training = open_training(scene->device, settings);
}

static void scene_repeat(struct scene *scene)
{
    assert_ok(repeat_open(&scene->repeat, scene->training, STEPS));
}

static void scene_close(struct scene *scene)
{
    repeat_close(scene->repeat);
    training_close(scene->training);
    device_close(scene->device);
    unsetenv("CHOKEPOINT_FAIL");
}

TEST(runs_do_not_differ)
{
    for (size_t i = 0; i < ARRAY_SIZE(precisions); i++) {
        struct scene scene;
        struct tensor_difference difference;
        float first[STEPS], losses[STEPS];
        scene_open(&scene, precisions[i], "");
        scene_repeat(&scene);
        assert_ok(training_losses(scene.training, 0, STEPS, first));
        for (int run = 0; run < 20; run++) {
            assert_ok(repeat_run(scene.repeat, &difference));
            assert_int_equal(difference.step, 0);
            assert_ok(training_losses(scene.training, 0, STEPS, losses));
            assert_memory_equal(losses, first, sizeof losses);
        }
        assert_true(losses[0] != losses[1]);
        assert_true(repeat_tensors(scene.repeat) > 100 * STEPS);
        scene_close(&scene);
    }
}

/* From a state in the middle of a training, whose steps then go on as if nothing had been
 * repeated. */
TEST(the_training_is_where_it_was)
{
    struct scene scene;
    struct tensor_difference difference;
    float expected[6], losses[6];

    scene_open(&scene, "bf16", "");
    assert_ok(training_run(scene.training, 6));
    assert_ok(training_losses(scene.training, 0, 6, expected));
    training_close(scene.training);
    scene.training = open_training(
        scene.device,
        "model=balanced blocks=1 jpeg_pixels=32 input=loaded launch=eager precision=bf16");
    assert_ok(training_run(scene.training, 6 - STEPS));
    scene_repeat(&scene);
    assert_ok(repeat_run(scene.repeat, &difference));
    assert_int_equal(difference.step, 0);
    assert_ok(training_losses(scene.training, 6 - STEPS, STEPS, losses));
    assert_memory_equal(losses, expected + 6 - STEPS, STEPS * sizeof *losses);
    scene_close(&scene);
}

/* How often each kernel is launched before the first run, and in each run. */
static void count_launches(const char *precision, int64_t before[KERNELS], int64_t each[KERNELS])
{
    for (int from = 0; from < KERNELS; from += FAULTS_MAX) {
        char flips[FAULTS_MAX * 64];
        size_t length = 0;
        struct scene scene;
        struct tensor_difference difference;
        const struct planned_flip *planned;
        int count = KERNELS - from < FAULTS_MAX ? KERNELS - from : FAULTS_MAX;

        for (int i = 0; i < count; i++)
            length += (size_t)snprintf(flips + length, sizeof flips - length, "%sflip:%s:%lld",
                                       i > 0 ? "," : "", kernels[from + i], 1ll << 40);
        scene_open(&scene, precision, flips);
        planned = scene.device->ledger->faults.flips;
        scene_repeat(&scene);
        for (int i = 0; i < count; i++) before[from + i] = planned[i].so_far;
        assert_ok(repeat_run(scene.repeat, &difference));
        for (int i = 0; i < count; i++) each[from + i] = planned[i].so_far - before[from + i];
        scene_close(&scene);
    }
}

static struct tensor_difference planted(const char *precision, int kernel, int64_t call,
                                        uint64_t place)
{
    struct tensor_difference found = { .step = 0 }, difference;
    char flip[96];
    struct scene scene;

    snprintf(flip, sizeof flip, "flip:%s:%lld:%llu", kernels[kernel], (long long)call,
             (unsigned long long)place);
    scene_open(&scene, precision, flip);
    scene_repeat(&scene);
    for (int run = 0; run < RUNS; run++) {
        assert_ok(repeat_run(scene.repeat, &difference));
        if (run != 1)
            assert_int_equal(difference.step, 0);
        else
            found = difference;
    }
    scene_close(&scene);
    return found;
}

/* In the second of three runs: any launch of any kernel of the step, any bit of what it computes.
 * The two runs beside it are as the reference. A kernel that is launched equally often in each step
 * tells in which the bit is. */
static void check_random_flips(const char *precision, int count)
{
    struct random random = random_seed(test_seed(), 0);
    int64_t before[KERNELS], each[KERNELS];

    count_launches(precision, before, each);
    for (int done = 0; done < count;) {
        int kernel = (int)random_below(&random, KERNELS);
        int64_t number, call;
        struct tensor_difference found;
        if (each[kernel] == 0)
            continue;
        number = (int64_t)random_below(&random, (uint32_t)each[kernel]);
        call = before[kernel] + each[kernel] + number + 1;
        found = planted(precision, kernel, call, random_bits(&random));
        print_message("%s, launch %3lld of %-28s: step %d, %s, after %s\n", precision,
                      (long long)number + 1, kernels[kernel], found.step, found.tensor,
                      found.after);
        if (each[kernel] % STEPS == 0 && kernel != KERNEL_checksum)
            assert_int_equal(found.step, 1 + number / (each[kernel] / STEPS));
        assert_true(found.step >= 1);
        assert_true(found.tensor[0] != '\0');
        done++;
    }
}

TEST(random_flips_are_found)
{
    const char *count = getenv("CHOKEPOINT_TEST_FLIPS");

    for (size_t i = 0; i < ARRAY_SIZE(precisions); i++)
        check_random_flips(precisions[i], count != NULL ? atoi(count) : 6);
}

/* The second step's: a third of the launches of a run come before it. */
TEST(a_flip_is_named_by_its_tensor)
{
    static const struct {
        int kernel, of_step; /* which launch of the step */
        const char *tensor, *after;
    } cases[] = {
        { KERNEL_image_patches, 1, "patches", "image_patches" },
        { FLIP_GEMM, 1, "patch_product", "patch_linear" },
        { FLIP_GEMM, 2, "block0.qkv", "block0.qkv_linear" },
        { KERNEL_softmax_forward, 1, "block0.scores", "block0.softmax" },
        { KERNEL_bias_gelu_backward, 1, "block0.gelu.grad", "block0.gelu backward" },
        { KERNEL_layernorm_backward_weight, 1, "column_partials", "norm backward" },
        { KERNEL_adamw_multi, 1, "positions", "optimizer" },
        { KERNEL_loss_mean, 1, "losses_of_steps", "loss" },
    };

    for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
        int64_t before[KERNELS], each[KERNELS];
        count_launches(precisions[p], before, each);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
            int kernel = cases[i].kernel;
            int64_t call = before[kernel] + each[kernel] + each[kernel] / STEPS + cases[i].of_step;
            struct tensor_difference found = planted(precisions[p], kernel, call, 12345);
            assert_int_equal(each[kernel] % STEPS, 0);
            assert_int_equal(found.step, 2);
            assert_string_equal(found.tensor, cases[i].tensor);
            assert_string_equal(found.after, cases[i].after);
        }
    }
}

TEST(what_cannot_be_compared_is_refused)
{
    static const char *const settings[] = { "model=light launch=graph",
                                            "model=balanced attention=fused" };
    struct device *device;

    assert_ok(test_device_open(&device, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training *training = open_training(device, settings[i]);
        struct repeat *repeat;
        assert_int_equal(repeat_open(&repeat, training, 1), STATUS_REFUSED);
        assert_null(repeat);
        training_close(training);
    }
    device_close(device);
}

TESTS_WITH(cpu_device_find, NULL)

int main(int argc, char **argv)
{
    setenv("CHOKEPOINT_CACHE", "test-cache", 0);
    return tests_run(argc, argv);
}
