/* Walks through the folders in the order of names, numbers in them by their values, so that a site
 * is the same whatever the file system. A file is told by its first window, inflated if need be;
 * only JSON that is no trace is read whole. */
#include "harness/cli/site/site.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"
#include "harness/desk/files/record_file.h"
#include "harness/desk/read/foreign_files.h"
#include "harness/desk/read/input/read_ahead.h"
#include "harness/desk/read/reader.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LEVELS = 16 };

#define RESULT "result.json"

const char *site_kind_name(enum site_kind kind)
{
    static const char *const names[SITE_KINDS] = { "result", "traces", "history",
                                                   "fleet",  "job",    "benchmarks" };

    return names[kind];
}

/* --- The lists --- */

/* Files of some kinds share the page of their folder: that is what `name` is then. */
static enum status add_file(struct site_files *files, enum site_kind kind, const char *name,
                            const char *path)
{
    struct site_item *item = NULL;

    for (int i = files->count - 1; i >= 0 && item == NULL; i--)
        if (files->items[i].kind == kind && strcmp(files->items[i].name, name) == 0)
            item = &files->items[i];
    if (item == NULL) {
        TRY(rows_grow(&files->items, files->count + 1, &files->room));
        item = &files->items[files->count++];
        *item = (struct site_item){ .kind = kind };
        TRY(text_make(&item->name, "%s", name));
    }
    TRY(rows_grow(&item->paths, item->count + 1, &item->room));
    item->paths[item->count] = NULL;
    TRY(text_make((char **)&item->paths[item->count], "%s", path));
    item->count++;

    return STATUS_OK;
}

static enum status leave_out(struct site_files *files, const char *name, bool is_damaged,
                             const char *reason)
{
    struct site_left_out *one;

    TRY(rows_grow(&files->left_out, files->left_out_count + 1, &files->left_out_room));
    one = &files->left_out[files->left_out_count];
    *one = (struct site_left_out){ .is_damaged = is_damaged };
    TRY(text_make(&one->name, "%s", name));
    utf8_show(one->name);
    snprintf(one->reason, sizeof one->reason, "%s", reason);
    files->left_out_count++;

    return STATUS_OK;
}

/* --- One file --- */

/* How the text of a kind's files begins, or words that stand in its first window: all of a row. */
static const struct site_sign {
    enum site_kind kind;
    const char *begin, *words[3];
} signs[] = {
    { SITE_TRACES, "SQLite format 3", { NULL } }, /* of Nsight Systems */
    { SITE_JOB, "{\"chokepoint_digest\":", { NULL } },
    { SITE_TRACES, NULL, { "\"traceEvents\"" } },
    { SITE_TRACES, NULL, { "\"ph\"", "\"ts\"" } },
    { SITE_HISTORY, NULL, { "\"row\"", "\"metric\"", "\"value\"" } },
    { SITE_FLEET, NULL, { "\"checks\"", "\"fit\"" } },
    { SITE_BENCHMARKS, NULL, { "\"benchmarks\"" } },
    { SITE_BENCHMARKS, NULL, { "\"results\"", "\"command\"", "\"mean\"" } }, /* of hyperfine */
};

static bool has_sign(const struct site_sign *sign, const char *bytes, size_t count)
{
    size_t length = sign->begin != NULL ? strlen(sign->begin) : 0;

    if (length > 0 && (count < length || memcmp(bytes, sign->begin, length) != 0))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(sign->words) && sign->words[i] != NULL; i++)
        if (memmem(bytes, count, sign->words[i], strlen(sign->words[i])) == NULL)
            return false;
    return true;
}

/* SITE_KINDS, and why, if it is of no kind. */
static enum site_kind kind_of_text(const char *bytes, size_t count, const char *path,
                                   const char **why)
{
    const struct foreign_file *foreign;

    if (file_is_snapshot(bytes, count))
        return SITE_TRACES;
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (has_sign(&signs[i], bytes, count))
            return signs[i].kind;
    foreign = foreign_file(bytes, count, path);
    *why = foreign != NULL ? foreign->name : "of no kind that has a page";
    return SITE_KINDS;
}

/* A file is told by its beginning, whatever its name. */
static enum status look_at(struct site_files *files, const char *folder, const char *name,
                           const char *path)
{
    enum status status = STATUS_OK;
    struct read_ahead *text = NULL;
    const char *bytes, *why = "";
    enum site_kind kind = SITE_KINDS;
    size_t count;

    status = read_ahead_open(&text, path);
    if (status == STATUS_OK)
        status = read_ahead_window(text, 0, &bytes, &count);
    if (status == STATUS_OUT_OF_MEMORY)
        goto out;
    if (status != STATUS_OK) {
        status = leave_out(files, name, true, status_last()->text);
        goto out;
    }
    kind = kind_of_text(bytes, count, path, &why);
    status = kind == SITE_KINDS ? leave_out(files, name, false, why)
                                : add_file(files, kind, kind == SITE_HISTORY ? name : folder, path);

out:
    read_ahead_close(text);
    return status;
}

/* --- Folders --- */

/* The walk: the site's own folder is no part of it. */
struct site_walk {
    struct site_files *files;
    dev_t device;
    ino_t number; /* 0: there is no such folder yet */
};

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Whether the folder has this regular file, which no link leads to. */
static bool has_file(const char *folder, const char *name, char path[PATH_MAX])
{
    struct stat about;

    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && lstat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

/* Whether it is a folder of `run` or `try`. Other tools may call a file result.json, too. */
static bool is_result(const char *folder)
{
    char path[PATH_MAX];
    cJSON *root = NULL;
    bool is = has_file(folder, RESULT, path) && result_json_read(&root, AT_FDCWD, path) &&
              (root == NULL || cJSON_HasObjectItem(root, "chokepoint"));

    cJSON_Delete(root);
    return is;
}

static enum status walk(const struct site_walk *site, const char *folder, const char *name,
                        int levels);

/* An entry of the folder `of`. Names are what people read; `levels` are left below. */
static enum status take_entry(const struct site_walk *site, const char *path, const char *name,
                              const char *of, int levels)
{
    struct stat about;

    if (lstat(path, &about) != 0)
        return leave_out(site->files, name, true, strerror(errno));
    if (S_ISLNK(about.st_mode))
        return leave_out(site->files, name, false, "a link, which is not followed");
    if (S_ISDIR(about.st_mode))
        return levels > 0 ? walk(site, path, name, levels - 1) : STATUS_OK;
    if (!S_ISREG(about.st_mode))
        return leave_out(site->files, name, false, "no regular file");
    return look_at(site->files, of, name, path);
}

static enum status walk_entries(const struct site_walk *site, const char *folder, const char *name,
                                bool has_result, int levels)
{
    enum status status = STATUS_OK;
    struct dirent **entries = NULL;
    char *path = NULL, *shown = NULL;
    int count = scandir(folder, &entries, is_shown, versionsort);

    if (count < 0)
        status = leave_out(site->files, name, true, strerror(errno));
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const char *entry = entries[i]->d_name;
        free(path);
        free(shown);
        path = shown = NULL;
        if (has_result && (strcmp(entry, RESULT) == 0 || strcmp(entry, "run.lock") == 0))
            continue;
        TRY_OUT(text_make(&path, "%s/%s", folder, entry));
        TRY_OUT(text_make(&shown, "%s%s%s", name, name[0] != '\0' ? "/" : "", entry));
        status = take_entry(site, path, shown, name, has_result ? 0 : levels);
    }

out:
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    free(path);
    free(shown);
    return status;
}

/* Folders below one with a result are the result's. A recording is a page by itself. */
static enum status walk(const struct site_walk *site, const char *folder, const char *name,
                        int levels)
{
    char path[PATH_MAX];
    bool has_result = is_result(folder);
    struct stat about;

    if (stat(folder, &about) == 0 && about.st_dev == site->device && about.st_ino == site->number)
        return STATUS_OK;
    if (has_result)
        TRY(add_file(site->files, SITE_RESULT, name, folder));
    else if (has_file(folder, RECORD_FILE, path))
        return add_file(site->files, SITE_TRACES, name, folder);
    return walk_entries(site, folder, name, has_result, levels);
}

/* An argument of the user may be a link. */
static enum status walk_argument(const struct site_walk *site, const char *argument,
                                 const char *name)
{
    struct stat about;

    if (stat(argument, &about) != 0)
        FAIL(STATUS_BAD_INPUT, "%s cannot be read: %s", argument, strerror(errno));
    return S_ISDIR(about.st_mode) ? walk(site, argument, name, LEVELS)
                                  : look_at(site->files, name, name, argument);
}

enum status site_files_find(struct site_files *files, const char *const *folders, int count,
                            const char *site)
{
    enum status status = STATUS_OK;
    struct site_walk walk = { .files = files };
    struct stat about;
    char *whole = NULL;

    *files = (struct site_files){ .count = 0 };
    if (stat(site, &about) == 0) {
        walk.device = about.st_dev;
        walk.number = about.st_ino;
    }
    for (int i = 0; i < count; i++) {
        free(whole);
        whole = realpath(folders[i], NULL);
        if (whole == NULL)
            FAIL_OUT(STATUS_BAD_INPUT, "%s cannot be read: %s", folders[i], strerror(errno));
        TRY_OUT(walk_argument(&walk, folders[i], strrchr(whole, '/') + 1));
    }
    /* Only now: until here, names tell folders apart. */
    for (int i = 0; i < files->count; i++) utf8_show(files->items[i].name);

out:
    free(whole);
    return status;
}

void site_files_release(struct site_files *files)
{
    for (int i = 0; i < files->count; i++) {
        for (int j = 0; j < files->items[i].count; j++) free((char *)files->items[i].paths[j]);
        free(files->items[i].paths);
        free(files->items[i].name);
    }
    for (int i = 0; i < files->left_out_count; i++) free(files->left_out[i].name);
    free(files->items);
    free(files->left_out);
    *files = (struct site_files){ .count = 0 };
}
