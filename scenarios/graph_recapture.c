/* Capturing a graph anew whenever the shape changes.
 *
 * A captured graph has its shapes and addresses frozen in it, so sequences of another length need
 * another graph. A program that keeps one captures again at every change: it waits for the device,
 * queues each kernel of the step as if there were no graph, and has the result instantiated.
 * Padding to a multiple of 4 leaves three lengths here; with a graph kept for each of them, nothing
 * is captured after the first steps. Without rounding there would be as many graphs as lengths, and
 * torch.compile gives up at 8 versions of a function (torch/_dynamo/config.py, recompile_limit).
 *
 * Lengths from 3 to 12 tokens are equally likely, so 2 of 10 samples are padded to 4 tokens, 4 to
 * 8, and 4 to
 * 12. A step is of another length than the one before it with a probability of
 * 1 - (4 + 16 + 16) / 100 = 0.64. */
#include "scenarios/scenario.h"

const struct scenario scenario_graph_recapture = {
    .name = "graph_recapture",
    .title = "Capturing a graph anew whenever the shape changes",
    .also = "dynamic shapes, CUDA graph re-recording, torch.compile dynamic, graph per shape",
    .group = GROUP_LAUNCHES,
    .symptom = "steps of varying length are slow although they are launched as graphs",
    .cause = "one graph is kept, and it is captured and instantiated again at each change of shape",
    .fix = "pad to a few lengths and keep a graph for each, as "
           "torch.compile(mode=\"reduce-overhead\", dynamic=False) does",
    .look = "cudaStreamBeginCapture and cudaGraphInstantiate within steps, and an idle device "
            "below",
    .cost = "each graph keeps its own arguments and work memory, and samples are padded to the "
            "next of the few lengths; torch.compile stops at 8 shapes (recompile_limit) and runs "
            "others without graphs; gains nothing where shapes do not change",
    .pytorch = {
        .before = "train_step(*next(iter(loader)))  # warms up\n"
                  "shape = None  # of the only graph\n"
                  "for x, y in loader:  # padded to a few lengths\n"
                  "    if x.shape != shape:\n"
                  "        shape, batch = x.shape, (x.cuda(), y.cuda())\n"
                  "        graph = torch.cuda.CUDAGraph()\n"
                  "        with torch.cuda.graph(graph):\n"
                  "            loss_fn(model(batch[0]), batch[1]).backward()\n"
                  "    batch[0].copy_(x)\n"
                  "    batch[1].copy_(y)\n"
                  "    graph.replay()\n",
        .after = "train_step(*next(iter(loader)))  # warms up\n"
                 "graphs = {}  # by shape\n"
                 "for x, y in loader:  # padded to a few lengths\n"
                 "    if x.shape not in graphs:\n"
                 "        batch = x.cuda(), y.cuda()\n"
                 "        graph = torch.cuda.CUDAGraph()\n"
                 "        with torch.cuda.graph(graph):\n"
                 "            loss_fn(model(batch[0]), batch[1]).backward()\n"
                 "        graphs[x.shape] = graph, batch\n"
                 "    graph, batch = graphs[x.shape]\n"
                 "    batch[0].copy_(x)\n"
                 "    batch[1].copy_(y)\n"
                 "    graph.replay()\n",
    },
    .base = "model=light batch=1 tokens=12 elementwise=unfused optimizer=unfused launch=graph "
            "padding=longest pad_to_multiple_of=4 loss_every=50",
    .knob = "graphs",
    .before = "latest",
    .after = "per_shape",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* 0.63 to 0.64, as counted above, and none. */
        { METRIC_CAPTURES_PER_STEP, SHRINKS, .before_above = 0.4, .after_below = 0.001 },
        /* Ten quiet runs on two cores of an EPYC: 279 to 407. */
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 150, .where = WHERE_CPU_DEVICE },
        { METRIC_SUBMISSION_TIME, SHRINKS, .at_least = 2, .where = WHERE_CUDA },
        /* Nine quick runs on two busy cores of an EPYC: 1.26 to 1.38. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.1 },
    },
    .accept = { { "graph_recapture", ANYWHERE } },
    /* The kernels are small and many on purpose, so that a capture takes long. */
    .tolerated_after = { { "unfused_ops", ANYWHERE } },
};
