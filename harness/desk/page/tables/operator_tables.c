/* The tables of annotations, of operators by name, and of operators by kind and shape. Shares are
 * of the device's time, or of the host's if there is no device work. */
#include "harness/base/figures/quantity.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/page/tables/diagnosis_tables.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Words --- */

/* How PyTorch would call the trace's device in the headings of its table: "CUDA", or "device". */
static const char *operator_device_word(const struct summary *summary)
{
    const struct trace_file *trace = summary->trace;

    for (int i = 0; i < trace->device_count; i++)
        if (trace->devices[i].shares_host_cores == 1)
            return "device";
    for (int64_t i = 0; i < summary->spans.count; i++) {
        const struct span_row *row = &summary->spans.rows[i];
        const char *name = trace_file_name(trace, row->name);
        if (row->is_call && (strncmp(name, "cu", 2) == 0 || strncmp(name, "hip", 3) == 0))
            return "CUDA";
    }
    return "device";
}

enum { HEADING_SIZE = 24 };

/* Headings with the device's word in them. */
struct headings {
    char share[HEADING_SIZE], self[HEADING_SIZE], total[HEADING_SIZE], memory[HEADING_SIZE];
};

static struct headings headings_of(const struct summary *summary)
{
    const char *word = operator_device_word(summary);
    bool device = summary->timeline.work_count > 0;
    struct headings headings;

    snprintf(headings.share, HEADING_SIZE, "Self %s %%", device ? word : "CPU");
    snprintf(headings.self, HEADING_SIZE, "Self %s", word);
    snprintf(headings.total, HEADING_SIZE, "%s total", word);
    snprintf(headings.memory, HEADING_SIZE, "Self %s Mem", word);
    return headings;
}

/* --- Rows --- */

/* The sums that shares are of, and whether a column of annotations or of operators has anything to
 * say. */
struct whole {
    double device_ns, host_ns;
    bool host_memory, device_memory;
};

static struct whole whole_of(const struct summary *summary, bool phases)
{
    const struct timeline *timeline = &summary->timeline;
    struct whole whole = { 0, 0, false, false };

    for (int64_t i = 0; i < timeline->work_count; i++)
        whole.device_ns +=
            (double)(timeline->work[i].event->end_ns - timeline->work[i].event->start_ns);
    for (int64_t i = 0; i < summary->spans.count; i++) {
        const struct span_row *row = &summary->spans.rows[i];
        whole.host_ns += (double)row->host_self_ns;
        if (row->is_phase != phases)
            continue;
        whole.host_memory = whole.host_memory || row->host_self_bytes != 0;
        whole.device_memory = whole.device_memory || row->device_self_bytes != 0;
    }
    return whole;
}

static void add_span(struct page_rows *rows, const struct trace_file *trace,
                     const struct span_row *row, const struct whole *whole)
{
    bool device = whole->device_ns > 0;
    char name[NAME_SIZE];

    PAGE_ROW(rows, NULL,
             quantity_share(device ? (double)row->device_self_ns / whole->device_ns
                                   : (double)row->host_self_ns / whole->host_ns)
                 .text,
             quantity_time(device ? (double)row->device_self_ns : NAN).text,
             quantity_time(device ? (double)row->device_total_ns : NAN).text,
             quantity_time((double)row->host_self_ns).text,
             quantity_time((double)row->host_total_ns).text, quantity_count(row->count).text,
             quantity_bytes(whole->device_memory ? (double)row->device_self_bytes : NAN).text,
             quantity_bytes(whole->host_memory ? (double)row->host_self_bytes : NAN).text,
             quantity_of(row->flops > 0 ? (double)row->flops : NAN, "FLOP").text,
             cell_name(name, trace_file_name(trace, row->name)));
}

static void print_spans(const struct page *page, const struct summary *summary, const char *what,
                        bool phases, const struct span_row *const *sorted,
                        const struct table_choice *choice)
{
    const struct spans *spans = &summary->spans;
    const struct headings headings = headings_of(summary);
    const struct whole whole = whole_of(summary, phases);
    const struct column columns[] = {
        { headings.share, 6, 3 },  { headings.self, 8, 0 },  { headings.total, 8, 0 },
        { "Self CPU", 8, 0 },      { "CPU total", 8, 0 },    { "# of Calls", 6, 2 },
        { headings.memory, 8, 5 }, { "Self CPU Mem", 8, 6 }, { "FLOPs", 8, 4 },
        { "Name", PAGE_CUT, 0 },
    };
    struct page_rows *rows;
    char text[96];
    int64_t left, count = 0;

    for (int64_t i = 0; i < spans->count; i++) count += spans->rows[i].is_phase == phases;
    if (count == 0)
        return;
    left = table_rows(choice, count);
    snprintf(text, sizeof text, "%s%s%s", what, choice->order != SPANS_BY_DEFAULT ? " by " : "",
             span_order_name(choice->order));
    table_heading(page, text, left, count);
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int64_t i = 0; i < spans->count && left > 0; i++) {
        if (sorted[i]->is_phase != phases)
            continue;
        add_span(rows, summary->trace, sorted[i], &whole);
        left--;
    }
    page_rows_print(page, rows);
}

/* --- Kinds --- */

/* "[[8,32],[96,32]]", with a blank after each comma as PyTorch has it. */
static const char *cell_dims(char text[NAME_SIZE], const char *dims)
{
    size_t length = 0;

    for (; *dims != '\0' && length + 2 < NAME_SIZE; dims++) {
        text[length++] = *dims;
        if (*dims == ',')
            text[length++] = ' ';
    }
    text[length] = '\0';
    return length > 0 ? text : "-";
}

/* The rate of work: as calls state it, over the time that it took. */
static struct quantity_text rate_cell(int64_t stated, double ns, const char *unit)
{
    return quantity_of(stated > 0 && ns > 0 ? 1e9 * (double)stated / ns : NAN, unit);
}

/* "memory 82%", "cache" */
static struct cell bound_cell(const struct roofline *roofline)
{
    if (!(roofline->share > 0))
        return cell("%s", roofline->bound == BOUND_CACHE ? bound_name(roofline->bound) : "-");
    return cell("%s %s", bound_name(roofline->bound), quantity_share(roofline->share).text);
}

static void print_kinds(const struct page *page, const struct summary *summary,
                        const struct table_choice *choice)
{
    const struct operator_kinds *kinds = &summary->operator_kinds;
    const struct headings headings = headings_of(summary);
    const struct whole whole = whole_of(summary, false);
    bool device = kinds->device_ns > 0;
    const struct column columns[] = {
        { "share", 6, 0 },
        { device ? headings.total : "CPU total", 8, 0 },
        { "mean", 8, 2 },
        { "# of Calls", 6, 0 },
        { "FLOP/s", 8, 3 },
        { "B/s", 8, 4 },
        { "Roofline", 8, 1 },
        { "Kind", PAGE_CUT, 0 },
        { "Input Shapes", PAGE_CUT, 0 },
    };
    int64_t shown = table_rows(choice, kinds->count);
    struct page_rows *rows;

    if (kinds->count == 0)
        return;
    table_heading(page, "Operators by kind and shape", shown, kinds->count);
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int64_t i = 0; i < shown; i++) {
        const struct operator_kind *kind = &kinds->rows[i];
        double ns = (double)(device ? kind->device_ns : kind->host_ns);
        struct roofline roofline =
            roofline_of(&summary->trace->ceilings, kind->flops, kind->bytes, ns);
        char name[NAME_SIZE], dims[NAME_SIZE];
        PAGE_ROW(rows, NULL,
                 quantity_share(ns / (device ? whole.device_ns : (double)kinds->host_ns)).text,
                 quantity_time(ns).text,
                 quantity_time(ns / (double)(kind->count > 0 ? kind->count : 1)).text,
                 quantity_count(kind->count).text, rate_cell(kind->flops, ns, "FLOP/s").text,
                 rate_cell(kind->bytes, ns, "B/s").text, bound_cell(&roofline).text,
                 cell_name(name, kind->name),
                 cell_dims(dims, trace_file_name(summary->trace, kind->dims)));
    }
    page_rows_print(page, rows);
}

void operator_tables(const struct page *page, const struct summary *summary,
                     const struct table_choice *choice)
{
    const struct span_row **sorted = malloc(((size_t)summary->spans.count + 1) * sizeof *sorted);

    if (sorted == NULL) {
        page_paragraph(page, INK_DOUBTFUL, "There is no memory left for the tables of operators.");
        return;
    }
    spans_sort(sorted, &summary->spans, choice->order);
    print_spans(page, summary, "Phases", true, sorted, choice);
    print_kinds(page, summary, choice);
    print_spans(page, summary, "Operators and calls", false, sorted, choice);
    free(sorted);
}
