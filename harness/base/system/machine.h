/* Facts of the machine that a result is measured on: those that Google Benchmark names, and what
 * else decides a training job's speed there. */
#pragma once

#include <stdint.h>

enum { MACHINE_CACHES = 16 };
enum known { KNOWN_NO, KNOWN_YES, NOT_KNOWN };

struct machine {
    char date[40]; /* RFC 3339, local time: when machine_read was called */
    char host_name[128];
    char executable[512]; /* "": not known */
    char cpu_model[128];  /* "": not known */
    char kernel[160];     /* "Linux 6.1.0" */
    char affinity[256];   /* processors that this process may run on: "0-3,8" */
    char cpu_quota[64];   /* of the tightest control group, as cpu.max has it; "": none */
    int cpus;             /* online */
    int cores_allowed;    /* of them, those in `affinity` */
    int mhz;              /* 0: not known */
    enum known scaling;   /* whether the frequency follows the load */
    enum known aslr;      /* whether addresses of this process are random */
    int64_t memory_bytes; /* of the host */
    struct machine_cache {
        char type[16]; /* "Data", "Instruction", "Unified" */
        int level;
        int64_t bytes;
        int sharing; /* processors that share it */
    } caches[MACHINE_CACHES];
    int cache_count;
    double load[3]; /* over 1, 5 and 15 minutes */
    int load_count;
};

/* Reads all of it. `root` comes before /proc and /sys: "" is this machine, a test gives a folder.
 * Facts that cannot be read are left out: nothing fails. */
void machine_read(struct machine *machine, const char *root);

/* Threads that this process may keep busy: one for each processor that it may run on, but no more
 * than its control group's quota, rounded down; at least 1. */
int machine_cores(void);

/* Cores that a control group leaves this process, if that is less than it may run on; else 0. The
 * group is asked once. */
double machine_quota(void);

/* Memory of this process that is in the host's at this moment, as /proc/self/statm has it; NaN: not
 * known. */
double machine_resident_bytes(void);
