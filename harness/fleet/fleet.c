/* Figures of all machines of a kind are sorted by name into a table, one row per figure, which
 * fleet_noise.c judges. Settings and rows that are not ok are grouped by value in the same way. */
#include "harness/fleet/fleet.h"

#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/intern.h"
#include "harness/fleet/fleet_noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of the false alarms that is left when the tails of the noise are not known but
 * estimated: by made fleets. */
static const double TAILS_ESTIMATED = 0.375;

/* --- Figures --- */

/* One figure of one machine, to be sorted by name and unit. */
struct entry {
    uint32_t name, unit;
    int node;
    double value, noise;
};

COMPARATOR(by_name, struct entry, ASCENDING(name) ?: ASCENDING(unit) ?: ASCENDING(node))

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
                                   .noise = NAN,
                                   .smallest = NAN };
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
    }
    return figure;
}

COMPARATOR(by_off, struct fleet_outlier, DESCENDING(off))

/* The figures of a kind as fleet_noise.h wants them, and what it finds. */
struct table {
    struct fleet_matrix matrix;
    double *slow, *stated;     /* [figures * nodes] */
    bool *doubtful, *out;      /* [nodes] */
    int *place;                /* of a node of the fleet in the kind */
    struct fleet_noise *noise; /* [figures] */
};

static void table_release(struct table *table)
{
    free(table->slow);
    free(table->stated);
    free(table->doubtful);
    free(table->out);
    free(table->place);
    free(table->noise);
}

/* Room for `figures`, and for the median of all as one more. */
static enum status table_make(struct table *table, const struct fleet *fleet,
                              const struct fleet_kind *kind, int figures, int tests)
{
    int64_t cells = (int64_t)(figures + 1) * kind->count;

    TRY(rows_make(&table->slow, cells));
    TRY(rows_make(&table->stated, cells));
    TRY(rows_make(&table->doubtful, kind->count));
    TRY(rows_make(&table->out, kind->count));
    TRY(rows_make(&table->place, fleet->count));
    TRY(rows_make(&table->noise, figures + 1));
    for (int64_t i = 0; i < cells; i++) table->slow[i] = NAN;
    for (int i = 0; i < kind->count; i++) {
        table->place[kind->nodes[i]] = i;
        table->doubtful[i] = fleet->nodes[kind->nodes[i]].disturbed;
    }
    table->matrix = (struct fleet_matrix){ .nodes = kind->count,
                                           .slow = table->slow,
                                           .stated = table->stated,
                                           .doubtful = table->doubtful,
                                           .chance = TAILS_ESTIMATED * FLEET_FALSE_ALARMS / tests,
                                           .least = log(1 / (1 - FLEET_OFF_PERCENT / 100.0)) };
    return STATUS_OK;
}

static void table_add(struct table *table, const struct fleet *fleet,
                      const struct fleet_figure *figure, const struct entry *entries)
{
    int64_t first = (int64_t)table->matrix.figures++ * table->matrix.nodes;

    for (int i = 0; i < figure->count; i++) {
        int place = table->place[entries[i].node];
        table->slow[first + place] = slowness(fleet, figure, entries[i].value);
        table->stated[first + place] = entries[i].noise;
    }
    table->matrix.alike = table->matrix.figures;
}

/* How slow a machine is in the median of its figures, so that one figure that is out does not
 * count. */
static double median_slowness(const struct table *table, int node, double *scratch)
{
    int count = 0;

    for (int f = 0; f < table->matrix.alike; f++) {
        double slow = table->slow[(int64_t)f * table->matrix.nodes + node];
        if (!isnan(slow))
            scratch[count++] = slow;
    }
    return stats_median(scratch, count);
}

/* The median of all figures as one more of the kind's, if it is of several. */
static enum status add_median(struct table *table, struct fleet *fleet, struct fleet_kind *kind)
{
    enum status status = STATUS_OK;
    struct fleet_figure *figure = &kind->figures[kind->figure_count];
    double *ratios = NULL, *scratch = NULL;
    double *row = table->slow + (int64_t)table->matrix.alike * kind->count;

    TRY_OUT(rows_make(&ratios, kind->count));
    TRY_OUT(rows_make(&scratch, table->matrix.alike));
    if (table->matrix.alike < 3 || kind->count < FLEET_NODES_LEAST)
        goto out;
    *figure =
        (struct fleet_figure){ .low = INFINITY, .high = -INFINITY, .noise = NAN, .smallest = NAN };
    TRY_OUT(intern_add(fleet->names, "all_figures", strlen("all_figures"), &figure->name));
    TRY_OUT(intern_add(fleet->names, "x", 1, &figure->unit));
    for (int i = 0; i < kind->count; i++) {
        row[i] = median_slowness(table, i, scratch);
        if (isnan(row[i]))
            continue;
        if (exp(row[i]) > figure->high)
            figure->worst = kind->nodes[i];
        figure->low = fmin(figure->low, exp(row[i]));
        figure->high = fmax(figure->high, exp(row[i]));
        ratios[figure->count++] = exp(row[i]);
    }
    if (figure->count < FLEET_NODES_LEAST)
        goto out;
    figure->median = stats_median(ratios, figure->count);
    table->matrix.figures++;
    kind->figure_count++;

out:
    free(ratios);
    free(scratch);
    return status;
}

static void add_outliers(const struct fleet *fleet, struct fleet_kind *kind,
                         const struct table *table, int f)
{
    const struct fleet_figure *row = &kind->figures[f];
    const char *unit = intern_text(fleet->names, row->unit);
    bool is_time = figure_is_time(unit), is_of_all = strcmp(unit, "x") == 0;

    for (int i = 0; i < kind->count; i++) {
        int64_t cell = (int64_t)f * kind->count + i;
        double slow = table->slow[cell], off = slow - table->noise[f].mean;
        double deviations = fleet_noise_deviations(&table->noise[f], slow, table->stated[cell]);
        if (!table->out[i] || isnan(slow) || !(off >= table->matrix.least) ||
            !(deviations > table->noise[f].bound))
            continue;
        kind->outliers[kind->outlier_count++] = (struct fleet_outlier){
            .node = kind->nodes[i],
            .figure = f,
            .value = is_of_all ? exp(slow) : row->median * exp(is_time ? slow : -slow),
            .off = is_time ? exp(off) - 1 : 1 - exp(-off),
            .deviations = deviations,
            .doubtful = table->doubtful[i],
        };
    }
}

static enum status find_outliers(struct fleet *fleet, struct fleet_kind *kind, struct table *table)
{
    TRY(fleet_noise_find(table->noise, table->out, &table->matrix));
    for (int f = 0; f < kind->figure_count; f++) {
        struct fleet_figure *row = &kind->figures[f];
        const struct fleet_noise *noise = &table->noise[f];
        bool is_time = figure_is_time(intern_text(fleet->names, row->unit));
        row->noise = noise->deviation;
        if (isfinite(noise->smallest))
            row->smallest = is_time ? exp(noise->smallest) - 1 : 1 - exp(-noise->smallest);
        kind->tells = kind->tells || 1 - exp(-noise->smallest) <= FLEET_TELLS_PERCENT / 100.0;
        add_outliers(fleet, kind, table, f);
    }

    return STATUS_OK;
}

static enum status compare_figures(struct fleet *fleet, struct fleet_kind *kind, int tests)
{
    enum status status = STATUS_OK;
    struct entry *entries = NULL;
    struct table table = { .slow = NULL };
    double *scratch = NULL;
    int count = 0, names = 0;
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++) room += fleet->nodes[kind->nodes[i]].figure_count;
    TRY_OUT(rows_make(&entries, room));
    TRY_OUT(rows_make(&scratch, room));
    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        for (int j = 0; j < node->figure_count; j++)
            entries[count++] =
                (struct entry){ node->figures[j].name, node->figures[j].unit, kind->nodes[i],
                                node->figures[j].value, node->figures[j].noise };
    }
    qsort(entries, (size_t)count, sizeof *entries, by_name);
    for (int i = 0; i < count; i++)
        names += i == 0 || entries[i].name != entries[i - 1].name ||
                 entries[i].unit != entries[i - 1].unit;
    TRY_OUT(rows_make(&kind->figures, names + 1));
    TRY_OUT(rows_make(&kind->outliers, room + kind->count));
    TRY_OUT(table_make(&table, fleet, kind, names, tests));
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && entries[to].name == entries[from].name &&
                        entries[to].unit == entries[from].unit;)
            to++;
        kind->figures[kind->figure_count] = figure_of(fleet, entries + from, to - from, scratch);
        table_add(&table, fleet, &kind->figures[kind->figure_count++], entries + from);
    }
    TRY_OUT(add_median(&table, fleet, kind));
    if (kind->count >= FLEET_NODES_LEAST)
        TRY_OUT(find_outliers(fleet, kind, &table));
    qsort(kind->outliers, (size_t)kind->outlier_count, sizeof *kind->outliers, by_off);

out:
    free(entries);
    free(scratch);
    table_release(&table);
    return status;
}

/* --- Settings, and rows that are not ok --- */

/* A setting, or a status, of one machine, to be sorted by both. */
struct pair {
    uint32_t name, value;
    int node;
};

COMPARATOR(by_pair, struct pair, ASCENDING(name) ?: ASCENDING(value) ?: ASCENDING(node))

/* The machines of `count` pairs. */
static enum status nodes_of(int **nodes, const struct pair *pairs, int count)
{
    TRY(rows_make(nodes, count));
    for (int i = 0; i < count; i++) (*nodes)[i] = pairs[i].node;

    return STATUS_OK;
}

/* The statements of all machines of a kind, in order. */
static enum status find_pairs(struct pair **pairs, int *count, const struct fleet *fleet,
                              const struct fleet_kind *kind, enum node_fact_kind facts_kind)
{
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++)
        room += fleet->nodes[kind->nodes[i]].facts[facts_kind].count;
    TRY(rows_make(pairs, room));
    for (int i = 0; i < kind->count; i++) {
        const struct node_facts *facts = &fleet->nodes[kind->nodes[i]].facts[facts_kind];
        for (int j = 0; j < facts->count; j++)
            (*pairs)[(*count)++] =
                (struct pair){ facts->items[j].name, facts->items[j].value, kind->nodes[i] };
    }
    qsort(*pairs, (size_t)*count, sizeof **pairs, by_pair);

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

/* The value of `count` pairs that all have it. */
static enum status value_of(struct fleet_value *value, const struct pair *pairs, int count)
{
    *value = (struct fleet_value){ .name = pairs->name, .value = pairs->value, .count = count };
    return nodes_of(&value->nodes, pairs, count);
}

COMPARATOR(by_count, struct fleet_value, DESCENDING(count))

/* The machines that do not state a setting which others state: an environment variable is a row
 * only where it is set. */
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
        next = end_of(pairs, to, from, true);
        TRY(value_of(&kind->values[kind->value_count++], pairs + from, next - from));
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

    TRY_OUT(find_pairs(&pairs, &count, fleet, kind, NODE_SETTINGS));
    TRY_OUT(rows_make(&kind->values, 2 * (int64_t)count));
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

    TRY_OUT(find_pairs(&pairs, &count, fleet, kind, NODE_STATUSES));
    TRY_OUT(rows_make(&kind->statuses, count));
    for (int from = 0, to; from < count; from = to) {
        struct fleet_value *row = &kind->statuses[kind->status_count++];
        to = end_of(pairs, count, from, true);
        TRY_OUT(value_of(row, pairs + from, to - from));
        row->odd = strcmp(intern_text(fleet->names, row->value), "fail") == 0 &&
                   2 * row->count < kind->count;
    }

out:
    free(pairs);
    return status;
}

/* --- The fleet --- */

COMPARATOR(by_size, struct fleet_kind, DESCENDING(count))

static enum status find_kinds(struct fleet *fleet)
{
    enum status status = STATUS_OK;
    struct pair *pairs = NULL;

    TRY_OUT(rows_make(&pairs, fleet->count));
    TRY_OUT(rows_make(&fleet->kinds, fleet->count));
    for (int i = 0; i < fleet->count; i++) pairs[i] = (struct pair){ fleet->nodes[i].kind, 0, i };
    qsort(pairs, (size_t)fleet->count, sizeof *pairs, by_pair);
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

COMPARATOR_OF_POINTERS(by_label, struct node, strcmp(a->label, b->label))

COMPARATOR_OF_POINTERS(by_host, struct node, strcmp(a->host, b->host))

/* Device 0 of a host that has others has its number too. */
static void number_devices(struct node **sorted, int count)
{
    qsort(sorted, (size_t)count, sizeof *sorted, by_host);
    for (int from = 0, to; from < count; from = to) {
        bool several = false;
        for (to = from; to < count && by_host(&sorted[from], &sorted[to]) == 0; to++)
            several = several || sorted[to]->device > 0;
        for (int i = from; i < to && several; i++)
            if (sorted[i]->device == 0 && sorted[i]->host[0] != '\0')
                snprintf(sorted[i]->label, sizeof sorted[i]->label, "%s device 0", sorted[i]->host);
    }
}

/* Machines of one name are told apart by their files. */
static enum status tell_apart(struct fleet *fleet)
{
    enum status status = STATUS_OK;
    struct node **sorted = NULL;

    TRY_OUT(rows_make(&sorted, fleet->count));
    for (int i = 0; i < fleet->count; i++) sorted[i] = &fleet->nodes[i];
    number_devices(sorted, fleet->count);
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

bool fleet_tells(const struct fleet *fleet)
{
    for (int k = 0; k < fleet->kind_count; k++)
        if (fleet->kinds[k].tells)
            return true;
    return false;
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
    for (int i = 0; i < fleet->count; i++) tests += fleet->nodes[i].figure_count + 1;
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
