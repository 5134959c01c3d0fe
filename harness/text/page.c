/* Each function prints its part in one of two ways: with escape sequences, wrapped and cut to the
 * width of the terminal, or as Markdown, whole and escaped. Texts lose their control characters in
 * put_character() or clean(). */
#include "harness/text/page.h"

#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"
#include "harness/text/wrap.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- The terminal --- */

bool console_is_coloured(enum color color, FILE *stream)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return isatty(fileno(stream)) && (no_color == NULL || no_color[0] == '\0') &&
           terminal != NULL && strcmp(terminal, "dumb") != 0;
}

struct console console_open(FILE *stream, enum color color)
{
    struct console console = {
        stream, wrap_width(stream), wrap_room(stream), "", "", "", "", "", ""
    };

    if (!console_is_coloured(color, stream))
        return console;
    console.bold = "\033[1m";
    console.dim = "\033[2m";
    console.good = "\033[32m";
    console.bad = "\033[31m";
    console.doubtful = "\033[33m";
    console.plain = "\033[0m";
    return console;
}

bool console_is_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return strcasestr(value, "UTF-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

/* --- The page --- */

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
    const char *const codes[] = { "",
                                  page->console.dim,
                                  page->console.good,
                                  page->console.doubtful,
                                  page->console.bad,
                                  page->console.bold };

    return page->markdown ? "" : codes[ink];
}

static const char *plain_code(const struct page *page, enum ink ink)
{
    return page->markdown || ink == INK_PLAIN ? "" : page->console.plain;
}

static bool is_word(char character)
{
    return isalnum((unsigned char)character) || (character & 0x80) != 0;
}

/* Whether a character means something to Markdown anywhere in a line; an underscore within a word
 * does not. */
static bool is_markup(const char *text, const char *at)
{
    if (*at == '_')
        return at == text || !is_word(at[-1]) || !is_word(at[1]);
    return strchr("|\\<*`[", *at) != NULL;
}

/* Prints a character as utf8_show() would; returns how many bytes of `text` it stands for. */
static size_t put_character(FILE *stream, const char *text)
{
    size_t control = utf8_control_bytes(text), bytes = control > 0 ? 0 : utf8_bytes(text);

    if (bytes > 0)
        return fwrite(text, 1, bytes, stream);
    fputc('?', stream);
    return control > 0 ? control : 1;
}

/* Prints at most `columns` columns of `text`, and three dots where it was longer. */
static void put_cut(const struct page *page, const char *text, int columns)
{
    FILE *stream = page->console.stream;
    int length = wrap_columns(text), room = length > columns ? columns - 3 : columns;

    while (*text != '\0') {
        room -= ((unsigned char)*text & 0xc0) != 0x80;
        if (room < 0)
            break;
        text += put_character(stream, text);
    }
    if (length > columns)
        fputs("...", stream);
}

static void put_markdown(const struct page *page, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        if (is_markup(text, at))
            fputc('\\', page->console.stream);
        at += put_character(page->console.stream, at);
    }
}

/* In place. Lines are broken anew anyway. */
static void clean(char *text)
{
    for (char *at = text; (at = strchr(at, '\n')) != NULL;) *at = ' ';
    utf8_show(text);
}

/* Names that are longer than a line of the screen lose their middle; paths stay whole. In place. */
static void shorten_words(char *text, int room)
{
    for (char *word = text + strspn(text, " "); *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        char last = word[bytes];
        int size;
        word[bytes] = '\0';
        size = wrap_columns(word);
        if (size > room && memchr(word, '/', bytes) == NULL) {
            size_t head = wrap_bytes(word, (room - 3) / 2);
            char *tail = word + wrap_bytes(word, size - (room - 3) / 2);
            word[bytes] = last;
            memcpy(word + head, "...", 3);
            memmove(word + head + 3, tail, strlen(tail) + 1);
            bytes = head + 3 + (size_t)(word + bytes - tail);
        } else {
            word[bytes] = last;
        }
        word += bytes;
        word += strspn(word, " ");
    }
}

/* The cursor stands at `column`; further lines begin at `indent`. */
static void put_wrapped(const struct page *page, int column, int indent, char *text)
{
    if (page->markdown) {
        put_markdown(page, text);
        fputc('\n', page->console.stream);
    } else {
        clean(text);
        if (page->console.room < INT_MAX)
            shorten_words(text, page->console.width - indent);
        wrap_print(page->console.stream, column, indent, page->console.width, text);
    }
}

static void put_heading(const struct page *page, const char *mark, const char *text)
{
    char copy[TEXT_SIZE];

    snprintf(copy, sizeof copy, "%s", text);
    fputs(page->markdown ? mark : page->console.bold, page->console.stream);
    put_wrapped(page, 0, INDENT, copy);
    fputs(page->markdown ? "" : page->console.plain, page->console.stream);
}

void page_title(const struct page *page, const char *text)
{
    put_heading(page, "## ", text);
}

void page_heading(const struct page *page, const char *text)
{
    fputc('\n', page->console.stream);
    put_heading(page, "### ", text);
}

/* Letters become small, spaces hyphens, and what is no letter, digit, hyphen or underscore is left
 * out. */
static void put_anchor(FILE *stream, const char *title)
{
    for (; *title != '\0'; title++) {
        if (is_word(*title) || *title == '_' || *title == '-')
            fputc(tolower((unsigned char)*title), stream);
        else if (*title == ' ')
            fputc('-', stream);
    }
}

void page_contents(const struct page *page, const char *title)
{
    FILE *stream = page->console.stream;

    if (!page->markdown) {
        page_paragraph(page, INK_PLAIN, "%s", title);
        return;
    }
    fputs("- [", stream);
    put_markdown(page, title);
    fputs("](#", stream);
    put_anchor(stream, title);
    fputs(")\n", stream);
}

void page_code_begin(const struct page *page, const char *language)
{
    if (page->markdown)
        fprintf(page->console.stream, "\n```%s\n", language);
}

void page_code_end(const struct page *page)
{
    if (page->markdown)
        fputs("```\n", page->console.stream);
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

void page_summary(const struct page *page, const char *format, ...)
{
    FILE *stream = page->console.stream;
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stream, "\n%s", page->markdown ? "**" : page->console.bold);
    if (page->markdown) {
        put_markdown(page, text);
        fputs("**\n", stream);
    } else {
        put_wrapped(page, 0, INDENT, text);
        fputs(page->console.plain, stream);
    }
}

void page_note(const struct page *page, const char *name, const char *text)
{
    FILE *stream = page->console.stream;
    int width = page->console.width, used = INDENT + wrap_columns(name) + 2;
    char copy[TEXT_SIZE];

    snprintf(copy, sizeof copy, "%s", text);
    fputs(page->markdown ? "- **" : "  ", stream);
    if (page->markdown)
        put_markdown(page, name);
    else
        put_cut(page, name, page->console.room - INDENT - 1);
    fputs(page->markdown ? "**: " : ":", stream);
    if (!page->markdown && used + PAGE_TEXT_LEAST > width)
        used = fprintf(stream, "\n%*s", 2 * INDENT, "") - 1;
    else if (!page->markdown)
        fputc(' ', stream);
    put_wrapped(page, used, 2 * INDENT, copy);
}

/* `text` with `note` at the end of its first line, of which `used` columns are taken. Text that
 * does not fit beside the note goes on below, at `indent`. */
static void put_with_note(const struct page *page, int used, int indent, const char *text,
                          enum ink ink, const char *note)
{
    FILE *stream = page->console.stream;
    int room = page->console.width - used - wrap_columns(note) - GAP;
    size_t bytes = wrap_line(text, room);
    char line[TEXT_SIZE], rest[TEXT_SIZE];
    int length;

    snprintf(line, sizeof line, "%.*s", (int)bytes, text);
    snprintf(rest, sizeof rest, "%s", text + bytes);
    length = wrap_columns(line);
    put_cut(page, line, length);
    fprintf(stream, "%*s%s%s%s\n", (room > length ? room - length : 0) + GAP, "",
            ink_code(page, ink), note, plain_code(page, ink));
    if (rest[strspn(rest, " ")] == '\0')
        return;
    fprintf(stream, "%*s", indent, "");
    put_wrapped(page, indent, indent, rest);
}

void page_entry(const struct page *page, const char *name, const char *text, enum ink ink,
                const char *note)
{
    FILE *stream = page->console.stream;

    if (page->markdown) {
        fputs("\n### ", stream);
        put_markdown(page, name);
        fputs(": ", stream);
        put_markdown(page, text);
        fputs(": ", stream);
        put_markdown(page, note);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, "\n%s%s%s  ", page->console.bold, name, page->console.plain);
    put_with_note(page, wrap_columns(name) + 2, INDENT, text, ink, note);
}

void page_item(const struct page *page, int number, const char *name, const char *text,
               enum ink ink, const char *note)
{
    FILE *stream = page->console.stream;

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
    fprintf(stream, "%*d. %s%s%s: ", DETAIL_INDENT - 2, number, page->console.bold, name,
            page->console.plain);
    put_with_note(page, DETAIL_INDENT + wrap_columns(name) + 2, DETAIL_INDENT, text, ink, note);
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

void page_command(const struct page *page, const char *label, const char *format, ...)
{
    FILE *stream = page->console.stream;
    bool labelled = label[0] != '\0';
    int indent = labelled ? DETAIL_INDENT : INDENT;
    char command[TEXT_SIZE];
    va_list arguments;

    wrap_quote(command, sizeof command,
               page->markdown ? program_invocation_short_name : program_invocation_name);
    text_append(command, sizeof command, " ");
    va_start(arguments, format);
    text_append_list(command, sizeof command, format, arguments);
    va_end(arguments);
    if (page->markdown)
        fprintf(stream, "\n%*s%s%s`%s`\n", labelled ? 3 : 0, "", label, labelled ? " " : "",
                command);
    else if (labelled &&
             indent + wrap_columns(label) + 1 + wrap_columns(command) <= page->console.room)
        fprintf(stream, "%*s%s %s\n", indent, "", label, command);
    else {
        if (labelled)
            fprintf(stream, "%*s%s\n", indent, "", label);
        wrap_command(stream, labelled ? indent + 2 : indent, page->console.room, command);
    }
}

void page_table(const struct page *page, const struct column *columns, int count)
{
    FILE *stream = page->console.stream;
    const char *headings[PAGE_COLUMNS];

    for (int i = 0; i < count && i < PAGE_COLUMNS; i++)
        headings[i] = columns[i].width == PAGE_BELOW && !page->markdown ? "" : columns[i].heading;
    fputs(page->markdown ? "\n" : page->console.dim, stream);
    page_row(page, columns, count, headings);
    if (!page->markdown) {
        fputs(page->console.plain, stream);
        return;
    }
    fputc('|', stream);
    for (int i = 0; i < count; i++)
        fputs(columns[i].width > 0 && columns[i].width < PAGE_WRAP ? "--:|" : "---|", stream);
    fputc('\n', stream);
}

static void put_markdown_row(const struct page *page, int count, const char *const cells[],
                             const enum ink inks[])
{
    FILE *stream = page->console.stream;

    fputc('|', stream);
    for (int i = 0; i < count; i++) {
        bool bold = cells[i][0] != '\0' && (inks[i] == INK_BAD || inks[i] == INK_BOLD);
        fputs(bold ? " **" : " ", stream);
        put_markdown(page, cells[i]);
        fputs(bold ? "** |" : " |", stream);
    }
    fputc('\n', stream);
}

/* The position in a row that is being printed. */
struct place {
    int at;      /* the cursor's column; -1: a wrapped cell has ended the line */
    int start;   /* where the next column begins */
    int below;   /* where further lines begin */
    bool broken; /* the next cell begins a line */
};

/* Columns that a column takes at least. */
static int width_least(int width)
{
    return width == PAGE_CUT || width == PAGE_WRAP ? PAGE_TEXT_LEAST : abs(width);
}

static void new_line(const struct page *page, struct place *place)
{
    if (place->at >= 0)
        fputc('\n', page->console.stream);
    place->at = 0;
    place->broken = false;
}

/* A cell of its own lines: wrapped at spaces. */
static void put_wrapped_cell(const struct page *page, struct place *place, int start,
                             const char *text)
{
    char copy[TEXT_SIZE];

    snprintf(copy, sizeof copy, "%s", text);
    fprintf(page->console.stream, "%*s", start - place->at, "");
    put_wrapped(page, start, start, copy);
    place->at = -1;
}

static void put_cell(const struct page *page, struct place *place, int width, const char *text)
{
    int size = wrap_columns(text), start = place->start, room = page->console.room;
    bool fits_any = width == PAGE_CUT || width == PAGE_WRAP;

    if (width > size && width < PAGE_WRAP)
        start += width - size;
    if (place->broken || place->at < 0)
        new_line(page, place);
    if (start <= place->at)
        start = place->at > 0 ? place->at + GAP : 0;
    if (start > place->below && start + (fits_any ? PAGE_TEXT_LEAST : size) > room) {
        new_line(page, place);
        start = place->below;
    }
    if (width == PAGE_WRAP || (width < 0 && start + size > room)) {
        put_wrapped_cell(page, place, start, text);
        return;
    }
    fprintf(page->console.stream, "%*s", start - place->at, "");
    put_cut(page, text, width == PAGE_CUT && room < INT_MAX ? room - start : INT_MAX);
    place->at = start + size;
}

/* A column that would end beyond the room, and all after it, stand on a line below; so does a cell
 * that is too wide for its line. */
static void put_console_row(const struct page *page, const struct column *columns, int count,
                            const char *const cells[], const enum ink inks[])
{
    int below = INDENT + abs(columns[0].width) + GAP, room = page->console.room;
    struct place place = { 0, INDENT, below <= room / 2 ? below : 2 * INDENT, false };

    for (int i = 0; i < count; i++) {
        bool is_below = columns[i].width == PAGE_BELOW;
        int width = is_below ? PAGE_WRAP : columns[i].width;
        if (is_below || (i > 0 && place.start + width_least(width) > room)) {
            place.broken = true;
            place.start = place.below;
        }
        if (cells[i][0] != '\0') {
            fputs(ink_code(page, inks[i]), page->console.stream);
            put_cell(page, &place, width, cells[i]);
            fputs(plain_code(page, inks[i]), page->console.stream);
        }
        place.start += width_least(width) + GAP;
    }
    if (place.at >= 0)
        fputc('\n', page->console.stream);
}

void page_row_inked(const struct page *page, const struct column *columns, int count,
                    const char *const cells[], const enum ink inks[])
{
    if (page->markdown)
        put_markdown_row(page, count, cells, inks);
    else
        put_console_row(page, columns, count, cells, inks);
}

struct cell cell(const char *format, ...)
{
    struct cell cell;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cell.text, sizeof cell.text, format, arguments);
    va_end(arguments);
    return cell;
}

void page_row(const struct page *page, const struct column *columns, int count,
              const char *const cells[])
{
    static const enum ink plain[PAGE_COLUMNS];

    page_row_inked(page, columns, count, cells, plain);
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
