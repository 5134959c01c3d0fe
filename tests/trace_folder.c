#include "tests/trace_folder.h"

#include "tests/cmocka_prelude.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "test-trace-XXXXXX";

int trace_folder_open(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

const char *trace_folder_path(const char *name)
{
    static char path[sizeof folder + 40];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

int trace_folder_files(void)
{
    DIR *open = opendir(folder);
    int count = -2; /* . and .. */

    assert_non_null(open);
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count;
}

int trace_folder_remove(void **state)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;
    (void)state;

    while ((entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.')
            unlink(trace_folder_path(entry->d_name));
    closedir(open);
    return rmdir(folder);
}
