/* Whether results and the cache can be written to their folders. */
#ifndef HARNESS_LAB_DOCTOR_HOST_FOLDERS_H
#define HARNESS_LAB_DOCTOR_HOST_FOLDERS_H

#include "harness/checks/checks.h"

#include <stdint.h>

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

#endif
