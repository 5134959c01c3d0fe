#include "tests/desk/diagnosis/made/made_loop.h"

#include <stdio.h>

enum { HOST = 100, STREAM = 7, LONE_WAIT = 2 /* how late a wait ends */ };

#define GPU                                                                                        \
    "\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA A100\",\"totalGlobalMem\":1073741824,"      \
    "\"computeMajor\":8,\"computeMinor\":0,\"numSms\":108,\"warpSize\":32}]"

struct run {
    const struct made_loop *loop;
    int now, device; /* where the host is, and when the device is done */
    int correlation;
    bool launched, slow; /* slow: the step that is under way */
};

static int later(int a, int b)
{
    return a > b ? a : b;
}

static void spend(struct run *run, const char *category, const char *name, int time)
{
    if (time > 0)
        made_add(category, name, HOST, HOST, run->now, run->now + time, 0);
    run->now += time;
}

static void call(struct run *run, const char *name, int time, int correlation)
{
    if (run->loop->alone)
        return;
    if (!run->loop->no_calls)
        made_add("cuda_runtime", name, HOST, HOST, run->now, run->now + time, correlation);
    run->now += time;
}

static void work(struct run *run, const char *category, const char *name, int time, int bytes)
{
    char arguments[64] = "";
    int start = later(run->now, run->device) + (category[0] == 'k' ? run->loop->stall : 0);

    if (run->loop->alone)
        return;
    if (bytes > 0)
        snprintf(arguments, sizeof arguments, "\"bytes\":%d", bytes);
    if (category[0] == 'k' && run->loop->grid > 0)
        snprintf(arguments, sizeof arguments, "\"grid\":[%d,1,1],\"block\":[128,1,1]",
                 run->loop->grid);
    if (category[0] != 'k' || run->correlation % 10 >= run->loop->lost)
        made_add_with(category, name, 0, STREAM, start, start + time, run->correlation, arguments);
    run->device = start + time;
}

static void wait(struct run *run, const char *name)
{
    call(run, name, later(run->device - run->now, 0) + LONE_WAIT, 0);
}

static void launch(struct run *run, int operator_time, const char *name, int kernel)
{
    int time = run->loop->call;

    if (!run->launched && run->loop->first_call > 0)
        time = run->loop->first_call;
    if (run->loop->late_every > 0 && (run->correlation + 1) % run->loop->late_every == 0)
        time = run->loop->late_call;
    if (run->slow && run->loop->slow_kernel > 0) {
        kernel = run->loop->slow_kernel;
        operator_time = run->loop->alone ? kernel : operator_time;
    }
    run->launched = true;
    spend(run, "cpu_op", "aten::op", operator_time);
    if (run->loop->launches_block) {
        int start = run->now;
        run->now += time;
        ++run->correlation;
        work(run, "kernel", name, kernel, 0);
        run->now = start;
        call(run, "cudaLaunchKernel", run->device - start + LONE_WAIT, run->correlation);
    } else {
        call(run, "cudaLaunchKernel", time, ++run->correlation);
        work(run, "kernel", name, kernel, 0);
    }
    if (run->loop->wait_launches > 0 && run->correlation % run->loop->wait_launches == 0)
        wait(run, "cudaStreamSynchronize");
}

/* An operator that states its work, and launches in it. */
static void multiply(struct run *run, const char *name, int flops)
{
    char arguments[40];
    int start = run->now;

    launch(run, 0, name, run->loop->kernel + flops);
    snprintf(arguments, sizeof arguments, "\"flops\":%d000", flops);
    made_add_with("cpu_op", "aten::mm", HOST, HOST, start, run->now, 0, arguments);
}

static void copy(struct run *run, const char *name, int time, int call_time, int bytes)
{
    if (run->loop->copies_block) {
        ++run->correlation;
        work(run, "gpu_memcpy", name, time, bytes);
        call(run, "cudaMemcpyAsync", run->device - run->now + LONE_WAIT, run->correlation);
        return;
    }
    call(run, "cudaMemcpyAsync", call_time, ++run->correlation);
    work(run, "gpu_memcpy", name, time, bytes);
}

static void launch_all(struct run *run)
{
    const struct made_loop *loop = run->loop;
    const char *name = loop->kernel_name != NULL ? loop->kernel_name : "kernel";
    int passes = later(loop->passes, 1);

    for (int pass = 0; pass < passes; pass++) {
        int start = run->now;
        for (int i = 0; i < loop->launches / passes; i++)
            if (loop->flops[0] > 0)
                multiply(run, name, loop->flops[i % 2]);
            else
                launch(run, loop->operator_time, name, loop->kernel);
        if (loop->passes > 0)
            made_add("user_annotation", "forward", HOST, HOST, start, run->now, 0);
    }
}

static void send(struct run *run, const char *collective, int kib)
{
    char arguments[120] = "";
    int start = later(run->now, run->device);

    if (kib > 0)
        snprintf(arguments, sizeof arguments,
                 "\"Collective name\":\"%s\",\"In msg nelems\":%d,\"Out msg nelems\":1,"
                 "\"dtype\":\"Float\"",
                 collective, kib * 1024 / 4);
    call(run, "cudaLaunchKernel", run->loop->call, ++run->correlation);
    run->device = later(run->now, start) + run->loop->message;
    made_add_with(
        "kernel",
        run->loop->message_kernel != NULL ? run->loop->message_kernel : "ncclDevKernel_AllReduce",
        0, STREAM, run->device - run->loop->message, run->device, run->correlation, arguments);
}

static void send_all(struct run *run)
{
    const char *collective = run->loop->collective;

    for (int i = 0; i < run->loop->messages; i++)
        send(run, collective != NULL ? collective : "allreduce", run->loop->message_kib);
}

static void go_back(struct run *run)
{
    int start = run->now;

    launch(run, 0, "kernel", run->loop->backward);
    send_all(run);
    made_add("user_annotation", "backward", HOST, HOST, start, run->now, 0);
}

static void optimize(struct run *run)
{
    int updates = run->loop->updates > 0 ? run->loop->updates : 1;

    for (int update = 0; update < updates && run->loop->optimizer_launches > 0; update++) {
        int start = run->now;
        for (int i = 0; i < run->loop->optimizer_launches; i++)
            launch(run, 0, "adamw", run->loop->optimizer_kernel);
        made_add("user_annotation", "optimizer", HOST, HOST, start, run->now, 0);
    }
}

static void go_round(struct run *run)
{
    copy(run, "Memcpy DtoH (Device -> Pinned)", 30, 2, 1 << 20);
    wait(run, "cudaStreamSynchronize");
    run->now += 20;
    copy(run, "Memcpy HtoD (Pinned -> Device)", 30, 2, 1 << 20);
    launch(run, 0, "kernel", run->loop->kernel);
}

static void allocate(struct run *run, int step)
{
    const struct made_loop *loop = run->loop;

    if (loop->allocating_steps > 0 && step >= loop->allocating_steps)
        return;
    for (int i = 0; i < loop->allocations; i++) {
        bool is_long = step == 2 && i == 0 && loop->long_allocation > 0;
        call(run, i % 2 == 0 ? "cudaMalloc" : "cudaFree",
             is_long ? loop->long_allocation : loop->allocation, 0);
    }
}

static void log_step(struct run *run)
{
    int start = run->now;

    if (run->loop->log_waits)
        wait(run, "cudaStreamSynchronize");
    run->now += run->loop->logging;
    if (run->now > start)
        made_add("user_annotation", "log", HOST, HOST, start, run->now, 0);
}

static void state(const struct run *run, int at, int kib)
{
    char arguments[200];

    snprintf(arguments, sizeof arguments,
             "\"Device Type\":1,\"Device Id\":0,\"Bytes\":1024,\"Total Allocated\":%lld,"
             "\"Total Reserved\":%lld",
             1024LL * kib, 1024LL * later(run->loop->reserved_kib, kib));
    made_add_instant("[memory]", at, arguments);
}

static void run_step(struct run *run, int number)
{
    const struct made_loop *loop = run->loop;
    bool slow = (loop->slow_every > 0 && number + 1 >= loop->slow_every &&
                 (number + 1) % loop->slow_every <= loop->slow_more) ||
                number + 1 == loop->slow_step;
    int start = run->now, grown = number * loop->growth_kib;
    char name[40], arguments[100];

    run->slow = slow;
    if (loop->epoch > 0 && (number + 1) % loop->epoch == 0) {
        spend(run, "user_annotation", "data", 5);
        run->now++;
    }
    spend(run, "user_annotation", "data", slow ? loop->slow_loading : loop->loading);
    for (int i = 0; i < loop->copies; i++)
        copy(run, loop->copy_name != NULL ? loop->copy_name : "Memcpy HtoD (Pinned -> Device)",
             loop->copy, loop->copy_call, loop->copy_bytes);
    allocate(run, number);
    if (loop->pause_name != NULL)
        spend(run, "cpu_op", loop->pause_name, loop->pause);
    else
        run->now +=
            loop->pause + (loop->epoch > 0 ? number % loop->epoch : number) * loop->pause_growth;
    if (loop->other_device > 0)
        made_add("kernel", "elsewhere", 1, STREAM, later(run->now, run->device),
                 later(run->now, run->device) + loop->other_device, 0);
    launch_all(run);
    if (loop->items_in != NULL)
        made_add("user_annotation", loop->items_in, HOST, HOST, run->now,
                 run->now + 2 * loop->items, 0);
    for (int i = 0; i < loop->items; i++) spend(run, "cpu_op", "aten::item", 2);
    for (int i = 0; i < loop->trips; i++) go_round(run);
    if (loop->communication > 0)
        launch(run, 0, "ncclDevKernel_AllReduce", loop->communication);
    if (loop->split)
        send_all(run);
    if (loop->backward > 0)
        go_back(run);
    if (loop->wait_amid > 0 && (number + 1) % loop->wait_amid == 0)
        wait(run, "cudaStreamSynchronize");
    optimize(run);
    for (int i = 0; i < loop->releases; i++)
        call(run, "cudaFree", later(run->device - run->now, 0) + loop->allocation, 0);
    if (loop->returned != NULL)
        send(run, loop->returned, loop->messages * loop->message_kib);
    if (loop->wait_every > 0 && (number + 1) % loop->wait_every == 0)
        wait(run, "cudaStreamSynchronize");
    for (int i = 0; i < loop->reads; i++) {
        copy(run, "Memcpy DtoH (Device -> Pinned)", 1, 2, 4);
        wait(run, "cudaStreamSynchronize");
    }
    log_step(run);
    spend(run, "user_annotation", "save", loop->saving);
    if (loop->allocated_kib > 0) {
        state(run, start, later(loop->peak_kib, loop->allocated_kib) + grown);
        state(run, run->now, loop->allocated_kib + grown);
    }
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    snprintf(arguments, sizeof arguments, "\"samples\":%d,\"tokens\":%d,\"padded tokens\":%d",
             loop->samples, loop->tokens, loop->padded_tokens);
    if (!loop->no_steps)
        made_add_with("user_annotation", name, HOST, HOST, start, run->now, 0,
                      loop->tokens > 0 ? arguments : "");
}

struct analysed made_loop(const struct made_loop *loop)
{
    struct run run = { .loop = loop };

    made_begin_with(loop->about != NULL ? loop->about : loop->alone ? "\"schemaVersion\":1" : GPU);
    for (int i = 0; i < loop->steps; i++) run_step(&run, i);
    wait(&run, "cudaDeviceSynchronize");
    return made_analyse();
}
