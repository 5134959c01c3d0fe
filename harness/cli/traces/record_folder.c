#include "harness/cli/traces/record_folder.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/own_file.h"
#include "harness/base/words/ends_in.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char NOTES[] = "notes", STACKS[] = "stacks";

enum { SCHEMA = 1 };

/* --- The folder --- */

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int is_trace(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".pt.trace.json.gz");
}

static int is_note(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".json") || ends_in(entry->d_name, ".json.new");
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
}

static int count_entries(const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_entry, NULL);

    free_entries(entries, count);
    return count;
}

/* Removes the files that `wanted` chooses in a folder below, "" for the folder itself, and the
 * folder below. */
static void remove_files(const char *folder, const char *below,
                         int (*wanted)(const struct dirent *entry))
{
    char path[PATH_MAX], name[PATH_MAX];
    struct dirent **entries = NULL;
    int count;

    if (snprintf(path, sizeof path, "%s/%s", folder, below) >= PATH_MAX)
        return;
    count = scandir(path, &entries, wanted, NULL);
    for (int i = 0; i < count; i++)
        if (snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name) < PATH_MAX)
            unlink(name);
    free_entries(entries, count);
    if (below[0] != '\0')
        rmdir(path);
}

enum status record_folder_begin(const char *folder)
{
    char record[PATH_MAX];
    struct stat about;
    int count;

    if (snprintf(record, sizeof record, "%s/%s", folder, RECORD_FOLDER_FILE) >= PATH_MAX)
        FAIL(STATUS_BAD_USAGE, "%.60s... is too long a path", folder);
    TRY(atomic_file_create_folder(folder));
    count = count_entries(folder);
    if (count < 0)
        FAIL(STATUS_IO, "the folder %s cannot be read: %s", folder, strerror(errno));
    if (count > 0 && lstat(record, &about) != 0)
        FAIL(STATUS_BAD_USAGE,
             "the folder %s holds other files than a recording: name another one with --traces",
             folder);
    remove_files(folder, STACKS, is_trace);
    remove_files(folder, NOTES, is_note);
    remove_files(folder, "", is_trace);
    /* It marks the folder as a recording, if this one is cut off. */
    return atomic_file_write(record, "{}\n", 3);
}

/* --- The notes --- */

static int int_of(const cJSON *object, const char *name)
{
    double value = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));

    return value > -1e9 && value < 1e9 ? (int)value : 0;
}

static bool is_phase(const cJSON *note, const char *phase)
{
    return strcmp(json_text_of(note, "phase"), phase) == 0;
}

/* A process that imported PyTorch. Others are helpers: pip, a launcher, a compiler. */
static bool used_torch(const cJSON *note)
{
    return json_text_of(note, "torch")[0] != '\0';
}

/* It stepped, or something went wrong. Workers of a loader import PyTorch and do neither. */
static bool trained(const cJSON *note)
{
    return int_of(note, "optimizer_steps") > 0 || int_of(note, "fetches") > 0 ||
           int_of(note, "calls") > 0 || is_phase(note, "failed") || is_phase(note, "own profiler");
}

static int count_parts(const cJSON *note)
{
    return cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(note, "parts"));
}

/* Notes by name, which is the process. */
static enum status take_notes(struct json *json, cJSON *processes, const char *folder)
{
    char path[PATH_MAX], name[PATH_MAX];
    struct dirent **entries = NULL;
    int count;

    if (snprintf(path, sizeof path, "%s/%s", folder, NOTES) >= PATH_MAX)
        FAIL(STATUS_BAD_USAGE, "%.60s... is too long a path", folder);
    count = scandir(path, &entries, is_note, versionsort);
    for (int i = 0; i < count; i++) {
        cJSON *note;
        if (snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name) >= PATH_MAX)
            continue;
        if (!result_json_read(&note, AT_FDCWD, name))
            continue;
        if (note != NULL && used_torch(note) && !cJSON_AddItemToArray(processes, note)) {
            cJSON_Delete(note);
            json->out_of_memory = true;
        } else if (note != NULL && !used_torch(note)) {
            cJSON_Delete(note);
        }
    }
    free_entries(entries, count);
    return STATUS_OK;
}

/* --- Sentences --- */

static void print_ending(FILE *to, int wait_status)
{
    if (WIFSIGNALED(wait_status))
        fprintf(to, "ended by signal %d (%s)", WTERMSIG(wait_status),
                strsignal(WTERMSIG(wait_status)));
    else
        fprintf(to, "ended with exit code %d", WEXITSTATUS(wait_status));
}

/* False: all is there. */
static bool print_why(FILE *to, const cJSON *note, const struct recorded_program *program)
{
    const char *why = json_text_of(note, "why");

    if (is_phase(note, "done") || (is_phase(note, "timing") && count_parts(note) > 0))
        return false;
    fprintf(to, "chokepoint record: process %d: ", int_of(note, "pid"));
    if (why[0] != '\0') {
        fputs(why, to);
    } else {
        fputs("the process was ", to);
        print_ending(to, program->wait_status);
        fprintf(to, " %s, without Python's usual end",
                is_phase(note, "recording") ? "during the recording" : "before the recording");
    }
    fputs("\n", to);
    return true;
}

static void print_nothing(FILE *to, const cJSON *processes, const struct recorded_program *command,
                          bool any_note)
{
    fputs("chokepoint record: nothing was recorded: ", to);
    if (any_note && cJSON_GetArraySize(processes) == 0)
        fputs("the program imported no PyTorch", to);
    else if (any_note)
        fputs(json_text_of(cJSON_GetArrayItem(processes, 0), "why"), to);
    else
        fprintf(to,
                "%s ran without the recorder: it is no Python of 3.8 or later, or Python was "
                "started with -I, -E, -S or a new PYTHONPATH, or it ended at once",
                command->words[0]);
    fputs("\n", to);
}

/* --- The end --- */

static void command_json(struct json *json, cJSON *root, const struct recorded_program *command)
{
    cJSON *words = json_array(json, root, "command");

    for (int i = 0; command->words[i] != NULL; i++) json_text(json, words, NULL, command->words[i]);
    if (WIFSIGNALED(command->wait_status))
        json_integer(json, root, "signal", WTERMSIG(command->wait_status));
    else
        json_integer(json, root, "exit_code", WEXITSTATUS(command->wait_status));
}

static int say(FILE *to, const cJSON *processes, const struct recorded_program *command,
               bool any_note)
{
    const cJSON *note;
    int traces = 0;
    bool said = false;

    cJSON_ArrayForEach(note, processes)
    {
        traces += count_parts(note) > 0;
        if (trained(note))
            said |= print_why(to, note, command);
    }
    if (traces == 0 && !said)
        print_nothing(to, processes, command, any_note);
    return traces;
}

enum status record_folder_end(const char *folder, const struct recorded_program *command, FILE *to,
                              int *traces)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL), *processes;
    char path[PATH_MAX], *text = NULL;

    snprintf(path, sizeof path, "%s/%s", folder, NOTES);
    json_integer(&json, root, "schema", SCHEMA);
    command_json(&json, root, command);
    processes = json_array(&json, root, "processes");
    TRY_OUT(take_notes(&json, processes, folder));
    *traces = say(to, processes, command, count_entries(path) > 0);
    TRY_OUT(json_print(&json, root, &text));
    snprintf(path, sizeof path, "%s/%s", folder, RECORD_FOLDER_FILE);
    TRY_OUT(atomic_file_write(path, text, strlen(text)));
    remove_files(folder, NOTES, is_note);

out:
    free(text);
    cJSON_Delete(root);
    return status;
}

bool record_folder_stacks(char path[PATH_MAX], const char *trace)
{
    const char *slash = strrchr(trace, '/');
    int folder = slash != NULL ? (int)(slash - trace) + 1 : 0;

    return snprintf(path, PATH_MAX, "%.*s%s/%s", folder, trace, STACKS, trace + folder) <
               PATH_MAX &&
           is_regular_file(path);
}
