/* Computing one operation of the step on the host.
 *
 * An operation that exists only for the host (a NumPy function, a rule in Python) can stand in the
 * middle of a model: its input is copied to the host and its result back. The host must wait for
 * all work before it, the device for the host, and then for the launches that could not be queued
 * ahead. Here it is GELU in each block's forward; backward is on the device in both variants. The
 * host's exponential differs from the kernel's in the last digit. */
#include "scenarios/scenario.h"

const struct scenario scenario_host_round_trip = {
    .name = "host_round_trip",
    .title = "Computing one operation of the step on the host",
    .also = "CPU fallback, tensor.cpu(), device-to-host copy, numpy round trip, .cpu(), D2H, "
            "device-to-host transfer",
    .group = GROUP_COPIES,
    .symptom = "the device idles in the middle of each forward, between a copy to the host and "
               "one back",
    .cause = "one operation runs on the host, so its input goes there and its result comes back",
    .fix = "do the operation on the device, or before the step, if it does not depend on it",
    .look = "a copy to the host, a gap and a copy to the device between two kernels of the forward",
    .cost = "the operation has to be written for the device; moved before the step it adds to "
            "loading",
    .pytorch = {
        .before = "def activation(x):\n"
                  "    y = F.gelu(x.cpu(), approximate=\"tanh\")\n"
                  "    return y.to(x.device)\n",
        .after = "def activation(x):\n"
                 "    return F.gelu(x, approximate=\"tanh\")\n",
    },
    .base = "model=light batch=8 launch=eager",
    .knob = "gelu",
    .before = "host",
    .after = "device",
    .loss = LOSS_ORDER,
    .expect = {
        /* A block's hidden state goes to the host, in every block; then only the loss does. */
        { METRIC_D2H_BYTES_PER_STEP, SHRINKS, .at_least = 330000, .exact = true },
        { METRIC_SYNCS_PER_STEP, SHRINKS, .at_least = 60, .exact = true },
        /* Quick runs on two cores of an EPYC: 1.75 to 2.00, and 1.02 once; busy cores 0.95 to 1.60,
         * as a wait may lose the core. So nothing is promised on the CPU device. */
        { METRIC_STEP_TIME, SHRINKS, .at_least = 1.3, .where = WHERE_CUDA },
    },
    .accept = { { "host_round_trip", ANYWHERE } },
    /* The step is eager and light in both variants, as no graph can hold work of the host. Where
     * device and host share cores, other programs hold up queued work now and then. */
    .tolerated_after = { { "launch_bound", ANYWHERE }, { "device_wait", WHERE_CPU_DEVICE } },
};
