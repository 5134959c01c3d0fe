/* Compares the machines of a fleet, kind by kind. Figures of all machines of a kind are sorted by
 * name into a table, one row per figure, which fleet_noise.c judges. Settings and rows that are not
 * ok are grouped by value in the same way.
 *
 * All figures are compared as logarithms of how much longer the same work takes than at the median,
 * so that times and rates go the same way and a factor counts alike up and down. The median of all
 * figures is judged as one figure more: it finds a machine that is a little slow in everything. */
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
    figure.median = stats_sort_median(scratch, count);
    for (int i = 0; i < count; i++) {
        double slow = slowness(fleet, &figure, entries[i].value);
        if (slow > worst)
            figure.worst = entries[i].node;
        worst = fmax(worst, slow);
    }
    return figure;
}

/* `slow`, a logarithm, as a part of a rate, or as what a time has more. */
static double off_of(double slow, bool is_time)
{
    return is_time ? exp(slow) - 1 : 1 - exp(-slow);
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

/* Room for `figures`, and for the median of all as one more. */
static struct table table_make(struct arena *scratch, const struct fleet *fleet,
                               const struct fleet_kind *kind, int figures, int tests)
{
    int64_t cells = (int64_t)(figures + 1) * kind->count;
    struct table table = { .slow = ARENA_NEW(scratch, double, cells),
                           .stated = ARENA_NEW(scratch, double, cells),
                           .doubtful = ARENA_NEW(scratch, bool, kind->count),
                           .out = ARENA_NEW(scratch, bool, kind->count),
                           .place = ARENA_NEW(scratch, int, fleet->count),
                           .noise = ARENA_NEW(scratch, struct fleet_noise, figures + 1) };

    for (int64_t i = 0; i < cells; i++) table.slow[i] = NAN;
    for (int i = 0; i < kind->count; i++) {
        table.place[kind->nodes[i]] = i;
        table.doubtful[i] = fleet->nodes[kind->nodes[i]].disturbed;
    }
    table.matrix = (struct fleet_matrix){ .nodes = kind->count,
                                          .slow = table.slow,
                                          .stated = table.stated,
                                          .doubtful = table.doubtful,
                                          .chance = TAILS_ESTIMATED * FLEET_FALSE_ALARMS / tests,
                                          .least = log(1 / (1 - FLEET_OFF_PERCENT / 100.0)) };
    return table;
}

/* A machine that lacks the figure keeps NAN, which all sums pass over. */
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

/* The median of all figures as one more of the kind's, if it is of several. */
static void add_median(struct arena *scratch, struct table *table, struct fleet *fleet,
                       struct fleet_kind *kind)
{
    struct fleet_figure *figure = &kind->figures[kind->figure_count];
    double *ratios = ARENA_NEW(scratch, double, kind->count);
    double *room = ARENA_NEW(scratch, double, table->matrix.alike);
    double *row = table->slow + (int64_t)table->matrix.alike * kind->count;

    /* The median of two figures is only their mean, and one that is out would count. */
    if (table->matrix.alike < 3 || kind->count < FLEET_NODES_LEAST)
        return;
    *figure = (struct fleet_figure){ .name = fleet->all_figures,
                                     .unit = fleet->times,
                                     .low = INFINITY,
                                     .high = -INFINITY,
                                     .noise = NAN,
                                     .smallest = NAN };
    for (int i = 0; i < kind->count; i++) {
        /* How slow a machine is in the median of its figures, so that one figure that is out does
         * not count. */
        int count = 0;

        for (int f = 0; f < table->matrix.alike; f++) {
            double slow = table->slow[(int64_t)f * table->matrix.nodes + i];
            if (!isnan(slow))
                room[count++] = slow;
        }
        row[i] = stats_sort_median(room, count);
        if (isnan(row[i]))
            continue;
        if (exp(row[i]) > figure->high)
            figure->worst = kind->nodes[i];
        figure->low = fmin(figure->low, exp(row[i]));
        figure->high = fmax(figure->high, exp(row[i]));
        ratios[figure->count++] = exp(row[i]);
    }
    if (figure->count < FLEET_NODES_LEAST)
        return;
    figure->median = stats_sort_median(ratios, figure->count);
    table->matrix.figures++;
    kind->figure_count++;
}

/* An outlier need not be one in every figure: this names those in which it is. */
static void add_outliers(const struct fleet *fleet, struct fleet_kind *kind,
                         const struct table *table, int f)
{
    const struct fleet_figure *row = &kind->figures[f];
    bool is_time = figure_is_time(intern_text(fleet->names, row->unit)),
         is_of_all = row->unit == fleet->times;

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
            .off = off_of(off, is_time),
            .deviations = deviations,
            .doubtful = table->doubtful[i],
        };
    }
}

/* Two groups, of which the slower one is not out as a whole: then neither is the odd one. */
static void add_groups(const struct fleet *fleet, const struct fleet_kind *kind,
                       const struct table *table, int f, bool is_time)
{
    struct fleet_figure *row = &kind->figures[f];
    const double *slow = table->slow + (int64_t)f * kind->count;
    struct fleet_split split = fleet_noise_split(fleet->arena, &table->matrix, f);
    int hidden = 0;

    for (int i = 0; i < kind->count; i++) hidden += slow[i] >= split.from && !table->out[i];
    if (hidden == 0)
        return;
    row->slow = ARENA_NEW(fleet->arena, int, kind->count);
    row->apart = off_of(split.apart, is_time);
    for (int i = 0; i < kind->count; i++)
        if (slow[i] >= split.from)
            row->slow[row->slow_count++] = kind->nodes[i];
}

/* A figure is too noisy if a machine at half of the speed might not be named, or one is not that is
 * so slow that it should be. */
static void judge_noise(struct fleet_figure *row, const struct fleet_kind *kind,
                        const struct table *table, int f, bool is_time)
{
    const struct fleet_noise *noise = &table->noise[f];
    double worst = -INFINITY;

    for (int i = 0; i < kind->count; i++) {
        double slow = table->slow[(int64_t)f * kind->count + i];
        if (table->out[i] || !(slow > worst))
            continue;
        worst = slow;
        row->vague_node = kind->nodes[i];
    }
    row->vague_off = off_of(worst, is_time);
    row->vague = row->slow_count == 0 && isfinite(worst) &&
                 (!(1 - exp(-noise->smallest) <= FLEET_HALF_PERCENT / 100.0) ||
                  1 - exp(-worst) >= FLEET_TELLS_PERCENT / 100.0);
}

static void find_outliers(struct arena *scratch, struct fleet *fleet, struct fleet_kind *kind,
                          struct table *table)
{
    fleet_noise_find(scratch, table->noise, table->out, &table->matrix);
    for (int f = 0; f < kind->figure_count; f++) {
        struct fleet_figure *row = &kind->figures[f];
        const struct fleet_noise *noise = &table->noise[f];
        bool is_time = figure_is_time(intern_text(fleet->names, row->unit));
        row->noise = noise->deviation;
        if (isfinite(noise->smallest))
            row->smallest = off_of(noise->smallest, is_time);
        /* One figure in which a difference of that size would show is enough to tell something. */
        kind->tells = kind->tells || 1 - exp(-noise->smallest) <= FLEET_TELLS_PERCENT / 100.0;
        add_outliers(fleet, kind, table, f);
        add_groups(fleet, kind, table, f, is_time);
        judge_noise(row, kind, table, f, is_time);
    }
}

/* --- What was not measured --- */

COMPARATOR(by_node, struct fleet_lack, ASCENDING(node) ?: ASCENDING(kind))

/* Moves the entries of one figure that count to the front, and returns their number. The others are
 * lacks, as is the figure of a machine that has no number where another machine has one. */
static int measured_of(struct fleet_kind *kind, struct entry *entries, int count)
{
    int kept = 0, first = kind->lack_count, missing = 0;

    for (int i = 0, from = 0, to = 0; i < kind->count; i++, from = to) {
        struct fleet_lack lack = { kind->nodes[i], entries[0].name, LACK_TWICE };
        while (to < count && entries[to].node == kind->nodes[i]) to++;
        if (to == from + 1 && figure_is_measured(entries[from].value)) {
            entries[kept++] = entries[from];
            continue;
        }
        if (to <= from + 1)
            lack.kind = to == from || isnan(entries[from].value) ? LACK_NUMBER : LACK_ZERO;
        missing += lack.kind == LACK_NUMBER;
        kind->lacks[kind->lack_count++] = lack;
    }
    /* If no machine has it, it cannot be measured here, or was on none: doctor says why. */
    if (missing == kind->count)
        kind->lack_count = first;
    return kept;
}

/* The machines that have lacks, each once. */
static void list_lacking(struct arena *arena, struct fleet_kind *kind)
{
    qsort(kind->lacks, (size_t)kind->lack_count, sizeof *kind->lacks, by_node);
    kind->lacking = ARENA_NEW(arena, int, kind->lack_count);
    for (int i = 0; i < kind->lack_count; i++)
        if (i == 0 || kind->lacks[i].node != kind->lacks[i - 1].node)
            kind->lacking[kind->lacking_count++] = kind->lacks[i].node;
}

/* Entries of one name and unit are neighbours. */
static struct entry *entries_of(struct arena *scratch, int *count, const struct fleet *fleet,
                                const struct fleet_kind *kind)
{
    struct entry *entries;
    int64_t room = 0;

    *count = 0;
    for (int i = 0; i < kind->count; i++) room += fleet->nodes[kind->nodes[i]].figure_count;
    entries = ARENA_NEW(scratch, struct entry, room);
    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        for (int j = 0; j < node->figure_count; j++)
            entries[(*count)++] =
                (struct entry){ node->figures[j].name, node->figures[j].unit, kind->nodes[i],
                                node->figures[j].value, node->figures[j].noise };
    }
    qsort(entries, (size_t)*count, sizeof *entries, by_name);
    return entries;
}

static void compare_figures(struct fleet *fleet, struct fleet_kind *kind, int tests)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    struct table table;
    int count, names = 0, measured;
    struct entry *entries = entries_of(scratch, &count, fleet, kind);
    double *values = ARENA_NEW(scratch, double, count);

    for (int i = 0; i < count; i++)
        names += i == 0 || entries[i].name != entries[i - 1].name ||
                 entries[i].unit != entries[i - 1].unit;
    kind->figures = ARENA_NEW(fleet->arena, struct fleet_figure, names + 1);
    kind->lacks = ARENA_NEW(fleet->arena, struct fleet_lack, (int64_t)names * kind->count);
    kind->outliers = ARENA_NEW(fleet->arena, struct fleet_outlier, (int64_t)count + kind->count);
    table = table_make(scratch, fleet, kind, names, tests);
    for (int from = 0, to; from < count; from = to) {
        for (to = from; to < count && entries[to].name == entries[from].name &&
                        entries[to].unit == entries[from].unit;)
            to++;
        measured = measured_of(kind, entries + from, to - from);
        if (measured == 0)
            continue;
        kind->figures[kind->figure_count] = figure_of(fleet, entries + from, measured, values);
        table_add(&table, fleet, &kind->figures[kind->figure_count++], entries + from);
    }
    list_lacking(fleet->arena, kind);
    add_median(scratch, &table, fleet, kind);
    /* Fewer machines cannot tell which of them is the odd one. */
    if (kind->count >= FLEET_NODES_LEAST)
        find_outliers(scratch, fleet, kind, &table);
    qsort(kind->outliers, (size_t)kind->outlier_count, sizeof *kind->outliers, by_off);
}

/* --- Settings, and rows that are not ok --- */

/* A setting, or a status, of one machine, to be sorted by both. */
struct pair {
    uint32_t name, value;
    int node;
};

COMPARATOR(by_pair, struct pair, ASCENDING(name) ?: ASCENDING(value) ?: ASCENDING(node))

/* The machines of `count` pairs. */
static int *nodes_of(struct arena *arena, const struct pair *pairs, int count)
{
    int *nodes = ARENA_NEW(arena, int, count);

    for (int i = 0; i < count; i++) nodes[i] = pairs[i].node;
    return nodes;
}

/* The statements of all machines of a kind, in order. */
static struct pair *find_pairs(struct arena *scratch, int *count, const struct fleet *fleet,
                               const struct fleet_kind *kind, enum node_fact_kind facts_kind)
{
    struct pair *pairs;
    int64_t room = 0;

    for (int i = 0; i < kind->count; i++)
        room += fleet->nodes[kind->nodes[i]].facts[facts_kind].count;
    pairs = ARENA_NEW(scratch, struct pair, room);
    *count = 0;
    for (int i = 0; i < kind->count; i++) {
        const struct node_facts *facts = &fleet->nodes[kind->nodes[i]].facts[facts_kind];
        for (int j = 0; j < facts->count; j++)
            pairs[(*count)++] =
                (struct pair){ facts->items[j].name, facts->items[j].value, kind->nodes[i] };
    }
    qsort(pairs, (size_t)*count, sizeof *pairs, by_pair);
    return pairs;
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
static struct fleet_value value_of(struct arena *arena, const struct pair *pairs, int count)
{
    return (struct fleet_value){ .name = pairs->name,
                                 .value = pairs->value,
                                 .count = count,
                                 .nodes = nodes_of(arena, pairs, count) };
}

COMPARATOR(by_count, struct fleet_value, DESCENDING(count))

/* The machines that do not state a setting which others state: an environment variable is a row
 * only where it is set. */
static struct fleet_value value_of_others(const struct fleet *fleet, const struct fleet_kind *kind,
                                          const struct pair *pairs, int count)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    bool *states = ARENA_NEW(scratch, bool, fleet->count);
    struct fleet_value value = { .name = pairs->name,
                                 .value = fleet->none,
                                 .nodes = ARENA_NEW(fleet->arena, int, kind->count) };

    for (int i = 0; i < count; i++) states[pairs[i].node] = true;
    for (int i = 0; i < kind->count; i++)
        if (!states[kind->nodes[i]])
            value.nodes[value.count++] = kind->nodes[i];
    return value;
}

static void compare_settings(struct fleet *fleet, struct fleet_kind *kind)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    int count;
    struct pair *pairs = find_pairs(scratch, &count, fleet, kind, NODE_SETTINGS);

    kind->values = ARENA_NEW(fleet->arena, struct fleet_value, 2 * (int64_t)count);
    for (int from = 0, to; from < count; from = to) {
        int first = kind->value_count;
        to = end_of(pairs, count, from, false);
        if (end_of(pairs, count, from, true) == to && to - from >= kind->count)
            continue;
        if (to - from < kind->count)
            kind->values[kind->value_count++] =
                value_of_others(fleet, kind, pairs + from, to - from);
        for (int at = from, next; at < to; at = next) {
            next = end_of(pairs, to, at, true);
            kind->values[kind->value_count++] = value_of(fleet->arena, pairs + at, next - at);
        }
        qsort(kind->values + first, (size_t)(kind->value_count - first), sizeof *kind->values,
              by_count);
    }
}

static void compare_statuses(struct fleet *fleet, struct fleet_kind *kind)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    int count;
    struct pair *pairs = find_pairs(scratch, &count, fleet, kind, NODE_STATUSES);

    kind->statuses = ARENA_NEW(fleet->arena, struct fleet_value, count);
    for (int from = 0, to; from < count; from = to) {
        struct fleet_value *row = &kind->statuses[kind->status_count++];
        to = end_of(pairs, count, from, true);
        *row = value_of(fleet->arena, pairs + from, to - from);
        row->fails = strcmp(intern_text(fleet->names, row->value), "fail") == 0;
        row->odd = row->fails && 2 * row->count < kind->count;
    }
}

/* --- The fleet --- */

COMPARATOR(by_size, struct fleet_kind, DESCENDING(count))

int fleet_machines(const struct fleet *fleet, const int *nodes, int count)
{
    int machines = 0;

    for (int i = 0; i < count; i++)
        machines += i == 0 || fleet->nodes[nodes[i]].machine != fleet->nodes[nodes[i - 1]].machine;
    return machines;
}

static void find_kinds(struct fleet *fleet)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    struct pair *pairs = ARENA_NEW(scratch, struct pair, fleet->count);

    fleet->kinds = ARENA_NEW(fleet->arena, struct fleet_kind, fleet->count);
    for (int i = 0; i < fleet->count; i++) pairs[i] = (struct pair){ fleet->nodes[i].kind, 0, i };
    qsort(pairs, (size_t)fleet->count, sizeof *pairs, by_pair);
    for (int from = 0, to; from < fleet->count; from = to) {
        struct fleet_kind *kind = &fleet->kinds[fleet->kind_count++];
        to = end_of(pairs, fleet->count, from, false);
        *kind = (struct fleet_kind){ .name = pairs[from].name,
                                     .count = to - from,
                                     .nodes = nodes_of(fleet->arena, pairs + from, to - from) };
        kind->machines = fleet_machines(fleet, kind->nodes, kind->count);
    }
    qsort(fleet->kinds, (size_t)fleet->kind_count, sizeof *fleet->kinds, by_size);
}

COMPARATOR_OF_POINTERS(by_label, struct node, strcmp(a->label, b->label))

COMPARATOR_OF_POINTERS(by_host, struct node, strcmp(a->host, b->host))

COMPARATOR(by_machine, struct node, ASCENDING(machine) ?: ASCENDING(number))

/* The GPUs of a machine are those of one host; machines of one name are told apart by their files.
 */
static void tell_apart(struct fleet *fleet)
{
    SCRATCH_ARENA(scratch, fleet->arena);
    struct node **sorted = ARENA_NEW(scratch, struct node *, fleet->count);

    for (int i = 0; i < fleet->count; i++) {
        sorted[i] = &fleet->nodes[i];
        sorted[i]->machine = sorted[i]->number = i;
        sorted[i]->siblings = 1;
    }
    qsort(sorted, (size_t)fleet->count, sizeof *sorted, by_host);
    for (int from = 0, to; from < fleet->count; from = to) {
        int first = sorted[from]->number;
        bool several = false;
        for (to = from; to < fleet->count && by_host(&sorted[from], &sorted[to]) == 0; to++) {
            several = several || sorted[to]->device > 0;
            first = sorted[to]->number < first ? sorted[to]->number : first;
        }
        for (int i = from; i < to && several; i++) {
            sorted[i]->machine = first;
            sorted[i]->siblings = to - from;
            /* Device 0 of a host that has others has its number too. */
            if (sorted[i]->device == 0)
                snprintf(sorted[i]->label, sizeof sorted[i]->label, "%s GPU 0", sorted[i]->host);
        }
    }
    qsort(sorted, (size_t)fleet->count, sizeof *sorted, by_label);
    for (int from = 0, to; from < fleet->count; from = to) {
        for (to = from + 1; to < fleet->count && by_label(&sorted[from], &sorted[to]) == 0;) to++;
        for (int i = from; i < to && to > from + 1; i++) {
            const char *slash = strrchr(sorted[i]->path, '/');
            snprintf(sorted[i]->label, sizeof sorted[i]->label, "%s",
                     slash != NULL ? slash + 1 : sorted[i]->path);
            sorted[i]->machine = sorted[i]->number;
            sorted[i]->siblings = 1;
        }
    }
    qsort(fleet->nodes, (size_t)fleet->count, sizeof *fleet->nodes, by_machine);
}

bool fleet_tells(const struct fleet *fleet)
{
    bool tells = true;

    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        tells = tells && kind->tells && kind->lack_count == 0;
        for (int i = 0; i < kind->outlier_count; i++) tells = tells && !kind->outliers[i].doubtful;
        for (int i = 0; i < kind->figure_count; i++)
            tells = tells && !kind->figures[i].vague && kind->figures[i].slow_count == 0;
        for (int i = 0; i < kind->status_count; i++)
            tells = tells && kind->statuses[i].fails == kind->statuses[i].odd;
    }
    return tells;
}

static void compare_all(struct arena *arena, void *context)
{
    struct fleet *fleet = context;
    bool *is_out = ARENA_NEW(arena, bool, fleet->count);
    int tests = 0;

    tell_apart(fleet);
    for (int i = 0; i < fleet->count; i++)
        fleet->machines += i == 0 || fleet->nodes[i].machine != fleet->nodes[i - 1].machine;
    find_kinds(fleet);
    fleet->out = ARENA_NEW(arena, int, fleet->count);
    for (int i = 0; i < fleet->count; i++) tests += fleet->nodes[i].figure_count + 1;
    for (int k = 0; k < fleet->kind_count; k++) {
        compare_figures(fleet, &fleet->kinds[k], tests);
        compare_settings(fleet, &fleet->kinds[k]);
        compare_statuses(fleet, &fleet->kinds[k]);
    }
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
    TRY(intern_add(fleet->names, "all_figures", strlen("all_figures"), &fleet->all_figures));
    TRY(intern_add(fleet->names, "x", 1, &fleet->times));
    TRY(intern_add(fleet->names, "-", 1, &fleet->none));
    fleet->arena = arena_open();
    return arena_run(fleet->arena, compare_all, fleet);
}

enum status fleet_make(struct fleet *fleet, node_reader *read, const char *const *paths, int count,
                       fleet_skip *skip, void *context)
{
    struct status_error first = { .status = STATUS_OK };

    *fleet = (struct fleet){ .names = NULL };
    TRY(intern_open(&fleet->names, SIZE_MAX));
    TRY(rows_make(&fleet->nodes, count));
    for (int i = 0; i < count; i++) {
        enum status outcome = read(&fleet->nodes[fleet->count], fleet->names, paths[i]);
        if (outcome == STATUS_OK || outcome == STATUS_OUT_OF_MEMORY)
            fleet->count++;
        if (outcome == STATUS_OK)
            continue;
        TRY(outcome == STATUS_OUT_OF_MEMORY ? outcome : STATUS_OK);
        if (first.status == STATUS_OK)
            first = *status_last();
        skip(context, paths[i]);
        node_release(&fleet->nodes[fleet->count]);
    }
    if (fleet->count <= 0)
        FAIL(STATUS_BAD_INPUT, "none of the %d files could be read: %s", count, first.text);
    return fleet_compare(fleet);
}

void fleet_release(struct fleet *fleet)
{
    for (int i = 0; i < fleet->count; i++) node_release(&fleet->nodes[i]);
    free(fleet->nodes);
    arena_close(fleet->arena);
    intern_close(fleet->names);
    memset(fleet, 0, sizeof *fleet);
}
