/* Every tensor of a training step alone in its block of the caching allocator: what comes after its
 * last byte is no memory, neither is a tensor that was freed, and nobody has written a new one,
 * whatever its block held before. Kernels, copies and products are looked at. A GPU cannot tell any
 * of it, so this is for the stand-in for CUDA. */
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <dlfcn.h>
#include <math.h>

enum { STEPS = 3, ROUNDING = 512, BAND = 512, TENSORS = 1024, ELEMENTS = 128 };

static struct device *device;
static void (*stand_in_forbid)(void *memory, size_t bytes, bool forbidden);

static struct {
    void *block;
    size_t bytes;
} tensors[TENSORS];
static int most_tensors;

static size_t whole(size_t bytes)
{
    return (bytes + BAND + ROUNDING - 1) / ROUNDING * ROUNDING;
}

static void note(void *block, void *with, size_t bytes)
{
    int i = 0;

    while (i < TENSORS && tensors[i].block != block) i++;
    assert_in_range(i, 0, TENSORS - 1);
    tensors[i].block = with;
    tensors[i].bytes = bytes;
    most_tensors = i >= most_tensors ? i + 1 : most_tensors;
}

/* The linker puts these between the training and its allocator. They wait for the device, whose
 * queued work may still use what the host frees. */
enum status __real_allocator_alloc(struct allocator *allocator, enum allocator_category category,
                                   size_t bytes, void **block);
enum status __wrap_allocator_alloc(struct allocator *allocator, enum allocator_category category,
                                   size_t bytes, void **block);
enum status __real_allocator_free(struct allocator *allocator, void *block);
enum status __wrap_allocator_free(struct allocator *allocator, void *block);

enum status __wrap_allocator_alloc(struct allocator *allocator, enum allocator_category category,
                                   size_t bytes, void **block)
{
    TRY(__real_allocator_alloc(allocator, category, bytes + BAND, block));
    TRY(device_synchronize(device));
    stand_in_forbid(*block, whole(bytes), true);
    stand_in_forbid(*block, bytes, false);
    note(NULL, *block, bytes);
    return STATUS_OK;
}

enum status __wrap_allocator_free(struct allocator *allocator, void *block)
{
    if (block == NULL)
        return STATUS_OK;
    TRY(device_synchronize(device));
    for (int i = 0; i < TENSORS; i++)
        if (tensors[i].block == block)
            stand_in_forbid(block, tensors[i].bytes, true);
    note(block, NULL, 0);
    return __real_allocator_free(allocator, block);
}

TEST(a_step_stays_within_each_tensor)
{
    static const char *const settings[] = {
        "model=light precision=fp32",
        "model=light precision=bf16 elementwise=unfused optimizer=unfused",
        "model=light precision=fp16 optimizer=per_tensor copies=per_tensor input=loaded",
        "model=light precision=fp32 attention=fused tokens=17 padding=longest",
        "model=balanced precision=bf16 input=resident checkpointing=block accumulate=2",
        "model=balanced precision=fp32 input=decoded transfer=blocking",
        "model=light precision=bf16 elementwise=epilogue",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        char all[256];
        float losses[STEPS];
        snprintf(all, sizeof all, "%s batch=4 launch=eager loss_every=1", settings[i]);
        run_losses(device, all, STEPS, losses);
        for (int step = 0; step < STEPS; step++) assert_true(isfinite(losses[step]));
    }
    assert_in_range(most_tensors, 30, TENSORS);
}

/* The process has lost its GPU then, so that this test is the last. */
TEST(a_launch_that_is_longer_than_a_tensor_is_found)
{
    struct training_config config = config_of(device, "model=light");
    struct allocator *allocator;
    struct stream *stream;
    void *a, *b;

    OK(stream_create(device, &stream));
    OK(allocator_open(&allocator, stream, &config.allocator));
    OK(allocator_alloc(allocator, MEMORY_ACTIVATIONS, ELEMENTS * sizeof(float), &a));
    OK(allocator_alloc(allocator, MEMORY_ACTIVATIONS, 2 * ELEMENTS * sizeof(float), &b));
    OK(LAUNCH(stream, DTYPE_F32, fill, ELEMENTS, .y = a, .value = 1));
    OK(LAUNCH(stream, DTYPE_F32, fill, 2 * ELEMENTS, .y = b, .value = 1));
    OK(LAUNCH(stream, DTYPE_F32, residual_add, ELEMENTS, .y = b, .a = a, .b = b));
    OK(device_synchronize(device));
    OK(LAUNCH(stream, DTYPE_F32, residual_add, ELEMENTS + 32, .y = b, .a = a, .b = b));
    assert_int_equal(device_synchronize(device), STATUS_DEVICE_ERROR);
    allocator_close(allocator);
    stream_destroy(stream);
}

static int open_stand_in(void **state)
{
    void *plugin;

    if (open_device(state) != 0)
        return 1;
    device = *state;
    plugin = dlopen("libchokepoint_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (plugin != NULL)
        *(void **)&stand_in_forbid = dlsym(plugin, "stand_in_forbid");
    if (stand_in_forbid == NULL) {
        printf("skipped: only the stand-in for CUDA sees every access\n");
        exit(77);
    }
    return 0;
}

TESTS_WITH(open_stand_in, close_device)
