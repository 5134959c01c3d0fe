/* What is told of the machine, from files that Linux would have. */
#include "harness/report/machine.h"
#include "harness/status/status.h"
#include "tests/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/chokepoint-test-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state)
{
    (void)state;
    return rmdir(root);
}

static void write_line(const char *path, const char *line)
{
    char name[256];
    FILE *file;

    snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *slash = name + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    file = fopen(name, "w");
    assert_non_null(file);
    fprintf(file, "%s\n", line);
    fclose(file);
}

static void facts_of_a_known_machine(void **state)
{
#define CACHE     "sys/devices/system/cpu/cpu0/cache/"
#define FREQUENCY "sys/devices/system/cpu/cpu0/cpufreq/"
    static const char *const lines[][2] = {
        { CACHE "index0/size", "48K" },
        { CACHE "index0/type", "Data" },
        { CACHE "index0/level", "1" },
        { CACHE "index0/shared_cpu_map", "00000000,00000005" },
        { CACHE "index1/size", "32M" },
        { CACHE "index1/type", "Unified" },
        { CACHE "index1/level", "3" },
        { CACHE "index1/shared_cpu_map", "ffffffff,0000000f" },
        { FREQUENCY "cpuinfo_max_freq", "3693750" },
        { FREQUENCY "scaling_governor", "powersave" },
        { "proc/cpuinfo", "processor\t: 0\nmodel name\t: Test 9000" },
        { "proc/meminfo", "MemTotal:       16384 kB" },
        { "sys/fs/cgroup/cpu.max", "150000 100000" },
    };
    struct machine machine;
    char command[192];
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) write_line(lines[i][0], lines[i][1]);
    machine_read(&machine, root);
    assert_int_equal(machine.cache_count, 2);
    assert_string_equal(machine.caches[0].type, "Data");
    assert_int_equal(machine.caches[0].bytes, 48 << 10);
    assert_int_equal(machine.caches[0].sharing, 2);
    assert_int_equal(machine.caches[1].level, 3);
    assert_int_equal(machine.caches[1].bytes, 32 << 20);
    assert_int_equal(machine.caches[1].sharing, 36);
    assert_int_equal(machine.mhz, 3694);
    assert_int_equal(machine.scaling, KNOWN_YES);
    assert_int_equal(machine.aslr, NOT_KNOWN);
    assert_string_equal(machine.cpu_model, "Test 9000");
    assert_int_equal(machine.memory_bytes, 16 << 20);
    assert_string_equal(machine.cpu_quota, "150000 100000");
    snprintf(command, sizeof command, "rm -r %s/sys %s/proc", root, root);
    assert_int_equal(system(command), 0);
}

static void an_unknown_machine_is_no_failure(void **state)
{
    struct machine machine;
    (void)state;

    machine_read(&machine, root);
    assert_int_equal(machine.cache_count, 0);
    assert_int_equal(machine.scaling, NOT_KNOWN);
    assert_int_equal(machine.mhz, 0);
    assert_true(machine.cpus >= 1);
    assert_true(machine.cores_allowed >= 1);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_ROOT(facts_of_a_known_machine),
        IN_A_ROOT(an_unknown_machine_is_no_failure),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
