/* A function per kind of page, in a table; each reads as its command does. */
#include "harness/cli/site/site.h"

#include "harness/base/rows.h"
#include "harness/cli/fleet/job_document.h"
#include "harness/cli/fleet/machine_files.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/traces/html_page.h"
#include "harness/cli/traces/report_document.h"
#include "harness/desk/compare/history/history.h"
#include "harness/desk/compare/machines.h"

/* Makes the document of these files; its arguments are those of report_document(). */
typedef enum status document_make(cJSON **document, struct json *json, int *troubles,
                                  const char *const *paths, int count);

/* A document whose member "troubles" the caller fills with trouble(). */
static cJSON *start(cJSON **document, struct json *json, const char *command, const char *about)
{
    *document = html_page_document(json, command, about);
    return json_array(json, *document, "troubles");
}

/* A sentence that is no error as yet. */
static void trouble(struct json *json, cJSON *troubles, int *count, const char *sentence)
{
    status_fail(STATUS_BAD_INPUT, __FILE__, __LINE__, "%s", sentence);
    report_trouble(json, troubles);
    ++*count;
}

static enum status history_document(cJSON **document, struct json *json, int *troubles,
                                    const char *const *paths, int count)
{
    enum status status = STATUS_OK;
    struct history_file file = { .count = 0 };
    struct history history = { .count = 0 };
    const struct history_rule rule = { .threshold = HISTORY_THRESHOLD, .error = HISTORY_ERROR };
    cJSON *array = start(document, json, command_history.name, paths[0]);
    char damages[400], sentence[600];

    (void)count;
    TRY_OUT(history_file_read(&file, paths[0]));
    TRY_OUT(history_make(&history, &file, &rule, NULL, NULL));
    history_json(json, json_object(json, *document, "history"), &history, &file);
    if (file.damaged > 0) {
        history_file_damages(&file, damages, sizeof damages);
        snprintf(sentence, sizeof sentence, "%.180s has %s", paths[0], damages);
        trouble(json, array, troubles, sentence);
    }

out:
    history_release(&history);
    history_file_release(&file);
    return status;
}

static enum status fleet_document(cJSON **document, struct json *json, int *troubles,
                                  const char *const *paths, int count)
{
    enum status status = STATUS_OK;
    struct machine_files files = { .paths = NULL };
    struct fleet fleet = { .names = NULL };
    cJSON *array = start(document, json, command_fleet.name, paths[0]);

    TRY_OUT(machine_files_find(&files, "doctor", paths, count));
    TRY_OUT(machine_files_read(&files, node_read, &fleet));
    fleet_json(json, json_object(json, *document, "fleet"), &fleet, files.skipped,
               files.skipped_count);
    for (int i = 0; i < files.skipped_count; i++)
        trouble(json, array, troubles, files.skipped[i].reason);

out:
    fleet_release(&fleet);
    machine_files_release(&files);
    return status;
}

static void add_rows(struct json *json, cJSON *array, const struct benchmark_file *file)
{
    char commit[64], date[64], machine[512];
    cJSON *object, *rows;

    benchmark_file_context(file, "commit", commit, sizeof commit);
    benchmark_file_context(file, "date", date, sizeof date);
    compare_machine(file, machine, sizeof machine);
    object = JSON_ROW(json, array, KEY("file", file->path), KEY("date", date),
                      KEY("commit", commit), KEY("machine", machine));
    rows = json_array(json, object, "rows");
    for (int i = 0; i < file->count; i++) {
        const struct benchmark_row *row = &file->rows[i];
        JSON_ROW(json, rows, KEY("name", row->name), KEY("median_us", row->median),
                 KEY("deviation", row->deviation), KEY("repetitions", row->repetitions),
                 KEY("reason", row->reason));
    }
}

/* The only file that cannot be read is an error; one of several is left out. */
static enum status benchmarks_document(cJSON **document, struct json *json, int *troubles,
                                       const char *const *paths, int count)
{
    cJSON *array = start(document, json, command_report.name, paths[0]);
    cJSON *files = json_array(json, *document, "benchmarks");

    for (int i = 0; i < count; i++) {
        struct benchmark_file file;
        enum status status = benchmark_file_read(&file, paths[i], BENCHMARK_TIME);
        if (status == STATUS_OK)
            add_rows(json, files, &file);
        benchmark_file_release(&file);
        if (status != STATUS_OK && (status == STATUS_OUT_OF_MEMORY || count == 1))
            return status;
        if (status != STATUS_OK) {
            report_trouble(json, array);
            ++*troubles;
        }
    }
    return STATUS_OK;
}

enum status site_document(cJSON **document, struct json *json, int *troubles,
                          const struct site_item *item)
{
    static document_make *const makers[SITE_KINDS] = { report_document,  report_document,
                                                       history_document, fleet_document,
                                                       job_document,     benchmarks_document };

    *document = NULL;
    *troubles = 0;
    return makers[item->kind](document, json, troubles, item->paths, item->count);
}
