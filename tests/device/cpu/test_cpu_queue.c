/* The queue and the numbers that threads wait for, without a device around them. */
#include "harness/base/clock.h"
#include "harness/device/cpu/queue/cpu_progress.h"
#include "harness/device/cpu/queue/queue.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MANY = 20000, WAITERS = 4, THROWS = 5000 };

/* A worker sees item after item, numbered by its count. */
struct seen {
    long items, out_of_order, started;
    pthread_t worker;
};

static void start(void *context)
{
    struct seen *seen = context;

    seen->started++;
    seen->worker = pthread_self();
}

static void run(void *context, const struct item *item)
{
    struct seen *seen = context;

    seen->out_of_order += item->kernel.count != seen->items;
    seen->items++;
}

static const struct cpu_work some_work = { .run = NULL };

static uint64_t submit(struct queue *queue, long number)
{
    struct item *item = queue_claim(queue);

    item->work = &some_work;
    item->kernel.count = number;
    return queue_submit(queue);
}

/* Each way of waiting: asleep at once or after a spin, with the doorbell or with wakes on
 * demand. */
static const struct queue_options ways[] = {
    { .spin_ns = 0, .doorbell = false },
    { .spin_ns = 0, .doorbell = true },
    { .spin_ns = 20000, .doorbell = false },
    { .spin_ns = 20000, .doorbell = true },
};

static struct queue *open_queue(size_t way, struct seen *seen)
{
    struct queue_options options = ways[way];
    struct queue *queue;

    memset(seen, 0, sizeof *seen);
    options.start = start;
    options.run = run;
    options.context = seen;
    assert_ok(queue_open(&queue, &options));
    return queue;
}

TEST(items_run_once_and_in_order_on_one_other_thread)
{
    for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
        struct seen seen;
        struct queue *queue = open_queue(way, &seen);
        for (long i = 0; i < MANY; i++) assert_int_equal(submit(queue, i), i + 1);
        assert_int_equal(queue_submitted(queue), MANY);
        queue_wait(queue, MANY);
        assert_true(queue_done(queue, MANY));
        assert_false(queue_done(queue, MANY + 1));
        assert_int_equal(seen.items, MANY);
        assert_int_equal(seen.out_of_order, 0);
        assert_int_equal(seen.started, 1);
        assert_false(pthread_equal(seen.worker, pthread_self()));
        queue_close(queue);
    }
}

/* The worker goes to sleep between items, again and again: no wake may be lost. */
TEST(a_worker_that_sleeps_is_woken_each_time)
{
    for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
        struct seen seen;
        struct queue *queue = open_queue(way, &seen);
        for (long i = 0; i < 2000; i++) queue_wait(queue, submit(queue, i));
        assert_int_equal(seen.items, 2000);
        queue_close(queue);
    }
}

TEST(closing_runs_what_is_queued)
{
    struct seen seen;
    struct queue *queue = open_queue(0, &seen);

    for (long i = 0; i < 900; i++) submit(queue, i);
    queue_close(queue);
    assert_int_equal(seen.items, 900);
    queue_close(NULL);
}

struct waiter {
    struct queue *queue;
    uint64_t ticket;
};

static void *wait_for_ticket(void *argument)
{
    struct waiter *waiter = argument;

    for (; waiter->ticket <= MANY; waiter->ticket += 977) {
        queue_wait(waiter->queue, waiter->ticket);
        if (!queue_done(waiter->queue, waiter->ticket))
            return waiter;
    }
    return NULL;
}

static _Atomic int waits_begun, waits_ended;

static void count_begin(void)
{
    waits_begun++;
}

static void count_end(void)
{
    waits_ended++;
}

/* The first item lasts until a claim waits for room, 10 s at most. */
static void run_slowly(void *context, const struct item *item)
{
    int64_t end_ns = clock_ns() + 10000000000;
    (void)context;

    while (item->kernel.count == 0 && waits_begun == 0 && clock_ns() < end_ns) continue;
}

TEST(a_claim_tells_that_it_waits_for_room)
{
    const struct queue_options options = { .run = run_slowly,
                                           .wait_begin = count_begin,
                                           .wait_end = count_end };
    struct queue *queue;

    assert_ok(queue_open(&queue, &options));
    for (long i = 0; i < MANY; i++) submit(queue, i);
    queue_close(queue);
    assert_true(waits_begun > 0);
    assert_int_equal(waits_begun, waits_ended);
}

/* Sleepers that wait for nearer and for farther tickets at the same time must all wake up. */
TEST(several_threads_may_wait_for_different_tickets)
{
    for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
        struct seen seen;
        struct queue *queue = open_queue(way, &seen);
        struct waiter waiters[WAITERS];
        pthread_t threads[WAITERS];
        void *failed;
        for (int i = 0; i < WAITERS; i++) {
            waiters[i] = (struct waiter){ queue, (uint64_t)(1 + i * 300) };
            assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ticket, &waiters[i]), 0);
        }
        for (long i = 0; i < MANY; i++) submit(queue, i);
        for (int i = 0; i < WAITERS; i++) {
            pthread_join(threads[i], &failed);
            assert_null(failed);
        }
        queue_close(queue);
    }
}

/* Two threads throw a ball: each advances its own number and waits for the other's. */
struct ball {
    struct cpu_progress *mine, *theirs;
    int spin_ns;
};

static void *play(void *argument)
{
    struct ball *ball = argument;

    for (uint64_t i = 1; i <= THROWS; i++) {
        cpu_progress_await(ball->theirs, i, ball->spin_ns);
        cpu_progress_set(ball->mine, i);
        cpu_progress_wake(ball->mine);
    }
    return NULL;
}

TEST(progress_wakes_whoever_waits_for_it)
{
    for (int spin_ns = 0; spin_ns <= 5000; spin_ns += 5000) {
        struct cpu_progress here = { 0 }, there = { 0 };
        struct ball ball = { &there, &here, spin_ns };
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, play, &ball), 0);
        for (uint64_t i = 1; i <= THROWS; i++) {
            cpu_progress_set(&here, i);
            cpu_progress_wake(&here);
            cpu_progress_await(&there, i, spin_ns);
        }
        pthread_join(thread, NULL);
        assert_int_equal(cpu_progress_value(&here), THROWS);
        assert_int_equal(cpu_progress_value(&there), THROWS);
        cpu_progress_await(&there, THROWS - 1, 0); /* Long reached: returns at once. */
    }
}

struct onlooker {
    struct cpu_progress *progress;
    uint64_t step;
};

static void *look_on(void *argument)
{
    const struct onlooker *onlooker = argument;

    for (uint64_t i = onlooker->step; i <= THROWS; i += onlooker->step)
        cpu_progress_await(onlooker->progress, i, 0);
    return NULL;
}

/* The player waits for the next value, and others for later ones of the same number; once a wake is
 * lost, the ball rests for ever. */
TEST(a_player_is_woken_though_others_wait_for_more)
{
    static const uint64_t steps[WAITERS] = { 1, 2, 3, 7 };
    struct cpu_progress here = { 0 }, there = { 0 };
    struct ball ball = { &there, &here, 0 };
    struct onlooker onlookers[WAITERS];
    pthread_t player, threads[WAITERS];

    for (int i = 0; i < WAITERS; i++) {
        onlookers[i] = (struct onlooker){ &there, steps[i] };
        assert_int_equal(pthread_create(&threads[i], NULL, look_on, &onlookers[i]), 0);
    }
    assert_int_equal(pthread_create(&player, NULL, play, &ball), 0);
    for (uint64_t i = 1; i <= THROWS; i++) {
        cpu_progress_set(&here, i);
        cpu_progress_wake(&here);
        cpu_progress_await(&there, i, 0);
    }
    pthread_join(player, NULL);
    for (int i = 0; i < WAITERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(cpu_progress_value(&there), THROWS);
}
