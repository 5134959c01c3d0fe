/* The tables of a diagnosis: the mix of a transformer, kernels, copies, phases, operators and
 * memory.
 *
 * Columns of operators have PyTorch's headings (key_averages().table()). "CUDA" stands for the
 * device where PyTorch says so, on NVIDIA's and on AMD's; other devices, ours on the CPU among
 * them, are "device". */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/diagnosis.h"
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
