/* Processor time of this process and its children from getrusage(), of all programs from
 * /proc/stat, and waits for it from schedstat (Documentation/scheduler/sched-stats.rst). */
#include "harness/base/facts/cpu_times.h"

#include "harness/base/clock.h"
#include "harness/base/facts/system_file.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LARGE 0.1 /* of all cores */

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* "cpu3 user nice system idle iowait irq softirq steal ...", in ticks, onto *times. */
static bool add_processor(struct cpu_times *times, const char *line)
{
    double user, nice, system, idle, wait, interrupt, soft, steal;

    if (sscanf(line, "%*s %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait,
               &interrupt, &soft, &steal) != 8)
        return false;
    times->busy += user + nice + system + interrupt + soft;
    times->stolen += steal;
    return true;
}

static int allowed_processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    return sched_getaffinity(0, sizeof *set, set) == 0 ? CPU_COUNT(set) : 0;
}

/* In seconds; NAN: the kernel does not say. */
static double waited_for_core(const char *root)
{
    char path[PATH_MAX];
    double waited = NAN;
    DIR *tasks;

    snprintf(path, sizeof path, "%s/proc/self/task", root);
    tasks = opendir(path);
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        FILE *file;
        double ns;

        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", task->d_name);
        file = task->d_name[0] != '.' ? system_file_open(root, path) : NULL;
        if (file == NULL)
            continue;
        if (fscanf(file, "%*f %lf", &ns) == 1)
            waited = (isnan(waited) ? 0 : waited) + ns * 1e-9;
        fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
    return waited;
}

/* The kernel counts in ticks of 10 ms: over a second that is 1% of a core. */
void cpu_times_read(struct cpu_times *times, const char *root)
{
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    FILE *file = system_file_open(root, "/proc/stat");
    struct rusage children;
    char line[512];
    cpu_set_t set;
    int count = 0, number;

    *times = (struct cpu_times){ .own = NAN,
                                 .waited = waited_for_core(root),
                                 .now = (double)clock_ns() * 1e-9 };
    if (getrusage(RUSAGE_CHILDREN, &children) == 0)
        times->own = (double)clock_process_cpu_ns() * 1e-9 + seconds(children.ru_utime) +
                     seconds(children.ru_stime);
    allowed_processors(&set);
    while (file != NULL && fgets(line, sizeof line, file) != NULL && strncmp(line, "intr", 4) != 0)
        if (sscanf(line, "cpu%d", &number) == 1 && number < CPU_SETSIZE &&
            CPU_ISSET((size_t)number, &set))
            count += add_processor(times, line);
    if (file != NULL)
        fclose(file);
    times->busy = count > 0 ? times->busy * tick : NAN;
    times->stolen = count > 0 ? times->stolen * tick : NAN;
}

struct cpu_loss cpu_loss_between(const struct cpu_times *first, const struct cpu_times *second)
{
    double lasted = second->now - first->now;
    cpu_set_t set;
    int cores = allowed_processors(&set);
    double others = (second->busy - first->busy) - (second->own - first->own);

    if (!(lasted > 0))
        return (struct cpu_loss){ NAN, NAN, cores };
    return (struct cpu_loss){ .others = others < 0 ? 0 : others / lasted,
                              .stolen = (second->stolen - first->stolen) / lasted,
                              .cores = cores };
}

/* Threads that ended between the readings take their waits along. */
double cpu_wanted_between(const struct cpu_times *first, const struct cpu_times *second)
{
    double waited = second->waited - first->waited;

    return (second->own - first->own + (waited < 0 ? 0 : waited)) / (second->now - first->now);
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
