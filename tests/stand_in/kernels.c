/* Kernels: nvcc's PTX, which the machine of harness/simt executes with every check that it has. A
 * finding is an error of the kernel, as a fault is on a GPU, and is printed. */
#include "tests/stand_in/runtime.h"

#include "harness/device/cuda/kernels/cuda_kernels.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernel_entry {
    const char *name, *type;
    size_t size;
    struct simt_kernel *of_library; /* NULL: one of chokepoint's own, with a struct and a count */
};
#define ENTRIES(type)                                                                              \
    static const struct kernel_entry entries_##type[] = { KERNELS(ENTRY_##type) };                 \
    const void *const cuda_kernels_##type[] = { KERNELS(POINTER_##type) };
#define ENTRY_f32(name, shape, ...)    { #name "_f32", "f32", sizeof(struct name), NULL },
#define ENTRY_bf16(name, shape, ...)   { #name "_bf16", "bf16", sizeof(struct name), NULL },
#define ENTRY_f16(name, shape, ...)    { #name "_f16", "f16", sizeof(struct name), NULL },
#define POINTER_f32(name, shape, ...)  &entries_f32[KERNEL_##name],
#define POINTER_bf16(name, shape, ...) &entries_bf16[KERNEL_##name],
#define POINTER_f16(name, shape, ...)  &entries_f16[KERNEL_##name],
ENTRIES(f32)
ENTRIES(bf16)
ENTRIES(f16)

static const struct kernel_entry empty = { .name = "empty" }, failing = { .name = "failing" };
const void *const cuda_kernel_empty = &empty;
const void *const cuda_kernel_failing = &failing;

enum { ARGUMENTS_MOST = 14 }; /* 8 bytes each, of operation.kernel.arguments */

/* --- The machine --- */

static struct simt *machine;

/* STAND_IN_COUNTS: the file to which the process adds what its kernels counted. */
static void print_counts(void)
{
    FILE *file = fopen(getenv("STAND_IN_COUNTS"), "a");

    if (file == NULL)
        return;
    simt_counts_print(machine, file);
    fclose(file);
}

/* They load what is no element and select it away (kernels/dialect/kernel.h): padding that nobody
 * writes. */
static const char *const padded[] = { "checksum_", "softmax_forward_", "softmax_backward_" };

static void open_machine(void)
{
    if (simt_open(&machine) != STATUS_OK)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(padded); i++)
        if (simt_allow(machine, SIMT_UNWRITTEN, padded[i]) != STATUS_OK)
            abort();
    if (getenv("STAND_IN_COUNTS") != NULL)
        atexit(print_counts);
}

struct simt *stand_in_machine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_machine);
    return machine;
}

static void read_module(const char *type)
{
    const char *folder = getenv("STAND_IN_PTX");
    char path[512];
    FILE *file;
    char *text = stand_in_must(malloc(1 << 24));
    size_t bytes;

    snprintf(path, sizeof path, "%s/kernels_%s.ptx", folder != NULL ? folder : STAND_IN_PTX, type);
    file = fopen(path, "rb");
    bytes = file != NULL ? fread(text, 1, 1 << 24, file) : 0;
    if (bytes == 0 || simt_read(stand_in_machine(), text, bytes, path) != STATUS_OK) {
        fprintf(stderr, "stand-in: %s\n", bytes == 0 ? path : status_last()->text);
        abort();
    }
    fclose(file);
    free(text);
}

/* The module of a storage type is read with its first kernel. */
static struct simt_kernel *find_kernel(const struct kernel_entry *entry)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct simt_kernel *kernel;

    pthread_mutex_lock(&lock);
    kernel = simt_find(stand_in_machine(), entry->name);
    if (kernel == NULL) {
        read_module(entry->type);
        kernel = simt_find(stand_in_machine(), entry->name);
    }
    pthread_mutex_unlock(&lock);
    return kernel;
}

/* --- Launches --- */

static cudaError_t error_of(enum simt_finding_kind kind)
{
    switch (kind) {
    case SIMT_NONE:
        return cudaSuccess;
    case SIMT_OUT_OF_BOUNDS:
        return cudaErrorIllegalAddress;
    case SIMT_MISALIGNED:
        return cudaErrorMisalignedAddress;
    case SIMT_LIMITS:
        return cudaErrorInvalidConfiguration;
    default:
        return cudaErrorLaunchFailure;
    }
}

cudaError_t stand_in_found(enum simt_finding_kind kind)
{
    fprintf(stderr, "stand-in: %s\n", status_last()->text);
    return error_of(kind);
}

/* STAND_IN_SKIPS=triad_: kernels whose name begins so do nothing, which takes no time. */
static bool is_skipped(const struct kernel_entry *entry)
{
    const char *skips = getenv("STAND_IN_SKIPS");

    return skips != NULL && strncmp(entry->name, skips, strlen(skips)) == 0;
}

/* A kernel of a library: each argument in 8 bytes. */
static enum status launch_of_library(struct operation *operation, struct simt_finding *finding)
{
    struct simt_kernel *kernel = operation->kernel.entry->of_library;
    struct simt_shape shape = simt_shape_of(kernel);
    const struct stand_in_work *work = &operation->work;
    struct simt_grid grid = { .blocks = { work->grid, operation->kernel.rows[0], 1 },
                              .threads = { work->block, operation->kernel.rows[1], 1 },
                              .order = &operation->order };
    const void *arguments[ARGUMENTS_MOST];
    size_t sizes[ARGUMENTS_MOST];

    for (int i = 0; i < shape.parameters; i++) {
        arguments[i] = operation->kernel.arguments + 8 * i;
        sizes[i] = (size_t)shape.parameter_size[i];
    }
    return simt_launch(stand_in_machine(), kernel, &grid, arguments, sizes, shape.parameters,
                       finding);
}

static cudaError_t run_kernel(struct operation *operation)
{
    const struct kernel_entry *entry = operation->kernel.entry;
    const void *arguments[] = { operation->kernel.arguments, &operation->kernel.count };
    const size_t sizes[] = { entry->size, sizeof operation->kernel.count };
    const struct simt_grid grid = { .blocks = { operation->work.grid, 1, 1 },
                                    .threads = { operation->work.block, 1, 1 },
                                    .order = &operation->order };
    struct simt_finding finding;

    if (entry == &empty || stand_in_is_lost() || is_skipped(entry))
        return cudaSuccess;
    if (entry == &failing)
        return cudaErrorLaunchFailure;
    if ((entry->of_library != NULL ? launch_of_library(operation, &finding)
                                   : simt_launch(stand_in_machine(), find_kernel(entry), &grid,
                                                 arguments, sizes, 2, &finding)) == STATUS_OK)
        return cudaSuccess;
    return stand_in_found(finding.kind);
}

cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block,
                             void **arguments, size_t shared_bytes, cudaStream_t stream)
{
    const struct kernel_entry *entry = kernel;
    struct operation operation = { .run = run_kernel };

    if (grid.x < 1 || grid.z != 1 || block.x < 1 || block.x * block.y > 1024 || block.z != 1 ||
        shared_bytes != 0 || (entry->of_library == NULL && grid.y * block.y != 1))
        return stand_in_result(cudaErrorInvalidConfiguration);
    operation.work = (struct stand_in_work){
        .kind = STAND_IN_KERNEL, .name = entry->name, .grid = grid.x, .block = block.x
    };
    operation.kernel.entry = entry;
    operation.kernel.rows[0] = grid.y;
    operation.kernel.rows[1] = block.y;
    if (entry->of_library != NULL) {
        struct simt_shape shape = simt_shape_of(entry->of_library);
        for (int i = 0; i < shape.parameters; i++)
            memcpy(operation.kernel.arguments + 8 * i, arguments[i],
                   (size_t)shape.parameter_size[i]);
    } else if (entry->size > 0) {
        memcpy(operation.kernel.arguments, arguments[0], entry->size);
        operation.kernel.count = *(const long *)arguments[1];
    }
    return stand_in_submit(stream, &operation);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
    (void)kernel;
    *attributes = (struct cudaFuncAttributes){ .maxThreadsPerBlock = 1024, .binaryVersion = 80 };
    return stand_in_result(cudaSuccess);
}

/* --- Libraries: PTX that is given as text --- */

#if CUDART_VERSION >= 12080
struct CUlib_st {
    char *text;
    struct kernel_entry entry; /* of its only kernel that is asked for */
};

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                enum cudaJitOption *jit_options, void **jit_values,
                                unsigned jit_count, enum cudaLibraryOption *options, void **values,
                                unsigned count)
{
    struct CUlib_st *made = stand_in_must(calloc(1, sizeof *made));

    (void)jit_options, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    made->text = stand_in_must(strdup(code));
    *library = made;
    return stand_in_result(cudaSuccess);
}

/* A text is read once: its kernels stay in the machine. */
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    struct simt *simt = stand_in_machine();

    if (simt_find(simt, name) == NULL &&
        simt_read(simt, library->text, strlen(library->text), name) != STATUS_OK)
        return stand_in_result(cudaErrorInvalidPtx);
    library->entry.of_library = simt_find(simt, name);
    if (library->entry.of_library == NULL ||
        simt_shape_of(library->entry.of_library).parameters > ARGUMENTS_MOST)
        return stand_in_result(cudaErrorInvalidDeviceFunction);
    library->entry.name = simt_kernel_name(library->entry.of_library);
    *kernel = (cudaKernel_t)&library->entry;
    return stand_in_result(cudaSuccess);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    free(library->text);
    free(library);
    return stand_in_result(cudaSuccess);
}
#endif
