/* Keeping each step's loss with its graph.
 *
 * A loss is one number, but the tensor refers to its graph, and the graph to the activations that
 * backward reads. backward() drops those, unless retain_graph=True keeps them, or backward() never
 * comes, as for a validation loss computed without torch.no_grad(). Then a list of losses holds the
 * activations of every step in it, and memory grows until the list is dropped at the epoch's end,
 * or until it runs out, which may be hours into the run. */
#include "scenarios/scenario.h"

const struct scenario scenario_leak = {
    .name = "leak",
    .title = "Keeping each step's loss with its graph",
    .also = "memory leak, retain_graph, detach, kept losses",
    .group = GROUP_MEMORY,
    .symptom = "memory grows by the same amount in every step, and a long epoch runs out of it",
    .cause = "a list of losses refers to their graphs; after backward() these keep only their "
             "nodes, but with retain_graph=True, or without a backward (validation), the "
             "activations too",
    .fix = "keep the number: loss.detach(), or loss.item() every few steps",
    .look = "the memory curve: each step ends higher than it began, by its activations",
    .cost = "item() waits for the device, so read the number every few steps; detach() waits for "
            "nothing, and a list of numbers stays on the device",
    .pytorch = {
        .before = "losses = []\n"
                  "for inputs, labels in loader:\n"
                  "    optimizer.zero_grad()\n"
                  "    loss = loss_fn(model(inputs), labels)\n"
                  "    loss.backward(retain_graph=True)\n"
                  "    optimizer.step()\n"
                  "    losses.append(loss)\n",
        .after = "losses = []\n"
                 "for inputs, labels in loader:\n"
                 "    optimizer.zero_grad()\n"
                 "    loss = loss_fn(model(inputs), labels)\n"
                 "    loss.backward(retain_graph=True)\n"
                 "    optimizer.step()\n"
                 "    losses.append(loss.detach())\n",
    },
    .base = "model=light launch=eager batch=1",
    .knob = "kept_loss",
    .before = "graph",
    .after = "number",
    .loss = LOSS_IDENTICAL,
    .expect = {
        { METRIC_MEMORY_GROWTH, SHRINKS, .exact = true, .before_above = 4096, .after_below = 1 },
        /* An epoch's steps keep theirs: 1018 times as much, where the run is as long as an epoch.
         * On very busy cores it was not: 405. */
        { METRIC_ACTIVATION_PEAK, SHRINKS, .at_least = 100 },
    },
    .accept = { { "memory_growth", ANYWHERE } },
    .tolerated_after = { { "launch_bound", ANYWHERE }, { "small_kernels", ANYWHERE } },
};
