/* Training the same few steps over and over: from the same state, with the same samples, and every
 * tensor of every step compared bit for bit with the first time (tensor_sums.h). A device that
 * computes the same each time never differs: the step has no atomics, no random numbers, and sums
 * have one order. Not so a library's fused attention, which repeat_open() refuses. */
#pragma once

#include "harness/engine/model/ops/tensor_sums.h"
#include "harness/engine/step/training.h"

struct repeat;

/* Keeps the training's state as it is now, in device memory, and trains `steps` steps for the
 * reference. The training must outlive it. REFUSED where steps are graphs, or attention may differ
 * from run to run; errors of the device. */
enum status repeat_open(struct repeat **repeat, struct training *training, int steps);

/* Ends the training's use of it. NULL is allowed. */
void repeat_close(struct repeat *repeat);

/* Goes back to the state, trains the steps once more, waits for them, and says where they first
 * differ. */
enum status repeat_run(struct repeat *repeat, struct tensor_difference *difference);

/* Tensors that are compared, of all steps together. */
int repeat_tensors(const struct repeat *repeat);
