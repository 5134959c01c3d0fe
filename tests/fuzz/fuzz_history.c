/* A history made of any bytes. */
#include "harness/desk/compare/history/history.h"
#include "tests/fuzz/fuzzing.h"

#include <math.h>
#include <stdlib.h>

static void check_series(const struct history_series *series)
{
    PROMISE(series->count > 0 && (unsigned)series->verdict < HISTORY_VERDICTS);
    for (int i = 0; i < series->count; i++)
        PROMISE(isfinite(series->values[i]) && series->runs[i]->row[0] != '\0');
    for (int i = 0; i < series->change_count; i++)
        PROMISE(series->changes[i] > (i > 0 ? series->changes[i - 1] : 0) &&
                series->changes[i] < series->count);
}

static void check_history(const struct history_file *file, const char *since)
{
    const struct history_rule rule = { .threshold = HISTORY_THRESHOLD, .since = since };
    struct history history;
    struct page page = page_console(fuzz_nowhere(), COLOR_NEVER),
                markdown = page_markdown(fuzz_nowhere());
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL);
    char *text = NULL, why[200];
    int runs = 0;

    if (history_make(&history, file, &rule, NULL, NULL) != STATUS_OK) {
        PROMISE(status_last()->text[0] != '\0');
        cJSON_Delete(root);
        return;
    }
    for (int i = 0; i < history.count; i++) {
        check_series(&history.series[i]);
        runs += history.series[i].count;
    }
    PROMISE(since != NULL || runs == file->count);
    PROMISE((history_end(&history, why, sizeof why) == GATE_PASSED) == (why[0] == '\0'));
    history_page(&page, &history);
    history_check_page(&markdown, &history);
    history_json(&json, root, &history, file);
    PROMISE(json_print(&json, root, &text) == STATUS_OK && text[0] == '{');
    cJSON_Delete(root);
    free(text);
    history_release(&history);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct history_file file;
    char text[400];

    if (history_file_read(&file, fuzz_file(0, bytes, size)) != STATUS_OK)
        return 0;
    history_file_damages(&file, text, sizeof text);
    for (int i = 0; i < file.count; i++)
        PROMISE(isfinite(file.entries[i].seconds) && isfinite(file.entries[i].value));
    check_history(&file, NULL);
    check_history(&file, "2026-03-05");
    history_file_release(&file);
    return 0;
}
