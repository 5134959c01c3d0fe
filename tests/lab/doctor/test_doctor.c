/* Rows of `doctor` on machines that are made up: a folder stands for /proc and /sys, and readings
 * of a GPU are given. */
#include "harness/checks/checks.h"
#include "harness/lab/doctor/doctor.h"
#include "harness/lab/doctor/gpu.h"
#include "harness/lab/doctor/host/host.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_machine.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#define CPU   "sys/devices/system/cpu/"
#define NODE  "sys/devices/system/node/"
#define CLOCK "sys/devices/system/clocksource/clocksource0/current_clocksource"
#define HUGE  "sys/kernel/mm/transparent_hugepage/enabled"
#define MEMORY(available, total, unused)                                                           \
    "MemTotal:       65536000 kB\nMemAvailable:   " available " kB\nSwapTotal:      " total        \
    " kB\nSwapFree:       " unused " kB\n"

/* Four processors, four cores, one node, idle: nothing to complain about. */
static void put_good_machine(void)
{
    static const char *const files[][2] = {
        { CPU "cpu0/topology/thread_siblings_list", "0\n" },
        { CPU "cpu1/topology/thread_siblings_list", "1\n" },
        { CPU "cpu2/topology/thread_siblings_list", "2\n" },
        { CPU "cpu3/topology/thread_siblings_list", "3\n" },
        { CPU "cpu0/cpufreq/scaling_governor", "performance\n" },
        { CPU "cpu3/cpufreq/scaling_governor", "performance\n" },
        { CPU "intel_pstate/no_turbo", "0\n" },
        { NODE "online", "0\n" },
        { NODE "node0/cpulist", "0-3\n" },
        { CLOCK, "tsc\n" },
        { HUGE, "always [madvise] never\n" },
        { "proc/loadavg", "0.10 0.20 0.30 1/100 1234\n" },
        { "proc/cpuinfo", "processor\t: 0\nmodel name\t: Test 9000\nflags\t\t: fpu vme sse2\n" },
        { "proc/meminfo", MEMORY("60000000", "1000000", "1000000") },
        { "proc/self/cgroup", "2:cpu:/batch/7\n0::/jobs/mine\n" },
        { "sys/fs/cgroup/cpu/batch/cpu.cfs_period_us", "100000\n" },
        { "sys/fs/cgroup/jobs/mine/cpu.max", "max 100000\n" },
        { "proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n" },
        { "proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(files); i++) made_machine_put(files[i][0], files[i][1]);
}

static const struct machine four_cores = {
    .cpu_model = "Test 9000", .affinity = "0-3", .cpus = 4, .cores_allowed = 4
};

static void check_host(struct checks *checks, const struct machine *machine)
{
    *checks = (struct checks){ .count = 0 };
    host_check_processors(checks, made_machine_root(), machine);
    host_check_memory(checks, made_machine_root());
    gpu_check_driver(checks, made_machine_root(), false);
}

static void assert_row(const struct checks *checks, const char *name, enum check_status status,
                       const char *value)
{
    const struct check *row = checks_find(checks, name);

    if (row == NULL)
        fail_msg("there is no row %s", name);
    if (row->status != status || strstr(row->value, value) == NULL)
        fail_msg("%s is %s, \"%s\"; expected %s, \"%s\"", name, check_status_name(row->status),
                 row->value, check_status_name(status), value);
    assert_int_equal(row->advice[0] == '\0', status == CHECK_OK);
}

TEST(variables_that_spoil_figures_are_low)
{
    char blocking[] = "CUDA_LAUNCH_BLOCKING=1", threads[] = "OMP_NUM_THREADS=2";
    char *some[] = { threads, blocking, NULL }, *none[] = { NULL };
    struct checks checks = { .count = 0 };

    environment_check(&checks, some);
    assert_int_equal(checks.count, 2);
    assert_row(&checks, "CUDA_LAUNCH_BLOCKING", CHECK_LOW, "1");
    assert_non_null(strstr(checks.rows[0].advice, "waits until its kernel is done"));
    assert_row(&checks, "OMP_NUM_THREADS", CHECK_OK, "2");
    assert_non_null(strstr(checks.rows[1].expected, "threads of OpenMP"));
    checks = (struct checks){ .count = 0 };
    environment_check(&checks, none);
    assert_int_equal(checks.count, 1);
    assert_row(&checks, "environment", CHECK_OK, "nothing is set");
}

ON_A_MADE_MACHINE(a_good_machine_has_no_bad_row)
{
    struct checks checks;

    put_good_machine();
    check_host(&checks, &four_cores);
    for (int i = 0; i < checks.count; i++)
        if (checks.rows[i].status != CHECK_OK)
            fail_msg("%s is %s: %s", checks.rows[i].name, check_status_name(checks.rows[i].status),
                     checks.rows[i].value);
    assert_int_equal(checks.counts[CHECK_OK], checks.count);
    assert_row(&checks, "numa", CHECK_OK, "1 of 1");
    assert_row(&checks, "gpu_driver", CHECK_OK, "580.65.06");
}

ON_A_MADE_MACHINE(each_bad_condition_says_so_in_its_row_alone)
{
    static const struct {
        const char *path, *text, *row;
        enum check_status status;
        const char *value;
    } cases[] = {
        { CPU "cpu3/cpufreq/scaling_governor", "powersave\n", "cpu_governor", CHECK_LOW,
          "powersave on some" },
        { CPU "intel_pstate/no_turbo", "1\n", "cpu_turbo", CHECK_LOW, "off" },
        { CPU "cpu1/topology/thread_siblings_list", "0-1\n", "smt", CHECK_LOW,
          "4 processors on 3" },
        { "sys/fs/cgroup/jobs/mine/cpu.max", "150000 100000\n", "cpu_quota", CHECK_FAIL,
          "1.5 cores" },
        { "sys/fs/cgroup/jobs/cpu.max", "50000 100000\n", "cpu_quota", CHECK_FAIL, "0.5 cores" },
        { "sys/fs/cgroup/cpu.max", "200000 100000\n", "cpu_quota", CHECK_FAIL, "2 cores" },
        { "sys/fs/cgroup/cpu.max", "400000 100000\n", "cpu_quota", CHECK_OK, "4 cores" },
        { "sys/fs/cgroup/cpu/batch/cpu.cfs_quota_us", "50000\n", "cpu_quota", CHECK_FAIL,
          "0.5 cores" },
        { NODE "online", "0-1\n", "numa", CHECK_OK, "1 of 2" },
        { CLOCK, "hpet\n", "clock_source", CHECK_FAIL, "hpet" },
        { "proc/loadavg", "3.00 1 1 1/1 1\n", "load", CHECK_LOW, "3.00" },
        { "proc/loadavg", "9.00 1 1 1/1 1\n", "load", CHECK_FAIL, "9.00" },
        { "proc/cpuinfo", "flags\t: fpu hypervisor\n", "virtualisation", CHECK_LOW,
          "a virtual machine" },
        { "proc/cpuinfo", "Features\t: fp asimd\n", "virtualisation", CHECK_NONE, "unknown" },
        { "proc/meminfo", MEMORY("500000", "0", "0"), "memory", CHECK_FAIL, "488 MiB" },
        { "proc/meminfo", MEMORY("2000000", "0", "0"), "memory", CHECK_LOW, "1.91 GiB" },
        { "proc/meminfo", MEMORY("60000000", "1000000", "500000"), "swap", CHECK_LOW,
          "488 MiB in use" },
        { HUGE, "always madvise [never]\n", "huge_pages", CHECK_LOW, "never" },
        { "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.1\n",
          "gpu_driver", CHOKEPOINT_CUDA_DRIVER > 535 ? CHECK_FAIL : CHECK_OK, "535.1" },
        { "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82\n",
          "gpu_driver", CHECK_FAIL, "470.82" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks;
        put_good_machine();
        made_machine_put(cases[i].path, cases[i].text);
        check_host(&checks, &four_cores);
        assert_row(&checks, cases[i].row, cases[i].status, cases[i].value);
        assert_int_equal(checks.counts[CHECK_OK], checks.count - (cases[i].status != CHECK_OK));
        assert_int_equal(made_machine_close(NULL), 0);
        assert_int_equal(made_machine_open(NULL), 0);
    }
}

ON_A_MADE_MACHINE(what_the_process_may_use_is_what_counts)
{
    struct machine machine = four_cores;
    struct checks checks;

    put_good_machine();
    made_machine_put(CPU "cpu1/topology/thread_siblings_list", "0-1\n");
    made_machine_put(CPU "cpu0/topology/thread_siblings_list", "0-1\n");
    made_machine_put(CPU "cpu3/cpufreq/scaling_governor", "powersave\n");
    made_machine_put(NODE "online", "0-1\n");
    made_machine_put(NODE "node0/cpulist", "0-1\n");
    made_machine_put(NODE "node1/cpulist", "2-3\n");
    made_machine_put("sys/fs/cgroup/memory.max", "1073741824\n");
    made_machine_put("sys/fs/cgroup/memory.current", "536870912\n");
    check_host(&checks, &machine);
    assert_row(&checks, "smt", CHECK_LOW, "4 processors on 3 cores");
    assert_row(&checks, "numa", CHECK_LOW, "2 of 2");
    assert_row(&checks, "cpu_governor", CHECK_LOW, "powersave");
    assert_row(&checks, "memory", CHECK_FAIL, "512 MiB");

    strcpy(machine.affinity, "0");
    machine.cores_allowed = 1;
    check_host(&checks, &machine);
    assert_row(&checks, "smt", CHECK_OK, "1 processors on 1 cores");
    assert_row(&checks, "numa", CHECK_OK, "1 of 2");
    assert_row(&checks, "cpu_governor", CHECK_OK, "performance");
    assert_row(&checks, "cores", CHECK_LOW, "1 of 4");
}

ON_A_MADE_MACHINE(a_machine_that_says_nothing_is_no_failure)
{
    struct machine machine = { .cores_allowed = 2, .cpus = 2 };
    struct checks checks;

    check_host(&checks, &machine);
    assert_int_equal(checks.counts[CHECK_LOW] + checks.counts[CHECK_FAIL], 0);
    assert_row(&checks, "cpu_turbo", CHECK_NONE, "unknown");
    assert_row(&checks, "gpu_driver", CHECK_NONE, "none");
    checks = (struct checks){ .count = 0 };
    gpu_check_driver(&checks, made_machine_root(), true);
    assert_row(&checks, "gpu_driver", CHECK_FAIL, "none");
}

/* Containers and WSL2 show the driver's device without its /proc. */
ON_A_MADE_MACHINE(a_driver_without_its_proc_is_unknown_and_not_absent)
{
    static const char *const devices[] = { "/dev/nvidiactl", "/dev/dxg" };

    for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
        struct checks checks = { .count = 0 };
        made_machine_put(devices[i], "");
        gpu_check_driver(&checks, made_machine_root(), true);
        assert_row(&checks, "gpu_driver", CHECK_NONE, "unknown");
        assert_string_equal(checks.rows[0].advice, checks.rows[1].advice);
        assert_non_null(strstr(checks.rows[0].advice, i == 0 ? "nvidiactl" : "WSL2"));
        assert_int_equal(made_machine_close(NULL), 0);
        assert_int_equal(made_machine_open(NULL), 0);
    }
}

TEST(lists_of_processors_are_the_kernels)
{
    static const struct {
        const char *list;
        bool fine;
        int count;
    } cases[] = {
        { "0", true, 1 },      { "0-3,8", true, 5 }, { "0-3,8-9,64", true, 7 },
        { "", false, 0 },      { "-3", false, 0 },   { "1-", false, 0 },
        { "0,", false, 0 },    { "0-3x", false, 0 }, { "0-99999", false, 0 },
        { "99999", false, 0 }, { "3-1", true, 0 },   { " 1", false, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cpu_set_t set;
        assert_int_equal(cpu_list_parse(cases[i].list, &set), cases[i].fine);
        assert_int_equal(CPU_COUNT(&set), cases[i].count);
    }
}

/* --- Disturbance while measuring --- */

TEST(others_are_told_from_the_processs_own_time)
{
    static const struct {
        struct cpu_times second;
        enum check_status steal, others;
    } cases[] = {
        { { 105, 10.01, 5, 20, 0 }, CHECK_OK, CHECK_OK }, /* all of it was this process */
        { { 107, 10.01, 5, 20, 0 }, CHECK_OK, CHECK_OK },
        { { 115, 10.01, 5, 20, 0 }, CHECK_OK, CHECK_LOW },
        { { 119, 11, 5, 20, 0 }, CHECK_LOW, CHECK_FAIL },
        { { 105, 15, 5, 20, 0 }, CHECK_FAIL, CHECK_OK },
        { { NAN, 15, 5, 20, 0 }, CHECK_NONE, CHECK_NONE },
    };
    static const struct cpu_times first = { 100, 10, 0, 10, 0 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        disturbance_check(&checks, &first, &cases[i].second, 2);
        assert_int_equal(checks_find(&checks, "cpu_steal")->status, cases[i].steal);
        assert_int_equal(checks_find(&checks, "other_programs")->status, cases[i].others);
    }
}

/* Two processors: one of ours, and the last number that a set can have, which is hardly ours. */
ON_A_MADE_MACHINE(processor_time_is_that_of_our_processors_in_seconds)
{
    struct cpu_times times;
    char stat[512];
    cpu_set_t own;
    int first = 0;

    assert_int_equal(sched_getaffinity(0, sizeof own, &own), 0);
    while (!CPU_ISSET((size_t)first, &own)) first++;
    snprintf(stat, sizeof stat,
             "cpu  900 900 900 9999 50 10 20 900 7 8\n"
             "cpu%d 100 200 300 9999 50 10 20 400 7 8\n"
             "cpu%d 500 500 500 9999 50 10 20 500 7 8\n",
             first, CPU_SETSIZE - 1);
    made_machine_put("proc/stat", stat);
    made_machine_put("proc/self/task/17/schedstat", "5000000000 1500000000 12\n");
    made_machine_put("proc/self/task/18/schedstat", "100 500000000 3\n");
    cpu_times_read(&times, made_machine_root());
    assert_true(times.busy == 6.3);
    assert_true(times.stolen == 4);
    assert_true(times.own >= 0);
    assert_true(times.waited == 2);
    made_machine_put("proc/stat", "intr 1\n");
    cpu_times_read(&times, made_machine_root());
    assert_true(isnan(times.busy));
}

ON_A_MADE_MACHINE(waits_for_disks_and_memory_are_shares_of_the_time)
{
    static const struct {
        const char *io, *memory;
        enum check_status disk_waits, memory_waits;
    } cases[] = {
        { "900000", "0", CHECK_OK, CHECK_OK },
        { "1100000", "0", CHECK_LOW, CHECK_OK },
        { "0", "1100000", CHECK_OK, CHECK_LOW },
        { NULL, "0", CHECK_NONE, CHECK_OK },
    };
    struct pressure first, second;
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        first = (struct pressure){ 0, 0, 0 };
        snprintf(text, sizeof text,
                 "some avg10=1.00 avg60=2.00 avg300=3.00 total=%s\n"
                 "full avg10=0.00 avg60=0.00 avg300=0.00 total=9999999\n",
                 cases[i].io != NULL ? cases[i].io : "");
        made_machine_put("proc/pressure/io", text);
        snprintf(text, sizeof text, "some avg10=1.00 avg60=2.00 avg300=3.00 total=%s\n",
                 cases[i].memory);
        made_machine_put("proc/pressure/memory", text);
        pressure_read(&second, made_machine_root());
        assert_true(second.now > 0);
        second.now = 10;
        pressure_check(&checks, &first, &second);
        assert_int_equal(checks_find(&checks, "disk_waits")->status, cases[i].disk_waits);
        assert_int_equal(checks_find(&checks, "memory_waits")->status, cases[i].memory_waits);
    }
}

/* The machine's memory does not help if less is allowed: by a group, one that holds it, or the
 * process's limit. */
ON_A_MADE_MACHINE(memory_is_what_the_process_may_still_take)
{
    static const struct {
        const char *files[3][2];
        enum check_status status;
        const char *value;
    } cases[] = {
        { { { "sys/fs/cgroup/jobs/mine/memory.max", "1073741824\n" },
            { "sys/fs/cgroup/jobs/mine/memory.current", "536870912\n" } },
          CHECK_FAIL,
          "512 MiB" },
        { { { "sys/fs/cgroup/jobs/memory.max", "3221225472\n" },
            { "sys/fs/cgroup/jobs/memory.current", "1073741824\n" },
            { "sys/fs/cgroup/jobs/mine/memory.max", "max\n" } },
          CHECK_LOW,
          "2.00 GiB" },
        { { { "proc/self/cgroup", "4:memory:/batch/7\n0::/\n" },
            { "sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", "1073741824\n" },
            { "sys/fs/cgroup/memory/batch/7/memory.usage_in_bytes", "805306368\n" } },
          CHECK_FAIL,
          "256 MiB" },
        { { { "proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units     \n"
              "Max address space         2147483648           unlimited            bytes     \n" },
            { "proc/self/status", "Name:\tx\nVmSize:\t 1048576 kB\n" } },
          CHECK_LOW,
          "1.00 GiB" },
        { { { "proc/self/limits",
              "Max address space         unlimited            unlimited            bytes     \n" },
            { "proc/self/status", "VmSize:\t 1048576 kB\n" } },
          CHECK_OK,
          "57.2 GiB" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        assert_int_equal(made_machine_close(state), 0);
        assert_int_equal(made_machine_open(state), 0);
        put_good_machine();
        for (int f = 0; f < 3 && cases[i].files[f][0] != NULL; f++)
            made_machine_put(cases[i].files[f][0], cases[i].files[f][1]);
        host_check_memory(&checks, made_machine_root());
        assert_row(&checks, "memory", cases[i].status, cases[i].value);
    }
}

/* --- Folders --- */

TEST(folders_are_judged_by_writing_space_and_where_they_lie)
{
    static const int64_t needed = INT64_C(1) << 30;
    static const struct {
        struct folder_facts facts;
        enum check_status status;
        const char *value;
    } cases[] = {
        { { "/data", 0, false, INT64_C(2) << 30 }, CHECK_OK, "2.00 GiB free" },
        { { "/data", 0, false, INT64_C(900) << 20 }, CHECK_LOW, "900 MiB free" },
        { { "/data", 0, false, INT64_C(9) << 20 }, CHECK_FAIL, "9.00 MiB free" },
        { { "/data", EROFS, false, INT64_C(2) << 30 }, CHECK_FAIL, "Read-only file system" },
        { { "/data", 0, true, INT64_C(2) << 30 }, CHECK_LOW, "in memory" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        folder_check(&checks, "result_folder", &cases[i].facts, needed, "memory is not a disk");
        assert_row(&checks, "result_folder", cases[i].status, cases[i].value);
    }
}

ON_A_MADE_MACHINE(a_folder_is_looked_at_without_making_it)
{
    struct folder_facts facts;
    char path[256];
    struct stat info;

    snprintf(path, sizeof path, "%s/not/there/yet", made_machine_root());
    folder_look(&facts, path);
    assert_string_equal(facts.path, made_machine_root());
    assert_int_equal(facts.error, 0);
    assert_true(facts.free_bytes > 0);
    assert_int_equal(stat(path, &info), -1);

    made_machine_put("a_file", "");
    snprintf(path, sizeof path, "%s/a_file", made_machine_root());
    folder_look(&facts, path);
    assert_int_equal(facts.error, ENOTDIR);
    folder_look(&facts, "no/such/folder/here");
    assert_string_equal(facts.path, ".");
    folder_look(&facts, "/proc/self");
    assert_int_not_equal(facts.error, 0);
}

/* --- A GPU --- */

static const struct device_properties gpu = { .kind = "cuda",
                                              .is_gpu = true,
                                              .name = "Test GPU",
                                              .isa = "sm_90",
                                              .gemm_library = "cuBLAS 13.0",
                                              .memory_bus_bits = 5120,
                                              .multiprocessors = 132,
                                              .compute_capability = 90,
                                              .fused_attention = true,
                                              .attention_library = "cuDNN 9.19.0",
                                              .attention_cuda = 13000,
                                              .cuda_runtime = 13000,
                                              .cuda_driver = 13010 };

static struct device_health good_health(void)
{
    struct device_health health = device_health_unknown;

    health.now.clock_mhz = 1900;
    health.now.temperature_c = 50;
    health.now.power_w = 300;
    health.now.limits = 0;
    health.clock_max_mhz = 1980;
    health.memory_clock_max_mhz = 2619;
    health.power_limit_w = 700;
    health.ecc = 1;
    health.ecc_uncorrected = 0;
    health.pcie_generation = health.pcie_generation_max = 5;
    health.pcie_width = health.pcie_width_max = 16;
    health.numa_node = 0;
    strcpy(health.local_cores, "0-3");
    health.mig = 0;
    health.persistence = 1;
    health.exclusive = 0;
    health.other_processes = 0;
    health.other_bytes = 0;
    return health;
}

static void check_gpu(struct checks *checks, const struct device_health *health)
{
    *checks = (struct checks){ .count = 0 };
    gpu_check_health(checks, &gpu, health, "0-3", NULL);
}

TEST(each_trouble_of_a_gpu_says_so)
{
    struct device_health health = good_health();
    struct checks checks;

    check_gpu(&checks, &health);
    assert_int_equal(checks.counts[CHECK_OK], checks.count);
    assert_row(&checks, "gpu_link", CHECK_OK, "generation 5 x16");

#define TROUBLE(row, status, value, change)                                                        \
    do {                                                                                           \
        health = good_health();                                                                    \
        change;                                                                                    \
        check_gpu(&checks, &health);                                                               \
        assert_row(&checks, row, status, value);                                                   \
        assert_int_equal(checks.counts[CHECK_OK], checks.count - 1);                               \
    } while (0)
    TROUBLE("gpu_link", CHECK_LOW, "generation 5 x8 of 5 x16", health.pcie_width = 8);
    TROUBLE("gpu_link", CHECK_LOW, "generation 3", health.pcie_generation = 3);
    TROUBLE("gpu_clock", CHECK_LOW, "900 of 1980 MHz", health.now.clock_mhz = 900);
    TROUBLE("gpu_throttle", CHECK_LOW, "power", health.now.limits = LIMIT_POWER);
    TROUBLE("gpu_throttle", CHECK_FAIL, "thermal", health.now.limits = LIMIT_THERMAL);
    TROUBLE("gpu_temperature", CHECK_LOW, "88 C", health.now.temperature_c = 88);
    TROUBLE("gpu_ecc", CHECK_FAIL, "on, 2 uncorrected", health.ecc_uncorrected = 2);
    TROUBLE("gpu_mig", CHECK_LOW, "divided", health.mig = 1);
    TROUBLE("gpu_persistence", CHECK_LOW, "off", health.persistence = 0);
    TROUBLE("gpu_compute_mode", CHECK_FAIL, "exclusive", health.exclusive = 1);
    TROUBLE("gpu_others", CHECK_LOW, "1, with", health.other_processes = 1);
    TROUBLE("gpu_near", CHECK_LOW, "2 of 4 cores", strcpy(health.local_cores, "2-7"));
    TROUBLE("gpu_clock", CHECK_NONE, "unknown", health.clock_max_mhz = NAN);
#undef TROUBLE
    health = good_health();
    checks = (struct checks){ .count = 0 };
    gpu_check_health(&checks, &gpu, &health, "0-3", "/tmp/nvidia-mps");
    assert_row(&checks, "gpu_mps", CHECK_LOW, "on");
}

TEST(libraries_must_fit_the_driver_and_each_other)
{
    static const struct {
        int runtime, driver, cudnn_for;
        enum check_status toolkit, cudnn;
        const char *value;
    } cases[] = {
        { 13000, 13000, 13000, CHECK_OK, CHECK_OK, "CUDA 13.0, driver for 13.0" },
        { 13000, 13020, 13010, CHECK_OK, CHECK_OK, "CUDA 13.0, driver for 13.2" },
        { 13000, 14000, 12090, CHECK_OK, CHECK_LOW, "CUDA 13.0, driver for 14.0" },
        { 13010, 13000, 13000, CHECK_LOW, CHECK_OK, "CUDA 13.1, driver for 13.0" },
        { 13000, 12090, 13000, CHECK_FAIL, CHECK_OK, "CUDA 13.0, driver for 12.9" },
        { 0, 13000, 13000, CHECK_NONE, CHECK_LOW, "unknown" },
    };
    struct device_health health = good_health();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        struct device_properties properties = gpu;
        properties.cuda_runtime = cases[i].runtime;
        properties.cuda_driver = cases[i].driver;
        properties.attention_cuda = cases[i].cudnn_for;
        gpu_check_health(&checks, &properties, &health, "0-3", NULL);
        assert_row(&checks, "gpu_toolkit", cases[i].toolkit, cases[i].value);
        assert_row(&checks, "gpu_cudnn", cases[i].cudnn, "cuDNN 9.19.0 for CUDA");
    }
}

TEST(without_cudnn_its_row_says_why)
{
    struct device_properties properties = gpu;
    struct device_health health = good_health();
    struct checks checks = { .count = 0 };

    properties.fused_attention = false;
    strcpy(properties.attention_library, "cuda: cuDNN does not load");
    gpu_check_health(&checks, &properties, &health, "0-3", NULL);
    assert_row(&checks, "gpu_cudnn", CHECK_LOW, "none");
    assert_string_equal(checks_find(&checks, "gpu_cudnn")->advice, "cuda: cuDNN does not load");
}

TEST(without_a_gpu_or_nvml_its_rows_are_not_applicable)
{
    struct device_health health = device_health_unknown;
    struct checks checks;

    snprintf(health.trouble, sizeof health.trouble, "libnvidia-ml.so.1 is missing");
    check_gpu(&checks, &health);
    assert_int_equal(checks.counts[CHECK_LOW] + checks.counts[CHECK_FAIL], 0);
    assert_string_equal(checks_find(&checks, "gpu_ecc")->advice, "libnvidia-ml.so.1 is missing");
    check_gpu(&checks, NULL);
    assert_int_equal(checks.counts[CHECK_NONE], checks.count);
}

/* An H100 SXM by its data sheet: 3.35 TB/s, 67 TFLOP/s in fp32; a link of 63 GB/s. */
TEST(limits_of_a_gpu_are_its_data_sheets)
{
    static const struct {
        int capability, multiprocessors;
        double mhz, flops;
    } others[] = { { 87, 16, 1300, 170e12 / 4 },          /* Jetson AGX Orin */
                   { 110, 20, 1575, 2070e12 / 8 },        /* Jetson T5000 */
                   { 120, 170, 2407, 209.5e12 },          /* GeForce RTX 5090 */
                   { 121, 48, 2500, 512 * 48 * 2.5e9 } }; /* GB10: as many per multiprocessor */
    struct device_health health = good_health();

    assert_true(fabs(gpu_memory_bytes_per_second(&gpu, &health) / 3.35e12 - 1) < 0.01);
    assert_true(fabs(gpu_fp32_flops(&gpu, &health) / 67e12 - 1) < 0.01);
    assert_true(fabs(gpu_matrix_flops(&gpu, &health) / 1070e12 - 1) < 0.01); /* 989 at 1830 MHz */
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct device_properties other = { .compute_capability = others[i].capability,
                                           .multiprocessors = others[i].multiprocessors };
        health.clock_max_mhz = others[i].mhz;
        assert_true(fabs(gpu_matrix_flops(&other, &health) / others[i].flops - 1) < 0.01);
    }
    assert_true(fabs(gpu_link_bytes_per_second(5, 16) / 63e9 - 1) < 0.01);
    assert_true(fabs(gpu_link_bytes_per_second(1, 1) / 250e6 - 1) < 1e-9);
    assert_true(isnan(gpu_link_bytes_per_second(-1, 16)));
    assert_true(isnan(gpu_link_bytes_per_second(7, 16)));
    assert_true(isnan(gpu_link_bytes_per_second(5, -1)));
    health.memory_clock_max_mhz = NAN;
    assert_true(isnan(gpu_memory_bytes_per_second(&gpu, &health)));
}

/* --- Performance --- */

TEST(figures_are_judged_by_their_share_of_what_is_expected)
{
    static const struct {
        enum performance_unit unit;
        double measured, bound;
        enum check_status status;
        const char *value;
    } cases[] = {
        { UNIT_BYTES_PER_SECOND, 10e9, 9e9, CHECK_OK, "10.0 GB/s" },
        { UNIT_BYTES_PER_SECOND, 8e9, 9e9, CHECK_LOW, "8.00 GB/s" },
        { UNIT_BYTES_PER_SECOND, 4e9, 9e9, CHECK_FAIL, "4.00 GB/s" },
        { UNIT_FLOPS, 50e12, 40e12, CHECK_OK, "50.0 TFLOP/s" },
        { UNIT_NANOSECONDS, 900, 1000, CHECK_OK, "900 ns" },
        { UNIT_NANOSECONDS, 1900, 1000, CHECK_LOW, "1.90 us" },
        { UNIT_NANOSECONDS, 2100, 1000, CHECK_FAIL, "2.10 us" },
        { UNIT_HERTZ, 3e9, 2.5e9, CHECK_OK, "3.00 GHz" },
        { UNIT_FLOPS, 50e12, NAN, CHECK_NONE, "TFLOP/s" },
        { UNIT_FLOPS, NAN, 1, CHECK_FAIL, "" },
        { UNIT_NANOSECONDS, 0, 1, CHECK_FAIL, "" },
    };
    static const struct cpu_loss quiet = { 0.1, 0, 2 }, used = { 0.9, 0, 2 },
                                 stolen = { 0, 0.05, 2 }, unknown = { NAN, NAN, 2 };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct checks checks = { .count = 0 };
        performance_judge(&checks, "row", cases[i].unit, cases[i].measured, cases[i].bound,
                          "advice", i % 2 > 0 ? &quiet : &unknown, NAN);
        assert_row(&checks, "row", cases[i].status, cases[i].value);
        if (cases[i].status == CHECK_LOW)
            assert_string_equal(checks.rows[0].advice, "advice");
    }
    for (int i = 0; i < 2; i++) { /* with others on the cores, it is low at worst */
        struct checks checks = { .count = 0 };
        performance_judge(&checks, "row", UNIT_FLOPS, 1e9, 9e9, "advice", i > 0 ? &used : &stolen,
                          NAN);
        assert_row(&checks, "row", CHECK_LOW, "1.00 GFLOP/s");
        assert_non_null(strstr(checks.rows[0].advice, "measure again"));
        checks.count = 0;
        performance_judge(&checks, "row", UNIT_FLOPS, 10e9, 9e9, "advice", &used, NAN);
        assert_row(&checks, "row", CHECK_OK, "10.0 GFLOP/s");
    }
}

/* By the facts of a CPU with eight cores, with and without instructions for bf16, and of the H100
 * above. */
TEST(bounds_are_shares_of_what_other_facts_promise)
{
    static const struct {
        const char *name;
        double with_bf16, without, gpu;
    } cases[] = {
        { "copy_h2d", 6e9, 6e9, 44.1e9 },
        { "copy_d2h", 6e9, 6e9, 44.1e9 },
        { "copy_h2d_pageable", 3e9, 3e9, 2.5e9 },
        { "copy_d2d", 12e9, 12e9, 2.51e12 },
        { "memory_bandwidth", 8e9, 8e9, 2.51e12 },
        { "gemm_fp32", 384e9, 384e9, 40.1e12 },
        { "gemm_tf32", 192e9, 96e9, 321e12 },
        { "gemm_bf16", 384e9, 192e9, 642e12 },
        { "gemm_fp16", 192e9, 192e9, 642e12 },
        { "launch", 5e3, 5e3, 10e3 },
        { "wait", 15e3, 15e3, 30e3 },
    };
    static const struct device_properties with = { .multiprocessors = 8, .isa = "AVX512 bf16" },
                                          without = { .multiprocessors = 8, .isa = "AVX2" };
    const struct host_limits host = {
        .copy_bytes_per_second = 10e9, .clock_hz = 3e9, .flops_per_cycle = 32, .round_trip_ns = 10e3
    };
    const struct device_health health = good_health();

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *name = cases[i].name;
        double bounds[] = { performance_bound(name, &with, NULL, &host) / cases[i].with_bf16,
                            performance_bound(name, &without, NULL, &host) / cases[i].without,
                            performance_bound(name, &gpu, &health, &host) / cases[i].gpu };
        for (int j = 0; j < 3; j++)
            if (!(fabs(bounds[j] - 1) < 0.01))
                fail_msg("%s: the bound of device %d is %g times what it should be", name, j,
                         bounds[j]);
    }
}

/* The measurements, in turn: a value and the cores that others used. */
struct played {
    double values[2], others[2];
    int count;
};

static enum status play(void *context, double *value, struct cpu_loss *loss)
{
    struct played *played = context;

    assert_true(played->count < 2);
    *value = played->values[played->count];
    *loss = (struct cpu_loss){ played->others[played->count++], 0, 2 };
    return STATUS_OK;
}

TEST(a_low_figure_is_measured_again_if_others_used_the_cores)
{
    static const struct {
        struct played played;
        bool is_time;
        double bound;
        int measured;
        double value, others;
    } cases[] = {
        { { { 10 }, { 1 }, 0 }, false, 9, 1, 10, 1 },     /* enough all the same */
        { { { 5 }, { 0 }, 0 }, false, 9, 1, 5, 0 },       /* low, and nobody else's fault */
        { { { 5, 8 }, { 1, 0 }, 0 }, false, 9, 2, 8, 0 }, /* the better one counts */
        { { { 5, 4 }, { 1, 0 }, 0 }, false, 9, 2, 5, 1 },
        { { { 5, 9 }, { 1, 1 }, 0 }, false, 9, 2, 9, 1 },
        { { { 15, 12 }, { 1, 0 }, 0 }, true, 10, 2, 12, 0 },
        { { { 9 }, { 1 }, 0 }, true, 10, 1, 9, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct played played = cases[i].played;
        struct cpu_loss loss;
        double value;
        assert_ok(performance_undisturbed(play, &played, cases[i].is_time, cases[i].bound, &value,
                                          &loss));
        assert_int_equal(played.count, cases[i].measured);
        assert_float_equal(value, cases[i].value, 0);
        assert_float_equal(loss.others, cases[i].others, 0);
    }
}

TEST(every_row_of_performance_has_its_bench)
{
    assert_null(performance_unknown_bench());
}

TEST(limits_of_the_host_are_measured)
{
    struct host_limits limits;

    assert_ok(host_limits_measure(&limits, 1 << 20));
    assert_true(limits.copy_bytes_per_second > 0);
    assert_true(limits.round_trip_ns > 0);
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(limits.clock_hz > 1e8 && limits.clock_hz < 1e10);
    assert_true(limits.flops_per_cycle >= 8);
#endif
}

/* --- Output --- */

TEST(json_has_the_members_that_programs_read)
{
    static const char *const members[] = { "name",   "status", "value", "expected", "advice",
                                           "number", "bound",  "unit",  "noise" };
    struct checks checks = { .group = "host" };
    const cJSON *row;
    struct json json = { false };
    cJSON *root_object, *written = json_object(&json, NULL, NULL);
    char *text;

    checks_add(&checks, "first", CHECK_OK, "x", "dropped", "%d \"%s\"", 1, "q\xff");
    checks_number(&checks, 9.91e9, 4e9, "B/s");
    checks_add(&checks, "second", CHECK_LOW, "", "why", "9.91 GB/s");
    checks_add(&checks, "third", CHECK_NONE, "", "why", "unknown");
    checks_json(&json, written, &checks);
    assert_ok(json_print(&json, written, &text));
    cJSON_Delete(written);
    root_object = cJSON_Parse(text);
    assert_non_null(root_object);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root_object, "checks")), 3);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(root_object, "checks"))
    {
        assert_int_equal(cJSON_GetArraySize(row), (int)ARRAY_SIZE(members));
        for (int i = 0; i < (int)ARRAY_SIZE(members); i++)
            assert_string_equal(cJSON_GetArrayItem(row, i)->string, members[i]);
        for (int i = 0; i < 5; i++) assert_true(cJSON_IsString(cJSON_GetArrayItem(row, i)));
    }
    assert_string_equal(cJSON_GetObjectItem(root_object, "fit")->valuestring, "with care");
    row = cJSON_GetArrayItem(cJSON_GetObjectItem(root_object, "checks"), 0);
    assert_string_equal(cJSON_GetObjectItem(row, "advice")->valuestring, "");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "number")));
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "unit")));
    row = cJSON_GetArrayItem(cJSON_GetObjectItem(root_object, "checks"), 1);
    assert_true(cJSON_GetObjectItem(row, "number")->valuedouble == 9.91e9);
    assert_true(cJSON_GetObjectItem(row, "bound")->valuedouble == 4e9);
    assert_string_equal(cJSON_GetObjectItem(row, "unit")->valuestring, "B/s");
    row = cJSON_GetArrayItem(cJSON_GetObjectItem(root_object, "checks"), 2);
    assert_string_equal(cJSON_GetObjectItem(row, "status")->valuestring, "n/a");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "number"))); /* not that of the row before */
    cJSON_Delete(root_object);
    free(text);
}

/* Rows are on the page before the next is measured; those that are not applicable for one reason
 * wait for each other and are one line. */
TEST(rows_are_printed_as_they_come)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct checks checks = { .group = "host", .added = checks_print_new };
    struct checks_printer printer = { .page = page_console(stream, COLOR_NEVER),
                                      .checks = &checks };

    assert_non_null(stream);
    checks.context = &printer;
    checks_add(&checks, "load", CHECK_LOW, "less", "wait", "%d", 7);
    assert_non_null(strstr(text, "  low  load                7                             less\n"
                                 "       wait\n"));
    checks.group = "gpu";
    checks_add(&checks, "gpu_link", CHECK_NONE, "", "no GPU", "-");
    checks_add(&checks, "gpu_clock", CHECK_NONE, "", "no GPU", "-");
    checks_add(&checks, "gpu_power", CHECK_NONE, "", "no GPU", "-");
    assert_null(strstr(text, "gpu_link"));
    checks.group = "tracing";
    checks_add(&checks, "tracing", CHECK_OK, "", "", "all");
    assert_non_null(strstr(text, "\ngpu\n  n/a  gpu_link and 2 more: no GPU\n\ntracing\n"));
    checks_add(&checks, "last", CHECK_NONE, "", "who knows", "-");
    checks_print_end(&printer);
    fclose(stream);
    assert_null(strstr(text, "gpu_clock"));
    assert_non_null(strstr(text, "  n/a  last                -\n       who knows\n"));
    assert_non_null(strstr(text, "\n6 checks: 1 ok, 1 low, 4 n/a\n"));
    assert_non_null(strstr(text, "\nFit to measure: with care (load)\n"));
    free(text);
}

TEST(a_narrow_screen_has_what_is_expected_below_bad_rows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct checks checks = { .group = "host", .added = checks_print_new };
    struct checks_printer printer = { .page = page_console(stream, COLOR_NEVER),
                                      .checks = &checks };

    assert_non_null(stream);
    printer.page.console.width = printer.page.console.room = 60;
    checks.context = &printer;
    checks_add(&checks, "load", CHECK_LOW, "less", "wait", "%d", 7);
    checks_add(&checks, "folder", CHECK_OK, "writable", "",
               "/a/path, and 7 GiB of room that is left");
    checks_print_end(&printer);
    fclose(stream);
    assert_non_null(strstr(text, "       check               value\n"
                                 "  low  load                7\n"
                                 "       expected: less\n"
                                 "       wait\n"
                                 "  ok   folder              /a/path, and 7 GiB of room that\n"
                                 "                           is left\n"));
    free(text);
}

TEST(a_machine_is_fit_unless_a_row_is_bad)
{
    struct checks checks = { .group = "host" };
    char names[256];

    checks_add(&checks, "a", CHECK_OK, "", "", "1");
    checks_add(&checks, "b", CHECK_NONE, "", "why", "-");
    assert_string_equal(checks_fitness(&checks, names, sizeof names), "yes");
    assert_string_equal(names, "");
    for (int i = 0; i < CHECKS_NAMED + 2; i++) checks_add(&checks, "low", CHECK_LOW, "", "do", "1");
    assert_string_equal(checks_fitness(&checks, names, sizeof names), "with care");
    assert_string_equal(names, "low, low, low, low, low, low and 2 more");
    checks_add(&checks, "bad", CHECK_FAIL, "", "do", "0");
    assert_string_equal(checks_fitness(&checks, names, sizeof names), "no");
    assert_string_equal(names, "bad");
}

TEST(more_rows_than_there_is_room_for_are_dropped)
{
    struct checks checks = { .group = "host" };

    for (int i = 0; i < CHECKS_MAX + 5; i++) checks_add(&checks, "row", CHECK_OK, "", "", "%d", i);
    assert_int_equal(checks.count, CHECKS_MAX);
    assert_int_equal(checks.counts[CHECK_OK], CHECKS_MAX);
}
