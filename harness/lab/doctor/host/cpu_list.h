/* Lists of processors as the kernel writes them: "0-3,8". */
#ifndef HARNESS_LAB_DOCTOR_HOST_CPU_LIST_H
#define HARNESS_LAB_DOCTOR_HOST_CPU_LIST_H

#include <sched.h>
#include <stdbool.h>

/* False, and an empty set, when it is no such list or names a processor beyond CPU_SETSIZE. */
bool cpu_list_parse(const char *list, cpu_set_t *set);

#endif
