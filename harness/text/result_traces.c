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

static void add_folder(struct result_traces *traces, const char *path)
{
    char name[RESULT_TRACES_NAME];
    size_t length = path != NULL ? strcspn(path, "/") : sizeof name;

    if (length >= sizeof name || traces->count == RESULT_TRACES_MOST)
        return;
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    for (int i = 0; i < traces->count; i++)
        if (strcmp(traces->names[i], name) == 0)
            return;
    if (result_traces_is_folder(name))
        memcpy(traces->names[traces->count++], name, sizeof name);
}

struct result_traces result_traces_of(const cJSON *scenarios)
{
    struct result_traces traces = { .count = 0 };
    const cJSON *scenario;

    cJSON_ArrayForEach(scenario, scenarios)
    {
        add_folder(&traces, result_trace_path(scenario, "before"));
        add_folder(&traces, result_trace_path(scenario, "after"));
    }
    return traces;
}

struct result_traces result_traces_in(const char *path)
{
    struct result_traces traces = { .count = 0 };
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cJSON *root = NULL;

    if (descriptor < 0)
        return traces;
    if (result_json_read(&root, descriptor, "result.json"))
        traces = result_traces_of(benchmark_scenarios(root));
    cJSON_Delete(root);
    close(descriptor);
    return traces;
}

bool result_traces_find(char path[PATH_MAX], const char *folder, const char *name)
{
    struct result_traces traces = result_traces_in(folder);

    for (int i = 0; i < traces.count; i++)
        if (snprintf(path, PATH_MAX, "%s/%s/%s", folder, traces.names[i], name) < PATH_MAX &&
            access(path, R_OK) == 0)
            return true;
    return false;
}
