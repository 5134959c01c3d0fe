/* One knob is a table with a row per value, two knobs are a grid of samples per second. Both mark
 * the best value, and the cheapest one that is enough, if the rounds agree on them (sweep.h).
 *
 * The JSON has the same rows in Google Benchmark's format, which `compare` reads, and the rounds
 * one by one. */
#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/words/text.h"
#include "harness/bench/device_context.h"
#include "harness/cli/train/train_output.h"
#include "harness/lab/result/result_rows.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/machine_context.h"
#include "harness/text/page_rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Over the rounds of a row. NaN without memory, which shows as unknown. */
static double median_of(const struct sweep_row *row, enum metric metric)
{
    double *values = malloc(sizeof *values * (size_t)row->count), median = NAN;

    if (values == NULL)
        return NAN;
    for (int i = 0; i < row->count; i++) values[i] = row->rounds[i].metric[metric];
    median = stats_median(values, row->count);
    free(values);
    return median;
}

/* Half the range of the step time over the rounds, as a share of its median. */
static double spread_percent(const struct sweep_row *row)
{
    double low = INFINITY, high = 0;

    for (int i = 0; i < row->count; i++) {
        low = fmin(low, row->rounds[i].metric[METRIC_STEP_TIME]);
        high = fmax(high, row->rounds[i].metric[METRIC_STEP_TIME]);
    }
    return (high - low) / 2 / median_of(row, METRIC_STEP_TIME) * 100;
}

/* How a row is marked, if the rounds agree. */
struct mark {
    const char *word, *sign;
    enum ink ink;
};

static const struct mark *mark_of(const struct knee *knee, int row)
{
    static const struct mark none = { "", "  ", INK_PLAIN }, best = { "best", " *", INK_BOLD },
                             enough = { "enough", " +", INK_GOOD };

    if (!knee->is_clear)
        return &none;
    return row == knee->enough ? &enough : row == knee->best ? &best : &none;
}

/* --- One knob: a row per value --- */

/* The metrics of a sweep. There is no loss: timed runs train for different numbers of steps. */
static const struct sweep_column {
    struct column column;
    enum metric metric;
} sweep_columns[] = {
    { { "samples/s", 9, 0 }, METRIC_SAMPLES_PER_SECOND },
    { { "step", 8, 0 }, METRIC_STEP_TIME },
    { { "p95", 8, 3 }, METRIC_STEP_TIME_P95 },
    { { "data wait", 9, 0 }, METRIC_DATA_WAIT },
    { { "launches", 8, 1 }, METRIC_LAUNCHES_PER_STEP },
    { { "syncs", 6, 2 }, METRIC_SYNCS_PER_STEP },
    { { "memory", 8, 0 }, METRIC_MEMORY_PEAK },
};
enum {
    SWEEP_METRICS = 7,
    SWEEP_SPREAD = 1 + SWEEP_METRICS,
    SWEEP_KNEE,
    SWEEP_REFUSAL,
    SWEEP_COLUMNS
};

/* The refusal stands below its value. One that came after some rounds leaves their figures. */
static void add_row(struct page_rows *rows, const struct knob_sweep *sweep, int index,
                    const struct knee *knee)
{
    const struct sweep_row *row = &sweep->rows[index];
    char texts[SWEEP_METRICS][QUANTITY_SIZE], spread[QUANTITY_SIZE] = "";
    const struct mark *mark = mark_of(knee, index);
    bool has_run = row->count > 0;
    const char *cells[SWEEP_COLUMNS] = {
        [0] = sweep->axes[0].values[row->at[0]],
        [SWEEP_SPREAD] = spread,
        [SWEEP_KNEE] = mark->word,
        [SWEEP_REFUSAL] = row->refusal,
    };
    enum ink inks[SWEEP_COLUMNS] = { [0] = mark->ink, [SWEEP_KNEE] = mark->ink };

    if (row->refusal[0] == '\0' && !has_run) /* An interrupt came first. */
        cells[SWEEP_REFUSAL] = "not measured";
    for (int i = 0; i < SWEEP_METRICS; i++) {
        enum metric metric = sweep_columns[i].metric;
        texts[i][0] = '\0';
        if (has_run)
            quantity_print(texts[i], median_of(row, metric),
                           metric == METRIC_SAMPLES_PER_SECOND ? "" : metric_unit(metric));
        cells[1 + i] = texts[i];
    }
    if (row->count > 1)
        snprintf(spread, sizeof spread, "%.0f%%", spread_percent(row));
    else if (has_run)
        snprintf(spread, sizeof spread, "-");
    page_rows_add(rows, cells, inks);
}

static void print_values(const struct page *page, const struct knob_sweep *sweep,
                         const struct knee *knee)
{
    struct column columns[SWEEP_COLUMNS] = { [0] = { sweep->axes[0].knob, PAGE_CUT, 0 },
                                             [SWEEP_SPREAD] = { "spread", 6, 0 },
                                             [SWEEP_KNEE] = { "", -6, 0 },
                                             [SWEEP_REFUSAL] = { "", PAGE_BELOW, 0 } };
    struct page_rows *table;

    for (int i = 0; i < SWEEP_METRICS; i++) columns[1 + i] = sweep_columns[i].column;
    table = page_rows_open(columns, SWEEP_COLUMNS);
    for (int i = 0; i < sweep->row_count; i++) add_row(table, sweep, i, knee);
    page_rows_print(page, table);
}

/* --- Two knobs: samples per second as a grid --- */

/* Columns of the grid in one table; more values of the second knob go into another table below. */
enum { GRID_COLUMNS = 6 };

static void print_cells(const struct page *page, const struct knob_sweep *sweep,
                        const struct knee *knee, int from, int until)
{
    const struct sweep_axis *first = &sweep->axes[0], *second = &sweep->axes[1];
    struct column columns[1 + GRID_COLUMNS] = { { first->knob, PAGE_CUT, 0 } };
    int count = 1 + until - from;
    struct page_rows *table;

    for (int j = from; j < until; j++)
        columns[1 + j - from] = (struct column){ second->values[j], 9, 0 };
    table = page_rows_open(columns, count);
    for (int i = 0; i < first->count; i++) {
        char texts[GRID_COLUMNS][QUANTITY_SIZE + 2];
        const char *cells[1 + GRID_COLUMNS] = { first->values[i] };
        enum ink inks[1 + GRID_COLUMNS] = { INK_PLAIN };

        for (int j = from; j < until; j++) {
            int index = i * second->count + j;
            const struct sweep_row *row = &sweep->rows[index];
            char *text = texts[j - from], rate[QUANTITY_SIZE] = "-";
            if (row->count > 0)
                quantity_print(rate, median_of(row, METRIC_SAMPLES_PER_SECOND), "");
            snprintf(text, sizeof texts[0], "%s%s", rate, mark_of(knee, index)->sign);
            cells[1 + j - from] = text;
            inks[1 + j - from] = mark_of(knee, index)->ink;
        }
        page_rows_add(table, cells, inks);
    }
    page_rows_print(page, table);
}

static void print_grid(const struct page *page, const struct knob_sweep *sweep,
                       const struct knee *knee)
{
    const struct sweep_axis *second = &sweep->axes[1];
    char name[SWEEP_NAME];

    page_paragraph(page, INK_PLAIN,
                   "Samples per second, by %s (rows) and %s (columns):", sweep->axes[0].knob,
                   second->knob);
    for (int from = 0; from < second->count; from += GRID_COLUMNS)
        print_cells(page, sweep, knee, from,
                    from + GRID_COLUMNS < second->count ? from + GRID_COLUMNS : second->count);
    for (int i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        sweep_name(sweep, row, name);
        if (row->refusal[0] != '\0')
            page_note(page, name, row->refusal);
        else if (row->count == 0)
            page_note(page, name, "not measured");
    }
    page_paragraph(page, INK_DIM, "+ is enough, * is the best.");
}

/* --- In words --- */

enum { ROUNDS_ADVISED = 3 };

static void print_rounds(const struct page *page, const struct knob_sweep *sweep)
{
    int most = 0, least = INT_MAX; /* rounds, of the rows that have any */
    char fewer[24] = "";

    for (int i = 0; i < sweep->row_count; i++) {
        int count = sweep->rows[i].count;
        if (count > most)
            most = count;
        if (count > 0 && count < least)
            least = count;
    }
    if (least < most)
        snprintf(fewer, sizeof fewer, "%d to ", least);
    page_paragraph(page, INK_DIM, "Medians of %s%d round%s%s.", fewer, most, most == 1 ? "" : "s",
                   sweep->knobs == 1 ? "; spread: half the range of the step time over the rounds, "
                                       "as a share of its median"
                                     : "");
}

static void print_knee(const struct page *page, const struct knob_sweep *sweep,
                       const struct knee *knee)
{
    char enough[SWEEP_NAME], best[SWEEP_NAME];

    sweep_name(sweep, &sweep->rows[knee->enough], enough);
    sweep_name(sweep, &sweep->rows[knee->best], best);
    if (knee->rounds < 2)
        page_paragraph(page, INK_PLAIN,
                       "One round tells no spread, and so not which value is enough: "
                       "--repetitions=%d does.",
                       ROUNDS_ADVISED);
    else if (!knee->is_clear)
        page_paragraph(page, INK_PLAIN,
                       "The rounds disagree about what is within %d%% of the best, so no value is "
                       "named; more of them may tell (--repetitions=%d).",
                       KNEE_LOSS_PERCENT, 3 * sweep->rounds);
    else if (knee->is_best)
        page_paragraph(page, INK_PLAIN, "%s is the best%s.", enough,
                       knee->enough == 0 ? ""
                                         : ", and none before it is within 5% of its throughput");
    else if (knee->enough == knee->best)
        page_paragraph(page, INK_PLAIN, "%s is enough: no other value is better by %d%%.", enough,
                       KNEE_LOSS_PERCENT);
    else
        page_paragraph(page, INK_PLAIN,
                       "%s is enough: the first, in the order given, within %d%% of the best "
                       "throughput (%s). It has %.1f%% of that, %.1f%% to %.1f%% in %d round%s.",
                       enough, KNEE_LOSS_PERCENT, best, knee->share * 100, knee->interval.low * 100,
                       knee->interval.high * 100, knee->rounds, knee->rounds == 1 ? "" : "s");
}

void sweep_print_loss(const struct page *page, const struct cpu_loss *loss)
{
    char taken[96];

    if (!cpu_loss_is_large(loss))
        return;
    cpu_loss_print(taken, sizeof taken, loss);
    page_paragraph(page, INK_DOUBTFUL,
                   "While this was measured, %s, which may have decided: use a quieter machine; "
                   "doctor says what disturbs this one.",
                   taken);
}

enum status sweep_print(const struct page *page, const struct knob_sweep *sweep)
{
    struct knee knee;

    TRY(sweep_knee(sweep, &knee));
    (sweep->knobs > 1 ? print_grid : print_values)(page, sweep, &knee);
    if (!sweep_has_measured(sweep))
        return STATUS_OK;
    sweep_print_loss(page, &sweep->loss);
    print_rounds(page, sweep);
    if (knee.enough >= 0 && sweep->row_count > 1)
        print_knee(page, sweep, &knee);

    return STATUS_OK;
}

/* --- JSON --- */

/* The next two are what benchmark_rows_add() asks of a round; times in microseconds. */
static int64_t iterations_of(const void *rounds, int round)
{
    return ((const struct measurement *)rounds)[round].steps;
}

static double value_of(const void *rounds, int column, int round)
{
    const struct measurement *one = (const struct measurement *)rounds + round;

    if (column == BENCHMARK_REAL_TIME)
        return one->metric[METRIC_STEP_TIME];
    if (column == BENCHMARK_CPU_TIME)
        return one->cpu_seconds * 1e6 / (double)one->steps;
    return one->metric[metric_of_counter(column)];
}

/* "train/workers:2/batch:8", as Google Benchmark names arguments. */
static void benchmark_rows_of(struct json *json, cJSON *benchmarks, const struct knob_sweep *sweep,
                              int index)
{
    const struct sweep_row *row = &sweep->rows[index];
    char name[SWEEP_NAME + 16] = "train";
    const struct benchmark_rows rows = {
        .name = name,
        .time_unit = "us",
        .instance = index,
        .repetitions = row->count,
        .counters = METRIC_COUNTERS,
        .result = row->rounds,
        .counter = metric_counter_name,
        .iterations = iterations_of,
        .value = value_of,
    };

    for (int k = 0; k < sweep->knobs; k++)
        text_append(name, sizeof name, "/%s:%s", sweep->axes[k].knob,
                    sweep->axes[k].values[row->at[k]]);
    if (row->count > 0)
        benchmark_rows_add(json, benchmarks, &rows);
}

static cJSON *knee_json(struct json *json, const struct knob_sweep *sweep, const struct knee *knee)
{
    const double interval[] = { knee->interval.low, knee->interval.high };
    char enough[SWEEP_NAME], best[SWEEP_NAME];

    sweep_name(sweep, &sweep->rows[knee->enough], enough);
    sweep_name(sweep, &sweep->rows[knee->best], best);
    return JSON_OBJECT(json, KEY("enough", enough), KEY("best", best),
                       KEY("least_share", 1 - KNEE_LOSS_PERCENT / 100.0), KEY("share", knee->share),
                       KEY("interval", json_series(json, interval, 2, 6)),
                       KEY("coverage", knee->interval.coverage), KEY("rounds", knee->rounds),
                       KEY("is_clear", knee->is_clear));
}

static void rows_json(struct json *json, cJSON *root, const struct knob_sweep *sweep)
{
    cJSON *values = json_array(json, root, "values");

    for (int i = 0; i < sweep->row_count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        cJSON *object = json_object(json, values, NULL), *rounds;
        cJSON *settings = json_object(json, object, "settings");
        if (sweep->knobs == 1)
            json_text(json, object, "value", sweep->axes[0].values[row->at[0]]);
        for (int k = 0; k < sweep->knobs; k++)
            json_text(json, settings, sweep->axes[k].knob, sweep->axes[k].values[row->at[k]]);
        json_text(json, object, "refusal", row->refusal[0] != '\0' ? row->refusal : NULL);
        rounds = json_array(json, object, "rounds");
        for (int j = 0; j < row->count; j++)
            train_json(json, json_object(json, rounds, NULL), &row->rounds[j]);
    }
}

enum status sweep_print_json(const struct knob_sweep *sweep, struct device *device)
{
    enum status status = STATUS_OK;
    struct json json = { 0 };
    cJSON *root = json_object(&json, NULL, NULL);
    cJSON *context = json_object(&json, root, "context"), *benchmarks;
    struct device_health health = device_health(device);
    struct machine machine;
    struct knee knee;

    TRY_OUT(sweep_knee(sweep, &knee));
    machine_read(&machine, "");
    machine_context(&machine, &json, context);
    device_context(&json, context, device_properties(device), &health);
    benchmarks = json_array(&json, root, "benchmarks");
    for (int i = 0; i < sweep->row_count; i++) benchmark_rows_of(&json, benchmarks, sweep, i);
    json_text(&json, root, "device", device_properties(device)->name);
    if (sweep->knobs == 1)
        json_text(&json, root, "knob", sweep->axes[0].knob);
    json_bool(&json, root, "interrupted", sweep->interrupted);
    if (knee.enough >= 0)
        JSON_ADD(&json, root, KEY("knee", knee_json(&json, sweep, &knee)));
    rows_json(&json, root, sweep);
    /* It frees the document, so only failures before it come to what follows. */
    return json_end(&json, root);

out:
    cJSON_Delete(root);
    return status;
}
