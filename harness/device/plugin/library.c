#include "harness/device/plugin/library.h"

#include "harness/base/status.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Folders below what the variable holds, or below `folder`. */
static const struct place {
    const char *variable, *folder;
    const char *below; /* a pattern of the shell's */
} places[] = {
    { "CUDA_HOME", NULL, "/lib64" },
    { "CUDA_HOME", NULL, "/extras/CUPTI/lib64" },
    { "CUDA_PATH", NULL, "/lib64" },
    { "CUDA_PATH", NULL, "/extras/CUPTI/lib64" },
    { NULL, CHOKEPOINT_CUDA_LIBRARIES, "" },
    { NULL, CHOKEPOINT_CUDA_LIBRARIES, "/../extras/CUPTI/lib64" },
    { "VIRTUAL_ENV", NULL, "/lib/python3*/site-packages/nvidia/*/lib" },
    { "CONDA_PREFIX", NULL, "/lib" },
    { "CONDA_PREFIX", NULL, "/lib/python3*/site-packages/nvidia/*/lib" },
    { "HOME", NULL, "/.local/lib/python3*/site-packages/nvidia/*/lib" },
    { NULL, "/usr/local", "/lib/python3*/*-packages/nvidia/*/lib" },
};

static void *open_in(const struct place *place, const char *file)
{
    const char *folder = place->variable != NULL ? getenv(place->variable) : place->folder;
    char pattern[PATH_MAX];
    void *library = NULL;
    glob_t found;
    int length;

    if (folder == NULL || *folder == '\0')
        return NULL;
    length = snprintf(pattern, sizeof pattern, "%s%s/%s", folder, place->below, file);
    if (length >= (int)sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && library == NULL; i++)
        library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

void *library_open(const char *file, char *why, size_t size)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        snprintf(why, size, "%s", dlerror());
    for (size_t i = 0; i < ARRAY_SIZE(places) && library == NULL; i++)
        library = open_in(&places[i], file);
    return library;
}

const char *library_resolve(void *library, const char *const *symbols, void **const *members,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        *members[i] = dlsym(library, symbols[i]);
        if (*members[i] == NULL)
            return symbols[i];
    }
    return NULL;
}
