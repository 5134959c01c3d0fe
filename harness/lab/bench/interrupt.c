#include "harness/lab/bench/interrupt.h"

#include "harness/base/clock.h"
#include "harness/lab/device/many_ranks.h"

#include <stdbool.h>

static volatile sig_atomic_t caught;
static volatile int64_t caught_ns;

static const struct {
    int number;
    const char *name;
} signals[] = {
    { SIGINT, "an interrupt" },
    { SIGTERM, "a request to terminate" },
    { SIGHUP, "the end of its terminal" },
};

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

/* nohup(1) starts a program with SIGHUP ignored, and it is to stay so. */
static bool signal_is_heeded(int number)
{
    struct sigaction now;

    return number != SIGHUP || sigaction(number, NULL, &now) != 0 || now.sa_handler != SIG_IGN;
}

void interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

    if (ranks_count() > 1)
        return;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) sigaddset(&action.sa_mask, signals[i].number);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (signal_is_heeded(signals[i].number))
            sigaction(signals[i].number, &action, NULL);
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
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (signals[i].number == caught)
            return signals[i].name;
    return "";
}
