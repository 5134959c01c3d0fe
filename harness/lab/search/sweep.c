/* Rows are a grid of the values on the axes, one axis or two. */
#include "harness/lab/search/sweep.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/bench/interrupt.h"
#include "harness/engine/settings/knobs.h"
#include "harness/lab/experiment/parent/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shares are formed within rounds; then medians and intervals of shares decide. Values are gone
 * through twice: once for the cheapest that is enough, and once more for whether the noise lets
 * another one be it. */
static const double BOUND = 1 - KNEE_LOSS_PERCENT / 100.0;

struct share {
    double median;
    struct confidence_interval interval;
    int rounds;
};

static int find_best(const struct knee_value *values, int count)
{
    double most = -INFINITY;
    int best = -1;

    for (int i = 0; i < count; i++) {
        double median = stats_median(values[i].throughput, values[i].rounds);
        if (median > most) {
            most = median;
            best = i;
        }
    }
    return best;
}

/* All NaN where no memory is left. */
static struct share share_of(const struct knee_value *value, const struct knee_value *best)
{
    int rounds = value->rounds < best->rounds ? value->rounds : best->rounds;
    double *shares = malloc(((size_t)rounds + 1) * sizeof *shares);
    struct share share = { NAN, { NAN, NAN, 0 }, rounds };

    if (shares == NULL)
        return share;
    for (int i = 0; i < rounds; i++) shares[i] = value->throughput[i] / best->throughput[i];
    share.median = stats_median(shares, rounds);
    share.interval = stats_median_interval(shares, rounds);
    free(shares);
    return share;
}

struct knee knee_find(const struct knee_value *values, int count)
{
    struct knee knee = { .best = find_best(values, count), .enough = -1, .share = NAN };

    for (int i = 0; knee.best >= 0 && i < count; i++) {
        struct share share = share_of(&values[i], &values[knee.best]);
        /* A share that is NAN is not enough either. */
        if (!(share.median >= BOUND) ||
            (knee.enough >= 0 && values[i].cost >= values[knee.enough].cost))
            continue;
        knee.enough = i;
        knee.share = share.median;
        knee.interval = share.interval;
        knee.rounds = share.rounds;
    }
    if (knee.enough >= 0) {
        knee.is_clear = knee.rounds > 1 && knee.interval.low >= BOUND;
        knee.is_best = knee.enough == knee.best;
        for (int i = 0; i < count; i++) {
            bool is_cheaper = values[i].cost < values[knee.enough].cost;
            double high;
            if (i == knee.best || i == knee.enough || values[i].rounds == 0)
                continue;
            /* The knee is in doubt if a cheaper value may be enough too, or if a dearer one may be
             * so much better than the best that the best would not be enough beside it. */
            high = share_of(&values[i], &values[knee.best]).interval.high;
            knee.is_clear = knee.is_clear && (is_cheaper ? high < BOUND : high * BOUND <= 1);
            knee.is_best = knee.is_best && high < 1;
        }
    }
    return knee;
}

static const double SECONDS = 0.5;

/* --- The command line --- */

enum status sweep_take(struct knob_sweep *sweep, const char *text)
{
    struct sweep_axis *axis = &sweep->axes[sweep->knobs];
    char *next;

    if (sweep->knobs == SWEEP_KNOBS)
        FAIL(STATUS_BAD_USAGE, "--sweep was given more than twice; give one knob or two");
    TRY(text_make(&axis->text, "%s", text));
    sweep->knobs++;
    next = strchr(axis->text, '=');
    if (next == NULL || next[1] == '\0')
        FAIL(STATUS_BAD_USAGE, "--sweep=%s: give a knob and its values, as in workers=0,1,2", text);
    *next++ = '\0';
    axis->knob = axis->text;
    if (sweep->knobs == 2 && strcmp(axis->knob, sweep->axes[0].knob) == 0)
        FAIL(STATUS_BAD_USAGE, "--sweep was given twice with %s; give all its values at once",
             axis->knob);
    char *one;
    while ((one = strsep(&next, ",")) != NULL) {
        struct training_config tried;
        knobs_defaults(&tried);
        TRY(knob_set(&tried, axis->knob, one));
        if (axis->count == SWEEP_VALUES)
            FAIL(STATUS_BAD_USAGE, "--sweep takes %d values at most", SWEEP_VALUES);
        axis->values[axis->count++] = one;
    }
    /* All values, or pairs of values, as rows. */
    int outer = sweep->axes[0].count, inner = sweep->knobs > 1 ? sweep->axes[1].count : 1;
    if (outer * inner > SWEEP_ROWS)
        FAIL(STATUS_BAD_USAGE, "--sweep takes %d pairs of values at most; these are %d", SWEEP_ROWS,
             outer * inner);
    sweep->row_count = outer * inner;
    for (int i = 0; i < sweep->row_count; i++)
        sweep->rows[i] = (struct sweep_row){ .at = { i / inner, i % inner } };

    return STATUS_OK;
}

void sweep_name(const struct knob_sweep *sweep, const struct sweep_row *row, char name[SWEEP_NAME])
{
    name[0] = '\0';
    for (int k = 0; k < sweep->knobs; k++)
        text_join(name, SWEEP_NAME, " ", "%s=%s", sweep->axes[k].knob,
                  sweep->axes[k].values[row->at[k]]);
}

/* --- Measuring --- */

/* `config` has the settings of all rows, and then those of this one. */
static enum status set_row(struct training_config *config, const struct knob_sweep *sweep,
                           const struct sweep_row *row, const struct device_properties *device)
{
    for (int k = 0; k < sweep->knobs; k++)
        TRY(knob_set(config, sweep->axes[k].knob, sweep->axes[k].values[row->at[k]]));
    return knobs_resolve(config, device);
}

enum status sweep_check_acts(const struct knob_sweep *sweep, const struct training_config *config,
                             const struct device_properties *device)
{
    for (int k = 0; k < sweep->knobs; k++) {
        char why[KNOB_WHY] = "", first[KNOB_WHY] = "";
        bool acts = false;
        for (int i = 0; i < sweep->row_count && !acts; i++) {
            struct training_config row = *config;
            /* A row that is refused is let through: measuring it will say why. */
            acts = set_row(&row, sweep, &sweep->rows[i], device) != STATUS_OK ||
                   knob_acts(&row, sweep->axes[k].knob, why);
            if (first[0] == '\0')
                snprintf(first, sizeof first, "%s", why);
        }
        if (!acts)
            FAIL(STATUS_BAD_USAGE, "--sweep %s: %s", sweep->axes[k].knob, first);
    }

    return STATUS_OK;
}

static enum status measure_row(struct knob_sweep *sweep, struct sweep_row *row,
                               struct device *device, const struct training_config *base, int steps)
{
    enum status status = STATUS_OK;
    struct training_config config = *base;
    struct measure measure = { .steps = steps, .seconds = SECONDS, .windows = 1 };

    TRY_OUT(set_row(&config, sweep, row, device_properties(device)));
    TRY_OUT(measure_training(&row->rounds[row->count], device, &config, &measure));
    if (row->rounds[row->count].log_error.status != STATUS_OK)
        TRY_OUT(status_raise(&row->rounds[row->count].log_error));
    row->count += !row->rounds[row->count].interrupted;

out:
    /* These stop one row only: the others may still run. */
    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED ||
        status == STATUS_DEVICE_OUT_OF_MEMORY) {
        snprintf(row->refusal, sizeof row->refusal, "%s", status_last()->text);
        return STATUS_OK;
    }
    return status;
}

enum status sweep_measure(struct knob_sweep *sweep, struct device *device,
                          const struct training_config *config, int steps, int rounds)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(sweep->row_count * rounds);
    struct cpu_times first, second;

    cpu_times_read(&first, "");
    sweep->rounds = rounds;
    for (int i = 0; i < sweep->row_count; i++) TRY_OUT(rows_make(&sweep->rows[i].rounds, rounds));
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < sweep->row_count; i++) {
            struct sweep_row *row = &sweep->rows[(i + round) % sweep->row_count];
            char name[SWEEP_NAME];
            if (row->refusal[0] != '\0')
                continue;
            sweep_name(sweep, row, name);
            progress_show(&progress, (double)progress.done / progress.scenarios,
                          "round %d of %d: %s", round + 1, rounds, name);
            status = measure_row(sweep, row, device, config, steps);
            sweep->interrupted = interrupt_signal() != 0;
            if (sweep->interrupted)
                FAIL_OUT(STATUS_INTERRUPTED, "stopped by %s in round %d of %d", interrupt_name(),
                         round + 1, rounds);
            TRY_OUT(status);
            progress_next(&progress);
        }

out:
    cpu_times_read(&second, "");
    sweep->loss = cpu_loss_between(&first, &second);
    progress_clear(&progress);
    return status;
}

bool sweep_has_measured(const struct knob_sweep *sweep)
{
    for (int i = 0; i < sweep->row_count; i++)
        if (sweep->rows[i].count > 0)
            return true;
    return false;
}

void sweep_release(struct knob_sweep *sweep)
{
    for (int i = 0; i < sweep->row_count; i++) free(sweep->rows[i].rounds);
    for (int k = 0; k < sweep->knobs; k++) free(sweep->axes[k].text);
    *sweep = (struct knob_sweep){ .knobs = 0 };
}

enum status sweep_knee(const struct knob_sweep *sweep, struct knee *knee)
{
    enum status status = STATUS_OK;
    int count = sweep->row_count, rounds = sweep->rounds;
    struct knee_value *values = NULL;
    double *rates = NULL;

    TRY_OUT(rows_make(&values, count));
    TRY_OUT(rows_make(&rates, (int64_t)count * rounds));
    for (int i = 0; i < count; i++) {
        const struct sweep_row *row = &sweep->rows[i];
        for (int r = 0; r < row->count; r++)
            rates[i * rounds + r] = row->rounds[r].metric[METRIC_SAMPLES_PER_SECOND];
        values[i] = (struct knee_value){ rates + i * rounds, row->count, row->at[0] + row->at[1] };
    }
    *knee = knee_find(values, count);

out:
    free(values);
    free(rates);
    return status;
}
