/* Whether the folders that are written to can take it. */
#ifndef HARNESS_DOCTOR_FOLDERS_H
#define HARNESS_DOCTOR_FOLDERS_H

#include "harness/doctor/checks.h"

#include <stdint.h>

/* What is known of a folder, or of the nearest one above it where it is not there yet. */
struct folder_facts {
    char path[4096];
    int error;          /* errno of writing a file there; 0: it can be written */
    bool in_memory;     /* tmpfs or ramfs */
    int64_t free_bytes; /* -1: not known */
};

/* Looks by writing a file and removing it; makes nothing else. */
void folder_look(struct folder_facts *facts, const char *path);

/* Row `name`. `needed_bytes` are wanted free. `memory_advice` is what it means that the folder lies in
 * memory; NULL: nothing. */
void folder_check(struct checks *checks, const char *name, const struct folder_facts *facts,
                  int64_t needed_bytes, const char *memory_advice);

#endif
