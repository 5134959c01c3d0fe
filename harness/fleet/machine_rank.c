/* Each figure is looked up in every other machine of the kind and placed by counting those that are
 * better.
 *
 * No noise is asked for: one machine among others has a place, not a verdict. */
#include "harness/fleet/machine_rank.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/words/intern.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct node_figure *find_figure(const struct fleet *fleet, const struct node *node,
                                             const struct own_figure *figure)
{
    for (int i = 0; i < node->figure_count; i++)
        if (strcmp(intern_text(fleet->names, node->figures[i].name), figure->name) == 0 &&
            strcmp(intern_text(fleet->names, node->figures[i].unit), figure->unit) == 0 &&
            figure_is_measured(node->figures[i].value))
            return &node->figures[i];
    return NULL;
}

/* `values` has room for a figure of every node. */
static struct machine_rank machine_rank_of(const struct own_figure *figure,
                                           const struct fleet *fleet, const struct fleet_kind *kind,
                                           double *values)
{
    struct machine_rank standing = { .figure = *figure, .rank = 1 };
    bool is_time = figure_is_time(figure->unit);

    for (int i = 0; i < kind->count; i++) {
        const struct node_figure *other = find_figure(fleet, &fleet->nodes[kind->nodes[i]], figure);
        if (other == NULL)
            continue;
        values[standing.count++] = other->value;
        /* Equal figures share a place. */
        standing.rank += is_time ? other->value < figure->value : other->value > figure->value;
    }
    if (standing.count > 0) {
        standing.median = stats_sort_median(values, standing.count);
        standing.slowest = values[is_time ? standing.count - 1 : 0];
        standing.fastest = values[is_time ? 0 : standing.count - 1];
    }
    return standing;
}

enum status machine_ranks_make(struct machine_ranks *standings, const struct own_figure *figures,
                               int count, const struct fleet *fleet, const char *kind)
{
    enum status status = STATUS_OK;
    double *values = NULL;

    *standings = (struct machine_ranks){ .items = NULL };
    TRY_OUT(rows_make(&values, fleet->count));
    TRY_OUT(rows_make(&standings->items, count));
    for (int k = 0; k < fleet->kind_count; k++) {
        if (strcmp(intern_text(fleet->names, fleet->kinds[k].name), kind) != 0)
            continue;
        standings->nodes = fleet->kinds[k].count;
        for (int i = 0; i < count; i++) {
            struct machine_rank standing =
                machine_rank_of(&figures[i], fleet, &fleet->kinds[k], values);
            if (standing.count > 0)
                standings->items[standings->count++] = standing;
        }
    }
    /* Figures that no other machine has, which the page counts in its last line. */
    standings->alone = count - standings->count;

out:
    free(values);
    return status;
}

void machine_ranks_release(struct machine_ranks *standings)
{
    free(standings->items);
    *standings = (struct machine_ranks){ .items = NULL };
}

void machine_ranks_page(const struct page *page, const struct machine_ranks *standings,
                        const char *where)
{
    static const struct column columns[] = {
        { "figure", -17, 0 }, { "here", 12, 0 },   { "rank", 9, 0 },
        { "slowest", 12, 1 }, { "median", 12, 0 }, { "fastest", 12, 1 },
    };
    struct page_rows *rows;
    char heading[200];

    snprintf(heading, sizeof heading, "Beside the %d result%s of machines like this one in %.120s",
             standings->nodes, standings->nodes == 1 ? "" : "s", where);
    page_heading(page, heading);
    if (standings->count == 0) {
        page_paragraph(page, INK_DIM, "%s",
                       standings->nodes == 0
                           ? "No file there is of a machine with this device and processor."
                           : "None of them has a figure that was measured here.");
        return;
    }
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < standings->count; i++) {
        const struct machine_rank *standing = &standings->items[i];
        const char *unit = standing->figure.unit;
        const enum ink inks[] = {
            [2] = standing->rank > standing->count ? INK_DOUBTFUL : INK_PLAIN, [5] = INK_PLAIN
        };

        PAGE_ROW(rows, inks, standing->figure.name, figure_text(standing->figure.value, unit).text,
                 cell("%d of %d", standing->rank, standing->count + 1).text,
                 figure_text(standing->slowest, unit).text,
                 figure_text(standing->median, unit).text,
                 figure_text(standing->fastest, unit).text);
    }
    page_rows_print(page, rows);
    if (standings->alone > 0)
        page_paragraph(page, INK_DIM, "%d of %d figures are in none of them.", standings->alone,
                       standings->alone + standings->count);
}

void machine_ranks_json(struct json *json, cJSON *root, const char *key,
                        const struct machine_ranks *standings)
{
    cJSON *array = json_array(json, root, "against");

    for (int i = 0; i < standings->count; i++) {
        const struct machine_rank *standing = &standings->items[i];
        JSON_ROW(json, array, KEY(key, standing->figure.name), KEY("unit", standing->figure.unit),
                 KEY("rank", standing->rank), KEY("of", standing->count + 1),
                 KEY("slowest", standing->slowest), KEY("median", standing->median),
                 KEY("fastest", standing->fastest));
    }
}
