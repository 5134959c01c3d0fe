/* The rows of METRICS as a table by number. */
#include "harness/engine/step/metric.h"

static const struct metric_row {
    const char *name, *unit, *text;
} metrics[METRIC_COUNT] = {
#define METRIC_ROW(id, name, unit, text) [METRIC_##id] = { name, unit, text },
    METRICS(METRIC_ROW)
#undef METRIC_ROW
};

static const struct metric_row unknown = { "unknown", "", "unknown" };

static const struct metric_row *metric_row_of(enum metric metric)
{
    return metric >= METRIC_FIRST && metric < METRIC_COUNT ? &metrics[metric] : &unknown;
}

const char *metric_name(enum metric metric)
{
    return metric_row_of(metric)->name;
}

const char *metric_unit(enum metric metric)
{
    return metric_row_of(metric)->unit;
}

const char *metric_text(enum metric metric)
{
    return metric_row_of(metric)->text;
}
