#include "harness/doctor/disturbance.h"

#include "harness/report/system_file.h"
#include "harness/status/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The kernel counts in ticks of 10 ms: over a second that is 1% of a core. */
void cpu_times_read(struct cpu_times *times, const char *root)
{
    double user, nice, system, idle, wait, interrupt, soft, steal,
        tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct timespec own;
    char line[256];

    *times = (struct cpu_times){ .busy = NAN, .stolen = NAN, .own = NAN };
    times->now = (double)clock_ns() * 1e-9;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
        times->own = (double)own.tv_sec + (double)own.tv_nsec * 1e-9;
    if (!system_file_line(root, "/proc/stat", line, sizeof line) ||
        sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait,
               &interrupt, &soft, &steal) != 8)
        return;
    times->busy = (user + nice + system + interrupt + soft) * tick;
    times->stolen = steal * tick;
}

void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores)
{
    double seconds = second->now - first->now;
    double stolen = (second->stolen - first->stolen) / seconds / cores;
    double others = (second->busy - first->busy - (second->own - first->own)) / seconds;

    checks->group = "while this was measured";
    if (!(seconds > 0) || isnan(stolen) || isnan(others)) {
        checks_add(checks, "cpu_steal", CHECK_NONE, "", "there is no /proc/stat", "unknown");
        checks_add(checks, "other_programs", CHECK_NONE, "", "there is no /proc/stat", "unknown");
        return;
    }
    checks_add(
        checks, "cpu_steal",
        stolen <= 0.01  ? CHECK_OK
        : stolen <= 0.1 ? CHECK_LOW
                        : CHECK_FAIL,
        "at most 1%",
        "the virtual machine's host gave its cores to others: measure at another hour, or on "
        "dedicated cores",
        "%.1f%% of the cores", 100 * stolen);
    checks_add(checks, "other_programs",
               others <= 0.1 * cores   ? CHECK_OK
               : others <= 0.5 * cores ? CHECK_LOW
                                       : CHECK_FAIL,
               "at most a tenth of the cores",
               "figures below what is expected may be theirs: end them, and see top",
               "%.2f of %d cores", fmax(others, 0), cores);
}
