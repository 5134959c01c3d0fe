/* Small files are opened anew for each fact: they are read seldom, and may change. */
#include "harness/base/facts/system_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *system_file_open(const char *root, const char *path)
{
    char name[PATH_MAX];

    snprintf(name, sizeof name, "%s%s", root, path);
    return fopen(name, "re");
}

bool system_file_line(const char *root, const char *path, char *line, size_t size)
{
    FILE *file = system_file_open(root, path);
    bool found;

    line[0] = '\0';
    if (file == NULL)
        return false;
    found = fgets(line, (int)size, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return found;
}

bool system_file_key(const char *root, const char *path, const char *key, char *value, size_t size)
{
    FILE *file = system_file_open(root, path);
    size_t length = strlen(key), room = 0;
    bool found = false;
    char *line = NULL;

    value[0] = '\0';
    if (file == NULL)
        return false;
    while (!found && getline(&line, &room, file) >= 0) {
        char *rest = line + length;
        if (strncmp(line, key, length) != 0 || strchr(" \t:", *rest) == NULL)
            continue;
        rest += strspn(rest, " \t:");
        rest[strcspn(rest, "\n")] = '\0';
        snprintf(value, size, "%s", rest);
        found = true;
    }
    free(line);
    fclose(file);
    return found;
}
