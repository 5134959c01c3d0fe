/* A row for each set of causes: the step without them, its gain, and a bar in which the device's
 * work and its idle time are on one scale. */
#include "harness/desk/page/diagnosis_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/text/page_rows.h"

#include <stdio.h>
#include <string.h>

enum { BAR_MOST = 44, NAMES = 96 };

static const struct column columns[] = {
    { "", -22, 0 }, { "step", 8, 0 }, { "gain", 6, 0 }, { "", PAGE_CUT, 0 }
};

/* "without host_sync, data_loading". If the user chose the causes, each row adds one: "and
 * data_loading". */
static void name_row(char text[NAMES], const struct what_if *what_if, int number, bool adds)
{
    unsigned causes = what_if->rows[number].causes;

    text[0] = '\0';
    if (adds && number > 0) {
        snprintf(text, NAMES, "and %s", what_if->causes[number]->id);
        return;
    }
    for (int i = 0; i < what_if->cause_count; i++)
        if (causes >> i & 1)
            text_join(text, NAMES, ", ", "%s%s", text[0] == '\0' ? "without " : "",
                      what_if->causes[i]->id);
}

static void add_row(struct page_rows *rows, const struct what_if *what_if,
                    const struct what_if_row *row, const char *name, bool host_alone)
{
    int length = (int)(BAR_MOST * row->step_ns / what_if->recorded.step_ns + 0.5);
    int busy = (int)(BAR_MOST * row->busy_ns / what_if->recorded.step_ns + 0.5);
    char gain[QUANTITY_SIZE] = "", bar[BAR_SIZE];

    if (row->causes != 0)
        quantity_factor(gain, what_if->recorded.step_ns / row->step_ns);
    busy = host_alone || busy > length ? length : busy;
    memset(bar, '#', (size_t)busy); /* the device's work, then the rest of the step */
    memset(bar + busy, '-', (size_t)(length - busy));
    bar[length] = '\0';
    PAGE_ROW(rows, NULL, name, quantity_time(row->step_ns).text, gain, bar);
}

void what_if_page(const struct page *page, const struct diagnosis *diagnosis, int which)
{
    const struct facts *facts = &diagnosis->facts[which];
    const struct what_if_choice *choice = &diagnosis->what_if;
    struct what_if what_if = what_if_of(&diagnosis->findings[which], facts, choice);
    bool alone = facts->summary->timeline.host_alone;
    struct page_rows *rows;
    char name[NAMES];

    page_heading(page, "What if");
    if (what_if.why[0] != '\0') {
        page_paragraph(page, INK_DIM, "%s", what_if.why);
        return;
    }
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    add_row(rows, &what_if, &what_if.recorded, "as recorded", alone);
    for (int i = 0; i < what_if.row_count; i++) {
        name_row(name, &what_if, i, choice->count > 0);
        add_row(rows, &what_if, &what_if.rows[i], name, alone);
    }
    page_rows_print(page, rows);
    if (!alone)
        page_paragraph(page, INK_DIM, "# the device works, - it is idle; all on one time scale.");
}
