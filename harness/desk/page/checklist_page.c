#include "harness/desk/page/checklist_page.h"

#include "harness/text/catalogue.h"

void checklist_page(const struct page *page, const struct checklist *checklist)
{
    static const enum ink inks[] = {
        [ANSWER_YES] = INK_GOOD, [ANSWER_UNKNOWN] = INK_DOUBTFUL, [ANSWER_NO] = INK_BAD
    };

    page_heading(page, "Checklist");
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_row *row = &checklist->rows[i];
        const struct finding *finding = row->finding;
        page_item(page, i + 1, checklist_questions[i].id, checklist_questions[i].text,
                  inks[row->answer], answer_name(row->answer));
        page_detail(page, "%s", row->figures);
        if (finding == NULL)
            continue;
        page_detail(page, "Finding: %s: %s", finding->id, finding->title);
        if (catalogue_scenario(finding->id, 0) != NULL)
            page_command(page, "See it in small:", "explain %s",
                         catalogue_scenario(finding->id, 0));
    }
}
