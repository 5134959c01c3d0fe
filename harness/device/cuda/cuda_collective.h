/* This rank's communicator: NCCL's, over the GPUs of all ranks.
 *
 * MPI has started the ranks, and tells all of them the id that NCCL made on the first one. An error
 * that comes while an operation runs, a link that went down, would leave the GPU waiting for good.
 * So a thread looks for one every 0.1 s; it aborts the communicator then, which ends what runs, and
 * so the wait of whoever waits for it. */
#pragma once

#include "harness/device/driver.h"

struct collectives;
struct cuda_device;

/* NO_DEVICE where `ranks` of them, each with its own, need more GPUs than there are from number
 * `first` on. */
enum status collectives_check_gpus(int ranks, int first, int gpus);

/* On all ranks in the same order; each waits for the others. *collectives is NULL where no job was
 * joined. NO_LIBRARY; or NCCL's error. */
enum status collectives_open(struct collectives **collectives, struct cuda_device *device,
                             const struct driver_host *host);

/* When all streams are done. NULL is allowed. */
void collectives_close(struct collectives *collectives);

/* After a wait: the error that the communicator was aborted for. OK for NULL. */
enum status collectives_check(struct collectives *collectives);

enum status cuda_collective(struct stream *stream, const struct collective *collective);
enum status cuda_check_ranks(struct device *device, int ranks);
