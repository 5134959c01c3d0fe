/* Saving the training state while the step waits.
 *
 * The state is three times the parameters: weights and both moments. Saving it in the loop copies
 * one tensor after the other, each copy waiting for the device, and then writes the file; meanwhile
 * nothing is queued and the device idles. Copies into pinned memory can be queued behind the step
 * instead. They hold the state as it is right after the step, and a thread waits for them and
 * writes while training goes on. Only one save can be on its way: one that is due before the last
 * is written waits for it. */
#include "scenarios/scenario.h"

const struct scenario scenario_blocking_save = {
    .name = "blocking_save",
    .title = "Saving the training state while the step waits",
    .also = "torch.save, saving checkpoints, save_steps, asynchronous checkpoint, async_save, "
            "checkpoint saving, async checkpoint, distributed checkpoint",
    .group = GROUP_LOGGING,
    .symptom = "every few steps one takes much longer, and the device is idle in it",
    .cause = "the loop waits for a copy per tensor and for the write (torch.save() in the loop)",
    .fix = "queue copies to pinned memory and let a thread write the file",
    .look = "copies to the host one by one after every tenth step, and a gap until the next",
    .cost = "host memory for a copy of the state, and a save that ends some steps later and must "
            "end before the next begins; gains little where saves are rare",
    .pytorch = {
        .before = "for step, (inputs, labels) in enumerate(loader):\n"
                  "    train_step(inputs, labels)\n"
                  "    if step % 10 == 0:\n"
                  "        torch.save(model.state_dict(), \"state.pt\")\n",
        .after = "def save(state, copied):\n"
                 "    copied.synchronize()\n"
                 "    torch.save(state, \"state.pt\")\n"
                 "writer, saved = ThreadPoolExecutor(1), None\n"
                 "pinned = {k: v.cpu().pin_memory()\n"
                 "          for k, v in model.state_dict().items()}\n"
                 "copied = torch.cuda.Event()\n"
                 "for step, (inputs, labels) in enumerate(loader):\n"
                 "    train_step(inputs, labels)\n"
                 "    if step % 10 == 0:\n"
                 "        if saved: saved.result()  # `pinned` is free again\n"
                 "        for k, v in model.state_dict().items():\n"
                 "            pinned[k].copy_(v, non_blocking=True)\n"
                 "        copied.record()\n"
                 "        saved = writer.submit(save, pinned, copied)\n",
    },
    .base = "model=balanced width=64 blocks=2 tokens=17 patch=8 batch=2 launch=graph save_every=10",
    .knob = "save_mode",
    .before = "blocking",
    .after = "asynchronous",
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* A save waits 93 times on the CPU device; then only its writer does, once. */
        { METRIC_SYNCS_PER_STEP, SHRINKS, .exact = true, .at_least = 40 },
        /* Ten quiet runs on two cores of an EPYC: 7.3 to 12.6, and 1.40 to 1.59; on busy cores 29
         * to 182, and 1.80 to 2.14. 18 quick runs on two cores of a Xeon: 6.1 to 39.8, with
         * intervals that begin at 3.8 to 8.4. */
        { METRIC_SAVE_PAUSE, SHRINKS, .at_least = 3, .where = WHERE_CPU_DEVICE },
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.15, .where = WHERE_CPU_DEVICE },
        /* On GPUs the state is large: the next save may be due before a disk has the last. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.05, .where = WHERE_CUDA },
    },
    .accept = { { "save_pause", ANYWHERE } },
    .tolerated_after =
        {
            /* The writer's thread takes a core that the CPU device computes on. */
            { "device_wait", WHERE_CPU_DEVICE },
            { "save_pause", WHERE_CUDA },
        },
};
