/* Cells and headings that the tables of a diagnosis share. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/text/page.h"

enum { NAME_SIZE = 4096, CELL_SIZE = 24 };

/* A name without what C++ names repeat in every row. */
void cell_name(char text[NAME_SIZE], const char *name);

void cell_percent(char text[CELL_SIZE], double share); /* "12.5%"; "-" where it is not finite */
void cell_count(char text[CELL_SIZE], int64_t count);

void cell_stamp(char text[CELL_SIZE], int64_t ns); /* "1500.250", in us as in a trace */

/* How many rows of `count` the choice shows. */
int64_t table_rows(const struct table_choice *choice, int64_t count);

/* "Kernels: 8 of 34, totals of the trace": the parts of the page above it are per step. */
void table_heading(const struct page *page, const char *what, int64_t shown, int64_t all);
