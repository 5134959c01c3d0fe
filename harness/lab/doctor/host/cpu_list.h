/* Lists of processors as the kernel writes them: "0-3,8". */
#pragma once

#include <sched.h>
#include <stdbool.h>

/* False, and an empty set, when it is no such list or names a processor beyond CPU_SETSIZE. */
bool cpu_list_parse(const char *list, cpu_set_t *set);
