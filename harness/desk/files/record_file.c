/* The file is read through a descriptor of its folder, which follows no link: whoever may write
 * there could plant one. */
#include "harness/desk/files/record_file.h"

#include "harness/base/system/files.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool record_file_names(const cJSON *process, const char *trace)
{
    const cJSON *part;

    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(process, "parts"))
    {
        if (strcmp(json_text_of(part, "file"), trace) == 0)
            return true;
    }
    return strcmp(json_text_of(process, "writing"), trace) == 0;
}

bool record_file_program(struct program_times *times, const char *trace)
{
    const char *slash = strrchr(trace, '/'), *name = slash != NULL ? slash + 1 : trace;
    char path[PATH_MAX];
    cJSON *record = NULL, *process;
    bool found = false;
    int folder;

    if (snprintf(path, sizeof path, "%.*s.", slash != NULL ? (int)(slash - trace) + 1 : 0, trace) >=
        (int)sizeof path)
        return false;
    folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || !result_json_read(&record, folder, RECORD_FILE))
        record = NULL;
    if (folder >= 0)
        close(folder);
    cJSON_ArrayForEach(process, cJSON_GetObjectItemCaseSensitive(record, "processes"))
    {
        if (!found && record_file_names(process, name))
            found = program_times_read(times, cJSON_GetObjectItemCaseSensitive(process, "program"));
    }
    cJSON_Delete(record);
    return found;
}

bool record_file_stacks(char path[PATH_MAX], const char *trace)
{
    const char *slash = strrchr(trace, '/');
    int folder = slash != NULL ? (int)(slash - trace) + 1 : 0;

    return snprintf(path, PATH_MAX, "%.*s%s/%s", folder, trace, RECORD_STACKS, trace + folder) <
               PATH_MAX &&
           is_regular_file(path);
}
