/* Whether the host lets figures be taken: its processors, its memory, and who else uses them.
 *
 * Facts come from /proc and /sys below `root`: "" is this machine, a test gives a folder. A fact
 * that is not there is n/a: nothing fails. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/base/status.h"
#include "harness/base/system/machine.h"
#include "harness/checks/checks.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* `machine` is what machine_read() found under the same root. */
void host_check_processors(struct checks *checks, const char *root, const struct machine *machine);
void host_check_memory(struct checks *checks, const char *root);

/* --- Folders --- */

/* The facts about a folder, or about the nearest one above it if it does not exist yet. */
struct folder_facts {
    char path[4096];
    int error;          /* errno of writing a file there; 0: it can be written */
    bool in_memory;     /* tmpfs or ramfs */
    int64_t free_bytes; /* -1: not known */
};

/* Looks by writing a file and removing it; makes nothing else. */
void folder_look(struct folder_facts *facts, const char *path);

/* Row `name`. `needed_bytes` should be free. `memory_advice` tells what it means that the folder is
 * in memory; NULL: nothing. */
void folder_check(struct checks *checks, const char *name, const struct folder_facts *facts,
                  int64_t needed_bytes, const char *memory_advice);

/* --- The environment --- */

/* The variables that change what is measured, a row for each that is set. `variables` is environ. A
 * row is low where figures mislead; without any there is one row that says so. */
void environment_check(struct checks *checks, char *const *variables);

/* --- What others do meanwhile --- */

/* Whether a figure that was taken meanwhile may be low for that reason alone: other programs used
 * more than a tenth of the cores, or a virtual machine's host kept more than 1% of them. Unknown:
 * no. */
bool disturbance_matters(const struct cpu_loss *loss);

/* Rows cpu_steal and other_programs, from the two readings. */
void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores);

/* How long programs waited for a disk, or for memory that had to be freed first, while figures were
 * measured: the kernel's pressure stall information (Linux, "Documentation/accounting/psi.rst"),
 * which counts the time in which at least one program waited. A disk that others keep busy and
 * memory that is short show there whoever uses them. */

/* In seconds. */
struct pressure {
    double io, memory; /* since boot; NAN: the kernel does not say */
    double now;        /* of the clock */
};

/* `root` as of system_file_line. */
void pressure_read(struct pressure *pressure, const char *root);

/* Rows disk_waits and memory_waits, from two readings. */
void pressure_check(struct checks *checks, const struct pressure *first,
                    const struct pressure *second);

/* The most that this host can do, measured without the device: the CPU device is compared with
 * it. */
struct host_limits {
    double clock_hz;              /* of a core under load, NAN: not known for this architecture */
    double flops_per_cycle;       /* fp32, of a core: vector width and fused multiply-adds */
    double copy_bytes_per_second; /* of the C library's memcpy, one thread, bytes that cross */
    double round_trip_ns;         /* a byte to a sleeping thread and back, through two pipes */
    struct cpu_loss loss;         /* while this was measured */
};

/* Takes about a quarter of a second. The copy is of `copy_bytes`. The fastest of several tries
 * counts: the others were disturbed. OUT_OF_MEMORY; IO when a pipe or a thread is refused. */
enum status host_limits_measure(struct host_limits *limits, int64_t copy_bytes);

/* Lists of processors as the kernel writes them: "0-3,8". */

/* False, and an empty set, when it is no such list or names a processor beyond CPU_SETSIZE. */
bool cpu_list_parse(const char *list, cpu_set_t *set);
