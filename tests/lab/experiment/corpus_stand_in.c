/* A child of `corpus` whose steps are computed: 100 us, and what wrong settings cost.
 *
 * STAND_IN_COSTS is "loss_every=1:50 launch=eager:20"; the steps of a variant with several of them
 * take the sum, or with STAND_IN_HIDES the largest: one wait hides the other. STAND_IN_FAILS=N
 * makes the N-th timing child fail, and "trace" the tracing one, and with "hang" that leaves half a
 * file and never ends; STAND_IN_COUNT is a file that gets a letter for each timing child. */
#include "harness/lab/experiment/own_scenario.h"
#include "harness/lab/experiment/records.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 3 };

static const struct device_properties device = { .name = "modelled",
                                                 .kind = "cpu",
                                                 .host_cores = 2,
                                                 .shares_host_cores = true,
                                                 .memory_bytes = (int64_t)1 << 40 };

static const char *argument(char **arguments, const char *name)
{
    for (; *arguments != NULL; arguments++)
        if (strcmp(*arguments, name) == 0)
            return arguments[1];
    return NULL;
}

static void fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static double step_us(const struct training_config *config)
{
    double sum = 0, most = 0, us;
    char knob[48], wrong[48], now[64];
    int length;

    for (const char *cost = getenv("STAND_IN_COSTS");
         cost != NULL && sscanf(cost, " %47[^=]=%47[^:]:%lf%n", knob, wrong, &us, &length) == 3;
         cost += length) {
        if (knob_get(config, knob, now, sizeof now) != STATUS_OK)
            fail(knob);
        us = strcmp(now, wrong) == 0 ? us : 0;
        sum += us;
        most = us > most ? us : most;
    }
    return 100 + (getenv("STAND_IN_HIDES") != NULL ? most : sum);
}

static void send(const struct record *record)
{
    if (record_write(RECORDS, record) != STATUS_OK)
        fail("cannot send a record");
}

/* Each pair is a thousandth slower than the last, so that the interval is not one number. */
static void send_pairs(const struct training_config configs[VARIANT_COUNT], int pairs)
{
    for (int i = 0; i < pairs; i++)
        for (int v = 0; v < VARIANT_COUNT; v++) {
            double step_ns = 1000;
            struct record record = { .type = RECORD_REPETITION,
                                     .variant = (enum variant)v,
                                     .index = i };
            struct repetition *sent = &record.repetition;
            sent->metric[METRIC_STEP_TIME] =
                step_us(&configs[v]) * (v == VARIANT_BEFORE ? 1 + 0.001 * i : 1);
            sent->metric[METRIC_MEMORY_GROWTH] = configs[v].logging.kept == KEPT_GRAPH ? 5000 : 0;
            sent->step_ns = &step_ns;
            sent->step_count = 1;
            for (int s = 0; s < LOSS_STEPS; s++) sent->losses[s] = 1;
            send(&record);
        }
}

static void time_them(const struct training_config configs[VARIANT_COUNT], const char *pairs)
{
    struct record first = { .type = RECORD_SCENARIO, .device = device, .window_seconds = 0.1 };
    struct record last = { .type = RECORD_END };
    const char *path = getenv("STAND_IN_COUNT"), *fails = getenv("STAND_IN_FAILS");
    int file = path != NULL ? open(path, O_WRONLY | O_APPEND) : -1;

    if (file < 0 || write(file, "x", 1) != 1)
        fail("STAND_IN_COUNT names no file");
    if (fails != NULL && lseek(file, 0, SEEK_END) == atoi(fails))
        fail("told to fail");
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (knobs_print(&configs[v], first.settings[v], sizeof first.settings[v]) != STATUS_OK)
            fail(status_last()->text);
    send(&first);
    send_pairs(configs, atoi(pairs));
    send(&last);
}

static void trace(const char *path)
{
    struct record record = { .type = RECORD_TRACING, .tracing = { .steps = 3 } };
    const char *fails = getenv("STAND_IN_FAILS");
    FILE *file;
    char half[512];

    if (fails != NULL && strcmp(fails, "hang") == 0) {
        snprintf(half, sizeof half, "%s.abcdef.chokepoint", path);
        file = fopen(half, "w");
        for (; file != NULL;) pause();
    }
    if (fails != NULL && strcmp(fails, "trace") == 0)
        fail("told not to trace");
    file = fopen(path, "w");
    if (file == NULL || fputs("a trace", file) < 0 || fclose(file) != 0)
        fail("cannot write the trace");
    send(&record);
}

int main(int argc, char **argv)
{
    struct training_config configs[VARIANT_COUNT];
    struct own_scenario own;
    const char *text = argument(argv, "--own"), *path = argument(argv, "--trace");

    if (argc < 3 || text == NULL || own_scenario_parse(&own, argv[2], text) != STATUS_OK)
        fail("no scenario");
    for (int v = 0; v < VARIANT_COUNT; v++)
        if (scenario_config(&own.scenario,
                            argument(argv, "--aa") ? VARIANT_BEFORE : (enum variant)v,
                            &configs[v]) != STATUS_OK ||
            knobs_resolve(&configs[v], &device) != STATUS_OK)
            fail(status_last()->text);
    if (path != NULL)
        trace(path);
    else
        time_them(configs, argument(argv, "--repetitions"));
    return 0;
}
