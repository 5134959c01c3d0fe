/* Quotas of nested control groups, as trees of files that Linux would have. */
#include "harness/base/facts/control_groups.h"

#include "harness/base/status.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_machine.h"

#include <math.h>

#define GROUPS "proc/self/cgroup"
#define MOUNTS "proc/self/mountinfo"
#define SECOND "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define CPU    "sys/fs/cgroup/cpu,cpuacct"
#define MEMORY "sys/fs/cgroup/memory"
#define FIRST(top)                                                                                 \
    "32 31 0:29 " top " /" CPU " rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"                     \
    "35 31 0:32 " top " /" MEMORY " rw,relatime shared:9 - cgroup cgroup rw,memory\n"              \
    "36 31 0:33 " top " /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"

enum { FILES = 8 };

static void put(const char *const files[FILES][2])
{
    for (int f = 0; f < FILES && files[f][0] != NULL; f++)
        made_machine_put(files[f][0], files[f][1]);
}

TEST(the_tightest_quota_of_all_groups_counts)
{
    static const struct {
        const char *files[FILES][2];
        double cores;
        int quota_us;
    } cases[] = {
        { { { NULL, NULL } }, INFINITY, 0 },
        /* Version 2: the own group, one above it, the top of a container. */
        { { { GROUPS, "0::/a/b\n" },
            { MOUNTS, SECOND },
            { "sys/fs/cgroup/a/b/cpu.max", "150000 100000\n" } },
          1.5,
          150000 },
        { { { GROUPS, "0::/a/b\n" },
            { MOUNTS, SECOND },
            { "sys/fs/cgroup/a/b/cpu.max", "max 100000\n" },
            { "sys/fs/cgroup/a/cpu.max", "50000 100000\n" } },
          0.5,
          50000 },
        { { { GROUPS, "0::/\n" }, { "sys/fs/cgroup/cpu.max", "200000 100000\n" } }, 2, 200000 },
        /* Version 1: nested, and the one above is tighter; other trees do not count. */
        { { { GROUPS, "5:cpuset:/x\n2:cpu,cpuacct:/job/step\n1:name=systemd:/y\n0::/\n" },
            { MOUNTS, FIRST("/") },
            { CPU "/job/step/cpu.cfs_quota_us", "50000\n" },
            { CPU "/job/step/cpu.cfs_period_us", "100000\n" },
            { CPU "/cpu.cfs_quota_us", "-1\n" },
            { CPU "/cpu.cfs_period_us", "100000\n" } },
          0.5,
          50000 },
        { { { GROUPS, "2:cpu,cpuacct:/job/step\n" },
            { MOUNTS, FIRST("/") },
            { CPU "/job/step/cpu.cfs_quota_us", "-1\n" },
            { CPU "/job/step/cpu.cfs_period_us", "100000\n" },
            { CPU "/job/cpu.cfs_quota_us", "25000\n" },
            { CPU "/job/cpu.cfs_period_us", "10000\n" } },
          2.5,
          25000 },
        /* A container's mount begins at its group, which has a group below it. */
        { { { GROUPS, "2:cpu,cpuacct:/docker/7/step\n" },
            { MOUNTS, FIRST("/docker/7") },
            { CPU "/step/cpu.cfs_quota_us", "-1\n" },
            { CPU "/cpu.cfs_quota_us", "75000\n" },
            { CPU "/cpu.cfs_period_us", "100000\n" } },
          0.75,
          75000 },
        /* A name space of its own: the group is above what is mounted. */
        { { { GROUPS, "0::/../other\n" },
            { MOUNTS, SECOND },
            { "sys/fs/cgroup/cpu.max", "300000 100000\n" } },
          3,
          300000 },
        /* Both versions at once, version 2 elsewhere. */
        { { { GROUPS, "2:cpu,cpuacct:/a\n0::/b\n" },
            { MOUNTS, "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" FIRST("/") },
            { "sys/fs/cgroup/unified/b/cpu.max", "400000 100000\n" },
            { CPU "/a/cpu.cfs_quota_us", "100000\n" },
            { CPU "/a/cpu.cfs_period_us", "100000\n" } },
          1,
          100000 },
        /* Without mountinfo: where it usually is. */
        { { { GROUPS, "2:cpu:/a\n" },
            { "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "10000\n" },
            { "sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n" } },
          0.1,
          10000 },
        /* Files that say nothing. */
        { { { GROUPS, "nonsense\n::\n0:\n" }, { MOUNTS, "x - cgroup2\n" } }, INFINITY, 0 },
        { { { GROUPS, "0::/\n" }, { "sys/fs/cgroup/cpu.max", "5 0\n" } }, INFINITY, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cpu_quota quota;
        assert_int_equal(made_machine_close(state), 0);
        assert_int_equal(made_machine_open(state), 0);
        put(cases[i].files);
        quota = control_groups_cpu(made_machine_root());
        if (quota.cores != cases[i].cores || quota.quota_us != cases[i].quota_us)
            fail_msg("case %zu: %g cores, expected %g", i, quota.cores, cases[i].cores);
    }
}

TEST(memory_is_what_the_tightest_group_leaves)
{
    static const struct {
        const char *files[FILES][2];
        int64_t left;
    } cases[] = {
        { { { NULL, NULL } }, -1 },
        { { { GROUPS, "0::/a/b\n" },
            { MOUNTS, SECOND },
            { "sys/fs/cgroup/a/b/memory.max", "max\n" },
            { "sys/fs/cgroup/a/b/memory.current", "700\n" },
            { "sys/fs/cgroup/a/memory.max", "1000\n" },
            { "sys/fs/cgroup/a/memory.current", "900\n" },
            { "sys/fs/cgroup/a/memory.stat", "anon 200\nfile 400\ninactive_file 300\n" } },
          400 },
        { { { GROUPS, "4:memory:/batch/7\n0::/\n" },
            { MOUNTS, FIRST("/") },
            { MEMORY "/batch/7/memory.limit_in_bytes", "1000\n" },
            { MEMORY "/batch/7/memory.usage_in_bytes", "1200\n" },
            { MEMORY "/memory.limit_in_bytes", "9223372036854771712\n" },
            { MEMORY "/memory.usage_in_bytes", "5000\n" } },
          0 },
        { { { GROUPS, "4:memory:/batch/7\n" },
            { MOUNTS, FIRST("/") },
            { MEMORY "/batch/memory.limit_in_bytes", "1000\n" },
            { MEMORY "/batch/memory.usage_in_bytes", "400\n" },
            { MEMORY "/batch/memory.stat", "inactive_file 50\ntotal_inactive_file 100\n" } },
          700 },
        { { { GROUPS, "4:memory:/\n" },
            { MEMORY "/memory.limit_in_bytes", "9223372036854771712\n" },
            { MEMORY "/memory.usage_in_bytes", "5000\n" } },
          -1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(made_machine_close(state), 0);
        assert_int_equal(made_machine_open(state), 0);
        put(cases[i].files);
        assert_int_equal(control_groups_memory(made_machine_root()), cases[i].left);
    }
}

TESTS_EACH(made_machine_open, made_machine_close)
