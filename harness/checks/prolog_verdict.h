/* Tells a scheduler what to do with a machine: whether a fault is its own, or comes from others who
 * use it. */
#pragma once

#include "harness/checks/checks.h"

enum prolog_verdict { PROLOG_FIT, PROLOG_CARE, PROLOG_BUSY, PROLOG_UNFIT };

/* The exit code of doctor --prolog for a machine that is busy. */
enum { PROLOG_BUSY_EXIT = 4 };

/* Judges the rows of one look. A row that says what others do (other_programs, load, memory,
 * gpu_others ...) is no fault of the machine. If one of these is not ok, neither is a figure that
 * is low, for it may be low for that reason. `names` gets the rows that decide, with their
 * values. */
enum prolog_verdict prolog_judge(const struct checks *checks, char *names, size_t size);

/* Whether a second look can change the verdict: PROLOG_UNFIT, and no row says that a result was
 * wrong. Wrong bits, and errors that a memory has counted, are no matter of the moment. */
bool prolog_wants_second_look(const struct checks *checks);

/* The verdict of two looks: a fault counts if both have it, else the second look decides. */
enum prolog_verdict prolog_judge_both(const struct checks *first, const struct checks *second,
                                      char *names, size_t size);

/* "Fit to measure: busy (other_programs: 1.00 of 2 cores)" */
void prolog_line(char *text, size_t size, enum prolog_verdict verdict, const char *names);

/* Prints that line after the host's name, as all there is on standard output, and returns the exit
 * code. */
int prolog_print(enum prolog_verdict verdict, const char *names, bool strict);
