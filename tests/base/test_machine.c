/* Facts about the machine, from files that Linux would have. */
#include "harness/base/status.h"
#include "harness/base/system/machine.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_machine.h"

ON_A_MADE_MACHINE(facts_of_a_known_machine)
{
#define CACHE     "sys/devices/system/cpu/cpu0/cache/"
#define FREQUENCY "sys/devices/system/cpu/cpu0/cpufreq/"
    static const char *const lines[][2] = {
        { CACHE "index0/size", "48K\n" },
        { CACHE "index0/type", "Data\n" },
        { CACHE "index0/level", "1\n" },
        { CACHE "index0/shared_cpu_map", "00000000,00000005\n" },
        { CACHE "index1/size", "32M\n" },
        { CACHE "index1/type", "Unified\n" },
        { CACHE "index1/level", "3\n" },
        { CACHE "index1/shared_cpu_map", "ffffffff,0000000f\n" },
        { FREQUENCY "cpuinfo_max_freq", "3693750\n" },
        { FREQUENCY "scaling_governor", "powersave\n" },
        { "proc/cpuinfo", "processor\t: 0\nmodel name\t: Test 9000\n" },
        { "proc/meminfo", "MemTotal:       16384 kB\n" },
        { "sys/fs/cgroup/cpu.max", "150000 100000\n" },
    };
    struct machine machine;

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) made_machine_put(lines[i][0], lines[i][1]);
    machine_read(&machine, made_machine_root());
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
}

/* Kernels for ARM give the number of a core, and no name. */
ON_A_MADE_MACHINE(a_core_of_arm_has_its_name)
{
    struct machine machine;

    made_machine_put("proc/cpuinfo",
                     "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n");
    machine_read(&machine, made_machine_root());
    assert_string_equal(machine.cpu_model, "Neoverse V2");
    made_machine_put("proc/cpuinfo",
                     "processor\t: 0\nCPU implementer\t: 0x4e\nCPU part\t: 0xd4f\n");
    machine_read(&machine, made_machine_root());
    assert_string_not_equal(machine.cpu_model, "Neoverse V2");
    assert_string_not_equal(machine.cpu_model, "");
}

ON_A_MADE_MACHINE(an_unknown_machine_is_no_failure)
{
    struct machine machine;

    machine_read(&machine, made_machine_root());
    assert_int_equal(machine.cache_count, 0);
    assert_int_equal(machine.scaling, NOT_KNOWN);
    assert_int_equal(machine.mhz, 0);
    assert_true(machine.cpus >= 1);
    assert_true(machine.cores_allowed >= 1);
}

TEST(memory_that_is_touched_becomes_resident)
{
    const size_t bytes = 64 << 20;
    double before = machine_resident_bytes(), grown;
    char *memory = malloc(bytes);

    assert_non_null(memory);
    memset(memory, 1, bytes);
    grown = machine_resident_bytes() - before;
    assert_int_equal(memory[bytes / 2], 1);
    assert_true(grown > 0.9 * (double)bytes && grown < 1.5 * (double)bytes);
    free(memory);
}
