/* The loader of devices: plugins that are missing or do not fit, planned faults, counters, and what
 * the public functions refuse before any driver sees it. */
#include "harness/device/device.h"

#include "harness/base/system/machine.h"
#include "tests/fixtures/lab/cpu_device.h"
#include "tests/fixtures/lab/cpu_flag.h"

#include <unistd.h>

enum { ELEMENTS = 64 };

static void plugins_in(const char *folder)
{
    assert_int_equal(setenv("CHOKEPOINT_PLUGINS", folder, 1), 0);
}

static int as_it_was(void **state)
{
    return unsetenv("CHOKEPOINT_PLUGINS") + unsetenv("CHOKEPOINT_FAIL");
}

static void assert_refused(const char *name, enum status status, const char *says)
{
    struct device *device = (struct device *)&device;

    assert_int_equal(device_open(&device, name, NULL), status);
    assert_null(device);
    assert_error_says(says);
}

TEST(unknown_devices_are_bad_usage)
{
    static const char *const names[] = {
        "", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "CPU", "cpu:0"
    };
    struct device *device;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_refused(names[i], STATUS_BAD_USAGE, "auto, cpu, cuda or cuda:N");
    assert_int_equal(device_open(&device, NULL, NULL), STATUS_BAD_USAGE);
    assert_int_equal(device_open(NULL, "cpu", NULL), STATUS_BAD_USAGE);
    assert_int_equal(device_open(&device, "cpu", &(struct device_options){ .memory_bytes = -1 }),
                     STATUS_BAD_USAGE);
    device_close(NULL);
}

TEST(a_missing_plugin_is_named_with_where_it_should_be)
{
    plugins_in("/nowhere/at/all");
    assert_refused("cpu", STATUS_NO_LIBRARY, "libchokepoint_cpu.so is not in /nowhere/at/all");
    assert_refused("cuda:3", STATUS_NO_LIBRARY, "libchokepoint_cuda.so");
    assert_refused("auto", STATUS_NO_LIBRARY, "libchokepoint_cpu.so");
    assert_int_equal(status_exit_code(status_last()->status), 3);
}

TEST(a_plugin_from_other_sources_is_refused)
{
    plugins_in(FAKES "/other_id");
    assert_refused("cuda", STATUS_NO_LIBRARY, "build id of-yesterday");
}

TEST(a_library_that_is_no_plugin_is_refused)
{
    plugins_in(FAKES "/no_driver");
    assert_refused("cuda", STATUS_NO_LIBRARY, "is not a chokepoint plugin");
}

TEST(a_plugin_whose_library_is_missing_says_which)
{
    plugins_in(FAKES "/needs_absent");
    assert_refused("cuda", STATUS_NO_LIBRARY, "libfake_absent.so");
}

/* Three plugins in a folder, of which only that of the level that this CPU has is one. */
TEST(the_best_level_that_the_cpu_has_is_taken)
{
    char folder[] = "/tmp/chokepoint-plugins-XXXXXX", path[3][128];
    static const char *const levels[] = { "", "-x86-64-v3", "-x86-64-v4" };
    size_t best = 0;
    struct device *device;

    best = cpu_flag("avx2") && cpu_flag("fma") ? 1 : 0;
    best = cpu_flag("avx512vl") && cpu_flag("avx512bw") && cpu_flag("avx512dq") ? 2 : best;
    assert_non_null(mkdtemp(folder));
    plugins_in(folder);
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        snprintf(path[i], sizeof path[i], "%s/libchokepoint_cpu%s.so", folder, levels[i]);
        assert_int_equal(
            symlink(i == best ? CPU_PLUGIN : FAKES "/no_driver/libchokepoint_cuda.so", path[i]), 0);
    }
    OK(device_open(&device, "cpu", NULL));
    device_close(device);
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) unlink(path[i]);
    rmdir(folder);
}

TEST(auto_falls_back_to_the_cpu_device)
{
    char folder[] = "/tmp/chokepoint-plugins-XXXXXX", cpu[128], cuda[128];
    struct device *device;

    assert_non_null(mkdtemp(folder));
    snprintf(cpu, sizeof cpu, "%s/libchokepoint_cpu.so", folder);
    snprintf(cuda, sizeof cuda, "%s/libchokepoint_cuda.so", folder);
    assert_int_equal(symlink(CPU_PLUGIN, cpu), 0);
    assert_int_equal(symlink(FAKES "/other_id/libchokepoint_cuda.so", cuda), 0);
    plugins_in(folder);
    OK(device_open(&device, "auto", NULL));
    assert_string_equal(device_properties(device)->kind, "cpu");
    device_close(device);
    unlink(cpu);
    unlink(cuda);
    rmdir(folder);
}

TEST(the_name_that_opens_a_device_again_is_made_and_parsed)
{
    const struct device_properties cpu = { .kind = "cpu" };
    const struct device_properties gpu = { .kind = "cuda", .is_gpu = true, .index = 3 };
    static const struct {
        const char *name;
        bool gpu;
    } cases[] = {
        { "cuda", true },   { "cuda:0", true }, { "cuda:12", true },  { "cpu", false },
        { "auto", false },  { "cuda:", false }, { "cuda:x", false },  { "cudas", false },
        { "cpu:1", false }, { "", false },      { "cuda:1x", false },
    };
    char name[16];

    device_name_print(name, sizeof name, &cpu);
    assert_string_equal(name, "cpu");
    device_name_print(name, sizeof name, &gpu);
    assert_string_equal(name, "cuda:3");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (device_name_wants_gpu(cases[i].name) != cases[i].gpu)
            fail_msg("\"%s\"", cases[i].name);
}

TEST(the_cpu_device_tells_its_properties)
{
    const struct device_properties *properties;
    struct device *device;

    OK(device_open(&device, "cpu", NULL));
    properties = device_properties(device);
    assert_string_equal(properties->kind, "cpu");
    assert_non_null(strstr(properties->name, "CPU device ("));
    assert_non_null(strstr(properties->gemm_library, "oneDNN "));
    assert_true(strlen(properties->isa) > 0);
    assert_true(properties->launch_ns > 0 && properties->memory_bytes > 0);
    assert_true(properties->memory_bytes <= (int64_t)4 << 30);
    assert_int_equal(properties->host_cores, machine_cores());
    assert_true(properties->shares_host_cores && properties->doorbell);
    assert_false(properties->is_gpu || properties->clocks_rise_with_work);
    device_close(device);
}

/* --- Faults --- */

TEST(planned_faults_must_be_well_formed)
{
    static const char *const bad[] = { "alloc",
                                       "alloc:",
                                       "alloc:0",
                                       "alloc:-1",
                                       "alloc:x",
                                       "alloc:3x",
                                       ":3",
                                       "alocs:3",
                                       "alloc:1,,copy:1",
                                       "alloc:1 ",
                                       "alloc:99999999999999999999",
                                       "alloc:1;copy:2" };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        setenv("CHOKEPOINT_FAIL", bad[i], 1);
        assert_refused("cpu", STATUS_BAD_USAGE,
                       "alloc, host_alloc, stream, event, copy, memset, launch, gemm, graph, sync, "
                       "kernel");
    }
}

/* One call of each kind; they clean up after themselves where they succeed. */
struct scene {
    struct device *device;
    struct stream *stream;
    float *x;
};

static enum status call_alloc(struct scene *s)
{
    void *memory;
    enum status status = device_alloc(s->device, NULL, ALLOCATE_DIRECT, 64, &memory);
    if (status != STATUS_OK)
        assert_null(memory);
    device_free(s->device, NULL, ALLOCATE_DIRECT, memory);
    return status;
}
static enum status call_host_alloc(struct scene *s)
{
    void *memory;
    enum status status = host_alloc(s->device, true, 64, &memory);
    host_free(s->device, true, memory);
    return status;
}
static enum status call_stream(struct scene *s)
{
    struct stream *stream;
    enum status status = stream_create(s->device, &stream);
    stream_destroy(stream);
    return status;
}
static enum status call_event(struct scene *s)
{
    struct event *event;
    enum status status = event_create(s->device, true, &event);
    event_destroy(event);
    return status;
}
static enum status call_copy(struct scene *s)
{
    float value = 0;
    return device_copy_async(s->stream, COPY_HOST_TO_DEVICE, s->x, &value, sizeof value);
}
static enum status call_memset(struct scene *s)
{
    return device_memset(s->stream, s->x, 0, 4);
}
static enum status call_launch(struct scene *s)
{
    return LAUNCH(s->stream, DTYPE_F32, fill, ELEMENTS, .y = s->x, .value = 1);
}
static enum status call_gemm(struct scene *s)
{
    return device_gemm(s->stream, &(struct gemm){ .c = s->x,
                                                  .a = s->x,
                                                  .b = s->x,
                                                  .m = 1,
                                                  .n = 1,
                                                  .k = 1,
                                                  .batch = 1,
                                                  .lda = 1,
                                                  .ldb = 1,
                                                  .ldc = 1 });
}
static enum status call_sync(struct scene *s)
{
    return stream_synchronize(s->stream);
}

static void scene_open(struct scene *s, const char *faults)
{
    setenv("CHOKEPOINT_FAIL", faults, 1);
    OK(device_open(&s->device, "cpu", NULL));
    OK(stream_create(s->device, &s->stream));
    s->x = cpu_device_memory(s->device, 4096);
}

static void scene_close(struct scene *s)
{
    stream_destroy(s->stream);
    OK(device_free(s->device, NULL, ALLOCATE_DIRECT, s->x));
    device_close(s->device);
}

TEST(the_nth_call_of_a_kind_fails_and_only_that)
{
    static const struct {
        const char *kind;
        enum status (*call)(struct scene *);
        enum status status;
        int before; /* calls of this kind in scene_open */
    } kinds[] = {
        { "alloc", call_alloc, STATUS_DEVICE_OUT_OF_MEMORY, 1 },
        { "host_alloc", call_host_alloc, STATUS_OUT_OF_MEMORY, 0 },
        { "stream", call_stream, STATUS_DEVICE_ERROR, 1 },
        { "event", call_event, STATUS_DEVICE_ERROR, 0 },
        { "copy", call_copy, STATUS_DEVICE_ERROR, 0 },
        { "memset", call_memset, STATUS_DEVICE_ERROR, 0 },
        { "launch", call_launch, STATUS_DEVICE_ERROR, 0 },
        { "gemm", call_gemm, STATUS_DEVICE_ERROR, 0 },
        { "sync", call_sync, STATUS_DEVICE_ERROR, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        char faults[64], says[64];
        struct scene scene;
        snprintf(faults, sizeof faults, "%s:%d,%s:%d", kinds[i].kind, kinds[i].before + 2,
                 kinds[i].kind, kinds[i].before + 4);
        snprintf(says, sizeof says, "call %d of kind \"%s\"", kinds[i].before + 2, kinds[i].kind);
        scene_open(&scene, faults);
        OK(kinds[i].call(&scene));
        assert_int_equal(kinds[i].call(&scene), kinds[i].status);
        assert_error_says("injected");
        assert_error_says(says);
        OK(kinds[i].call(&scene));
        assert_int_equal(kinds[i].call(&scene), kinds[i].status);
        for (int j = 0; j < 3; j++) OK(kinds[i].call(&scene));
        OK(device_synchronize(scene.device));
        scene_close(&scene);
    }
}

TEST(calls_that_fail_are_not_counted)
{
    struct device_counters counters;
    struct scene scene;

    scene_open(&scene, "copy:2,launch:1,memset:1,sync:1,alloc:2,host_alloc:1,gemm:1");
    for (int i = 0; i < 3; i++) {
        enum status first = i == 0 ? STATUS_DEVICE_ERROR : STATUS_OK;
        assert_int_equal(call_copy(&scene), i == 1 ? STATUS_DEVICE_ERROR : STATUS_OK);
        assert_int_equal(call_launch(&scene), first);
        assert_int_equal(call_gemm(&scene), first);
        assert_int_equal(call_memset(&scene), first);
        assert_int_equal(call_alloc(&scene), i == 0 ? STATUS_DEVICE_OUT_OF_MEMORY : STATUS_OK);
        assert_int_equal(call_host_alloc(&scene), i == 0 ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        assert_int_equal(call_sync(&scene), first);
    }
    counters = device_counters(scene.device);
    assert_int_equal(counters.copies, 2);
    assert_int_equal(counters.copy_bytes_h2d, 8);
    assert_int_equal(counters.launches, 4);
    assert_int_equal(counters.memsets, 2);
    assert_int_equal(counters.synchronizations, 2);
    assert_int_equal(counters.allocations, 3); /* scene_open's, too */
    assert_int_equal(counters.frees, 2);
    assert_int_equal(counters.host_allocations, 2);
    assert_int_equal(counters.event_records, 0);
    scene_close(&scene);
}

TEST(a_graph_call_that_fails_leaves_the_stream_usable)
{
    for (int call = 1; call <= 3; call++) {
        char faults[16];
        struct graph *graph = NULL;
        struct scene scene;
        snprintf(faults, sizeof faults, "graph:%d", call);
        scene_open(&scene, faults);
        assert_int_equal(graph_begin(scene.stream), call == 1 ? STATUS_DEVICE_ERROR : STATUS_OK);
        if (call > 1) {
            OK(call_launch(&scene));
            assert_int_equal(graph_end(scene.stream, &graph),
                             call == 2 ? STATUS_DEVICE_ERROR : STATUS_OK);
            assert_true((graph == NULL) == (call == 2));
        }
        if (call > 2)
            assert_int_equal(graph_launch(scene.stream, graph), STATUS_DEVICE_ERROR);
        assert_error_says("injected");
        OK(call_launch(&scene));
        OK(stream_synchronize(scene.stream));
        assert_int_equal(device_counters(scene.device).launches, 1);
        assert_int_equal(device_counters(scene.device).graph_launches, 0);
        graph_destroy(graph);
        scene_close(&scene);
    }
}

/* The asynchronous fault: everything can be queued, the next synchronisation tells, and so does
 * every one after it. The work behind the failure is not done any more. */
TEST(a_failing_kernel_surfaces_at_the_next_synchronisation_for_good)
{
    struct scene scene;
    struct event *event;
    struct stream *other;
    struct memory_info info;
    float value = -1;

    scene_open(&scene, "kernel:3");
    OK(event_create(scene.device, true, &event));
    OK(call_launch(&scene));
    OK(call_gemm(&scene));
    OK(stream_synchronize(scene.stream));
    OK(call_launch(&scene)); /* This one. */
    OK(LAUNCH(scene.stream, DTYPE_F32, fill, ELEMENTS, .y = scene.x, .value = 9));
    OK(event_record(event, scene.stream));
    assert_int_equal(stream_synchronize(scene.stream), STATUS_DEVICE_ERROR);
    assert_error_says("injected by CHOKEPOINT_FAIL");
    assert_int_equal(stream_synchronize(scene.stream), STATUS_DEVICE_ERROR);
    assert_int_equal(device_synchronize(scene.device), STATUS_DEVICE_ERROR);
    assert_int_equal(event_synchronize(event), STATUS_DEVICE_ERROR);
    assert_int_equal(event_query(event), STATUS_DEVICE_ERROR);
    assert_int_equal(device_memory_trim(scene.device), STATUS_DEVICE_ERROR);
    assert_int_equal(device_copy(scene.stream, COPY_DEVICE_TO_HOST, &value, scene.x, sizeof value),
                     STATUS_DEVICE_ERROR);
    assert_error_says("injected by CHOKEPOINT_FAIL");
    assert_true(value != 9.0f);
    OK(stream_create(scene.device, &other));
    assert_int_equal(stream_synchronize(other), STATUS_DEVICE_ERROR);
    OK(device_memory_info(scene.device, &info));
    assert_int_equal(info.used, 4096);
    assert_int_equal(device_counters(scene.device).launches, 4);
    stream_destroy(other);
    event_destroy(event);
    scene_close(&scene);
}

TEST(a_failing_kernel_in_a_graph_fails_when_the_graph_runs)
{
    struct scene scene;
    struct graph *graph;

    scene_open(&scene, "kernel:2");
    OK(graph_begin(scene.stream));
    OK(call_launch(&scene));
    OK(call_launch(&scene));
    OK(graph_end(scene.stream, &graph));
    OK(stream_synchronize(scene.stream));
    OK(graph_launch(scene.stream, graph));
    assert_int_equal(stream_synchronize(scene.stream), STATUS_DEVICE_ERROR);
    graph_destroy(graph);
    scene_close(&scene);
}

/* --- Refusals --- */

TEST(launches_that_do_not_fit_are_refused)
{
    struct scene scene;
    struct fill packs;
    struct layernorm_forward rows = { .width = 32 };
    struct device_counters before, after;

    scene_open(&scene, "");
    packs = (struct fill){ .y = scene.x };
    before = device_counters(scene.device);
    assert_int_equal(device_launch(scene.stream, KERNEL_fill, DTYPE_F32, 33, &packs, sizeof packs),
                     STATUS_BAD_USAGE);
    assert_error_says("33 elements are not a multiple of 32");
    assert_int_equal(device_launch(scene.stream, KERNEL_fill, DTYPE_F32, 0, &packs, sizeof packs),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_launch(scene.stream, KERNEL_fill, DTYPE_F32, 32, &packs, 4),
                     STATUS_BAD_USAGE);
    assert_error_says("fill");
    assert_int_equal(device_launch(scene.stream, KERNEL_fill, DTYPE_F32, 32, NULL, sizeof packs),
                     STATUS_BAD_USAGE);
    assert_int_equal(
        device_launch(scene.stream, KERNEL_fill, DTYPE_COUNT, 32, &packs, sizeof packs),
        STATUS_BAD_USAGE);
    assert_int_equal(device_launch(scene.stream, KERNEL_COUNT, DTYPE_F32, 32, &packs, sizeof packs),
                     STATUS_BAD_USAGE);
    assert_int_equal(device_launch(NULL, KERNEL_fill, DTYPE_F32, 32, &packs, sizeof packs),
                     STATUS_BAD_USAGE);
    for (rows.width = -32; rows.width <= 40; rows.width += 8)
        if (rows.width <= 0 || rows.width % 32 != 0) {
            assert_int_equal(device_launch(scene.stream, KERNEL_layernorm_forward, DTYPE_F32, 1,
                                           &rows, sizeof rows),
                             STATUS_BAD_USAGE);
            assert_error_says("layernorm_forward: a width of");
        }
    after = device_counters(scene.device);
    assert_memory_equal(&before, &after, sizeof before);
    scene_close(&scene);
}

TEST(null_is_refused_everywhere_and_freeing_it_is_not)
{
    struct scene scene;
    struct event *event;
    struct graph *graph;
    struct stream *stream;
    void *memory;
    double ns;

    scene_open(&scene, "");
    OK(event_create(scene.device, true, &event));
    const enum status refused[] = {
        device_synchronize(NULL),
        device_memory_trim(NULL),
        device_memory_info(scene.device, NULL),
        device_alloc(NULL, NULL, ALLOCATE_DIRECT, 1, &memory),
        device_alloc(scene.device, NULL, ALLOCATE_DIRECT, 1, NULL),
        device_alloc(scene.device, NULL, ALLOCATE_STREAM_ORDERED, 1, &memory),
        host_alloc(NULL, true, 1, &memory),
        host_alloc(scene.device, true, 0, &memory),
        stream_create(NULL, &stream),
        stream_create(scene.device, NULL),
        stream_synchronize(NULL),
        stream_wait_event(NULL, event),
        stream_wait_event(scene.stream, NULL),
        event_create(scene.device, true, NULL),
        event_record(NULL, scene.stream),
        event_record(event, NULL),
        event_synchronize(NULL),
        event_query(NULL),
        event_elapsed(event, NULL, &ns),
        event_elapsed(event, event, NULL),
        graph_begin(NULL),
        graph_end(scene.stream, NULL),
        graph_end(NULL, &graph),
        graph_launch(scene.stream, NULL),
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (refused[i] != STATUS_BAD_USAGE)
            fail_msg("call %zu of the list was not refused", i);
    OK(device_free(scene.device, NULL, ALLOCATE_DIRECT, NULL));
    OK(host_free(scene.device, true, NULL));
    stream_destroy(NULL);
    event_destroy(NULL);
    graph_destroy(NULL);
    event_destroy(event);
    scene_close(&scene);
}

TEST(devices_are_counted_apart)
{
    struct scene first, second;

    scene_open(&first, "");
    scene_open(&second, "");
    for (int i = 0; i < 3; i++) OK(call_launch(&first));
    OK(call_launch(&second));
    assert_int_equal(device_counters(first.device).launches, 3);
    assert_int_equal(device_counters(second.device).launches, 1);
    assert_ptr_equal(stream_device(first.stream), first.device);
    scene_close(&first);
    OK(call_sync(&second));
    scene_close(&second);
}

TEST(storage_types_have_names_and_sizes)
{
    assert_int_equal(dtype_bytes(DTYPE_F32), 4);
    assert_int_equal(dtype_bytes(DTYPE_BF16), 2);
    assert_int_equal(dtype_bytes(DTYPE_F16), 2);
    assert_string_equal(dtype_name(DTYPE_BF16), "bf16");
    assert_string_equal(dtype_name(DTYPE_F32), "fp32");
    assert_string_equal(dtype_name(DTYPE_F16), "fp16");
}

TESTS_EACH(NULL, as_it_was)
