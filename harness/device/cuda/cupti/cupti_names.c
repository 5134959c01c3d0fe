/* Names of kernels and the like, as records give them and as people read them. Texts as CUPTI gives
 * them are interned; beside each number stands the name in C++, which the demangler of libstdc++
 * makes when the name first comes. The plugin is C and does not link that library, so it is opened
 * here, and names stay mangled without it. */
#include "harness/device/cuda/cupti/cupti_records.h"

#include "harness/base/rows.h"
#include "harness/base/words/intern.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct cupti_names {
    struct intern *given;
    char **demangled; /* by number; NULL: it is shown as it was given */
    int64_t room;
    char *(*demangle)(const char *mangled, char *buffer, size_t *length, int *result);
};

enum status cupti_names_open(struct cupti_names **result)
{
    enum status status = STATUS_OK;
    struct cupti_names *names = NULL;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);

    *result = NULL;
    TRY_OUT(rows_make(&names, 1));
    TRY_OUT(intern_open(&names->given, SIZE_MAX));
    if (library != NULL)
        *(void **)&names->demangle = dlsym(library, "__cxa_demangle");
    *result = names;
    names = NULL;

out:
    free(names);
    return status;
}

void cupti_names_close(struct cupti_names *names)
{
    if (names == NULL)
        return;
    for (uint32_t i = 0; i < intern_count(names->given); i++) free(names->demangled[i]);
    free(names->demangled);
    intern_close(names->given);
    free(names);
}

/* Room for one more comes first, so that a number never is beyond the array. */
static const char *name_shown(struct cupti_names *names, const char *given, bool mangled)
{
    uint32_t count = intern_count(names->given), number;
    int result = 0;

    if (rows_grow(&names->demangled, (int64_t)count + 1, &names->room) != STATUS_OK ||
        intern_add(names->given, given, strlen(given), &number) != STATUS_OK)
        return "[no memory for its name]";
    if (number == count)
        names->demangled[number] =
            mangled && names->demangle != NULL ? names->demangle(given, NULL, NULL, &result) : NULL;
    return names->demangled[number] != NULL ? names->demangled[number]
                                            : intern_text(names->given, number);
}

const char *cupti_names_kernel(struct cupti_names *names, const char *mangled)
{
    /* Anything else would be read as a type: "f" as float. */
    return mangled == NULL ? "[unnamed kernel]"
                           : name_shown(names, mangled, strncmp(mangled, "_Z", 2) == 0);
}

const char *cupti_names_plain(struct cupti_names *names, const char *name)
{
    return name_shown(names, name, false);
}
