/* Storage types, for the program and for plugins alike. */
#include "harness/device/types/dtype.h"

#include "harness/base/status.h"

static const struct {
    const char *name;
    size_t bytes;
} dtypes[DTYPES_ALL] = {
    [DTYPE_F32] = { "fp32", 4 },
    [DTYPE_BF16] = { "bf16", 2 },
    [DTYPE_F16] = { "fp16", 2 },
    [DTYPE_F64] = { "fp64", 8 },
};

size_t dtype_bytes(enum dtype dtype)
{
    return (unsigned)dtype < DTYPES_ALL ? dtypes[dtype].bytes : 0;
}

const char *dtype_name(enum dtype dtype)
{
    return (unsigned)dtype < DTYPES_ALL ? dtypes[dtype].name : "unknown";
}
