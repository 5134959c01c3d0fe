/* Finds the files of many machines, and reads them for `fleet` and for --against. Folders are read
 * two levels deep, since each machine may have a folder of its own with other files beside the one
 * that is wanted. */
#include "harness/cli/fleet/machine_files.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/words/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum status add_path(struct machine_files *files, const char *folder, const char *name)
{
    TRY(rows_grow(&files->paths, files->count + 1, &files->room));
    TRY(text_make(&files->paths[files->count], "%s%s%s", folder, folder[0] != '\0' ? "/" : "",
                  name));
    files->count++;

    return STATUS_OK;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* `depth` 0: the folder that was named; 1: a folder in it. */
static enum status add_folder(struct machine_files *files, const char *folder, const char *command,
                              int depth)
{
    enum status status = STATUS_OK;
    struct dirent **entries = NULL;
    char *inner = NULL;
    /* In one order whatever the file system; numbers in names count as numbers. */
    int count = scandir(folder, &entries, is_shown, versionsort);

    /* Below it, a folder that cannot be read is passed over. */
    if (count < 0 && depth == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "the folder %s cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        free(inner);
        TRY_OUT(text_make(&inner, "%s/%s", folder, name));
        if (depth == 0 && is_folder(inner))
            TRY_OUT(add_folder(files, inner, command, 1));
        /* In a machine's own folder only files that are named after the command are taken. */
        else if (ends_in(name, ".json") && is_regular_file(inner) &&
                 (depth == 0 || strncmp(name, command, strlen(command)) == 0))
            TRY_OUT(add_path(files, folder, name));
    }

out:
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    free(inner);
    return status;
}

enum status machine_files_find(struct machine_files *files, const char *command,
                               const char *const *arguments, int count)
{
    *files = (struct machine_files){ .paths = NULL };
    for (int i = 0; i < count; i++) {
        int before = files->count;
        if (!is_folder(arguments[i]))
            TRY(add_path(files, "", arguments[i]));
        else
            TRY(add_folder(files, arguments[i], command, 0));
        if (files->count == before)
            FAIL(STATUS_BAD_INPUT,
                 "the folder %s has no file that ends in .json, nor a folder with %s*.json",
                 arguments[i], command);
    }

    return STATUS_OK;
}

static void keep_skipped(void *context, const char *path)
{
    struct machine_files *files = context;
    struct fleet_skipped *skipped = &files->skipped[files->skipped_count++];

    skipped->path = path;
    snprintf(skipped->reason, sizeof skipped->reason, "%s", status_last()->text);
}

enum status machine_files_read(struct machine_files *files, node_reader *read, struct fleet *fleet)
{
    TRY(rows_make(&files->skipped, files->count));
    return fleet_make(fleet, read, (const char *const *)files->paths, files->count, keep_skipped,
                      files);
}

void machine_files_release(struct machine_files *files)
{
    for (int i = 0; i < files->count; i++) free(files->paths[i]);
    free(files->paths);
    free(files->skipped);
    memset(files, 0, sizeof *files);
}
