/* Ranks: processes that train together, each with a device of its own.
 *
 * A launcher of MPI starts them, and from ranks_join() on the process is one of them. Their devices
 * work together in device_collective(); their hosts agree by the functions below. MPI itself is
 * behind a plugin (ranks_driver.h), so the program starts where MPI is missing. A process that
 * joined no job is rank 0 of 1, and the functions below then have nothing to do. One thread calls
 * them, in the same order on every rank. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct ranks_driver;
struct ranks_place;

/* Whether a launcher (mpirun, mpiexec, srun) has started this process as one of several. */
bool ranks_are_started(void);

/* Loads the plugin, without joining anything. NO_LIBRARY says what is missing. */
enum status ranks_load(void);

/* The MPI that the plugin was built with, once it is loaded: "Open MPI", or "MPICH" for all others,
 * which have the same launcher. */
const char *ranks_library(void);

/* Makes the process a rank, and gives it its share of the cores that the ranks of this machine may
 * use, unless the launcher has. BAD_USAGE where the job has another number of ranks, or was started
 * by another MPI than the plugin was built with; NO_LIBRARY. Once per process. */
enum status ranks_join(int count);

/* The end of a rank's work: waits for the others. DEVICE_ERROR where they do not come. */
enum status ranks_leave(void);

/* The end of a rank that failed: ends all others too, does not return, and does nothing where no
 * job was joined. */
void ranks_abort(int exit_code);

int ranks_rank(void);
int ranks_count(void);

/* For those who open a device. NULL: no job was joined. */
const struct ranks_driver *ranks_driver(void);
const struct ranks_place *ranks_place(void);

enum status ranks_wait(void); /* until all ranks have come here */

/* `bytes` of rank 0's memory, on all ranks. */
enum status ranks_take_first(void *memory, size_t bytes);

/* Sums over all ranks, added in the order of ranks. */
enum status ranks_sum(double *values, int count);
