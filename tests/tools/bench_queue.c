/* The cost of the CPU device's queue, through the public functions only: enqueue with and without
 * doorbell, launch and synchronise, launches back to back, a graph's nodes. Prints the median and
 * the p10..p90 of repetitions, in nanoseconds.
 *
 *   bench_queue [device]      the default device is cpu */
#include "harness/base/clock.h"
#include "harness/device/device.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 200, BURST = 256, ELEMENTS = 64, NODES = 1000 };

struct bench {
    struct stream *stream;
    struct graph *graph;
    float *x;
};

/* One repetition: nanoseconds per operation. */
typedef enum status measure_fn(struct bench *bench, double *ns);

static enum status launch(struct bench *bench)
{
    return LAUNCH(bench->stream, DTYPE_F32, fill, ELEMENTS, .y = bench->x, .value = 1);
}

/* The host's part alone: a burst that the queue has room for. */
static enum status enqueue(struct bench *bench, double *ns)
{
    int64_t start_ns = clock_ns();

    for (int i = 0; i < BURST; i++) TRY(launch(bench));
    *ns = (double)(clock_ns() - start_ns) / BURST;
    TRY(stream_synchronize(bench->stream));

    return STATUS_OK;
}

static enum status launch_and_synchronize(struct bench *bench, double *ns)
{
    int64_t start_ns = clock_ns();

    TRY(launch(bench));
    TRY(stream_synchronize(bench->stream));
    *ns = (double)(clock_ns() - start_ns);

    return STATUS_OK;
}

/* Host and worker together: many times what the queue holds. */
static enum status back_to_back(struct bench *bench, double *ns)
{
    enum { LAUNCHES = 8192 };
    int64_t start_ns = clock_ns();

    for (int i = 0; i < LAUNCHES; i++) TRY(launch(bench));
    TRY(stream_synchronize(bench->stream));
    *ns = (double)(clock_ns() - start_ns) / LAUNCHES;

    return STATUS_OK;
}

static enum status replay(struct bench *bench, double *ns)
{
    int64_t start_ns = clock_ns();

    TRY(graph_launch(bench->stream, bench->graph));
    TRY(stream_synchronize(bench->stream));
    *ns = (double)(clock_ns() - start_ns) / NODES;

    return STATUS_OK;
}

static enum status copy_four_bytes(struct bench *bench, double *ns)
{
    int64_t start_ns = clock_ns();
    float value;

    TRY(device_copy(bench->stream, COPY_DEVICE_TO_HOST, &value, bench->x, sizeof value));
    *ns = (double)(clock_ns() - start_ns);

    return STATUS_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static enum status report(struct bench *bench, const char *name, measure_fn *measure)
{
    double ns[REPETITIONS];

    for (int i = -10; i < REPETITIONS; i++) /* ten to warm up */
        TRY(measure(bench, &ns[i < 0 ? 0 : i]));
    qsort(ns, REPETITIONS, sizeof *ns, by_value);
    printf("%-28s %9.1f   (%.1f .. %.1f)\n", name,
           (ns[REPETITIONS / 2 - 1] + ns[REPETITIONS / 2]) / 2, ns[REPETITIONS / 10],
           ns[REPETITIONS * 9 / 10]);

    return STATUS_OK;
}

static enum status run(const char *name, bool doorbell)
{
    static const struct {
        const char *name;
        measure_fn *measure;
    } measures[] = {
        { "enqueue", enqueue },
        { "launch + synchronize", launch_and_synchronize },
        { "back to back, a launch", back_to_back },
        { "graph of 1000, a node", replay },
        { "read back 4 bytes", copy_four_bytes },
    };
    const struct device_options options = { .spin_ns = -1, .no_doorbell = !doorbell };
    enum status status = STATUS_OK;
    struct device *device = NULL;
    struct bench bench = { NULL };

    TRY_OUT(device_open(&device, name, &options));
    printf("%s, doorbell %s: launch_ns %.1f\n", device_properties(device)->name,
           doorbell ? "on" : "off", device_properties(device)->launch_ns);
    TRY_OUT(stream_create(device, &bench.stream));
    TRY_OUT(
        device_alloc(device, NULL, ALLOCATE_DIRECT, ELEMENTS * sizeof *bench.x, (void **)&bench.x));
    TRY_OUT(graph_begin(bench.stream));
    for (int i = 0; i < NODES; i++) TRY_OUT(launch(&bench));
    TRY_OUT(graph_end(bench.stream, &bench.graph));
    for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
        TRY_OUT(report(&bench, measures[i].name, measures[i].measure));

out:
    graph_destroy(bench.graph);
    stream_destroy(bench.stream);
    if (bench.x != NULL)
        device_free(device, NULL, ALLOCATE_DIRECT, bench.x);
    device_close(device);
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cpu";

    if (run(name, true) != STATUS_OK || run(name, false) != STATUS_OK) {
        fprintf(stderr, "bench_queue: %s\n", status_last()->text);
        return status_exit_code(status_last()->status);
    }
    return 0;
}
