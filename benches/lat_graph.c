/* What a graph of tiny kernels costs, all of it and each node.
 *
 * Against lat_launch, the items per second say what capturing a step of so many launches saves. */
#include "benches/tensor.h"

struct own {
    struct tensor sum, term;
    struct graph *graph;
};

static enum status run(struct bench_work *work, int64_t iterations)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    for (int64_t i = 0; i < iterations; i++) TRY(graph_launch(work->stream, own->graph));
    TRY(stream_synchronize(work->stream));

out:
    return status;
}

static enum status capture(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;

    TRY(graph_begin(work->stream));
    for (int64_t i = 0; i < work->argument; i++)
        TRY(LAUNCH(work->stream, DTYPE_F32, residual_add, ROW_MULTIPLE, .y = own->sum.device,
                   .a = own->sum.device, .b = own->term.device));
    TRY(graph_end(work->stream, &own->graph));

out:
    return status;
}

static enum status set_up(struct bench_work *work)
{
    enum status status = STATUS_OK;
    struct own *own = work->own;
    float before[ROW_MULTIPLE];

    TRY(tensor_open(&own->sum, work, ROW_MULTIPLE));
    TRY(tensor_open(&own->term, work, ROW_MULTIPLE));
    for (int i = 0; i < ROW_MULTIPLE; i++) before[i] = own->sum.host[i];
    TRY(capture(work));
    TRY(run(work, 1));
    TRY(tensor_read(&own->sum, work));
    for (int i = 0; i < ROW_MULTIPLE; i++)
        TRY(tensor_check("a graph", i, (double)own->sum.host[i],
                         (double)before[i] + (double)work->argument * (double)own->term.host[i],
                         1e-5 * (double)work->argument));
    work->items = work->argument;

out:
    return status;
}

static void tear_down(struct bench_work *work)
{
    struct own *own = work->own;

    stream_synchronize(work->stream);
    graph_destroy(own->graph);
    tensor_release(&own->sum, work);
    tensor_release(&own->term, work);
}

const struct bench bench_lat_graph = {
    .name = "lat_graph",
    .text = "one launch of a graph of N tiny kernels; items are its nodes",
    .arguments = { 1, 16, 256 },
    .own_bytes = sizeof(struct own),
    .set_up = set_up,
    .run = run,
    .tear_down = tear_down,
};
