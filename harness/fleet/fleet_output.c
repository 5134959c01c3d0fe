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

enum { SCHEMA = 2, TEXT_SIZE = 2000, NAMED_MOST = 8 };

/* --- Words --- */

static const char *const lack_words[] = {
    [LACK_NUMBER] = "not measured", [LACK_ZERO] = "is 0", [LACK_TWICE] = "is there twice"
};

/* How many of `nodes` are of the machine of the first one: they are neighbours. */
static int of_one_machine(const struct fleet *fleet, const int *nodes, int count)
{
    int same = 1;

    while (same < count && fleet->nodes[nodes[same]].machine == fleet->nodes[nodes[0]].machine)
        same++;
    return same;
}

/* `count` GPUs of the machine of a node: "node3", "node3 GPU 5", or "node3 (8 of 8 GPUs". */
static void open_machine(char *text, size_t size, const struct node *node, int count)
{
    if (count == 1)
        snprintf(text, size, "%s", node->label);
    else
        snprintf(text, size, "%s (%d of %d GPUs", node->host, count, node->siblings);
}

/* "node3, node9 (8 of 8 GPUs) and 12 more". */
static void print_nodes(char *text, size_t size, const struct fleet *fleet, const int *nodes,
                        int count)
{
    int machines = fleet_machines(fleet, nodes, count), named = 0;
    char machine[160];

    text[0] = '\0';
    for (int i = 0, same; i < count && named < NAMED_MOST; i += same, named++) {
        same = of_one_machine(fleet, nodes + i, count - i);
        open_machine(machine, sizeof machine, &fleet->nodes[nodes[i]], same);
        text_join(text, size, ", ", "%s%s", machine, same > 1 ? ")" : "");
    }
    if (machines > NAMED_MOST)
        text_append(text, size, " and %d more", machines - NAMED_MOST);
}

/* "64 nodes", and if they have several GPUs "64 nodes, 512 GPUs". */
static struct cell size_cell(int machines, int count)
{
    return machines == count
               ? cell("%d node%s", count, count == 1 ? "" : "s")
               : cell("%d node%s, %d GPUs", machines, machines == 1 ? "" : "s", count);
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

/* How many GPUs of a machine are out in the figure of outlier `at`, the slowest of them; 0: another
 * is slower. */
static int same_outliers(const struct fleet *fleet, const struct fleet_kind *kind, int at)
{
    const struct fleet_outlier *outlier = &kind->outliers[at];
    int same = 0;

    for (int i = 0; i < kind->outlier_count; i++) {
        const struct fleet_outlier *other = &kind->outliers[i];
        if (other->figure != outlier->figure || other->doubtful != outlier->doubtful ||
            fleet->nodes[other->node].machine != fleet->nodes[outlier->node].machine)
            continue;
        if (i < at)
            return 0;
        same++;
    }
    return same;
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
        char machine[160];
        int same = same_outliers(fleet, kind, i);

        if (same == 0)
            continue;
        open_machine(machine, sizeof machine, &fleet->nodes[outlier->node], same);
        PAGE_ROW(rows, inks, cell("%s%s", machine, same > 1 ? ")" : "").text,
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
        const enum ink inks[] = { [1] = row->fails ? INK_BAD : INK_DOUBTFUL, [3] = INK_PLAIN };

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

    snprintf(title, sizeof title, "%s: %s", size_cell(kind->machines, kind->count).text,
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

static bool holds(const int *nodes, int count, int node)
{
    for (int i = 0; i < count; i++)
        if (nodes[i] == node)
            return true;
    return false;
}

/* A doubtful figure does not put a machine out, so it is no reason here. The slowest of
 * several GPUs counts. */
void fleet_why(char *text, size_t size, const struct fleet *fleet, const int *nodes, int count)
{
    text[0] = '\0';
    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        for (int i = 0; i < kind->outlier_count; i++) {
            const struct fleet_outlier *outlier = &kind->outliers[i];
            const struct fleet_figure *figure = figure_of(kind, outlier);
            if (holds(nodes, count, outlier->node) && !outlier->doubtful &&
                (count == 1 || same_outliers(fleet, kind, i) > 0))
                text_join(text, size, ", ", "%s %s", intern_text(fleet->names, figure->name),
                          off_cell(outlier, unit_of(fleet, figure)).text);
        }
        for (int i = 0; i < kind->status_count; i++) {
            const struct fleet_value *row = &kind->statuses[i];
            bool fails = false;
            for (int j = 0; row->odd && j < row->count; j++)
                fails = fails || holds(nodes, count, row->nodes[j]);
            if (fails)
                text_join(text, size, ", ", "%s fails", intern_text(fleet->names, row->name));
        }
    }
}

/* The machines of `nodes`, one line each: "Out: node3 (8 of 8 GPUs: gemm_fp32 20% less)". `why`
 * says what there is to say of `count` nodes of one machine. */
static void print_machines(const struct page *page, const struct fleet *fleet, const char *said,
                           const int *nodes, int count,
                           void (*why)(char *text, size_t size, const struct fleet *fleet,
                                       const int *nodes, int count))
{
    int machines = fleet_machines(fleet, nodes, count), named = 0;
    char machine[160], reason[400];

    for (int i = 0, same; i < count && named < NAMED_MOST; i += same, named++) {
        same = of_one_machine(fleet, nodes + i, count - i);
        open_machine(machine, sizeof machine, &fleet->nodes[nodes[i]], same);
        why(reason, sizeof reason, fleet, nodes + i, same);
        page_summary(page, "%s: %s%s%s)", said, machine, same > 1 ? ": " : " (", reason);
    }
    if (machines > NAMED_MOST)
        page_summary(page, "%s: %d more nodes", said, machines - NAMED_MOST);
}

static void lacks_of(char *text, size_t size, const struct fleet *fleet, const int *nodes,
                     int count)
{
    int named = 0;

    text[0] = '\0';
    for (int k = 0; k < fleet->kind_count; k++) {
        const struct fleet_kind *kind = &fleet->kinds[k];
        for (int i = 0; i < kind->lack_count; i++) {
            const struct fleet_lack *lack = &kind->lacks[i];
            bool is_said = !holds(nodes, count, lack->node); /* or of another GPU */
            for (int j = 0; j < i && !is_said; j++)
                is_said = is_said ||
                          (kind->lacks[j].name == lack->name && kind->lacks[j].kind == lack->kind &&
                           holds(nodes, count, kind->lacks[j].node));
            if (is_said || named++ >= NAMED_MOST)
                continue;
            text_join(text, size, ", ", "%s%s%s", intern_text(fleet->names, lack->name),
                      lack->kind != LACK_NUMBER ? " " : "",
                      lack->kind != LACK_NUMBER ? lack_words[lack->kind] : "");
        }
    }
    if (named > NAMED_MOST)
        text_append(text, size, " and %d more", named - NAMED_MOST);
}

/* All that is not known, kind by kind. */
static void print_untold(const struct page *page, const struct fleet *fleet,
                         const struct fleet_kind *kind)
{
    const char *of = intern_text(fleet->names, kind->name);
    char nodes[TEXT_SIZE];

    print_machines(page, fleet, "Not measured", kind->lacking, kind->lacking_count, lacks_of);
    for (int i = 0; i < kind->figure_count; i++) {
        const struct fleet_figure *figure = &kind->figures[i];
        const char *name = intern_text(fleet->names, figure->name);
        const struct fleet_outlier off = { .off = figure->slow_count > 0 ? figure->apart
                                                                         : figure->vague_off };
        struct cell how = off_cell(&off, unit_of(fleet, figure));
        print_nodes(nodes, sizeof nodes, fleet, figure->slow, figure->slow_count);
        if (figure->slow_count > 0)
            page_summary(page, "Two groups: %s is %s on %d of %d: %s", name, how.text,
                         figure->slow_count, figure->count, nodes);
        else if (figure->vague)
            page_summary(page, "Too noisy to tell: %s; the slowest, %s, has %s than the median",
                         name, fleet->nodes[figure->vague_node].label, how.text);
    }
    for (int i = 0; i < kind->status_count; i++) {
        const struct fleet_value *row = &kind->statuses[i];
        print_nodes(nodes, sizeof nodes, fleet, row->nodes, row->count);
        if (row->fails && !row->odd)
            page_summary(page, "Fails on half or more: %s on %d of %d: %s",
                         intern_text(fleet->names, row->name), row->count, kind->count, nodes);
    }
    if (!kind->tells)
        page_summary(page,
                     "Too few to tell: among %s of %s no figure that is %d%% slower would "
                     "show.",
                     size_cell(kind->machines, kind->count).text, of, FLEET_TELLS_PERCENT);
}

static void print_summary(const struct page *page, const struct fleet *fleet)
{
    int doubtful = 0, disturbed = 0;

    for (int k = 0; k < fleet->kind_count; k++)
        for (int i = 0; i < fleet->kinds[k].outlier_count; i++)
            doubtful += fleet->kinds[k].outliers[i].doubtful;
    if (doubtful > 0)
        page_summary(page,
                     "%d figure%s low where others used the machine: measure there again, with "
                     "nothing else running.",
                     doubtful, doubtful == 1 ? " is" : "s are");
    for (int i = 0; i < fleet->count; i++) disturbed += fleet->nodes[i].disturbed;
    if (doubtful == 0 && disturbed > 0 && !fleet_tells(fleet))
        page_summary(
            page,
            "Others used %d of %d nodes while these were measured: measure there again, with "
            "nothing else running.",
            disturbed, fleet->count);
    for (int k = 0; k < fleet->kind_count; k++) print_untold(page, fleet, &fleet->kinds[k]);
    if (fleet->out_count == 0 && fleet_tells(fleet))
        page_summary(page, "No node is out, of %s.",
                     fleet->machines == fleet->count
                         ? cell("%d", fleet->count).text
                         : cell("%d with %d GPUs", fleet->machines, fleet->count).text);
    print_machines(page, fleet, "Out", fleet->out, fleet->out_count, fleet_why);
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

/* NAN: the machine has no such figure, or it is made of others, as "all_figures". */
static double value_of(const struct node *node, const struct fleet_figure *figure)
{
    for (int i = 0; i < node->figure_count; i++)
        if (node->figures[i].name == figure->name && node->figures[i].unit == figure->unit)
            return node->figures[i].value;
    return NAN;
}

static void add_nodes(struct json *json, cJSON *to, const struct fleet *fleet,
                      const struct fleet_kind *kind)
{
    cJSON *rows = json_array(json, to, "nodes");

    for (int i = 0; i < kind->count; i++) {
        const struct node *node = &fleet->nodes[kind->nodes[i]];
        cJSON *values = json_array(json, NULL, NULL);
        JSON_ROW(json, rows, KEY("node", node->label), KEY("file", node->path),
                 KEY("date", intern_text(fleet->names, node->date)),
                 KEY("fit", intern_text(fleet->names, node->fit)), KEY("values", values));
        for (int j = 0; j < kind->figure_count; j++)
            json_number(json, values, NULL, value_of(node, &kind->figures[j]));
    }
}

static void add_kind(struct json *json, cJSON *array, const struct fleet *fleet,
                     const struct fleet_kind *kind)
{
    cJSON *to = JSON_ROW(json, array, KEY("name", intern_text(fleet->names, kind->name)),
                         KEY("node_count", kind->machines), KEY("device_count", kind->count),
                         KEY("tells", kind->tells));
    cJSON *rows = json_array(json, to, "lacks");

    for (int i = 0; i < kind->lack_count; i++)
        JSON_ROW(json, rows, KEY("node", fleet->nodes[kind->lacks[i].node].label),
                 KEY("figure", intern_text(fleet->names, kind->lacks[i].name)),
                 KEY("why", lack_words[kind->lacks[i].kind]));
    rows = json_array(json, to, "outliers");
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
                 KEY("unit", unit_of(fleet, figure)), KEY("device_count", figure->count),
                 KEY("median", figure->median), KEY("noise", figure->noise),
                 KEY("smallest", figure->smallest), KEY("too_noisy", figure->vague),
                 KEY("slower_group", nodes_json(json, fleet, figure->slow, figure->slow_count)),
                 KEY("lowest", figure->low), KEY("highest", figure->high),
                 KEY("slowest_node", fleet->nodes[figure->worst].label));
    }
    add_nodes(json, to, fleet, kind);
}

void fleet_json(struct json *json, cJSON *root, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count)
{
    cJSON *array;

    JSON_ADD(json, root, KEY("schema", SCHEMA), KEY("node_count", fleet->machines),
             KEY("device_count", fleet->count), KEY("tells", fleet_tells(fleet)),
             KEY("out", nodes_json(json, fleet, fleet->out, fleet->out_count)));
    array = json_array(json, root, "kinds");
    for (int k = 0; k < fleet->kind_count; k++) add_kind(json, array, fleet, &fleet->kinds[k]);
    array = json_array(json, root, "skipped");
    for (int i = 0; i < skipped_count; i++)
        JSON_ROW(json, array, KEY("file", skipped[i].path), KEY("reason", skipped[i].reason));
}
