/* Environment variables that change how fast a device works, or what is measured. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct environment_variable {
    const char *name; /* as it is set, with a length: not terminated */
    int name_length;
    const char *value;
    bool spoils;      /* figures mislead while it has this value */
    const char *what; /* what it does */
};

/* Calls `found` for each of them that is set in `variables` (environ, or a test's), in the order of
 * a table, and those of one row (NCCL_...) in their own. A variable that is empty is not set. */
typedef void environment_found(void *context, const struct environment_variable *variable);
void environment_find(char *const *variables, environment_found *found, void *context);

/* "CUDA_LAUNCH_BLOCKING=1 OMP_NUM_THREADS=2", or "none": so that two results can be compared. Cut
 * if need be. */
void environment_print(char *const *variables, char *text, size_t size);
