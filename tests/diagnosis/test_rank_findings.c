/* What is found when the traces of several ranks are judged together. */
#include "harness/diagnosis/findings.h"
#include "tests/diagnosis/made_loop.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdio.h>
#include <string.h>

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
        char step[40];
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        made_add("user_annotation", step, 100, 100, start, start + 1000, 0);
        made_add("cpu_op", "aten::mm", 100, 100, start, start + 1000 - communication, 0);
        made_add("user_annotation", "gloo:all_reduce", 100, 101, start + 1000 - communication,
                 start + 1000, 0);
    }
    return made_analyse();
}

/* Who communicates for less came last. */
static void check_ranks(struct analysed (*make)(const char *about, int communication),
                        const int *communication, int count, bool straggles, const char *who)
{
    struct analysed analysed[4];
    struct summary summaries[4];

    for (int i = 0; i < count; i++) {
        char about[80];
        snprintf(about, sizeof about, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d}", i,
                 count);
        analysed[i] = make(about, communication[i]);
        assert_int_equal(summary_make(&summaries[i], analysed[i].trace), STATUS_OK);
    }
    for (int i = 0; i < count; i++) {
        struct findings findings;
        bool named = false;
        assert_int_equal(findings_make(&findings, summaries, count, i), STATUS_OK);
        for (int64_t k = 0; k < findings.count; k++)
            if (strcmp(findings.items[k].id, "straggler") == 0)
                named = strstr(findings.items[k].evidence, who) != NULL;
        assert_int_equal(named, straggles);
        findings_release(&findings);
    }
    for (int i = 0; i < count; i++) {
        summary_release(&summaries[i]);
        made_release(&analysed[i]);
    }
}

static void the_rank_that_others_wait_for_is_named(void **state)
{
    (void)state;

    check_ranks(rank_on_device, (const int[]){ 500, 500, 60, 500 }, 4, true, "rank 2 ");
    check_ranks(rank_on_device, (const int[]){ 500, 480, 450, 500 }, 4, false, "rank");
    check_ranks(rank_on_host, (const int[]){ 500, 60 }, 2, true, "rank 1 ");
    check_ranks(rank_on_host, (const int[]){ 500, 450 }, 2, false, "rank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rank_that_others_wait_for_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
