/* Ranks that all hang: nobody is left to say so, and the time of the experiment ends them. */
#include "harness/base/clock.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/experiment/parent/experiment.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <signal.h>
#include <unistd.h>

static const double TIMEOUT_SECONDS = 20;

static pid_t ranks[2];

/* The processes that mpirun, our only child, has started. */
static int find_ranks(void)
{
    char command[100];
    int count = 0, id;
    FILE *pipe;

    snprintf(command, sizeof command, "for child in $(pgrep -P %d); do pgrep -P $child; done",
             (int)getpid());
    pipe = popen(command, "re");
    assert_non_null(pipe);
    while (count < 2 && fscanf(pipe, "%d", &id) == 1)
        if (kill(id, 0) == 0)
            ranks[count++] = id;
    pclose(pipe);
    return count;
}

/* Once they measure. */
static void stop_ranks(void *context, const struct scenario *scenario,
                       const struct experiment_state *state)
{
    (void)context;
    (void)scenario;
    if (ranks[0] == 0 && find_ranks() == 2)
        for (int i = 0; i < 2; i++) assert_int_equal(kill(ranks[i], SIGSTOP), 0);
}

TEST(the_time_of_the_experiment_ends_them)
{
    const struct scenario *scenario = scenario_find("exposed_allreduce");
    struct protocol protocol = protocol_default(true);
    struct scenario_result result;
    int64_t begin_ns = clock_ns();

    protocol.device = "cpu";
    protocol.timeout_seconds = TIMEOUT_SECONDS;
    assert_non_null(scenario);
    assert_ok(experiment_run(&result, PROGRAM, scenario, &protocol, stop_ranks, NULL, NULL));
    assert_int_not_equal(ranks[1], 0);
    assert_int_equal(result.verdict, strstr(result.reason, "Apart from that: ") != NULL
                                         ? VERDICT_UNDECIDED /* beside others */
                                         : VERDICT_FAILED);
    assert_non_null(strstr(result.reason, "took too long and was ended"));
    assert_true((double)(clock_ns() - begin_ns) * 1e-9 < 2 * TIMEOUT_SECONDS);
    for (int i = 0; i < 2; i++) {
        for (int wait = 0; wait < 100 && kill(ranks[i], 0) == 0; wait++) usleep(50000);
        assert_int_not_equal(kill(ranks[i], 0), 0);
    }
    scenario_result_release(&result);
}

int main(int argc, char **argv)
{
    if (ranks_load() != STATUS_OK || system("command -v mpirun >/dev/null") != 0) {
        printf("skipped: there is no MPI here (libopenmpi-dev, openmpi-bin)\n");
        return 77;
    }
    return tests_run(argc, argv);
}
