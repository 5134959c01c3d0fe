/* Finds and loads plugins: in the folder of the program, where it was built, or beside it, where it
 * is installed. CHOKEPOINT_PLUGINS names another one, which nobody else may write to. If there are
 * several builds for the CPU, the best that runs here is taken.
 *
 * A plugin stays loaded until the program ends: names in traces point into it, and the libraries
 * below it (OpenMP, CUDA) do not bear unloading. */
#include "harness/device/plugin.h"

#include "harness/base/system/files.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 2 };

/* Loading runs what is in the file. */
static enum status check_writers(const char *path)
{
    if (!only_we_replace(path))
        FAIL(STATUS_NO_LIBRARY,
             "%s of CHOKEPOINT_PLUGINS, or a folder above it, belongs to another user or others "
             "may write to it, so a plugin in it may be anybody's: take that right away (chmod "
             "go-w), or choose another folder",
             path);

    return STATUS_OK;
}

/* The folders that may hold plugins; "" after the last. */
static enum status plugin_folders(char list[FOLDERS][PATH_MAX])
{
    const char *given = getenv("CHOKEPOINT_PLUGINS");
    char program[PATH_MAX];
    ssize_t length;

    list[0][0] = list[1][0] = '\0';
    if (given != NULL && *given != '\0') {
        snprintf(list[0], PATH_MAX, "%s", given);
        TRY(check_writers(given));
        return STATUS_OK;
    }
    length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        FAIL(STATUS_NO_LIBRARY,
             "the program's own folder, which has its plugins, is not known: /proc/self/exe: %s; "
             "mount /proc, or set "
             "CHOKEPOINT_PLUGINS to the folder",
             strerror(errno));
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(list[0], PATH_MAX, "%s", program);
    snprintf(list[1], PATH_MAX, "%s/../lib/chokepoint", program);

    return STATUS_OK;
}

/* The levels of x86-64 that this CPU has, as file names end, best first. The last is "", a plugin
 * without a level. */
static int levels_here(const char *levels[3])
{
    int count = 0;

#if defined(__x86_64__)
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
    if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        levels[count++] = "-x86-64-v4";
    if (v3)
        levels[count++] = "-x86-64-v3";
#endif
    levels[count++] = "";
    return count;
}

static bool is_in_folder(char *path, size_t size, const char *folder, const char *file)
{
    const char *levels[3];
    int count = levels_here(levels);

    for (int i = 0; i < count; i++) {
        int length = snprintf(path, size, "%s/libchokepoint_%s%s.so", folder, file, levels[i]);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* The failure lists every folder that was searched. */
static enum status find_plugin(char *path, size_t size, const struct plugin_title *title)
{
    char list[FOLDERS][PATH_MAX];

    TRY(plugin_folders(list));
    for (int i = 0; i < FOLDERS && list[i][0] != '\0'; i++)
        if (is_in_folder(path, size, list[i], title->file))
            return STATUS_OK;
    FAIL(STATUS_NO_LIBRARY,
         "%s has no plugin here: libchokepoint_%s.so is not in %s%s%s; %s, or set "
         "CHOKEPOINT_PLUGINS to its folder",
         title->who, title->file, list[0], list[1][0] != '\0' ? " nor in " : "", list[1],
         title->advice);
}

enum status plugin_symbol(void **symbol, const struct plugin_title *title)
{
    char path[PATH_MAX];
    void *library;

    TRY(find_plugin(path, sizeof path, title));
    if (getenv("CHOKEPOINT_PLUGINS") != NULL)
        TRY(check_writers(path));
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        FAIL(STATUS_NO_LIBRARY, "the plugin of %s does not load: %s; install what is missing",
             title->who, dlerror());
    *symbol = dlsym(library, title->symbol); /* POSIX: how to get a function */
    if (*symbol == NULL)
        FAIL(STATUS_NO_LIBRARY, "%s is not a chokepoint plugin: it lacks %s", path, title->symbol);

    return STATUS_OK;
}

/* A plugin shares structs with the program, so both must come from the same sources. */
enum status plugin_check_build(const char *build_id, const char *file)
{
    if (strcmp(build_id, CHOKEPOINT_BUILD_ID) != 0)
        FAIL(STATUS_NO_LIBRARY,
             "libchokepoint_%s.so was built from other sources (build id %s, the program's is %s); "
             "build both again",
             file, build_id, CHOKEPOINT_BUILD_ID);

    return STATUS_OK;
}

enum status plugin_load(const struct device_driver **driver, const char *name)
{
    device_driver_fn *entry;
    char who[64];

    snprintf(who, sizeof who, "the %s device", name);
    TRY(plugin_symbol((void **)&entry, &(struct plugin_title){
                                           .file = name,
                                           .who = who,
                                           .advice = "build it (cuda needs the CUDA toolkit)",
                                           .symbol = DEVICE_DRIVER_SYMBOL,
                                       }));
    TRY(plugin_check_build(entry()->build_id, name));
    *driver = entry();

    return STATUS_OK;
}
