/* A limit may be set on the process's own group and on every group above it, in each hierarchy that
 * is mounted: the tightest counts. So all of them are walked, and a callback looks at each folder.
 */
#include "harness/base/facts/control_groups.h"

#include "harness/base/facts/system_file.h"
#include "harness/base/status.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A folder of groups, as mounted: below `point` is what the kernel names `top`. */
struct mount {
    char point[PATH_MAX], top[PATH_MAX];
    bool second; /* version 2 */
};

/* Where mounts are unless mountinfo says otherwise. */
static const struct mount usual[] = {
    { "/sys/fs/cgroup", "/", true },         { "/sys/fs/cgroup/unified", "/", true },
    { "/sys/fs/cgroup/cpu", "/", false },    { "/sys/fs/cgroup/cpu,cpuacct", "/", false },
    { "/sys/fs/cgroup/memory", "/", false },
};

struct walk {
    const char *root, *controller;
    void (*look)(void *context, const char *root, const char *folder);
    void *context;
};

/* Whether a list like "rw,cpu,cpuacct" has the word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* A line of /proc/self/cgroup is "4:cpu,cpuacct:/path"; version 2 has "0::/path". False: there is
 * none. */
static bool own_group(const struct walk *walk, bool second, char group[PATH_MAX])
{
    FILE *file = system_file_open(walk->root, "/proc/self/cgroup");
    char *line = NULL, *list, *path;
    bool found = false;
    size_t room = 0;

    while (file != NULL && !found && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        list = strchr(line, ':');
        path = list != NULL ? strchr(list + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *list++ = *path++ = '\0';
        found = second ? list[0] == '\0' : has_word(list, walk->controller);
        if (found)
            snprintf(group, PATH_MAX, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return found;
}

/* The group's path below the mount: all of it, without the part that is not mounted. "": the mount
 * begins elsewhere. */
static const char *below_mount(const char *group, const char *top)
{
    size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);

    return strncmp(group, top, length) == 0 && (group[length] == '/' || group[length] == '\0')
               ? group + length
               : "";
}

/* Looks at the process's group in a mount and at those that hold it. */
static void look_up(const struct walk *walk, const struct mount *mount)
{
    char group[PATH_MAX], own[PATH_MAX], folder[2 * PATH_MAX];
    char *slash;

    if (!own_group(walk, mount->second, group))
        group[0] = '\0';
    snprintf(own, sizeof own, "%s", below_mount(group, mount->top));
    do {
        snprintf(folder, sizeof folder, "%s%s", mount->point, own);
        walk->look(walk->context, walk->root, folder);
        slash = strrchr(own, '/');
        if (slash != NULL)
            *slash = '\0';
    } while (slash != NULL);
}

/* "36 31 0:33 TOP POINT rw,relatime - cgroup cgroup rw,cpu,cpuacct". */
static bool parse_mount(struct mount *mount, const char *line, const char *controller)
{
    char type[16], options[256];
    const char *rest = strstr(line, " - ");

    if (rest == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", mount->top, mount->point) != 2 ||
        sscanf(rest, " - %15s %*s %255s", type, options) != 2)
        return false;
    mount->second = strcmp(type, "cgroup2") == 0;
    return mount->second || (strcmp(type, "cgroup") == 0 && has_word(options, controller));
}

/* Looks at the process's groups in every mount of the controller, or in the usual places if
 * mountinfo lists none. */
static void walk_groups(const struct walk *walk)
{
    FILE *file = system_file_open(walk->root, "/proc/self/mountinfo");
    struct mount mount;
    char *line = NULL;
    size_t room = 0;
    bool any = false;

    while (file != NULL && getline(&line, &room, file) >= 0)
        if (parse_mount(&mount, line, walk->controller)) {
            look_up(walk, &mount);
            any = true;
        }
    for (size_t i = 0; i < ARRAY_SIZE(usual) && !any; i++) look_up(walk, &usual[i]);
    free(line);
    if (file != NULL)
        fclose(file);
}

/* --- Processors --- */

static bool read_group_file(const char *root, const char *folder, const char *name, char *line,
                            size_t size)
{
    char path[2 * PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return system_file_line(root, path, line, size) && line[0] != '\0';
}

/* Version 2 has quota and period in one file, version 1 in two. */
static void look_at_quota(void *context, const char *root, const char *folder)
{
    struct cpu_quota *tightest = context;
    long long quota = -1, period = -1;
    char line[64];

    if (read_group_file(root, folder, "cpu.max", line, sizeof line)) {
        if (sscanf(line, "%lld %lld", &quota, &period) != 2)
            return; /* "max 100000" */
    } else {
        if (read_group_file(root, folder, "cpu.cfs_quota_us", line, sizeof line))
            quota = atoll(line);
        if (read_group_file(root, folder, "cpu.cfs_period_us", line, sizeof line))
            period = atoll(line);
    }
    if (quota > 0 && period > 0 && (double)quota / (double)period < tightest->cores)
        *tightest = (struct cpu_quota){ (double)quota / (double)period, quota, period };
}

struct cpu_quota control_groups_cpu(const char *root)
{
    struct cpu_quota tightest = { .cores = INFINITY };

    walk_groups(&(struct walk){ root, "cpu", look_at_quota, &tightest });
    return tightest;
}

/* --- Memory --- */

/* The memory left is the limit less the use. Pages of files that were not used lately count as
 * left, since the kernel drops them first. */
static void look_at_memory(void *context, const char *root, const char *folder)
{
    static const char *const files[][3] = {
        { "memory.max", "memory.current", "inactive_file" },
        { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file" },
    };
    int64_t *least = context, left;
    char path[2 * PATH_MAX + 64], limit[64], used[64], unused[64];

    snprintf(path, sizeof path, "%s/memory.stat", folder);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        if (!read_group_file(root, folder, files[i][0], limit, sizeof limit) ||
            !read_group_file(root, folder, files[i][1], used, sizeof used) ||
            strcmp(limit, "max") == 0)
            continue;
        left = strtoll(limit, NULL, 10) - strtoll(used, NULL, 10);
        if (system_file_key(root, path, files[i][2], unused, sizeof unused))
            left += strtoll(unused, NULL, 10);
        left = left > 0 ? left : 0;
        /* Version 1 has a number of exabytes for none. */
        if (left < INT64_MAX / 2 && (*least < 0 || left < *least))
            *least = left;
    }
}

int64_t control_groups_memory(const char *root)
{
    int64_t least = -1;

    walk_groups(&(struct walk){ root, "memory", look_at_memory, &least });
    return least;
}
