/* The CPU's kernels, called directly: no device, no queue, no threads. */
#include "tests/kernels/runner.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

enum shape { ROWS, PACKS, COLUMNS };

typedef void kernel_function(const void *arguments, long first, long last);

#define DECLARE(name, shape, ...) kernel_function name##_f32, name##_bf16, name##_f16;
KERNELS(DECLARE)

static const struct {
    const char *name;
    enum shape shape;
    kernel_function *by_dtype[DTYPE_COUNT];
} kernels[KERNEL_COUNT] = {
#define ROW(name, shape, ...) { #name, shape, { name##_f32, name##_bf16, name##_f16 } },
    KERNELS(ROW)
};

static enum status launch(void *context, enum kernel kernel, enum dtype dtype, long count,
                          const void *arguments, size_t size)
{
    enum status status = STATUS_OK;
    long pieces = *(const int *)context;
    long step = kernels[kernel].shape == ROWS ? 1 : ROW_MULTIPLE;
    void *copy = NULL; /* It has exactly its size, so that a sanitizer sees a read beyond it. */

    if (kernels[kernel].by_dtype[dtype] == NULL)
        FAIL_OUT(STATUS_UNSUPPORTED, "no kernel %s for %d", kernels[kernel].name, (int)dtype);
    if (count % step != 0)
        FAIL_OUT(STATUS_BAD_USAGE, "%s: %ld elements is not a multiple of %ld",
                 kernels[kernel].name, count, step);
    copy = malloc(size);
    if (copy == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "%zu bytes of arguments", size);
    memcpy(copy, arguments, size);

    long per_piece = (count / step + pieces - 1) / pieces * step;
    for (long first = 0; first < count; first += per_piece) {
        long last = first + per_piece < count ? first + per_piece : count;
        kernels[kernel].by_dtype[dtype](copy, first, last);
    }

out:
    free(copy);
    return status;
}

static enum status alloc(void *context, size_t bytes, void **memory)
{
    (void)context;
    return posix_memalign(memory, 256, bytes) == 0
               ? STATUS_OK
               : status_fail(STATUS_OUT_OF_MEMORY, __FILE__, __LINE__, "%zu bytes", bytes);
}

static void release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static enum status copy(void *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memcpy(to, from, bytes);
    return STATUS_OK;
}

#ifdef __SANITIZE_ADDRESS__
static void mark(void *context, void *memory, size_t bytes, bool forbidden)
{
    (void)context;
    if (forbidden)
        ASAN_POISON_MEMORY_REGION(memory, bytes);
    else
        ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
}
#else
#define mark NULL
#endif

struct kernel_runner cpu_runner(int *pieces)
{
    return (struct kernel_runner){
        .name = "CPU kernels",
        .context = pieces,
        .launch = launch,
        .alloc = alloc,
        .release = release,
        .upload = copy,
        .download = copy,
        .forbid = mark,
    };
}
