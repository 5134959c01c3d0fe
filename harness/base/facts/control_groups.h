/* The limits that control groups set for this process (Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/ of the kernel).
 *
 * The group of the process and those that hold it limit it all at once, so the tightest counts.
 * Version 1 has a tree per controller and version 2 one for all, and a machine may have both:
 * /proc/self/cgroup names the groups, and /proc/self/mountinfo where their folders are. Inside a
 * container a mount often begins at the container's group.
 *
 * `root` comes before /proc and /sys: "" is this machine, a test gives a folder. */
#pragma once

#include <stdint.h>

struct cpu_quota {
    double cores;                /* INFINITY: no quota */
    int64_t quota_us, period_us; /* of the tightest group; 0: no quota */
};
struct cpu_quota control_groups_cpu(const char *root);

/* Bytes that the tightest group leaves; -1: none has a limit. Pages of files that it would give up
 * first are left too (inactive_file of memory.stat). */
int64_t control_groups_memory(const char *root);
