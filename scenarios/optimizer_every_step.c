/* Updating the weights after every micro-batch.
 *
 * An update reads and writes every weight, its moments and its gradient, however few samples the
 * gradient is of. After a single sample it can take as long as the sample's forward and backward
 * pass. Gradients add up, so eight micro-batches can share one update. This is another training,
 * with fewer and less noisy updates, and it wants a higher learning rate.
 *
 * Both variants train on the same samples, but one changes its weights eight times as often, so
 * that their losses would differ. The learning rate is therefore next to nothing: an update costs
 * the same, the weights stay what they are, and equal losses show that both computed the same. */
#include "scenarios/scenario.h"

const struct scenario scenario_optimizer_every_step = {
    .name = "optimizer_every_step",
    .title = "Updating the weights after every micro-batch",
    .also = "gradient accumulation, gradient_accumulation_steps, accumulate_grad_batches, "
            "effective batch size",
    .group = GROUP_KERNELS,
    .symptom = "the optimizer takes a third of the step or more",
    .cause = "the weights are updated after each sample, at a cost that does not depend on samples",
    .fix = "accumulate the gradients of several micro-batches, or enlarge the batch",
    .look = "an optimizer phase after each backward, almost as long",
    .cost = "fewer updates per sample, which may need a higher learning rate",
    .pytorch = {
        .before = "for inputs, labels in loader:\n"
                  "    loss_fn(model(inputs), labels).backward()\n"
                  "    optimizer.step()\n"
                  "    optimizer.zero_grad()\n",
        .after = "for i, (inputs, labels) in enumerate(loader):\n"
                 "    (loss_fn(model(inputs), labels) / 8).backward()\n"
                 "    if (i + 1) % 8 == 0:\n"
                 "        optimizer.step()\n"
                 "        optimizer.zero_grad()\n",
    },
    .base = "model=heavy blocks=2 tokens=5 batch=8 accumulate=8 launch=eager rate=1e-12 "
            "loss_every=3",
    .knob = "update",
    .before = "micro_batch",
    .after = "step",
    .loss = LOSS_ORDER,
    .expect = {
        /* Ten quiet runs on two cores of an EPYC: 3.9 to 4.8, 5.2 to 6.9, and 1.26 to 1.49. An
         * H100: 9.1, 7.9 and none, since the host launches for longer than the update takes. */
        { METRIC_OPTIMIZER_SHARE, SHRINKS, .at_least = 2.2 },
        { METRIC_OPTIMIZER_TIME, SHRINKS, .at_least = 4 },
        { METRIC_SAMPLES_PER_SECOND, GROWS, .at_least = 1.2, .where = WHERE_CPU_DEVICE },
    },
    .accept = { { "optimizer_overhead", ANYWHERE } },
    /* Micro-batches of one sample are small in both variants. */
    .tolerated_after = { { "small_kernels", ANYWHERE }, { "launch_bound", ANYWHERE } },
};
