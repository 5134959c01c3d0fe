/* Libraries of CUDA's that the plugin loads when it needs them, so that it starts where they are
 * missing. */
#ifndef HARNESS_DEVICE_PLUGIN_LIBRARY_H
#define HARNESS_DEVICE_PLUGIN_LIBRARY_H

#include <stddef.h>

/* Opens `file`, a library's name with its major version ("libcublas.so.13"). In this order: the copy
 * that the process has, or what the linker finds; CUDA_HOME and CUDA_PATH; the toolkit that this was
 * built with; pip's packages (nvidia/cu13/lib and the like) in the virtual environment, in conda's, in
 * the user's and in the system's. Of a toolkit also extras/CUPTI/lib64.
 *
 * NULL where none of them has it: then `why` says what the linker said of its own places, which is where
 * users expect it to look. What was opened stays open. */
void *library_open(const char *file, char *why, size_t size);

/* Fills *members[i] with the address of symbols[i]. The first symbol that the library lacks; NULL: it has
 * all. */
const char *library_resolve(void *library, const char *const *symbols, void **const *members,
                            size_t count);

#endif
