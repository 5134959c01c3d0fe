/* Diagnoses as people and programs get them: which files are judged together, and what is
 * printed. */
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/text/wrap.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_catalogue.h"

#include <limits.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- Files made by hand --- */

enum { FILES_MOST = 64, PATH_SIZE = 40 };

static char paths[FILES_MOST][PATH_SIZE];
static const char *path_list[FILES_MOST];
static int descriptors[FILES_MOST], file_count;

static void add_file(const char *text)
{
    int file = memfd_create("trace", MFD_CLOEXEC);

    assert_true(file_count < FILES_MOST);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    snprintf(paths[file_count], PATH_SIZE, "/proc/self/fd/%d", file);
    path_list[file_count] = paths[file_count];
    descriptors[file_count++] = file;
}

static void close_files(void)
{
    while (file_count > 0) close(descriptors[--file_count]);
}

/* Two steps of 100 us. In each a kernel of 40 us, launched by a call of 10 us before it; a copy of
 * 8000 bytes in 2 us; and `communication_us` of communication at its end. */
static void add_rank(const char *head, const char *kernel, int communication_us)
{
    char text[8192];
    int length = snprintf(text, sizeof text, "{%s\"traceEvents\":[", head);

    for (int step = 0; step < 2; step++) {
        int at = 100 * step;
        length += snprintf(
            text + length, sizeof text - (size_t)length,
            "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":9,"
            "\"tid\":9,\"ts\":%d,\"dur\":100},"
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":%d,"
            "\"dur\":20},"
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
            "\"tid\":9,\"ts\":%d,\"dur\":10,\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,"
            "\"dur\":40,\"args\":{\"correlation\":%d,\"blocks per SM\":2.5,"
            "\"est. achieved occupancy %%\":31}},"
            "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> Device)\","
            "\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":2,\"args\":{\"bytes\":8000}}",
            step == 0 ? "" : ",", step, at, at + 1, at + 2, step + 1, kernel, at + 20, step + 1,
            at + 62);
        if (communication_us > 0)
            length += snprintf(
                text + length, sizeof text - (size_t)length,
                ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,"
                "\"tid\":8,\"ts\":%d,\"dur\":%d,\"args\":{\"correlation\":0}}",
                at + 100 - communication_us, communication_us);
    }
    snprintf(text + length, sizeof text - (size_t)length, "]}");
    add_file(text);
}

/* As in a terminal of 80 columns, or as in a file. */
static char *printed_with(const struct diagnosis *diagnosis, bool markdown, bool in_file,
                          struct diagnosis_view view)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    struct page page = markdown ? page_markdown(stream) : page_console(stream, COLOR_NEVER);

    assert_non_null(stream);
    assert_int_equal(page.console.room, INT_MAX);
    if (!in_file)
        page.console.room = 80;
    assert_ok(diagnosis_page(&page, diagnosis, &view));
    fclose(stream);
    test_defer(free, text);
    return text;
}

static char *printed_in(const struct diagnosis *diagnosis, bool markdown, bool in_file, int only)
{
    return printed_with(diagnosis, markdown, in_file, (struct diagnosis_view){ .only = only });
}

static char *printed(const struct diagnosis *diagnosis, bool markdown)
{
    return printed_in(diagnosis, markdown, false, -1);
}

static void release_made(void *made)
{
    diagnosis_release(made);
    free(made);
}

/* Diagnoses the files that were added. The result stays until the test ends, as its texts do. */
static struct diagnosis diagnose(void)
{
    struct diagnosis *made = malloc(sizeof *made);

    assert_non_null(made);
    test_defer(release_made, made);
    assert_ok(diagnosis_make(made, path_list, file_count, NULL, NULL));
    close_files();
    return *made;
}

static char *json_of(const struct diagnosis *diagnosis, int only, int timeline)
{
    char *text;

    assert_ok(diagnosis_json(diagnosis, only, timeline, &text));
    test_defer(free, text);
    return text;
}

/* The row of a table that begins with these words; cells are separated by one space at least. */
static void check_row(const char *text, const char *const words[], int count)
{
    const char *at = text;

    while (at != NULL) {
        const char *word = at;
        int matched = 0;
        for (; matched < count; matched++) {
            word += strspn(word, " ");
            if (strncmp(word, words[matched], strlen(words[matched])) != 0)
                break;
            word += strlen(words[matched]);
        }
        if (matched == count)
            return;
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    fail_msg("no row begins with \"%s\" \"%s\" in\n%s", words[0], words[1], text);
}
#define CHECK_ROW(text, ...)                                                                       \
    check_row(text, (const char *const[]){ __VA_ARGS__ },                                          \
              (int)ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

/* --- One trace --- */

/* Known to the microsecond: 40 of kernels, 2 of copies, 10 of calls, 10 of an operator beside them,
 * and nothing in the rest. The span is from 20 us to 164 us. */
TEST(the_page_says_where_step_and_device_time_went)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank("", "gemm", 0);
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    CHECK_ROW(text, "Step: 100 us, mean of 2 (100 us to 100 us)");
    CHECK_ROW(text, "kernels", "40 us", "40.0%", "############\n");
    CHECK_ROW(text, "copies", "2 us", "2.0%", "#\n");
    CHECK_ROW(text, "runtime calls", "10 us", "10.0%", "###\n");
    CHECK_ROW(text, "other host work", "9 us", "9.0%");
    CHECK_ROW(text, "nothing recorded", "39 us", "39.0%");
    CHECK_ROW(text, "Device: busy 58.3% of 144 us");
    CHECK_ROW(text, "computation", "80 us", "55.6%");
    CHECK_ROW(text, "Kernels: totals of the trace\n");
    CHECK_ROW(text, "2 launches: work starts 8 us after its launch on average (at most 8 us); the");
    CHECK_ROW(text, "copies and memsets, exposed", "4 us", "2.8%");
    CHECK_ROW(text, "100.0%", "80 us", "40 us", "40 us", "2", "31%", "2.50", "gemm\n");
    CHECK_ROW(text, "4 us", "2 us", "2", "15.6 KiB", "4.00", "Memcpy HtoD (Pageable");
    CHECK_ROW(text, "80 us", "80 us", "20 us", "40 us", "2", "aten::mm\n");
    CHECK_ROW(text, "0 us", "0 us", "20 us", "20 us", "2", "cudaLaunchKernel\n");
    assert_null(strstr(text, "memsets  ")); /* what is nothing has no row */
    assert_null(strstr(text, "Memory"));
}

TEST(tables_have_as_many_rows_as_asked_for_in_that_order)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank("", "gemm", 0);
    diagnosis = diagnose();
    diagnosis.tables = (struct table_choice){ SPANS_BY_COUNT, 1 };
    text = printed(&diagnosis, false);
    CHECK_ROW(text, "Operators and calls by count: 1 of 2, totals of the trace\n");
    assert_non_null(strstr(text, " aten::mm\n"));
    assert_null(strstr(text, " cudaLaunchKernel\n"));
}

TEST(kinds_of_operators_have_the_rate_of_what_they_state)
{
    struct diagnosis diagnosis;
    char *text;

    add_file("{\"traceEvents\":["
             "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":9,\"tid\":9,\"ts\":0,"
             "\"dur\":20,\"args\":{\"flops\":40000,\"bytes\":8000,\"Input Dims\":[[8,4],[4,8]]}},"
             "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
             "\"tid\":9,\"ts\":1,\"dur\":5,\"args\":{\"correlation\":1}},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":30,"
             "\"dur\":40,\"args\":{\"correlation\":1}}]}");
    diagnosis = diagnose();
    text = printed_in(&diagnosis, false, true, -1);
    CHECK_ROW(text, "100.0%", "40 us", "40 us", "1", "1.00 GFLOP/s", "200 MB/s", "mm",
              "[[8, 4], [4, 8]]\n");
}

TEST(shares_sum_to_the_whole)
{
    struct diagnosis diagnosis;
    double sums[2] = { 0, 0 };
    int table = -1;
    char *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *percent = strstr(line, "% #");
        table += strstr(line, " time  share") != NULL;
        if (strcmp(line, "Findings") == 0)
            break;
        if (percent != NULL && table >= 0 && table < 2)
            sums[table] += strtod(percent - 5, NULL);
    }
    assert_float_equal(sums[0], 100, 0.31);
    assert_float_equal(sums[1], 100, 0.31);
}

TEST(every_line_fits_whatever_names_hold)
{
    struct diagnosis diagnosis;
    char *text, *line;

    add_rank("",
             "void at::native::(anonymous namespace)::reduce_kernel<512, 1, "
             "at::native::ReduceOp<float, a_very_long_name_of_an_operation, unsigned, 4> >",
             0);
    add_rank("",
             "h\\u001b[31mred|**bold** \xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc "
             "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc",
             0);
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, " reduce_kernel<512"));
    assert_non_null(strstr(text, "h?[31mred|**bold**"));
    assert_null(strchr(text, '\033'));
    for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_in_range(wrap_columns(line), 0, 80);
        assert_true(line[0] == '\0' || line[strlen(line) - 1] != ' ');
    }
}

/* Two kernels whose names differ only beyond what a line has room for. */
TEST(long_names_stay_apart_in_a_terminal_and_whole_in_a_file)
{
#define LONG "vectorized_elementwise_kernel<4, a_functor_with_a_name_that_is_long_enough<"
    struct diagnosis diagnosis;
    char *text;

    add_file("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" LONG
             "float>>\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":3,\"args\":{}},"
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" LONG
             "half>>\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":2,\"args\":{}}]}");
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "vectorized_ele"));
    assert_non_null(strstr(text, "float>>\n"));
    assert_non_null(strstr(text, "half>>\n"));
    assert_null(strstr(text, LONG));
    assert_null(strstr(text, "bl./SM")); /* it has no value in any row */
    text = printed_in(&diagnosis, false, true, -1);
    assert_non_null(strstr(text, LONG "float>>\n"));
    assert_non_null(strstr(text, LONG "half>>\n"));
#undef LONG
}

TEST(markdown_has_as_many_cells_in_every_row_of_a_table)
{
    struct diagnosis diagnosis;
    int rows = 0, cells = 0;
    char *text;

    add_rank("", "gemm|<float>*\\u001b", 0);
    diagnosis = diagnose();
    text = printed(&diagnosis, true);
    assert_non_null(strstr(text, "gemm\\|\\<float>\\*?"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        int bars = 0;
        for (const char *letter = line; *letter != '\0'; letter++)
            bars += *letter == '|' && (letter == line || letter[-1] != '\\');
        if (line[0] != '|') {
            cells = 0;
            continue;
        }
        if (cells == 0)
            cells = bars;
        assert_int_equal(bars, cells);
        rows++;
    }
    assert_true(rows > 5 * 3); /* five tables of a heading, a line and a row at least */
}

TEST(a_cut_trace_says_so_and_shows_what_was_read)
{
    struct diagnosis diagnosis;
    char *text;

    add_file("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":1,"
             "\"dur\":2,\"args\":{}},\n{\"ph\":\"X\",\"cat\":\"kern");
    diagnosis = diagnose();
    assert_true(diagnosis.traces[0]->partial);
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "The file is incomplete: "));
    assert_non_null(strstr(text, "gemm\n"));
    assert_non_null(strstr(text, "marks no steps"));
}

/* --- Findings --- */

TEST(a_finding_says_what_it_costs_and_what_its_advice_gains)
{
    static const struct {
        struct finding finding;
        double step_ns;
        const char *text;
    } cases[] = {
        { { .lost_ns_per_step = 840e3, .predicted_gain = 1.5, .confidence = CONFIDENCE_HIGH },
          2.4e6,
          "Costs 840 us per step, 35% of the 2.40 ms step; predicted gain 1.50x; high "
          "confidence." },
        { { .lost_ns_per_step = 840e3, .predicted_gain = NAN },
          0,
          "May cost 840 us per step; low confidence." },
        { { .lost_ns_per_step = 840e3,
            .predicted_gain = NAN,
            .of_whole = true,
            .gain_is_most = true,
            .confidence = CONFIDENCE_MEDIUM },
          0,
          "Costs at most 840 us; medium confidence." },
        { { .lost_ns_per_step = 600e3,
            .predicted_gain = 1.33,
            .once_in_steps = 6,
            .confidence = CONFIDENCE_MEDIUM },
          2.4e6,
          "Costs 3.60 ms once, 25% of the 6 steps that were recorded; predicted gain 1.33x, of "
          "these alone; medium confidence." },
        { { .lost_ns_per_step = NAN, .predicted_gain = 1 }, 1e6, "Low confidence." },
        { { .lost_ns_per_step = NAN, .predicted_gain = 2, .confidence = CONFIDENCE_LOW },
          1e6,
          "Predicted gain 2.00x; low confidence." },
    };
    char text[160];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct diagnosis_whole whole = { cases[i].step_ns, "the 2.40 ms step" };
        diagnosis_cost(text, sizeof text, &cases[i].finding, &whole);
        assert_string_equal(text, cases[i].text);
    }
}

/* In place of those that the rules made. */
static void put_findings(struct diagnosis *diagnosis)
{
    static struct finding made[] = {
        { .id = "memory_growth",
          .title = "Memory grows",
          .advice = "keep the number",
          .severity = SEVERITY_CRITICAL,
          .confidence = CONFIDENCE_MEDIUM,
          .lost_ns_per_step = NAN,
          .predicted_gain = NAN,
          .evidence = "it grows by 1 MiB per step" },
        { .id = "host_sync",
          .title = "The loop waits for the device",
          .advice = "read later",
          .severity = SEVERITY_MAJOR,
          .confidence = CONFIDENCE_HIGH,
          .lost_ns_per_step = 20e3,
          .predicted_gain = 1.25,
          .evidence = "2 waits per step, 20 us each" },
    };

    diagnosis->findings[0] = (struct findings){ .items = made, .count = ARRAY_SIZE(made) };
}

/* Two steps of 100 us from 0 to 300 us, and nothing else. */
TEST(every_share_names_its_whole)
{
    static const struct {
        const char *text;
        double untraced_ns;
        const char *whole, *sentence;
    } cases[] = {
        { "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#0\","
          "\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":100},{\"ph\":\"X\",\"cat\":\"user_annotation\","
          "\"name\":\"ProfilerStep#1\",\"pid\":9,\"tid\":9,\"ts\":200,\"dur\":100}]}",
          0, "the 150 us step", "there are 150 us per\n  step: the findings use that." },
        { "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#0\","
          "\"pid\":9,\"tid\":9,\"ts\":0,\"dur\":100}]}",
          80e3, "the 80 us step without a tracer", "Without a tracer a step took 80 us" },
        { "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,"
          "\"tid\":7,\"ts\":1,\"dur\":50,\"args\":{}}]}",
          0, "the trace's 50 us", "The trace marks no steps" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct diagnosis diagnosis;
        char *text;
        add_file(cases[i].text);
        diagnosis = diagnose();
        diagnosis.traces[0]->cost.step_ns = cases[i].untraced_ns;
        assert_string_equal(diagnosis_whole(&diagnosis.facts[0]).text, cases[i].whole);
        text = printed(&diagnosis, false);
        assert_non_null(strstr(text, cases[i].sentence));
    }
}

/* More than a tenth of the cores, of which the file may state the number. */
TEST(other_programs_are_named)
{
    static const double cores[] = { 0.05, 1.5 };

    for (size_t i = 0; i < ARRAY_SIZE(cores); i++) {
        struct diagnosis diagnosis;
        char *text;
        add_rank("", "gemm", 0);
        diagnosis = diagnose();
        diagnosis.traces[0]->cost.other_cores = cores[i];
        text = printed(&diagnosis, false);
        assert_true((strstr(text, "Other programs used 1.50 cores meanwhile") != NULL) == (i == 1));
    }
}

/* Times are those of the file, so that a viewer finds them. */
TEST(the_longest_gaps_are_on_the_page)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank("", "gemm", 0);
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "Gaps: the longest times without device work"));
    assert_non_null(strstr(text, " 56 us "));
    assert_non_null(strstr(text, " 64.000 "));
    assert_non_null(strstr(text, "after Memcpy HtoD (Pageable -> Device); before gemm"));
}

TEST(times_before_zero_have_one_sign)
{
    struct diagnosis diagnosis;
    char *text;

    add_file("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,"
             "\"tid\":7,\"ts\":-30.5,\"dur\":20,\"args\":{}},{\"ph\":\"X\",\"cat\":\"kernel\","
             "\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":20,\"args\":{}}]}");
    diagnosis = diagnose();
    text = printed_with(&diagnosis, false, false,
                        (struct diagnosis_view){ .only = -1, .timeline = 1 });
    assert_non_null(strstr(text, " -10.500 "));
    assert_non_null(strstr(text, "from -30.500 us on the clock of the file"));
}

TEST(findings_are_numbered_in_their_order)
{
    struct diagnosis diagnosis;
    const char *first, *second;
    char *text;

    add_rank("", "gemm", 0);
    diagnosis = diagnose();
    put_findings(&diagnosis);
    text = printed(&diagnosis, false);
    first = strstr(text, "1. memory_growth: Memory grows ");
    second = strstr(text, "2. host_sync: The loop waits for the device ");
    assert_true(first != NULL && second != NULL && first < second);
    assert_non_null(
        strstr(text, " critical\n     it grows by 1 MiB per step\n     Medium confidence.\n"));
    assert_non_null(strstr(text, " explain item_sync\n"));
    /* The page ends with the first of them. */
    first = strstr(text, "\nIn short: Memory grows");
    assert_non_null(first);
    assert_null(strstr(first, "\n1. "));
    assert_non_null(strstr(
        text, "     Costs 20 us per step, 20% of the 100 us step; predicted gain 1.25x; high"));
}

TEST(a_healthy_trace_says_why)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank("", "gemm", 0);
    diagnosis = diagnose();
    diagnosis.findings[0] = (struct findings){ .count = 0 };
    snprintf(diagnosis.findings[0].healthy, sizeof diagnosis.findings[0].healthy,
             "the device is busy 95%% of a step");
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "Findings\n  Healthy: the device is busy 95% of a step\n"));
}

/* --- On demand --- */

/* Two steps of 100 us in 63 columns, so a column is 3.17 us: the call is from 2 to 12 us, its
 * operator from 1 to 21, the kernel from 20 to 60, a copy from 62 to 64, communication in the
 * last 30. The copy is half of no column in the first step, and of one in the second. */
TEST(the_timeline_is_drawn_in_the_width_of_the_page)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    text = printed_with(&diagnosis, false, false,
                        (struct diagnosis_view){ .only = -1, .timeline = 2 });
    assert_non_null(strstr(text, "Timeline: steps 0 to 1 of 2\n  200 us, from 0.000 us on the"));
    CHECK_ROW(text, "|0              |50.8 us        |102 us         |152 us");
    CHECK_ROW(text, "step", "|[0-----------------------------][1----------------------------]|\n");
    CHECK_ROW(text, "loop", "|lLLLOOO........................oLLLOOOo........................|\n");
    CHECK_ROW(text, "stream 7",
              "|......#############cc................+############+C...........|\n");
    CHECK_ROW(text, "stream 8",
              "|......................NNNNNNNNNN.....................nNNNNNNNNN|\n");
    text = printed_with(&diagnosis, false, false,
                        (struct diagnosis_view){ .only = -1, .timeline = 1 });
    assert_non_null(strstr(text, "Timeline: step 0, the most typical of 2"));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_in_range(wrap_columns(line), 0, 80);
}

/* Launches follow each other every 100 us, but for one pause of 8 ms. */
TEST(the_timeline_has_a_letter_for_all_that_the_host_does)
{
    struct diagnosis diagnosis;
    char text[8192] = "{\"traceEvents\":[", *page;

    for (int i = 0; i < 20; i++) {
        size_t length = strlen(text);
        int at = 100 * i + (i >= 10 ? 8000 : 0);
        snprintf(text + length, sizeof text - length,
                 "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,"
                 "\"tid\":9,\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},"
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,"
                 "\"dur\":10,\"args\":{\"correlation\":%d}}",
                 i > 0 ? "," : "", at, i + 1, at + 10, i + 1);
    }
    strcat(text, "]}");
    add_file(text);
    diagnosis = diagnose();
    page = printed_with(&diagnosis, false, false,
                        (struct diagnosis_view){ .only = -1, .timeline = 1 });
    assert_non_null(strstr(page, "HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH"));
    assert_non_null(strstr(page, "H other work of the host"));
}

/* One rank has too few kernels, and finds only what is possible; two have enough. */
TEST(the_checklist_has_the_answers_of_the_findings)
{
    static const char question[] = "Do ranks share the work evenly, without waiting?";
    struct diagnosis_view view = { .only = -1, .checklist = true };
    struct diagnosis diagnosis;
    char *page;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    page = printed_with(&diagnosis, false, false, view);
    CHECK_ROW(page, "7.", "ranks:", question, "cannot be told");
    assert_non_null(strstr(page, "Finding: exposed_communication: Exposed communication"));
    assert_null(strstr(page, "Kernels"));
    assert_null(strstr(page, "Findings"));
    add_rank("\"distributedInfo\":{\"rank\":0,\"world_size\":2},", "gemm", 30);
    add_rank("\"distributedInfo\":{\"rank\":1,\"world_size\":2},", "gemm", 5);
    diagnosis = diagnose();
    page = printed_with(&diagnosis, false, false, view);
    CHECK_ROW(page, "2 of 2 ranks");
    CHECK_ROW(page, "1.", "busy:", "Is the device busy, at an even pace?", "no");
    CHECK_ROW(page, "7.", "ranks:", question, "no");
    assert_non_null(strstr(page, "Finding: straggler"));
}

TEST(thresholds_are_listed_for_every_rule)
{
    struct diagnosis diagnosis;
    const struct rule *rule;
    char *page, *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    page = printed_with(&diagnosis, false, false,
                        (struct diagnosis_view){ .only = -1, .thresholds = true });
    text = strstr(page, "\nThresholds\n");
    assert_non_null(text);
    for (int i = 0; (rule = rule_at(i)) != NULL; i++) {
        char line[80];
        snprintf(line, sizeof line, "\n  %s ", rule->id);
        assert_non_null(strstr(text, line));
        assert_string_equal(diagnosis.findings[0].thresholds[i].id, rule->id);
    }
    CHECK_ROW(text, "exposed_communication", "lost share of a step", "30%", "< 10%", ">= 15%");
    CHECK_ROW(text, "low_utilisation", "busy share of a step", "72%", ">= 70%", "< 50%");
    CHECK_ROW(text, "straggler", "-", "-", "-", "-");
}

/* --- JSON --- */

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    if (item == NULL)
        fail_msg("there is no member %s", name);
    return item;
}

/* `names` with a space between. */
static void check_members(const cJSON *object, const char *names)
{
    char text[1024] = "";
    size_t length = 0;

    for (const cJSON *item = object->child; item != NULL && length < sizeof text; item = item->next)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                   length > 0 ? " " : "", item->string);
    assert_string_equal(text, names);
}

TEST(json_has_the_documented_members_and_no_nan)
{
    struct diagnosis diagnosis;
    const cJSON *trace, *finding;
    cJSON *root;
    char *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    put_findings(&diagnosis);
    text = json_of(&diagnosis, -1, 0);
    root = cJSON_Parse(text);
    assert_non_null(root);
    assert_int_equal(member(root, "schema")->valueint, 1);
    assert_true(cJSON_IsFalse(member(root, "is_run")));
    assert_int_equal(cJSON_GetArraySize(member(root, "traces")), 1);
    trace = member(root, "traces")->child;
    check_members(trace,
                  "file lines_from partial partial_reason events text_bytes damaged_events "
                  "damaged_at_byte damaged_reason stray_events dropped_records rank world_size "
                  "device soundness span_ns busy_ns idle_ns compute_ns communication_ns "
                  "exposed_communication_ns exposed_copy_ns idle devices window steps counters "
                  "phases launches kernels mix operator_count operators annotation_count "
                  "annotations operator_kind_count operator_kinds memory gaps bottleneck "
                  "bottleneck_share headline thresholds healthy findings checklist next what_if");
    check_members(member(trace, "idle"), "host_wait device_wait other");
    check_members(member(trace, "steps"),
                  "count mean_ns min_ns max_ns median_ns untraced_ns parts duration_ns");
    assert_true(cJSON_IsFalse(member(trace, "partial")));
    assert_float_equal(member(trace, "span_ns")->valuedouble, 180e3, 0);
    assert_float_equal(member(trace, "busy_ns")->valuedouble, 144e3, 0);
    assert_float_equal(member(trace, "compute_ns")->valuedouble, 80e3, 0);
    assert_float_equal(member(trace, "communication_ns")->valuedouble, 60e3, 0);
    assert_float_equal(member(trace, "exposed_communication_ns")->valuedouble, 60e3, 0);
    assert_float_equal(member(trace, "exposed_copy_ns")->valuedouble, 4e3, 0);
    assert_float_equal(member(member(trace, "steps"), "mean_ns")->valuedouble, 100e3, 0);
    assert_int_equal(cJSON_GetArraySize(member(trace, "kernels")), 3);
    finding = member(trace, "findings")->child;
    check_members(finding,
                  "id bottleneck severity lost_ns_per_step predicted_gain predicted_gain_at_least "
                  "predicted_gain_at_most once_fixed confidence evidence advice title of_whole "
                  "once_in_steps where library scenarios");
    assert_string_equal(member(finding, "scenarios")->child->valuestring, "leak");
    assert_true(cJSON_IsNull(member(finding, "lost_ns_per_step")));
    assert_true(cJSON_IsNull(member(finding, "predicted_gain")));
    assert_float_equal(member(finding->next, "predicted_gain")->valuedouble, 1.25, 0);
    cJSON_Delete(root);
}

static double number(const cJSON *object, const char *name)
{
    assert_true(cJSON_IsNumber(member(object, name)));
    return member(object, name)->valuedouble;
}

/* One event has no phase, and one is from another year. */
TEST(what_is_left_out_is_stated)
{
    static const char file[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"ts\":0,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"ts\":10,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"ts\":20,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"d\",\"ts\":90000000000000,\"dur\":9},"
        "{\"name\":\"e\"}]}";
    struct diagnosis diagnosis;
    const cJSON *trace;
    cJSON *root;
    char *text;

    add_file(file);
    diagnosis = diagnose();
    text = json_of(&diagnosis, -1, 0);
    root = cJSON_Parse(text);
    trace = member(root, "traces")->child;
    assert_float_equal(number(trace, "text_bytes"), (float)strlen(file), 0);
    assert_float_equal(number(trace, "events"), 3, 0);
    assert_float_equal(number(trace, "damaged_events"), 1, 0);
    assert_float_equal(number(trace, "damaged_at_byte"),
                       (float)(strlen(file) - strlen("{\"name\":\"e\"}]}")), 0);
    assert_string_equal(member(trace, "damaged_reason")->valuestring, "it has no ph");
    assert_float_equal(number(trace, "stray_events"), 1, 0);
    cJSON_Delete(root);
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "1 event is damaged, the first at byte "));
    assert_non_null(strstr(text, "1 event is far from all others, or at a time of 0; left"));
    assert_non_null(strstr(text, "1 event is broken"));
}

/* Not the first that is described or at work. */
TEST(all_formats_name_the_busiest_of_two_devices)
{
    struct diagnosis diagnosis;
    char *page, *markdown, *text;
    cJSON *root;
    const cJSON *device;

    add_file(
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"T1000\"},{\"id\":1,\"name\":\"H200\"}],"
        "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"fill\",\"pid\":0,\"tid\":7,"
        "\"ts\":0,\"dur\":5},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":1,"
        "\"tid\":7,\"ts\":5,\"dur\":90}]}");
    diagnosis = diagnose();
    page = printed(&diagnosis, false);
    markdown = printed(&diagnosis, true);
    text = json_of(&diagnosis, -1, 0);
    root = cJSON_Parse(text);
    device = member(cJSON_GetArrayItem(member(root, "traces"), 0), "device");
    assert_string_equal(cJSON_GetStringValue(member(device, "name")), "H200");
    assert_non_null(strstr(page, "H200, the busiest of 2 devices;"));
    assert_non_null(strstr(markdown, "H200, the busiest of 2 devices;"));
    assert_null(strstr(page, "T1000"));
    assert_null(strstr(markdown, "T1000"));
    cJSON_Delete(root);
}

/* Rank 1 is another process of the same file, with the numbers of its calls the same, and on the
 * same stream. */
TEST(processes_of_one_file_are_ranks)
{
    static const char event[] =
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,"
        "\"dur\":%d,\"args\":{\"correlation\":%d}}";
    char *text, file[8192] = "[";
    struct diagnosis diagnosis;

    for (int i = 0; i < 8; i++) {
        int step = i / 2, process = 100 * (1 + i % 2), at = 1000 * step + 300 * (i % 2);
        char name[24];
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        text_append(file, sizeof file, event, i > 0 ? "," : "", "user_annotation", name, process,
                    process, 1000 * step, 1000, 0);
        text_append(file, sizeof file, event, ",", "cuda_runtime", "cudaLaunchKernel", process,
                    process, at + 10, 5, step + 1);
        text_append(file, sizeof file, event, ",", "kernel", "gemm", 0, 7, at + 20,
                    100 * (1 + i % 2), step + 1);
    }
    text_append(file, sizeof file, "]");
    add_file(file);
    diagnosis = diagnose();
    assert_int_equal(diagnosis.run_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(diagnosis.traces[i]->rank, i);
        assert_int_equal(diagnosis.traces[i]->world_size, 2);
        assert_int_equal(diagnosis.summaries[i].steps.count, 4);
        assert_int_equal(diagnosis.summaries[i].steps.items[0].busy_ns, 100000 * (1 + i));
        assert_int_equal(diagnosis.summaries[i].soundness.rows[SOUND_PROCESSES].count, 2);
        assert_non_null(strstr(diagnosis.paths[i], i == 0 ? ", process 100" : ", process 200"));
    }
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "2 processes mark steps in this file: each is taken for a rank."));
}

static double sum(const cJSON *array)
{
    double sum = 0;

    for (const cJSON *item = array->child; item != NULL; item = item->next)
        sum += item->valuedouble;
    return sum;
}

/* As add_rank() has it: kernels from 10 to 50 us of each step and communication in its last 30, a
 * copy of 2. */
TEST(parts_in_json_sum_to_their_whole)
{
    struct diagnosis diagnosis;
    const cJSON *trace, *window, *steps, *gap, *operator_row;
    cJSON *root;
    char *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    text = json_of(&diagnosis, -1, 0);
    root = cJSON_Parse(text);
    trace = member(root, "traces")->child;
    window = member(trace, "window");
    assert_float_equal((float)(number(window, "end_ns") - number(window, "start_ns")), 200e3, 0);
    assert_float_equal(number(window, "busy_ns"), 144e3, 0);
    assert_float_equal(number(window, "idle_ns"), 56e3, 0);
    assert_true(sum(member(window, "causes")) == 56e3);
    steps = member(trace, "steps");
    assert_true(sum(member(steps, "parts")) == number(steps, "mean_ns"));
    assert_float_equal(number(member(steps, "parts"), "kernel"), 40e3, 0);
    assert_float_equal(number(member(steps, "parts"), "communication"), 30e3, 0);
    assert_float_equal(number(steps, "median_ns"), 100e3, 0);
    assert_int_equal(cJSON_GetArraySize(member(steps, "duration_ns")), 2);
    assert_true(sum(member(steps, "duration_ns")) == 200e3);
    operator_row = member(trace, "operators")->child;
    assert_string_equal(member(operator_row, "name")->valuestring, "aten::mm");
    assert_float_equal(number(operator_row, "count"), 2, 0);
    assert_float_equal(number(operator_row, "host_total_ns"), 40e3, 0);
    assert_float_equal(number(operator_row, "host_self_ns"), 20e3, 0);
    assert_true(cJSON_IsFalse(member(operator_row, "is_call")));
    assert_true(cJSON_IsNull(member(operator_row, "host_bytes")));
    assert_true(cJSON_IsTrue(member(operator_row->next, "is_call")));
    for (gap = member(trace, "gaps")->child; gap != NULL; gap = gap->next) {
        assert_true(sum(member(gap, "causes")) == number(gap, "duration_ns"));
        if (gap->next != NULL)
            assert_true(number(gap, "duration_ns") >= number(gap->next, "duration_ns"));
    }
    cJSON_Delete(root);
}

/* Every bar of the kernels' row is an event of the file. */
TEST(the_timeline_has_the_times_and_names_of_the_file)
{
    struct diagnosis diagnosis;
    const cJSON *timeline, *row, *names;
    int kernels = 0;
    cJSON *root;
    char *text;

    add_rank("", "gemm", 30);
    diagnosis = diagnose();
    text = json_of(&diagnosis, -1, 2);
    root = cJSON_Parse(text);
    timeline = member(member(root, "traces")->child, "timeline");
    check_members(timeline, "start_ns end_ns steps tracks_left_out names rows");
    assert_float_equal(number(timeline, "end_ns"), 200e3, 0);
    assert_int_equal(cJSON_GetArraySize(member(timeline, "steps")), 2);
    names = member(timeline, "names");
    cJSON_ArrayForEach(row, member(timeline, "rows"))
    {
        int bars = cJSON_GetArraySize(member(row, "start_ns"));
        assert_int_equal(cJSON_GetArraySize(member(row, "duration_ns")), bars);
        assert_int_equal(cJSON_GetArraySize(member(row, "category")), bars);
        assert_true(cJSON_IsNull(member(row, "count"))); /* nothing is too short to be drawn */
        for (int i = 0; i < bars; i++) {
            const cJSON *name = cJSON_GetArrayItem(member(row, "name"), i);
            if (!cJSON_IsNumber(name) ||
                strcmp(cJSON_GetArrayItem(names, name->valueint)->valuestring, "gemm") != 0)
                continue;
            assert_string_equal(member(row, "kind")->valuestring, "work");
            assert_float_equal(cJSON_GetArrayItem(member(row, "duration_ns"), i)->valuedouble, 40e3,
                               0);
            kernels++;
        }
    }
    assert_int_equal(kernels, 2);
    cJSON_Delete(root);
}

TEST(without_steps_their_times_are_null)
{
    struct diagnosis diagnosis;
    const cJSON *steps;
    cJSON *root;
    char *text;

    add_file("[]");
    diagnosis = diagnose();
    text = json_of(&diagnosis, -1, 0);
    root = cJSON_Parse(text);
    steps = member(member(root, "traces")->child, "steps");
    assert_float_equal(member(steps, "count")->valuedouble, 0, 0);
    assert_true(cJSON_IsNull(member(steps, "mean_ns")));
    assert_true(cJSON_IsNull(member(steps, "min_ns")));
    cJSON_Delete(root);
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "holds no device work"));
}

/* --- Ranks --- */

static void add_rank_of(int rank, int world, int communication_us)
{
    char head[96];

    snprintf(head, sizeof head, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},", rank,
             world);
    add_rank(head, "gemm", communication_us);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) count++;
    return count;
}

/* Steps are equally long; rank 1 communicates least, so the others wait for it: 20 and 25 us. */
TEST(ranks_have_one_page_with_one_slow_rank)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank_of(2, 4, 25);
    add_rank_of(1, 4, 5);
    add_rank_of(0, 4, 30);
    diagnosis = diagnose();
    assert_int_equal(diagnosis.run_count, diagnosis.count);
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "3 of 4 ranks\n  Missing: rank 3."));
    CHECK_ROW(text, "0", "100 us", "72.0%", "40 us", "30 us", "30 us", "25 us");
    CHECK_ROW(text, "1", "100 us", "47.0%", "40 us", "5 us", "5 us", "0 us");
    CHECK_ROW(text, "2", "100 us", "67.0%", "40 us", "25 us", "25 us", "20 us");
    assert_non_null(strstr(text, "Rank 1 comes last: the others wait for it for 22.5 us"));
    assert_non_null(strstr(text, "does what the trace does not show for"));
    assert_non_null(strstr(text, "make the step 80 us"));
    assert_int_equal(count_of(text, ". straggler: "), 1);
    assert_non_null(strstr(strstr(text, ". straggler: "), "rank 1 communicates for 5 us"));
    assert_int_equal(count_of(text, "Findings\n"), 1);
    assert_int_equal(count_of(text, "Bottleneck\n"), 1);
    assert_null(strstr(text, "Kernels"));
    text = printed_in(&diagnosis, false, false, 2); /* rank 0, the third file */
    assert_non_null(strstr(text, path_list[2]));
    assert_null(strstr(text, path_list[0]));
    assert_non_null(strstr(text, "Kernels"));
}

/* A run of `world` ranks that wait for rank `slow`; of the file of rank `cut` the end is
 * missing. */
static void make_ranks(int world, int slow, int cut)
{
    for (int rank = 0; rank < world; rank++) {
        add_rank_of(rank, world, rank == slow ? 4 : 30);
        if (rank == cut)
            assert_int_equal(ftruncate(descriptors[rank], 700), 0);
    }
}

/* However many ranks there are: a line for each, each finding once, and nothing is said of a rank
 * whose trace may lack communication, but that it is so. */
TEST(many_ranks_fit_on_one_page)
{
    static const struct {
        int world, slow, cut;
    } cases[] = { { 2, 1, -1 }, { 8, 5, -1 }, { 8, 5, 2 }, { 64, 63, -1 }, { 64, 0, 17 } };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct diagnosis diagnosis;
        char *text, sentence[80];
        make_ranks(cases[i].world, cases[i].slow, cases[i].cut);
        diagnosis = diagnose();
        assert_int_equal(diagnosis.run_count, diagnosis.count);
        text = printed(&diagnosis, false);
        snprintf(sentence, sizeof sentence, "Rank %d comes last: the others", cases[i].slow);
        assert_non_null(strstr(text, sentence));
        assert_int_equal(count_of(text, " comes last: "), 1);
        assert_int_equal(count_of(text, ". straggler: "), 1);
        snprintf(sentence, sizeof sentence, "rank %d communicates for 4 us", cases[i].slow);
        assert_int_equal(count_of(text, sentence), 1);
        assert_true(count_of(text, "\n") < cases[i].world + 60);
        snprintf(sentence, sizeof sentence, "Rank %d is partial and not compared: ", cases[i].cut);
        assert_int_equal(count_of(text, sentence), cases[i].cut >= 0);
        assert_int_equal(diagnosis.together->figures[cases[i].slow].is_compared, true);
        for (int64_t finding = 0; finding < diagnosis.run.findings.count; finding++)
            for (int64_t other = 0; other < finding; other++)
                assert_string_not_equal(diagnosis.run.findings.items[finding].id,
                                        diagnosis.run.findings.items[other].id);
    }
}

TEST(eight_missing_ranks_are_named)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank_of(0, 12, 30);
    add_rank_of(2, 12, 30);
    diagnosis = diagnose();
    text = printed(&diagnosis, false);
    assert_non_null(strstr(text, "Missing: ranks 1, 3, 4, 5, 6, 7, 8, 9 and 2 more."));
}

/* JSON has what the page has: lines, the slow rank, findings with their range. */
TEST(ranks_in_json)
{
    struct diagnosis diagnosis;
    const cJSON *run, *slow, *finding, *rank;
    cJSON *root;
    char *text;
    int ranks = 0;

    make_ranks(8, 5, 2);
    diagnosis = diagnose();
    text = json_of(&diagnosis, 3, 0);
    root = cJSON_Parse(text);
    assert_int_equal(cJSON_GetArraySize(member(root, "traces")), 1); /* that of rank 3 alone */
    assert_float_equal(number(member(root, "traces")->child, "rank"), 3, 0);
    run = member(root, "run");
    assert_float_equal(number(run, "world_size"), 8, 0);
    assert_int_equal(cJSON_GetArraySize(member(run, "missing_ranks")), 0);
    slow = member(run, "slow_rank");
    assert_float_equal(number(slow, "rank"), 5, 0);
    assert_float_equal(number(slow, "communication_ns"), 4000, 0);
    assert_float_equal(number(slow, "others_communication_ns"), 30000, 0);
    assert_float_equal(number(slow, "lost_ns"), 26000, 0);
    assert_string_equal(member(slow, "part")->valuestring, "other"); /* what precedes it */
    assert_true(number(slow, "part_ns") - number(slow, "others_part_ns") == 26000);
    assert_true(cJSON_IsTrue(member(slow, "matters")));
    cJSON_ArrayForEach(rank, member(run, "ranks"))
    {
        assert_float_equal(number(rank, "rank"), ranks++, 0);
        assert_int_equal(cJSON_IsTrue(member(rank, "compared")), ranks - 1 != 2);
        assert_int_equal(cJSON_IsNull(member(rank, "waits_ns")), ranks - 1 == 2);
    }
    assert_int_equal(ranks, 8);
    finding = member(run, "findings")->child;
    assert_string_equal(member(finding, "id")->valuestring, "straggler");
    assert_true(cJSON_GetArraySize(member(finding, "ranks")) >= 7);
    assert_true(number(finding, "least_lost_ns_per_step") <=
                number(finding, "most_lost_ns_per_step"));
    cJSON_Delete(root);
}

TEST(files_that_are_not_the_ranks_of_one_run_stand_alone)
{
    static const int cases[][4] = {
        { 0, 2, 0, 2 },
        { 0, 2, 1, 4 },
        { 0, 2, 5, 2 },
        { -1, -1, 1, 2 },
        { 0, INT_MAX, 1, INT_MAX }, /* its missing ranks would fill the memory */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct diagnosis diagnosis;
        add_rank_of(cases[i][0], cases[i][1], 30);
        add_rank_of(cases[i][2], cases[i][3], 30);
        diagnosis = diagnose();
        assert_int_equal(diagnosis.run_count, 0);
    }
}

/* As in a folder with a trace of one process beside those of a job. */
TEST(a_trace_without_a_rank_stands_beside_the_ranks)
{
    struct diagnosis diagnosis;
    char *text;

    add_rank_of(1, 2, 5);
    add_rank("", "gemm", 0);
    add_rank_of(0, 2, 30);
    diagnosis = diagnose();
    assert_int_equal(diagnosis.run_count, 2);
    assert_string_equal(diagnosis.paths[0], path_list[0]);
    assert_string_equal(diagnosis.paths[1], path_list[2]);
    assert_string_equal(diagnosis.paths[2], path_list[1]);
    assert_ptr_equal(diagnosis.summaries[2].trace, diagnosis.traces[2]);
    text = printed(&diagnosis, false);
    assert_ptr_equal(strstr(text, "2 of 2 ranks"), text);
    assert_int_equal(count_of(text, path_list[1]), 1);
    assert_int_equal(count_of(text, "Kernels"), 1);
    assert_true(strstr(text, path_list[1]) > strstr(text, "--rank=N"));
}

TEST(a_file_that_is_no_trace_is_named)
{
    struct diagnosis diagnosis;

    add_rank("", "gemm", 0);
    add_file("nonsense");
    assert_int_equal(diagnosis_make(&diagnosis, path_list, file_count, NULL, NULL),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(status_last()->context, path_list[1]));
    diagnosis_release(&diagnosis);
    close_files();
}

struct skips {
    int count;
    char contexts[4][256];
};

static void note_skip(void *context)
{
    struct skips *skips = context;

    assert_true(skips->count < (int)ARRAY_SIZE(skips->contexts));
    snprintf(skips->contexts[skips->count++], sizeof skips->contexts[0], "%s",
             status_last()->context);
}

/* Files are read at once, but kept, and skipped, in their order. */
TEST(files_that_are_no_traces_are_skipped_in_their_order)
{
    static const bool is_trace[] = { false, true, false, true, true, false };
    struct diagnosis diagnosis;
    struct skips skips = { 0 };
    int kept = 0, skipped = 0;

    for (size_t i = 0; i < ARRAY_SIZE(is_trace); i++)
        if (is_trace[i])
            add_rank("", "gemm", 0);
        else
            add_file("nonsense");
    assert_ok(diagnosis_make(&diagnosis, path_list, file_count, note_skip, &skips));
    assert_int_equal(diagnosis.count, 3);
    assert_int_equal(skips.count, 3);
    for (size_t i = 0; i < ARRAY_SIZE(is_trace); i++)
        if (is_trace[i])
            assert_ptr_equal(diagnosis.paths[kept++], path_list[i]);
        else
            assert_non_null(strstr(skips.contexts[skipped++], path_list[i]));
    diagnosis_release(&diagnosis);
    close_files();
}

TESTS_WITH(made_catalogue_use, NULL)
