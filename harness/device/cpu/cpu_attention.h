/* Fused attention on the CPU device: a block of queries at a time, whose scores stay in the
 * second-level cache, as matrix products by oneDNN with a softmax between them. */
#ifndef HARNESS_DEVICE_CPU_CPU_ATTENTION_H
#define HARNESS_DEVICE_CPU_CPU_ATTENTION_H

#include "harness/device/cpu/cpu.h"

struct cpu_attentions; /* the device's plans */

enum status cpu_attentions_open(struct cpu_attentions **attentions);
void cpu_attentions_close(struct cpu_attentions *attentions); /* NULL is allowed */

#endif
