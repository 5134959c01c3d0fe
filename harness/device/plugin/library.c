/* Loads libraries that a plugin needs only sometimes. A library is looked for in the linker's
 * places first, then in a table of places where CUDA's are usually installed. The first copy that
 * resolves decides, unless it is dated: then the search goes on for a newer one, and the dated one
 * is kept in reserve. */
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

static enum status resolve(const struct library *library)
{
    for (size_t i = 0; i < library->symbol_count; i++) {
        const struct library_symbol *symbol = &library->symbols[i];
        *symbol->address = dlsym(library->handle, symbol->name);
        if (*symbol->address == NULL)
            FAIL(STATUS_NO_LIBRARY, "cuda: %s has no %s; install %s or newer%s", library->file,
                 symbol->name, library->oldest, library->note != NULL ? library->note : "");
    }
    if (library->check != NULL)
        TRY(library->check());

    return STATUS_OK;
}

/* Takes this copy, unless it is no better than the dated one that was found before. True where the
 * search ends: with a copy that is not dated, or that cannot be used and is the first. */
static bool settles(struct library *library, void *handle, enum status *status)
{
    void *before = library->handle;

    library->handle = handle;
    *status = resolve(library);
    if (*status == STATUS_OK && (library->is_dated == NULL || !library->is_dated()))
        return true;
    if (before == NULL)
        return *status != STATUS_OK;
    library->handle = before; /* whose addresses were overwritten */
    *status = resolve(library);
    return false;
}

static bool settles_in(struct library *library, const struct place *place, enum status *status)
{
    const char *folder = place->variable != NULL ? getenv(place->variable) : place->folder;
    char pattern[PATH_MAX];
    bool settled = false;
    glob_t found;
    int length;

    if (folder == NULL || *folder == '\0')
        return false;
    length = snprintf(pattern, sizeof pattern, "%s%s/%s", folder, place->below, library->file);
    if (length >= (int)sizeof pattern || glob(pattern, 0, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc && !settled; i++) {
        void *handle = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        settled = handle != NULL && settles(library, handle, status);
    }
    globfree(&found);
    return settled;
}

/* `why` is the linker's reason, which names what is missing better than any place in the table. */
static enum status search(struct library *library)
{
    enum status status = STATUS_OK;
    char why[160] = "";
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    bool settled = false;

    library->handle = NULL;
    if (handle != NULL)
        settled = settles(library, handle, &status);
    else
        snprintf(why, sizeof why, "%s", dlerror());
    for (size_t i = 0; i < ARRAY_SIZE(places) && !settled; i++)
        settled = settles_in(library, &places[i], &status);
    if (library->handle == NULL)
        FAIL(STATUS_NO_LIBRARY,
             "cuda: %s does not load: %s; install it (%s), or set CUDA_HOME or LD_LIBRARY_PATH to "
             "where it is%s",
             library->title, why, library->package, library->note != NULL ? library->note : "");
    return status;
}

enum status library_load(struct library *library)
{
    enum status status = STATUS_OK;

    pthread_mutex_lock(&library->lock);
    if (!library->usable)
        TRY_OUT(search(library));
    library->usable = true;

out:
    pthread_mutex_unlock(&library->lock);
    return status;
}
