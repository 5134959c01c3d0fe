/* Writes the digests of a simulated job, one file per rank, and beside their folder, in
 * FOLDER.truth.json, what is planted and what it costs.
 *
 * usage: make_job FOLDER RANKS CAUSE WHICH [SEED [STEPS [LOST]]]
 *
 * RANKS are 8 to 16,384, in nodes of eight. CAUSE is late_rank, late_node, late_rack,
 * drifting_node, late_place, slow_link, imbalance or healthy; WHICH the number of the rank, node,
 * rack of four nodes, place in the node, or place that the slow group joins. Clocks differ by up to
 * a second, and drift by up to 50 ppm. LOST is the part of the digests that is not there: 0.01. */
#include "tests/fleet/job/made_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RANKS_MOST = 16384, STEPS = 10 };

struct making {
    struct made_job job;
    struct made_ranks made;
};

static void simulate(struct arena *arena, void *context)
{
    struct making *making = context;

    making->made = made_job(arena, &making->job);
}

/* False: there is no such cause. */
static bool take_cause(struct made_job *job, const char *name)
{
    job->healthy = strcmp(name, "healthy") == 0;
    for (int kind = 0; kind < JOB_WANDERING && !job->healthy; kind++)
        if (strcmp(name, job_cause_name((enum job_cause_kind)kind)) == 0) {
            job->fault = (enum job_cause_kind)kind;
            return true;
        }
    return job->healthy;
}

static bool take_arguments(struct made_job *job, int argc, char **argv)
{
    *job = (struct made_job){ .seed = argc > 5 ? strtoull(argv[5], NULL, 10) : 1,
                              .steps = argc > 6 ? atoll(argv[6]) : STEPS,
                              .lost = argc > 7 ? atof(argv[7]) : 0,
                              .strength = 0.1,
                              .skew_ns = 1e9,
                              .drift = 50e-6 };
    if (argc < 5 || argc > 8 || !take_cause(job, argv[3]))
        return false;
    job->rank_count = atoll(argv[2]);
    job->which = atoll(argv[4]);
    return job->rank_count >= 8 && job->rank_count <= RANKS_MOST && job->rank_count % 8 == 0 &&
           job->steps >= 2;
}

static enum status write_truth(const char *folder, const struct making *making, const char *cause)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s.truth.json", folder);
    file = fopen(path, "w");
    if (file == NULL)
        FAIL(STATUS_IO, "cannot write %s", path);
    fprintf(file,
            "{\"cause\":\"%s\",\"which\":%lld,\"ranks\":%lld,\"digests\":%lld,\"seed\":%llu,"
            "\"lost_ns_per_step\":%.6g,\"step_ns\":%.6g}\n",
            cause, (long long)making->job.which, (long long)making->job.rank_count,
            (long long)making->made.count, (unsigned long long)making->job.seed,
            making->made.lost_ns, making->made.step_ns);
    if (fclose(file) != 0)
        FAIL(STATUS_IO, "cannot write %s", path);
    return STATUS_OK;
}

static enum status make(const char *folder, struct making *making, const char *cause)
{
    enum status status = STATUS_OK;
    struct arena *arena = arena_open();

    TRY_OUT(arena_run(arena, simulate, making));
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        FAIL_OUT(STATUS_IO, "cannot make %s", folder);
    TRY_OUT(made_job_write(folder, &making->made));
    TRY_OUT(write_truth(folder, making, cause));

out:
    arena_close(arena);
    return status;
}

int main(int argc, char **argv)
{
    struct making making;

    if (!take_arguments(&making.job, argc, argv)) {
        fprintf(
            stderr,
            "usage: make_job FOLDER RANKS CAUSE WHICH [SEED [STEPS [LOST]]]; ranks in eights\n");
        return 2;
    }
    if (make(argv[1], &making, argv[3]) != STATUS_OK) {
        fprintf(stderr, "%s\n", status_last()->text);
        return 3;
    }
    return 0;
}
