/* One rank loads its samples more slowly than the others.
 *
 * Ranks meet at every all-reduce, so each step takes as long as on the slowest of them. Where one
 * rank's cache of decoded samples is missing, that rank decodes in every step while all others wait
 * for its gradients. Their loaders are fast and their devices look busy: they are in a collective,
 * and only the rank that is never there for long is the one to mend. */
#include "scenarios/scenario.h"

const struct scenario scenario_straggler = {
    .name = "straggler",
    .title = "One rank loads more slowly than the others",
    .also = "slow rank, slow node, rank imbalance, load imbalance, load balancing",
    .group = GROUP_RANKS,
    .symptom = "all ranks but one are in all-reduce kernels for most of a step",
    .cause = "one rank gets its samples later than the others, which wait for its gradients",
    .fix = "give that rank what the others have: here, its cache of decoded samples",
    .look = "one rank's all-reduce kernels are short, and its device is idle while its loop loads",
    .cost = "memory for the samples, or workers and cores, on that rank too; gains nothing where "
            "another rank is as slow",
    .pytorch = {
        .before = "slow = torch.distributed.get_rank() == 0\n"
                  "cached = [] if slow else [decode(f) for f in files]\n"
                  "samples = cached or (decode(f) for f in files)\n"
                  "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                  "for x, y in samples:\n"
                  "    loss_fn(ddp(x[None]), y[None]).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "cached = [decode(f) for f in files]\n"
                 "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                 "for x, y in cached:\n"
                 "    loss_fn(ddp(x[None]), y[None]).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=balanced precision=fp32 ranks=2 input=cached workers=0 jpeg_pixels=512",
    .knob = "uncached_rank",
    .before = "1",
    .after = "none",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_COMMUNICATION_WAIT, SHRINKS, .at_least = 1.5 },
        { METRIC_STEP_TIME, SHRINKS, .where = WHERE_TWO_CORES_A_RANK },
    },
    .accept = { { "straggler", ANYWHERE } },
    /* The step that is left is short, and on a CPU half of it is launching. */
    .tolerated_after = { { "exposed_communication", ANYWHERE },
                         { "launch_bound", WHERE_CPU_DEVICE } },
};
