/* Collecting the host's garbage in the training loop.
 *
 * Objects that refer to each other in cycles are found by a collector, which goes through all
 * objects that it tracks, those that live as well. A program that keeps an index of its data set as
 * a list of dicts has millions. A collection comes after a number of allocations, at no step in
 * particular
 * ("The Python Standard Library", gc.set_threshold()), and on many ranks at another step on each,
 * so that all wait in turn (torchtitan collects on all ranks at the same step for this reason).
 * gc.freeze() takes what is there out of later collections.
 *
 * Here the host has 200 000 objects, and a collection comes every ten steps, in which 2000 more are
 * made and die. The collector works as CPython's does (harness/engine/step/garbage.c). */
#include "scenarios/scenario.h"

const struct scenario scenario_garbage_collection = {
    .name = "garbage_collection",
    .title = "Collecting the host's garbage in the training loop",
    .also = "gc.collect(), gc.freeze(), gc.disable(), garbage collector, gc.set_threshold",
    .group = GROUP_LAUNCHES,
    .symptom = "now and then a step takes several times as long, and the device waits in it",
    .cause = "the collector goes through all objects of the host, most of which live for ever",
    .fix = "gc.freeze() before the loop; or gc.disable(), and gc.collect() every so many steps, "
           "the same ones on all ranks",
    .look = "a stretch of the host without launches at no step in particular, which Python's rows "
            "call Python GC",
    .cost = "what is frozen and dies in a cycle stays in memory; gains nothing where the device "
            "has work queued for as long as a collection takes",
    .pytorch = {
        .before = "index = [{\"file\": str(i)} for i in range(1000)]\n"
                  "for inputs, labels in loader:\n"
                  "    train_step(inputs, labels)\n",
        .after = "import gc\n"
                 "index = [{\"file\": str(i)} for i in range(1000)]\n"
                 "gc.collect()\n"
                 "gc.freeze()\n"
                 "for inputs, labels in loader:\n"
                 "    train_step(inputs, labels)\n",
    },
    .base = "model=light launch=eager loss_every=1",
    .knob = "garbage",
    .before = "collected",
    .after = "frozen",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Ten quick runs on two cores of an EPYC, busy with other work: 4.5 to 12. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.3 },
    },
    .accept = { { "garbage_collection", ANYWHERE } },
    .tolerated_after = { { "launch_bound", ANYWHERE },
                         { "host_sync", ANYWHERE },
                         { "small_kernels", ANYWHERE } },
};
