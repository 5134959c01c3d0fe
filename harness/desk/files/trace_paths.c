/* A folder stands for the traces in it, sorted by name with numbers as numbers, or else for those
 * in its folders, or for those of the run that it is of. Snapshots are told from traces by their
 * first bytes, and taken out of the list of paths, so that the rest of it is traces. */
#include "harness/desk/files/trace_paths.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/desk/files/record_file.h"
#include "harness/desk/read/foreign_files.h"
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
static bool is_trace_name(const char *name)
{
    return strcmp(name, RESULT) != 0 && strcmp(name, RECORD_FILE) != 0 &&
           (formats_have_ending(trace_formats, name) || ends_in(name, PICKLE));
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
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

/* Ascend's NAME_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json has other files of JSON around
 * it. */
static enum status add_ascend(struct trace_paths *paths, const char *folder)
{
    static const char *const names[] = { "trace_view.json",
                                         "ASCEND_PROFILER_OUTPUT/trace_view.json" };
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        TRY(join(path, folder, names[i]));
        if (is_regular_file(path))
            return add_path(paths, path);
    }
    return STATUS_OK;
}

struct folder_scan {
    struct trace_paths *paths;
    const struct foreign_file *foreign; /* of the first file whose name tells that it is no trace */
};

static enum status add_entry(struct folder_scan *scan, const char *folder, const char *name)
{
    char path[PATH_MAX];

    if (!is_trace_name(name)) {
        scan->foreign = scan->foreign == NULL ? foreign_file("", 0, name) : scan->foreign;
        return STATUS_OK;
    }
    TRY(join(path, folder, name));
    return add_wanted(scan->paths, path);
}

/* If a folder has no traces, those in its folders, `levels` deep; TensorBoard's
 * plugins/profile is no level. */
static enum status add_files(struct folder_scan *scan, const char *folder, int levels)
{
    enum status status = STATUS_OK;
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    int count = scandir(folder, &entries, is_shown, by_name), before = scan->paths->count;
    bool has_ascend;

    if (count < 0)
        FAIL_OUT(STATUS_BAD_INPUT, "the folder %s cannot be read: %s", folder, strerror(errno));
    TRY_OUT(add_ascend(scan->paths, folder));
    has_ascend = scan->paths->count > before;
    for (int i = 0; i < count && !has_ascend; i++)
        TRY_OUT(add_entry(scan, folder, entries[i]->d_name));
    for (int i = 0, none = scan->paths->count == before; i < count && none; i++) {
        const char *name = entries[i]->d_name;
        bool is_way = strcmp(name, "plugins") == 0 || strcmp(name, "profile") == 0;
        int below = is_way ? levels : levels - 1;
        TRY_OUT(join(path, folder, name));
        if (below >= 0 && is_folder(path) && access(path, R_OK | X_OK) == 0)
            TRY_OUT(add_files(scan, path, below));
    }

out:
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}

static enum status add_traces(struct trace_paths *paths, const char *folder)
{
    struct folder_scan scan = { .paths = paths };
    char endings[FORMAT_ENDINGS_TEXT];
    int before = paths->count;

    TRY(add_files(&scan, folder, 1));
    if (paths->count > before)
        return STATUS_OK;
    if (scan.foreign != NULL)
        FAIL(STATUS_BAD_INPUT, "the folder %s has no traces, but %s: %s", folder,
             scan.foreign->name, scan.foreign->instead);
    formats_endings(endings, trace_formats);
    FAIL(STATUS_BAD_INPUT,
         "the folder %s has no traces: no file in it, or in a folder in it, ends in %s", folder,
         endings);
}

/* A folder that `run` wrote has them below it. */
static enum status add_folder(struct trace_paths *paths, const char *folder)
{
    char result[PATH_MAX], path[PATH_MAX];
    struct result_traces traces;

    TRY(join(result, folder, RESULT));
    if (access(result, F_OK) != 0)
        return add_traces(paths, folder);
    traces = result_traces_in(folder);
    if (traces.count == 0)
        snprintf(traces.names[traces.count++], RESULT_TRACES_NAME, "%s", RESULT_TRACES);
    for (int i = 0; i < traces.count; i++) {
        TRY(join(path, folder, traces.names[i]));
        if (!is_folder(path))
            FAIL(STATUS_BAD_INPUT,
                 "%s has no traces beside it: it was made with --no-trace or --aa", result);
        TRY(add_traces(paths, path));
    }

    return STATUS_OK;
}

/* A run that measures a scenario anew writes its traces beside the older ones, into "traces-2", and
 * then removes those: so the name that was typed for the run before is looked up where the result
 * has it. */
static enum status add_file(struct trace_paths *paths, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char folder[PATH_MAX], moved[PATH_MAX];

    if (slash == NULL || access(path, F_OK) == 0)
        return add_path(paths, path);
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    slash = strrchr(folder, '/');
    if (strcmp(slash != NULL ? slash + 1 : folder, RESULT_TRACES) != 0)
        return add_path(paths, path);
    snprintf(folder, sizeof folder, "%.*s",
             slash != NULL && slash > folder ? (int)(slash - folder) : 1,
             slash != NULL ? path : ".");
    return add_path(paths, result_traces_find(moved, folder, name) ? moved : path);
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
    return add_file(paths, argument);
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
        if (record_file_stacks(path, diagnosis->paths[i]))
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

bool snapshots_pass(const struct page *page, const struct diagnosis *diagnosis, enum severity level)
{
    bool all = true;

    for (int i = 0; i < diagnosis->snapshot_count; i++) {
        const struct snapshot_file *file = &diagnosis->snapshots[i];
        for (int j = 0; j < file->snapshot.device_count; j++)
            if (file != diagnosis->joined)
                all &= passes(page, file, &file->snapshot.devices[j], level);
    }
    return all;
}
