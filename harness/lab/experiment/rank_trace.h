/* The names of the traces of one run with many ranks. */
#ifndef HARNESS_LAB_EXPERIMENT_RANK_TRACE_H
#define HARNESS_LAB_EXPERIMENT_RANK_TRACE_H

#include "harness/base/status.h"

#include <stddef.h>

/* "a.json.gz" of rank 1 of 2 is "a.rank1.json.gz"; of one rank it stays as it is. BAD_USAGE: it is
 * too long. */
enum status rank_trace_name(char *name, size_t size, const char *given, int rank, int ranks);

/* All of them, as a shell takes them: "a.rank*.json.gz". */
enum status rank_trace_pattern(char *name, size_t size, const char *given, int ranks);

#endif
