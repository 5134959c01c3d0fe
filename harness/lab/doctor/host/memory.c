/* Checks of the host's memory: how much this process may still take, whether some was swapped out,
 * and whether large tensors get large pages. */
#include "harness/base/facts/control_groups.h"
#include "harness/base/facts/system_file.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/status.h"
#include "harness/lab/doctor/host/host.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The benches take at most three tensors of 128 MiB on the CPU device, and each once more on the
 * host. Four times that should be free, so that nothing is swapped or taken from the page cache. */
static const int64_t needed_bytes = INT64_C(768) << 20;

static int64_t meminfo(const char *root, const char *key)
{
    char value[64];

    return system_file_key(root, "/proc/meminfo", key, value, sizeof value)
               ? strtoll(value, NULL, 10) * 1024
               : -1;
}

/* The lesser of two amounts; -1: not known, or no limit. */
static int64_t lesser(int64_t first, int64_t second)
{
    return first < 0 || (second >= 0 && second < first) ? second : first;
}

/* The address space that the process may still take (ulimit -v); -1: no limit. */
static int64_t address_space_left(const char *root)
{
    char limit[64], used[64];

    if (!system_file_key(root, "/proc/self/limits", "Max address space", limit, sizeof limit) ||
        !isdigit((unsigned char)limit[0]) ||
        !system_file_key(root, "/proc/self/status", "VmSize", used, sizeof used))
        return -1;
    return strtoll(limit, NULL, 10) - strtoll(used, NULL, 10) * 1024;
}

static void check_available(struct checks *checks, const char *root)
{
    int64_t available = lesser(meminfo(root, "MemAvailable"), control_groups_memory(root));
    char text[QUANTITY_SIZE];

    /* The least of three: the machine, the control group and the process each have a limit. */
    available = lesser(available, address_space_left(root));
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
        "end what takes it, or give the control group or the process (ulimit -v) more: short of "
        "memory, the kernel swaps or ends programs",
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
    /* The word in force is in brackets: "always [madvise] never". */
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
