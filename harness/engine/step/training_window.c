/* Measuring a training run: windows of steps, and host and device work each alone. A window reads
 * all counts before and after its steps and keeps the differences; wall time ends when the device
 * has finished.
 *
 * Windows that are added to one training_window become one longer window: sums are kept, and all
 * metrics are computed anew from them. */
#include "harness/base/clock.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/system/machine.h"
#include "harness/device/many_ranks.h"
#include "harness/engine/step/measuring/self_comparison.h"
#include "harness/engine/step/training_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct training_counts read_counts(struct training *training)
{
    struct device_counters device = device_counters(training->device);
    struct allocator_statistics memory = allocator_statistics(training->allocator);
    struct loader_statistics loader = training->loader != NULL ? loader_statistics(training->loader)
                                                               : (struct loader_statistics){ 0 };
    struct rusage usage = { 0 };

    getrusage(RUSAGE_SELF, &usage);
    return (struct training_counts){
#define READ_COUNT(name, reading) .name = reading,
        COUNTS(READ_COUNT)
#undef READ_COUNT
    };
}

static bool may_overflow(const struct training *training)
{
    return training->config.model.precision == PRECISION_FP16;
}

static bool counts_right(const struct training *training)
{
    return training->config.logging.accuracy != ACCURACY_NONE;
}

/* By copies from the device, which is why they are not read with the others. */
static enum status read_from_device(struct training *training, struct training_counts *counts)
{
    if (may_overflow(training))
        TRY(optimizer_skipped(training->optimizer, &counts->skipped_updates));
    if (counts_right(training))
        TRY(training_right(training, &counts->right_samples));

    return STATUS_OK;
}

/* Adds the difference of two readings. */
static void add_counts(struct training_counts *sum, const struct training_counts *from,
                       const struct training_counts *to)
{
#define ADD_COUNT(name, reading) sum->name += to->name - from->name;
    COUNTS(ADD_COUNT)
#undef ADD_COUNT
}

static enum status open_events(struct training *training, int64_t steps, struct event ***events)
{
    TRY(rows_make(events, steps));
    for (int64_t i = 0; i < steps; i++) TRY(event_create(training->device, true, &(*events)[i]));

    return STATUS_OK;
}

static void close_events(struct event **events, int64_t steps)
{
    for (int64_t i = 0; events != NULL && i < steps; i++) event_destroy(events[i]);
    free(events);
}

/* Adds the single steps between `steps` events. */
static enum status read_steps(struct training_window *window, struct event **events, int64_t steps)
{
    int64_t count = window->step_count + steps - 1;
    double *longer = realloc(window->step_ns, (size_t)(count + 1) * sizeof *longer);

    if (longer == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld step times", (long long)count);
    window->step_ns = longer;
    for (int64_t i = 0; i + 1 < steps; i++)
        TRY(event_elapsed(events[i], events[i + 1], &longer[window->step_count + i]));
    window->step_count = count;

    return STATUS_OK;
}

/* Adds the phases of the last step, which timed them. */
static enum status read_phases(struct training_window *window, const struct training *training)
{
    struct phase_ns ns;

    TRY(phase_times_read(training->phases, &ns));
    window->phases.forward += ns.forward;
    window->phases.backward += ns.backward;
    window->phases.communication += ns.communication;
    window->phases.optimizer += ns.optimizer;
    window->phase_count++;

    return STATUS_OK;
}

static void fill_phases(double *metric, const struct training_window *window)
{
    const struct phase_ns *phases = &window->phases;
    double each = window->phase_count > 0 ? 1 / (double)window->phase_count / 1e3 : NAN;

    metric[METRIC_FORWARD_TIME] = phases->forward * each;
    metric[METRIC_BACKWARD_TIME] = phases->backward * each;
    metric[METRIC_OPTIMIZER_TIME] = phases->optimizer * each;
    metric[METRIC_OPTIMIZER_SHARE] = metric[METRIC_OPTIMIZER_TIME] /
                                     (metric[METRIC_FORWARD_TIME] + metric[METRIC_BACKWARD_TIME] +
                                      metric[METRIC_OPTIMIZER_TIME]);
}

/* Between ranks, after the phases; NaN where there is one. */
static void fill_communication(double *metric, const struct training *training,
                               const struct training_window *window)
{
    const struct launch_config *launch = &training->config.launch;
    const bool once = launch->one_update && training->config.ranks.one_sync;
    double sums = once ? 1 : launch->accumulate;
    /* Divided by NAN, these metrics become NAN if there is only one rank. */
    double steps = ranks_count() > 1 ? (double)window->steps : NAN;
    double phases =
        window->phase_count > 0 && ranks_count() > 1 ? (double)window->phase_count : NAN;

    metric[METRIC_COMMUNICATION_WAIT] = window->phases.communication / phases / 1e3;
    metric[METRIC_COMMUNICATION_SHARE] =
        metric[METRIC_COMMUNICATION_WAIT] / metric[METRIC_BACKWARD_TIME];
    metric[METRIC_PIPELINE_IDLE] =
        training->pipeline != NULL ? training->pipeline->idle_share : NAN;
    metric[METRIC_BUSIEST_TOKENS] = window->counts.routed_tokens > 0
                                        ? (double)(window->counts.busiest_tokens * ranks_count()) /
                                              (double)window->counts.routed_tokens
                                        : NAN;
    metric[METRIC_COLLECTIVES_PER_STEP] = (double)window->counts.collectives / steps;
    metric[METRIC_COLLECTIVE_BYTES] = (double)window->counts.collective_bytes / steps;
    metric[METRIC_LATE_PARAMETER_BYTES] = NAN;
    metric[METRIC_LATE_GRADIENT_BYTES] =
        training->buckets != NULL ? sums * (double)gradient_buckets_late_bytes(training->buckets)
                                  : NAN;
    if (gradient_buckets_shards(training->buckets) != NULL)
        metric[METRIC_LATE_PARAMETER_BYTES] =
            (double)launch->accumulate *
            (double)parameter_shards_late_bytes(gradient_buckets_shards(training->buckets));
}

/* A timer of the first steps has ended before the window. */
static void fill_reported(double *metric, const struct training *training,
                          const struct training_counts *counts)
{
    bool cold = training->config.logging.timer == TIMER_COLD;
    double ns = (double)(cold ? training->reported_ns : counts->reported_ns);
    double steps = (double)(cold ? training->reported_steps : counts->reported_steps);

    metric[METRIC_REPORTED_STEP_TIME] = steps > 0 ? ns / steps / 1e3 : NAN;
    metric[METRIC_REPORTED_OVER_TRUE] =
        metric[METRIC_REPORTED_STEP_TIME] / metric[METRIC_STEP_TIME];
}

/* OUT_OF_MEMORY. */
static enum status fill_metrics(struct training *training, struct training_window *window)
{
    const struct training_counts *counts = &window->counts;
    struct allocator_statistics memory = allocator_statistics(training->allocator);
    double *metric = window->metric, steps = (double)window->steps;
    int singles = (int)window->step_count;

    metric[METRIC_EPOCH_WAIT] = (double)counts->epoch_wait_ns / steps / 1e3;
    metric[METRIC_LATE_BATCHES] = (double)counts->late_batches / steps;
    metric[METRIC_WORKERS_STARTED] = (double)counts->workers_started / steps;
    metric[METRIC_STEP_TIME] = (double)window->wall_ns / steps / 1e3;
    metric[METRIC_SAMPLES_PER_SECOND] = (double)window->samples / ((double)window->wall_ns / 1e9);
    metric[METRIC_TOKENS_PER_SECOND] = (double)counts->tokens / ((double)window->wall_ns / 1e9);
    metric[METRIC_PADDING_SHARE] =
        (double)counts->padded_tokens / (double)(counts->tokens + counts->padded_tokens);
    metric[METRIC_MICRO_BATCH] = steps * training->layout.samples / (double)counts->micro_batches;
    metric[METRIC_LAUNCHES_PER_STEP] = (double)counts->launches / steps;
    metric[METRIC_CAPTURES_PER_STEP] = (double)counts->captures / steps;
    metric[METRIC_SYNCS_PER_STEP] = (double)counts->synchronizations / steps;
    metric[METRIC_COPIES_PER_STEP] = (double)counts->copies / steps;
    metric[METRIC_H2D_BYTES_PER_STEP] = (double)counts->copy_bytes_h2d / steps;
    metric[METRIC_D2D_BYTES_PER_STEP] = (double)counts->copy_bytes_d2d / steps;
    metric[METRIC_D2H_BYTES_PER_STEP] = (double)counts->copy_bytes_d2h / steps;
    metric[METRIC_CPU_TIME] = (double)window->cpu_ns / steps / 1e3;
    metric[METRIC_HOST_ALLOCATIONS] = (double)counts->host_allocations / steps;
    metric[METRIC_HOST_SWITCHES] = (double)counts->host_switches / steps;
    metric[METRIC_ALLOCATIONS_PER_STEP] = (double)counts->device_allocations / steps;
    metric[METRIC_SUBMISSION_TIME] = (double)counts->submission_ns / steps / 1e3;
    metric[METRIC_TRANSFER_TIME] = (double)counts->transfer_ns / steps / 1e3;
    metric[METRIC_READS_PER_STEP] = (double)counts->reads / steps;
    metric[METRIC_READ_TIME] = (double)counts->read_ns / steps / 1e3;
    metric[METRIC_DATA_WAIT] = (double)counts->wait_ns / steps / 1e3;
    metric[METRIC_DATA_WAIT_SHARE] = metric[METRIC_DATA_WAIT] / metric[METRIC_STEP_TIME];
    metric[METRIC_LOG_SYNCS_PER_STEP] = (double)counts->log_syncs / steps;
    metric[METRIC_LOG_PAUSE] =
        counts->log_lines > 0 ? (double)counts->log_ns / (double)counts->log_lines / 1e3 : NAN;
    metric[METRIC_TABLE_BYTES] =
        training->config.logging.predictions_every > 0 ? (double)counts->table_bytes / steps : NAN;
    metric[METRIC_SAVE_PAUSE] =
        counts->saves > 0 ? (double)counts->save_ns / (double)counts->saves / 1e3 : NAN;
    metric[METRIC_SKIPPED_UPDATES] =
        may_overflow(training) ? (double)counts->skipped_updates / steps : NAN;
    metric[METRIC_ACCURACY] =
        counts_right(training) ? (double)counts->right_samples / (double)window->samples : NAN;
    metric[METRIC_ACTIVATION_PEAK] = (double)memory.peak[MEMORY_ACTIVATIONS];
    metric[METRIC_OPTIMIZER_STATE] = (double)optimizer_state_bytes(training->optimizer);
    metric[METRIC_PARAMETERS] = (double)memory.allocated[MEMORY_PARAMETERS];
    metric[METRIC_MEMORY_PEAK] = (double)memory.peak_all;
    metric[METRIC_MEMORY_GROWTH] = (double)counts->left_bytes / steps;
    metric[METRIC_MEMORY_RESERVED] = (double)memory.peak_reserved;
    metric[METRIC_RESERVED_RATIO] = (double)memory.peak_reserved / (double)memory.peak_all;
    metric[METRIC_INDEX_COPIES] = dataset_copied_bytes(training->dataset);
    metric[METRIC_HOST_MEMORY] = machine_resident_bytes();
    metric[METRIC_STEP_TIME_P95] = stats_percentile(window->step_ns, singles, 95) / 1e3;
    metric[METRIC_STEP_VARIATION] = stats_cv(window->step_ns, singles);
    fill_reported(metric, training, counts);
    metric[METRIC_FALSE_CALLS] = self_comparison_false_calls(
        training->config.logging.self_comparison, window->step_ns, singles);
    fill_phases(metric, window);
    fill_communication(metric, training, window);
    metric[METRIC_OP_BYTES_PER_STEP] =
        (double)micro_batches_sum(training->micro_batches, program_bytes);
    metric[METRIC_OP_BYTES_PER_SECOND] =
        metric[METRIC_OP_BYTES_PER_STEP] /
        ((metric[METRIC_FORWARD_TIME] + metric[METRIC_BACKWARD_TIME]) / 1e6);
    metric[METRIC_MODEL_FLOPS_PER_STEP] = (double)counts->model_flops / steps;
    metric[METRIC_MODEL_FLOPS_PER_SECOND] =
        (double)counts->model_flops / ((double)window->wall_ns / 1e9);
    if (singles > 0 && isnan(metric[METRIC_STEP_TIME_P95]))
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to sort %d step times", singles);

    return STATUS_OK;
}

/* Every rank trains on its own part of the samples, or with its part of the model on all. */
static enum status add_parts(const struct training *training, const struct training_counts *from,
                             struct training_counts *to)
{
    int on_all = ranks_count() / training->config.loader.parts;
    double parts[] = { (double)(to->right_samples - from->right_samples),
                       (double)(to->tokens - from->tokens),
                       (double)(to->padded_tokens - from->padded_tokens),
                       (double)(to->model_flops - from->model_flops) };

    TRY(ranks_sum(parts, ARRAY_SIZE(parts)));
    to->right_samples = from->right_samples + (int64_t)parts[0];
    to->tokens = from->tokens + (int64_t)parts[1] / on_all;
    to->padded_tokens = from->padded_tokens + (int64_t)parts[2] / on_all;
    to->model_flops = from->model_flops + (int64_t)parts[3];

    return STATUS_OK;
}

/* A window says on all ranks what it says on the first: so they decide alike what depends on
 * time. */
static enum status agree(struct training_window *window)
{
    struct {
        int64_t wall_ns, cpu_ns;
        double metric[METRIC_COUNT];
    } first = { .wall_ns = window->wall_ns, .cpu_ns = window->cpu_ns };

    memcpy(first.metric, window->metric, sizeof first.metric);
    TRY(ranks_take_first(&first, sizeof first));
    window->wall_ns = first.wall_ns;
    window->cpu_ns = first.cpu_ns;
    memcpy(window->metric, first.metric, sizeof first.metric);

    return STATUS_OK;
}

enum status training_window(struct training *training, int64_t steps,
                            struct training_window *window)
{
    struct event **events = NULL;
    struct training_counts from, to, before = { 0 };
    bool fetches = training->ahead != NULL;
    int64_t from_ns, from_cpu_ns, first = training->steps, done;
    enum status status = STATUS_OK;

    if (steps < 1)
        FAIL_OUT(STATUS_BAD_USAGE, "a window has at least 1 step, not %lld", (long long)steps);
    TRY_OUT(open_events(training, steps, &events));
    /* Before the clock starts: these copies wait for the device. */
    TRY_OUT(read_from_device(training, &before));
    TRY_OUT(device_synchronize(training->device));
    /* All ranks begin together, or one would wait for another in its own window. */
    TRY_OUT(ranks_wait());
    training->step_events = events;
    from = read_counts(training);
    from.skipped_updates = before.skipped_updates;
    from.right_samples = before.right_samples;
    from_cpu_ns = clock_process_cpu_ns();
    from_ns = clock_ns();
    TRY_OUT(training_run(training, steps));
    /* A window that began with a batch at hand leaves one for the next. */
    if (fetches)
        TRY_OUT(training_fetch(training));
    TRY_OUT(periodic_finish(training));
    /* Before the last wait for the device, which is the window's and not the loop's. */
    to = read_counts(training);
    TRY_OUT(device_synchronize(training->device));
    window->wall_ns += clock_ns() - from_ns;
    window->cpu_ns += clock_process_cpu_ns() - from_cpu_ns;
    TRY_OUT(read_from_device(training, &to));
    done = training->steps - first;
    window->steps += done;
    window->samples += done * training->layout.samples * training->config.loader.parts;
    TRY_OUT(add_parts(training, &from, &to));
    add_counts(&window->counts, &from, &to);
    TRY_OUT(read_steps(window, events, done));
    /* Only the last of the steps timed its phases: a window that was stopped has none. */
    if (done == steps)
        TRY_OUT(read_phases(window, training));
    TRY_OUT(fill_metrics(training, window));
    TRY_OUT(agree(window));

out:
    training->step_events = NULL;
    close_events(events, steps);
    if (status != STATUS_OK)
        training_window_release(window);
    return status;
}

void training_window_release(struct training_window *window)
{
    free(window->step_ns);
    window->step_ns = NULL;
    window->step_count = 0;
}

/* A step after which the host waits. The device works right after the host has, as it does where
 * every step is waited for: its caches are cold then, and its core has rested. On a Xeon a step
 * right behind another one took 1.26 ms, and one in the loop 1.84. */
static enum status balance_step(struct training *training, struct event *begin, struct event *end,
                                double *host_ns, double *device_ns)
{
    int64_t from_ns, load_ns;

    TRY(device_synchronize(training->device));
    from_ns = clock_ns();
    TRY(training_load(training));
    load_ns = clock_ns() - from_ns;
    TRY(event_record(begin, training->compute));
    from_ns = clock_ns();
    TRY(training_submit(training));
    *host_ns = (double)(load_ns + clock_ns() - from_ns);
    TRY(event_record(end, training->compute));
    TRY(event_synchronize(end));
    TRY(event_elapsed(begin, end, device_ns));
    training->steps++;

    return STATUS_OK;
}

enum status training_balance(struct training *training, int64_t steps, double *host_ns,
                             double *device_ns)
{
    struct event *begin = NULL, *end = NULL;
    double *host = NULL, *device = NULL;
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(&host, steps));
    TRY_OUT(rows_make(&device, steps));
    TRY_OUT(event_create(training->device, true, &begin));
    TRY_OUT(event_create(training->device, true, &end));
    for (int64_t i = 0; i < steps; i++)
        TRY_OUT(balance_step(training, begin, end, &host[i], &device[i]));
    *host_ns = stats_median(host, (int)steps);
    *device_ns = stats_median(device, (int)steps);
    TRY_OUT(ranks_take_first(host_ns, sizeof *host_ns));
    TRY_OUT(ranks_take_first(device_ns, sizeof *device_ns));

out:
    event_destroy(begin);
    event_destroy(end);
    free(host);
    free(device);
    return status;
}
