/* Names that records give, kept once each for as long as somebody may read them: CUPTI's own belong
 * to CUPTI. Kernels' names come mangled. One thread at a time. */
#pragma once

#include "harness/base/status.h"

struct cupti_names;

enum status cupti_names_open(struct cupti_names **names); /* OUT_OF_MEMORY */
void cupti_names_close(struct cupti_names *names);        /* NULL is allowed */

/* As it is in C++, "void gemm<float>(int)" for "_Z4gemmIfEvi"; as it is where it is not mangled, or
 * where there is no libstdc++.so.6 to ask. The same string for the same name until the close. NULL
 * is a kernel without a name. Without memory a fixed text comes back. */
const char *cupti_names_kernel(struct cupti_names *names, const char *mangled);

/* The same, never mangled. */
const char *cupti_names_plain(struct cupti_names *names, const char *name);
