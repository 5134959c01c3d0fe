/* The tables of a diagnosis: the mix of a transformer, kernels, copies, phases, operators and
 * memory.
 *
 * Columns of operators have PyTorch's headings (key_averages().table()). "CUDA" stands for the
 * device where PyTorch says so, on NVIDIA's and on AMD's; other devices, ours on the CPU among
 * them, are "device". */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/program_times.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/text/page.h"

/* Those of which the trace has something; the first rows of each. */
void diagnosis_tables(const struct page *page, const struct summary *summary,
                      const struct table_choice *choice);

/* Those of annotations and operators among them (operator_tables.c). Without memory for their order
 * they are not printed, and the page says so. */
void operator_tables(const struct page *page, const struct summary *summary,
                     const struct table_choice *choice);

/* The figures that the rules looked at: this trace's figure, what is good, what is bad, and who
 * says so. */
void diagnosis_thresholds(const struct page *page, const struct findings *findings);

/* --- Cells --- */

/* Cells and headings that tables of several pages share. */

enum { NAME_SIZE = 4096, CELL_SIZE = 24 };

/* A name without what C++ names repeat in every row, in `text`, which it returns. */
const char *cell_name(char text[NAME_SIZE], const char *name);

void cell_stamp(char text[CELL_SIZE], int64_t ns); /* "1500.250", in us as in a trace */

/* How many rows of `count` the choice shows. */
int64_t table_rows(const struct table_choice *choice, int64_t count);

/* "Kernels: 8 of 34, totals of the trace": the parts of the page above it are per step. */
void table_heading(const struct page *page, const char *what, int64_t shown, int64_t all);

/* --- The longest gaps --- */

/* The longest times in which no device worked. */
enum { LONGEST_GAPS = 20, LONGEST_GAPS_ON_PAGE = 5 };

struct longest_gaps {
    struct idle_gap items[LONGEST_GAPS]; /* the longest first */
    int count;
};

struct longest_gaps longest_gaps_of(struct arena *arena, const struct summary *summary);

/* A table of the first few: when each begins, in the file's microseconds, between which work, what
 * the host did and in which line of the program. Nothing, if no device works in the trace. */
void longest_gaps_print(const struct page *page, const struct summary *summary);

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
