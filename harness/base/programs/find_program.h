/* Programs by their names. */
#ifndef HARNESS_BASE_PROGRAMS_FIND_PROGRAM_H
#define HARNESS_BASE_PROGRAMS_FIND_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* The first program of that name in the folders of PATH. */
bool find_program(char path[PATH_MAX], const char *name);

#endif
