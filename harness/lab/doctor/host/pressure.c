#include "harness/lab/doctor/host/pressure.h"

#include "harness/base/clock.h"
#include "harness/base/facts/system_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As other programs may use a tenth of the cores (disturbance.c). */
enum { WAITS_PERCENT = 10 };

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=6057596", in us. */
static double total_of(const char *root, const char *path)
{
    char line[256];
    const char *total;
    double us;

    if (!system_file_key(root, path, "some", line, sizeof line) ||
        (total = strstr(line, "total=")) == NULL || sscanf(total, "total=%lf", &us) != 1)
        return NAN;
    return us * 1e-6;
}

void pressure_read(struct pressure *pressure, const char *root)
{
    *pressure = (struct pressure){ .io = total_of(root, "/proc/pressure/io"),
                                   .memory = total_of(root, "/proc/pressure/memory"),
                                   .now = (double)clock_ns() * 1e-9 };
}

static void check(struct checks *checks, const char *name, double share, const char *advice)
{
    if (!isfinite(share)) {
        checks_unknown(checks, name, "at most 10% of the time",
                       "this kernel does not account for pressure (/proc/pressure)");
        return;
    }
    checks_number(checks, 100 * share, WAITS_PERCENT, "%");
    checks_add(checks, name, share <= WAITS_PERCENT / 100.0 ? CHECK_OK : CHECK_LOW,
               "at most 10% of the time", advice, "%.1f%% of the time", 100 * share);
}

void pressure_check(struct checks *checks, const struct pressure *first,
                    const struct pressure *second)
{
    double lasted = second->now - first->now;

    check(checks, "disk_waits", (second->io - first->io) / lasted,
          "programs wait for a disk: reading data and saving will be slow; see iotop, or choose "
          "another disk (--out, CHOKEPOINT_CACHE)");
    check(checks, "memory_waits", (second->memory - first->memory) / lasted,
          "programs wait until the kernel has freed memory: end those that take it");
}
