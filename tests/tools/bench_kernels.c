/* How far the kernels are from loops written by hand for this CPU: bench_kernels [pairs].
 *
 * Kernel and loop work on the same buffers in turns, each for at least a millisecond; what counts
 * is the ratio of the two times of a pair, so that drift of the machine falls on both. The table
 * says its median and the 10th and 90th percentile over all pairs. Times are
 * CLOCK_THREAD_CPUTIME_ID: who else runs on the core does not count, but what he does to caches and
 * memory does. */
#include "tests/tools/bench_kernels.h"

#include "kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROWS = 4096, MOST_WIDTH = 768, CHUNK = 64, TENSORS = 3, FLOATS = 3, MOST_PAIRS = 999 };

/* Room for any kernel's arguments, at the most rows, in the wider storage type. */
struct buffers {
    void *tensor[TENSORS], *weight, *bias;
    float *floats[FLOATS], *mean, *rstd;
    struct step_state state;
};

union arguments {
    struct layernorm_forward layernorm_forward;
    struct layernorm_backward layernorm_backward;
    struct layernorm_backward_weight layernorm_backward_weight;
    struct softmax_forward softmax_forward;
    struct softmax_backward softmax_backward;
    struct gelu_forward gelu_forward;
    struct gelu_backward gelu_backward;
    struct bias_gelu_forward bias_gelu_forward;
    struct residual_add residual_add;
    struct adamw adamw;
};

/* The training step's shape on a CPU, one that stays in a second-level cache or nearly, one that
 * does not. */
struct shape {
    int rows, width;
};
static const struct shape shapes[] = { { 136, 64 }, { 256, 768 }, { 4096, 768 } };

struct launch {
    long count; /* of rows or elements, by the kernel's shape */
    union arguments arguments;
};

static struct launch layernorm_forward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { s.rows,
                             { .layernorm_forward = { b->tensor[0], b->mean, b->rstd, b->tensor[1],
                                                      b->weight, b->bias, s.width } } };

    return launch;
}

static struct launch layernorm_backward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { s.rows,
                             { .layernorm_backward = { b->tensor[0], b->tensor[1], b->tensor[2],
                                                       b->weight, b->mean, b->rstd, s.width } } };

    return launch;
}

static struct launch layernorm_backward_weight_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { (s.rows + CHUNK - 1) / CHUNK,
                             { .layernorm_backward_weight = {
                                   b->floats[0], b->floats[1], b->tensor[1], b->tensor[2], b->mean,
                                   b->rstd, s.width, s.rows, CHUNK, s.width } } };

    return launch;
}

static struct launch softmax_forward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { s.rows,
                             { .softmax_forward = { b->tensor[0], b->tensor[1], NULL, 0.125f,
                                                    s.width, 1, s.width - 3 } } };

    return launch;
}

static struct launch softmax_backward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { s.rows,
                             { .softmax_backward = { b->tensor[0], b->tensor[1], b->tensor[2], NULL,
                                                     0.125f, s.width, 1, s.width - 3 } } };

    return launch;
}

static struct launch gelu_forward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { (long)s.rows * s.width,
                             { .gelu_forward = { b->tensor[0], b->tensor[1] } } };

    return launch;
}

static struct launch gelu_backward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { (long)s.rows * s.width,
                             { .gelu_backward = { b->tensor[0], b->tensor[1], b->tensor[2] } } };

    return launch;
}

static struct launch bias_gelu_forward_launch(struct buffers *b, struct shape s)
{
    struct launch launch = {
        s.rows, { .bias_gelu_forward = { b->tensor[0], b->tensor[1], b->bias, s.width } }
    };

    return launch;
}

static struct launch residual_add_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { (long)s.rows * s.width,
                             { .residual_add = { b->tensor[0], b->tensor[1], b->tensor[2] } } };

    return launch;
}

/* In fp32 neither kernel nor loop writes the parameter: it would be the master. */
static struct launch adamw_launch(struct buffers *b, struct shape s)
{
    struct launch launch = { (long)s.rows * s.width,
                             { .adamw = { b->tensor[0], b->tensor[1], b->floats[0], b->floats[1],
                                          b->floats[2], &b->state, 0.1f } } };

    return launch;
}

static const struct {
    const char *name;
    kernel_fn *kernel[2], *loop[2];
    struct launch (*launch)(struct buffers *buffers, struct shape shape);
} cases[] = {
#define BENCH_CASE(name)                                                                           \
    { #name, { name##_f32, name##_bf16 }, { name##_loop_f32, name##_loop_bf16 }, name##_launch },
    BENCH_KERNELS(BENCH_CASE)
#undef BENCH_CASE
};

static void fill_tensor(void *tensor, int type, long count)
{
    for (long i = 0; i < count; i++) {
        float x = (float)(i * 7919 % 4001) / 1000 - 2;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (type == 0)
            ((float *)tensor)[i] = x;
        else
            ((uint16_t *)tensor)[i] = (uint16_t)(bits >> 16);
    }
}

static void *room(long count)
{
    void *memory = aligned_alloc(64, (size_t)count * sizeof(float));

    if (!memory) {
        fprintf(stderr, "bench_kernels: out of memory for %ld floats\n", count);
        exit(1);
    }
    memset(memory, 0, (size_t)count * sizeof(float));
    return memory;
}

static void buffers_allocate(struct buffers *buffers)
{
    long elements = (long)MOST_ROWS * MOST_WIDTH;

    for (int i = 0; i < TENSORS; i++) buffers->tensor[i] = room(elements);
    for (int i = 0; i < FLOATS; i++) buffers->floats[i] = room(elements);
    buffers->weight = room(MOST_WIDTH);
    buffers->bias = room(MOST_WIDTH);
    buffers->mean = room(MOST_ROWS);
    buffers->rstd = room(MOST_ROWS);
}

static void buffers_reset(struct buffers *buffers, int type)
{
    long elements = (long)MOST_ROWS * MOST_WIDTH;

    for (int i = 0; i < TENSORS; i++) fill_tensor(buffers->tensor[i], type, elements);
    for (int i = 0; i < FLOATS; i++) fill_tensor(buffers->floats[i], 0, elements);
    for (long i = 0; i < elements; i++) buffers->floats[2][i] *= buffers->floats[2][i];
    fill_tensor(buffers->weight, type, MOST_WIDTH);
    fill_tensor(buffers->bias, type, MOST_WIDTH);
    for (int i = 0; i < MOST_ROWS; i++) buffers->rstd[i] = 1;
    buffers->state = (struct step_state){ .rate = 1e-4f,
                                          .correction1 = 0.5f,
                                          .correction2 = 0.1f,
                                          .gradient_scale = 1,
                                          .loss_scale = 1 };
}

static void buffers_release(struct buffers *buffers)
{
    for (int i = 0; i < TENSORS; i++) free(buffers->tensor[i]);
    for (int i = 0; i < FLOATS; i++) free(buffers->floats[i]);
    free(buffers->weight);
    free(buffers->bias);
    free(buffers->mean);
    free(buffers->rstd);
}

static double cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_ns(kernel_fn *function, const struct launch *launch, int times)
{
    double start = cpu_ns();

    for (int i = 0; i < times; i++) function(&launch->arguments, 0, launch->count);
    return (cpu_ns() - start) / times;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts, then reads the value that `share` of the others are below. */
static double percentile(double *values, int count, double share)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[(int)(share * (count - 1) + 0.5)];
}

static void compare(size_t which, int type, struct shape shape, int pairs, struct buffers *buffers)
{
    static double kernel_ns[MOST_PAIRS], loop_ns[MOST_PAIRS], ratio[MOST_PAIRS];
    kernel_fn *kernel = cases[which].kernel[type], *loop = cases[which].loop[type];
    struct launch launch = cases[which].launch(buffers, shape);

    buffers_reset(buffers, type);
    int times = 1 + (int)(1e6 / time_ns(loop, &launch, 3));
    for (int i = 0; i < pairs; i++) {
        if (i % 2 == 0)
            kernel_ns[i] = time_ns(kernel, &launch, times);
        loop_ns[i] = time_ns(loop, &launch, times);
        if (i % 2 != 0)
            kernel_ns[i] = time_ns(kernel, &launch, times);
        ratio[i] = kernel_ns[i] / loop_ns[i];
    }
    printf("%-26s %-5s %4dx%-4d %10.1f %10.1f %7.2f %6.2f..%.2f\n", cases[which].name,
           type ? "bf16" : "f32", shape.rows, shape.width, percentile(kernel_ns, pairs, 0.5) / 1e3,
           percentile(loop_ns, pairs, 0.5) / 1e3, percentile(ratio, pairs, 0.5),
           percentile(ratio, pairs, 0.1), percentile(ratio, pairs, 0.9));
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? atoi(argv[1]) : 31;
    struct buffers buffers;

    if (pairs < 3 || pairs > MOST_PAIRS) {
        fprintf(stderr, "bench_kernels: %s pairs; give 3 to %d\n", argv[1], MOST_PAIRS);
        return 2;
    }
    buffers_allocate(&buffers);
    printf("%-26s %-5s %9s %10s %10s %7s %12s\n", "kernel", "type", "shape", "kernel us", "loop us",
           "ratio", "p10..p90");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int type = 0; type < 2; type++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                compare(i, type, shapes[s], pairs, &buffers);
    buffers_release(&buffers);
    return 0;
}
