/* Every n-th call of every kind made to fail in turn: a clear error, no hang, nothing left behind.
 *
 * The runs are the settings of item_sync and checkpointing on small models. Leaks show under the
 * address sanitizer, which watches this test in CI; what the device still holds is counted here. */
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/lab/training_fixture.h"

#include "harness/device/faults.h"

static const char *const kinds[] = {
#define KIND_NAME(name, status) #name,
    FAULTS(KIND_NAME)
#undef KIND_NAME
};

static enum status open_run_close(struct device *device, const char *settings)
{
    struct training_config config = config_of(device, settings);
    struct training *training = NULL;
    struct training_window window = { 0 };
    float losses[4];
    double accuracy;
    enum status status = STATUS_OK;

    TRY_OUT(training_open(&training, device, &config));
    TRY_OUT(training_run(training, 4));
    TRY_OUT(training_losses(training, 0, 4, losses));
    TRY_OUT(training_window(training, 3, &window));
    TRY_OUT(training_evaluate(training, &accuracy));
    TRY_OUT(training_pause(training));

out:
    training_window_release(&window);
    training_close(training);
    return status;
}

/* One run with call `n` of `kind` failing. False when there were fewer calls. */
static bool fails_cleanly(const char *settings, const char *kind, int n)
{
    struct device *device = NULL;
    struct memory_info info;
    struct status_error error;
    enum status status;
    char fault[64];

    /* After a failed allocation the allocator trims and tries again: that one must fail too. */
    if (strcmp(kind, "alloc") == 0)
        snprintf(fault, sizeof fault, "alloc:%d,alloc:%d", n, n + 1);
    else
        snprintf(fault, sizeof fault, "%s:%d", kind, n);
    setenv("CHOKEPOINT_FAIL", fault, 1);
    status = test_device_open(&device, NULL);
    if (status == STATUS_OK)
        status = open_run_close(device, settings);
    error = *status_last();
    if (status != STATUS_OK && strstr(error.text, "injected") == NULL) {
        print_error("%s: %s: %s\n", fault, error.context, error.text);
        fail();
    }
    if (device != NULL && device_memory_info(device, &info) == STATUS_OK)
        assert_int_equal(info.used, 0);
    device_close(device);
    unsetenv("CHOKEPOINT_FAIL");
    return status != STATUS_OK;
}

/* All calls while a run makes few of a kind; of kinds it makes by the hundred ever fewer, and fewer
 * yet on a GPU, which takes longer to open. */
static int next_call(int n, bool on_cpu)
{
    if (n < (on_cpu ? 40 : 8))
        return n + 1;
    return n + (on_cpu ? n / 8 : n / 2);
}

/* On a GPU a kernel that fails ends the process's use of it: that is test_gpu_failure's. */
static void check_calls(const char *settings, const char *kind)
{
    bool on_cpu = strcmp(test_device_name(), "cpu") == 0;
    int failed = 0, n = 1;

    if (!on_cpu && strcmp(kind, "kernel") == 0)
        return;
    while (fails_cleanly(settings, kind, n)) {
        failed++;
        n = next_call(n, on_cpu);
    }
    print_message("%-10s %3d of about %d calls made to fail\n", kind, failed, n);
    assert_true(failed > 0);
}

static void check_all_calls(const char *settings)
{
    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) check_calls(settings, kinds[k]);
}

TEST(item_sync_survives_every_fault)
{
    check_all_calls("model=balanced blocks=1 batch=2 input=decoded workers=0 launch=graph "
                    "loss_every=1 jpeg_pixels=32 save_every=3 save_mode=blocking");
}

TEST(two_streams_survive_every_fault)
{
    static const char *const calls[] = { "stream", "event", "gemm", "kernel" };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        check_calls("model=light blocks=1 tokens=6 launch=eager backward_streams=two loss_every=3",
                    calls[i]);
}

TEST(checkpointing_survives_every_fault)
{
    check_all_calls("model=heavy blocks=2 batch=1 tokens=17 checkpointing=block jpeg_pixels=32 "
                    "input=decoded workers=1 launch=graph save_every=2");
}

/* Batches alternate between two lengths, whose graphs replace each other. */
TEST(graphs_of_several_lengths_survive_every_fault)
{
    check_all_calls("model=light blocks=1 tokens=6 padding=longest pad_to_multiple_of=4 "
                    "launch=graph graphs=latest loss_every=3");
}

TEST(pinning_in_the_loop_survives_every_fault)
{
    static const char *const calls[] = { "host_alloc", "copy", "event", "kernel" };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        check_calls("model=light blocks=1 tokens=6 input=loaded pinning=loop loss_every=3",
                    calls[i]);
}

TEST(epilogues_survive_every_fault)
{
    static const char *const calls[] = { "alloc", "launch", "gemm", "graph", "kernel" };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        check_calls("model=light blocks=1 tokens=6 launch=graph loss_every=3 elementwise=epilogue",
                    calls[i]);
}

TEST(experts_survive_every_fault)
{
    static const char *const calls[] = { "alloc",  "host_alloc", "copy",  "memset",
                                         "launch", "gemm",       "kernel" };

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        check_calls("model=light blocks=1 tokens=6 batch=4 experts=2 launch=eager loss_every=3",
                    calls[i]);
}

TESTS_WITH(cpu_device_find, NULL)

int main(int argc, char **argv)
{
    setenv("CHOKEPOINT_CACHE", "test-cache", 0);
    return tests_run(argc, argv);
}
