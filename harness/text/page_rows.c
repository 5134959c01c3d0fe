/* Rows are kept as copies until all are there. Then page_rows_fit() chooses the columns: empty ones
 * go, then those that may be dropped, then names are cut, so that two that differ stay different.
 */
#include "harness/text/page_rows.h"

#include "harness/base/rows.h"
#include "harness/text/wrap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page_row {
    char *cells[PAGE_COLUMNS];
    enum ink inks[PAGE_COLUMNS];
};

struct page_rows {
    struct column columns[PAGE_COLUMNS];
    bool is_left_out[PAGE_COLUMNS];
    int column_count;
    struct page_row *rows;
    int count;
    int64_t room;
    bool is_short; /* of memory: a row is missing */
};

enum { INDENT = 2, GAP = 1, DOTS = 3 };

struct page_rows *page_rows_open(const struct column *columns, int count)
{
    struct page_rows *rows = calloc(1, sizeof *rows);

    if (rows == NULL)
        return NULL;
    rows->column_count = count < PAGE_COLUMNS ? count : PAGE_COLUMNS;
    memcpy(rows->columns, columns, sizeof *columns * (size_t)rows->column_count);
    return rows;
}

static void release_row(struct page_row *row)
{
    for (int i = 0; i < PAGE_COLUMNS; i++) free(row->cells[i]);
}

void page_rows_close(struct page_rows *rows)
{
    if (rows == NULL)
        return;
    for (int i = 0; i < rows->count; i++) release_row(&rows->rows[i]);
    free(rows->rows);
    free(rows);
}

void page_rows_add(struct page_rows *rows, const char *const cells[], const enum ink inks[])
{
    struct page_row row = { .cells = { NULL } };
    bool complete =
        rows != NULL && rows_grow(&rows->rows, rows->count + 1, &rows->room) == STATUS_OK;

    if (rows == NULL)
        return;
    for (int i = 0; i < rows->column_count && complete; i++) {
        row.cells[i] = strdup(cells[i]);
        row.inks[i] = inks != NULL ? inks[i] : INK_PLAIN;
        complete = row.cells[i] != NULL;
    }
    if (complete) {
        rows->rows[rows->count++] = row;
    } else {
        release_row(&row);
        rows->is_short = true;
    }
}

int page_rows_count(const struct page_rows *rows)
{
    return rows != NULL ? rows->count : 0;
}

bool page_rows_any(const struct page_rows *rows)
{
    return rows == NULL || rows->count > 0 || rows->is_short;
}

/* --- Columns --- */

/* Whether a column says nothing. In Markdown a column of empty cells stays: the rows of several
 * tables have the same columns there. */
static bool says_nothing(const struct page *page, const struct page_rows *rows, int column)
{
    bool has_dash = false;

    for (int i = 0; i < rows->count; i++) {
        const char *cell = rows->rows[i].cells[column];
        if (cell[0] != '\0' && strcmp(cell, "-") != 0)
            return false;
        has_dash = has_dash || cell[0] == '-';
    }
    return rows->count > 0 && (has_dash || !page->markdown);
}

/* Columns that the longest cell takes, the heading among them. */
static int cells_width(const struct page_rows *rows, int column)
{
    int width = wrap_columns(rows->columns[column].heading);

    for (int i = 0; i < rows->count; i++) {
        int size = wrap_columns(rows->rows[i].cells[column]);
        width = size > width ? size : width;
    }
    return width;
}

static bool is_name(const struct page_rows *rows, int column)
{
    return rows->columns[column].width == PAGE_CUT;
}

/* Text that wraps, or stands below. */
static bool is_text(const struct page_rows *rows, int column)
{
    return rows->columns[column].width >= PAGE_WRAP;
}

/* The width of the shown columns, with names as short as they may be. */
static long width_of_all(const struct page_rows *rows, const int widths[PAGE_COLUMNS])
{
    long width = INDENT - GAP;

    for (int i = 0; i < rows->column_count; i++) {
        if (rows->is_left_out[i] || rows->columns[i].width == PAGE_BELOW)
            continue;
        if (is_name(rows, i))
            width += widths[i] < PAGE_NAME_LEAST ? widths[i] : PAGE_NAME_LEAST;
        else
            width += is_text(rows, i) ? PAGE_TEXT_LEAST : widths[i];
        width += GAP;
    }
    return width;
}

/* The column to leave out next; -1: none may be. */
static int next_to_drop(const struct page_rows *rows)
{
    int next = -1;

    for (int i = 0; i < rows->column_count; i++)
        if (!rows->is_left_out[i] && rows->columns[i].drop > 0 &&
            (next < 0 || rows->columns[i].drop > rows->columns[next].drop))
            next = i;
    return next;
}

/* --- Names --- */

/* `name` as its first `head` columns, dots, and what is from its column `from` on, in `width`
 * columns. */
static char *cut_around(const char *name, int width, int head, int from)
{
    int tail = width - head - DOTS, rest = wrap_columns(name) - from;
    size_t from_bytes = wrap_bytes(name, from), size = strlen(name) + 2 * DOTS + 1;
    bool more = rest > tail;
    char *text = malloc(size);

    if (text != NULL)
        snprintf(text, size, "%.*s...%.*s%s", (int)wrap_bytes(name, head), name,
                 (int)wrap_bytes(name + from_bytes, more ? tail - DOTS : tail), name + from_bytes,
                 more ? "..." : "");
    return text;
}

/* Ways to cut a name, the most readable first: its end, its middle, and around what is the first to
 * differ from another name. */
enum { CUT_END, CUT_MIDDLE, CUT_APART, CUT_WAYS };

static char *cut_name(const char *name, int width, int way, const char *other)
{
    int head = way == CUT_APART ? (width - 2 * DOTS) / 3 : (width - DOTS + 1) / 2, from;
    size_t same = 0;

    if (way == CUT_END)
        return cut_around(name, width, width - DOTS, wrap_columns(name));
    from = wrap_columns(name) - (width - head - DOTS);
    if (way == CUT_APART) {
        while (name[same] != '\0' && name[same] == other[same]) same++;
        while (same > 0 && ((unsigned char)name[same] & 0xc0) == 0x80) same--;
        for (int i = from; i > head && wrap_bytes(name, i) > same; i--) from = i - 1;
    }
    return cut_around(name, width, head, from);
}

/* Another name of the column that `text` could be taken for; NULL: none. `cut` has what they
 * became. */
static const char *taken_for(const struct page_rows *rows, int column, char *const cut[], int which)
{
    for (int i = 0; i < rows->count; i++)
        if (cut[i] != NULL && cut[which] != NULL && strcmp(cut[i], cut[which]) == 0 &&
            strcmp(rows->rows[i].cells[column], rows->rows[which].cells[column]) != 0)
            return rows->rows[i].cells[column];
    return NULL;
}

/* Cuts again, in the next way, the names that are alike. */
static void cut_alike(struct page_rows *rows, int column, int width, char *cut[], int way)
{
    const char **others = calloc((size_t)rows->count, sizeof *others);

    for (int i = 0; i < rows->count && others != NULL; i++)
        others[i] = wrap_columns(rows->rows[i].cells[column]) > width
                        ? taken_for(rows, column, cut, i)
                        : NULL;
    for (int i = 0; i < rows->count && others != NULL; i++) {
        if (others[i] == NULL)
            continue;
        free(cut[i]);
        cut[i] = cut_name(rows->rows[i].cells[column], width, way, others[i]);
    }
    free(others);
}

/* Names that could not be cut for want of memory stay whole. */
static void cut_names(struct page_rows *rows, int column, int width)
{
    char **cut = calloc((size_t)rows->count, sizeof *cut);

    if (cut == NULL)
        return;
    for (int i = 0; i < rows->count; i++) {
        const char *name = rows->rows[i].cells[column];
        cut[i] = wrap_columns(name) > width ? cut_name(name, width, CUT_END, NULL) : strdup(name);
    }
    for (int way = CUT_MIDDLE; way < CUT_WAYS; way++) cut_alike(rows, column, width, cut, way);
    for (int i = 0; i < rows->count; i++) {
        if (cut[i] == NULL)
            continue;
        free(rows->rows[i].cells[column]);
        rows->rows[i].cells[column] = cut[i];
    }
    free(cut);
}

/* --- The table --- */

/* Names get what the other columns leave, each an equal part. */
static void fit_names(struct page_rows *rows, int widths[PAGE_COLUMNS], int room)
{
    long left = room - width_of_all(rows, widths);

    for (int i = 0; i < rows->column_count; i++) {
        int least, width;
        if (rows->is_left_out[i] || !is_name(rows, i))
            continue;
        least = widths[i] < PAGE_NAME_LEAST ? widths[i] : PAGE_NAME_LEAST;
        width = left > widths[i] - least ? widths[i] : least + (left > 0 ? (int)left : 0);
        if (room == INT_MAX && width > PAGE_NAME_MOST)
            width = PAGE_NAME_MOST;
        left -= width - least;
        if (width < widths[i])
            cut_names(rows, i, width);
        widths[i] = width;
    }
}

void page_rows_fit(const struct page *page, struct page_rows *rows)
{
    int widths[PAGE_COLUMNS] = { 0 }, room = page->markdown ? INT_MAX : page->console.room, next;

    if (rows == NULL)
        return;
    for (int i = 0; i < rows->column_count; i++) {
        int stated = is_text(rows, i) ? 0 : abs(rows->columns[i].width);
        rows->is_left_out[i] = says_nothing(page, rows, i);
        widths[i] = cells_width(rows, i);
        widths[i] = widths[i] < stated ? stated : widths[i];
    }
    for (int i = 0; i < rows->column_count && width_of_all(rows, widths) > room; i++)
        if (!is_text(rows, i))
            widths[i] = cells_width(rows, i);
    while (width_of_all(rows, widths) > room && (next = next_to_drop(rows)) >= 0)
        rows->is_left_out[next] = true;
    fit_names(rows, widths, room);
    for (int i = 0; i < rows->column_count; i++)
        if (!is_text(rows, i))
            rows->columns[i].width = rows->columns[i].width > 0 ? widths[i] : -widths[i];
}

void page_rows_heading(const struct page *page, const struct page_rows *rows)
{
    struct column columns[PAGE_COLUMNS];
    int count = 0;

    for (int i = 0; rows != NULL && i < rows->column_count; i++)
        if (!rows->is_left_out[i])
            columns[count++] = rows->columns[i];
    if (count > 0)
        page_table(page, columns, count);
}

void page_rows_range(const struct page *page, const struct page_rows *rows, int from, int to)
{
    for (int row = from; rows != NULL && row < to && row < rows->count; row++) {
        struct column columns[PAGE_COLUMNS];
        const char *cells[PAGE_COLUMNS];
        enum ink inks[PAGE_COLUMNS];
        int count = 0;
        for (int i = 0; i < rows->column_count; i++) {
            if (rows->is_left_out[i])
                continue;
            columns[count] = rows->columns[i];
            cells[count] = rows->rows[row].cells[i];
            inks[count++] = rows->rows[row].inks[i];
        }
        page_row_inked(page, columns, count, cells, inks);
    }
}

void page_rows_print(const struct page *page, struct page_rows *rows)
{
    page_rows_fit(page, rows);
    page_rows_heading(page, rows);
    page_rows_range(page, rows, 0, page_rows_count(rows));
    if (rows == NULL || rows->is_short)
        page_paragraph(page, INK_DOUBTFUL, "There is no memory left for the whole table.");
    page_rows_close(rows);
}
