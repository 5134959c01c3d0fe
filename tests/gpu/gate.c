/* The stream waits on the GPU until a number in pinned memory is 1: no host thread is held up by it.
 * That is a call of the driver's, cuStreamWaitValue32, and the stream's handle is the plugin's. */
#include "tests/gpu/gate.h"

#include "harness/device/cuda/cuda.h"
#include "tests/cmocka_prelude.h"

#include <cuda.h>
#include <dlfcn.h>

static _Atomic uint32_t *flag_in(void *page)
{
    return page;
}

void gpu_gate_close(struct stream *stream, void *page)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    __typeof__(&cuStreamWaitValue32) wait;

    assert_non_null(driver);
    *(void **)&wait = dlsym(driver, "cuStreamWaitValue32_v2"); /* what cuda.h's name stands for */
    assert_non_null(wait);
    atomic_store(flag_in(page), 0);
    assert_int_equal(wait(((struct cuda_stream *)stream)->handle, (CUdeviceptr)(uintptr_t)page, 1,
                          CU_STREAM_WAIT_VALUE_EQ),
                     CUDA_SUCCESS);
}

void gpu_gate_open(void *page)
{
    atomic_store(flag_in(page), 1);
}
