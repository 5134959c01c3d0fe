/* A folder stands for the traces in it, sorted by name with numbers as numbers, or for those of the
 * run that it is of. Snapshots are told from traces by their first bytes, and taken out of the list
 * of paths, so that the rest of it is traces. */
#include "harness/cli/traces/trace_paths.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/cli/traces/record_folder.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/read/reader.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char RESULT[] = "result.json";

static enum status add_path(struct trace_paths *paths, const char *path)
{
    char *copy;

    TRY(rows_grow(&paths->items, paths->count + 1, &paths->room));
    TRY(text_make(&copy, "%s", path));
    paths->items[paths->count++] = copy;

    return STATUS_OK;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

#define PICKLE ".pickle"

/* `run` and `record` each write a file of JSON beside the traces, which is no trace. */
static int is_trace_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, RESULT) != 0 &&
           strcmp(entry->d_name, RECORD_FOLDER_FILE) != 0 &&
           (formats_have_ending(trace_formats, entry->d_name) || ends_in(entry->d_name, PICKLE));
}

/* The name by which a file is sorted: numbers count as numbers, and the variant before the fix
 * comes first. For that "a.after.json" is sorted as "a.before.~json": '~' is behind every letter.
 */
static void sorted_as(char key[NAME_MAX + 8], const char *name)
{
    static const char last[] = ".after.", first[] = ".before.";
    const char *variant = strstr(name, last);

    if (variant != NULL)
        snprintf(key, NAME_MAX + 8, "%.*s%s~%s", (int)(variant - name), name, first,
                 variant + sizeof last - 1);
    else
        snprintf(key, NAME_MAX + 8, "%s", name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    char key_a[NAME_MAX + 8], key_b[NAME_MAX + 8];

    sorted_as(key_a, (*a)->d_name);
    sorted_as(key_b, (*b)->d_name);
    return strverscmp(key_a, key_b);
}

static enum status join(char path[PATH_MAX], const char *folder, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s%s%s", folder, ends_in(folder, "/") ? "" : "/", name) >=
        PATH_MAX)
        FAIL(STATUS_BAD_INPUT, "%.60s.../%s is too long a path", folder, name);

    return STATUS_OK;
}

/* Pickles hold anything: those that are snapshots count. */
static enum status add_wanted(struct trace_paths *paths, const char *path)
{
    bool is_wanted = is_regular_file(path) && !ends_in(path, PICKLE);

    if (paths->takes_snapshots && ends_in(path, PICKLE))
        TRY(snapshot_is(&is_wanted, path));
    return is_wanted ? add_path(paths, path) : STATUS_OK;
}

static enum status add_files(struct trace_paths *paths, const char *folder)
{
    enum status status = STATUS_OK;
    struct dirent **entries = NULL;
    char path[PATH_MAX], endings[FORMAT_ENDINGS_TEXT];
    int count = scandir(folder, &entries, is_trace_name, by_name), before = paths->count;

    if (count < 0)
        FAIL_OUT(STATUS_BAD_INPUT, "the folder %s cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        TRY_OUT(join(path, folder, entries[i]->d_name));
        TRY_OUT(add_wanted(paths, path));
    }
    formats_endings(endings, trace_formats);
    if (paths->count == before)
        FAIL_OUT(STATUS_BAD_INPUT, "the folder %s has no traces: no file in it ends in %s", folder,
                 endings);

out:
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}

/* A folder that `run` wrote has them below it. */
static enum status add_folder(struct trace_paths *paths, const char *folder)
{
    char result[PATH_MAX], traces[PATH_MAX], name[RESULT_TRACES_NAME];

    TRY(join(result, folder, RESULT));
    if (access(result, F_OK) != 0)
        return add_files(paths, folder);
    result_traces_in(name, folder);
    TRY(join(traces, folder, name[0] != '\0' ? name : RESULT_TRACES));
    if (!is_folder(traces))
        FAIL(STATUS_BAD_INPUT, "%s has no traces beside it: it was made with --no-trace or --aa",
             result);
    TRY(add_files(paths, traces));

    return STATUS_OK;
}

/* A run into a folder that has traces writes its own beside them, into "traces-2", and then removes
 * the others: so the name that was typed for the run before is looked up where this run's traces
 * are. */
static enum status add_file(struct trace_paths *paths, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char folder[PATH_MAX], below[PATH_MAX], moved[PATH_MAX], traces[RESULT_TRACES_NAME];

    if (slash == NULL || access(path, F_OK) == 0)
        return add_path(paths, path);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    slash = strrchr(folder, '/');
    if (strcmp(slash != NULL ? slash + 1 : folder, RESULT_TRACES) != 0)
        return add_path(paths, path);
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - folder) + 1 : 2,
             slash != NULL ? path : "./");
    result_traces_in(traces, folder);
    if (traces[0] == '\0')
        return add_path(paths, path);
    TRY(join(below, folder, traces));
    TRY(join(moved, below, name));
    TRY(add_path(paths, access(moved, F_OK) == 0 ? moved : path));

    return STATUS_OK;
}

static enum status add_argument(struct trace_paths *paths, const char *argument)
{
    const char *slash = strrchr(argument, '/'), *name = slash != NULL ? slash + 1 : argument;
    char folder[PATH_MAX];

    if (strcmp(argument, "-") == 0)
        return add_path(paths, "/dev/stdin");
    if (is_folder(argument))
        return add_folder(paths, argument);
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - argument) : 1,
             slash != NULL ? argument : ".");
    if (strcmp(name, RESULT) == 0 && access(argument, F_OK) == 0)
        return add_folder(paths, folder);
    TRY(add_file(paths, argument));

    return STATUS_OK;
}

enum status trace_paths_make(struct trace_paths *paths, const char *const *arguments, int count,
                             void (*skip)(void *context), void *context)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < count; i++) {
        status = add_argument(paths, arguments[i]);
        if (status == STATUS_BAD_INPUT && skip != NULL) {
            paths->skipped++;
            skip(context);
            status = STATUS_OK;
        }
        TRY_OUT(status);
    }

out:
    return status;
}

void trace_paths_release(struct trace_paths *paths)
{
    for (int i = 0; i < paths->count; i++) free((char *)paths->items[i]);
    free(paths->items);
    *paths = (struct trace_paths){ .count = 0 };
}

/* --- Lines of code, from traces with stacks beside the others --- */

enum status stack_lines_take(struct stack_lines *lines, struct diagnosis *diagnosis,
                             diagnosis_skip *skip, void *context)
{
    char path[PATH_MAX];

    TRY(rows_make(&lines->paths, diagnosis->count));
    lines->count = diagnosis->count;
    for (int i = 0; i < diagnosis->count; i++)
        if (record_folder_stacks(path, diagnosis->paths[i]))
            TRY(text_make((char **)&lines->paths[i], "%s", path));
    return diagnosis_take_lines(diagnosis, lines->paths, skip, context);
}

void stack_lines_release(struct stack_lines *lines)
{
    for (int i = 0; lines->paths != NULL && i < lines->count; i++) free((char *)lines->paths[i]);
    free(lines->paths);
    *lines = (struct stack_lines){ .count = 0 };
}

/* --- Snapshots --- */

/* Only a regular file can be looked into before it is read. If it cannot be read, whoever does so
 * says why. */
enum status snapshot_is(bool *is, const char *path)
{
    enum status status = STATUS_OK;
    struct read_ahead *text = NULL;
    const char *bytes;
    size_t count;

    *is = false;
    if (!is_regular_file(path))
        return STATUS_OK;
    TRY_OUT(read_ahead_open(&text, path));
    TRY_OUT(read_ahead_window(text, 0, &bytes, &count));
    *is = file_is_snapshot(bytes, count);

out:
    read_ahead_close(text);
    return status == STATUS_OUT_OF_MEMORY ? status : STATUS_OK;
}

enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths)
{
    int kept = 0;

    TRY(rows_make(&snapshots->paths, paths->count));
    for (int i = 0; i < paths->count; i++) {
        bool is_snapshot;
        TRY(snapshot_is(&is_snapshot, paths->items[i]));
        if (is_snapshot)
            snapshots->paths[snapshots->path_count++] = paths->items[i];
        else
            paths->items[kept++] = paths->items[i];
    }
    paths->count = kept;

    return STATUS_OK;
}

void snapshots_release(struct snapshots *snapshots)
{
    for (int i = 0; i < snapshots->path_count; i++) free((char *)snapshots->paths[i]);
    for (int i = 0; i < snapshots->count; i++) snapshot_release(&snapshots->files[i].snapshot);
    free(snapshots->paths);
    free(snapshots->files);
    *snapshots = (struct snapshots){ .count = 0 };
}

enum status snapshots_read(struct snapshots *snapshots, void (*skip)(void *context), void *context)
{
    TRY(rows_make(&snapshots->files, snapshots->path_count));
    for (int i = 0; i < snapshots->path_count; i++) {
        struct snapshot_file *file = &snapshots->files[snapshots->count];
        enum status status = snapshot_read(&file->snapshot, snapshots->paths[i]);
        file->path = snapshots->paths[i];
        if (status == STATUS_OK) {
            snapshots->count++;
            continue;
        }
        snapshot_release(&file->snapshot);
        if (skip == NULL)
            return status;
        skip(context);
    }
    return STATUS_OK;
}

static bool passes(const struct page *page, const struct snapshot_file *file,
                   const struct snapshot_device *device, enum severity level)
{
    bool passes = true;

    for (int i = 0; i < device->finding_count; i++) {
        const struct snapshot_finding *finding = &device->findings[i];
        enum severity severity = finding->is_critical ? SEVERITY_CRITICAL : SEVERITY_MAJOR;
        if (severity < level)
            continue;
        page_paragraph(page, INK_BAD, "Not passed: %s (%s) of device %lld in %s", finding->id,
                       severity_name(severity), (long long)device->device, file->path);
        passes = false;
    }
    return passes;
}

bool snapshots_pass(const struct page *page, const struct snapshots *snapshots,
                    const struct snapshot_file *joined, enum severity level)
{
    bool all = true;

    for (int i = 0; i < snapshots->count; i++)
        for (int j = 0; j < snapshots->files[i].snapshot.device_count; j++)
            if (&snapshots->files[i] != joined)
                all &= passes(page, &snapshots->files[i], &snapshots->files[i].snapshot.devices[j],
                              level);
    return all;
}
