/* Files of benchmarks made of any bytes, compared with each other: up to six, the first half of
 * them base. */
#include "harness/desk/compare/comparison_output.h"
#include "tests/fuzz/fuzzing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static void check_file(const struct benchmark_file *file, const char *metric)
{
    char text[256];

    for (int i = 0; i < file->count; i++) {
        const struct benchmark_row *row = &file->rows[i];
        PROMISE(row->name != NULL && row->count >= 0 && row->lost >= 0);
        PROMISE(benchmark_file_row(file, row->name) == row);
        PROMISE((row->lost > 0) == (row->reason[0] != '\0') &&
                is_text(row->reason, sizeof row->reason));
        PROMISE(row->count == 0 || !isnan(row->median) || !isfinite(row->values[0]));
        for (int j = 0; benchmark_metric_is_time(metric) && j < row->count; j++)
            PROMISE(row->values[j] > 0);
    }
    compare_machine(file, text, sizeof text);
    benchmark_file_metrics(file, text, sizeof text);
    benchmark_file_aggregates(file, text, sizeof text);
}

static void check_row(const struct compared_row *row)
{
    PROMISE(row->name != NULL && (unsigned)row->verdict < COMPARE_VERDICTS);
    PROMISE(is_text(row->reason, sizeof row->reason) && is_text(row->lost, sizeof row->lost));
    PROMISE(row->because[0] == '\0');
    PROMISE(row->verdict != COMPARE_SLOWER || row->runs[SIDE_BASE] * row->runs[SIDE_NEW] > 0);
    PROMISE(!(row->low > row->high));
}

static void check_comparison(const struct compare_files *sides, const struct compare_rule *rule)
{
    struct comparison comparison;
    struct comparison_remarks remarks = { .only_changed = false };
    struct page console = page_console(fuzz_nowhere(), COLOR_NEVER),
                markdown = page_markdown(fuzz_nowhere());
    char *text = NULL;
    int sum = 0;

    compare_doubts(sides, remarks.doubts, sizeof remarks.doubts);
    if (compare_check(sides) != STATUS_OK)
        PROMISE(remarks.doubts[0] != '\0');
    if (comparison_make(&comparison, sides, rule, NULL, NULL) != STATUS_OK) {
        PROMISE(status_last()->text[0] != '\0');
        return;
    }
    for (int i = 0; i < COMPARE_VERDICTS; i++) sum += comparison.counts[i];
    PROMISE(sum == comparison.count);
    for (int i = 0; i < comparison.count; i++) check_row(&comparison.rows[i]);
    remarks.end = comparison_end(&comparison, &remarks.gate, remarks.why, sizeof remarks.why);
    PROMISE((remarks.end == GATE_PASSED) == (remarks.why[0] == '\0'));
    for (int i = 0; remarks.end == GATE_PASSED && i < comparison.count; i++)
        PROMISE(gate_fault(&comparison.rows[i], &remarks.gate) == NULL);
    PROMISE(comparison_page(&console, &comparison, &remarks) == STATUS_OK);
    PROMISE(comparison_page(&markdown, &comparison, &remarks) == STATUS_OK);
    PROMISE(comparison_json(&comparison, sides, &remarks, &text) == STATUS_OK && text[0] == '{');
    free(text);
    comparison_release(&comparison);
}

static void check_metric(const struct part *parts, int count, const char *metric)
{
    struct benchmark_file files[FUZZ_FILES];
    struct compare_rule rule = { .metric = metric, .threshold = 0.05, .noise = NAN };
    int read = 0, base;

    for (int i = 0; i < count; i++)
        if (benchmark_file_read(&files[read], fuzz_file(i, parts[i].bytes, parts[i].size),
                                metric) == STATUS_OK)
            check_file(&files[read++], metric);
        else
            PROMISE(status_last()->text[0] != '\0');
    base = (read + 1) / 2;
    if (read > 0)
        check_comparison(
            (const struct compare_files[SIDES]){ { files, base }, { files + base, read - base } },
            &rule);
    rule.noise = 0.03;
    if (read > 1)
        check_comparison((const struct compare_files[SIDES]){ { files, 1 }, { files + 1, 1 } },
                         &rule);
    for (int i = 0; i < read; i++) benchmark_file_release(&files[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const metrics[] = { "real_time", "bytes_per_second", "hits" };
    struct part parts[FUZZ_FILES];
    int count = fuzz_parts(parts, FUZZ_FILES, bytes, size);

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        check_metric(parts, count, metrics[i]);
    return 0;
}
