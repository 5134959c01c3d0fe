/* Pages, as a terminal and as Markdown show them. */
#include "harness/base/status.h"
#include "harness/text/page_rows.h"
#include "harness/text/wrap.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <errno.h>

/* The page that `print` makes, 40 columns wide; to be freed. */
static char *printed(void (*print)(const struct page *page), bool markdown)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = markdown ? page_markdown(stream) : page_console(stream, COLOR_NEVER);

    assert_non_null(stream);
    page.console.width = page.console.room = 40;
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

TEST(lines_are_broken_at_spaces)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    wrap_print(stream, 4, 2, 14, "one two three na\xc3\xafve averyveryverylongword end");
    fclose(stream);
    assert_string_equal(text, "one two\n  three na\xc3\xafve\n  averyveryverylongword\n  end\n");
    free(text);
}

TEST(a_command_can_be_pasted_at_any_width)
{
    static const char command[] = "chokepoint train --model=light --launch=graph";
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    wrap_command(stream, 2, 2 + (int)strlen(command), command);
    wrap_command(stream, 2, 34, command);
    fclose(stream);
    assert_string_equal(text, "  chokepoint train --model=light --launch=graph\n"
                              "  chokepoint train --model=light \\\n"
                              "      --launch=graph\n");
    free(text);
}

static void print_commands(const struct page *page)
{
    page_command(page, "Try:", "explain %s", "item_sync");
    page_command(page, "See it in small:", "explain %s", "item_sync");
    page_command(page, "", "explain %s", "item_sync");
}

TEST(a_command_of_a_page_can_be_pasted_from_any_folder)
{
    char *called = program_invocation_name;

    program_invocation_name = (char[]){ "build/choke" };
    check(print_commands, false,
          "     Try: build/choke explain item_sync\n"
          "     See it in small:\n"
          "       build/choke explain item_sync\n"
          "  build/choke explain item_sync\n");
    program_invocation_name = (char[]){ "/a folder/of my/own/chokepoint" };
    check(print_commands, false,
          "     Try:\n"
          "       /a\\ folder/of\\ my/own/chokepoint \\\n"
          "           explain item_sync\n"
          "     See it in small:\n"
          "       /a\\ folder/of\\ my/own/chokepoint \\\n"
          "           explain item_sync\n"
          "  /a\\ folder/of\\ my/own/chokepoint \\\n"
          "      explain item_sync\n");
    program_invocation_name = called;
}

TEST(a_command_is_not_broken_within_a_quoted_word)
{
    char word[64], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    wrap_quote(word, sizeof word, "--data=my \"best\" images/a~b");
    assert_string_equal(word, "--data=my\\ \\\"best\\\"\\ images/a\\~b");
    wrap_command(stream, 0, 20, word);
    wrap_command(stream, 0, 20, "train --data=my\\ images --steps=10");
    fclose(stream);
    assert_string_equal(text, "--data=my\\ \\\"best\\\"\\ images/a\\~b\n"
                              "train \\\n"
                              "    --data=my\\ images \\\n"
                              "    --steps=10\n");
    free(text);
    wrap_quote(word, 6, "a b c d");
    assert_string_equal(word, "a\\ b");
}

static void print_checks(const struct page *page)
{
    static const struct column columns[] = {
        { "", -4, 0 },
        { "name", -6, 0 },
        { "value", 6, 0 },
        { "expected", PAGE_WRAP, 0 },
        { "advice", PAGE_BELOW, 0 },
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

TEST(columns_are_padded_wrapped_and_continued_below)
{
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

TEST(parts_have_headings_notes_and_totals)
{
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

static void print_contents(const struct page *page)
{
    page_contents(page, "a_b: The loop's 2 Half-steps");
    page_title(page, "a_b: The loop's 2 Half-steps");
}

/* The anchor is what GitHub makes of the heading. */
TEST(contents_link_to_titles)
{
    check(print_contents, false,
          "  a_b: The loop's 2 Half-steps\n"
          "a_b: The loop's 2 Half-steps\n");
    check(print_contents, true,
          "- [a_b: The loop's 2 Half-steps](#a_b-the-loops-2-half-steps)\n"
          "## a_b: The loop's 2 Half-steps\n");
}

static void print_code(const struct page *page)
{
    page_code_begin(page, "sh");
    fputs("echo *\n", page->console.stream);
    page_code_end(page);
}

TEST(code_stands_in_a_fence)
{
    check(print_code, false, "echo *\n");
    check(print_code, true, "\n```sh\necho *\n```\n");
}

/* Names come from files, which anybody may have written. */
static void print_names(const struct page *page)
{
    static const struct column columns[] = { { "name", -3, 0 }, { "file", PAGE_CUT, 0 } };
    static const char *const cells[] = { "a\033[1mb", "c\nd\xe2\x80\xaegnp" };

    page_row(page, columns, 2, cells);
}

TEST(control_characters_are_not_obeyed_in_any_column)
{
    check(print_names, false, "  a?[1mb c?d?gnp\n");
    check(print_names, true, "| a?\\[1mb | c?d?gnp |\n");
}

static void print_markup(const struct page *page)
{
    static const struct column columns[] = { { "", -3, 0 } };
    static const char *const cells[] = { "a|b <i> [x](y) *z* `k` _u_ snake_case \\" };

    page_row(page, columns, 1, cells);
}

TEST(markdown_of_any_kind_is_escaped_in_cells)
{
    check(print_markup, true, "| a\\|b \\<i> \\[x](y) \\*z\\* \\`k\\` \\_u\\_ snake_case \\\\ |\n");
}

/* --- Widths --- */

/* The page that `print` makes in a terminal of `columns`, or (0) in a file; to be freed. */
static char *printed_at(void (*print)(const struct page *page), int columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = page_console(stream, COLOR_NEVER);

    assert_non_null(stream);
    if (columns > 0)
        page.console.width = page.console.room = columns;
    print(&page);
    fclose(stream);
    return text;
}

static void check_at(void (*print)(const struct page *page), int columns, const char *expected)
{
    char *text = printed_at(print, columns);

    assert_string_equal(text, expected);
    free(text);
}

static void print_kernels(const struct page *page)
{
    static const struct column columns[] = {
        { "total", 8, 0 }, { "max", 8, 1 }, { "occ.", 4, 2 }, { "kernel", PAGE_CUT, 0 }
    };
    static const char *const rows[][4] = {
        { "9 us", "3 us", "-", "elementwise_kernel<Functor_add<float>, 4>" },
        { "7 us", "3 us", "-", "elementwise_kernel<Functor_add<half>, 4>" },
        { "5 us", "3 us", "-", "elementwise_kernel<Functor_mul<half>, 4>" },
        { "3 us", "1 us", "-", "gemm" },
    };
    struct page_rows *table = page_rows_open(columns, 4);

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) page_rows_add(table, rows[i], NULL);
    page_rows_print(page, table);
}

/* The occupancy is unknown in every row, the longest time is the first to go, and names that are
 * alike at their ends are cut where they differ. */
TEST(a_table_is_fitted_by_rule)
{
    check_at(print_kernels, 0,
             "     total      max kernel\n"
             "      9 us     3 us elementwise_kernel<Functor_add<float>, 4>\n"
             "      7 us     3 us elementwise_kernel<Functor_add<half>, 4>\n"
             "      5 us     3 us elementwise_kernel<Functor_mul<half>, 4>\n"
             "      3 us     1 us gemm\n");
    check_at(print_kernels, 50,
             "     total      max kernel\n"
             "      9 us     3 us elementwise_ke...dd<float>, 4>\n"
             "      7 us     3 us elementwise_ke...add<half>, 4>\n"
             "      5 us     3 us elementwise_ke...mul<half>, 4>\n"
             "      3 us     1 us gemm\n");
    check_at(print_kernels, 28,
             "  total kernel\n"
             "   9 us elementwi...oat>, 4>\n"
             "   7 us elem...add<half>, 4>\n"
             "   5 us elem...mul<half>, 4>\n"
             "   3 us gemm\n");
}

static void print_effects(const struct page *page)
{
    static const struct column columns[] = {
        { "", -10, 0 }, { "before", 8, 0 }, { "effect", -12, 0 }, { "interval", -12, 0 }
    };
    static const char *const cells[] = { "step_time", "2.79 ms", "1.42x faster", "1.37 to 1.45" };
    struct page_rows *table = page_rows_open(columns, 4);

    page_rows_add(table, cells, NULL);
    page_rows_print(page, table);
}

TEST(columns_that_must_stay_stand_on_a_line_below)
{
    check_at(print_effects, 48,
             "               before effect       interval\n"
             "  step_time   2.79 ms 1.42x faster 1.37 to 1.45\n");
    check_at(print_effects, 40,
             "             before effect\n"
             "            interval\n"
             "  step_time 2.79 ms 1.42x faster\n"
             "            1.37 to 1.45\n");
}

static void print_long_cells(const struct page *page)
{
    static const struct column columns[] = { { "check", -6, 0 },
                                             { "value", -8, 0 },
                                             { "expected", PAGE_WRAP, 0 } };
    static const char *const cells[] = { "load", "a value that is longer than its column is",
                                         "less than all of that" };

    page_row(page, columns, 3, cells);
}

TEST(a_cell_too_long_for_its_line_is_wrapped_at_spaces)
{
    check_at(print_long_cells, 40,
             "  load   a value that is longer than its\n"
             "         column is\n"
             "                  less than all of that\n");
}

static void print_long_names(const struct page *page)
{
    page_note(page, "a/name/that/is/longer/than/half/a/line", "a note");
    page_detail(page, "%s",
                "the kernel is ns::a_kernel<ns::a_policy_of_that_length, 4>, in "
                "/a/path/that/nothing/cuts/where/it/is/long");
}

TEST(long_names_in_sentences_lose_their_middle_and_paths_nothing)
{
    check_at(print_long_names, 40,
             "  a/name/that/is/longer/than/half/a/...:\n"
             "    a note\n"
             "     the kernel is\n"
             "     ns::a_kernel<ns:..._of_that_length,\n"
             "     4>, in\n"
             "     /a/path/that/nothing/cuts/where/it/is/long\n");
}

static void print_wide_parts(const struct page *page)
{
    page_title(page, "a title of more than forty columns is wrapped too");
    page_entry(page, "checkpointing", "checkpointing none -> block", INK_GOOD, "reproduced");
    page_item(page, 1, "launch_bound", "The device waits for launches", INK_BAD, "critical");
}

TEST(texts_that_do_not_fit_beside_their_note_go_on_below)
{
    check_at(print_wide_parts, 40,
             "a title of more than forty columns is\n"
             "  wrapped too\n"
             "\ncheckpointing  checkpointing  reproduced\n"
             "  none -> block\n"
             "  1. launch_bound: The device   critical\n"
             "     waits for launches\n");
}

TEST(colours_are_for_terminals_or_as_they_are_asked_for)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_true(console_is_coloured(COLOR_ALWAYS, file));
    assert_false(console_is_coloured(COLOR_NEVER, file));
    assert_false(console_is_coloured(COLOR_AUTO, file)); /* no terminal */
    fclose(file);
}
