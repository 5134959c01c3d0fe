/* Flipping a bit of what a kernel computed, on purpose: CHOKEPOINT_FAIL=flip:KERNEL:N (faults.h).
 *
 * Once the kernel is done, the bit's byte is copied to the host, changed, and copied back: so it
 * works on every device. The bit is one of the kernel's first output; of partial column sums, one
 * of the first part. */
#ifndef HARNESS_DEVICE_FLIPS_H
#define HARNESS_DEVICE_FLIPS_H

#include "harness/device/device.h"

/* To be called once the work is queued. Nothing happens unless a flip of this call was planned, and
 * where the stream is captured, whose work is still to be done. */
enum status flip_kernel(struct stream *stream, enum kernel kernel, enum dtype dtype, long count,
                        const void *arguments);
enum status flip_gemm(struct stream *stream, const struct gemm *gemm);

#endif
