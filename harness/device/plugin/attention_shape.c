/* Whether two shapes of attention are the same. Member by member: bytes between members are not
 * defined. */
#include "harness/device/plugin/attention_shape.h"

bool attention_shapes_equal(const struct attention_shape *a, const struct attention_shape *b)
{
    return a->samples == b->samples && a->heads == b->heads && a->tokens == b->tokens &&
           a->width == b->width && a->lengths == b->lengths && a->dtype == b->dtype &&
           a->packed == b->packed;
}
