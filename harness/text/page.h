/* A page of headings, paragraphs, items and tables: for people at a terminal, or as Markdown. The
 * page is written once and printed as either, by every command that prints tables.
 *
 * Text may hold anything, even names from a broken file: control characters, which a terminal would
 * obey or which reorder text (utf8.h), are printed as "?", and characters that mean something to
 * Markdown are escaped. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* --- The width and the colours of a terminal, or of the file in its place --- */

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Whether `stream` gets colours: COLOR_AUTO means a terminal that is not "dumb", and NO_COLOR unset
 * or empty (https://no-color.org). */
bool console_is_coloured(enum color color, FILE *stream);

/* Whether the locale of the environment is one of UTF-8 (LC_ALL, else LC_CTYPE, else LANG). */
bool console_is_utf8(void);

/* Colours and weights, as escape sequences or as nothing. */
struct console {
    FILE *stream;
    int width; /* columns for sentences: wrap_width() */
    int room;  /* columns for tables and names: wrap_room() */
    const char *bold, *dim, *good, *bad, *doubtful, *plain;
};
struct console console_open(FILE *stream, enum color color);

/* --- A page --- */

struct page {
    struct console console;
    bool markdown;
};

struct page page_console(FILE *stream, enum color color);
struct page page_markdown(FILE *stream);

/* Markdown knows INK_BAD and INK_BOLD, which are bold there. */
enum ink { INK_PLAIN, INK_DIM, INK_GOOD, INK_DOUBTFUL, INK_BAD, INK_BOLD };

/* A page's own title, and that of a part of it. */
void page_title(const struct page *page, const char *text);
void page_heading(const struct page *page, const char *text);

/* An item of a list of contents: a link to the page_title() of that text, by the anchor that GitHub
 * and pandoc's gfm give to a heading. `title` has no brackets. */
void page_contents(const struct page *page, const char *title);

/* Between both calls stands code as it is: in Markdown a fenced block of that language. No line of
 * it may begin with three backticks. */
void page_code_begin(const struct page *page, const char *language);
void page_code_end(const struct page *page);

/* Wrapped to the width. Cut after 2047 bytes. */
void page_paragraph(const struct page *page, enum ink ink, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A paragraph set apart from what is before it, in bold: the totals, say. */
void page_summary(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "name: text", in a list of such. */
void page_note(const struct page *page, const char *name, const char *text);

/* "name  text        note", with the note in `ink`: the heading of a part that has a result of its
 * own. Text that does not fit beside the note goes on below. */
void page_entry(const struct page *page, const char *name, const char *text, enum ink ink,
                const char *note);

/* "1. name: text        note", with the note in `ink`; paragraphs of it are page_detail(). */
void page_item(const struct page *page, int number, const char *name, const char *text,
               enum ink ink, const char *note);
void page_detail(const struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A command of this program that readers may copy, below its item: the label, then the program as
 * it was called (in Markdown without its folder) with these arguments. It is never cut, and broken
 * only as a shell takes it. Without a label it stands by itself. */
void page_command(const struct page *page, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A column's width as printf takes it: negative is left-aligned. The other kinds of column are
 * text: the rest of the line, cut or wrapped at its end, and after these below the line, for rows
 * that have it. In Markdown all are columns, and nothing is cut.
 *
 * In a terminal no row is wider than the screen: columns that do not fit, and a cell that is too
 * long for its line, stand on a line below. page_rows.h fits the widths to the cells first. */
enum { PAGE_CUT = 0, PAGE_WRAP = 1000, PAGE_BELOW = 1001 };
struct column {
    const char *heading;
    int width;
    int drop; /* for page_rows.h: above 0, left out where the room is short, the highest first */
};
enum { PAGE_COLUMNS = 11 }; /* of a table, at most */

/* Columns that a text and a name get at least. */
enum { PAGE_TEXT_LEAST = 18, PAGE_NAME_LEAST = 20 };

/* Where nothing bounds the lines, in a file, a pipe or Markdown, names of kernels would have
 * thousands. */
enum { PAGE_NAME_MOST = 120 };

void page_table(const struct page *page, const struct column *columns, int count);
void page_row(const struct page *page, const struct column *columns, int count,
              const char *const cells[]);
/* The cells as a list, in which they may be made: PAGE_LINE(page, columns, name, cell("%d of %d",
 * rank, count).text, quantity_time(ns).text). */
#define PAGE_LINE(page, columns, ...)                                                              \
    page_row(page, columns, ARRAY_SIZE(columns), (const char *const[]){ __VA_ARGS__ })
struct cell {
    char text[96];
};
struct cell cell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* `inks` has one for each cell. */
void page_row_inked(const struct page *page, const struct column *columns, int count,
                    const char *const cells[], const enum ink inks[]);

/* A bar for a cell: `share` of `full` characters, rounded, at least one for what is not nothing. */
enum { BAR_SIZE = 64 };
void page_bar(char text[BAR_SIZE], double share, int full);
