/* A result file may come from somebody else, so a path in it counts only if it stays below the
 * folder of the file and leads to a regular file. */
#include "harness/text/result_traces.h"

#include "harness/base/system/files.h"
#include "harness/text/benchmark_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool result_traces_is_folder(const char *name)
{
    size_t length = strlen(RESULT_TRACES);

    if (strncmp(name, RESULT_TRACES, length) != 0)
        return false;
    if (name[length] == '\0')
        return true;
    return name[length] == '-' && name[length + 1] != '\0' &&
           strspn(name + length + 1, "0123456789") == strlen(name + length + 1);
}

bool result_json_read(cJSON **root, int folder, const char *name)
{
    int descriptor = regular_file_open(folder, name);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    char *text = NULL;
    size_t room = 0;

    *root = NULL;
    if (file == NULL)
        return false;
    if (getdelim(&text, &room, '\0', file) > 0)
        *root = cJSON_Parse(text);
    fclose(file);
    free(text);
    return true;
}

const char *result_trace_path(const cJSON *scenario, const char *variant)
{
    const cJSON *traces = cJSON_GetObjectItemCaseSensitive(scenario, "traces");

    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(traces, variant));
}

static bool leads_out(const char *name)
{
    for (; *name != '\0'; name += strspn(name, "/")) {
        size_t length = strcspn(name, "/");
        if (length == 0 || (length == 2 && strncmp(name, "..", 2) == 0))
            return true;
        name += length;
    }
    return false;
}

bool result_trace_is_beside(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);

    return name[0] != '\0' && !leads_out(name) && length > 0 && length < PATH_MAX &&
           is_regular_file(path);
}

void result_traces_name(char name[RESULT_TRACES_NAME], const cJSON *scenarios)
{
    static const char *const variants[] = { "before", "after" };
    const cJSON *scenario;

    name[0] = '\0';
    cJSON_ArrayForEach(scenario, scenarios)
    {
        for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
            const char *path = result_trace_path(scenario, variants[v]);
            char folder[RESULT_TRACES_NAME];
            size_t length = path != NULL ? strcspn(path, "/") : sizeof folder;
            if (length >= sizeof folder)
                continue;
            snprintf(folder, sizeof folder, "%.*s", (int)length, path);
            if (result_traces_is_folder(folder))
                memcpy(name, folder, sizeof folder);
        }
    }
}

void result_traces_in(char name[RESULT_TRACES_NAME], const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cJSON *root = NULL;

    name[0] = '\0';
    if (descriptor < 0)
        return;
    if (result_json_read(&root, descriptor, "result.json"))
        result_traces_name(name, benchmark_scenarios(root));
    cJSON_Delete(root);
    close(descriptor);
}
