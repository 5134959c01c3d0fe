/* Pages, as a terminal and as Markdown show them. */
#include "harness/base/status.h"
#include "harness/text/page.h"
#include "harness/text/wrap.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdlib.h>
#include <string.h>

/* The page that `print` makes, 40 columns wide; to be freed. */
static char *printed(void (*print)(const struct page *page), bool markdown)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = markdown ? page_markdown(stream) : page_console(stream, COLOR_NEVER);

    assert_non_null(stream);
    page.console.width = 40;
    print(&page);
    fclose(stream);
    return text;
}

static void check(void (*print)(const struct page *page), bool markdown, const char *expected)
{
    char *text = printed(print, markdown);

    assert_string_equal(text, expected);
    free(text);
}

static void lines_are_broken_at_spaces(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    (void)state;

    assert_non_null(stream);
    wrap_print(stream, 4, 2, 14, "one two three na\xc3\xafve averyveryverylongword end");
    fclose(stream);
    assert_string_equal(text, "one two\n  three na\xc3\xafve\n  averyveryverylongword\n  end\n");
    free(text);
}

static void print_checks(const struct page *page)
{
    static const struct column columns[] = {
        { "", -4 },
        { "name", -6 },
        { "value", 6 },
        { "expected", PAGE_WRAP },
        { "advice", PAGE_BELOW },
    };
    static const char *const rows[][5] = {
        { "ok", "plain", "1.5", "2", "" },
        { "fail", "na\xc3\xafve", "12", "between three and four of them",
          "end what runs here now" },
        { "ok", "a longer name", "1234567", "", "" },
    };
    static const enum ink inks[][5] = { { INK_GOOD }, { INK_BAD }, { INK_GOOD } };

    page_table(page, columns, 5);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        page_row_inked(page, columns, 5, rows[i], inks[i]);
}

static void columns_are_padded_wrapped_and_continued_below(void **state)
{
    (void)state;
    check(print_checks, false,
          "       name    value expected\n"
          "  ok   plain     1.5 2\n"
          "  fail na\xc3\xafve      12 between three and\n"
          "                     four of them\n"
          "       end what runs here now\n"
          "  ok   a longer name 1234567\n");
    check(print_checks, true,
          "\n|  | name | value | expected | advice |\n"
          "|---|---|--:|---|---|\n"
          "| ok | plain | 1.5 | 2 |  |\n"
          "| **fail** | na\xc3\xafve | 12 | between three and four of them | end what runs here "
          "now |\n"
          "| ok | a longer name | 1234567 |  |  |\n");
}

static void print_parts(const struct page *page)
{
    page_entry(page, "item_sync", "loss_every 1 -> 20", INK_GOOD, "reproduced");
    page_heading(page, "Notes");
    page_note(page, "item_sync", "the interval includes the factor that is asked for");
    page_summary(page, "%d scenario: %d reproduced", 1, 1);
}

static void parts_have_headings_notes_and_totals(void **state)
{
    (void)state;
    check(print_parts, false,
          "\nitem_sync  loss_every 1 -> 20 reproduced\n"
          "\nNotes\n"
          "  item_sync: the interval includes the\n"
          "    factor that is asked for\n"
          "\n1 scenario: 1 reproduced\n");
    check(print_parts, true,
          "\n### item_sync: loss_every 1 -> 20: reproduced\n"
          "\n### Notes\n"
          "- **item_sync**: the interval includes the factor that is asked for\n"
          "\n**1 scenario: 1 reproduced**\n");
}

/* Names come from files, which anybody may have written. */
static void print_names(const struct page *page)
{
    static const struct column columns[] = { { "name", -3 }, { "file", PAGE_CUT } };
    static const char *const cells[] = { "a\033[1mb", "c\nd" };

    page_row(page, columns, 2, cells);
}

static void control_characters_are_not_obeyed_in_any_column(void **state)
{
    (void)state;
    check(print_names, false, "  a?[1mb c?d\n");
    check(print_names, true, "| a?\\[1mb | c?d |\n");
}

static void print_markup(const struct page *page)
{
    static const struct column columns[] = { { "", -3 } };
    static const char *const cells[] = { "a|b <i> [x](y) *z* `k` _u_ snake_case \\" };

    page_row(page, columns, 1, cells);
}

static void markdown_of_any_kind_is_escaped_in_cells(void **state)
{
    (void)state;
    check(print_markup, true, "| a\\|b \\<i> \\[x](y) \\*z\\* \\`k\\` \\_u\\_ snake_case \\\\ |\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_broken_at_spaces),
        cmocka_unit_test(columns_are_padded_wrapped_and_continued_below),
        cmocka_unit_test(parts_have_headings_notes_and_totals),
        cmocka_unit_test(control_characters_are_not_obeyed_in_any_column),
        cmocka_unit_test(markdown_of_any_kind_is_escaped_in_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
