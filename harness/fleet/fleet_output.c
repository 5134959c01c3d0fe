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

enum { SCHEMA = 1, TEXT_SIZE = 2000, NAMED_MOST = 8 };

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

/* "17% less" of a rate, "17% longer" of a time. */
static struct cell off_cell(const struct fleet_outlier *outlier, const char *unit)
{
    return cell("%.0f%% %s", 100 * outlier->off, figure_is_time(unit) ? "longer" : "less");
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
        const char *unit = unit_of(fleet, figure);
        const enum ink inks[] = {
            [4] = outlier->doubtful ? INK_DOUBTFUL : INK_BAD, [6] = INK_DOUBTFUL
        };

        PAGE_ROW(rows, inks, fleet->nodes[outlier->node].label,
                 intern_text(fleet->names, figure->name), figure_text(outlier->value, unit).text,
                 figure_text(figure->median, unit).text, off_cell(outlier, unit).text,
                 isfinite(outlier->deviations) ? cell("%.1fx", outlier->deviations).text : "-",
                 outlier->doubtful ? "measure again" : "");
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
        char nodes[TEXT_SIZE] = "all";
        const char *judged = intern_text(fleet->names, row->value);
        const enum ink inks[] = {
            [1] = strcmp(judged, "fail") == 0 ? INK_BAD : INK_DOUBTFUL, [3] = INK_PLAIN
        };

        if (row->count != kind->count || kind->count <= 1)
            print_nodes(nodes, sizeof nodes, fleet, row->nodes, row->count);
        PAGE_ROW(rows, inks, intern_text(fleet->names, row->name), judged,
                 quantity_count(row->count).text, nodes);
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
        /* The values of a setting are neighbours, the commonest first. */
        bool commonest = i == 0 || value->name != value[-1].name;
        char nodes[TEXT_SIZE] = "the others";

        if (!commonest || 2 * value->count <= kind->count)
            print_nodes(nodes, sizeof nodes, fleet, value->nodes, value->count);
        PAGE_ROW(rows, NULL, commonest ? intern_text(fleet->names, value->name) : "",
                 intern_text(fleet->names, value->value), quantity_count(value->count).text, nodes);
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
        const char *unit = unit_of(fleet, figure);
        bool several = kind->count > 1;

        PAGE_ROW(rows, NULL, intern_text(fleet->names, figure->name),
                 figure_text(figure->median, unit).text, quantity_share(figure->noise).text,
                 isfinite(figure->smallest) ? cell("%.0f%%", ceil(100 * figure->smallest)).text
                                            : "-",
                 several ? figure_text(figure->low, unit).text : "-",
                 several ? figure_text(figure->high, unit).text : "-",
                 several ? fleet->nodes[figure->worst].label : "");
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

/* A doubtful figure does not put a machine out, so it is no reason here. */
void fleet_why(char *text, size_t size, const struct fleet *fleet, int node)
{
    text[0] = '\0';
    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        for (int i = 0; i < kind->outlier_count; i++) {
            const struct fleet_outlier *outlier = &kind->outliers[i];
            const struct fleet_figure *figure = figure_of(kind, outlier);
            if (outlier->node == node && !outlier->doubtful)
                text_join(text, size, ", ", "%s %s", intern_text(fleet->names, figure->name),
                          off_cell(outlier, unit_of(fleet, figure)).text);
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

static cJSON *nodes_json(struct json *json, const struct fleet *fleet, const int *nodes, int count)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int i = 0; i < count; i++) json_text(json, array, NULL, fleet->nodes[nodes[i]].label);
    return array;
}

static void add_kind(struct json *json, cJSON *array, const struct fleet *fleet,
                     const struct fleet_kind *kind)
{
    cJSON *to = JSON_ROW(json, array, KEY("name", intern_text(fleet->names, kind->name)),
                         KEY("node_count", kind->count), KEY("tells", kind->tells));
    cJSON *rows = json_array(json, to, "outliers");
    for (int i = 0; i < kind->outlier_count; i++) {
        const struct fleet_outlier *outlier = &kind->outliers[i];
        const struct fleet_figure *figure = figure_of(kind, outlier);
        JSON_ROW(json, rows, KEY("node", fleet->nodes[outlier->node].label),
                 KEY("file", fleet->nodes[outlier->node].path),
                 KEY("figure", intern_text(fleet->names, figure->name)),
                 KEY("unit", unit_of(fleet, figure)), KEY("value", outlier->value),
                 KEY("median", figure->median), KEY("off", outlier->off),
                 KEY("deviations", outlier->deviations), KEY("doubtful", outlier->doubtful));
    }
    rows = json_array(json, to, "statuses");
    for (int i = 0; i < kind->status_count; i++) {
        const struct fleet_value *row = &kind->statuses[i];
        JSON_ROW(json, rows, KEY("check", intern_text(fleet->names, row->name)),
                 KEY("status", intern_text(fleet->names, row->value)), KEY("odd", row->odd),
                 KEY("nodes", nodes_json(json, fleet, row->nodes, row->count)));
    }
    rows = json_array(json, to, "settings");
    for (int i = 0; i < kind->value_count; i++) {
        const struct fleet_value *value = &kind->values[i];
        JSON_ROW(json, rows, KEY("setting", intern_text(fleet->names, value->name)),
                 KEY("value", intern_text(fleet->names, value->value)),
                 KEY("nodes", nodes_json(json, fleet, value->nodes, value->count)));
    }
    rows = json_array(json, to, "figures");
    for (int i = 0; i < kind->figure_count; i++) {
        const struct fleet_figure *figure = &kind->figures[i];
        JSON_ROW(json, rows, KEY("figure", intern_text(fleet->names, figure->name)),
                 KEY("unit", unit_of(fleet, figure)), KEY("node_count", figure->count),
                 KEY("median", figure->median), KEY("noise", figure->noise),
                 KEY("smallest", figure->smallest), KEY("lowest", figure->low),
                 KEY("highest", figure->high),
                 KEY("slowest_node", fleet->nodes[figure->worst].label));
    }
}

void fleet_json(struct json *json, cJSON *root, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count)
{
    cJSON *array;

    JSON_ADD(json, root, KEY("schema", SCHEMA), KEY("node_count", fleet->count),
             KEY("out", nodes_json(json, fleet, fleet->out, fleet->out_count)));
    array = json_array(json, root, "kinds");
    for (int k = 0; k < fleet->kind_count; k++) add_kind(json, array, fleet, &fleet->kinds[k]);
    array = json_array(json, root, "skipped");
    for (int i = 0; i < skipped_count; i++)
        JSON_ROW(json, array, KEY("file", skipped[i].path), KEY("reason", skipped[i].reason));
}
