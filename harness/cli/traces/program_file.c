/* Scripts are looked up beside the program. */
#include "harness/cli/traces/user_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 2 };

/* As seen from the program: where it was built, and installed. */
static const char *const folders[FOLDERS] = { "scripts", "../share/chokepoint" };

enum status program_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (length <= 0)
        FAIL(STATUS_IO, "/proc/self/exe cannot be read: %s", strerror(errno));
    path[length] = '\0';
    return STATUS_OK;
}

enum status program_file_find(char path[PATH_MAX], const char *name)
{
    char program[PATH_MAX];
    int folder;

    TRY(program_path(program));
    folder = (int)(strrchr(program, '/') - program);
    for (int i = 0; i < FOLDERS; i++)
        if (snprintf(path, PATH_MAX, "%.*s/%s/%s", folder, program, folders[i], name) < PATH_MAX &&
            access(path, R_OK) == 0)
            return STATUS_OK;
    FAIL(STATUS_NO_LIBRARY,
         "%s is not in %.*s/scripts nor in %.*s/../share/chokepoint: build or install the "
         "program again",
         name, folder, program, folder, program);
}
