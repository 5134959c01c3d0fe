/* The host's memory. */
#include "harness/base/quantity.h"
#include "harness/base/system_file.h"
#include "harness/doctor/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The benches take at most three tensors of 128 MiB on the CPU device, and each once more on the host. Four
 * times that should be free, so that nothing is swapped or taken from the page cache. */
static const int64_t needed_bytes = INT64_C(768) << 20;

static int64_t meminfo(const char *root, const char *key)
{
    char value[64];

    return system_file_key(root, "/proc/meminfo", key, value, sizeof value)
               ? strtoll(value, NULL, 10) * 1024
               : -1;
}

/* The bytes that the control group leaves; -1: no limit is known. */
static int64_t group_left(const char *root)
{
    char limit[64], used[64];

    if (!system_file_line(root, "/sys/fs/cgroup/memory.max", limit, sizeof limit) ||
        !system_file_line(root, "/sys/fs/cgroup/memory.current", used, sizeof used) ||
        strcmp(limit, "max") == 0)
        return -1;
    return strtoll(limit, NULL, 10) - strtoll(used, NULL, 10);
}

static void check_available(struct checks *checks, const char *root)
{
    int64_t available = meminfo(root, "MemAvailable"), left = group_left(root);
    char text[QUANTITY_SIZE];

    if (left >= 0 && (available < 0 || left < available))
        available = left;
    if (available < 0) {
        checks_unknown(checks, "memory", "", "there is no /proc/meminfo");
        return;
    }
    quantity_print(text, (double)available, "B");
    checks_number(checks, (double)available, 4.0 * (double)needed_bytes, "B");
    checks_add(
        checks, "memory",
        available < needed_bytes       ? CHECK_FAIL
        : available < 4 * needed_bytes ? CHECK_LOW
                                       : CHECK_OK,
        "3 GiB or more available",
        "end what takes it, or give the control group more: short of memory, the kernel swaps "
        "or ends programs",
        "%s available", text);
}

static void check_swap(struct checks *checks, const char *root)
{
    int64_t total = meminfo(root, "SwapTotal"), unused = meminfo(root, "SwapFree");
    char text[QUANTITY_SIZE];

    if (total < 0 || unused < 0) {
        checks_unknown(checks, "swap", "", "there is no /proc/meminfo");
        return;
    }
    quantity_print(text, (double)(total - unused), "B");
    checks_number(checks, (double)(total - unused), 64 << 20, "B");
    checks_add(checks, "swap", total - unused > INT64_C(64) << 20 ? CHECK_LOW : CHECK_OK,
               "at most 64 MiB in use",
               "memory was or is short, and what comes back from the disk takes milliseconds: free "
               "memory, then swapoff -a && swapon -a",
               "%s in use", total == 0 ? "none" : text);
}

static void check_huge_pages(struct checks *checks, const char *root)
{
    char line[64], *from, *to;

    if (!system_file_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof line) ||
        (from = strchr(line, '[')) == NULL || (to = strchr(from, ']')) == NULL) {
        checks_unknown(checks, "huge_pages", "always or madvise",
                       "this kernel has no transparent huge pages");
        return;
    }
    *to = '\0';
    checks_add(checks, "huge_pages", strcmp(from + 1, "never") == 0 ? CHECK_LOW : CHECK_OK,
               "always or madvise",
               "large tensors take 512 times as many page faults and miss the TLB: echo always > "
               "/sys/kernel/mm/transparent_hugepage/enabled",
               "%s", from + 1);
}

void host_check_memory(struct checks *checks, const char *root)
{
    checks->group = "host";
    check_available(checks, root);
    check_swap(checks, root);
    check_huge_pages(checks, root);
}
