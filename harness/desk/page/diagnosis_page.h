/* A diagnosis for people: what was read, where the step's time went, what is wrong, and the tables
 * that one looks at next. The ranks of a run have one page together (diagnosis_ranks()). */
#pragma once

#include "harness/desk/diagnosis/checklist.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/program_times.h"
#include "harness/text/page.h"

/* Printed beside the usual, or instead. */
struct diagnosis_view {
    int only;     /* the trace whose page it is; -1: one page for a run, else one for each trace */
    int timeline; /* steps to draw (timeline_text()), of a run those of its slow rank; 0: none */
    bool thresholds;
    bool checklist; /* instead of tables and findings: the seven questions */
    bool unnamed;   /* without what tells the answer: name of the file, headline and findings */
};

/* OUT_OF_MEMORY. */
enum status diagnosis_page(const struct page *page, const struct diagnosis *diagnosis,
                           const struct diagnosis_view *view);

/* The findings of the first trace alone, after reasons to doubt them. */
void diagnosis_brief(const struct page *page, const struct diagnosis *diagnosis);

/* The time that costs are a share of: the untraced step where the trace states it, else the step of
 * the findings' evidence, or the trace where nothing marks steps. */
struct diagnosis_whole {
    double ns;     /* 0: unknown */
    char text[96]; /* "the 2.40 ms step" */
};
struct diagnosis_whole diagnosis_whole(const struct facts *facts);

/* "Costs 840 us per step, 35% of the 2.40 ms step; predicted gain 1.50x; high confidence.", without
 * what is not known. */
void diagnosis_cost(char *text, size_t size, const struct finding *finding,
                    const struct diagnosis_whole *whole);

/* The seven questions with their answers, the figures that decided, and the findings behind
 * them. */
void diagnosis_checklist(const struct page *page, const struct checklist *checklist);

/* The most important sentence of a page. */
void diagnosis_headline(const struct page *page, const struct headline *headline);

/* The last lines of a page, which a terminal still shows: what holds the step back first, what that
 * costs, and the command that explains it. */
void diagnosis_answer(const struct page *page, const struct findings *findings,
                      const struct diagnosis_whole *whole);

/* A finding as an item. `ranks`: which ranks have it, a line before the evidence; "": none. */
void diagnosis_finding(const struct page *page, int number, const struct finding *finding,
                       const char *ranks, const struct diagnosis_whole *whole);

/* The page of what_if_page.c: the step of trace number `which` as recorded, and without the causes
 * that the diagnosis chose, a bar each on one time scale (what_if.h). */
void what_if_page(const struct page *page, const struct diagnosis *diagnosis, int which);

/* --- Parts of the page --- */

/* Where the wall time of a recorded program went. */
void program_page(const struct page *page, const struct program_times *times);

/* One page for the ranks of a run: what holds it back, a line per rank, which rank is slow, and
 * each finding once. */

/* OUT_OF_MEMORY. */
enum status diagnosis_ranks(const struct page *page, const struct diagnosis *diagnosis,
                            const struct diagnosis_view *view);

/* The first finding of a rank that it does not share with the whole run; NULL: none. */
const struct finding *diagnosis_rank_finding(const struct diagnosis *diagnosis, int which);

/* Says in a sentence or two which rank the others wait for, how long, and what that costs; or that
 * none is slow. */
enum { SLOW_RANK_TEXT = 640 };
void slow_rank_text(char *text, size_t size, const struct diagnosis *diagnosis);

/* A part of a trace (excerpt.h) drawn in characters: steps, phases, threads, streams, and why the
 * device was idle.
 *
 * A character stands for an equal part of the time and shows what took most of it: a capital letter
 * or "#" where that is half of it or more, a small letter or "+" where it is less. Only letters
 * that are in the drawing are explained below it. */

/* As a part of a page, with a heading. At most `steps` steps, at least one. OUT_OF_MEMORY. */
enum status timeline_text(const struct page *page, const struct summary *summary, int steps);
