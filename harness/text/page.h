/* A page of headings, paragraphs, items and tables: for people at a terminal, or as Markdown. What the
 * page says is written once and printed as either.
 *
 * Text may hold anything, names from a broken file too: control characters, which a terminal would
 * obey, are printed as "?", and what Markdown would take for its own is escaped. */
#ifndef HARNESS_TEXT_PAGE_H
#define HARNESS_TEXT_PAGE_H

#include "harness/text/terminal.h"

#include <stdbool.h>

struct page {
    struct console console;
    bool markdown;
};

struct page page_console(FILE *stream, enum color color);
struct page page_markdown(FILE *stream);

enum ink { INK_PLAIN, INK_DIM, INK_GOOD, INK_DOUBTFUL, INK_BAD };

/* A page's own title, and that of a part of it. */
void page_title(const struct page *page, const char *text);
void page_heading(const struct page *page, const char *text);

/* Wrapped to the width. Cut after 2047 bytes. */
void page_paragraph(const struct page *page, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "1. name: text        note", with the note in `ink`; paragraphs of it are page_detail(). */
void page_item(const struct page *page, int number, const char *name, const char *text,
               enum ink ink, const char *note);
void page_detail(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A column's width as printf takes it: negative is left-aligned. 0, in the last column, is left-aligned
 * text that is cut where the line ends; Markdown cuts nothing. */
struct column {
    const char *heading;
    int width;
};
enum { PAGE_COLUMNS = 10 }; /* of a table, at most */
void page_table(const struct page *page, const struct column *columns, int count);
void page_row(const struct page *page, const struct column *columns, int count,
              const char *const cells[]);

/* A bar for a cell: `share` of `full` characters, rounded, at least one for what is not nothing. */
enum { BAR_SIZE = 64 };
void page_bar(char text[BAR_SIZE], double share, int full);

#endif
