/* The tables at the end of a trace's page, each a const row of columns and a function that fills
 * the cells of a row. page_rows.h decides which columns and rows fit the terminal. */
#include "harness/desk/page/tables/diagnosis_tables.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/utf8.h"
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/text/page_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* --- Cells --- */

enum { ROWS_USUAL = 8 };

/* Leaves out prefixes that most C++ names share: they do not help to tell rows apart. */
const char *cell_name(char text[NAME_SIZE], const char *name)
{
    static const char *const noise[] = { "void ", "(anonymous namespace)::", "at::native::",
                                         "cutlass::Kernel2<", "cutlass::Kernel<" };
    size_t length = 0;

    while (*name != '\0' && length < NAME_SIZE - 1) {
        size_t skipped = 0;
        for (size_t i = 0; i < ARRAY_SIZE(noise) && skipped == 0; i++)
            if (strncmp(name, noise[i], strlen(noise[i])) == 0)
                skipped = strlen(noise[i]);
        if (skipped == 0)
            text[length++] = *name++;
        name += skipped;
    }
    text[length] = '\0';
    return text;
}

void cell_stamp(char text[CELL_SIZE], int64_t ns)
{
    unsigned long long size = ns < 0 ? 0 - (unsigned long long)ns : (unsigned long long)ns;

    snprintf(text, CELL_SIZE, "%s%llu.%03llu", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

void table_heading(const struct page *page, const char *what, int64_t shown, int64_t all)
{
    char heading[96];

    if (shown < all)
        snprintf(heading, sizeof heading, "%s: %lld of %lld, totals of the trace", what,
                 (long long)shown, (long long)all);
    else
        snprintf(heading, sizeof heading, "%s: totals of the trace", what);
    page_heading(page, heading);
}

int64_t table_rows(const struct table_choice *choice, int64_t count)
{
    int64_t most = choice->rows > 0 ? choice->rows : ROWS_USUAL;

    return count < most ? count : most;
}

/* --- Kinds of work --- */

static const struct column kind_columns[] = {
    { "share", 6, 0 }, { "total", 8, 0 }, { "calls", 6, 1 }, { "kind", PAGE_CUT, 0 }
};

static void print_kinds(const struct page *page, const struct mix *mix)
{
    struct page_rows *rows = page_rows_open(kind_columns, ARRAY_SIZE(kind_columns));

    for (int kind = 0; kind < MIX_COUNT; kind++)
        if (mix->count[kind] > 0)
            PAGE_ROW(rows, NULL, quantity_share((double)mix->ns[kind] / (double)mix->all_ns).text,
                     quantity_time((double)mix->ns[kind]).text,
                     quantity_count(mix->count[kind]).text, mix_name(kind));
    page_rows_print(page, rows);
}

static const struct column group_columns[] = { { "here", 6, 0 },
                                               { "usual", 6, 0 },
                                               { "of the layers' time", PAGE_CUT, 0 } };

static void print_groups(const struct page *page, const struct mix *mix)
{
    struct page_rows *rows = page_rows_open(group_columns, ARRAY_SIZE(group_columns));

    fputc('\n', page->console.stream);
    for (int i = 0; i < MIX_GROUP_COUNT; i++)
        PAGE_ROW(rows, NULL, quantity_share(mix_share(mix, (enum mix_group)i)).text,
                 quantity_share(mix_usual[i]).text, mix_group_name((enum mix_group)i));
    page_rows_print(page, rows);
    page_paragraph(page, INK_DIM, "Usual: %s.", mix_source);
}

/* --- Kernels and copies --- */

static bool is_kernel(const struct kernel_row *row)
{
    return row->kind == WORK_COMPUTATION || row->kind == WORK_COMMUNICATION;
}

/* Occupancy says nothing about the CPU device, which has no blocks but rows. */
static bool has_occupancy(const struct trace_file *trace)
{
    for (int i = 0; i < trace->device_count; i++)
        if (trace->devices[i].shares_host_cores == 1)
            return false;
    return true;
}

static const struct column kernel_columns[] = {
    { "share", 6, 0 }, { "total", 8, 0 }, { "mean", 8, 0 },   { "max", 8, 3 },
    { "calls", 6, 0 }, { "occ.", 4, 1 },  { "bl./SM", 6, 2 }, { "kernel", PAGE_CUT, 0 },
};

static void add_kernel(struct page_rows *rows, const struct trace_file *trace,
                       const struct kernel_row *row, double all_ns)
{
    bool occupied = has_occupancy(trace);
    char name[NAME_SIZE];

    PAGE_ROW(rows, NULL, quantity_share((double)row->total_ns / all_ns).text,
             quantity_time((double)row->total_ns).text,
             quantity_time((double)row->total_ns / (double)row->count).text,
             quantity_time((double)row->max_ns).text, quantity_count(row->count).text,
             occupied && isfinite(row->occupancy_percent)
                 ? cell("%.0f%%", row->occupancy_percent).text
                 : "-",
             quantity_of(occupied ? row->blocks_per_sm : NAN, "").text,
             cell_name(name, trace_file_name(trace, row->name)));
}

static const struct column copy_columns[] = {
    { "total", 8, 0 }, { "mean", 8, 1 }, { "calls", 6, 0 },
    { "bytes", 9, 0 }, { "GB/s", 6, 0 }, { "copy", PAGE_CUT, 0 },
};

static void add_copy(struct page_rows *rows, const struct trace_file *trace,
                     const struct kernel_row *row, double all_ns)
{
    double bytes = row->bytes_ns > 0 ? (double)row->bytes : NAN;
    char name[NAME_SIZE];

    (void)all_ns; /* no column is a share */
    PAGE_ROW(rows, NULL, quantity_time((double)row->total_ns).text,
             quantity_time((double)row->total_ns / (double)row->count).text,
             quantity_count(row->count).text, quantity_bytes(bytes).text,
             quantity_of(bytes / (double)row->bytes_ns, "").text,
             cell_name(name, trace_file_name(trace, row->name)));
}

/* A table of kernels, or one of all other work. */
static void print_work(const struct page *page, const struct summary *summary,
                       const struct table_choice *choice, bool of_kernels)
{
    const struct kernels *kernels = &summary->kernels;
    struct page_rows *rows;
    int64_t left, count = 0, total_ns = 0;

    for (int64_t i = 0; i < kernels->count; i++)
        if (is_kernel(&kernels->rows[i]) == of_kernels) {
            count++;
            total_ns += kernels->rows[i].total_ns;
        }
    if (count == 0)
        return;
    left = table_rows(choice, count);
    table_heading(page, of_kernels ? "Kernels" : "Copies and memsets", left, count);
    rows = of_kernels ? page_rows_open(kernel_columns, ARRAY_SIZE(kernel_columns))
                      : page_rows_open(copy_columns, ARRAY_SIZE(copy_columns));
    for (int64_t i = 0; i < kernels->count && left > 0; i++)
        if (is_kernel(&kernels->rows[i]) == of_kernels) {
            (of_kernels ? add_kernel : add_copy)(rows, summary->trace, &kernels->rows[i],
                                                 (double)total_ns);
            left--;
        }
    page_rows_print(page, rows);
}

/* --- Memory --- */

/* Categories are listed by what they have at the peak; those that never have anything are not
 * shown. */
static int64_t used_categories(const struct memory_device *device)
{
    int64_t count = 0;

    while (count < device->category_count &&
           (device->categories[count].at_peak > 0 || device->categories[count].peak > 0))
        count++;
    return count;
}

static const struct column memory_columns[] = {
    { "at peak", 9, 0 },
    { "share", 6, 0 },
    { "own peak", 9, 0 },
    { "category", PAGE_CUT, 0 },
};

/* "Memory of device 0: peak 5.2 MiB, 8.0 MiB reserved, of 16 GiB". */
static void print_memory_heading(const struct page *page, const struct trace_file *trace,
                                 const struct memory_device *device)
{
    const struct event_device *about = trace_file_device(trace, device->device);
    int64_t room = about == NULL                    ? 0
                   : about->memory_budget_bytes > 0 ? about->memory_budget_bytes
                                                    : about->memory_bytes;
    char heading[192], reserved[48] = "", of[48] = "";

    if (device->reserved_at_peak > 0)
        snprintf(reserved, sizeof reserved, ", %s reserved",
                 quantity_bytes((double)device->reserved_at_peak).text);
    if (room > 0)
        snprintf(of, sizeof of, ", of %s", quantity_bytes((double)room).text);
    snprintf(heading, sizeof heading, "Memory%s%s: peak %s%s%s",
             device->device < 0 ? " of the host" : "",
             device->stated ? "" : ", change since the trace began",
             quantity_bytes((double)device->peak).text, reserved, of);
    page_heading(page, heading);
}

static void print_memory(const struct page *page, const struct summary *summary,
                         const struct table_choice *choice)
{
    const struct memory_curve *memory = &summary->memory;
    char name[NAME_SIZE];

    for (int64_t i = 0; i < memory->device_count; i++) {
        const struct memory_device *device = &memory->devices[i];
        double peak = device->peak > 0 ? (double)device->peak : NAN;
        struct page_rows *rows;
        print_memory_heading(page, summary->trace, device);
        if (used_categories(device) == 0)
            continue;
        rows = page_rows_open(memory_columns, ARRAY_SIZE(memory_columns));
        for (int64_t j = 0; j < table_rows(choice, used_categories(device)); j++)
            PAGE_ROW(rows, NULL, quantity_bytes((double)device->categories[j].at_peak).text,
                     quantity_share((double)device->categories[j].at_peak / peak).text,
                     quantity_bytes((double)device->categories[j].peak).text,
                     cell_name(name, trace_file_name(summary->trace, device->categories[j].name)));
        page_rows_print(page, rows);
    }
}

void diagnosis_tables(const struct page *page, const struct summary *summary,
                      const struct table_choice *choice)
{
    if (summary->mix.is_transformer) {
        table_heading(page, "Device work by kind", MIX_COUNT, MIX_COUNT);
        print_kinds(page, &summary->mix);
        if (summary->mix.trains)
            print_groups(page, &summary->mix);
    }
    print_work(page, summary, choice, true);
    print_work(page, summary, choice, false);
    operator_tables(page, summary, choice);
    print_memory(page, summary, choice);
}

/* --- Thresholds --- */

static const struct column threshold_columns[] = {
    { "finding", -20, 0 }, { "figure", -22, 0 }, { "here", 7, 0 },
    { "good", 7, 0 },      { "bad", 7, 0 },      { "threshold and its source", PAGE_BELOW, 0 },
};

/* Shares in percent; of a ratio, which may exceed 1, two decimals would be "131%" all the same. */
static struct cell share_cell(const char *sign, double share)
{
    return cell("%s%.*f%%", sign, share < 0.0995 ? 1 : 0, 100 * share);
}

static void add_threshold(struct page_rows *rows, const struct threshold *threshold)
{
    const struct judged *judged = &threshold->judged;
    bool more_is_better = judged->good > judged->bad;
    const enum ink inks[ARRAY_SIZE(threshold_columns)] = { [2] = threshold->found ? INK_BAD
                                                                                  : INK_PLAIN };

    if (judged->what == NULL)
        PAGE_ROW(rows, inks, threshold->id, "-", threshold->found ? "found" : "-", "-", "-",
                 threshold->source);
    else
        PAGE_ROW(rows, inks, threshold->id, judged->what, share_cell("", judged->value).text,
                 share_cell(more_is_better ? ">= " : "< ", judged->good).text,
                 share_cell(more_is_better ? "< " : ">= ", judged->bad).text, threshold->source);
}

void diagnosis_thresholds(const struct page *page, const struct findings *findings)
{
    struct page_rows *rows = page_rows_open(threshold_columns, ARRAY_SIZE(threshold_columns));

    page_heading(page, "Thresholds");
    for (int64_t i = 0; i < findings->threshold_count; i++)
        add_threshold(rows, &findings->thresholds[i]);
    page_rows_print(page, rows);
    page_paragraph(page, INK_DIM, "-: the trace has nothing that the rule looks at");
}

/* --- The longest gaps --- */

/* Keeps the longest gaps in order while all are visited. */
static void keep_gap(void *context, const struct idle_gap *gap)
{
    struct longest_gaps *longest = context;
    int place = longest->count;

    while (place > 0 && longest->items[place - 1].time.idle_ns < gap->time.idle_ns) place--;
    if (place == LONGEST_GAPS)
        return;
    if (longest->count < LONGEST_GAPS)
        longest->count++;
    memmove(&longest->items[place + 1], &longest->items[place],
            (size_t)(longest->count - 1 - place) * sizeof longest->items[0]);
    longest->items[place] = *gap;
}

struct longest_gaps longest_gaps_of(struct arena *arena, const struct summary *summary)
{
    struct longest_gaps gaps = { .count = 0 };

    idle_visit(arena, &summary->timeline, &summary->steps, &summary->host, keep_gap, &gaps);
    return gaps;
}

/* Two threads find the places of gaps in the code, since each is a search through all calls of
 * the loop. */
struct shown_gaps {
    const struct summary *summary;
    struct longest_gaps gaps;
    int count;
    atomic_int next; /* gap that has no place yet */
    struct call_place places[LONGEST_GAPS_ON_PAGE];
};

static void place_some_gaps(struct arena *arena, void *context)
{
    struct shown_gaps *shown = context;

    for (int i; (i = atomic_fetch_add(&shown->next, 1)) < shown->count;)
        shown->places[i] = finding_place_of_gap(arena, shown->summary, &shown->gaps.items[i]);
}

static void find_gaps(struct arena *arena, void *context)
{
    struct shown_gaps *shown = context;

    shown->gaps = longest_gaps_of(arena, shown->summary);
    shown->count =
        shown->gaps.count < LONGEST_GAPS_ON_PAGE ? shown->gaps.count : LONGEST_GAPS_ON_PAGE;
    arena_run_both(arena, place_some_gaps, place_some_gaps, shown);
}

static const struct column gap_columns[] = {
    { "idle", 8, 0 },         { "step", 6, 0 },      { "from (us in the file)", 21, 0 },
    { "cause", PAGE_CUT, 0 }, { "", PAGE_BELOW, 0 },
};

enum { NAME_COLUMNS = 48 }; /* of a kernel name, which can be a thousand */

static void name_work(char *text, size_t size, const struct summary *summary,
                      const struct work *work, const char *otherwise)
{
    char name[NAME_SIZE];

    cell_name(name, work != NULL ? trace_file_name(summary->trace, work->event->name) : otherwise);
    snprintf(text, size, "%.*s%s", (int)utf8_cut(name, NAME_COLUMNS), name,
             strlen(name) > NAME_COLUMNS ? "..." : "");
}

static void print_gap(const struct page *page, const struct summary *summary,
                      const struct idle_gap *gap, const struct call_place *place)
{
    int64_t step = steps_find(&summary->steps, gap->start_ns);
    char before[NAME_COLUMNS + 8], after[NAME_COLUMNS + 8], where[CALL_PLACE_TEXT] = "";
    char from[CELL_SIZE], text[640];

    cell_stamp(from, gap->start_ns);
    name_work(before, sizeof before, summary, gap->before, "the start");
    name_work(after, sizeof after, summary, gap->after, "the end");
    if (place->kind != PLACE_UNKNOWN)
        call_place_text(where, sizeof where, place);
    snprintf(text, sizeof text, "after %s; before %s%s%s", before, after,
             where[0] != '\0' ? "; " : "", where);
    PAGE_LINE(page, gap_columns, quantity_time((double)gap->time.idle_ns).text,
              step >= 0 ? quantity_count(summary->steps.items[step].number).text : "-", from,
              cell("%s%s", gap_cause_name(gap_cause_longest(&gap->time)),
                   gap->time.drained_count > 0 ? ", after a wait" : "")
                  .text,
              text);
}

void longest_gaps_print(const struct page *page, const struct summary *summary)
{
    struct shown_gaps shown = { .summary = summary };

    if (summary->timeline.work_count == 0)
        return;
    if (arena_run(summary->arena, find_gaps, &shown) != STATUS_OK) {
        page_paragraph(page, INK_DOUBTFUL, "There is no memory left for the table of gaps.");
        return;
    }
    if (shown.count == 0)
        return;
    page_heading(page, "Gaps: the longest times without device work");
    page_table(page, gap_columns, ARRAY_SIZE(gap_columns));
    for (int i = 0; i < shown.count; i++)
        print_gap(page, summary, &shown.gaps.items[i], &shown.places[i]);
}
