#include "harness/text/page.h"

#include "harness/text/wrap.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 2048, INDENT = 2, DETAIL_INDENT = 5, GAP = 1 };

struct page page_console(FILE *stream, enum color color)
{
    return (struct page){ .console = console_open(stream, color) };
}

struct page page_markdown(FILE *stream)
{
    return (struct page){ .console = console_open(stream, COLOR_NEVER), .markdown = true };
}

static const char *ink_code(const struct page *page, enum ink ink)
{
    const char *const codes[] = { "", page->console.dim, page->console.good, page->console.doubtful,
                                  page->console.bad };

    return page->markdown ? "" : codes[ink];
}

static const char *plain_code(const struct page *page, enum ink ink)
{
    return page->markdown || ink == INK_PLAIN ? "" : page->console.plain;
}

static bool is_control(char character)
{
    return (unsigned char)character < 0x20 || character == 0x7f;
}

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || (character & 0x80) != 0;
}

/* What means something to Markdown, anywhere in a line; an underscore not within a word. */
static bool is_markup(const char *text, const char *at)
{
    if (*at == '_')
        return at == text || !is_word(at[-1]) || !is_word(at[1]);
    return strchr("|\\<*`[", *at) != NULL;
}

/* Prints at most `columns` columns of `text`, and three dots where it was longer. */
static void put_cut(const struct page *page, const char *text, int columns)
{
    FILE *stream = page->console.stream;
    int length = wrap_columns(text), room = length > columns ? columns - 3 : columns;

    for (; *text != '\0'; text++) {
        room -= ((unsigned char)*text & 0xc0) != 0x80;
        if (room < 0)
            break;
        fputc(is_control(*text) ? '?' : *text, stream);
    }
    if (length > columns)
        fputs("...", stream);
}

static void put_markdown(const struct page *page, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (is_markup(text, at))
            fputc('\\', page->console.stream);
        fputc(is_control(*at) ? '?' : *at, page->console.stream);
    }
}

static void clean(char *text)
{
    for (; *text != '\0'; text++)
        if (is_control(*text) && *text != '\n')
            *text = '?';
}

/* The cursor stands at `column`; further lines begin at `indent`. */
static void put_wrapped(const struct page *page, int column, int indent, char *text)
{
    if (page->markdown) {
        put_markdown(page, text);
        fputc('\n', page->console.stream);
    } else {
        clean(text);
        wrap_print(page->console.stream, column, indent, page->console.width, text);
    }
}

void page_title(const struct page *page, const char *text)
{
    FILE *stream = page->console.stream;

    fputs(page->markdown ? "## " : page->console.bold, stream);
    if (page->markdown)
        put_markdown(page, text);
    else
        put_cut(page, text, page->console.width);
    fprintf(stream, "%s\n", page->markdown ? "" : page->console.plain);
}

void page_heading(const struct page *page, const char *text)
{
    FILE *stream = page->console.stream;

    fputs(page->markdown ? "\n### " : "\n", stream);
    fputs(page->markdown ? "" : page->console.bold, stream);
    if (page->markdown)
        put_markdown(page, text);
    else
        put_cut(page, text, page->console.width);
    fprintf(stream, "%s\n", page->markdown ? "" : page->console.plain);
}

void page_paragraph(const struct page *page, enum ink ink, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(page->console.stream, "%s%s", page->markdown ? "\n" : "  ", ink_code(page, ink));
    put_wrapped(page, INDENT, INDENT, text);
    fputs(plain_code(page, ink), page->console.stream);
}

void page_item(const struct page *page, int number, const char *name, const char *text,
               enum ink ink, const char *note)
{
    FILE *stream = page->console.stream;
    int used, room;

    if (page->markdown) {
        fprintf(stream, "\n%d. **", number);
        put_markdown(page, name);
        fputs("** (", stream);
        put_markdown(page, note);
        fputs("): ", stream);
        put_markdown(page, text);
        fputc('\n', stream);
        return;
    }
    room = page->console.width - DETAIL_INDENT - wrap_columns(name) - 2 - wrap_columns(note) - GAP;
    used = wrap_columns(text) < room ? wrap_columns(text) : room;
    fprintf(stream, "%*d. %s%s%s: ", DETAIL_INDENT - 2, number, page->console.bold, name,
            page->console.plain);
    put_cut(page, text, room);
    fprintf(stream, "%*s%s%s%s\n", room - used + GAP, "", ink_code(page, ink), note,
            plain_code(page, ink));
}

void page_detail(const struct page *page, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(page->console.stream, "%s%*s", page->markdown ? "\n" : "",
            page->markdown ? 3 : DETAIL_INDENT, "");
    put_wrapped(page, DETAIL_INDENT, DETAIL_INDENT, text);
}

void page_table(const struct page *page, const struct column *columns, int count)
{
    FILE *stream = page->console.stream;
    const char *headings[PAGE_COLUMNS];

    for (int i = 0; i < count && i < PAGE_COLUMNS; i++) headings[i] = columns[i].heading;
    fputs(page->markdown ? "\n" : page->console.dim, stream);
    page_row(page, columns, count, headings);
    if (!page->markdown) {
        fputs(page->console.plain, stream);
        return;
    }
    fputc('|', stream);
    for (int i = 0; i < count; i++) fputs(columns[i].width > 0 ? "--:|" : "---|", stream);
    fputc('\n', stream);
}

void page_row(const struct page *page, const struct column *columns, int count,
              const char *const cells[])
{
    FILE *stream = page->console.stream;
    int used = INDENT;

    fputs(page->markdown ? "|" : "  ", stream);
    for (int i = 0; i < count; i++) {
        bool last = i == count - 1;
        if (page->markdown) {
            fputc(' ', stream);
            put_markdown(page, cells[i]);
            fputs(" |", stream);
        } else if (columns[i].width != 0) {
            fprintf(stream, "%*s%s", columns[i].width, cells[i],
                    last || cells[i + 1][0] == '\0' ? "" : " ");
            used += abs(columns[i].width) + GAP;
        } else {
            put_cut(page, cells[i], page->console.width - used);
        }
    }
    fputc('\n', stream);
}

void page_bar(char text[BAR_SIZE], double share, int full)
{
    int length = share > 0 ? (int)lround(fmin(share, 1) * full) : 0;

    if (length == 0 && share > 0)
        length = 1;
    if (length > BAR_SIZE - 1)
        length = BAR_SIZE - 1;
    memset(text, '#', (size_t)length);
    text[length] = '\0';
}
