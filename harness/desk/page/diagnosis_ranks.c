/* The page of a run: doubts, a line per rank, the slow rank, the timeline, and each finding once,
 * with the ranks that have it. */
#include "harness/desk/page/diagnosis_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/program_times.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static long long rank_of(const struct diagnosis *diagnosis, int64_t which)
{
    return (long long)diagnosis->traces[which]->rank;
}

/* Whether all ranks have a finding alike: it tells nothing about one of them. */
static bool is_of_the_run(const struct diagnosis *diagnosis, const char *id)
{
    const struct run_findings *run = &diagnosis->run;

    for (int64_t i = 0; i < run->findings.count; i++)
        if (strcmp(run->findings.items[i].id, id) == 0)
            return !run->spreads[i].differs;
    return false;
}

const struct finding *diagnosis_rank_finding(const struct diagnosis *diagnosis, int which)
{
    const struct findings *findings = &diagnosis->findings[which];

    for (int64_t i = 0; i < findings->count; i++)
        if (!is_of_the_run(diagnosis, findings->items[i].id))
            return &findings->items[i];
    return NULL;
}

/* --- A line per rank --- */

static const struct column columns[] = {
    { "rank", 5, 0 },    { "step", 8, 0 },    { "busy", 6, 3 },
    { "compute", 8, 1 }, { "commun.", 8, 0 }, { "exposed", 8, 0 },
    { "waits", 8, 0 },   { "data", 8, 2 },    { "first finding", PAGE_CUT, 0 },
};

static void add_rank(struct page_rows *rows, const struct diagnosis *diagnosis, int which)
{
    const struct rank_figures *figures = &diagnosis->together->figures[which];
    const struct finding *finding = diagnosis_rank_finding(diagnosis, which);
    enum ink inks[ARRAY_SIZE(columns)] = { INK_PLAIN };

    if (slow_rank_matters(&diagnosis->together->slow) &&
        rank_is_slow(&diagnosis->together->slow, figures))
        inks[0] = INK_BAD;
    PAGE_ROW(rows, inks, quantity_count(rank_of(diagnosis, which)).text,
             quantity_time(figures->step_ns).text, cell("%.1f%%", 100 * figures->busy_share).text,
             quantity_time(figures->compute_ns).text, quantity_time(figures->communication_ns).text,
             quantity_time(figures->exposed_ns).text, quantity_time(figures->waits_ns).text,
             quantity_time(figures->part_ns[STEP_DATA_LOADING]).text,
             finding != NULL ? finding->id : "-");
}

/* --- Their programs --- */

static const struct column program_columns[] = {
    { "rank", 5, 0 },
    { "program", 8, 0 },
    { "before", 8, 0 },
    { "steps", 8, 0 },
    { "beyond", 8, 0 },
    { "no core", 8, 0 },
    { "recorded", 8, 0 },
    { "after", 8, 0 },
    { "most of what is beyond usual steps", PAGE_CUT, 0 },
};

static void add_program(struct page_rows *rows, const struct program_times *times, long long rank)
{
    const struct program_line *line = program_times_line(times, "long");
    char place[CALL_PLACE_TEXT] = "-";

    if (line != NULL)
        call_place_text(place, sizeof place, &line->where);
    PAGE_ROW(rows, NULL, quantity_count(rank).text, quantity_time(1e9 * times->wall_s).text,
             quantity_time(1e9 * times->before_s).text,
             quantity_time(1e9 * (times->steps_s - times->long_s)).text,
             quantity_time(1e9 * times->long_s).text, quantity_time(1e9 * times->core_wait_s).text,
             quantity_time(1e9 * times->recording_s).text, quantity_time(1e9 * times->after_s).text,
             place);
}

/* A line per rank whose whole program was timed: rare work of one holds up all others. */
static void print_programs(const struct page *page, const struct diagnosis *diagnosis)
{
    const struct program_times *programs = diagnosis->programs;
    struct page_rows *rows = NULL;

    for (int i = diagnosis_next_rank(diagnosis, -1); programs != NULL && i >= 0;
         i = diagnosis_next_rank(diagnosis, diagnosis->traces[i]->rank)) {
        if (!(programs[i].wall_s > 0))
            continue;
        if (rows == NULL) {
            page_heading(page, "Programs: wall time from start to end");
            rows = page_rows_open(program_columns, ARRAY_SIZE(program_columns));
        }
        add_program(rows, &programs[i], rank_of(diagnosis, i));
    }
    if (rows != NULL)
        page_rows_print(page, rows);
}

/* --- The slow rank --- */

void slow_rank_text(char *text, size_t size, const struct diagnosis *diagnosis)
{
    const struct slow_rank *slow = &diagnosis->together->slow;
    struct quantity_text step = quantity_time(slow->step_ns), lost = quantity_time(slow->lost_ns);

    text[0] = '\0';
    if (slow->which < 0) {
        snprintf(text, size,
                 "The ranks cannot be compared: that takes two whole traces with communication.");
        return;
    }
    if (!slow_rank_matters(slow)) {
        snprintf(text, size,
                 "No rank is slow: as fast as the next one, the slowest, rank %lld, would make the "
                 "%s step %s shorter.",
                 rank_of(diagnosis, slow->which), step.text, lost.text);
        return;
    }
    text_append(text, size, "Rank %lld comes last", rank_of(diagnosis, slow->which));
    if (slow->near > 0)
        text_append(text, size, ", and %lld more %s as slow", (long long)slow->near,
                    slow->near == 1 ? "is" : "are");
    text_append(text, size, ": the others wait for it for %s per step (median).",
                quantity_time(slow->typical_ns - slow->least_ns).text);
    if (slow_rank_does(slow) != NULL)
        text_append(text, size, " It %s for %s per step, the others for %s.", slow_rank_does(slow),
                    quantity_time(slow->part_ns).text, quantity_time(slow->part_typical_ns).text);
    text_append(text, size, " As fast as the next rank, it would make the step %s instead of %s.",
                quantity_time(slow->step_ns - slow->lost_ns).text, step.text);
}

static void print_slow(const struct page *page, const struct diagnosis *diagnosis)
{
    const struct slow_rank *slow = &diagnosis->together->slow;
    char text[SLOW_RANK_TEXT];

    slow_rank_text(text, sizeof text, diagnosis);
    page_paragraph(page,
                   slow->which < 0           ? INK_DIM
                   : slow_rank_matters(slow) ? INK_BOLD
                                             : INK_PLAIN,
                   "%s", text);
}

/* --- Reasons to doubt --- */

/* Ranks of the world that no file is of. */
static void print_missing(const struct page *page, const struct diagnosis *diagnosis)
{
    enum { NAMED_MOST = 8 };
    int64_t world = diagnosis->traces[0]->world_size, missing = world - diagnosis->run_count,
            named = 0;
    char text[240] = "";

    if (missing <= 0)
        return;
    for (int64_t rank = 0; rank < world && named < NAMED_MOST; rank++)
        if (diagnosis_rank(diagnosis, rank) < 0)
            text_append(text, sizeof text, "%s%lld", named++ > 0 ? ", " : "", (long long)rank);
    if (missing > named)
        text_append(text, sizeof text, " and %lld more", (long long)(missing - named));
    page_paragraph(page, INK_DOUBTFUL, "Missing: rank%s %s.", missing == 1 ? "" : "s", text);
}

/* Doubts of a rank name it, since the page is of all. */
static void print_doubts(const struct page *page, const struct diagnosis *diagnosis)
{
    const struct sound_row *processes = &diagnosis->summaries[0].soundness.rows[SOUND_PROCESSES];

    if (processes->count > 0)
        page_paragraph(page, INK_DIM, "%s: each is taken for a rank.", processes->found);
    print_missing(page, diagnosis);
    for (int i = diagnosis_next_rank(diagnosis, -1); i >= 0;
         i = diagnosis_next_rank(diagnosis, diagnosis->traces[i]->rank)) {
        const struct trace_file *trace = diagnosis->traces[i];
        const struct sound_row *rows = diagnosis->summaries[i].soundness.rows;
        /* Checks that cost trust; the page of the rank shows them with the others. */
        for (int check = SOUND_WHOLE + 1; check < SOUND_CHECK_COUNT; check++)
            if (rows[check].trust != TRUST_WHOLE)
                page_paragraph(page, INK_DOUBTFUL, "Rank %lld: %s.", rank_of(diagnosis, i),
                               rows[check].found);
        if (trace->partial)
            page_paragraph(page, INK_DOUBTFUL, "Rank %lld is partial and not compared: %s.",
                           rank_of(diagnosis, i), trace->partial_reason);
        else if (trace->dropped_count > 0)
            page_paragraph(page, INK_DOUBTFUL,
                           "Rank %lld is not compared: its recorder dropped %lld record%s.",
                           rank_of(diagnosis, i), (long long)trace->dropped_count,
                           trace->dropped_count == 1 ? "" : "s");
    }
}

/* --- Findings, each once --- */

/* "3 of 8 ranks, 1.2 ms to 4.0 ms; most on rank 5:". The evidence behind it is of that rank. */
static void describe_spread(char *text, size_t size, const struct diagnosis *diagnosis,
                            const struct finding_spread *spread)
{
    struct quantity_text least = quantity_time(spread->least_ns),
                         most = quantity_time(spread->most_ns);
    bool costs = spread->most_ns > 0;
    char range[96] = "";

    if (costs && strcmp(least.text, most.text) != 0)
        snprintf(range, sizeof range, ", %s to %s", least.text, most.text);
    else if (costs)
        snprintf(range, sizeof range, ", %s", most.text);
    if (spread->count == 1)
        snprintf(text, size, "Rank %lld only:", rank_of(diagnosis, spread->which));
    else
        snprintf(text, size, "%lld of %d ranks%s; %s rank %lld:", (long long)spread->count,
                 diagnosis->run_count, range, costs ? "most on" : "on",
                 rank_of(diagnosis, spread->which));
}

static void print_findings(const struct page *page, const struct diagnosis *diagnosis)
{
    const struct run_findings *run = &diagnosis->run;

    page_heading(page, "Findings");
    if (run->findings.count == 0)
        page_paragraph(page, INK_DIM, "None.");
    for (int64_t i = 0; i < run->findings.count; i++) {
        const struct finding_spread *spread = &run->spreads[i];
        struct diagnosis_whole whole = diagnosis_whole(&diagnosis->facts[spread->which]);
        char ranks[200] = "";
        if (spread->differs)
            describe_spread(ranks, sizeof ranks, diagnosis, spread);
        diagnosis_finding(page, (int)i + 1, &run->findings.items[i], ranks, &whole);
    }
}

/* The first finding is of the rank that has it most, so its cost is a share of that rank's step. */
static void print_answer(const struct page *page, const struct diagnosis *diagnosis)
{
    const struct run_findings *run = &diagnosis->run;
    struct diagnosis_whole whole =
        diagnosis_whole(&diagnosis->facts[run->findings.count > 0 ? run->spreads[0].which : 0]);

    diagnosis_answer(page, &run->findings, &whole);
}

/* --- The page --- */

/* The slow rank's, or else that of the first file. */
static enum status print_timeline(const struct page *page, const struct diagnosis *diagnosis,
                                  int steps)
{
    int64_t which =
        slow_rank_matters(&diagnosis->together->slow) ? diagnosis->together->slow.which : 0;

    if (steps == 0)
        return STATUS_OK;
    fputc('\n', page->console.stream);
    page_paragraph(page, INK_PLAIN, "Rank %lld:", rank_of(diagnosis, which));
    return timeline_text(page, &diagnosis->summaries[which], steps);
}

enum status diagnosis_ranks(const struct page *page, const struct diagnosis *diagnosis,
                            const struct diagnosis_view *view)
{
    struct page_rows *rows;
    char title[64];

    snprintf(title, sizeof title, "%d of %lld ranks", diagnosis->run_count,
             (long long)diagnosis->traces[0]->world_size);
    page_title(page, title);
    print_doubts(page, diagnosis);
    diagnosis_headline(page, &diagnosis->run.findings.headline);
    if (view->checklist) {
        struct checklist checklist = checklist_of_diagnosis(diagnosis, -1);
        diagnosis_checklist(page, &checklist);
        print_answer(page, diagnosis);
        return STATUS_OK;
    }
    page_heading(page, "Ranks: means per step");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = diagnosis_next_rank(diagnosis, -1); i >= 0;
         i = diagnosis_next_rank(diagnosis, diagnosis->traces[i]->rank))
        add_rank(rows, diagnosis, i);
    page_rows_print(page, rows);
    print_programs(page, diagnosis);
    print_slow(page, diagnosis);
    TRY(print_timeline(page, diagnosis, view->timeline));
    print_findings(page, diagnosis);
    fputc('\n', page->console.stream);
    page_paragraph(page, INK_DIM, "--rank=N prints the page of one rank, with its tables.");
    print_answer(page, diagnosis);

    return STATUS_OK;
}
