/* A history, for people and for programs. */
#pragma once

#include "harness/desk/compare/history/history.h"
#include "harness/text/page.h"

/* Every row: its figures, its course, and its changes. */
void history_page(const struct page *page, const struct history *history);

/* The rows whose last state is another than the one before it, and whether the check passes. */
void history_check_page(const struct page *page, const struct history *history);

/* docs/history.md documents the members. *text is malloc'd. */
enum status history_json(const struct history *history, const struct history_file *file,
                         char **text);

/* The course of `count` values in at most `columns` characters, each the median of as many values:
 * blocks of eight heights, or in ASCII. Values that are all equal are drawn at half of the height.
 * `text` has room for 3 bytes per column and a '\0'. */
void history_sparkline(char *text, const double *values, int count, int columns, bool utf8);
