/* Folders of traces are made and removed relative to the open folder, which may be moved meanwhile.
 * A file is removed only if its name is one that a run gives, and never through a link. */
#include "harness/lab/result/result_folder.h"

#include "harness/base/clock.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/words/utf8.h"
#include "harness/lab/experiment/rank_trace.h"
#include "harness/text/benchmark_rows.h"
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
    LOCK_FD = 10,        /* at least: below are those that a child process is given */
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

static bool is_named(const cJSON *all, int count, const char *traces, const char *given)
{
    const cJSON *scenario;
    char path[NAME_MAX + 64], name[NAME_MAX + 1], named[NAME_MAX + 1];

    rank_trace_given(name, given);
    snprintf(path, sizeof path, "%s/%s", traces, name);
    cJSON_ArrayForEach(scenario, all)
    {
        if (count-- <= 0)
            break;
        for (int v = 0; v < VARIANT_COUNT; v++) {
            const char *one = result_trace_path(scenario, variant_name((enum variant)v));
            rank_trace_given(named, one != NULL ? one : "");
            if (strcmp(named, path) == 0)
                return true;
        }
    }
    return false;
}

/* Removes the traces that the first `count` of `all` do not name, and the folder if nothing is
 * left. */
static void remove_traces(const struct result_folder *folder, const char *traces, const cJSON *all,
                          int count)
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
        if (is_trace(entry->d_name) && !is_named(all, count, traces, entry->d_name))
            unlinkat(descriptor, entry->d_name, 0);
    closedir(stream);
    unlinkat(folder->descriptor, traces, AT_REMOVEDIR);
}

/* --- The results that are there --- */

/* A file that is not ours is refused: the rename would delete it. */
static enum status read_older(struct result_folder *folder, cJSON **root)
{
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
    date = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(*root, "context"), "date"));
    snprintf(folder->date, sizeof folder->date, "%s", date != NULL ? date : "an unknown date");
    utf8_show(folder->date);
    result_traces_name(folder->older, benchmark_scenarios(*root));

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
static void remove_left(const struct result_folder *folder, const cJSON *all)
{
    char text[256] = "", *next = text, *name;

    if (pread(folder->lock, text, sizeof text - 1, 0) <= 0)
        return;
    while ((name = strsep(&next, "\n")) != NULL)
        if (result_traces_is_folder(name))
            remove_traces(folder, name, all, cJSON_GetArraySize(all));
}

static enum status list_what_may_be_left(const struct result_folder *folder)
{
    char text[sizeof folder->traces + sizeof folder->older + 2];
    int length = snprintf(text, sizeof text, "%s\n%s\n", folder->traces, folder->older);

    if (ftruncate(folder->lock, 0) != 0 || lseek(folder->lock, 0, SEEK_SET) < 0 ||
        !write_all(folder->lock, text, (size_t)length))
        TRY(lock_failed(folder, errno));

    return STATUS_OK;
}

/* --- The whole --- */

/* The first name that is free. It is listed before it is made. */
static enum status make_traces(struct result_folder *folder)
{
    char name[sizeof folder->traces] = RESULT_TRACES;

    for (int i = 2; i <= FOLDERS_MOST; i++) {
        if (faccessat(folder->descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
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

enum status result_folder_open(struct result_folder *folder, const char *path, bool traced)
{
    enum status status = STATUS_OK;
    cJSON *root = NULL;

    *folder = (struct result_folder){ .path = path, .descriptor = -1, .lock = -1 };
    TRY_OUT(atomic_file_create_folder(path));
    folder->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->descriptor < 0)
        FAIL_OUT(STATUS_IO, "cannot open the folder %s: %s; choose another", path, strerror(errno));
    TRY_OUT(take_lock(folder));
    TRY_OUT(read_older(folder, &root));
    if (folder->unlocked[0] == '\0')
        remove_left(folder, benchmark_scenarios(root));
    TRY_OUT(list_what_may_be_left(folder));
    if (traced)
        TRY_OUT(make_traces(folder));

out:
    cJSON_Delete(root);
    return status;
}

void result_folder_replaced(struct result_folder *folder)
{
    if (folder->older[0] != '\0')
        remove_traces(folder, folder->older, NULL, 0);
    folder->older[0] = '\0';
    folder->date[0] = '\0';
}

void result_folder_close(struct result_folder *folder, const cJSON *all, int count)
{
    if (folder->lock >= 0) {
        if (folder->traces[0] != '\0')
            remove_traces(folder, folder->traces, all, count);
        unlinkat(folder->descriptor, "run.lock", 0); /* while it is locked, so that it is ours */
        close(folder->lock);
    }
    if (folder->descriptor >= 0)
        close(folder->descriptor);
    folder->lock = folder->descriptor = -1;
}
