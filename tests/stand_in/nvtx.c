/* A stand-in for the part of a profiler that NVTX loads into the process (NVTX_INJECTION64_PATH):
 * it adds a line for each range to the file STAND_IN_PROFILE, "push NAME" and "pop". */
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *line)
{
    static int file = -1;

    if (file < 0)
        file = open(getenv("STAND_IN_PROFILE"), O_WRONLY | O_APPEND | O_CREAT, 0666);
    if (file < 0 || write(file, line, strlen(line)) < 0)
        abort();
}

static int NVTX_API push(const char *name)
{
    char line[80];

    snprintf(line, sizeof line, "push %s\n", name);
    note(line);
    return 0;
}

static int NVTX_API pop(void)
{
    note("pop\n");
    return 0;
}

__attribute__((visibility("default"))) int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;

    if (callbacks == NULL || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size))
        return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
