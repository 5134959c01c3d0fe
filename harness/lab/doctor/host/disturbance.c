/* The time that others took while figures were measured: processors, by two readings of /proc/stat,
 * and waits for disks and memory, by two of /proc/pressure. */
#include "harness/lab/doctor/host/host.h"

#include "harness/base/clock.h"
#include "harness/base/facts/system_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The most that is OK; the texts of the rows repeat these numbers. */
enum { STOLEN_PERCENT = 1, OTHERS_PERCENT = 10, WAITS_PERCENT = 10 };

bool disturbance_matters(const struct cpu_loss *loss)
{
    return loss->stolen > loss->cores * STOLEN_PERCENT / 100.0 ||
           loss->others > loss->cores * OTHERS_PERCENT / 100.0;
}

void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores)
{
    struct cpu_loss loss = cpu_loss_between(first, second);
    double stolen = loss.stolen / cores, others = loss.others;

    checks->group = "while this was measured";
    if (isnan(stolen) || isnan(others)) {
        checks_unknown(checks, "cpu_steal", "", "there is no /proc/stat");
        checks_unknown(checks, "other_programs", "", "there is no /proc/stat");
        return;
    }
    checks_number(checks, 100 * stolen, STOLEN_PERCENT, "%");
    checks_add(
        checks, "cpu_steal",
        stolen <= STOLEN_PERCENT / 100.0 ? CHECK_OK
        : stolen <= 0.1                  ? CHECK_LOW
                                         : CHECK_FAIL,
        "at most 1%",
        "the virtual machine's host gave its cores to others: measure at another hour, or on "
        "dedicated cores",
        "%.1f%% of the cores", 100 * stolen);
    checks_number(checks, others, OTHERS_PERCENT / 100.0 * cores, "cores");
    checks_add(checks, "other_programs",
               others <= OTHERS_PERCENT / 100.0 * cores ? CHECK_OK
               : others <= 0.5 * cores                  ? CHECK_LOW
                                                        : CHECK_FAIL,
               "at most a tenth of the cores",
               "they may be the cause of low figures: end them, and see top", "%.2f of %d cores",
               others, cores);
}

/* --- Waits --- */

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

static void check_waits(struct checks *checks, const char *name, double share, const char *advice)
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

    check_waits(
        checks, "disk_waits", (second->io - first->io) / lasted,
        "programs wait for a disk: reading data and saving will be slow; see iotop, or choose "
        "another disk (--out, CHOKEPOINT_CACHE)");
    check_waits(checks, "memory_waits", (second->memory - first->memory) / lasted,
                "programs wait until the kernel has freed memory: end those that take it");
}
