/* Giving the allocator's free memory back to the device, as torch.cuda.empty_cache() does. The host
 * waits until the device has finished all work, because a segment may still be in use by queued
 * kernels. With a captured graph, and without a cache, there is nothing to give back. */
#include "harness/engine/step/training_parts.h"

static enum status empty_cache(struct training *training)
{
    return allocator_trim(training->allocator);
}

const struct periodic periodic_cache_emptying = {
    .phase = "empty_cache",
    .every = offsetof(struct training_config, allocator.empty_cache_every),
    .run = empty_cache,
};
