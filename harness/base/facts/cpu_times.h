/* The kernel's account of processor time: what this process and its children used, and what was
 * taken away while something was measured. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* In seconds, of those processors together that this process may run on: what others do elsewhere
 * takes nothing from it. NAN: not known. */
struct cpu_times {
    double busy, stolen; /* since boot: of all programs; kept by a virtual machine's host */
    double own;          /* of this process and of those of its children that it has waited for */
    double now;          /* of the clock */
    double waited;       /* for a core, by the threads that this process has now */
};

/* `root` as of system_file_line. */
void cpu_times_read(struct cpu_times *times, const char *root);

/* Taken away between two readings, in cores on average; NAN: not known. */
struct cpu_loss {
    double others; /* used by other programs */
    double stolen;
    int cores; /* that this process may run on */
};

struct cpu_loss cpu_loss_between(const struct cpu_times *first, const struct cpu_times *second);

/* How many cores all threads of this process wanted on average: those that ran, and those that
 * waited to. NAN: not known. */
double cpu_wanted_between(const struct cpu_times *first, const struct cpu_times *second);

/* Whether others used, or the host kept, more than a tenth of the cores. */
bool cpu_loss_is_large(const struct cpu_loss *loss);

/* Says which of the two it was, and how much: "other programs used 0.25 of 2 cores". */
void cpu_loss_print(char *text, size_t size, const struct cpu_loss *loss);
