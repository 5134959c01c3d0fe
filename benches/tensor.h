/* fp32 data on the device with its copy on the host, random and never zeros: zeros draw less power, and
 * some hardware is faster on them. */
#ifndef BENCHES_TENSOR_H
#define BENCHES_TENSOR_H

#include "harness/bench/bench.h"

struct tensor {
    float *device, *host; /* host memory is pinned; both hold `count` */
    int64_t count;
};

/* Allocates, fills with values from -1 to 1 and copies them over. All zero before and after release. */
enum status tensor_open(struct tensor *tensor, struct bench_work *work, int64_t count);
void tensor_release(struct tensor *tensor, struct bench_work *work);

enum status tensor_read(struct tensor *tensor, struct bench_work *work); /* device to host; waits */

/* OK when `value` is `expected` within `limit`; else INTERNAL, which says both and where. NaN fails. */
enum status tensor_check(const char *what, int64_t index, double value, double expected,
                         double limit);

#endif
