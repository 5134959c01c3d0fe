#include "tests/cpu_device.h"

#include "tests/gpu/gate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct device_options cpu_device_options = { .spin_ns = -1 };

static char *closed_page;
static int gate_pipe[2];

const char *test_device_name(void)
{
    const char *name = getenv("CHOKEPOINT_TEST_DEVICE");

    return name != NULL ? name : "cpu";
}

enum status test_device_open(struct device **device, const struct device_options *options)
{
    const char *name = test_device_name();
    enum status status = device_open(device, name, options);

    if (strcmp(name, "cpu") != 0 && status != STATUS_OK && status_exit_code(status) == 3) {
        printf("skipped: %s\n", status_last()->text);
        exit(77);
    }
    return status;
}

/* A device whose work is done by threads, as the stand-in for a GPU is, has the gate of the CPU device. */
static bool is_gpu(const struct cpu_device_test *test)
{
    const struct device_properties *properties = device_properties(test->device);

    return strcmp(properties->kind, "cpu") != 0 && strstr(properties->name, "stand-in") == NULL;
}

void only_on_the_cpu_device(const struct cpu_device_test *test, const char *why)
{
    if (strcmp(device_properties(test->device)->kind, "cpu") == 0)
        return;
    print_message("only on the CPU device: %s\n", why);
    skip();
}

/* Only calls that are safe in a signal handler: a read that blocks until somebody writes. */
static void wait_at_gate(int number, siginfo_t *info, void *context)
{
    char *address = info->si_addr, byte;

    (void)context;
    if (address < closed_page || address >= closed_page + PAGE) {
        signal(number, SIG_DFL); /* A real fault: let it happen again. */
        return;
    }
    while (read(gate_pipe[0], &byte, 1) != 1) {
    }
}

void gate_close(struct cpu_device_test *test, struct stream *stream)
{
    struct sigaction action = { .sa_sigaction = wait_at_gate, .sa_flags = SA_SIGINFO };

    closed_page = test->gate_page;
    if (is_gpu(test)) {
        gpu_gate_close(stream, test->gate_page);
        return;
    }
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    assert_int_equal(mprotect(closed_page, PAGE, PROT_NONE), 0);
    OK(device_copy_async(stream, COPY_HOST_TO_DEVICE, test->gate_target, closed_page, 64));
}

/* Also when the worker has not come by yet: then it finds the page open, and the byte goes with the
 * pipe. */
void gate_open(struct cpu_device_test *test)
{
    assert_ptr_equal(closed_page, test->gate_page);
    if (is_gpu(test)) {
        gpu_gate_open(test->gate_page);
        return;
    }
    assert_int_equal(mprotect(closed_page, PAGE, PROT_READ | PROT_WRITE), 0);
    assert_int_equal(write(gate_pipe[1], "", 1), 1);
}

int cpu_device_open(void **state)
{
    struct cpu_device_test *test = calloc(1, sizeof *test);

    assert_non_null(test);
    OK(test_device_open(&test->device, &cpu_device_options));
    OK(stream_create(test->device, &test->stream));
    OK(host_alloc(test->device, true, PAGE, &test->gate_page));
    test->gate_target = cpu_device_memory(test->device, PAGE);
    assert_int_equal(pipe(gate_pipe), 0);
    *state = test;
    return 0;
}

int cpu_device_close(void **state)
{
    struct cpu_device_test *test = *state;

    if (test == NULL) /* The setup has failed. */
        return 0;
    stream_destroy(test->stream);
    assert_int_equal(host_free(test->device, true, test->gate_page), STATUS_OK);
    assert_int_equal(device_free(test->device, NULL, ALLOCATE_DIRECT, test->gate_target),
                     STATUS_OK);
    device_close(test->device);
    close(gate_pipe[0]);
    close(gate_pipe[1]);
    free(test);
    return 0;
}

void *cpu_device_memory(struct device *device, size_t bytes)
{
    void *memory;

    OK(device_alloc(device, NULL, ALLOCATE_DIRECT, bytes, &memory));
    return memory;
}

void assert_error_says(const char *part)
{
    if (strstr(status_last()->text, part) == NULL)
        fail_msg("the error says \"%s\", nothing of \"%s\"", status_last()->text, part);
}
