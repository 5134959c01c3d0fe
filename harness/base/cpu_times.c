#include "harness/base/cpu_times.h"

#include "harness/base/clock.h"
#include "harness/base/system_file.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define LARGE 0.1 /* of all cores */

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double own_seconds(void)
{
    struct rusage children;

    if (getrusage(RUSAGE_CHILDREN, &children) != 0)
        return NAN;
    return (double)clock_process_cpu_ns() * 1e-9 + seconds(children.ru_utime) +
           seconds(children.ru_stime);
}

/* The kernel counts in ticks of 10 ms: over a second that is 1% of a core. */
void cpu_times_read(struct cpu_times *times, const char *root)
{
    double user, nice, system, idle, wait, interrupt, soft, steal,
        tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    char line[256];

    *times = (struct cpu_times){ .busy = NAN, .stolen = NAN, .own = own_seconds() };
    times->now = (double)clock_ns() * 1e-9;
    if (!system_file_line(root, "/proc/stat", line, sizeof line) ||
        sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait,
               &interrupt, &soft, &steal) != 8)
        return;
    times->busy = (user + nice + system + interrupt + soft) * tick;
    times->stolen = steal * tick;
}

struct cpu_loss cpu_loss_between(const struct cpu_times *first, const struct cpu_times *second)
{
    double lasted = second->now - first->now;
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double others = (second->busy - first->busy) - (second->own - first->own);

    if (!(lasted > 0))
        return (struct cpu_loss){ NAN, NAN, cores };
    return (struct cpu_loss){ .others = others < 0 ? 0 : others / lasted,
                              .stolen = (second->stolen - first->stolen) / lasted,
                              .cores = cores };
}

static bool is_much(double cores, const struct cpu_loss *loss)
{
    return cores > LARGE * loss->cores;
}

bool cpu_loss_is_large(const struct cpu_loss *loss)
{
    return is_much(loss->others, loss) || is_much(loss->stolen, loss);
}

void cpu_loss_print(char *text, size_t size, const struct cpu_loss *loss)
{
    bool others = is_much(loss->others, loss);

    snprintf(text, size, "%s %.2f of %d cores",
             others ? "other programs used" : "the virtual machine's host kept",
             others ? loss->others : loss->stolen, loss->cores);
}
