/* The kernels as an open device runs them, by way of its queue. */
#include "tests/kernels/device_runner.h"

#include <dlfcn.h>

static enum status launch(void *context, enum kernel kernel, enum dtype dtype, long count,
                          const void *arguments, size_t size)
{
    struct stream *stream = context;

    TRY(device_launch(stream, kernel, dtype, count, arguments, size));
    TRY(stream_synchronize(stream));

    return STATUS_OK;
}

static enum status alloc(void *context, size_t bytes, void **memory)
{
    return device_alloc(stream_device(context), NULL, ALLOCATE_DIRECT, bytes, memory);
}

static void release(void *context, void *memory)
{
    (void)device_free(stream_device(context), NULL, ALLOCATE_DIRECT, memory);
}

static enum status upload(void *context, void *to, const void *from, size_t bytes)
{
    TRY(device_copy(context, COPY_HOST_TO_DEVICE, to, from, bytes));
    TRY(stream_synchronize(context)); /* before anything of it is forbidden */

    return STATUS_OK;
}

static enum status download(void *context, void *to, const void *from, size_t bytes)
{
    return device_copy(context, COPY_DEVICE_TO_HOST, to, from, bytes);
}

/* The stand-in for CUDA sees every access, and takes this from tests: tests/stand_in/memory.c. A
 * GPU cannot tell. */
static void (*stand_in_forbid)(void *memory, size_t bytes, bool forbidden);

static void forbid(void *context, void *memory, size_t bytes, bool forbidden)
{
    (void)context;
    stand_in_forbid(memory, bytes, forbidden);
}

static bool find_forbid(void)
{
    void *plugin = dlopen("libchokepoint_cuda.so", RTLD_LAZY | RTLD_NOLOAD);

    if (plugin != NULL) {
        *(void **)&stand_in_forbid = dlsym(plugin, "stand_in_forbid");
        dlclose(plugin);
    }
    return stand_in_forbid != NULL;
}

struct kernel_runner device_runner(struct stream *stream)
{
    return (struct kernel_runner){
        .name = device_properties(stream_device(stream))->name,
        .context = stream,
        .launch = launch,
        .alloc = alloc,
        .release = release,
        .upload = upload,
        .download = download,
        .forbid = find_forbid() ? forbid : NULL,
    };
}
