/* CUPTI's records, made by hand, as the trace gets them. test_cupti checks their strides in the
 * library. */
#include "harness/device/cuda/cupti/cupti_records.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/stand_in/cupti_newest.h"

enum { LAUNCH = 211, SYNC = 165, DRIVER_LAUNCH = 307, GETTER = 17 };

static struct cupti_calls calls;
static struct cupti cupti;

static int open_records(void **state)
{
    struct cupti_records *records = calloc(1, sizeof *records);

    assert_non_null(records);
    calls.runtime[LAUNCH] = "cudaLaunchKernel";
    calls.runtime[SYNC] = "cudaDeviceSynchronize";
    calls.driver[DRIVER_LAUNCH] = "cuLaunchKernel";
    cupti = (struct cupti){ 0 };
    records->cupti = &cupti;
    records->calls = &calls;
    records->device = 3;
    assert_ok(cupti_names_open(&records->names));
    *state = records;
    return 0;
}

static int close_records(void **state)
{
    struct cupti_records *records = *state;

    cupti_records_release(records);
    cupti_names_close(records->names);
    free(records);
    return 0;
}

static enum cupti_outcome translate(struct cupti_records *records, const void *record,
                                    struct activity *activity)
{
    return cupti_records_translate(records, record, activity);
}

static void note(struct cupti_records *records, const void *record)
{
    assert_ok(cupti_records_note(records, record));
}

static CUpti_ActivityAPI api(CUpti_ActivityKind kind, uint32_t id, uint32_t correlation,
                             uint64_t start)
{
    return (CUpti_ActivityAPI){ .kind = kind,
                                .cbid = id,
                                .start = start,
                                .end = start + 5,
                                .threadId = 77,
                                .correlationId = correlation };
}

static newest_kernel kernel(const char *name, uint64_t start, uint64_t end)
{
    return (newest_kernel){ .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                            .name = name,
                            .start = start,
                            .end = end,
                            .deviceId = 1,
                            .streamId = 13,
                            .correlationId = 9,
                            .gridX = 4,
                            .gridY = 3,
                            .gridZ = 2,
                            .blockX = 256,
                            .blockY = 1,
                            .blockZ = 1,
                            .registersPerThread = 40,
                            .staticSharedMemory = 1024,
                            .dynamicSharedMemory = 2048,
                            .graphId = 5,
                            .graphNodeId = ((uint64_t)5 << 32) | 6 };
}

TEST(a_kernel_keeps_its_times_size_and_place)
{
    newest_kernel record = kernel("_Z4gemmIfEvPT_", 1000, 1500);
    struct activity activity;

    assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_KERNEL);
    assert_string_equal(activity.name, "void gemm<float>(float*)");
    assert_int_equal(activity.start_ns, 1000);
    assert_int_equal(activity.end_ns, 1500);
    assert_int_equal(activity.device, 1);
    assert_int_equal(activity.stream, 13);
    assert_int_equal(activity.correlation, 9);
    assert_int_equal(activity.grid[0] * 100 + activity.grid[1] * 10 + activity.grid[2], 432);
    assert_int_equal(activity.block[0] * 100 + activity.block[1] * 10 + activity.block[2], 25611);
    assert_int_equal(activity.registers, 40);
    assert_int_equal(activity.shared_bytes, 3072);
    assert_int_equal(activity.graph, 5);
    assert_int_equal(activity.graph_node, 6);
}

/* By hand from the limits of an SM of compute capability 9.0 ("CUDA C++ Programming Guide",
 * "Compute capabilities"): 2048 threads, 32 blocks, 65536 registers, 228 KiB of which a block costs
 * 1 more. */
TEST(a_kernel_says_how_much_of_an_sm_it_can_fill)
{
    static const struct cudaDeviceProp h200 = { .major = 9,
                                                .multiProcessorCount = 132,
                                                .maxThreadsPerBlock = 1024,
                                                .maxThreadsPerMultiProcessor = 2048,
                                                .regsPerBlock = 65536,
                                                .regsPerMultiprocessor = 65536,
                                                .warpSize = 32,
                                                .sharedMemPerBlock = 48 << 10,
                                                .sharedMemPerMultiprocessor = 228 << 10,
                                                .sharedMemPerBlockOptin = 227 << 10,
                                                .reservedSharedMemPerBlock = 1 << 10 };
    static const struct {
        int grid, block;
        uint16_t registers;
        int shared;
        double occupancy;
    } cases[] = {
        { 132 * 100, 256, 32, 0, 1 },
        { 132 * 100, 256, 64, 0, 0.5 },  /* registers for 1024 threads */
        { 132 * 100, 1024, 40, 0, 0.5 }, /* no room for a second block */
        { 132 * 100, 32, 16, 0, 0.5 },   /* 32 blocks */
        { 132 * 100, 256, 32, 100 << 10, 0.25 },
        { 132 * 2, 256, 32, 0, 0.25 }, /* 2 blocks per SM are all there are */
        { 1, 1024, 32, 0, 1.0 / 132 / 2 },
        { 132, 1025, 32, 0, 0 },
        { 132, 0, 32, 0, 0 },
    };
    struct cupti_records *records = *state;
    struct cudaDeviceProp unknown = h200;
    struct activity activity;
    newest_kernel work = kernel("k", 1, 2);

    records->device = 1;
    work.gridY = work.gridZ = 1;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        records->gpu = &h200;
        work.gridX = cases[i].grid;
        work.blockX = cases[i].block;
        work.registersPerThread = cases[i].registers;
        work.staticSharedMemory = 0;
        work.dynamicSharedMemory = cases[i].shared;
        assert_int_equal(translate(records, &work, &activity), CUPTI_OUTCOME_SHOWN);
        assert_float_equal(activity.occupancy, cases[i].occupancy, 1e-6);
    }
    work.blockX = 256;
    unknown.major = 99;
    records->gpu = &unknown;
    assert_int_equal(translate(records, &work, &activity), CUPTI_OUTCOME_SHOWN);
    assert_float_equal(activity.occupancy, 0, 0);
    records->gpu = &h200;
    records->device = 0; /* another one's limits */
    assert_int_equal(translate(records, &work, &activity), CUPTI_OUTCOME_SHOWN);
    assert_float_equal(activity.occupancy, 0, 0);
}

TEST(names_are_demangled_where_they_are_mangled_and_kept_once)
{
    static const char *const cases[][2] = {
        { "_Z3fooi", "foo(int)" },
        { "_Z", "_Z" },
        { "_Zthis is no name", "_Zthis is no name" },
        { "f", "f" }, /* to the demangler, "float" */
        { "fill_f32", "fill_f32" },
        { "", "" },
        { NULL, "[unnamed kernel]" },
    };
    struct cupti_records *records = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_string_equal(cupti_names_kernel(records->names, cases[i][0]), cases[i][1]);
    for (int i = 0; i < 3000; i++) { /* The table grows, and what it gave stays. */
        char name[32];
        const char *first;
        snprintf(name, sizeof name, "kernel%d", i);
        first = cupti_names_kernel(records->names, name);
        assert_string_equal(first, name);
        assert_ptr_not_equal(first, name);
        assert_ptr_equal(cupti_names_plain(records->names, name), first);
    }
    assert_string_equal(cupti_names_kernel(records->names, "_Z3fooi"), "foo(int)");
}

TEST(what_has_no_time_or_ends_before_it_starts_is_broken)
{
    static const struct {
        uint64_t start, end;
        enum cupti_outcome outcome;
    } cases[] = {
        { 0, 0, CUPTI_OUTCOME_BROKEN },           { 0, 10, CUPTI_OUTCOME_BROKEN },
        { 10, 9, CUPTI_OUTCOME_BROKEN },          { 10, 0, CUPTI_OUTCOME_BROKEN },
        { 10, UINT64_MAX, CUPTI_OUTCOME_BROKEN }, { UINT64_MAX, UINT64_MAX, CUPTI_OUTCOME_BROKEN },
        { 10, 10, CUPTI_OUTCOME_SHOWN },          { 10, INT64_MAX, CUPTI_OUTCOME_SHOWN },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t start = cases[i].start, end = cases[i].end;
        newest_kernel work = kernel("k", start, end);
        newest_copy copy = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY, .start = start, .end = end };
        CUpti_ActivityMemset4 set = { .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                      .start = start,
                                      .end = end };
        newest_overhead overhead = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                     .start = start,
                                     .end = end };
        struct activity activity;
        assert_int_equal(translate(*state, &work, &activity), cases[i].outcome);
        assert_int_equal(translate(*state, &copy, &activity), cases[i].outcome);
        assert_int_equal(translate(*state, &set, &activity), cases[i].outcome);
        assert_int_equal(translate(*state, &overhead, &activity), cases[i].outcome);
    }
}

TEST(huge_and_negative_numbers_are_bounded)
{
    newest_kernel work = kernel("k", 1, 2);
    newest_copy copy = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                         .copyKind = 255,
                         .srcKind = 255,
                         .dstKind = 200,
                         .bytes = UINT64_MAX,
                         .start = 1,
                         .end = 2 };
    newest_memory memory = { .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                             .memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                             .bytes = UINT64_MAX,
                             .timestamp = 1 };
    struct activity activity;

    work.gridX = -1;
    work.staticSharedMemory = work.dynamicSharedMemory = INT32_MAX;
    assert_int_equal(translate(*state, &work, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.grid[0], 0);
    assert_int_equal(activity.shared_bytes, UINT32_MAX - 1);
    work.staticSharedMemory = work.dynamicSharedMemory = INT32_MIN;
    assert_int_equal(translate(*state, &work, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.shared_bytes, 0);
    assert_int_equal(translate(*state, &copy, &activity), CUPTI_OUTCOME_SHOWN);
    assert_string_equal(activity.name, "Memcpy Unknown (Unknown -> Unknown)");
    assert_true(activity.bytes == INT64_MAX);
    assert_int_equal(translate(*state, &memory, &activity), CUPTI_OUTCOME_SHOWN);
    assert_true(activity.bytes == -INT64_MAX);
}

TEST(copies_and_memsets_say_direction_and_memory)
{
    static const struct {
        uint8_t kind, source, destination;
        const char *name;
        enum activity_copy copy;
        enum activity_memory from, to;
    } cases[] = {
        { CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
          CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, "Memcpy HtoD (Pinned -> Device)", ACTIVITY_COPY_HTOD,
          ACTIVITY_MEMORY_PINNED, ACTIVITY_MEMORY_DEVICE },
        { CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
          CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, "Memcpy DtoH (Device -> Pageable)",
          ACTIVITY_COPY_DTOH, ACTIVITY_MEMORY_DEVICE, ACTIVITY_MEMORY_PAGEABLE },
        { CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC,
          CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, "Memcpy DtoD (Device Static -> Managed)",
          ACTIVITY_COPY_DTOD, ACTIVITY_MEMORY_DEVICE, ACTIVITY_MEMORY_UNKNOWN },
        { CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
          CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, "Memcpy HtoH (Pageable -> Pageable)",
          ACTIVITY_COPY_NONE, ACTIVITY_MEMORY_PAGEABLE, ACTIVITY_MEMORY_PAGEABLE },
    };
    CUpti_ActivityMemset4 set = { .kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                  .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                  .flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC,
                                  .bytes = 77,
                                  .start = 1,
                                  .end = 2 };
    struct activity activity;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        newest_copy copy = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                             .copyKind = cases[i].kind,
                             .srcKind = cases[i].source,
                             .dstKind = cases[i].destination,
                             .flags = (uint8_t)i & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC,
                             .bytes = 1000 + i,
                             .start = 1,
                             .end = 2 };
        CUpti_ActivityMemcpyPtoP4 peer = { .kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           .copyKind = cases[i].kind,
                                           .srcKind = cases[i].source,
                                           .dstKind = cases[i].destination,
                                           .flags = copy.flags,
                                           .bytes = copy.bytes,
                                           .start = 1,
                                           .end = 2 };
        const void *both[] = { &copy, &peer };
        for (size_t j = 0; j < ARRAY_SIZE(both); j++) {
            assert_int_equal(translate(*state, both[j], &activity), CUPTI_OUTCOME_SHOWN);
            assert_int_equal(activity.kind, ACTIVITY_MEMCPY);
            assert_string_equal(activity.name, cases[i].name);
            assert_int_equal(activity.copy, cases[i].copy);
            assert_int_equal(activity.source, cases[i].from);
            assert_int_equal(activity.destination, cases[i].to);
            assert_int_equal(activity.bytes, 1000 + i);
            assert_int_equal(activity.asynchronous, i % 2);
        }
    }
    assert_int_equal(translate(*state, &set, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_MEMSET);
    assert_string_equal(activity.name, "Memset (Device)");
    assert_int_equal(activity.bytes, 77);
    assert_true(activity.asynchronous);
}

TEST(a_call_is_shown_once_and_the_runtimes_before_the_drivers)
{
    const CUpti_ActivityAPI cases[] = {
        api(CUPTI_ACTIVITY_KIND_DRIVER, DRIVER_LAUNCH, 1, 101), /* inside the next one */
        api(CUPTI_ACTIVITY_KIND_RUNTIME, LAUNCH, 1, 100),
        api(CUPTI_ACTIVITY_KIND_DRIVER, DRIVER_LAUNCH, 2, 200), /* on its own */
        api(CUPTI_ACTIVITY_KIND_RUNTIME, LAUNCH, 3, 300),       /* under two names */
        api(CUPTI_ACTIVITY_KIND_RUNTIME, LAUNCH, 3, 301),
        api(CUPTI_ACTIVITY_KIND_RUNTIME, GETTER, 4, 400), /* none that is shown */
        api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_FORCE_INT, 5, 500),
        api(CUPTI_ACTIVITY_KIND_DRIVER, UINT32_MAX, 6, 600),
        api(CUPTI_ACTIVITY_KIND_RUNTIME, LAUNCH, 7, 0), /* without a time */
    };
    static const enum cupti_outcome outcomes[] = {
        CUPTI_OUTCOME_HIDDEN, CUPTI_OUTCOME_SHOWN,  CUPTI_OUTCOME_SHOWN,
        CUPTI_OUTCOME_SHOWN,  CUPTI_OUTCOME_HIDDEN, CUPTI_OUTCOME_HIDDEN,
        CUPTI_OUTCOME_HIDDEN, CUPTI_OUTCOME_HIDDEN, CUPTI_OUTCOME_BROKEN,
    };
    struct activity activity;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) note(*state, &cases[i]);
    cupti_records_join(*state);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(translate(*state, &cases[i], &activity), outcomes[i]);
        if (outcomes[i] != CUPTI_OUTCOME_SHOWN)
            continue;
        assert_int_equal(activity.correlation, cases[i].correlationId);
        assert_int_equal(activity.thread, 77);
        assert_int_equal(activity.start_ns, cases[i].start);
        assert_string_equal(activity.name,
                            cases[i].correlationId == 2 ? "cuLaunchKernel" : "cudaLaunchKernel");
        assert_int_equal(activity.kind,
                         cases[i].correlationId == 2 ? ACTIVITY_DRIVER : ACTIVITY_RUNTIME);
    }
}

/* Found by thread and time of the call that launched the kernel. */
TEST(nccls_kernels_have_the_message_of_their_call)
{
    static const struct cupti_message messages[] = {
        { .start_ns = 100, .end_ns = 190, .thread = 77, .name = "allreduce", .bytes = 4096 },
        { .start_ns = 200, .end_ns = 290, .thread = 77, .name = "broadcast", .bytes = 64 },
        { .start_ns = 300, .end_ns = 390, .thread = 78, .name = "allreduce", .bytes = 8 },
    };
    static const struct {
        uint64_t launch;
        const char *kernel, *collective; /* NULL: it has none */
        int64_t bytes;
    } cases[] = {
        { 99, "ncclDevKernel_Broadcast_RING_LL", NULL, 0 },
        { 100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce", 4096 },
        { 150, "gemm", NULL, 0 },
        { 191, "ncclDevKernel_Broadcast_RING_LL", NULL, 0 },
        { 290, "ncclDevKernel_Broadcast_RING_LL", "broadcast", 64 },
        { 310, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", NULL, 0 }, /* another thread's call */
    };
    struct cupti_records *records = *state;
    struct activity activity;

    records->messages = malloc(sizeof messages);
    assert_non_null(records->messages);
    memcpy(records->messages, messages, sizeof messages);
    records->message_count = ARRAY_SIZE(messages);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CUpti_ActivityAPI call =
            api(CUPTI_ACTIVITY_KIND_DRIVER, DRIVER_LAUNCH, (uint32_t)i + 1, cases[i].launch);
        note(records, &call);
    }
    cupti_records_join(records);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        newest_kernel record = kernel(cases[i].kernel, 1000, 1500);
        record.correlationId = (uint32_t)i + 1;
        assert_int_equal(translate(records, &record, &activity), CUPTI_OUTCOME_SHOWN);
        assert_int_equal(activity.bytes, cases[i].bytes);
        if (cases[i].collective == NULL)
            assert_null(activity.collective);
        else
            assert_string_equal(activity.collective, cases[i].collective);
    }
}

TEST(waits_and_memory_have_the_thread_of_their_call)
{
    CUpti_ActivityAPI call = api(CUPTI_ACTIVITY_KIND_RUNTIME, SYNC, 8, 100);
    newest_wait wait = { .kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                         .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE,
                         .start = 101,
                         .end = 104,
                         .correlationId = 8,
                         .streamId = 13 };
    newest_memory memory = { .kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                             .memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                             .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                             .address = 0x1000,
                             .bytes = 256,
                             .timestamp = 102,
                             .isAsync = 1,
                             .correlationId = 8 };
    struct activity activity;

    note(*state, &call);
    cupti_records_join(*state);
    assert_int_equal(translate(*state, &wait, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_SYNCHRONIZATION);
    assert_string_equal(activity.name, "Stream Synchronize");
    assert_int_equal(activity.stream, 13);
    assert_int_equal(activity.device, 3);
    assert_int_equal(activity.thread, 77);
    wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    wait.streamId = (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    assert_int_equal(translate(*state, &wait, &activity), CUPTI_OUTCOME_SHOWN);
    assert_string_equal(activity.name, "Context Synchronize");
    assert_int_equal(activity.stream, 0);
    wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT; /* no host thread waits */
    assert_int_equal(translate(*state, &wait, &activity), CUPTI_OUTCOME_HIDDEN);
    wait.type = (CUpti_ActivitySynchronizationType)99;
    assert_int_equal(translate(*state, &wait, &activity), CUPTI_OUTCOME_HIDDEN);

    assert_int_equal(translate(*state, &memory, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_MEMORY);
    assert_int_equal(activity.bytes, 256);
    assert_int_equal(activity.address, 0x1000);
    assert_int_equal(activity.start_ns, 102);
    assert_int_equal(activity.thread, 77);
    assert_int_equal(activity.destination, ACTIVITY_MEMORY_DEVICE);
    assert_true(activity.asynchronous);
    memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
    assert_int_equal(translate(*state, &memory, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.bytes, -256);
    memory.timestamp = 0;
    assert_int_equal(translate(*state, &memory, &activity), CUPTI_OUTCOME_BROKEN);
    memory.memoryOperationType = (CUpti_ActivityMemoryOperationType)9;
    assert_int_equal(translate(*state, &memory, &activity), CUPTI_OUTCOME_HIDDEN);
}

TEST(overhead_is_named_and_what_it_refers_to_is_freed)
{
    newest_overhead record = { .kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                               .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
                               .start = 5,
                               .end = 9 };
    struct activity activity;

#ifdef NEWEST_HAS_DATA
    record.overheadData = malloc(32);
    cupti.overhead_data = true;
#endif

    assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_OVERHEAD);
    assert_string_equal(activity.name, "Buffer Flush");
    cupti_records_drop(*state, (const void *)&record); /* The address sanitizer sees whether. */
    record.overheadKind = (CUpti_ActivityOverheadKind)12345;
    assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_SHOWN);
    assert_string_equal(activity.name, "Overhead");
}

TEST(a_graphs_launch_is_one_kernel)
{
    CUpti_ActivityGraphTrace2 record = { .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                                         .correlationId = 7,
                                         .start = 100,
                                         .end = 900,
                                         .graphId = 3,
                                         .streamId = 14 };
    struct activity activity;

    assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_SHOWN);
    assert_int_equal(activity.kind, ACTIVITY_KERNEL);
    assert_int_equal(activity.end_ns - activity.start_ns, 800);
    assert_int_equal(activity.correlation, 7);
    assert_int_equal(activity.graph, 3);
    assert_int_equal(activity.stream, 14);
    record.start = record.end = 0;
    assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_BROKEN);
}

TEST(unknown_kinds_are_passed_over)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_INVALID, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_MARKER,
        CUPTI_ACTIVITY_KIND_COUNT, CUPTI_ACTIVITY_KIND_FORCE_INT
    };
    struct activity activity;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        CUpti_Activity record = { kinds[i] };
        note(*state, &record);
        assert_int_equal(translate(*state, &record, &activity), CUPTI_OUTCOME_HIDDEN);
        cupti_records_drop(*state, &record);
    }
}

TEST(calls_are_known_by_their_names_whatever_the_version)
{
    static const char *const runtime[][2] = {
        { "cudaLaunchKernel_v7000", "cudaLaunchKernel" },
        { "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel" },
        { "__cudaLaunchKernel_v13000", "cudaLaunchKernel" },
        { "__cudaLaunchKernel_ptsz_v13000", "cudaLaunchKernel" },
        { "cudaLaunchKernelExC_v11060", "cudaLaunchKernelExC" },
        { "cudaMemcpy_ptds_v7000", "cudaMemcpy" },
        { "cudaStreamSynchronize_v3020", "cudaStreamSynchronize" },
        { "cudaGetDevice_v3020", NULL },
        { "cudaLaunch_v3020", NULL },
        { "cudaLaunchKernel2_v7000", NULL },
        { "cudaMemcpyAsync_v", NULL },
        { "_v3020", NULL },
        { "", NULL },
    };
    static const char *const driver[][2] = {
        { "cuLaunchKernel", "cuLaunchKernel" },
        { "cuLaunchKernel_ptsz", "cuLaunchKernel" },
        { "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync" },
        { "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync" },
        { "cuMemsetD8Async_ptsz", "cuMemsetD8Async" },
        { "cuCtxGetCurrent", NULL },
        { "cuMemsetD", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(runtime); i++)
        assert_ptr_equal(cupti_runtime_call(runtime[i][0]),
                         runtime[i][1] != NULL ? cupti_runtime_call(runtime[i][1]) : NULL);
    for (size_t i = 0; i < ARRAY_SIZE(driver); i++)
        assert_ptr_equal(cupti_driver_call(driver[i][0]),
                         driver[i][1] != NULL ? cupti_driver_call(driver[i][1]) : NULL);
    assert_string_equal(cupti_runtime_call("__cudaLaunchKernel_ptsz_v13000"), "cudaLaunchKernel");
    assert_string_equal(cupti_driver_call("cuMemsetD8Async_ptsz"), "cuMemsetD8Async");
}

TESTS_EACH(open_records, close_records)
