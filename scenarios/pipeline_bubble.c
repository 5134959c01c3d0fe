/* A pipeline of ranks that gets its whole batch at once.
 *
 * A model that is too large for one device is cut into parts of its blocks, one for each rank. A
 * rank needs the activations of the rank before it, and later the gradients of the one after it.
 * With one micro-batch per step only one rank works at a time. With m of them a rank goes on with
 * the next while the others have the ones before: of p ranks each is idle for (p - 1) / (m + p - 1)
 * of the time, the pipeline's bubble.
 *
 * Both variants train on the same samples per step, with the same update: accumulated gradients do
 * not tell how they were cut. Micro-batches are computed one forward, one backward (1F1B), so a
 * rank keeps the activations of as many as there are ranks. */
#include "scenarios/scenario.h"

const struct scenario scenario_pipeline_bubble = {
    .name = "pipeline_bubble",
    .title = "A pipeline of ranks with one micro-batch",
    .also = "pipeline parallelism, GPipe, 1F1B, bubble ratio, interleaved 1F1B, micro-batches",
    .group = GROUP_RANKS,
    .symptom = "each of the ranks that share a model waits for the others for most of a step",
    .cause = "one micro-batch per step is in one part of the model at a time",
    .fix = "cut the batch into micro-batches, four times as many as ranks or more",
    .look = "long kernels that receive, on one rank while the other one computes",
    .cost = "kernels of a smaller micro-batch, which use a device less well, and as many launches "
            "more; gains little where these cost what the bubble did",
    .pytorch = {
        .before = "from torch.distributed.pipelining import (\n"
                  "    PipelineStage, Schedule1F1B)\n"
                  "\n"
                  "rank = torch.distributed.get_rank()\n"
                  "count = torch.distributed.get_world_size()\n"
                  "stage = PipelineStage(model, rank, count, device)\n"
                  "pipe = Schedule1F1B(stage, 1, loss_fn=loss_fn)\n"
                  "for x, y in DataLoader(dataset, batch_size=8):\n"
                  "    pipe.step(x, target=y)\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "from torch.distributed.pipelining import (\n"
                 "    PipelineStage, Schedule1F1B)\n"
                 "\n"
                 "rank = torch.distributed.get_rank()\n"
                 "count = torch.distributed.get_world_size()\n"
                 "stage = PipelineStage(model, rank, count, device)\n"
                 "pipe = Schedule1F1B(stage, 8, loss_fn=loss_fn)\n"
                 "for x, y in DataLoader(dataset, batch_size=8):\n"
                 "    pipe.step(x, target=y)\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=heavy blocks=4 batch=8 precision=fp32 ranks=2 parallel=pipeline loss_every=5",
    .knob = "accumulate",
    .before = "1",
    .after = "8",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_ORDER,
    .expect = {
        /* (p - 1) / (m + p - 1): of two ranks a half, and a ninth; of eight 7/8, and 7/15. */
        { METRIC_PIPELINE_IDLE, SHRINKS, .at_least = 1.8, .exact = true, .before_above = 0.499 },
        { METRIC_COMMUNICATION_WAIT, SHRINKS, .at_least = 1.5, .where = WHERE_TWO_CORES_A_RANK },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.2, .where = WHERE_TWO_CORES_A_RANK },
    },
    .accept = { { "pipeline_bubble", ANYWHERE } },
    /* A micro-batch of one sample is small work, and each has its launches. */
    .tolerated_after = { { "exposed_communication", ANYWHERE },
                         { "small_kernels", ANYWHERE },
                         { "launch_bound", ANYWHERE },
                         { "fp32_matmul", ANYWHERE } },
};
