#include "harness/base/programs/find_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool find_program(char path[PATH_MAX], const char *name)
{
    const char *folder = getenv("PATH");

    while (folder != NULL && *folder != '\0') {
        size_t length = strcspn(folder, ":");
        int printed = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folder, name);
        if (printed > 0 && printed < PATH_MAX && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}
