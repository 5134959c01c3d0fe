/* Traces of real runs: they obey the rules of the format and of time, hold what the device and the
 * allocator counted, and change no result. */
#include "harness/recording/kineto.h"
#include "tests/fixtures/kineto_file.h"
#include "tests/fixtures/lab/training_fixture.h"
#include "tests/fixtures/trace_folder.h"

enum { STEPS = 6, WARMUP = 6 };

struct run {
    struct device *device;
    struct training *training;
    struct trace *trace;
    struct device_counters counters; /* of the recorded part */
    struct allocator_statistics begin, end;
    struct kineto_file file;
    struct trace_events events;
};

static struct device_counters difference(struct device_counters a, struct device_counters b)
{
#define LESS(name) b.name -= a.name;
    DEVICE_COUNTERS(LESS)
#undef LESS
    return b;
}

/* Trains, records STEPS steps, writes and reads them. */
static void run_traced(struct run *run, const char *settings, const char *name)
{
    struct device_options options = { .spin_ns = -1 };
    struct device_counters before;
    struct kineto_about about = { .name = name };

    memset(run, 0, sizeof *run);
    assert_ok(trace_open(&run->trace, 0));
    options.sink = trace_sink(run->trace);
    assert_ok(device_open(&run->device, "cpu", &options));
    run->training = open_training(run->device, settings);
    assert_ok(training_run(run->training, WARMUP));
    assert_ok(device_synchronize(run->device));
    before = device_counters(run->device);
    run->begin = allocator_statistics(run->training->allocator);
    trace_begin(run->trace);
    assert_ok(training_trace(run->training, run->trace));
    assert_ok(training_run(run->training, STEPS));
    assert_ok(device_synchronize(run->device));
    trace_end(run->trace);
    run->counters = difference(before, device_counters(run->device));
    run->end = allocator_statistics(run->training->allocator);
    about.device = device_properties(run->device);
    assert_ok(kineto_write(trace_folder_path(name), run->trace, &about));
    run->file = kineto_file_read(trace_folder_path(name));
    run->events = trace_events_of(&run->file);
    check_trace(&run->file, &run->events);
}

static void run_close(struct run *run)
{
    training_close(run->training);
    device_close(run->device);
    trace_close(run->trace);
}

static int count_calls(const struct run *run, const char *name)
{
    int count = 0;

    for (int i = 0; i < run->events.count; i++)
        count += event_is(&run->events.list[i], "cuda_runtime") &&
                 strcmp(run->events.list[i].name, name) == 0;
    return count;
}

/* The trace holds what the device counted, no more and no less. */
static void check_counters(const struct run *run)
{
    const struct device_counters *counters = &run->counters;
    int64_t bytes = 0, copies = 0;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        if (!event_is(event, "gpu_memcpy") || cJSON_GetObjectItem(event->args, "graph id") != NULL)
            continue;
        copies++;
        bytes += event_integer(event, "bytes");
    }
    assert_int_equal(count_calls(run, "cudaLaunchKernel"), counters->launches);
    assert_int_equal(count_calls(run, "cudaGraphLaunch"), counters->graph_launches);
    assert_int_equal(count_calls(run, "cudaEventRecord"), counters->event_records);
    assert_int_equal(count_calls(run, "cudaMemsetAsync"), counters->memsets);
    assert_int_equal(copies, counters->copies);
    assert_int_equal(bytes, counters->copy_bytes_h2d + counters->copy_bytes_d2h +
                                counters->copy_bytes_d2d);
}

/* How often a phase is within a step. */
static int phases_of_step(const struct run *run, const char *phase, int number)
{
    const struct trace_event *step = NULL;
    char name[40];
    int count = 0;

    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        if (event_is(event, "user_annotation") && strcmp(event->name, name) == 0)
            step = event;
    }
    assert_non_null(step);
    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        count += event_is(event, "user_annotation") && strcmp(event->name, phase) == 0 &&
                 event->start_ns >= step->start_ns && event->end_ns <= step->end_ns;
    }
    return count;
}

/* Steps follow each other without overlapping; in each the phases come in this order, apart from
 * each other, so that their times and the rest add up to the step's. */
static void check_steps(const struct run *run, const char *const *phases, int phase_count)
{
    const struct trace_events *events = &run->events;
    int64_t last_end = 0;
    int steps = 0;

    for (int s = 0; s < events->count; s++) {
        const struct trace_event *step = &events->list[s];
        char name[40];
        int next = 0;
        int64_t at_ns = step->start_ns, parts_ns = 0, rest_ns = 0;
        if (!event_is(step, "user_annotation") || strncmp(step->name, "ProfilerStep#", 13) != 0)
            continue;
        snprintf(name, sizeof name, "ProfilerStep#%d", WARMUP + steps);
        assert_string_equal(step->name, name);
        assert_true(step->start_ns >= last_end);
        last_end = step->end_ns;
        for (int i = 0; i < events->count; i++) {
            const struct trace_event *phase = &events->list[i];
            if (!event_is(phase, "user_annotation") || phase == step ||
                phase->start_ns < step->start_ns || phase->start_ns >= step->end_ns)
                continue;
            assert_true(next < phase_count);
            assert_string_equal(phase->name, phases[next++]);
            assert_true(phase->start_ns >= at_ns && phase->end_ns <= step->end_ns);
            rest_ns += phase->start_ns - at_ns;
            parts_ns += phase->end_ns - phase->start_ns;
            at_ns = phase->end_ns;
        }
        assert_int_equal(next, phase_count);
        assert_int_equal(parts_ns + rest_ns + step->end_ns - at_ns, step->end_ns - step->start_ns);
        steps++;
    }
    assert_int_equal(steps, STEPS);
}

static const cJSON *last_memory(const struct run *run, const char *category)
{
    const cJSON *last = NULL;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        if (event->phase == 'i' && strcmp(event->name, "[memory]") == 0 &&
            (category == NULL || strcmp(event_text(event, "Category"), category) == 0))
            last = event->args;
    }
    assert_non_null(last);
    return last;
}

/* Bytes given out and taken back, from the first row on, make the allocator's own figures. */
static void check_memory(const struct run *run)
{
    for (int c = 0; c < MEMORY_CATEGORY_COUNT; c++) {
        const char *name = allocator_category_name((enum allocator_category)c);
        int64_t bytes = 0;
        for (int i = 0; i < run->events.count; i++) {
            const struct trace_event *event = &run->events.list[i];
            if (event->phase == 'i' && strcmp(event->name, "[memory]") == 0 &&
                strcmp(event_text(event, "Category"), name) == 0)
                bytes += event_integer(event, "Bytes");
        }
        assert_int_equal(run->begin.allocated[c] + bytes, run->end.allocated[c]);
        assert_int_equal(
            cJSON_GetObjectItem(last_memory(run, name), "Category Allocated")->valuedouble,
            run->end.allocated[c]);
    }
    assert_int_equal(cJSON_GetObjectItem(last_memory(run, NULL), "Total Allocated")->valuedouble,
                     run->end.allocated_all);
    assert_int_equal(cJSON_GetObjectItem(last_memory(run, NULL), "Total Reserved")->valuedouble,
                     run->end.reserved);
}

/* A row for each pass of each step, in the program's order, with its figures. */
static void check_operators(const struct run *run)
{
    const struct program *program = run->training->encoder->train;
    int length = program_length(program), found = 0;
    int64_t bytes = 0, flops = 0;

    for (int i = 0; i < run->events.count; i++) {
        const struct trace_event *event = &run->events.list[i];
        struct program_entry entry = program_entry(program, found % length);
        if (!event_is(event, "cpu_op"))
            continue;
        assert_memory_equal(event->name, entry.op->name, strlen(entry.op->name));
        assert_int_equal(strstr(event->name, " backward") != NULL, entry.backward);
        assert_int_equal(event_integer(event, "Sequence number"),
                         entry.op - program_entry(program, 0).op);
        bytes += event_integer(event, "bytes");
        flops += event_integer(event, "flops");
        found++;
    }
    assert_int_equal(found, length * STEPS);
    assert_int_equal(bytes, program_bytes(program) * STEPS);
    assert_int_equal(flops, program_flops(program) * STEPS);
}

TEST(an_eager_step_shows_operators_and_memory)
{
    static const char *const phases[] = { "h2d", "forward", "backward", "optimizer" };
    struct run run;
    const struct trace_event *step;
    const cJSON *shapes;

    run_traced(&run, "model=light launch=eager input=resident", "light.json.gz");
    check_counters(&run);
    check_steps(&run, phases, ARRAY_SIZE(phases));
    check_memory(&run);
    check_operators(&run);
    assert_int_equal(count_events(&run.events, "kernel"), run.counters.launches);
    step = the_event(&run.events, "user_annotation", "ProfilerStep#6");
    assert_int_equal(event_integer(step, "samples"), 1);
    assert_true(event_integer(step, "tokens") > 0);
    assert_int_equal(event_integer(step, "tokens") + event_integer(step, "padded tokens"),
                     run.training->config.model.tokens);
    for (int i = 0; i < run.events.count; i++) /* x [tokens, width], weight [width, 3 width] */
        if (strcmp(run.events.list[i].name, "block0.qkv_linear") == 0) {
            shapes = cJSON_GetObjectItem(run.events.list[i].args, "Input Dims");
            assert_int_equal(cJSON_GetArraySize(shapes), 2);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 0), 0)->valuedouble, 8);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 0), 1)->valuedouble, 32);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 1), 0)->valuedouble, 32);
            assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shapes, 1), 1)->valuedouble, 96);
        }
    run_close(&run);
}

static int nodes_of(const struct training *training)
{
    return graph_nodes(training->graphs[training->config.model.tokens * TRANSFER_INPUTS].graph);
}

TEST(a_captured_step_shows_nodes_of_one_launch)
{
    static const char *const phases[] = { "data", "h2d", "graph", "log" };
    enum { PHASE_BORDERS = 4 }; /* records of events, which no trace shows */
    struct run run;

    run_traced(&run, "model=balanced launch=graph input=decoded workers=2 loss_every=1",
               "balanced.json.gz");
    check_counters(&run);
    check_steps(&run, phases, ARRAY_SIZE(phases));
    check_memory(&run);
    assert_int_equal(run.counters.graph_launches, STEPS);
    assert_int_equal(count_events(&run.events, "cpu_op"), 0); /* They were run once, at capture. */
    assert_int_equal(count_events(&run.events, "kernel") + count_events(&run.events, "gpu_memset"),
                     STEPS * (nodes_of(run.training) - PHASE_BORDERS));
    run_close(&run);
}

/* An epoch has 8 batches, and step 8 begins the second one: it hears that the first is over. */
TEST(a_step_that_begins_an_epoch_asks_its_loader_twice)
{
    static const char *const persistent[] = { "yes", "no" };

    for (size_t i = 0; i < ARRAY_SIZE(persistent); i++) {
        char settings[120];
        struct run run;
        snprintf(settings, sizeof settings,
                 "model=light launch=eager input=decoded batch=128 workers=2 persistent_workers=%s",
                 persistent[i]);
        run_traced(&run, settings, "epochs.json.gz");
        for (int step = WARMUP; step < WARMUP + STEPS; step++)
            assert_int_equal(phases_of_step(&run, "data", step), step == 8 ? 2 : 1);
        run_close(&run);
    }
}

TEST(recomputed_passes_have_rows_of_their_own)
{
    struct run run;
    int recomputed = 0;

    run_traced(&run,
               "model=light launch=eager input=resident checkpointing=block batch=2 accumulate=2",
               "checkpointing.json.gz");
    check_counters(&run);
    check_memory(&run);
    for (int i = 0; i < run.events.count; i++)
        recomputed += strstr(run.events.list[i].name, " recomputed") != NULL;
    assert_true(recomputed > 0);
    assert_int_equal(count_events(&run.events, "cpu_op"),
                     2 * STEPS * program_length(run.training->encoder->train));
    run_close(&run);
}

TEST(a_trace_changes_no_result)
{
    static const char settings[] = "model=light launch=eager";
    float losses[WARMUP + STEPS], traced[WARMUP + STEPS];
    struct device *device = NULL;
    struct run run;

    assert_ok(device_open(&device, "cpu", NULL));
    run_losses(device, settings, WARMUP + STEPS, losses);
    device_close(device);
    run_traced(&run, settings, "same.json.gz");
    assert_ok(training_losses(run.training, 0, WARMUP + STEPS, traced));
    assert_memory_equal(losses, traced, sizeof losses);
    run_close(&run);
}

static int set_up(void **state)
{
    setenv("CHOKEPOINT_CACHE", "test-cache", 0);
    return trace_folder_open(state);
}

TESTS_WITH(set_up, trace_folder_remove)
