#include "harness/device/plugin/library.h"

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

static void *open_anywhere(const char *file, char *why, size_t size)
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL)
        snprintf(why, size, "%s", dlerror());
    for (size_t i = 0; i < ARRAY_SIZE(places) && handle == NULL; i++)
        handle = open_in(&places[i], file);
    return handle;
}

static enum status resolve(const struct library *library)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < library->symbol_count; i++) {
        const struct library_symbol *symbol = &library->symbols[i];
        *symbol->address = dlsym(library->handle, symbol->name);
        if (*symbol->address == NULL)
            FAIL(STATUS_NO_LIBRARY, "cuda: %s has no %s; install %s or newer%s", library->file,
                 symbol->name, library->oldest, library->note != NULL ? library->note : "");
    }

out:
    return status;
}

enum status library_load(struct library *library)
{
    enum status status = STATUS_OK;
    char why[160] = "";

    pthread_mutex_lock(&library->lock);
    if (library->handle == NULL)
        library->handle = open_anywhere(library->file, why, sizeof why);
    if (library->handle == NULL)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: %s does not load: %s; install it (%s), or set CUDA_HOME or LD_LIBRARY_PATH to "
             "where it is%s",
             library->title, why, library->package, library->note != NULL ? library->note : "");
    if (!library->usable) {
        TRY(resolve(library));
        if (library->check != NULL)
            TRY(library->check());
    }
    library->usable = true;

out:
    pthread_mutex_unlock(&library->lock);
    return status;
}
