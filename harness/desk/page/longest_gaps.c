/* The longest gaps are kept in order while all are visited. Their places in the code are found by
 * two threads, since each is a search through all calls of the loop. */
#include "harness/desk/page/longest_gaps.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/utf8.h"
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/desk/page/tables/table_cells.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

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

/* --- The page --- */

struct shown {
    const struct summary *summary;
    struct longest_gaps gaps;
    int count;
    atomic_int next; /* gap that has no place yet */
    struct call_place places[LONGEST_GAPS_ON_PAGE];
};

static void place_some(struct arena *arena, void *context)
{
    struct shown *shown = context;

    for (int i; (i = atomic_fetch_add(&shown->next, 1)) < shown->count;)
        shown->places[i] = finding_place_of_gap(arena, shown->summary, &shown->gaps.items[i]);
}

static void find_gaps(struct arena *arena, void *context)
{
    struct shown *shown = context;

    shown->gaps = longest_gaps_of(arena, shown->summary);
    shown->count =
        shown->gaps.count < LONGEST_GAPS_ON_PAGE ? shown->gaps.count : LONGEST_GAPS_ON_PAGE;
    arena_run_both(arena, place_some, place_some, shown);
}

static const struct column columns[] = {
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
    struct quantity_text idle = quantity_time((double)gap->time.idle_ns);
    int64_t step = steps_find(&summary->steps, gap->start_ns);
    char before[NAME_COLUMNS + 8], after[NAME_COLUMNS + 8], where[CALL_PLACE_TEXT] = "";
    char number[24] = "-", from[CELL_SIZE], cause[64], text[640];
    const char *const cells[] = { idle.text, number, from, cause, text };

    if (step >= 0)
        snprintf(number, sizeof number, "%" PRId64, summary->steps.items[step].number);
    cell_stamp(from, gap->start_ns);
    snprintf(cause, sizeof cause, "%s%s", gap_cause_name(gap_cause_longest(&gap->time)),
             gap->time.drained_count > 0 ? ", after a wait" : "");
    name_work(before, sizeof before, summary, gap->before, "the start");
    name_work(after, sizeof after, summary, gap->after, "the end");
    if (place->kind != PLACE_UNKNOWN)
        call_place_text(where, sizeof where, place);
    snprintf(text, sizeof text, "after %s; before %s%s%s", before, after,
             where[0] != '\0' ? "; " : "", where);
    page_row(page, columns, ARRAY_SIZE(columns), cells);
}

void longest_gaps_print(const struct page *page, const struct summary *summary)
{
    struct shown shown = { .summary = summary };

    if (summary->timeline.work_count == 0 ||
        arena_run(summary->arena, find_gaps, &shown) != STATUS_OK || shown.count == 0)
        return;
    page_heading(page, "Gaps: the longest times without device work");
    page_table(page, columns, ARRAY_SIZE(columns));
    for (int i = 0; i < shown.count; i++)
        print_gap(page, summary, &shown.gaps.items[i], &shown.places[i]);
}
