#include "harness/desk/page/tables/diagnosis_thresholds.h"

#include "harness/base/status.h"
#include "harness/text/page_rows.h"

#include <stdio.h>

static const struct column columns[] = {
    { "finding", -20, 0 }, { "figure", -22, 0 }, { "here", 7, 0 },
    { "good", 7, 0 },      { "bad", 7, 0 },      { "threshold and its source", PAGE_BELOW, 0 },
};

/* Shares in percent; of a ratio, which may exceed 1, two decimals would be "131%" all the same. */
static void put_share(char text[16], const char *sign, double share)
{
    snprintf(text, 16, "%s%.*f%%", sign, share < 0.0995 ? 1 : 0, 100 * share);
}

static void add_row(struct page_rows *rows, const struct threshold *threshold)
{
    const struct judged *judged = &threshold->judged;
    bool more_is_better = judged->good > judged->bad;
    char here[16] = "-", good[16] = "-", bad[16] = "-";
    enum ink inks[ARRAY_SIZE(columns)] = { INK_PLAIN };
    const char *const cells[] = { threshold->id, judged->what != NULL ? judged->what : "-",
                                  here,          good,
                                  bad,           threshold->source };

    if (judged->what != NULL) {
        put_share(here, "", judged->value);
        put_share(good, more_is_better ? ">= " : "< ", judged->good);
        put_share(bad, more_is_better ? "< " : ">= ", judged->bad);
    } else if (threshold->found) {
        snprintf(here, sizeof here, "found");
    }
    if (threshold->found)
        inks[2] = INK_BAD;
    page_rows_add(rows, cells, inks);
}

void diagnosis_thresholds(const struct page *page, const struct findings *findings)
{
    struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));

    page_heading(page, "Thresholds");
    for (int64_t i = 0; i < findings->threshold_count; i++) add_row(rows, &findings->thresholds[i]);
    page_rows_print(page, rows);
    page_paragraph(page, INK_DIM, "-: the trace has nothing that the rule looks at");
}
