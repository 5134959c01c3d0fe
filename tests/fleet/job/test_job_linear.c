/* Four times the ranks cost four times the work, in `job` and in `diagnose`. */
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/trace/trace_file.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/counting/counted_blocks.h"
#include "tests/fleet/job/made_job.h"

#include <unistd.h>

struct judging {
    struct made_job made;
    struct made_ranks ranks;
    struct job job;
    struct job_causes causes;
};

static void make(struct arena *arena, void *context)
{
    struct judging *judging = context;

    judging->ranks = made_job(arena, &judging->made);
}

static void judge(struct arena *arena, void *context)
{
    struct judging *judging = context;
    struct job_stranger *strangers;
    int64_t stranger_count;

    job_join(&judging->job, arena, judging->ranks.ranks, judging->ranks.worlds,
             judging->ranks.count, &strangers, &stranger_count);
    judging->causes = job_causes_of(arena, &judging->job);
}

static double blocks_of_job(int64_t ranks, enum job_cause_kind fault)
{
    struct arena *arena = arena_open();
    struct judging judging = { .made = { .rank_count = ranks,
                                         .steps = 5,
                                         .seed = 3,
                                         .fault = fault,
                                         .which = 7,
                                         .strength = 0.2 } };

    assert_ok(arena_run(arena, make, &judging));
    count_blocks();
    assert_ok(arena_run(arena, judge, &judging));
    assert_int_equal(judging.causes.count, 1);
    arena_close(arena);
    return counted_blocks();
}

TEST(the_work_of_job_grows_as_the_ranks_do)
{
    static const enum job_cause_kind faults[] = { JOB_LATE_RANK, JOB_DRIFTING_NODE, JOB_SLOW_LINK };

    for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
        check_is_linear(job_cause_name(faults[i]), blocks_of_job(256, faults[i]),
                        blocks_of_job(1024, faults[i]));
}

enum { MOST = 512 };

/* Digests, a file each. */
struct files {
    char folder[32];
    char *paths[MOST];
    int count;
};

static struct files write_files(int count)
{
    struct files files = { .folder = "/tmp/linear-XXXXXX", .count = count };
    struct arena *arena = arena_open();
    struct judging judging = { .made = { .rank_count = count, .steps = 2, .healthy = true } };

    assert_non_null(mkdtemp(files.folder));
    assert_ok(arena_run(arena, make, &judging));
    assert_ok(made_job_write(files.folder, &judging.ranks));
    for (int i = 0; i < count; i++)
        assert_true(asprintf(&files.paths[i], "%s/%s", files.folder, judging.ranks.ranks[i].file) >
                    0);
    arena_close(arena);
    return files;
}

static void remove_files(struct files *files)
{
    for (int i = 0; i < files->count; i++) {
        unlink(files->paths[i]);
        free(files->paths[i]);
    }
    rmdir(files->folder);
}

static double blocks_of_diagnosis(int count)
{
    struct files files = write_files(count);
    struct diagnosis diagnosis;
    int next = -1, ranks = 0;

    count_blocks();
    assert_ok(diagnosis_make(&diagnosis, (const char *const *)files.paths, count, NULL, NULL));
    assert_int_equal(diagnosis.run_count, count);
    while ((next = diagnosis_next_rank(&diagnosis, next < 0 ? -1 : diagnosis.traces[next]->rank)) >=
           0)
        assert_int_equal(diagnosis.traces[next]->rank, ranks++);
    assert_int_equal(ranks, count);
    diagnosis_release(&diagnosis);
    remove_files(&files);
    return counted_blocks();
}

TEST(the_work_of_diagnose_grows_as_the_ranks_do)
{
    check_is_linear("diagnose", blocks_of_diagnosis(MOST / 4), blocks_of_diagnosis(MOST));
}
