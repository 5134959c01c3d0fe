/* A table that is laid out once all its rows are known: its columns are as wide as their cells, and
 * fit the terminal by rule. Tables whose rows are printed as they come use page_table() and
 * page_row().
 *
 * A column in which every cell is "-" or empty is left out. Where the room is short, columns are
 * left out by their `drop`; then names (PAGE_CUT, in any place) are cut to what is left, but two
 * different names are not cut to the same text; columns that still do not fit stand on a line
 * below. In a file, a pipe and Markdown there is room for everything. */
#pragma once

#include "harness/text/page.h"

struct page_rows;

/* NULL where no memory is left; the functions below then do nothing, but page_rows_print() says so.
 * Headings are not copied. */
struct page_rows *page_rows_open(const struct column *columns, int count);
void page_rows_close(struct page_rows *rows);

/* Copies the cells. `inks` has one for each; NULL: all plain. */
void page_rows_add(struct page_rows *rows, const char *const cells[], const enum ink inks[]);
/* The cells of a row as a list, in which they may be made: PAGE_ROW(rows, NULL, name,
 * quantity_time(ns).text, cell("%d of %d", rank, count).text). */
#define PAGE_ROW(rows, inks, ...) page_rows_add(rows, (const char *const[]){ __VA_ARGS__ }, inks)

int page_rows_count(const struct page_rows *rows);
bool page_rows_any(const struct page_rows *rows); /* or some for which no memory was left */

/* Settles the layout, once, when all rows are there; before the two below. */
void page_rows_fit(const struct page *page, struct page_rows *rows);
void page_rows_heading(const struct page *page, const struct page_rows *rows);
void page_rows_range(const struct page *page, const struct page_rows *rows, int from, int to);

/* Fits, prints the heading and all rows, and closes. */
void page_rows_print(const struct page *page, struct page_rows *rows);
