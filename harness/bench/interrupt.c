/* The handler sets a flag and an alarm. The alarm looks once a second whether a wait for the device
 * makes progress: a program that waits for one that hangs never comes to look at the flag. */
#include "harness/bench/interrupt.h"

#include "harness/base/clock.h"
#include "harness/device/many_ranks.h"
#include "harness/device/types/device_wait.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Seconds: with the first look, a program whose device hangs ends within five. */
enum { PATIENCE = 3 };

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

static const char *name_of(int number)
{
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "";
}

/* By write(2): a handler may not use stdio (signal-safety(7)). */
static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* Once a second after a signal. A wait for the device that does not end for PATIENCE of them is of
 * a device that hangs: nothing that this process could still print or keep is worth more, since no
 * call of the device would return. */
static void watch(int number)
{
    static int64_t before;
    static int seconds;

    (void)number;
    seconds = device_waits() > 0 && device_wait_progress() == before ? seconds + 1 : 0;
    before = device_wait_progress();
    if (seconds >= PATIENCE) {
        say("chokepoint: stopped by ");
        say(name_of(caught));
        say("; the device hangs: the wait for it was abandoned, and what was measured is lost\n");
        _exit(128 + caught);
    }
    alarm(1);
}

static void handle(int number)
{
    int64_t now_ns = clock_ns();

    if (caught != 0 && now_ns - caught_ns >= 1000000000) {
        signal(number, SIG_DFL);
        raise(number); /* Pending until this handler returns. */
    } else if (caught == 0) {
        caught_ns = now_ns;
        caught = number;
        alarm(1);
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
    /* A call that the signal interrupts goes on: the program looks at the flag when it comes by. */
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

    if (ranks_count() > 1)
        return;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) sigaddset(&action.sa_mask, signals[i].number);
    sigaction(SIGALRM, &(struct sigaction){ .sa_handler = watch, .sa_flags = SA_RESTART }, NULL);
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
    return name_of(caught);
}
