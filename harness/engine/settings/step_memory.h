/* The device memory that a step needs, from its settings alone: so that a budget can be chosen
 * that it only just fits into. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/settings/config.h"

/* Bytes that a step holds at its peak with attention=naive, checkpointing=none, elementwise=fused
 * and input=resident, whatever the settings say of these, and 10 classes. `config` has its sizes
 * filled in. At most 3% below what a step takes on the CPU device (test_training), mostly because
 * small tensors take 512 bytes. */
double step_memory_peak(const struct training_config *config);

/* memory_budget=role: 9% more than that, for what the allocator cannot use of its segments. 0, all
 * of the device's memory, for a peak below 24 MiB: there the segments of 2 MiB decide what fits. */
int64_t step_memory_budget(const struct training_config *config);

/* accumulate=fit: the least number of equal micro-batches of a rank's samples with which a step
 * fits into the budget, with the same 9%; one for each sample if none does. Counts what
 * checkpointing does not keep, and up to a quarter of the activations too many where it is on. */
int step_memory_micro_batches(const struct training_config *config,
                              const struct device_properties *device);
