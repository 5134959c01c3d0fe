/* The names of the traces of one run with many ranks. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stddef.h>

/* "a.json.gz" of rank 1 of 2 is "a.rank1.json.gz"; of one rank it stays as it is. All of them
 * are "a.rank*.json.gz", as a shell takes them. BAD_USAGE: it is too long. */
enum { RANK_TRACE_ALL = -1 };
enum status rank_trace_name(char *name, size_t size, const char *given, int rank, int ranks);

/* Back again, for any name of a file: "a.json.gz" of "a.rank1.json.gz". */
void rank_trace_given(char given[NAME_MAX + 1], const char *name);
