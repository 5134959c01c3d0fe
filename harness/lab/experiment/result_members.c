/* The overhead of tracing is derived from other members: it is written for readers of result files,
 * and not read back. A metric that was not measured is left out, and reads as NaN. */
#include "harness/lab/experiment/records.h"

#include <limits.h>
#include <stdlib.h>

/* 9 digits are a float, exactly; 12 are a step of 16 minutes to the nanosecond. */
enum { LOSS_DIGITS = 9, STEP_DIGITS = 12 };

void device_members(struct members *members, void *object)
{
    struct device_properties *device = object;

#define TEXT(field, size) member_text(members, #field, device->field, size);
#define INTEGER(field)    member_int(members, #field, &device->field, INT_MIN, INT_MAX);
#define INTEGER64(field)  member_any(members, #field, &device->field);
#define BOOL(field)       member_bool(members, #field, &device->field);
#define DOUBLE(field)     member_number(members, #field, &device->field);
    DEVICE_FIELDS(TEXT, INTEGER, INTEGER64, BOOL, DOUBLE)
#undef TEXT
#undef INTEGER
#undef INTEGER64
#undef BOOL
#undef DOUBLE
}

void settings_members(struct members *members, void *object)
{
    char(*settings)[KNOBS_TEXT] = object;

    for (int v = 0; v < VARIANT_COUNT; v++)
        member_text(members, variant_name((enum variant)v), settings[v], sizeof settings[v]);
}

void balance_members(struct members *members, void *object)
{
    struct balance_result *balance = object;

    member_int(members, "jpeg_pixels", &balance->jpeg_pixels, 0, INT_MAX);
    member_bool(members, "measured", &balance->measured);
    if (!balance->measured)
        return;
    member_number(members, "host_ns", &balance->host_ns);
    member_number(members, "device_ns", &balance->device_ns);
    member_number(members, "ratio", &balance->ratio);
}

static void counters_members(struct members *members, void *object)
{
    struct hardware_counters *counters = object;

#define COUNTER(member, text, metric) member_number(members, #member, &counters->member);
    HARDWARE_COUNTERS(COUNTER)
#undef COUNTER
}

/* Nothing where nobody asked. */
static void counters_member(struct members *members, struct tracing *tracing)
{
    bool known = members->reading ? member_is_there(members, "counters")
                                  : hardware_counters_known(&tracing->counters);
    bool refused = members->reading ? member_is_there(members, "counters_reason")
                                    : tracing->counters_reason[0] != '\0';

    if (members->reading)
        tracing->counters = HARDWARE_COUNTERS_UNKNOWN;
    if (known)
        member_object(members, "counters", counters_members, &tracing->counters);
    if (refused)
        member_text(members, "counters_reason", tracing->counters_reason,
                    sizeof tracing->counters_reason);
}

void tracing_members(struct members *members, void *object)
{
    struct tracing *tracing = object;
    double overhead = tracing->traced_step_time_us / tracing->step_time_us - 1;

    member_count(members, "steps", &tracing->steps);
    member_count(members, "windows", &tracing->windows);
    member_number(members, "step_time_us", &tracing->step_time_us);
    member_number(members, "traced_step_time_us", &tracing->traced_step_time_us);
    if (!members->reading)
        member_number(members, "overhead", &overhead);
    member_number(members, "spread", &tracing->spread);
    member_count(members, "rows", &tracing->rows);
    member_count(members, "dropped", &tracing->dropped);
    counters_member(members, tracing);
}

/* --- Repetitions --- */

static void vitals_members(struct members *members, void *object)
{
    struct device_vitals *vitals = object;
    char limits[64];

#define VITAL(field) member_known_number(members, #field, &vitals->field);
    DEVICE_VITALS(VITAL)
#undef VITAL
    health_limits_print(limits, sizeof limits, vitals->limits);
    member_text(members, "limits", limits, sizeof limits);
    if (members->reading)
        vitals->limits = health_limits_read(limits);
}

/* Nothing for a device that tells nothing. */
static void vitals_member(struct members *members, const char *name, struct device_vitals *vitals)
{
    if (members->reading)
        *vitals = device_vitals_unknown;
    if (members->reading ? member_is_there(members, name) : vitals_are_known(vitals))
        member_object(members, name, vitals_members, vitals);
}

static void metric_members(struct members *members, void *object)
{
    double *metrics = object;

    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        member_known_number(members, metric_name((enum metric)m), &metrics[m]);
}

/* Like member_numbers, on one line, and with fewer digits. */
static void series_member(struct members *members, const char *name, double *values, int64_t count,
                          int digits)
{
    if (members->reading)
        member_numbers(members, name, values, count);
    else
        JSON_ADD(members->json, members->object,
                 KEY(name, json_series(members->json, values, count, digits)));
}

void repetition_members(struct members *members, void *object)
{
    struct repetition *repetition = object;

    member_count(members, "steps", &repetition->steps);
    member_count(members, "samples", &repetition->samples);
    member_count(members, "wall_ns", &repetition->wall_ns);
    member_count(members, "cpu_ns", &repetition->cpu_ns);
    member_count(members, "warmup_steps", &repetition->warmup_steps);
    member_bool(members, "warmed_up", &repetition->warmed_up);
    vitals_member(members, "vitals_before", &repetition->vitals[0]);
    vitals_member(members, "vitals_after", &repetition->vitals[1]);
    member_object(members, "metrics", metric_members, repetition->metric);
    double values[LOSS_STEPS];
    for (int i = 0; i < LOSS_STEPS; i++) values[i] = (double)repetition->losses[i];
    series_member(members, "losses", values, LOSS_STEPS, LOSS_DIGITS);
    for (int i = 0; i < LOSS_STEPS && members->reading; i++)
        repetition->losses[i] = (float)values[i];
    /* The file has as many steps as there were, so reading looks for their number first. */
    const char *name = "step_ns";
    int count;
    if (members->reading) {
        count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(members->object, name));
        repetition->step_ns = calloc((size_t)count, sizeof *repetition->step_ns);
        repetition->step_count = repetition->step_ns != NULL ? count : 0;
    }
    series_member(members, name, repetition->step_ns, repetition->step_count, STEP_DIGITS);
}
