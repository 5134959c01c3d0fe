#include "harness/lab/experiment/parent/arguments.h"

#include "harness/lab/experiment/parent/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Appends an option and its value; `count` is the length of the list so far. */
static void add(struct arguments *arguments, int *count, const char *option, const char *value)
{
    arguments->list[(*count)++] = option;
    arguments->list[(*count)++] = value;
}

static void add_fraction(struct arguments *arguments, int *count, const char *option, double value)
{
    char *text = arguments->texts[*count];

    snprintf(text, sizeof arguments->texts[0], "%.9g", value);
    add(arguments, count, option, text);
}

static void add_integer(struct arguments *arguments, int *count, const char *option, uint64_t value)
{
    char *text = arguments->texts[*count];

    snprintf(text, sizeof arguments->texts[0], "%" PRIu64, value);
    add(arguments, count, option, text);
}

/* The scenario, the device and the data. */
static int add_first(struct arguments *arguments, const struct scenario *scenario,
                     const struct protocol *protocol)
{
    int count = 0;

    memset(arguments, 0, sizeof *arguments);
    add(arguments, &count, "exec", scenario->name);
    if (scenario->is_own) {
        own_scenario_print(arguments->own, scenario);
        add(arguments, &count, "--own", arguments->own);
    }
    add(arguments, &count, "--device", protocol->device);
    if (protocol->device_memory > 0)
        add_integer(arguments, &count, "--device-memory", (uint64_t)protocol->device_memory);
    if (protocol->data != NULL)
        add(arguments, &count, "--data", protocol->data);
    if (protocol->ranks > 0)
        add_integer(arguments, &count, "--ranks", (uint64_t)protocol->ranks);
    return count;
}

/* The seed, and the descriptor for the records. */
static void add_last(struct arguments *arguments, int count, const struct protocol *protocol)
{
    add_integer(arguments, &count, "--seed", protocol->seed);
    add_integer(arguments, &count, "--record-fd", PROCESS_RECORD_FD);
}

void arguments_exec(struct arguments *arguments, const struct scenario *scenario,
                    const struct protocol *protocol)
{
    int count = add_first(arguments, scenario, protocol);

    if (protocol->jpeg_pixels > 0)
        add_integer(arguments, &count, "--jpeg-pixels", (uint64_t)protocol->jpeg_pixels);
    add_integer(arguments, &count, "--repetitions", (uint64_t)protocol->repetitions);
    add_integer(arguments, &count, "--extra", (uint64_t)protocol->extra);
    add_fraction(arguments, &count, "--window", protocol->window_seconds);
    if (protocol->aa)
        arguments->list[count++] = "--aa";
    add_last(arguments, count, protocol);
}

void arguments_trace(struct arguments *arguments, const struct scenario *scenario,
                     const struct protocol *protocol, enum variant variant, const char *path,
                     int jpeg_pixels, double step_time_us)
{
    const struct ceilings *ceilings = &protocol->ceilings[variant];
    int count = add_first(arguments, scenario, protocol);

    add(arguments, &count, "--variant", variant_name(variant));
    add(arguments, &count, "--trace", path);
    if (protocol->quick)
        arguments->list[count++] = "--quick";
    if (protocol->unnamed)
        arguments->list[count++] = "--unnamed";
    if (jpeg_pixels > 0)
        add_integer(arguments, &count, "--jpeg-pixels", (uint64_t)jpeg_pixels);
    if (step_time_us > 0)
        add_fraction(arguments, &count, "--step-time", step_time_us / 1e6);
    if (ceilings->flops_per_second > 0)
        add_fraction(arguments, &count, "--peak-flops", ceilings->flops_per_second);
    if (ceilings->bytes_per_second > 0)
        add_fraction(arguments, &count, "--copy-bandwidth", ceilings->bytes_per_second);
    add_last(arguments, count, protocol);
}
