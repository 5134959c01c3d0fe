/* For tests of what the step writes: the scratch file that has no name, and a disk that is full. */
#ifndef TESTS_SCRATCH_DISK_H
#define TESTS_SCRATCH_DISK_H

#include <sys/resource.h>

/* A second descriptor of the only scratch file that the process has open; -1: none is. */
int open_file(void);

/* Lets files be as large as `bytes`, beyond which a write fails as on a full disk; returns what was
 * allowed before. */
rlim_t limit_files(rlim_t bytes);

#endif
