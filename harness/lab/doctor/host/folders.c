/* A folder is tried by writing into it. One that does not exist yet is judged by the nearest that
 * does. */
#include "harness/lab/doctor/host/host.h"

#include "harness/base/figures/quantity.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Rights alone do not tell: a file system may be read-only or full, or its folder special. */
static int write_error(const char *folder)
{
    static const char text[] = "chokepoint\n";
    char path[4096 + 32];
    int file, error;

    snprintf(path, sizeof path, "%s/.chokepoint-XXXXXX", folder);
    file = mkstemp(path);
    if (file < 0)
        return errno;
    error = write(file, text, sizeof text) == (ssize_t)sizeof text ? 0 : ENOSPC;
    close(file);
    unlink(path);
    return error;
}

void folder_look(struct folder_facts *facts, const char *path)
{
    struct statvfs space;
    struct statfs kind;
    struct stat info;

    *facts = (struct folder_facts){ .free_bytes = -1 };
    snprintf(facts->path, sizeof facts->path, "%s", path);
    while (stat(facts->path, &info) != 0 && errno == ENOENT) {
        char *slash = strrchr(facts->path, '/');
        if (slash == NULL)
            snprintf(facts->path, sizeof facts->path, ".");
        else
            slash[slash == facts->path] = '\0'; /* The root keeps its own. */
    }
    facts->error = write_error(facts->path);
    if (statfs(facts->path, &kind) == 0)
        facts->in_memory = kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC;
    if (statvfs(facts->path, &space) == 0)
        facts->free_bytes = (int64_t)space.f_bavail * (int64_t)space.f_frsize;
}

void folder_check(struct checks *checks, const char *name, const struct folder_facts *facts,
                  int64_t needed_bytes, const char *memory_advice)
{
    char expected[QUANTITY_SIZE + 32], space[QUANTITY_SIZE], needed[QUANTITY_SIZE];
    const char *advice = "";
    enum check_status status = CHECK_OK;

    quantity_print(needed, (double)needed_bytes, "B");
    snprintf(expected, sizeof expected, "writable, %s free", needed);
    if (facts->error != 0) {
        checks_add(checks, name, CHECK_FAIL, expected,
                   "choose another (--out for results, CHOKEPOINT_CACHE for the cache), or give "
                   "yourself the right to write there",
                   "%.90s: %.60s", facts->path, strerror(facts->error));
        return;
    }
    quantity_print(space, (double)facts->free_bytes, "B");
    if (facts->free_bytes >= 0 && facts->free_bytes < needed_bytes) {
        status = facts->free_bytes < needed_bytes / 8 ? CHECK_FAIL : CHECK_LOW;
        advice = "remove what is not needed, or choose another (--out, CHOKEPOINT_CACHE)";
    } else if (facts->in_memory && memory_advice != NULL) {
        status = CHECK_LOW;
        advice = memory_advice;
    }
    if (facts->free_bytes >= 0)
        checks_number(checks, (double)facts->free_bytes, (double)needed_bytes, "B");
    checks_add(checks, name, status, expected, advice, "%.90s, %s free%s", facts->path,
               facts->free_bytes >= 0 ? space : "unknown", facts->in_memory ? ", in memory" : "");
}
