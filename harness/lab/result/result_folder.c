/* Folders of traces are made and removed relative to the open folder, which may be moved meanwhile.
 * A file is removed only if its name is one that a run gives, and never through a link. */
#include "harness/lab/result/result_file.h"

#include "harness/base/clock.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"
#include "harness/lab/experiment/rank_trace.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/json.h"
#include "scenarios/scenario.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLDERS_MOST = 1000, /* traces-2 to traces-1000 */
    LISTED_TEXT = (RESULT_TRACES_MOST + 1) * (RESULT_TRACES_NAME + 1),
    LOCK_FD = 10, /* at least: below are those that a child process is given */
    LOCK_WAIT_MS = 50,
};

/* For a run that was killed: its child keeps the lock until it is gone too, which takes a GPU a
 * moment. */
static const int64_t LOCK_PATIENCE_NS = 2000000000;

/* --- Folders of traces --- */

/* Whether a run calls a trace so, or what becomes one. A result names the trace of the first rank
 * alone, so the rank is left out on both sides. */
static bool is_trace(const char *given)
{
    char name[NAME_MAX + 1];

    rank_trace_given(name, given);
    for (int i = 0; scenarios[i] != NULL; i++)
        for (int v = 0; v < VARIANT_COUNT; v++) {
            char trace[128];
            snprintf(trace, sizeof trace, "%s.%s.json.gz", scenarios[i]->name,
                     variant_name((enum variant)v));
            if (strcmp(name, trace) == 0 || atomic_file_is_temporary(name, trace))
                return true;
        }
    return false;
}

static bool is_named(const cJSON *all, const char *traces, const char *given)
{
    const cJSON *scenario;
    char path[NAME_MAX + 64], name[NAME_MAX + 1], named[NAME_MAX + 1];

    rank_trace_given(name, given);
    snprintf(path, sizeof path, "%s/%s", traces, name);
    cJSON_ArrayForEach(scenario, all)
    {
        for (int v = 0; v < VARIANT_COUNT; v++) {
            const char *one = result_trace_path(scenario, variant_name((enum variant)v));
            rank_trace_given(named, one != NULL ? one : "");
            if (strcmp(named, path) == 0)
                return true;
        }
    }
    return false;
}

/* Removes the traces that `all` do not name, and the folder if nothing is left. */
static void remove_traces(const struct result_folder *folder, const char *traces, const cJSON *all)
{
    int descriptor =
        openat(folder->descriptor, traces, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = descriptor >= 0 ? fdopendir(descriptor) : NULL;

    if (stream == NULL) {
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        if (is_trace(entry->d_name) && !is_named(all, traces, entry->d_name))
            unlinkat(descriptor, entry->d_name, 0);
    closedir(stream);
    unlinkat(folder->descriptor, traces, AT_REMOVEDIR);
}

/* --- The results that are there --- */

static const cJSON *context_of(const cJSON *root)
{
    return cJSON_GetObjectItemCaseSensitive(root, "context");
}

/* Whether both were measured on the same machine, by the same build. */
static bool is_same(const cJSON *one, const cJSON *other)
{
    static const char *const facts[] = { "host_name",         "cpu_model", "device_name",
                                         "device_index",      "commit",    "library_version",
                                         "library_build_type" };

    for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
        if (strcmp(json_text_of(one, facts[i]), json_text_of(other, facts[i])) != 0)
            return false;
    return true;
}

/* A file that is not ours is refused: the rename would delete it. */
static enum status read_older(struct result_folder *folder)
{
    cJSON **root = &folder->older;
    const char *date;

    if (!result_json_read(root, folder->descriptor, "result.json")) {
        if (errno == ENOENT)
            return STATUS_OK;
        FAIL(STATUS_IO, "cannot read %s/result.json: %s; choose another folder", folder->path,
             strerror(errno));
    }
    if (benchmark_scenarios(*root) == NULL)
        FAIL(STATUS_IO,
             "%s/result.json is not a result of chokepoint run and would be lost; choose another "
             "folder",
             folder->path);
    date = json_text_of(context_of(*root), "date");
    snprintf(folder->date, sizeof folder->date, "%s", date[0] != '\0' ? date : "an unknown date");
    utf8_show(folder->date);
    folder->listed = result_traces_of(benchmark_scenarios(*root));

    return STATUS_OK;
}

/* --- run.lock --- */

static enum status lock_failed(const struct result_folder *folder, int error)
{
    return status_fail(STATUS_IO, __FILE__, __LINE__, "cannot write %s/run.lock: %s; %s",
                       folder->path, strerror(error), atomic_file_advice(error));
}

static enum status open_lock(struct result_folder *folder)
{
    enum status status = STATUS_OK;
    int low = own_file_open(folder->descriptor, "run.lock", O_RDWR);

    folder->lock = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, LOCK_FD) : -1;
    if (folder->lock < 0) /* EINVAL: no file may have so large a number */
        TRY_OUT(lock_failed(folder, errno == EINVAL ? EMFILE : errno));

out:
    if (low >= 0)
        close(low);
    return status;
}

/* Not every file system has locks. This is not the user's fault, and each file stays whole
 * without. */
static enum status take_lock(struct result_folder *folder)
{
    int64_t start_ns = clock_ns();

    for (;;) {
        TRY(open_lock(folder));
        if (flock(folder->lock, LOCK_EX | LOCK_NB) == 0) {
            if (own_file_is_there(folder->descriptor, "run.lock", folder->lock))
                break;
        } else if (errno != EWOULDBLOCK && errno != EINTR) {
            snprintf(folder->unlocked, sizeof folder->unlocked, "%s", strerror(errno));
            break;
        }
        close(folder->lock);
        folder->lock = -1; /* It is not ours. */
        if (clock_ns() - start_ns > LOCK_PATIENCE_NS)
            FAIL(STATUS_IO,
                 "another run is under way in %s; wait for its end or choose another folder",
                 folder->path);
        poll(NULL, 0, LOCK_WAIT_MS);
    }

    return STATUS_OK;
}

/* Removes what a killed run listed, but nothing that result.json names. */
static void remove_left(const struct result_folder *folder)
{
    const cJSON *all = benchmark_scenarios(folder->older);
    char text[LISTED_TEXT] = "", *next = text, *name;

    if (pread(folder->lock, text, sizeof text - 1, 0) <= 0)
        return;
    while ((name = strsep(&next, "\n")) != NULL)
        if (result_traces_is_folder(name))
            remove_traces(folder, name, all);
}

static enum status list_what_may_be_left(const struct result_folder *folder)
{
    char text[LISTED_TEXT] = "";

    for (int i = 0; i < folder->listed.count; i++)
        text_append(text, sizeof text, "%s\n", folder->listed.names[i]);
    text_append(text, sizeof text, "%s\n", folder->traces);
    if (ftruncate(folder->lock, 0) != 0 || lseek(folder->lock, 0, SEEK_SET) < 0 ||
        !write_all(folder->lock, text, strlen(text)))
        TRY(lock_failed(folder, errno));

    return STATUS_OK;
}

/* --- The whole --- */

/* Whether the results have the folder and name no trace in it that this run will write. */
static bool has_room(const struct result_folder *folder, const char *name, const bool *traced)
{
    const cJSON *all = benchmark_scenarios(folder->older);
    char trace[128];
    bool is_ours = false;

    for (int i = 0; i < folder->listed.count; i++)
        is_ours = is_ours || strcmp(folder->listed.names[i], name) == 0;
    for (int i = 0; scenarios[i] != NULL; i++)
        for (int v = 0; v < VARIANT_COUNT && traced[i]; v++) {
            snprintf(trace, sizeof trace, "%s.%s.json.gz", scenarios[i]->name,
                     variant_name((enum variant)v));
            is_ours = is_ours && !is_named(all, name, trace);
        }
    return is_ours;
}

/* The first name that is free, or of a folder that has room. It is listed before it is made. */
static enum status make_traces(struct result_folder *folder, const bool *traced)
{
    char name[sizeof folder->traces] = RESULT_TRACES;

    for (int i = 2; i <= FOLDERS_MOST; i++) {
        bool is_there = faccessat(folder->descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        if (is_there && has_room(folder, name, traced)) {
            memcpy(folder->traces, name, sizeof name);
            return STATUS_OK;
        }
        if (!is_there) {
            memcpy(folder->traces, name, sizeof name);
            TRY(list_what_may_be_left(folder));
            if (mkdirat(folder->descriptor, name, 0777) == 0)
                return STATUS_OK;
            folder->traces[0] = '\0';
            if (errno != EEXIST)
                FAIL(STATUS_IO, "cannot create the folder %s/%s: %s; %s", folder->path, name,
                     strerror(errno), atomic_file_advice(errno));
        }
        snprintf(name, sizeof name, RESULT_TRACES "-%d", i);
    }
    FAIL(STATUS_IO, "%s has %d folders of traces; choose another folder", folder->path,
         FOLDERS_MOST);
}

static void unlock(struct result_folder *folder)
{
    if (folder->lock >= 0) {
        unlinkat(folder->descriptor, "run.lock", 0); /* while it is locked, so that it is ours */
        close(folder->lock);
    }
    if (folder->descriptor >= 0)
        close(folder->descriptor);
    folder->lock = folder->descriptor = -1;
}

static enum status open_locked(struct result_folder *folder)
{
    TRY(atomic_file_create_folder(folder->path));
    folder->descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->descriptor < 0)
        FAIL(STATUS_IO, "cannot open the folder %s: %s; choose another", folder->path,
             strerror(errno));
    TRY(take_lock(folder));
    TRY(read_older(folder));
    if (folder->unlocked[0] == '\0')
        remove_left(folder);

    return STATUS_OK;
}

/* Moves the folder to the first name that is free, FOLDER.1, and begins anew. */
static enum status set_aside(struct result_folder *folder)
{
    int length = (int)strlen(folder->path), number = 1;

    while (length > 1 && folder->path[length - 1] == '/') length--;
    do snprintf(folder->aside, sizeof folder->aside, "%.*s.%d", length, folder->path, number++);
    while (faccessat(AT_FDCWD, folder->aside, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    unlock(folder);
    if (rename(folder->path, folder->aside) != 0) {
        folder->aside[0] = '\0';
        FAIL(
            STATUS_IO,
            "%s has results of another machine or build (%s) and cannot be moved aside: %s; choose "
            "another folder",
            folder->path, folder->date, strerror(errno));
    }
    cJSON_Delete(folder->older);
    folder->older = NULL;
    folder->listed.count = 0;
    return open_locked(folder);
}

enum status result_folder_open(struct result_folder *folder, const char *path, const bool *traced,
                               const cJSON *context)
{
    *folder = (struct result_folder){ .path = path, .descriptor = -1, .lock = -1 };
    TRY(open_locked(folder));
    if (folder->older != NULL && !is_same(context_of(folder->older), context))
        TRY(set_aside(folder));
    TRY(list_what_may_be_left(folder));
    if (traced != NULL)
        TRY(make_traces(folder, traced));

    return STATUS_OK;
}

void result_folder_close(struct result_folder *folder)
{
    cJSON *root = NULL;
    /* A file that cannot be read may name all of them. */
    bool is_there = folder->lock >= 0 && result_json_read(&root, folder->descriptor, "result.json");
    bool is_known = root != NULL || (!is_there && errno == ENOENT);

    if (folder->lock >= 0 && is_known) {
        const cJSON *all = benchmark_scenarios(root);
        for (int i = 0; i < folder->listed.count; i++)
            remove_traces(folder, folder->listed.names[i], all);
        if (folder->traces[0] != '\0')
            remove_traces(folder, folder->traces, all);
    }
    unlock(folder);
    /* Nothing was measured: all is as it was. Only an empty folder is removed. */
    if (folder->aside[0] != '\0' && !is_there && rmdir(folder->path) == 0)
        rename(folder->aside, folder->path);
    cJSON_Delete(root);
    cJSON_Delete(folder->older);
    folder->older = NULL;
}
