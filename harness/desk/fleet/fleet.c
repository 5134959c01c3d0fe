#include "harness/desk/fleet/fleet.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/figures/student.h"
#include "harness/base/rows.h"
#include "harness/base/words/intern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The median absolute deviation of normal values is their standard deviation over this, and its efficiency. */
#define MAD_SCALE      1.4826
#define MAD_EFFICIENCY 0.37

/* --- Figures --- */

/* One figure of one machine, to be sorted by name and unit. */
struct entry {
    uint32_t name, unit;
    int node;
    double value;
};

static int by_name(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* How much longer the same work takes there than at the median, as a logarithm. */
static double slowness(const struct fleet *fleet, const struct fleet_figure *figure, double value)
{
    double ratio = log(value / figure->median);

    return figure_is_time(intern_text(fleet->names, figure->unit)) ? ratio : -ratio;
}

/* `scratch` has room for all entries. */
static struct fleet_figure figure_of(const struct fleet *fleet, const struct entry *entries,
                                     int count, double *scratch)
{
    struct fleet_figure figure = { .name = entries[0].name,
                                   .unit = entries[0].unit,
                                   .count = count,
                                   .low = INFINITY,
                                   .high = -INFINITY,
                                   .noise = NAN };
    double worst = -INFINITY;

    for (int i = 0; i < count; i++) {
        scratch[i] = entries[i].value;
        figure.low = fmin(figure.low, entries[i].value);
        figure.high = fmax(figure.high, entries[i].value);
    }
    figure.median = stats_median(scratch, count);
    for (int i = 0; i < count; i++) {
        double slow = slowness(fleet, &figure, entries[i].value);
        if (slow > worst)
            figure.worst = entries[i].node;
        worst = fmax(worst, slow);
        scratch[i] = fabs(slow);
    }
    if (count >= FLEET_NODES_LEAST)
        figure.noise = MAD_SCALE * stats_median(scratch, count);
    return figure;
}

/* A bound that no healthy machine reaches, in units of the noise, among `tests` figures of a fleet. */
static double critical(int count, int tests)
{
    double freedom = MAD_EFFICIENCY * (count - 1);

    return student_critical(2 * FLEET_FALSE_ALARMS / tests, freedom);
}

static int by_off(const void *left, const void *right)
{
    const struct fleet_outlier *a = left, *b = right;

    return (a->off < b->off) - (a->off > b->off);
}

static void find_outliers(struct fleet *fleet, struct fleet_kind *kind, const struct entry *entries,
                          int figure, int tests)
{
    const struct fleet_figure *row = &kind->figures[figure];
    double least = log(1 + FLEET_OFF_PERCENT / 100.0), limit;

    if (isnan(row->noise))
        return;
    limit = fmax(least, row->noise * critical(row->count, tests));
    for (int i = 0; i < row->count; i++) {
        double slow = slowness(fleet, row, entries[i].value);
        if (slow < limit)
            continue;
        kind->outliers[kind->outlier_count++] =
            (struct fleet_outlier){ .node = entries[i].node,
                                    .figure = figure,
                                    .value = entries[i].value,
                                    .off = figure_is_time(intern_text(fleet->names, row->unit))
                                               ? exp(slow) - 1
                                               : 1 - exp(-slow),
                                    .deviations = slow / row->noise,
                                    .doubtful = fleet->nodes[entries[i].node].disturbed };
    }
}

static enum status compare_figures(struct fleet *fleet, struct fleet_kind *kind, int tests)
{
    enum status status = STATUS_OK;
    struct entry *entries = NULL;
    double *scratch = NULL;
    int count = 0;
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++) room += fleet->nodes[kind->nodes[i]].figure_count;
    TRY_OUT(rows_make(&entries, room));
    TRY_OUT(rows_make(&scratch, room));
    TRY_OUT(rows_make(&kind->figures, room));
    TRY_OUT(rows_make(&kind->outliers, room));
    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        for (int j = 0; j < node->figure_count; j++)
            entries[count++] = (struct entry){ node->figures[j].name, node->figures[j].unit,
                                               kind->nodes[i], node->figures[j].value };
    }
    qsort(entries, (size_t)count, sizeof *entries, by_name);
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && entries[to].name == entries[from].name &&
                        entries[to].unit == entries[from].unit;)
            to++;
        kind->figures[kind->figure_count] = figure_of(fleet, entries + from, to - from, scratch);
        find_outliers(fleet, kind, entries + from, kind->figure_count++, tests);
    }
    qsort(kind->outliers, (size_t)kind->outlier_count, sizeof *kind->outliers, by_off);

out:
    free(entries);
    free(scratch);
    return status;
}

/* --- Settings, and rows that are not ok --- */

/* A setting, or a status, of one machine, to be sorted by both. */
struct pair {
    uint32_t name, value;
    int node;
};

static int by_pair(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* The machines of `count` pairs. */
static enum status nodes_of(int **nodes, const struct pair *pairs, int count)
{
    TRY(rows_make(nodes, count));
    for (int i = 0; i < count; i++) (*nodes)[i] = pairs[i].node;

    return STATUS_OK;
}

/* The end of the pairs that begin at `from` and have its name, and its value too. */
static int end_of(const struct pair *pairs, int count, int from, bool value_too)
{
    int to = from;

    while (to < count && pairs[to].name == pairs[from].name &&
           (!value_too || pairs[to].value == pairs[from].value))
        to++;
    return to;
}

static int by_count(const void *left, const void *right)
{
    const struct fleet_value *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

/* The machines that do not state a setting which others state: an environment variable is a row only where it is
 * set. */
static enum status add_without(struct fleet *fleet, struct fleet_kind *kind,
                               const struct pair *pairs, int from, int to)
{
    enum status status = STATUS_OK;
    bool *states = NULL;
    struct fleet_value *value = &kind->values[kind->value_count++];

    *value = (struct fleet_value){ .name = pairs[from].name };
    TRY_OUT(rows_make(&states, fleet->count));
    TRY_OUT(rows_make(&value->nodes, kind->count));
    TRY_OUT(intern_add(fleet->names, "-", 1, &value->value));
    for (int i = from; i < to; i++) states[pairs[i].node] = true;
    for (int i = 0; i < kind->count; i++)
        if (!states[kind->nodes[i]])
            value->nodes[value->count++] = kind->nodes[i];

out:
    free(states);
    return status;
}

static enum status add_values(struct fleet *fleet, struct fleet_kind *kind,
                              const struct pair *pairs, int from, int to)
{
    int first = kind->value_count;

    if (to - from < kind->count)
        TRY(add_without(fleet, kind, pairs, from, to));

    for (int next; from < to; from = next) {
        struct fleet_value *value = &kind->values[kind->value_count++];
        next = end_of(pairs, to, from, true);
        *value = (struct fleet_value){ pairs[from].name, pairs[from].value, next - from, NULL };
        TRY(nodes_of(&value->nodes, pairs + from, next - from));
    }
    qsort(kind->values + first, (size_t)(kind->value_count - first), sizeof *kind->values,
          by_count);

    return STATUS_OK;
}

static enum status compare_settings(struct fleet *fleet, struct fleet_kind *kind)
{
    enum status status = STATUS_OK;
    struct pair *pairs = NULL;
    int count = 0;
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++) room += fleet->nodes[kind->nodes[i]].setting_count;
    TRY_OUT(rows_make(&pairs, room));
    TRY_OUT(rows_make(&kind->values, 2 * room));
    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        for (int j = 0; j < node->setting_count; j++)
            pairs[count++] =
                (struct pair){ node->settings[j].name, node->settings[j].value, kind->nodes[i] };
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_pair);
    for (int from = 0, to; from < count; from = to) {
        to = end_of(pairs, count, from, false);
        if (end_of(pairs, count, from, true) < to || to - from < kind->count)
            TRY_OUT(add_values(fleet, kind, pairs, from, to));
    }

out:
    free(pairs);
    return status;
}

static enum status compare_statuses(struct fleet *fleet, struct fleet_kind *kind)
{
    enum status status = STATUS_OK;
    struct pair *pairs = NULL;
    int count = 0;
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++) room += fleet->nodes[kind->nodes[i]].status_count;
    TRY_OUT(rows_make(&pairs, room));
    TRY_OUT(rows_make(&kind->statuses, room));
    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        for (int j = 0; j < node->status_count; j++)
            pairs[count++] =
                (struct pair){ node->statuses[j].name, node->statuses[j].value, kind->nodes[i] };
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_pair);
    for (int from = 0, to; from < count; from = to) {
        struct fleet_status *row = &kind->statuses[kind->status_count++];
        to = end_of(pairs, count, from, true);
        *row = (struct fleet_status){ pairs[from].name, pairs[from].value, to - from, NULL, false };
        TRY_OUT(nodes_of(&row->nodes, pairs + from, to - from));
        row->odd = strcmp(intern_text(fleet->names, row->value), "fail") == 0 &&
                   2 * row->count < kind->count;
    }

out:
    free(pairs);
    return status;
}

/* --- The fleet --- */

static int by_kind(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;

    return by_pair(a, b);
}

static int by_size(const void *left, const void *right)
{
    const struct fleet_kind *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

static enum status find_kinds(struct fleet *fleet)
{
    enum status status = STATUS_OK;
    struct pair *pairs = NULL;

    TRY_OUT(rows_make(&pairs, fleet->count));
    TRY_OUT(rows_make(&fleet->kinds, fleet->count));
    for (int i = 0; i < fleet->count; i++) pairs[i] = (struct pair){ fleet->nodes[i].kind, 0, i };
    qsort(pairs, (size_t)fleet->count, sizeof *pairs, by_kind);
    for (int from = 0, to; from < fleet->count; from = to) {
        struct fleet_kind *kind = &fleet->kinds[fleet->kind_count++];
        to = end_of(pairs, fleet->count, from, false);
        *kind = (struct fleet_kind){ .name = pairs[from].name, .count = to - from };
        TRY_OUT(nodes_of(&kind->nodes, pairs + from, to - from));
    }
    qsort(fleet->kinds, (size_t)fleet->kind_count, sizeof *fleet->kinds, by_size);

out:
    free(pairs);
    return status;
}

static int by_label(const void *left, const void *right)
{
    const struct node *const *a = left, *const *b = right;

    return strcmp((*a)->label, (*b)->label);
}

/* Machines of one name are told apart by their files. */
static enum status tell_apart(struct fleet *fleet)
{
    enum status status = STATUS_OK;
    struct node **sorted = NULL;

    TRY_OUT(rows_make(&sorted, fleet->count));
    for (int i = 0; i < fleet->count; i++) sorted[i] = &fleet->nodes[i];
    qsort(sorted, (size_t)fleet->count, sizeof *sorted, by_label);
    for (int from = 0, to; from < fleet->count; from = to) {
        for (to = from + 1; to < fleet->count && by_label(&sorted[from], &sorted[to]) == 0;) to++;
        for (int i = from; i < to && to > from + 1; i++) {
            const char *slash = strrchr(sorted[i]->path, '/');
            snprintf(sorted[i]->label, sizeof sorted[i]->label, "%s",
                     slash != NULL ? slash + 1 : sorted[i]->path);
        }
    }

out:
    free(sorted);
    return status;
}

static void gather_out(struct fleet *fleet, bool *is_out)
{
    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        for (int i = 0; i < kind->outlier_count; i++)
            if (!kind->outliers[i].doubtful)
                is_out[kind->outliers[i].node] = true;
        for (int i = 0; i < kind->status_count; i++)
            for (int j = 0; kind->statuses[i].odd && j < kind->statuses[i].count; j++)
                is_out[kind->statuses[i].nodes[j]] = true;
    }
    for (int i = 0; i < fleet->count; i++)
        if (is_out[i])
            fleet->out[fleet->out_count++] = i;
}

enum status fleet_compare(struct fleet *fleet)
{
    enum status status = STATUS_OK;
    bool *is_out = NULL;
    int tests = 0;

    TRY_OUT(tell_apart(fleet));
    TRY_OUT(find_kinds(fleet));
    TRY_OUT(rows_make(&is_out, fleet->count));
    TRY_OUT(rows_make(&fleet->out, fleet->count));
    for (int i = 0; i < fleet->count; i++) tests += fleet->nodes[i].figure_count;
    for (int k = 0; k < fleet->kind_count; k++) {
        TRY_OUT(compare_figures(fleet, &fleet->kinds[k], tests));
        TRY_OUT(compare_settings(fleet, &fleet->kinds[k]));
        TRY_OUT(compare_statuses(fleet, &fleet->kinds[k]));
    }
    gather_out(fleet, is_out);

out:
    free(is_out);
    return status;
}

enum status fleet_make(struct fleet *fleet, node_reader *read, const char *const *paths, int count,
                       fleet_skip *skip, void *context)
{
    enum status status = STATUS_OK;
    struct status_error first = { .status = STATUS_OK };

    *fleet = (struct fleet){ .names = NULL };
    TRY_OUT(intern_open(&fleet->names, SIZE_MAX));
    TRY_OUT(rows_make(&fleet->nodes, count));
    for (int i = 0; i < count; i++) {
        enum status outcome = read(&fleet->nodes[fleet->count], fleet->names, paths[i]);
        if (outcome == STATUS_OUT_OF_MEMORY)
            fleet->count++;
        TRY_OUT(outcome == STATUS_OUT_OF_MEMORY ? outcome : STATUS_OK);
        if (outcome == STATUS_OK) {
            fleet->count++;
        } else {
            if (first.status == STATUS_OK)
                first = *status_last();
            skip(context, paths[i]);
            node_release(&fleet->nodes[fleet->count]);
        }
    }
    if (fleet->count <= 0)
        FAIL_OUT(STATUS_BAD_INPUT, "none of the %d files could be read: %s", count, first.text);
    TRY_OUT(fleet_compare(fleet));

out:
    return status;
}

static void release_kind(struct fleet_kind *kind)
{
    for (int i = 0; i < kind->value_count; i++) free(kind->values[i].nodes);
    for (int i = 0; i < kind->status_count; i++) free(kind->statuses[i].nodes);
    free(kind->nodes);
    free(kind->figures);
    free(kind->outliers);
    free(kind->values);
    free(kind->statuses);
}

void fleet_release(struct fleet *fleet)
{
    for (int i = 0; i < fleet->count; i++) node_release(&fleet->nodes[i]);
    for (int i = 0; i < fleet->kind_count; i++) release_kind(&fleet->kinds[i]);
    free(fleet->nodes);
    free(fleet->kinds);
    free(fleet->out);
    intern_close(fleet->names);
    memset(fleet, 0, sizeof *fleet);
}
