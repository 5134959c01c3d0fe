/* Prints a fleet as a page and as JSON. For each kind of machine, what is odd comes first
 * and all figures come last; JSON has the same in the same order. Long lists of machines are cut on
 * the page and whole in JSON. */
#include "harness/fleet/fleet_output.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/intern.h"
#include "harness/base/words/text.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA = 1, TEXT_SIZE = 2000, NAMED_MOST = 8, CELL_SIZE = 48 };

/* --- Words --- */

/* "node3, node9 and 12 more". */
static void print_nodes(char *text, size_t size, const struct fleet *fleet, const int *nodes,
                        int count)
{
    text[0] = '\0';
    for (int i = 0; i < count && i < NAMED_MOST; i++)
        text_join(text, size, ", ", "%s", fleet->nodes[nodes[i]].label);
    if (count > NAMED_MOST)
        text_append(text, size, " and %d more", count - NAMED_MOST);
}

static const char *unit_of(const struct fleet *fleet, const struct fleet_figure *figure)
{
    return intern_text(fleet->names, figure->unit);
}

static const struct fleet_figure *figure_of(const struct fleet_kind *kind,
                                            const struct fleet_outlier *outlier)
{
    return &kind->figures[outlier->figure];
}

/* "17% slower", as rates and times have it. */
static void print_off(char text[CELL_SIZE], const struct fleet_outlier *outlier, const char *unit)
{
    snprintf(text, CELL_SIZE, "%.0f%% %s", 100 * outlier->off,
             figure_is_time(unit) ? "longer" : "less");
}

/* --- The page --- */

static void print_outliers(const struct page *page, const struct fleet *fleet,
                           const struct fleet_kind *kind)
{
    static const struct column columns[] = {
        { "node", PAGE_CUT, 0 }, { "figure", -17, 0 },     { "value", 12, 0 }, { "median", 12, 0 },
        { "off", 11, 0 },        { "by its noise", 7, 1 }, { "", -13, 0 },
    };
    struct page_rows *rows;

    if (kind->outlier_count == 0)
        return;
    page_heading(page, "Slower than the others");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < kind->outlier_count; i++) {
        const struct fleet_outlier *outlier = &kind->outliers[i];
        const struct fleet_figure *figure = figure_of(kind, outlier);
        char value[QUANTITY_SIZE], median[QUANTITY_SIZE], off[CELL_SIZE], deviations[CELL_SIZE];
        const char *const cells[] = { fleet->nodes[outlier->node].label,
                                      intern_text(fleet->names, figure->name),
                                      value,
                                      median,
                                      off,
                                      deviations,
                                      outlier->doubtful ? "measure again" : "" };
        const enum ink inks[] = {
            [4] = outlier->doubtful ? INK_DOUBTFUL : INK_BAD, [6] = INK_DOUBTFUL
        };

        figure_print(value, outlier->value, unit_of(fleet, figure));
        figure_print(median, figure->median, unit_of(fleet, figure));
        print_off(off, outlier, unit_of(fleet, figure));
        if (isfinite(outlier->deviations))
            snprintf(deviations, sizeof deviations, "%.1fx", outlier->deviations);
        else
            strcpy(deviations, "-");
        page_rows_add(rows, cells, inks);
    }
    page_rows_print(page, rows);
}

static void print_statuses(const struct page *page, const struct fleet *fleet,
                           const struct fleet_kind *kind)
{
    static const struct column columns[] = {
        { "row", -19, 0 }, { "", -4, 0 }, { "nodes", 5, 0 }, { "which", PAGE_WRAP, 0 }
    };
    struct page_rows *rows;

    if (kind->status_count == 0)
        return;
    page_heading(page, "Rows of doctor that are not ok");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < kind->status_count; i++) {
        const struct fleet_value *row = &kind->statuses[i];
        char count[CELL_SIZE], nodes[TEXT_SIZE];
        const char *judged = intern_text(fleet->names, row->value);
        const char *const cells[] = { intern_text(fleet->names, row->name), judged, count, nodes };
        const enum ink inks[] = {
            [1] = strcmp(judged, "fail") == 0 ? INK_BAD : INK_DOUBTFUL, [3] = INK_PLAIN
        };

        snprintf(count, sizeof count, "%d", row->count);
        if (row->count == kind->count && kind->count > 1)
            strcpy(nodes, "all");
        else
            print_nodes(nodes, sizeof nodes, fleet, row->nodes, row->count);
        page_rows_add(rows, cells, inks);
    }
    page_rows_print(page, rows);
}

static void print_settings(const struct page *page, const struct fleet *fleet,
                           const struct fleet_kind *kind)
{
    static const struct column columns[] = { { "setting", -19, 0 },
                                             { "value", PAGE_CUT, 0 },
                                             { "nodes", 5, 0 },
                                             { "which", PAGE_WRAP, 0 } };
    struct page_rows *rows;

    if (kind->value_count == 0)
        return;
    page_heading(page, "Settings that differ");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < kind->value_count; i++) {
        const struct fleet_value *value = &kind->values[i];
        bool commonest = i == 0 || value->name != value[-1].name;
        char count[CELL_SIZE], nodes[TEXT_SIZE];
        const char *const cells[] = { commonest ? intern_text(fleet->names, value->name) : "",
                                      intern_text(fleet->names, value->value), count, nodes };

        snprintf(count, sizeof count, "%d", value->count);
        if (commonest && 2 * value->count > kind->count)
            strcpy(nodes, "the others");
        else
            print_nodes(nodes, sizeof nodes, fleet, value->nodes, value->count);
        page_rows_add(rows, cells, NULL);
    }
    page_rows_print(page, rows);
}

static void print_figures(const struct page *page, const struct fleet *fleet,
                          const struct fleet_kind *kind)
{
    static const struct column columns[] = {
        { "figure", -17, 0 },
        { "median", 12, 0 },
        { "noise", 6, 0 },
        { "shows", 6, 0 },
        { "lowest", 12, 0 },
        { "highest", 12, 0 },
        { "slowest node", PAGE_CUT, 1 },
    };
    struct page_rows *rows;

    if (kind->figure_count == 0)
        return;
    page_heading(page, "Figures");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < kind->figure_count; i++) {
        const struct fleet_figure *figure = &kind->figures[i];
        char median[QUANTITY_SIZE], low[QUANTITY_SIZE], high[QUANTITY_SIZE], noise[CELL_SIZE] = "-",
                                                                             shows[CELL_SIZE] = "-";
        const char *const cells[] = { intern_text(fleet->names, figure->name),
                                      median,
                                      noise,
                                      shows,
                                      low,
                                      high,
                                      kind->count > 1 ? fleet->nodes[figure->worst].label : "" };

        figure_print(median, figure->median, unit_of(fleet, figure));
        if (kind->count > 1) {
            figure_print(low, figure->low, unit_of(fleet, figure));
            figure_print(high, figure->high, unit_of(fleet, figure));
        } else {
            strcpy(low, "-");
            strcpy(high, "-");
        }
        if (isfinite(figure->noise))
            snprintf(noise, sizeof noise, "%.1f%%", 100 * figure->noise);
        if (isfinite(figure->smallest))
            snprintf(shows, sizeof shows, "%.0f%%", ceil(100 * figure->smallest));
        page_rows_add(rows, cells, NULL);
    }
    page_rows_print(page, rows);
    if (kind->count >= FLEET_NODES_LEAST)
        page_paragraph(page, INK_DIM,
                       "shows: a node that is so much slower is named in four of five cases.");
}

static void print_kind(const struct page *page, const struct fleet *fleet,
                       const struct fleet_kind *kind)
{
    char title[600];

    snprintf(title, sizeof title, "%d node%s: %s", kind->count, kind->count == 1 ? "" : "s",
             intern_text(fleet->names, kind->name));
    page_title(page, title);
    if (kind->count < FLEET_NODES_LEAST)
        page_paragraph(page, INK_DOUBTFUL,
                       "%d node%s of this kind: too few to tell which is slow. Give files of %d or "
                       "more.",
                       kind->count, kind->count == 1 ? "" : "s", FLEET_NODES_LEAST);
    print_outliers(page, fleet, kind);
    print_statuses(page, fleet, kind);
    print_settings(page, fleet, kind);
    print_figures(page, fleet, kind);
}

/* "(gemm_fp32 10% less; numerics_gemm fails)" of one machine. */
void fleet_why(char *text, size_t size, const struct fleet *fleet, int node)
{
    text[0] = '\0';
    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        for (int i = 0; i < kind->outlier_count; i++) {
            const struct fleet_outlier *outlier = &kind->outliers[i];
            const struct fleet_figure *figure = figure_of(kind, outlier);
            char off[CELL_SIZE];
            if (outlier->node != node || outlier->doubtful)
                continue;
            print_off(off, outlier, unit_of(fleet, figure));
            text_join(text, size, ", ", "%s %s", intern_text(fleet->names, figure->name), off);
        }
        for (int i = 0; i < kind->status_count; i++) {
            const struct fleet_value *row = &kind->statuses[i];
            for (int j = 0; row->odd && j < row->count; j++)
                if (row->nodes[j] == node)
                    text_join(text, size, ", ", "%s fails", intern_text(fleet->names, row->name));
        }
    }
}

static void print_summary(const struct page *page, const struct fleet *fleet)
{
    char why[400];
    int doubtful = 0;

    for (int k = 0; k < fleet->kind_count; k++)
        for (int i = 0; i < fleet->kinds[k].outlier_count; i++)
            doubtful += fleet->kinds[k].outliers[i].doubtful;
    if (doubtful > 0)
        page_summary(page,
                     "%d figure%s low where others used the machine: measure there again, with "
                     "nothing else running.",
                     doubtful, doubtful == 1 ? " is" : "s are");
    if (fleet->out_count == 0 && !fleet_tells(fleet))
        page_summary(page,
                     "Too few to tell: among %d node%s no figure that is %d%% slower would show.",
                     fleet->count, fleet->count == 1 ? "" : "s", FLEET_TELLS_PERCENT);
    else if (fleet->out_count == 0)
        page_summary(page, "No node is out, of %d.", fleet->count);
    for (int k = 0; k < fleet->kind_count && fleet_tells(fleet); k++)
        if (!fleet->kinds[k].tells)
            page_summary(page, "Too few to tell: the %d of %s.", fleet->kinds[k].count,
                         intern_text(fleet->names, fleet->kinds[k].name));
    for (int i = 0; i < fleet->out_count && i < NAMED_MOST; i++) {
        fleet_why(why, sizeof why, fleet, fleet->out[i]);
        page_summary(page, "Out: %s (%s)", fleet->nodes[fleet->out[i]].label, why);
    }
    if (fleet->out_count > NAMED_MOST)
        page_summary(page, "Out: %d more, in the tables above", fleet->out_count - NAMED_MOST);
}

void fleet_page(const struct page *page, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count)
{
    for (int k = 0; k < fleet->kind_count; k++) {
        if (k > 0)
            fputc('\n', page->console.stream);
        print_kind(page, fleet, &fleet->kinds[k]);
    }
    if (skipped_count > 0)
        page_heading(page, "Files that were skipped");
    for (int i = 0; i < skipped_count && i < NAMED_MOST; i++)
        page_paragraph(page, INK_BAD, "%s", skipped[i].reason);
    if (skipped_count > NAMED_MOST)
        page_paragraph(page, INK_BAD, "and %d more", skipped_count - NAMED_MOST);
    print_summary(page, fleet);
}

/* --- JSON --- */

static void add_nodes(struct json *json, cJSON *object, const struct fleet *fleet, const int *nodes,
                      int count)
{
    cJSON *array = json_array(json, object, "nodes");

    for (int i = 0; i < count; i++) json_text(json, array, NULL, fleet->nodes[nodes[i]].label);
}

static void add_kind(struct json *json, cJSON *array, const struct fleet *fleet,
                     const struct fleet_kind *kind)
{
    cJSON *to = json_object(json, array, NULL), *rows, *object;

    json_text(json, to, "name", intern_text(fleet->names, kind->name));
    json_integer(json, to, "node_count", kind->count);
    json_bool(json, to, "tells", kind->tells);
    rows = json_array(json, to, "outliers");
    for (int i = 0; i < kind->outlier_count; i++) {
        const struct fleet_outlier *outlier = &kind->outliers[i];
        const struct fleet_figure *figure = figure_of(kind, outlier);
        object = json_object(json, rows, NULL);
        json_text(json, object, "node", fleet->nodes[outlier->node].label);
        json_text(json, object, "file", fleet->nodes[outlier->node].path);
        json_text(json, object, "figure", intern_text(fleet->names, figure->name));
        json_text(json, object, "unit", unit_of(fleet, figure));
        json_number(json, object, "value", outlier->value);
        json_number(json, object, "median", figure->median);
        json_number(json, object, "off", outlier->off);
        json_number(json, object, "deviations", outlier->deviations);
        json_bool(json, object, "doubtful", outlier->doubtful);
    }
    rows = json_array(json, to, "statuses");
    for (int i = 0; i < kind->status_count; i++) {
        const struct fleet_value *row = &kind->statuses[i];
        object = json_object(json, rows, NULL);
        json_text(json, object, "check", intern_text(fleet->names, row->name));
        json_text(json, object, "status", intern_text(fleet->names, row->value));
        json_bool(json, object, "odd", row->odd);
        add_nodes(json, object, fleet, row->nodes, row->count);
    }
    rows = json_array(json, to, "settings");
    for (int i = 0; i < kind->value_count; i++) {
        const struct fleet_value *value = &kind->values[i];
        object = json_object(json, rows, NULL);
        json_text(json, object, "setting", intern_text(fleet->names, value->name));
        json_text(json, object, "value", intern_text(fleet->names, value->value));
        add_nodes(json, object, fleet, value->nodes, value->count);
    }
    rows = json_array(json, to, "figures");
    for (int i = 0; i < kind->figure_count; i++) {
        const struct fleet_figure *figure = &kind->figures[i];
        object = json_object(json, rows, NULL);
        json_text(json, object, "figure", intern_text(fleet->names, figure->name));
        json_text(json, object, "unit", unit_of(fleet, figure));
        json_integer(json, object, "node_count", figure->count);
        json_number(json, object, "median", figure->median);
        json_number(json, object, "noise", figure->noise);
        json_number(json, object, "smallest", figure->smallest);
        json_number(json, object, "lowest", figure->low);
        json_number(json, object, "highest", figure->high);
        json_text(json, object, "slowest_node", fleet->nodes[figure->worst].label);
    }
}

void fleet_json(struct json *json, cJSON *root, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count)
{
    cJSON *array, *object;

    json_integer(json, root, "schema", SCHEMA);
    json_integer(json, root, "node_count", fleet->count);
    array = json_array(json, root, "out");
    for (int i = 0; i < fleet->out_count; i++)
        json_text(json, array, NULL, fleet->nodes[fleet->out[i]].label);
    array = json_array(json, root, "kinds");
    for (int k = 0; k < fleet->kind_count; k++) add_kind(json, array, fleet, &fleet->kinds[k]);
    array = json_array(json, root, "skipped");
    for (int i = 0; i < skipped_count; i++) {
        object = json_object(json, array, NULL);
        json_text(json, object, "file", skipped[i].path);
        json_text(json, object, "reason", skipped[i].reason);
    }
}
