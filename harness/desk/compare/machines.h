/* Files may be compared if they are of one machine, as far as they say what it is.
 *
 * A machine is what it has: its device, its processor, its caches, its clock. A host name is none:
 * each runner of a pool has its own, and two machines may have the same. Files disagree in a member
 * only if both state it.
 *
 * `mhz_per_cpu` is what the processor promises, or, where the system does not tell that, the clock
 * that it had at the moment. Where two runs of one side on one host differ in it by more than
 * CLOCK_TOLERANCE, it is taken for the latter, which tells nothing. So is one pair of files of one
 * host. */
#pragma once

#include "harness/desk/compare/file/benchmark_file.h"

enum compare_side { SIDE_BASE, SIDE_NEW, SIDES };

/* One side's files; `sides` below are SIDES of them. */
struct compare_files {
    struct benchmark_file *files;
    int count;
};

/* File number `index` of both sides, base first. */
const struct benchmark_file *compare_file_at(const struct compare_files *sides, int index);

/* Systems count a clock that stands still within a thousandth of itself. */
#define CLOCK_TOLERANCE 0.02

/* Whether files can be compared at all. BAD_INPUT says which do not agree in what. */
enum status compare_check(const struct compare_files *sides);

/* Reasons to doubt a comparison, those of compare_check() too: another host, a debug build, a load,
 * a copy that counts as a run. "" when there is none. */
void compare_doubts(const struct compare_files *sides, char *text, size_t size);

/* The key of a file's machine, for a history: all that compare_check() looks at, and no host name.
 * Clocks are in steps of 0.1 GHz. "" when the file says nothing. */
void compare_machine(const struct benchmark_file *file, char *text, size_t size);
