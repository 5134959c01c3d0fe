/* A row per variable, or per family of them, with the values that spoil figures. */
#include "harness/base/system/environment.h"

#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <stdio.h>
#include <string.h>

/* The values with which figures mislead. */
enum values { VALUES_NONE, VALUES_ALL, VALUES_BUT_0, VALUES_1 };

/* A name that ends in "_" stands for all that begin with it and are in no row of their own before
 * it. Sources: CUDA C++ Programming Guide, "CUDA Environment Variables"; NCCL's User Guide,
 * "Environment Variables"; oneDNN's Developer Guide; OpenMP 5.0, chapter 6; ld.so(8); cuBLAS's
 * documentation. */
static const struct row {
    const char *name;
    enum values spoils;
    const char *what;
} rows[] = {
    { "CUDA_LAUNCH_BLOCKING", VALUES_BUT_0,
      "every launch waits until its kernel is done: nothing overlaps; unset it" },
    { "CUDA_VISIBLE_DEVICES", VALUES_NONE, "which GPUs a process sees, and in which order" },
    { "CUDA_DEVICE_ORDER", VALUES_NONE, "how GPUs are numbered" },
    { "NVIDIA_TF32_OVERRIDE", VALUES_ALL,
      "libraries use tf32 never (0), whatever a program asks for; unset it" },
    { "CUDA_DEVICE_MAX_CONNECTIONS", VALUES_1,
      "with one hardware queue, streams wait for each other; some libraries ask for it" },
    { "CUDA_MODULE_LOADING", VALUES_NONE,
      "whether kernels are loaded at the start (EAGER) or when they are first used (LAZY)" },
    { "CUDA_CACHE_DISABLE", VALUES_BUT_0,
      "kernels that are compiled for the GPU at load time are compiled anew in every process" },
    { "CUDA_FORCE_PTX_JIT", VALUES_BUT_0,
      "kernels are compiled at load time, although the program has them for this GPU" },
    { "CUDA_INJECTION64_PATH", VALUES_ALL,
      "a tool is loaded into every CUDA program, and tracing may be its alone; unset it" },
    { "CHOKEPOINT_CUPTI", VALUES_NONE, "how CUPTI records what traces show" },
    { "NVTX_INJECTION64_PATH", VALUES_NONE, "a tool hears every NVTX range" },
    { "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", VALUES_ALL,
      "under MPS a process gets that part of the SMs" },
    { "CUBLAS_WORKSPACE_CONFIG", VALUES_NONE, "the memory that products may use" },
    { "CUBLAS_LOGINFO_DBG", VALUES_BUT_0, "cuBLAS writes a line per call; unset it" },
    { "NCCL_DEBUG", VALUES_NONE, "what NCCL writes" },
    { "NCCL_P2P_DISABLE", VALUES_BUT_0, "GPUs send through the host, not to each other; unset it" },
    { "NCCL_SHM_DISABLE", VALUES_BUT_0, "ranks of one machine send through the network; unset it" },
    { "NCCL_IB_DISABLE", VALUES_BUT_0, "NCCL uses IP instead of InfiniBand or RoCE; unset it" },
    { "NCCL_", VALUES_NONE, "how NCCL communicates" },
    { "OMP_NUM_THREADS", VALUES_NONE, "threads of OpenMP, and so of oneDNN's products" },
    { "OMP_", VALUES_NONE, "how OpenMP's threads work" },
    { "GOMP_", VALUES_NONE, "how OpenMP's threads work" },
    { "KMP_", VALUES_NONE, "how OpenMP's threads work" },
    { "MKL_", VALUES_NONE, "threads and instructions of MKL" },
    { "OPENBLAS_NUM_THREADS", VALUES_NONE, "threads of OpenBLAS" },
    { "ONEDNN_MAX_CPU_ISA", VALUES_ALL,
      "oneDNN leaves instructions out that this processor has; unset it" },
    { "ONEDNN_VERBOSE", VALUES_BUT_0, "oneDNN writes a line per product; unset it" },
    { "ONEDNN_", VALUES_NONE, "how oneDNN computes" },
    { "DNNL_VERBOSE", VALUES_BUT_0, "oneDNN writes a line per product; unset it" },
    { "DNNL_", VALUES_NONE, "how oneDNN computes" },
    { "MALLOC_ARENA_MAX", VALUES_NONE, "how many threads allocate on the host at once" },
    { "GLIBC_TUNABLES", VALUES_NONE, "how the C library allocates, copies and locks" },
    { "LD_PRELOAD", VALUES_ALL,
      "other code runs in this process, in place of the libraries'; unset it" },
    { "LD_AUDIT", VALUES_ALL, "other code sees every call between libraries; unset it" },
    { "LD_BIND_NOW", VALUES_NONE, "libraries are bound at the start, not at the first call" },
};

/* The first row of a variable, or ARRAY_SIZE(rows). */
static size_t environment_row(const char *variable, size_t length)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        size_t own = strlen(rows[i].name);
        bool is_family = rows[i].name[own - 1] == '_';
        if ((is_family ? length > own : length == own) && strncmp(variable, rows[i].name, own) == 0)
            return i;
    }
    return ARRAY_SIZE(rows);
}

static bool spoils(enum values values, const char *value)
{
    return values == VALUES_ALL || (values == VALUES_BUT_0 && strcmp(value, "0") != 0) ||
           (values == VALUES_1 && strcmp(value, "1") == 0);
}

void environment_find(char *const *variables, environment_found *found, void *context)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (char *const *at = variables; *at != NULL; at++) {
            const char *equals = strchr(*at, '=');
            struct environment_variable variable;
            if (equals == NULL || equals[1] == '\0' ||
                environment_row(*at, (size_t)(equals - *at)) != i)
                continue;
            variable = (struct environment_variable){ .name = *at,
                                                      .name_length = (int)(equals - *at),
                                                      .value = equals + 1,
                                                      .spoils = spoils(rows[i].spoils, equals + 1),
                                                      .what = rows[i].what };
            found(context, &variable);
        }
}

struct printed {
    char *text;
    size_t size;
};

static void print_variable(void *context, const struct environment_variable *variable)
{
    struct printed *printed = context;

    text_join(printed->text, printed->size, " ", "%.*s=%s", variable->name_length, variable->name,
              variable->value);
}

void environment_print(char *const *variables, char *text, size_t size)
{
    struct printed printed = { text, size };

    text[0] = '\0';
    environment_find(variables, print_variable, &printed);
    if (text[0] == '\0')
        snprintf(text, size, "none");
}
