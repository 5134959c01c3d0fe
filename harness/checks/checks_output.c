/* The rows of doctor as a page and as JSON. Rows appear as they are added, because the measurements
 * behind them take seconds. Rows that do not apply for one reason are joined into one line, so such
 * rows wait for the next one. */
#include "harness/checks/checks.h"

#include "harness/base/words/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
    { "", -4, 0 },
    { "check", -19, 0 },
    { "value", -29, 0 },
    { "expected", PAGE_WRAP, 0 },
    { "what to do", PAGE_BELOW, 0 },
};

/* If the screen has no room for two columns of text, the expected value is printed below each row
 * that is not ok. */
enum { WIDE = 76 };
static const struct column narrow_columns[ARRAY_SIZE(columns)] = {
    { "", -4, 0 },
    { "check", -19, 0 },
    { "value", PAGE_WRAP, 0 },
    { "expected", PAGE_BELOW, 0 },
    { "what to do", PAGE_BELOW, 0 },
};

static bool is_wide(const struct page *page)
{
    return page->markdown || page->console.room >= WIDE;
}

static const struct column *columns_of(const struct page *page)
{
    return is_wide(page) ? columns : narrow_columns;
}

static const enum ink status_inks[CHECK_STATUSES] = {
    [CHECK_OK] = INK_GOOD,
    [CHECK_LOW] = INK_DOUBTFUL,
    [CHECK_FAIL] = INK_BAD,
    [CHECK_NONE] = INK_DIM,
};

/* Rows of one group from `first` on that are not applicable for the same reason. */
static int count_alike(const struct checks *checks, int first)
{
    const struct check *row = &checks->rows[first];
    int count = 1;

    while (row->status == CHECK_NONE && first + count < checks->count &&
           row[count].status == CHECK_NONE && strcmp(row[count].group, row->group) == 0 &&
           strcmp(row[count].advice, row->advice) == 0)
        count++;
    return count;
}

/* "n/a  gpu_link and 13 more: the CPU device is not a GPU". */
static void print_alike(const struct page *page, const struct check *row, int count)
{
    static const struct column narrow[] = { { "", -4, 0 }, { "", PAGE_WRAP, 0 } };
    const enum ink inks[ARRAY_SIZE(columns)] = { status_inks[row->status] };
    char name[64], sentence[512];
    const char *const cells[] = { check_status_name(row->status), sentence };
    const char *const all[] = { check_status_name(row->status), name, row->value, row->expected,
                                row->advice };

    snprintf(name, sizeof name, "%s and %d more", row->name, count - 1);
    snprintf(sentence, sizeof sentence, "%s: %s", name, row->advice);
    if (page->markdown)
        page_row_inked(page, columns, ARRAY_SIZE(columns), all, inks);
    else
        page_row_inked(page, narrow, ARRAY_SIZE(narrow), cells, inks);
}

/* Rows that may have more of their kind to come wait, unless there are none. */
static void print_new(struct checks_printer *printer, bool ended)
{
    const struct checks *checks = printer->checks;
    const struct page *page = &printer->page;

    while (printer->printed < checks->count) {
        const struct check *row = &checks->rows[printer->printed];
        int count = count_alike(checks, printer->printed);
        if (!ended && row->status == CHECK_NONE && printer->printed + count == checks->count)
            break;
        if (printer->printed == 0 || strcmp(row[-1].group, row->group) != 0) {
            page_heading(page, row->group);
            if (page->markdown || printer->printed == 0)
                page_table(page, columns_of(page), ARRAY_SIZE(columns));
        }
        if (count > 1)
            print_alike(page, row, count);
        else {
            char expected[sizeof row->expected + 16] = "";
            const char *const cells[] = { check_status_name(row->status), row->name, row->value,
                                          expected, row->advice };
            const enum ink inks[] = { status_inks[row->status], INK_PLAIN, INK_PLAIN, INK_DIM,
                                      INK_PLAIN };

            if (is_wide(page))
                snprintf(expected, sizeof expected, "%s", row->expected);
            else if (row->status != CHECK_OK && row->expected[0] != '\0')
                snprintf(expected, sizeof expected, "expected: %s", row->expected);
            page_row_inked(page, columns_of(page), ARRAY_SIZE(columns), cells, inks);
        }
        printer->printed += count;
    }
    fflush(page->console.stream);
}

void checks_print_new(void *printer)
{
    print_new(printer, false);
}

void checks_print_rows(struct checks_printer *printer)
{
    print_new(printer, true);
}

void checks_print_end(struct checks_printer *printer)
{
    char counts[96], names[256];
    const char *fit = checks_fitness(printer->checks, names, sizeof names);

    print_new(printer, true);
    const char *separator = "";
    snprintf(counts, sizeof counts, "%d checks: ", printer->checks->count);
    for (int i = 0; i < CHECK_STATUSES; i++) {
        if (printer->checks->counts[i] == 0)
            continue;
        text_append(counts, sizeof counts, "%s%d %s", separator, printer->checks->counts[i],
                    check_status_name((enum check_status)i));
        separator = ", ";
    }
    page_summary(&printer->page, "%s", counts);
    page_summary(&printer->page, "Fit to measure: %s%s%s%s", fit, names[0] != '\0' ? " (" : "",
                 names, names[0] != '\0' ? ")" : "");
}

/* Written at the end as one document. */
void checks_json(struct json *json, cJSON *root, const struct checks *checks)
{
    char names[256];
    cJSON *rows;

    json_text(json, root, "fit", checks_fitness(checks, names, sizeof names));
    rows = json_array(json, root, "checks");
    for (int i = 0; i < checks->count; i++)
        members_write(json, json_object(json, rows, NULL), check_members, &checks->rows[i]);
}
