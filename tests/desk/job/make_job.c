/* Writes the digests of a simulated job, one file per rank, and says what is planted in it.
 *
 * usage: make_job FOLDER RANKS KIND WHICH [SEED]: KIND is the number of a cause (job_causes.h), or that of none. */
#include "harness/desk/diagnosis/digest/digest.h"
#include "tests/desk/job/made_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    const char *folder;
    struct made_job job;
    struct made_ranks made;
    struct trace_file trace;
    struct summary summary;
    struct held held;
};

static void simulate(struct arena *arena, void *context)
{
    struct making *making = context;
    int count = rule_count();

    making->made = made_job(arena, &making->job);
    making->held.asked = ARENA_NEW(arena, struct finding, count);
    making->held.judged = ARENA_NEW(arena, struct judged, count);
    making->held.shares = ARENA_NEW(arena, bool, count);
}

static enum status write_rank(struct making *making, const struct job_rank *rank)
{
    enum status status = STATUS_OK;
    struct digest digest = { &making->trace, &making->summary, &making->held, rank->record };
    char *line = NULL, *bytes = NULL, path[4096];
    size_t count;
    FILE *file;

    making->trace.rank = rank->rank;
    making->trace.world_size = making->job.rank_count;
    TRY_OUT(digest_write(&line, &digest));
    TRY_OUT(digest_compress(&bytes, &count, line, strlen(line)));
    snprintf(path, sizeof path, "%s/%s", making->folder, rank->file);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0)
        FAIL_OUT(STATUS_IO, "cannot write %s", path);

out:
    free(bytes);
    free(line);
    return status;
}

int main(int argc, char **argv)
{
    struct arena *arena = arena_open();
    struct making making = { .folder = argc > 4 ? argv[1] : "." };
    int kind = argc > 4 ? atoi(argv[3]) : 0;

    if (argc < 5 || atoll(argv[2]) < 8 || atoll(argv[2]) % 8 != 0) {
        fprintf(stderr, "usage: make_job FOLDER RANKS KIND WHICH [SEED]; ranks in eights\n");
        return 2;
    }
    making.job = (struct made_job){ .rank_count = atoll(argv[2]),
                                    .steps = 10,
                                    .seed = argc > 5 ? (uint64_t)atoll(argv[5]) : 1,
                                    .healthy = kind >= JOB_WANDERING,
                                    .fault = (enum job_cause_kind)kind,
                                    .which = atoll(argv[4]),
                                    .strength = 0.1,
                                    .skew_ns = 1e9,
                                    .drift = 50e-6 };
    if (arena_run(arena, simulate, &making) != STATUS_OK)
        return 3;
    for (int64_t i = 0; i < making.made.count; i++)
        if (write_rank(&making, &making.made.ranks[i]) != STATUS_OK) {
            fprintf(stderr, "%s\n", status_last()->text);
            return 3;
        }
    printf("%s %lld: costs %.6g of %.6g ns per step\n",
           making.job.healthy ? "healthy" : job_cause_name(making.job.fault),
           (long long)making.job.which, making.made.lost_ns, making.made.step_ns);
    arena_close(arena);
    return 0;
}
