/* The cost of a graph of N tiny kernels, in all and per node, and of as many launches without a
 * graph: the difference is what capturing a step of so many launches saves. */
#include "benches/parts/tiny_kernel.h"

struct own {
    struct tiny_kernel kernel;
    struct graph *graph;
};

static enum status launch_all(struct bench_work *work)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < work->argument; i++) TRY(tiny_kernel_launch(&own->kernel, work));

    return STATUS_OK;
}

static enum status run_eager(struct bench_work *work, int64_t iterations)
{
    for (int64_t i = 0; i < iterations && !*work->stop; i++) TRY(launch_all(work));
    return stream_synchronize(work->stream);
}

static enum status run_graph(struct bench_work *work, int64_t iterations)
{
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations && !*work->stop; i++)
        TRY(graph_launch(work->stream, own->graph));
    return stream_synchronize(work->stream);
}

/* A capture must be ended even when something in it failed; the first error is the one to
 * report. */
static enum status capture(struct bench_work *work)
{
    enum status status = STATUS_OK, ended;
    struct own *own = work->own;
    struct status_error error;

    TRY_OUT(graph_begin(work->stream));
    status = launch_all(work);
    if (status != STATUS_OK)
        error = *status_last();
    ended = graph_end(work->stream, &own->graph);
    if (status != STATUS_OK)
        status_raise(&error);
    else
        TRY_OUT(ended);

out:
    return status;
}

static enum status graph_set_up(struct bench_work *work)
{
    struct own *own = work->own;

    work->items = work->argument;
    TRY(tiny_kernel_open(&own->kernel, work, ROW_MULTIPLE));
    if (work->bench->run == run_graph)
        TRY(capture(work));
    TRY(work->bench->run(work, 1));
    return tiny_kernel_check(&own->kernel, work, work->argument);
}

static void graph_tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    graph_destroy(own->graph);
}

#define LAT_GRAPH(name_, text_, how)                                                               \
    const struct bench bench_##name_ = {                                                           \
        .name = #name_,                                                                            \
        .text = text_,                                                                             \
        .arguments = { 1, 10, 100, 1000 },                                                         \
        .own_bytes = sizeof(struct own),                                                           \
        .set_up = graph_set_up,                                                                    \
        .run = run_##how,                                                                          \
        .tear_down = graph_tear_down,                                                              \
    }

LAT_GRAPH(lat_graph, "one launch of a graph of N tiny kernels; items are its nodes", graph);
LAT_GRAPH(lat_graph_eager, "N launches of a tiny kernel, without a graph; items are launches",
          eager);
