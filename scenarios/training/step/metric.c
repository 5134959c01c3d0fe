#include "scenarios/training/step/metric.h"

static const struct {
    const char *name, *unit, *text;
} metrics[METRIC_COUNT] = {
#define METRIC_ROW(id, name, unit, text) { name, unit, text },
    METRICS(METRIC_ROW)
#undef METRIC_ROW
};

const char *metric_name(enum metric metric)
{
    return (unsigned)metric < METRIC_COUNT ? metrics[metric].name : "unknown";
}

const char *metric_unit(enum metric metric)
{
    return (unsigned)metric < METRIC_COUNT ? metrics[metric].unit : "";
}

const char *metric_text(enum metric metric)
{
    return (unsigned)metric < METRIC_COUNT ? metrics[metric].text : "unknown";
}
