/* Jobs with a planted fault, and healthy ones: the fault is named with its cost, and a healthy job
 * is not accused, whatever the clocks of its nodes say. With arguments, RANKS JOBS [CAUSE], it
 * prints so many of each cause, or of that one. */
#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/fleet/job/job.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fleet/job/made_job.h"

#include <math.h>
#include <unistd.h>

static struct job_racks racks;

static void write_racks(void)
{
    char path[] = "/tmp/racks-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");

    assert_non_null(file);
    fputs("# node rack\n\n", file);
    for (int i = 0; i < 2048; i++) fprintf(file, "node%03d,\track%d\n", i, i / MADE_RACK);
    fclose(file);
    assert_ok(job_racks_open(&racks, path));
    assert_int_equal(racks.count, 2048);
    unlink(path);
}

struct judged {
    struct made_job made;
    struct job job;
    struct job_causes causes;
    struct made_ranks truth;
    int64_t stranger_count;
};

static void judge(struct arena *arena, void *context)
{
    struct judged *judged = context;
    struct job_stranger *strangers;

    judged->truth = made_job(arena, &judged->made);
    job_join(&judged->job, arena, judged->truth.ranks, judged->truth.worlds, judged->truth.count,
             &strangers, &judged->stranger_count);
    job_racks_set(&judged->job, &racks);
    judged->causes = job_causes_of(arena, &judged->job);
}

static const char *name_of(const struct judged *judged, const struct job_cause *cause)
{
    static char text[80];

    snprintf(text, sizeof text, "%s %lld", job_cause_name(cause->kind), (long long)cause->which);
    if (cause->kind == JOB_LATE_NODE || cause->kind == JOB_DRIFTING_NODE)
        snprintf(text, sizeof text, "%s %s", job_cause_name(cause->kind),
                 judged->job.nodes[cause->which].name);
    if (cause->kind == JOB_LATE_RACK)
        snprintf(text, sizeof text, "%s %s", job_cause_name(cause->kind),
                 judged->job.racks[cause->which]);
    if (cause->kind == JOB_LATE_RANK)
        snprintf(text, sizeof text, "%s %lld", job_cause_name(cause->kind),
                 (long long)judged->job.ranks[cause->which].rank);
    if (cause->kind == JOB_SLOW_LINK)
        snprintf(text, sizeof text, "%s %s", job_cause_name(cause->kind),
                 judged->job.groups[cause->which].name);
    return text;
}

static const char *truth_of(const struct made_job *made)
{
    static char text[80];
    long long which = (long long)made->which;

    snprintf(text, sizeof text,
             made->fault == JOB_LATE_NODE || made->fault == JOB_DRIFTING_NODE ? "%s node%03lld"
             : made->fault == JOB_LATE_RACK                                   ? "%s rack%lld"
             : made->fault == JOB_SLOW_LINK                                   ? "%s place of %lld"
                                                                              : "%s %lld",
             job_cause_name(made->fault), made->fault == JOB_IMBALANCE ? -1 : which);
    return text;
}

/* A job of that kind, of strengths from 5% to 20% of the own time. */
static struct made_job draw(uint64_t seed, int kind, int64_t ranks)
{
    struct random random = random_seed(seed, 77);
    bool healthy = kind == JOB_CAUSE_COUNT;
    enum job_cause_kind fault = healthy ? JOB_LATE_RANK : (enum job_cause_kind)kind;
    int64_t most = fault == JOB_LATE_RANK                                 ? ranks
                   : fault == JOB_LATE_RACK                               ? ranks / 8 / MADE_RACK
                   : fault == JOB_LATE_NODE || fault == JOB_DRIFTING_NODE ? ranks / 8
                                                                          : 8;

    return (struct made_job){ .rank_count = ranks,
                              .steps = 10,
                              .seed = seed,
                              .healthy = healthy,
                              .fault = fault,
                              .which = random_below(&random, (uint32_t)most),
                              .strength = 0.08 + 0.15 * (double)random_uniform(&random),
                              .skew_ns = 1e9,
                              .drift = 50e-6 };
}

static bool is_named(const struct judged *judged, bool print)
{
    const struct job_causes *causes = &judged->causes;
    double off = causes->count > 0 ? causes->items[0].lost_ns / judged->truth.lost_ns - 1 : NAN;
    bool named = judged->made.healthy ? causes->count == 0
                                      : causes->count > 0 &&
                                            strcmp(name_of(judged, &causes->items[0]),
                                                   truth_of(&judged->made)) == 0 &&
                                            fabs(off) <= 0.1;

    if (print || !named)
        printf("%s %-24s found %d, first %-24s cost off by %6.1f%%, truth %.1f%% of a step; replay "
               "off by %.2f%%\n",
               named ? "    " : "NOT ", judged->made.healthy ? "healthy" : truth_of(&judged->made),
               causes->count, causes->count > 0 ? name_of(judged, &causes->items[0]) : "-",
               100 * off, 100 * judged->truth.lost_ns / judged->truth.step_ns,
               100 * (judged->job.replayed_ns / judged->job.step_ns - 1));
    return named;
}

static int count_named(int kind, int64_t ranks, int jobs, bool print)
{
    int named = 0;

    for (int i = 0; i < jobs; i++) {
        struct arena *arena = arena_open();
        struct judged judged = { .made = draw(1000 + (uint64_t)i, kind, ranks) };
        assert_ok(arena_run(arena, judge, &judged));
        named += is_named(&judged, print);
        arena_close(arena);
    }
    return named;
}

TEST(what_is_planted_is_named_with_its_cost)
{
    for (int kind = 0; kind < JOB_WANDERING; kind++)
        assert_int_equal(count_named(kind, 128, 3, false), 3);
}

TEST(a_healthy_job_is_not_accused)
{
    assert_int_equal(count_named(JOB_CAUSE_COUNT, 128, 10, false), 10);
}

struct shortened {
    struct judged judged;
    double own; /* own times are so much of what they were */
};

static void judge_shortened(struct arena *arena, void *context)
{
    struct shortened *shortened = context;
    struct judged *judged = &shortened->judged;
    struct job_stranger *strangers;

    judged->truth = made_job(arena, &judged->made);
    for (int64_t i = 0; i < judged->truth.count; i++) {
        struct rank_record *record = &judged->truth.ranks[i].record;
        for (int64_t j = 0; j < record->group_count; j++)
            for (int64_t k = 0; k < record->groups[j].count; k++)
                record->groups[j].own_ns[k] =
                    llround(shortened->own * (double)record->groups[j].own_ns[k]);
    }
    job_join(&judged->job, arena, judged->truth.ranks, judged->truth.worlds, judged->truth.count,
             &strangers, &judged->stranger_count);
    judged->causes = job_causes_of(arena, &judged->job);
}

/* Nothing is named if a replay of the collectives does not give the step back within 5%. */
TEST(collectives_that_do_not_explain_the_step_accuse_nobody)
{
    static const struct {
        double own;
        bool holds;
    } cases[] = { { 1, true }, { 0.98, true }, { 0.85, false }, { 0.65, false }, { 1.3, false } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct shortened shortened = { { .made = draw(5, JOB_LATE_NODE, 64) }, cases[i].own };
        struct arena *arena = arena_open();
        assert_ok(arena_run(arena, judge_shortened, &shortened));
        assert_int_equal(shortened.judged.causes.holds, cases[i].holds);
        assert_int_equal(shortened.judged.causes.count > 0, cases[i].holds);
        arena_close(arena);
    }
}

TEST(clocks_change_no_answer_and_are_told)
{
    for (int kind = 0; kind < JOB_WANDERING; kind++) {
        struct arena *arena = arena_open();
        struct judged even = { .made = draw(7, kind, 128) }, skewed = even;
        const struct job_cause *one = even.causes.items, *other = skewed.causes.items;
        even.made.skew_ns = even.made.drift = 0;
        assert_ok(arena_run(arena, judge, &even));
        assert_ok(arena_run(arena, judge, &skewed));
        assert_int_equal(even.causes.count, skewed.causes.count);
        assert_true(one->kind == other->kind && one->which == other->which);
        assert_true(fabs(one->lost_ns / other->lost_ns - 1) < 0.01);
        for (int64_t i = 0; i < skewed.job.node_count; i++) {
            assert_true(fabs(even.job.nodes[i].offset_ns) < 100e3);
            assert_true(fabs(skewed.job.nodes[i].drift) < 101e-6);
        }
        assert_true(fabs(skewed.job.nodes[0].offset_ns) > 1e6);
        arena_close(arena);
    }
}

TEST(a_pattern_tells_racks_and_a_wrong_file_is_refused)
{
    static const char *const wrong[] = { "/(/", "/nowhere/at/all", "/tmp" };
    struct job_node nodes[] = { { .name = "r2-n1" }, { .name = "r10-n1" }, { .name = "login" } };
    struct job job = { .arena = arena_open(), .nodes = nodes, .node_count = 3 };
    struct job_racks by_name;

    for (int i = 0; i < 3; i++) nodes[i].rack = -1;
    assert_ok(job_racks_open(&by_name, "/^(r[0-9]+)-/"));
    job_racks_set(&job, &by_name);
    assert_int_equal(job.rack_count, 2);
    assert_string_equal(job.racks[nodes[0].rack], "r2");
    assert_string_equal(job.racks[nodes[1].rack], "r10");
    assert_int_equal(nodes[2].rack, -1);
    job_racks_close(&by_name);
    arena_close(job.arena);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_int_not_equal(job_racks_open(&by_name, wrong[i]), STATUS_OK);
        job_racks_close(&by_name);
    }
}

TEST(ranks_that_are_missing_or_strange_are_left_out)
{
    struct arena *arena = arena_open();
    struct judged judged = { .made = draw(9, JOB_LATE_NODE, 64) };

    judged.made.lost = 0.2;
    assert_ok(arena_run(arena, judge, &judged));
    assert_true(judged.job.rank_count < 64 && judged.job.rank_count > 40);
    assert_true(is_named(&judged, false));
    arena_close(arena);
}

static int print_jobs(int64_t ranks, int jobs, const char *only)
{
    for (int kind = 0; kind <= JOB_CAUSE_COUNT; kind++) {
        const char *name =
            kind == JOB_CAUSE_COUNT ? "healthy" : job_cause_name((enum job_cause_kind)kind);
        if (kind != JOB_WANDERING && (only == NULL || strcmp(only, name) == 0))
            printf("== %s: %d of %d\n", name, count_named(kind, ranks, jobs, true), jobs);
    }
    return 0;
}

int main(int argc, char **argv)
{
    write_racks();
    if (argc >= 3)
        return print_jobs(atoll(argv[1]), atoi(argv[2]), argc > 3 ? argv[3] : NULL);
    return tests_run(argc, argv);
}
