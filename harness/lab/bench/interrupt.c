#include "harness/lab/bench/interrupt.h"

#include "harness/base/clock.h"
#include "harness/lab/device/many_ranks.h"

static volatile sig_atomic_t caught;
static volatile int64_t caught_ns;

static void handle(int number)
{
    int64_t now_ns = clock_ns();

    if (caught != 0 && now_ns - caught_ns >= 1000000000) {
        signal(number, SIG_DFL);
        raise(number); /* Pending until this handler returns. */
    } else if (caught == 0) {
        caught_ns = now_ns;
        caught = number;
    }
}

void interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

    if (ranks_count() > 1)
        return;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const volatile sig_atomic_t *interrupt_flag(void)
{
    return &caught;
}

int interrupt_signal(void)
{
    return caught;
}

const char *interrupt_name(void)
{
    return caught == SIGINT ? "an interrupt" : "a request to terminate";
}
