/* Built where cuDNN's headers are missing: there is no library's attention then. */
#include "harness/device/cuda/cuda.h"

#include <stdio.h>

void attentions_open(struct attentions **attentions, struct cuda_device *device)
{
    snprintf(device->base.properties.attention_library,
             sizeof device->base.properties.attention_library, "built without cuDNN's headers");
    *attentions = NULL;
}

void attentions_close(struct attentions *attentions)
{
    (void)attentions;
}

enum status cuda_attention_plan(struct device *device, const struct attention_shape *shape,
                                size_t *workspace_bytes)
{
    (void)device;
    (void)shape;
    (void)workspace_bytes;
    return status_fail(STATUS_UNSUPPORTED, __FILE__, __LINE__, "built without cuDNN's headers");
}

enum status cuda_attention(struct stream *stream, const struct fused_attention *attention)
{
    (void)stream;
    (void)attention;
    return status_fail(STATUS_UNSUPPORTED, __FILE__, __LINE__, "built without cuDNN's headers");
}
