/* A library that the CUDA device takes for cuDNN. It computes nothing; it says that it is version
 * FAKE_CUDNN_VERSION (91501 is 9.15.1). */
#include <stddef.h>
#include <stdlib.h>

#define EXPORT(name)                                                                               \
    __attribute__((visibility("default"))) int name(void);                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }

EXPORT(cudnnGetCudartVersion)
EXPORT(cudnnGetErrorString)
EXPORT(cudnnGetLastErrorString)
EXPORT(cudnnCreate)
EXPORT(cudnnDestroy)
EXPORT(cudnnSetStream)
EXPORT(cudnnBackendCreateDescriptor)
EXPORT(cudnnBackendDestroyDescriptor)
EXPORT(cudnnBackendFinalize)
EXPORT(cudnnBackendSetAttribute)
EXPORT(cudnnBackendGetAttribute)
EXPORT(cudnnBackendExecute)

__attribute__((visibility("default"))) size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void)
{
    return strtoul(getenv("FAKE_CUDNN_VERSION"), NULL, 10);
}
