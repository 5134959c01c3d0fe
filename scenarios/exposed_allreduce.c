/* Adding up the gradients of all ranks after backward.
 *
 * Data-parallel ranks need the sum of their gradients before the update. The last layer's gradients
 * are ready when backward has hardly begun. If they are sent only when it is over, the devices
 * compute nothing while all of them are on their way; sent bucket by bucket while backward goes on,
 * most of them have arrived by then. */
#include "scenarios/scenario.h"

const struct scenario scenario_exposed_allreduce = {
    .name = "exposed_allreduce",
    .title = "Adding up gradients after backward",
    .also = "ddp, DistributedDataParallel, data parallel, data parallelism, all-reduce, "
            "gradient synchronisation, communication overlap, find_unused_parameters",
    .group = GROUP_RANKS,
    .symptom = "between backward and optimizer all devices communicate and compute nothing",
    .cause = "the gradients of all layers are added up only when backward has ended",
    .fix = "add them up in buckets, each as soon as backward has finished its gradients",
    .look = "all-reduce kernels between the last kernel of backward and the first of the optimizer",
    .cost = "communication takes multiprocessors and memory bandwidth from backward; gains little "
            "where all gradients fit one bucket",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    loss_fn(model(inputs), labels).backward()\n"
                  "    for p in model.parameters():\n"
                  "        torch.distributed.all_reduce(p.grad)\n"
                  "        p.grad /= torch.distributed.get_world_size()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "ddp = torch.nn.parallel.DistributedDataParallel(model)\n"
                 "for inputs, labels in loader:\n"
                 "    loss_fn(ddp(inputs), labels).backward()\n"
                 "    optimizer.step()\n"
                 "    optimizer.zero_grad()\n",
    },
    .base = "model=heavy blocks=4 batch=4 precision=fp32 ranks=2 bucket_mb=1 loss_every=5",
    .knob = "allreduce",
    .before = "after_backward",
    .after = "overlap",
    .needs = WHERE_TWO_CORES,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Three of four buckets are sent during backward. */
        { METRIC_LATE_GRADIENT_BYTES, SHRINKS, .at_least = 2, .exact = true },
        /* On two cores, which two ranks have for computing and adding up: 1.0 to 3.7. */
        { METRIC_COMMUNICATION_WAIT, SHRINKS, .at_least = 1.2, .where = WHERE_TWO_CORES_A_RANK },
        { METRIC_COMMUNICATION_SHARE, SHRINKS, .after_below = 0.15,
          .where = WHERE_TWO_CORES_A_RANK },
        { METRIC_STEP_TIME, SHRINKS, .where = WHERE_TWO_CORES_A_RANK },
    },
    .accept = { { "exposed_communication", ANYWHERE } },
    /* A rank with one core adds up and computes in turns, and waits for the other one in both. */
    .tolerated_after = { { "exposed_communication", ANYWHERE }, { "fp32_matmul", ANYWHERE } },
};
