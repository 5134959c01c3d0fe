/* A drawing in letters. Each column is FINE cells, painted by all bars of a row; its letter is the
 * one that most cells have. A bar that stands for several short ones paints as many cells as these
 * fill together. */
#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/excerpt.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/tables/diagnosis_tables.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A character is as wide as FINE cells; together these are more than the bars of an excerpt. */
enum { LABEL = 12, COLUMNS_MOST = 80, FINE = 64, CELLS_MOST = COLUMNS_MOST * FINE };
enum { ROWS_MOST = 6 /* threads, and streams */, TICK = 16 };

struct line {
    char label[LABEL + 1];
    char text[COLUMNS_MOST + 1];
    enum excerpt_kind kind;
    int64_t filled; /* cells */
};

struct drawing {
    const struct page *page;
    const struct summary *summary;
    int steps; /* that are wanted */
    struct excerpt excerpt;
    int columns;
    struct line lines[2 + 2 * (EXCERPT_TRACKS + 2)];
    int line_count;
    bool used[UCHAR_MAX + 1]; /* letters in the drawing, as capitals */
};

/* --- Letters --- */

struct letter {
    char letter;
    const char *meaning;
};

static const struct letter of_host[HOST_KIND_COUNT] = {
    [HOST_OUTSIDE] = { 'P', "the program between events" },
    [HOST_OPERATOR] = { 'O', "operator" },
    [HOST_LOADING] = { 'D', "data loading" },
    [HOST_LOGGING] = { 'G', "logging" },
    [HOST_SAVING] = { 'S', "saving" },
    [HOST_LAUNCHING] = { 'L', "launching" },
    [HOST_COPYING] = { 'C', "copying" },
    [HOST_ALLOCATING] = { 'A', "allocating" },
    [HOST_WAITING] = { 'W', "waiting for the device" },
    [HOST_FIRST_USE] = { 'F', "first use" },
    [HOST_CAPTURING] = { 'R', "capturing graphs again" },
    [HOST_WORKING] = { 'H', "other work of the host" },
};
static const struct letter of_work[WORK_KIND_COUNT] = {
    [WORK_COMPUTATION] = { '#', "computation" },
    [WORK_COPY] = { 'C', "copying" },
    [WORK_MEMSET] = { 'M', "memset" },
    [WORK_COMMUNICATION] = { 'N', "communication" },
};
static const struct letter of_gap[GAP_HOST] = {
    [GAP_QUEUED] = { 'Q', "work was queued" },
    [GAP_STALLED] = { 'Q', "work was queued" },
    [GAP_UNKNOWN] = { '?', "unknown" },
};

static struct letter letter_of(enum excerpt_kind kind, int category)
{
    if (kind == EXCERPT_WORK)
        return of_work[category];
    if (kind == EXCERPT_IDLE)
        return category < GAP_HOST ? of_gap[category] : of_host[category - GAP_HOST];
    return of_host[category];
}

/* --- Cells --- */

/* The cells in which a bar begins and ends, clipped to the drawing; a bar of no width gets one
 * cell. */
static void cells_of(const struct drawing *drawing, const struct excerpt_bar *bar, int cells,
                     int *from, int *to)
{
    const struct excerpt *excerpt = &drawing->excerpt;
    double span = (double)(excerpt->end_ns - excerpt->start_ns);
    double scale = span > 0 ? cells / span : 0;

    *from = (int)lround(scale * fmax(0, (double)(bar->start_ns - excerpt->start_ns)));
    *to = (int)lround(scale * fmin(span, (double)(bar->end_ns - excerpt->start_ns)));
    *from = *from > cells - 1 ? cells - 1 : *from;
    *to = *to > cells ? cells : *to;
    if (*to <= *from)
        *to = *from + 1;
}

/* The last paint stays: the innermost of nested events. A bar that stands for several has gaps,
 * which are not painted; and if short bars got too many cells, the bars after them get fewer. */
static void paint(const struct drawing *drawing, const struct excerpt_row *row,
                  char cells[CELLS_MOST])
{
    const struct excerpt *excerpt = &drawing->excerpt;
    int all = drawing->columns * FINE;
    double per_ns = all / fmax(1, (double)(excerpt->end_ns - excerpt->start_ns)), owed = 0;

    for (int64_t i = 0; i < row->bar_count; i++) {
        const struct excerpt_bar *bar = &excerpt->bars[row->first_bar + i];
        double ns = (double)(bar->end_ns - bar->start_ns);
        double within_ns = (double)(interval_earlier(bar->end_ns, excerpt->end_ns) -
                                    interval_later(bar->start_ns, excerpt->start_ns));
        int from, to, count;
        cells_of(drawing, bar, all, &from, &to);
        owed += ns > 0 ? per_ns * within_ns * fmin(1, (double)bar->covered_ns / ns) : 0;
        if (owed <= 0)
            continue;
        count = owed < 1 ? 1 : (int)lround(owed);
        count = count > to - from ? to - from : count;
        owed = fmin(0, owed - count);
        memset(cells + from, letter_of(row->kind, bar->category).letter, (size_t)count);
    }
}

/* The letter that most of these cells have, small if it is less than half of them. */
static char summarise(struct drawing *drawing, const char *cells)
{
    int counts[UCHAR_MAX + 1] = { 0 }, most = 0;
    char letter = '.';

    for (int i = 0; i < FINE; i++)
        if (cells[i] != '\0' && ++counts[(unsigned char)cells[i]] > most) {
            most = counts[(unsigned char)cells[i]];
            letter = cells[i];
        }
    if (most == 0)
        return '.';
    drawing->used[(unsigned char)letter] = true;
    if (2 * most >= FINE)
        return letter;
    return letter == '#' ? '+' : (char)tolower((unsigned char)letter);
}

/* --- Lines --- */

static struct line *add_line(struct drawing *drawing, enum excerpt_kind kind, const char *label)
{
    struct line *line = &drawing->lines[drawing->line_count++];

    *line = (struct line){ .kind = kind };
    snprintf(line->label, sizeof line->label, "%s", label);
    memset(line->text, '.', (size_t)drawing->columns);
    return line;
}

/* "[forward------]"; without room for a name its first letters. */
static void put_name(char *text, int from, int to, const char *name)
{
    int room = to - from, length = (int)strlen(name);

    if (room < 3) {
        for (int i = from; i < to; i++) text[i] = i - from < length ? name[i - from] : '-';
        return;
    }
    text[from] = '[';
    text[to - 1] = ']';
    for (int i = 1; i < room - 1; i++) text[from + i] = i <= length ? name[i - 1] : '-';
}

static void add_names(struct drawing *drawing, const struct excerpt_row *row, const char *label)
{
    struct line *line = add_line(drawing, row->kind, label);

    for (int64_t i = 0; i < row->bar_count; i++) {
        const struct excerpt_bar *bar = &drawing->excerpt.bars[row->first_bar + i];
        const char *name = trace_file_name(drawing->summary->trace, bar->name);
        const char *number = strchr(name, '#');
        int from, to;
        if (row->kind == EXCERPT_PHASE)
            name = excerpt_category_name(row->kind, bar->category);
        else if (number != NULL)
            name = number + 1;
        cells_of(drawing, bar, drawing->columns, &from, &to);
        put_name(line->text, from, to, name);
    }
}

static bool is_of_a_thread(const struct excerpt_row *row)
{
    return row->kind == EXCERPT_OPERATOR || row->kind == EXCERPT_CALL;
}

/* A thread's operators and its calls are one line. */
static void add_rows(struct drawing *drawing)
{
    const struct excerpt *excerpt = &drawing->excerpt;
    char cells[CELLS_MOST] = { 0 }, label[48];

    for (int64_t i = 0; i < excerpt->row_count; i++) {
        const struct excerpt_row *row = &excerpt->rows[i], *next = row + 1;
        long long thread = (long long)row->thread;
        struct line *line;
        if (row->kind == EXCERPT_STEP || row->kind == EXCERPT_PHASE) {
            add_names(drawing, row, row->kind == EXCERPT_STEP ? "step" : "phase");
            continue;
        }
        paint(drawing, row, cells);
        if (is_of_a_thread(row) && i + 1 < excerpt->row_count && is_of_a_thread(next) &&
            next->process == row->process && next->thread == row->thread)
            continue;
        if (row->kind == EXCERPT_IDLE)
            snprintf(label, sizeof label, "idle: why");
        else if (row->kind == EXCERPT_WORK && drawing->summary->timeline.device_count > 1)
            snprintf(label, sizeof label, "%lld stream %lld", (long long)row->process, thread);
        else if (row->kind == EXCERPT_WORK)
            snprintf(label, sizeof label, "stream %lld", thread);
        else if (row->is_loop)
            snprintf(label, sizeof label, "loop");
        else
            snprintf(label, sizeof label, "thr %lld", thread);
        line = add_line(drawing, is_of_a_thread(row) ? EXCERPT_CALL : row->kind, label);
        for (int j = 0; j < drawing->columns; j++)
            line->text[j] = summarise(drawing, cells + j * FINE);
        for (int j = 0; j < drawing->columns * FINE; j++) line->filled += cells[j] != '\0';
        memset(cells, 0, sizeof cells);
    }
}

/* A trace may have hundreds of threads and streams: those that do most are shown. */
static bool is_shown(const struct drawing *drawing, int line)
{
    int before = 0;

    for (int i = 0; i < drawing->line_count; i++)
        if (drawing->lines[i].kind == drawing->lines[line].kind &&
            (drawing->lines[i].filled > drawing->lines[line].filled ||
             (drawing->lines[i].filled == drawing->lines[line].filled && i < line)))
            before++;
    return before < ROWS_MOST || strcmp(drawing->lines[line].label, "loop") == 0;
}

/* --- Printing --- */

static void print_axis(const struct drawing *drawing)
{
    double span = (double)(drawing->excerpt.end_ns - drawing->excerpt.start_ns);
    FILE *stream = drawing->page->console.stream;

    fprintf(stream, "  %-*s ", LABEL, "");
    for (int column = 0; column < drawing->columns; column += TICK) {
        const char *time = column == 0 ? "0" : quantity_time(span * column / drawing->columns).text;
        if (column + TICK <= drawing->columns)
            fprintf(stream, "|%-*s", TICK - 1, time);
        else
            fprintf(stream, "|%.*s", drawing->columns - column, time);
    }
    fputc('\n', stream);
}

/* "# computation, L launching, ...": each letter once. */
static void print_legend(const struct drawing *drawing)
{
    char text[600] = "";
    bool said[UCHAR_MAX + 1] = { false };

    for (int kind = EXCERPT_CALL; kind <= EXCERPT_IDLE; kind++) {
        int count = kind == EXCERPT_CALL   ? HOST_KIND_COUNT
                    : kind == EXCERPT_WORK ? WORK_KIND_COUNT
                                           : GAP_HOST;
        for (int category = 0; category < count; category++) {
            struct letter letter = letter_of((enum excerpt_kind)kind, category);
            unsigned char index = (unsigned char)letter.letter;
            if (drawing->used[index] && !said[index])
                text_join(text, sizeof text, ", ", "%c %s", letter.letter, letter.meaning);
            said[index] = true;
        }
    }
    page_paragraph(
        drawing->page, INK_DIM,
        "%s%sSmall letters and +: less than half of the column; a dot: nothing recorded.", text,
        text[0] != '\0' ? ". " : "");
}

static void print_heading(const struct drawing *drawing)
{
    const struct excerpt *excerpt = &drawing->excerpt;
    const struct steps *steps = &drawing->summary->steps;
    long long first = steps->count > 0 ? (long long)steps->items[excerpt->first_step].number : 0;
    char text[120], from[CELL_SIZE];

    cell_stamp(from, excerpt->start_ns);
    if (excerpt->step_count > 1)
        snprintf(text, sizeof text, "Timeline: steps %lld to %lld of %lld", first,
                 (long long)steps->items[excerpt->first_step + excerpt->step_count - 1].number,
                 (long long)steps->count);
    else if (steps->count > 1)
        snprintf(text, sizeof text, "Timeline: step %lld, the most typical of %lld", first,
                 (long long)steps->count);
    else
        snprintf(text, sizeof text, "Timeline: %s",
                 steps->count == 1 ? "the only step" : "all of the trace");
    page_heading(drawing->page, text);
    page_paragraph(drawing->page, INK_DIM, "%s, from %s us on the clock of the file",
                   quantity_time((double)(excerpt->end_ns - excerpt->start_ns)).text, from);
}

static void print_drawing(struct drawing *drawing)
{
    FILE *stream = drawing->page->console.stream;
    int left_out = (int)drawing->excerpt.tracks_left_out;

    print_heading(drawing);
    add_rows(drawing);
    fputs(drawing->page->markdown ? "\n```\n" : "", stream);
    print_axis(drawing);
    for (int i = 0; i < drawing->line_count; i++)
        if (is_shown(drawing, i))
            fprintf(stream, "  %-*s |%s|\n", LABEL, drawing->lines[i].label,
                    drawing->lines[i].text);
        else
            left_out++;
    fputs(drawing->page->markdown ? "```\n" : "", stream);
    if (left_out > 0)
        page_paragraph(drawing->page, INK_DIM, "%d threads and streams that do less are not shown.",
                       left_out);
    print_legend(drawing);
}

static void find_excerpt(struct arena *arena, void *context)
{
    struct drawing *drawing = context;

    drawing->excerpt = excerpt_of(arena, drawing->summary, drawing->steps);
}

enum status timeline_text(const struct page *page, const struct summary *summary, int steps)
{
    int columns = page->console.width - LABEL - 5;
    struct drawing drawing = { .page = page,
                               .summary = summary,
                               .steps = steps,
                               .columns = columns > COLUMNS_MOST ? COLUMNS_MOST : columns };

    TRY(arena_run(summary->arena, find_excerpt, &drawing));
    print_drawing(&drawing);

    return STATUS_OK;
}
