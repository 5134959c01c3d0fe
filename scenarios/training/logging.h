/* Reading the loss: the training loop's one regular look at the device.
 *
 * The loss of each step lies in a ring in device memory. Every `loss_every` steps the loop copies the
 * newest one to the host and waits for it, as `.item()` does: that drains the queue. */
#ifndef SCENARIOS_TRAINING_LOGGING_H
#define SCENARIOS_TRAINING_LOGGING_H

enum { LOSS_RING = 1024 }; /* losses kept on the device: those of the last so many steps */

struct logging_config {
    int loss_every; /* steps between blocking reads of the loss, at least 1 */
};

#endif
