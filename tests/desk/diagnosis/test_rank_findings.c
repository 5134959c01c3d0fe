/* The findings when the traces of several ranks are judged together. */
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/facts/ranks.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/desk/diagnosis/made/found_findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>

/* Computes for 1000 us and communicates. */
static struct analysed rank_on_device(const char *about, int communication)
{
    struct made_loop loop = { .steps = 10,
                              .launches = 20,
                              .call = 2,
                              .kernel = 50,
                              .about = about,
                              .communication = communication };

    return made_loop(&loop);
}

/* A thread of the host communicates at the end of steps of 1000 us. */
static struct analysed rank_on_host(const char *about, int communication)
{
    made_begin_with(about);
    for (int i = 0; i < 4; i++) {
        int start = 1000 * i;
        made_step(i, start, start + 1000);
        made_add("cpu_op", "aten::mm", 100, 100, start, start + 1000 - communication, 0);
        made_add("user_annotation", "gloo:all_reduce", 100, 101, start + 1000 - communication,
                 start + 1000, 0);
    }
    return made_analyse();
}

enum { RANKS_MOST = 64 };

/* A run of ranks, by how long each communicates per step. */
struct run {
    struct analysed analysed[RANKS_MOST];
    struct summary summaries[RANKS_MOST];
    struct findings findings[RANKS_MOST];
    struct rank_figures figures[RANKS_MOST];
    struct slow_rank slow;
    struct run_findings all;
    int count;
};

static struct run make_run(struct analysed (*make)(const char *about, int communication),
                           const int *communication, int count)
{
    struct run run = { .count = count };
    struct facts facts[RANKS_MOST];

    for (int i = 0; i < count; i++) {
        char about[80];
        snprintf(about, sizeof about, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d}", i,
                 count);
        run.analysed[i] = make(about, communication[i]);
        run.summaries[i] = summary_of(run.analysed[i].arena, run.analysed[i].trace);
    }
    for (int i = 0; i < count; i++) {
        facts[i] = facts_of(run.summaries, count, i);
        run.findings[i] = findings_of(&facts[i]);
    }
    run.slow = slow_rank_of(run.analysed[0].arena, run.figures, run.summaries, count);
    run.all = run_findings_of(run.analysed[0].arena, run.findings, facts, count);
    return run;
}

/* Who communicates for less came last. */
static void check_ranks(struct analysed (*make)(const char *about, int communication),
                        const int *communication, int count, bool straggles, const char *who)
{
    struct run run = make_run(make, communication, count);

    assert_int_equal(slow_rank_matters(&run.slow), straggles);
    for (int i = 0; i < count; i++) {
        const struct finding *straggler = findings_find(&run.findings[i], "straggler");
        assert_int_equal(straggler != NULL, straggles);
        if (straggler != NULL)
            assert_non_null(strstr(straggler->evidence, who));
    }
}

TEST(the_rank_that_others_wait_for_is_named)
{
    check_ranks(rank_on_device, (const int[]){ 500, 500, 60, 500 }, 4, true, "rank 2 ");
    check_ranks(rank_on_device, (const int[]){ 500, 480, 450, 500 }, 4, false, "rank");
    check_ranks(rank_on_host, (const int[]){ 500, 60 }, 2, true, "rank 1 ");
    check_ranks(rank_on_host, (const int[]){ 500, 450 }, 2, false, "rank");
}

/* The second rank is late, or has no core for as long. */
static struct analysed rank_without_core(const char *about, int communication)
{
    char crowded[256];

    snprintf(crowded, sizeof crowded, "%s%s", about,
             communication < 500 ? ",\"chokepoint\":{\"core_wait_share\":0.3}" : "");
    return rank_on_device(crowded, communication);
}

TEST(a_rank_without_a_core_is_no_sure_straggler)
{
    struct run late = make_run(rank_on_device, (const int[]){ 500, 60 }, 2);
    struct run waits = make_run(rank_without_core, (const int[]){ 500, 60 }, 2);
    const struct finding *straggler = findings_find(&waits.findings[0], "straggler");

    assert_true(findings_find(&late.findings[0], "straggler")->confidence > CONFIDENCE_LOW);
    assert_int_equal(straggler->confidence, CONFIDENCE_LOW);
    assert_non_null(strstr(straggler->evidence, "had no core for 30% of a step"));
}

/* Ranks 1 and 3 are equally slow: what one of them would gain alone is nothing, and both together
 * 420 us, for then rank 4 would be next. */
TEST(ranks_that_are_equally_slow_are_named_together)
{
    struct run run = make_run(rank_on_device, (const int[]){ 500, 60, 500, 70, 480, 500 }, 6);

    assert_int_equal(run.slow.which, 1);
    assert_int_equal(run.slow.near, 1);
    assert_true(rank_is_slow(&run.slow, &run.figures[3]));
    assert_false(rank_is_slow(&run.slow, &run.figures[4]));
    check_us((int64_t)run.slow.lost_ns, 420);
    assert_non_null(strstr(findings_find(&run.findings[0], "straggler")->evidence,
                           "rank 1 (as slow: rank 3) communicates"));
}

/* It waits for its work and then loads, while the others communicate. */
static struct analysed rank_that_loads(const char *about, int communication)
{
    struct made_loop loop = { .steps = 10,
                              .launches = 20,
                              .call = 2,
                              .kernel = 50,
                              .about = about,
                              .wait_every = 1,
                              .loading = 500 - communication,
                              .communication = communication };

    return made_loop(&loop);
}

/* The part that is longer on the slow rank by most of the others' wait; none is if a device is
 * merely late. */
TEST(what_the_slow_rank_does_is_named)
{
    static const struct {
        struct analysed (*make)(const char *about, int communication);
        enum step_part part;
        const char *text; /* NULL: nothing is said */
    } cases[] = {
        { rank_that_loads, STEP_DATA_LOADING,
          "they wait for it, while it loads data or waits for it for 440 us, the others for 0 us" },
        { rank_on_host, STEP_HOST, "while it is in operators of the host for 940 us" },
        { rank_on_device, STEP_PART_COUNT, NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run run = make_run(cases[i].make, (const int[]){ 500, 500, 60, 500 }, 4);
        const char *evidence = findings_find(&run.findings[0], "straggler")->evidence;
        assert_int_equal(run.slow.part, cases[i].part);
        if (cases[i].text != NULL && strstr(evidence, cases[i].text) == NULL)
            fail_msg("%s is not in: %s", cases[i].text, evidence);
        if (cases[i].text == NULL)
            assert_null(strstr(evidence, "while it"));
    }
}

/* The others' wait is the straggler's finding; what is left of their communication is below a tenth
 * of a step. If all communicate for as long, that is their own. */
TEST(a_wait_for_the_slow_rank_is_no_exposed_communication)
{
    struct run waits = make_run(rank_on_device, (const int[]){ 500, 500, 60, 500 }, 4);
    struct run alike = make_run(rank_on_device, (const int[]){ 500, 500, 500, 500 }, 4);

    assert_null(findings_find(&waits.findings[0], "exposed_communication"));
    assert_non_null(findings_find(&alike.findings[0], "exposed_communication"));
}

/* Messages of 1500 us hide behind kernels of 1000 us: 1500 of 2500 us are left. One multiprocessor
 * sends or computes. */
TEST(messages_hide_behind_no_more_than_is_computed)
{
    static const char *const abouts[] = {
        "\"deviceProperties\":[{\"id\":0,\"name\":\"made\",\"numSms\":8}]",
        "\"deviceProperties\":[{\"id\":0,\"name\":\"made\",\"numSms\":1}]",
    };

    for (size_t i = 0; i < ARRAY_SIZE(abouts); i++) {
        struct analysed analysed = rank_on_device(abouts[i], 1500);
        struct summary summary = summary_of(analysed.arena, analysed.trace);
        struct facts facts = facts_of(&summary, 1, 0);
        struct findings findings = findings_of(&facts);
        const struct finding *exposed = findings_find(&findings, "exposed_communication");
        assert_non_null(exposed);
        check_us((int64_t)exposed->lost_ns_per_step, i == 0 ? 1000 : 1500);
        if (i == 0)
            assert_float_equal(exposed->predicted_gain, 2500.0 / 1500, 0.05);
        else
            assert_true(isnan(exposed->predicted_gain));
    }
}

/* One rank of a run: each of four steps computes for 500 us, then sends for 200; the first message
 * takes 5 ms. */
TEST(the_first_message_is_once)
{
    for (int has_meeting = 0; has_meeting < 2; has_meeting++) {
        struct found found;
        const struct finding *exposed;
        int at = 0;
        made_begin_with(OLD_GPU);
        for (int i = 0; i < 4; i++) {
            int sent = i == 0 && has_meeting ? 5000 : 200;
            made_step(i, at, at + 510 + sent);
            made_add_work("kernel", "work", 7, at + 5, at + 505, at + 1);
            made_add_work("kernel", "ncclDevKernel_AllReduce", 7, at + 505, at + 505 + sent,
                          at + 3);
            at += 510 + sent;
        }
        found = found_judge_trace(made_analyse());
        exposed = found_find(&found, "exposed_communication");
        assert_non_null(exposed);
        assert_true(fabs(exposed->lost_ns_per_step / 1e3 - 200) <= 1);
        assert_true((strstr(exposed->evidence, "the first message takes 4.80 ms longer") != NULL) ==
                    (has_meeting == 1));
    }
}

/* As much as it likes to: communication behind compute costs nobody anything. */
static struct analysed hidden(const char *about, int communication)
{
    made_begin_with(about);
    for (int i = 0; i < 4; i++) {
        made_step(i, 1000 * i, 1000 * (i + 1));
        made_add_work("kernel", "gemm", 7, 1000 * i + 10, 1000 * i + 990, 1000 * i + 5);
        made_add_work("kernel", "ncclDevKernel_AllReduce", 8, 1000 * i + 20,
                      1000 * i + 20 + communication, 1000 * i + 7);
    }
    return made_analyse();
}

TEST(a_wait_behind_compute_is_no_finding)
{
    check_ranks(hidden, (const int[]){ 900, 900, 60, 900 }, 4, false, "rank");
}

/* A rank whose trace lacks communication has not been slow. */
static struct analysed silent(const char *about, int communication)
{
    return communication > 0 ? rank_on_device(about, communication) : hidden(about, 0);
}

TEST(a_rank_without_communication_is_not_compared)
{
    struct run run = make_run(silent, (const int[]){ 500, 500, 0, 500 }, 4);

    assert_false(run.figures[2].is_compared);
    assert_int_not_equal(run.slow.which, 2);
    assert_false(slow_rank_matters(&run.slow));
    run = make_run(silent, (const int[]){ 500, 0 }, 2);
    assert_int_equal(run.slow.which, -1);
}

/* Each finding of the run once, with the ranks that have it and what it costs them; the costliest's
 * text. */
TEST(findings_of_ranks_are_gathered)
{
    int communication[RANKS_MOST];
    struct run run;
    const struct finding_spread *spread = NULL;

    for (int i = 0; i < RANKS_MOST; i++) communication[i] = 400 + i;
    communication[9] = 500;
    run = make_run(rank_on_device, communication, RANKS_MOST);
    for (int64_t i = 0; i < run.all.findings.count; i++) {
        const struct finding *finding = &run.all.findings.items[i];
        assert_ptr_equal(findings_find(&run.all.findings, finding->id), finding);
        assert_string_equal(
            finding->evidence,
            findings_find(&run.findings[run.all.spreads[i].which], finding->id)->evidence);
        if (strcmp(finding->id, "exposed_communication") == 0)
            spread = &run.all.spreads[i];
    }
    assert_non_null(spread);
    assert_int_equal(spread->which, 9);
    assert_int_equal(spread->count, RANKS_MOST);
    assert_true(spread->differs);
    check_us((int64_t)spread->least_ns, 400);
    check_us((int64_t)spread->most_ns, 500);
}

/* A process that has eleven devices, of which one works. */
TEST(idle_devices_are_named_up_to_eight)
{
    struct analysed analysed;
    struct summary summary;
    struct findings findings;
    const struct finding *finding;
    struct facts facts;

    made_begin();
    made_add("kernel", "gemm", 0, 7, 0, 1000, 0);
    for (int device = 1; device <= 10; device++)
        made_add_with("kernel", "gemm", device, 7, 0, 100, 0, "");
    analysed = made_analyse();
    summary = summary_of(analysed.arena, analysed.trace);
    facts = facts_of(&summary, 1, 0);
    findings = findings_of(&facts);
    finding = findings_find(&findings, "uneven_devices");
    assert_non_null(finding);
    assert_non_null(strstr(finding->evidence, "device 8 for 10%, and 2 more"));
}
