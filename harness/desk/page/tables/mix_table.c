#include "harness/desk/page/tables/mix_table.h"

#include "harness/base/figures/quantity.h"
#include "harness/desk/page/tables/table_cells.h"
#include "harness/text/page_rows.h"

static const struct column kind_columns[] = {
    { "share", 6, 0 }, { "total", 8, 0 }, { "calls", 6, 1 }, { "kind", PAGE_CUT, 0 }
};

static void print_kinds(const struct page *page, const struct mix *mix)
{
    struct page_rows *rows = page_rows_open(kind_columns, ARRAY_SIZE(kind_columns));

    for (int kind = 0; kind < MIX_COUNT; kind++) {
        struct quantity_text total = quantity_time((double)mix->ns[kind]);
        char share[CELL_SIZE], calls[CELL_SIZE];
        const char *const cells[] = { share, total.text, calls, mix_name(kind) };
        if (mix->count[kind] == 0)
            continue;
        cell_percent(share, (double)mix->ns[kind] / (double)mix->all_ns);
        cell_count(calls, mix->count[kind]);
        page_rows_add(rows, cells, NULL);
    }
    page_rows_print(page, rows);
}

static const struct column group_columns[] = { { "here", 6, 0 },
                                               { "usual", 6, 0 },
                                               { "of the layers' time", PAGE_CUT, 0 } };

static void print_groups(const struct page *page, const struct mix *mix)
{
    struct page_rows *rows = page_rows_open(group_columns, ARRAY_SIZE(group_columns));

    fputc('\n', page->console.stream);
    for (int i = 0; i < MIX_GROUP_COUNT; i++) {
        enum mix_group group = (enum mix_group)i;
        char here[CELL_SIZE], usual[CELL_SIZE];
        const char *const cells[] = { here, usual, mix_group_name(group) };
        cell_percent(here, mix_share(mix, group));
        cell_percent(usual, mix_usual[group]);
        page_rows_add(rows, cells, NULL);
    }
    page_rows_print(page, rows);
    page_paragraph(page, INK_DIM, "Usual: %s.", mix_source);
}

void mix_table(const struct page *page, const struct summary *summary)
{
    const struct mix *mix = &summary->mix;

    if (!mix->is_transformer)
        return;
    table_heading(page, "Device work by kind", MIX_COUNT, MIX_COUNT);
    print_kinds(page, mix);
    if (mix->trains)
        print_groups(page, mix);
}
