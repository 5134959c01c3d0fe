/* Checks of the processors that this process may use: how many cores they are, whether their clock
 * is steady, and who else has a say in them: a control group, a virtual machine's host, other
 * programs. */
#include "harness/base/facts/control_groups.h"
#include "harness/base/facts/system_file.h"
#include "harness/lab/doctor/host/host.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPU "/sys/devices/system/cpu/"

/* Threads of one core share its units: two processors may be one core. */
static void check_smt(struct checks *checks, const char *root, const cpu_set_t *allowed)
{
    cpu_set_t counted;
    int cores = 0, known = 0;

    CPU_ZERO(&counted);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        char path[96], line[256];
        cpu_set_t siblings;
        if (!CPU_ISSET((size_t)i, allowed))
            continue;
        snprintf(path, sizeof path, CPU "cpu%d/topology/thread_siblings_list", i);
        if (!system_file_line(root, path, line, sizeof line) || !cpu_list_parse(line, &siblings))
            continue;
        /* A core counts at the first of its processors; at the others a sibling was counted
         * before. */
        known++;
        CPU_AND(&siblings, &siblings, &counted);
        cores += CPU_COUNT(&siblings) == 0;
        CPU_SET((size_t)i, &counted);
    }
    if (known == 0) {
        checks_unknown(checks, "smt", "", "the kernel does not say which threads share a core");
        return;
    }
    checks_add(
        checks, "smt", cores < known ? CHECK_LOW : CHECK_OK, "one processor per core",
        "threads of one core slow each other down: bind to one processor per core (taskset), or "
        "switch SMT off (echo off > /sys/devices/system/cpu/smt/control)",
        "%d processors on %d cores", known, cores);
}

/* Only "performance" asks for the highest frequency at any load (Linux, "CPU Performance
 * Scaling"). */
static void check_governor(struct checks *checks, const char *root, const cpu_set_t *allowed)
{
    char path[96], governor[64], worst[64] = "";
    int known = 0, others = 0;

    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET((size_t)i, allowed))
            continue;
        snprintf(path, sizeof path, CPU "cpu%d/cpufreq/scaling_governor", i);
        if (!system_file_line(root, path, governor, sizeof governor))
            continue;
        known++;
        if (strcmp(governor, "performance") == 0)
            continue;
        others++;
        memcpy(worst, governor, sizeof worst);
    }
    if (known == 0)
        checks_add(checks, "cpu_governor", CHECK_NONE, "performance",
                   "this kernel does not set the frequency; in a virtual machine its host does",
                   "none");
    else
        checks_add(checks, "cpu_governor", others > 0 ? CHECK_LOW : CHECK_OK, "performance",
                   "the clock follows the load, so times depend on what ran before: cpupower "
                   "frequency-set -g performance",
                   "%s%s", others > 0 ? worst : "performance",
                   others > 0 && others < known ? " on some processors" : "");
}

static void check_turbo(struct checks *checks, const char *root)
{
    char line[16];
    bool on;

    /* The two drivers state opposites: one that turbo is off, the other that it is on. */
    if (system_file_line(root, CPU "intel_pstate/no_turbo", line, sizeof line))
        on = atoi(line) == 0;
    else if (system_file_line(root, CPU "cpufreq/boost", line, sizeof line))
        on = atoi(line) != 0;
    else {
        checks_unknown(checks, "cpu_turbo", "on",
                       "this kernel does not set it; in a virtual machine its host does");
        return;
    }
    checks_add(
        checks, "cpu_turbo", on ? CHECK_OK : CHECK_LOW, "on",
        "the host runs at its base clock: steady, but slower than training would find it (echo "
        "0 > " CPU "intel_pstate/no_turbo, or 1 > " CPU "cpufreq/boost)",
        "%s", on ? "on" : "off");
}

static bool is_there(const char *root, const char *path)
{
    char name[PATH_MAX];

    snprintf(name, sizeof name, "%s%s", root, path);
    return access(name, F_OK) == 0;
}

static void check_quota(struct checks *checks, const char *root, const struct machine *machine)
{
    double cores = control_groups_cpu(root).cores;

    if (isinf(cores) && !is_there(root, "/proc/self/cgroup")) {
        checks_unknown(checks, "cpu_quota", "none, or as many as cores",
                       "there is no /proc/self/cgroup");
    } else if (isinf(cores)) {
        checks_add(checks, "cpu_quota", CHECK_OK, "none", "", "none");
    } else {
        checks_number(checks, cores, machine->cores_allowed, "cores");
        checks_add(checks, "cpu_quota", cores < machine->cores_allowed ? CHECK_FAIL : CHECK_OK,
                   "none, or as many as cores",
                   "the control group stops all threads for the rest of a period once its share is "
                   "used up: give it no quota, or bind to fewer cores",
                   "%.3g core%s", cores, cores == 1 ? "" : "s");
    }
}

static void check_numa(struct checks *checks, const char *root, const cpu_set_t *allowed)
{
    char line[1024], path[96];
    cpu_set_t nodes;
    int all = 0, used = 0;

    if (!system_file_line(root, "/sys/devices/system/node/online", line, sizeof line) ||
        !cpu_list_parse(line, &nodes)) {
        checks_unknown(checks, "numa", "cores of one node",
                       "the kernel does not say which memory is near");
        return;
    }
    for (int i = 0; i < CPU_SETSIZE; i++) {
        cpu_set_t cores;
        if (!CPU_ISSET((size_t)i, &nodes))
            continue;
        all++;
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", i);
        if (!system_file_line(root, path, line, sizeof line) || !cpu_list_parse(line, &cores))
            continue;
        CPU_AND(&cores, &cores, allowed);
        used += CPU_COUNT(&cores) > 0;
    }
    checks_add(checks, "numa", used > 1 ? CHECK_LOW : CHECK_OK, "cores of one node",
               "threads may run far from their memory, and another run elsewhere: numactl "
               "--cpunodebind=N --membind=N, N being the GPU's node",
               "cores of %d of %d nodes", used, all);
}

/* Guests see it in a flag of the processor, which only hypervisors set (CPUID leaf 1, bit 31 of
 * ECX). Kernels for ARM list "Features", and none says so. A container shares its host's kernel: it
 * is named, and no reason for doubt. */
static void check_virtualisation(struct checks *checks, const char *root)
{
    char flags[8192], vendor[64], product[64];
    bool says = system_file_key(root, "/proc/cpuinfo", "flags", flags, sizeof flags);
    bool guest = says && strstr(flags, " hypervisor") != NULL;
    bool container = is_there(root, "/run/systemd/container") || is_there(root, "/.dockerenv");

    if (!is_there(root, "/proc/cpuinfo")) {
        checks_unknown(checks, "virtualisation", "none", "there is no /proc/cpuinfo");
        return;
    }
    if (!says && !container) {
        checks_unknown(checks, "virtualisation", "none", "an ARM kernel does not say");
        return;
    }
    system_file_line(root, "/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor);
    system_file_line(root, "/sys/class/dmi/id/product_name", product, sizeof product);
    checks_add(
        checks, "virtualisation", guest ? CHECK_LOW : CHECK_OK, "none",
        "neighbours on the same host change with the hour: compare only runs measured in turns, "
        "three or more per side, and look at cpu_steal",
        "%s%s%s%s%s%s",
        guest       ? "a virtual machine"
        : container ? "a container"
                    : "none",
        guest && vendor[0] != '\0' ? " (" : "", guest ? vendor : "",
        guest && vendor[0] != '\0' && product[0] != '\0' ? " " : "",
        guest && vendor[0] != '\0' ? product : "", guest && vendor[0] != '\0' ? ")" : "");
}

/* The others are read through the bus, which takes microseconds and varies (Documentation/timers/
 * timekeeping.rst of the kernel). */
static void check_clock_source(struct checks *checks, const char *root)
{
    static const char *const fast[] = { "tsc", "kvm-clock", "arch_sys_counter",
                                        "hyperv_clocksource_tsc_page" };
    enum check_status status = CHECK_FAIL;
    char name[64];

    if (!system_file_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          name, sizeof name)) {
        checks_unknown(checks, "clock_source", "tsc", "the kernel does not say");
        return;
    }
    for (size_t i = 0; i < sizeof fast / sizeof *fast; i++)
        if (strcmp(name, fast[i]) == 0)
            status = CHECK_OK;
    checks_add(
        checks, "clock_source", status, "tsc, kvm-clock or arch_sys_counter",
        "reading this clock takes a system call and more than a microsecond, so short times mean "
        "nothing: boot with clocksource=tsc",
        "%s", name);
}

/* The first number: how many threads ran, wanted to run or waited for a disk, on average over about
 * a minute (proc(5)). */
static void check_load(struct checks *checks, const char *root, const struct machine *machine)
{
    char line[96];
    double load, cores = machine->cores_allowed;

    if (!system_file_line(root, "/proc/loadavg", line, sizeof line)) {
        checks_unknown(checks, "load", "", "there is no /proc/loadavg");
        return;
    }
    load = atof(line);
    checks_number(checks, load, 0.5 * cores, "processes");
    checks_add(checks, "load",
               load <= 0.5 * cores ? CHECK_OK
               : load <= 2 * cores ? CHECK_LOW
                                   : CHECK_FAIL,
               "at most half the cores",
               "other programs take turns on the cores: wait until they are done, or end them "
               "(it also counts what ran a minute ago)",
               "%.2f over a minute", load);
}

void host_check_processors(struct checks *checks, const char *root, const struct machine *machine)
{
    cpu_set_t allowed;

    checks->group = "host";
    if (!cpu_list_parse(machine->affinity, &allowed))
        CPU_ZERO(&allowed);
    checks_add(checks, "cpu", machine->cpu_model[0] != '\0' ? CHECK_OK : CHECK_NONE, "",
               "there is no model name in /proc/cpuinfo", "%s",
               machine->cpu_model[0] != '\0' ? machine->cpu_model : "unknown");
    checks_number(checks, machine->cores_allowed, 2, "cores");
    checks_add(checks, "cores", machine->cores_allowed < 2 ? CHECK_LOW : CHECK_OK, "2 or more",
               "host and device work share the cores of the CPU device, and the loader needs one "
               "too: give this process more (taskset, docker --cpuset-cpus)",
               "%d of %d (%s)", machine->cores_allowed, machine->cpus, machine->affinity);
    check_smt(checks, root, &allowed);
    check_governor(checks, root, &allowed);
    check_turbo(checks, root);
    check_quota(checks, root, machine);
    check_numa(checks, root, &allowed);
    check_virtualisation(checks, root);
    check_clock_source(checks, root);
    check_load(checks, root, machine);
}
