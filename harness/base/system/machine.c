/* Facts of the machine, each from where Linux states it. One that is not stated is left out, never
 * guessed. */
#include "harness/base/system/machine.h"

#include "harness/base/facts/control_groups.h"
#include "harness/base/facts/system_file.h"
#include "harness/base/figures/number.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Where /proc/cpuinfo has the number of a core of Arm's and not its name: those that stand beside
 * GPUs (Linux, arch/arm64/include/asm/cputype.h). */
static const char *arm_core(const char *root)
{
    static const struct {
        const char *part, *name;
    } cores[] = {
        { "0xd0c", "Neoverse N1" }, { "0xd40", "Neoverse V1" }, { "0xd42", "Cortex-A78AE" },
        { "0xd49", "Neoverse N2" }, { "0xd4f", "Neoverse V2" }, { "0xd83", "Neoverse V3AE" },
        { "0xd84", "Neoverse V3" }, { "0xd85", "Cortex-X925" }, { "0xd87", "Cortex-A725" },
    };
    char implementer[16], part[16];

    if (!system_file_key(root, "/proc/cpuinfo", "CPU implementer", implementer,
                         sizeof implementer) ||
        strcmp(implementer, "0x41") != 0)
        return NULL;
    system_file_key(root, "/proc/cpuinfo", "CPU part", part, sizeof part);
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (strcmp(part, cores[i].part) == 0)
            return cores[i].name;
    return NULL;
}

/* The model is that of /proc/cpuinfo, or the architecture if that names none. */
static void read_names(struct machine *machine, const char *root)
{
    const char *core = arm_core(root);
    struct utsname system;
    ssize_t length =
        readlink("/proc/self/exe", machine->executable, sizeof machine->executable - 1);

    machine->executable[length > 0 ? length : 0] = '\0';
    if (gethostname(machine->host_name, sizeof machine->host_name) != 0)
        machine->host_name[0] = '\0';
    machine->host_name[sizeof machine->host_name - 1] = '\0';
    if (uname(&system) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%s %s", system.sysname, system.release);
    if (!system_file_key(root, "/proc/cpuinfo", "model name", machine->cpu_model,
                         sizeof machine->cpu_model))
        snprintf(machine->cpu_model, sizeof machine->cpu_model, "%s",
                 core != NULL          ? core
                 : uname(&system) == 0 ? system.machine
                                       : "");
}

static int processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

static double quota_cores; /* INFINITY: no quota */

static void read_quota(void)
{
    quota_cores = control_groups_cpu("").cores;
}

double machine_quota(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_quota);
    return quota_cores < processors() ? quota_cores : 0;
}

int machine_cores(void)
{
    double quota = machine_quota();

    return quota > 0 ? (int)fmax(quota, 1) : processors();
}

double machine_resident_bytes(void)
{
    char line[128];
    long long pages;

    if (!system_file_line("", "/proc/self/statm", line, sizeof line) ||
        sscanf(line, "%*s %lld", &pages) != 1)
        return NAN;
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Processors that this process may use, as ranges. */
static void read_affinity(struct machine *machine)
{
    cpu_set_t set;
    char *text = machine->affinity;
    size_t room = sizeof machine->affinity;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    machine->cores_allowed = CPU_COUNT(&set);
    for (size_t from = 0; from < CPU_SETSIZE; from++) {
        size_t to = from;
        int length;
        if (!CPU_ISSET(from, &set))
            continue;
        while (to + 1 < CPU_SETSIZE && CPU_ISSET(to + 1, &set)) to++;
        length =
            to > from
                ? snprintf(text, room, "%s%zu-%zu", text > machine->affinity ? "," : "", from, to)
                : snprintf(text, room, "%s%zu", text > machine->affinity ? "," : "", from);
        if (length < 0 || (size_t)length >= room)
            return;
        text += length;
        room -= (size_t)length;
        from = to;
    }
}

/* In Google Benchmark's order of trust: what the processor promises, else what it runs at now. */
static void read_frequency(struct machine *machine, const char *root)
{
    char line[64];

    if (system_file_line(root, "/sys/devices/system/cpu/cpu0/tsc_freq_khz", line, sizeof line) ||
        system_file_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", line,
                         sizeof line))
        machine->mhz = (int)lround(atof(line) / 1000);
    else if (system_file_key(root, "/proc/cpuinfo", "cpu MHz", line, sizeof line))
        machine->mhz = (int)lround(atof(line));
}

static void read_settings(struct machine *machine, const char *root)
{
    struct cpu_quota quota;
    char line[64];
    int flags = personality(0xffffffff);

    machine->scaling = NOT_KNOWN;
    machine->aslr = NOT_KNOWN;
    if (system_file_line(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line,
                         sizeof line))
        machine->scaling = strcmp(line, "performance") == 0 ? KNOWN_NO : KNOWN_YES;
    if (flags >= 0 &&
        system_file_line(root, "/proc/sys/kernel/randomize_va_space", line, sizeof line))
        machine->aslr = atoi(line) != 0 && !(flags & ADDR_NO_RANDOMIZE) ? KNOWN_YES : KNOWN_NO;
    quota = control_groups_cpu(root);
    if (quota.quota_us > 0)
        snprintf(machine->cpu_quota, sizeof machine->cpu_quota, "%" PRId64 " %" PRId64,
                 quota.quota_us, quota.period_us);
    if (system_file_key(root, "/proc/meminfo", "MemTotal", line, sizeof line))
        machine->memory_bytes = (int64_t)atoll(line) * 1024;
}

static bool read_cache_file(const char *root, int index, const char *name, char *line, size_t size)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    return system_file_line(root, path, line, size);
}

/* Level by level, as Linux numbers them for the first core. A cache with a fact missing is left
 * out. */
static void read_caches(struct machine *machine, const char *root)
{
    char size[32], type[16], level[16], map[1024];

    for (int i = 0; i < MACHINE_CACHES; i++) {
        struct machine_cache *cache = &machine->caches[machine->cache_count];

        if (!read_cache_file(root, i, "size", size, sizeof size) ||
            !read_cache_file(root, i, "type", type, sizeof type) ||
            !read_cache_file(root, i, "level", level, sizeof level) ||
            !read_cache_file(root, i, "shared_cpu_map", map, sizeof map))
            continue;
        memcpy(cache->type, type, sizeof cache->type);
        cache->level = atoi(level);
        number_read_bytes(size, &cache->bytes);
        for (const char *at = map; *at != '\0'; at++) /* a map like "ffffffff,00000003" */
            cache->sharing += __builtin_popcountl(strtoul((char[]){ *at, '\0' }, NULL, 16));
        machine->cache_count++;
    }
}

void machine_read(struct machine *machine, const char *root)
{
    time_t now = time(NULL);
    struct tm local;
    char zone[8];

    memset(machine, 0, sizeof *machine);
    /* yyyy-mm-ddTHH:MM:SS+HH:MM: strftime's %z lacks the colon. */
    localtime_r(&now, &local);
    strftime(zone, sizeof zone, "%z", &local);
    strftime(machine->date, sizeof machine->date, "%Y-%m-%dT%H:%M:%S", &local);
    snprintf(machine->date + strlen(machine->date), sizeof machine->date - strlen(machine->date),
             "%.3s:%s", zone, zone + 3);
    read_names(machine, root);
    read_affinity(machine);
    read_frequency(machine, root);
    read_settings(machine, root);
    read_caches(machine, root);
    machine->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    machine->load_count = getloadavg(machine->load, 3);
    if (machine->load_count < 0)
        machine->load_count = 0;
}
