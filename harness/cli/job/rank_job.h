/* A command as one of several ranks. */
#pragma once

#include "harness/base/status.h"

/* For one rank: nothing. In a job that a launcher started: the process joins it, and all but the
 * first rank write nothing to standard output from then on. Else the process becomes the launcher,
 * which starts this very command again as each rank, and does not return; what the first rank
 * writes to standard output goes to `output`. NO_LIBRARY says what is missing, BAD_USAGE that the
 * job has another number of ranks. */
enum status rank_job_enter(int ranks, int output);
