/* A kernel on a page: what is wrong in it, or else its counts, the lines of its source, what the
 * rules find, and how its arrays begin. */
#include "harness/lab/kernel/kernel_output.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/lab/kernel/kernel_bound.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINES_SHOWN = 24 };

/* Cells of tables. */
static struct cell integer(uint64_t number)
{
    return cell("%llu", (unsigned long long)number);
}

static struct cell figure(double number)
{
    return cell("%.4g", number);
}

/* "-" if there is no access of that kind. */
static struct cell accesses_cell(const struct simt_accesses *of)
{
    return of->requests == 0 ? cell("-")
                             : cell("%.3g of %.3g", simt_ratio(of->touched, of->requests),
                                    simt_ratio(of->wanted, of->requests));
}

/* --- The machine's own finding --- */

static void print_wrong(const struct page *page, const struct simt_finding *finding, int number)
{
    page_item(page, number, simt_finding_text(finding->kind), finding->place, INK_BAD, "error");
    if (finding->instruction[0] != '\0')
        page_detail(page, "Instruction: %s", finding->instruction);
    page_detail(page, "%s", finding->detail);
}

/* --- Its bound --- */

static void print_mix(const struct page *page, const struct simt_mix *mix, uint64_t instructions)
{
    char text[300] = "";

#define SAY(id, name)                                                                              \
    if (mix->of[SIMT_##id] > 0)                                                                    \
        text_join(text, sizeof text, ", ", "%.0f%% %s",                                            \
                  100 * simt_ratio(mix->of[SIMT_##id], instructions), name);
    SIMT_WORKS(SAY)
#undef SAY
    page_paragraph(page, INK_PLAIN, "Instructions of the PTX: %s.", text);
}

/* Parts that take a tenth of the bound, after the one that sets it. */
static void print_bound(const struct page *page, const struct kernel_facts *facts)
{
    struct kernel_bound bound = kernel_bound_of(facts);
    double least = bound.ns[bound.by];
    char others[400] = "", more[160] = "";

    if (least <= 0)
        return;
    for (int part = 0; part < BOUND_PART_COUNT; part++)
        if (part != (int)bound.by && bound.ns[part] >= 0.1 * least)
            text_join(others, sizeof others, ", ", "%s by %s", quantity_time(bound.ns[part]).text,
                      bound_rows[part].name);
    if (bound.cold_ns > least)
        snprintf(more, sizeof more, "%s if its arrays come from memory",
                 quantity_time(bound.cold_ns).text);
    if (facts->outcome->mix.flops > 0 && isfinite(bound.flops_per_byte))
        text_join(more, sizeof more, "; ", "%.3g flops per byte", bound.flops_per_byte);
    page_paragraph(page, INK_PLAIN, "Least time on sm_%d (%s): %s, by %s%s%s%s%s%s.",
                   facts->architecture->number, facts->architecture->gpu, quantity_time(least).text,
                   bound_rows[bound.by].name, others[0] != '\0' ? " (" : "", others,
                   others[0] != '\0' ? ")" : "", more[0] != '\0' ? "; " : "", more);
}

/* --- Counts --- */

static void add_accesses(struct page_rows *rows, const char *name, const char *unit,
                         const struct simt_accesses *of)
{
    if (of->requests > 0)
        PAGE_ROW(rows, NULL, name, integer(of->requests).text, integer(of->bytes).text,
                 figure(simt_ratio(of->bytes, of->lanes)).text,
                 figure(simt_ratio(of->touched, of->requests)).text,
                 figure(simt_ratio(of->wanted, of->requests)).text, unit);
}

static void print_accesses(const struct page *page, const struct simt_counts *counts)
{
    static const struct column columns[] = {
        { "accesses", -14, 0 },    { "requests", 9, 0 },     { "bytes", 10, 0 },
        { "bytes a lane", 12, 1 }, { "per request", 11, 0 }, { "would do", 8, 0 },
        { "of", -7, 0 },
    };
    struct page_rows *rows = page_rows_open(columns, (int)ARRAY_SIZE(columns));

    page_heading(page, "accesses");
#define ADD(name, space, access, unit) add_accesses(rows, name, unit, &counts->space[access]);
    KERNEL_ACCESSES(ADD)
#undef ADD
    page_rows_print(page, rows);
}

static void print_counts(const struct page *page, const struct kernel_output *output)
{
    const struct simt_counts *counts = &output->facts.outcome->counts;
    const struct residency *residency = &output->facts.residency;

    page_paragraph(page, INK_PLAIN,
                   "%llu warps, %llu instructions with %.3g of 32 lanes on average; %.0f%% of the "
                   "branches part lanes; %llu barriers passed, of which %llu were needed.",
                   (unsigned long long)counts->warps, (unsigned long long)counts->instructions,
                   simt_ratio(counts->lanes, counts->instructions),
                   100 * simt_ratio(counts->diverged, counts->branches),
                   (unsigned long long)counts->passed, (unsigned long long)counts->needed);
    if (counts->waits > 0)
        page_paragraph(page, INK_PLAIN,
                       "A warp waits %.3g times for loads, for %.3g loads and %.0f bytes each.",
                       simt_ratio(counts->waits, counts->warps),
                       simt_ratio(counts->global[SIMT_LOADS].requests, counts->waits),
                       simt_ratio(counts->global[SIMT_LOADS].bytes, counts->waits));
    if (residency->warps == 0)
        page_paragraph(page, INK_DOUBTFUL, "No block fits on sm_%d.",
                       output->facts.architecture->number);
    else
        page_paragraph(page, INK_PLAIN,
                       "sm_%d (%s): %d registers a thread%s, %d of %d warps on a multiprocessor "
                       "(%d blocks, by "
                       "%s); %lld of %lld blocks at a time, %lld wave%s.",
                       output->facts.architecture->number, output->facts.architecture->gpu,
                       output->facts.needs.registers,
                       output->facts.is_from_ptxas ? "" : " in the PTX; ptxas may need others",
                       residency->warps, residency->most_warps, residency->blocks,
                       residency_limit_text(residency->limit),
                       (long long)(residency->waves > 1 ? residency->wave : residency->last),
                       (long long)residency->wave, (long long)residency->waves,
                       residency->waves == 1 ? "" : "s");
    print_mix(page, &output->facts.outcome->mix, counts->instructions);
    print_bound(page, &output->facts);
    print_accesses(page, counts);
}

/* --- Lines --- */

/* Line `number` of the source, without its indentation; "" if it is not known. */
static void source_line(char *text, size_t size, const char *source, int number)
{
    text[0] = '\0';
    for (int line = 1; source != NULL && line < number; line++) {
        source = strchr(source, '\n');
        source = source != NULL ? source + 1 : NULL;
    }
    if (source != NULL) {
        source += strspn(source, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(source, "\n"), source);
    }
}

static void add_line(struct page_rows *rows, const struct simt_line *line, const char *source)
{
    char text[200];
    const struct simt_counts *counts = &line->counts;
    struct simt_accesses global = simt_accesses_sum(counts->global),
                         shared = simt_accesses_sum(counts->shared),
                         spilled = simt_accesses_sum(counts->local);

    source_line(text, sizeof text, source, line->line);
    PAGE_ROW(rows, NULL, cell("%.60s:%d", line->file, line->line).text,
             integer(counts->instructions).text,
             figure(simt_ratio(counts->lanes, counts->instructions)).text,
             accesses_cell(&global).text, accesses_cell(&shared).text,
             spilled.requests > 0 ? integer(spilled.requests).text : "-", text);
}

static void print_lines(const struct page *page, const struct kernel_output *output)
{
    static const struct column columns[] = {
        { "line", -12, 0 },        { "instructions", 12, 0 }, { "lanes", 5, 0 },
        { "sectors", 10, 0 },      { "passes", 10, 0 },       { "local", 6, 2 },
        { "source", PAGE_CUT, 1 },
    };
    struct page_rows *rows = page_rows_open(columns, (int)ARRAY_SIZE(columns));
    const struct kernel_outcome *outcome = output->facts.outcome;

    page_heading(page, "lines");
    for (int i = 0; i < outcome->line_count && i < LINES_SHOWN; i++)
        add_line(rows, &outcome->lines[i], output->source);
    page_rows_print(page, rows);
    if (outcome->line_count > LINES_SHOWN)
        page_paragraph(page, INK_DIM, "%d more lines: --format=json has them.",
                       outcome->line_count - LINES_SHOWN);
}

/* --- Findings --- */

static void print_findings(const struct page *page, const struct kernel_output *output)
{
    page_heading(page, "findings");
    if (output->finding_count == 0)
        page_paragraph(page, INK_GOOD, "None of the rules holds.");
    for (int i = 0; i < output->finding_count; i++) {
        const struct kernel_finding *finding = &output->findings[i];
        page_item(page, i + 1, finding->rule->id, finding->rule->title, INK_DOUBTFUL, "");
        page_detail(page, "%s.", finding->text);
        page_detail(page, "Fix: %s.", finding->rule->advice);
        page_command(page, "Lesson:", "explain %s", finding->rule->id);
    }
}

/* --- Arrays --- */

/* As many as fit. */
static void first_elements(char *text, size_t size, const struct kernel_argument *argument,
                           const struct kernel_array *array, int64_t most)
{
    text[0] = '\0';
    for (int64_t i = 0; i < argument->count && i < most; i++)
        if (!text_join(text, size, " ", "%.6g", kernel_element(argument->type, array->elements, i)))
            return;
    if (argument->count > most)
        text_join(text, size, " ", "%s", "...");
}

static void print_arrays(const struct page *page, const struct kernel_output *output)
{
    static const struct column columns[] = {
        { "argument", 8, 0 }, { "type", -12, 0 },        { "read", 10, 0 },
        { "written", 10, 0 }, { "begins", PAGE_CUT, 0 },
    };
    struct page_rows *rows = page_rows_open(columns, (int)ARRAY_SIZE(columns));
    const struct kernel_outcome *outcome = output->facts.outcome;

    page_heading(page, "arrays");
    for (int i = 0; i < outcome->array_count; i++) {
        const struct kernel_argument *argument = &output->facts.run->arguments[i];
        const struct kernel_array *array = &outcome->arrays[i];
        char begins[200];
        if (argument->count == 0)
            continue;
        first_elements(begins, sizeof begins, argument, array, output->elements);
        PAGE_ROW(
            rows, NULL, quantity_count(i + 1).text,
            cell("%s[%lld]", kernel_type_name(argument->type), (long long)argument->count).text,
            integer(array->footprint.read).text,
            integer(array->footprint.written + 4 * array->footprint.atomic_words).text, begins);
    }
    page_rows_print(page, rows);
}

void kernel_page(const struct page *page, const struct kernel_output *output)
{
    const struct kernel_run *run = output->facts.run;
    const struct kernel_outcome *outcome = output->facts.outcome;
    char title[400];

    snprintf(title, sizeof title, "%s (%s): %u x %u x %u blocks of %u x %u x %u threads",
             outcome->kernel_name, output->file, run->blocks[0], run->blocks[1], run->blocks[2],
             run->threads[0], run->threads[1], run->threads[2]);
    page_title(page, title);
    if (outcome->finding.kind != SIMT_NONE) {
        page_heading(page, "wrong");
        print_wrong(page, &outcome->finding, 1);
        for (int i = 1; i < outcome->all.count; i++)
            print_wrong(page, &outcome->all.rows[i], i + 1);
        return;
    }
    print_counts(page, output);
    print_lines(page, output);
    print_findings(page, output);
    print_arrays(page, output);
}
