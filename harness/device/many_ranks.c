/* Joining: the plugin of MPI is loaded, the rank takes its part of the cores, and dies with its
 * launcher. Hosts exchange numbers by gathering those of all, and each computes from that what it
 * needs, in one order.
 *
 * The program does not link MPI: a job of one rank runs where there is none. */
#include "harness/device/many_ranks.h"

#include "harness/base/rows.h"
#include "harness/base/words/notice.h"
#include "harness/device/plugin.h"
#include "harness/device/ranks_driver.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* State of the process, which is one rank. */
static const struct ranks_driver *loaded, *joined;
static struct ranks_place place = { .count = 1, .local_count = 1 };

static const struct status_bridge bridge = { status_raise, status_last };

static const char srun_size[] = "SLURM_STEP_NUM_TASKS";

static int number_in(const char *variable)
{
    const char *text = getenv(variable);

    return text != NULL ? atoi(text) : 0;
}

/* As many as a launcher has started, in its words. */
static int started_ranks(void)
{
    /* Open MPI and PRRTE; MPICH's Hydra, Intel's and srun with PMI; srun with anything. */
    const char *const sizes[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", srun_size };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
        if (number_in(sizes[i]) > 1)
            return number_in(sizes[i]);
    return 1;
}

bool ranks_are_started(void)
{
    return started_ranks() > 1;
}

enum status ranks_load(void)
{
    ranks_driver_fn *entry;

    if (loaded != NULL)
        return STATUS_OK;
    TRY(plugin_symbol((void **)&entry,
                      &(struct plugin_title){
                          .file = "mpi",
                          .who = "MPI, which connects ranks,",
                          .advice = "install MPI (libopenmpi-dev and openmpi-bin) and build again",
                          .symbol = RANKS_DRIVER_SYMBOL }));
    TRY(plugin_check_build(entry()->build_id, "mpi"));
    loaded = entry();

    return STATUS_OK;
}

/* A launcher that gave out cores gave different ones. */
static enum status divide_cores(void)
{
    enum status status = STATUS_OK;
    cpu_set_t *masks;
    cpu_set_t own;
    bool same = true;

    TRY_OUT(rows_make(&masks, place.count));
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        goto out; /* more cores than a cpu_set_t has: left as they are */
    masks[place.rank] = own;
    TRY_OUT(joined->gather(RANKS_HOSTS, masks, sizeof *masks));
    for (int i = 0; i < place.count; i++) same = same && CPU_EQUAL(&own, &masks[i]);
    if (same) {
        /* Rank `local_rank`'s part of the cores that all may use; one of them where there are fewer
         * than ranks. */
        int cores = CPU_COUNT(&own), number = 0;
        int first = (int)((int64_t)place.local_rank * cores / place.local_count);
        int last = (int)((int64_t)(place.local_rank + 1) * cores / place.local_count);
        cpu_set_t share;

        if (cores < place.local_count) {
            first = place.local_rank % cores;
            last = first + 1;
        }
        CPU_ZERO(&share);
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &own) && number++ >= first && number <= last)
                CPU_SET(cpu, &share);
        /* If it is forbidden, the ranks share all cores. */
        sched_setaffinity(0, sizeof share, &share);
    }

out:
    free(masks);
    return status;
}

enum status ranks_join(int count)
{
    TRY(ranks_load());
    /* Without srun's help to join, MPI may end the process, or some kinds of it may find another
     * way. */
    if (loaded->joins_by != NULL && number_in(srun_size) > 1 && number_in("SLURM_PROCID") == 0 &&
        getenv(loaded->joins_by) == NULL)
        notice_once("srun has started %d ranks in a way that %s may not know; if it fails now, "
                    "give srun %s",
                    number_in(srun_size), loaded->library, loaded->srun_option);
    /* A launcher that was killed leaves no rank behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    TRY(loaded->join(&place, &bridge));
    joined = loaded;
    if (place.count == 1 && ranks_are_started()) {
        loaded->leave(); /* there is nobody to be ended */
        joined = NULL;
        FAIL(STATUS_BAD_USAGE,
             "%d ranks were started, but each is alone: chokepoint was built with %s, and "
             "something else has started it; use the mpirun of %s, or srun %s",
             started_ranks(), loaded->library, loaded->library, loaded->srun_option);
    }
    if (place.count != count)
        FAIL(STATUS_BAD_USAGE, "%d ranks were asked for, but the job has %d; give both the same",
             count, place.count);
    return divide_cores();
}

enum status ranks_leave(void)
{
    if (joined == NULL)
        return STATUS_OK;
    TRY(ranks_wait());
    joined->leave();
    joined = NULL;

    return STATUS_OK;
}

void ranks_abort(int exit_code)
{
    if (joined != NULL)
        joined->abort(exit_code);
}

const char *ranks_library(void)
{
    return loaded->library;
}

int ranks_rank(void)
{
    return place.rank;
}

int ranks_count(void)
{
    return place.count;
}

const struct ranks_driver *ranks_driver(void)
{
    return joined;
}

const struct ranks_place *ranks_place(void)
{
    return &place;
}

/* Collects the bytes of each rank in *all, which is malloc'd; `own` are this rank's. */
static enum status gather_from_all(const void *own, size_t bytes, void **all)
{
    TRY(rows_make_bytes(all, place.count, bytes));
    memcpy((char *)*all + bytes * (size_t)place.rank, own, bytes);
    return joined->gather(RANKS_HOSTS, *all, bytes);
}

/* A gathering that all take part in: nobody has the first one's byte before all have come. */
enum status ranks_wait(void)
{
    char here = 0;

    return ranks_take_first(&here, sizeof here);
}

enum status ranks_take_first(void *memory, size_t bytes)
{
    enum status status = STATUS_OK;
    void *all = NULL;

    if (joined == NULL)
        return STATUS_OK;
    TRY_OUT(gather_from_all(memory, bytes, &all));
    memcpy(memory, all, bytes);

out:
    free(all);
    return status;
}

enum status ranks_sum(double *values, int count)
{
    enum status status = STATUS_OK;
    void *all = NULL;

    if (joined == NULL)
        return STATUS_OK;
    TRY_OUT(gather_from_all(values, (size_t)count * sizeof *values, &all));
    for (int i = 0; i < count; i++) {
        values[i] = 0;
        /* In the order of ranks, so that all have the same sum to the last bit. */
        for (int rank = 0; rank < place.count; rank++)
            values[i] += ((double *)all)[rank * count + i];
    }

out:
    free(all);
    return status;
}
