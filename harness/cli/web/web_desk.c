/* One desk is open at a time, and questions are answered from it. The page's files lie in the
 * memory of emscripten's file system, or it reads them from the browser's as they are needed. */
#include "harness/cli/web/web_desk.h"

#include "harness/base/words/text.h"
#include "harness/cli/kernel/kernel_call.h"
#include "harness/cli/kernel/web_kernel.h"
#include "harness/cli/traces/report_document.h"
#include "harness/desk/chokepoint_desk.h"
#include "harness/desk/trace/trace_file.h"
#include "harness/lab/result/scenario_json.h"
#include "harness/text/json.h"
#include "scenarios/scenario.h"

#include <stdlib.h>
#include <string.h>

static struct chokepoint_desk *desk;
static char *opened; /* the names, which the desk keeps */

enum { FILES_MOST = 4096 };

struct troubles {
    struct json json;
    cJSON *array;
};

static void add_trouble(void *context)
{
    struct troubles *troubles = context;
    const struct status_error *error = status_last();

    json_text(&troubles->json, troubles->array, NULL, error->text);
}

/* Ends each line, and returns how many there are. */
static int split_lines(const char *lines[FILES_MOST], char *text)
{
    int count = 0;

    for (char *line = strtok(text, "\n"); line != NULL && count < FILES_MOST;
         line = strtok(NULL, "\n"))
        lines[count++] = line;
    return count;
}

char *web_desk_open(const char *names)
{
    enum status status = STATUS_OK;
    static const char *lines[FILES_MOST];
    struct troubles troubles = { .array = NULL };
    cJSON *root = json_object(&troubles.json, NULL, NULL);
    char *text = NULL;

    troubles.array = json_array(&troubles.json, root, "troubles");
    catalogue_use(&lab_catalogue);
    chokepoint_desk_close(desk);
    desk = NULL;
    free(opened);
    TRY_OUT(text_make(&opened, "%s", names));
    TRY_OUT(chokepoint_desk_open(&desk, lines, split_lines(lines, opened), add_trouble, &troubles));
    json_integer(&troubles.json, root, "count",
                 desk->diagnosis.count + desk->diagnosis.snapshot_count);
    TRY_OUT(json_print(&troubles.json, root, &text));

out:
    cJSON_Delete(root);
    return status == STATUS_OK ? text : web_error();
}

/* The answer, or the error of a question. */
static char *answer_of(enum status status, char *text)
{
    if (status == STATUS_OK)
        return text;
    free(text);
    return web_error();
}

static enum status need_desk(void)
{
    if (desk == NULL)
        FAIL(STATUS_BAD_USAGE, "no file is open");
    return STATUS_OK;
}

static bool has_events(void)
{
    for (int i = 0; i < desk->diagnosis.count; i++)
        if (desk->diagnosis.traces[i]->digest != NULL)
            return false;
    return true;
}

char *web_desk_diagnosis(int timeline)
{
    enum status status = need_desk();
    struct chokepoint_view view = { .timeline = 0 };
    char *text = NULL;

    if (status == STATUS_OK && has_events())
        view = (struct chokepoint_view){ .timeline = timeline, .what_if.asked = true };
    if (status == STATUS_OK)
        status = chokepoint_desk_json(desk, &view, &text);
    return answer_of(status, text);
}

char *web_desk_what_if(int which, const char *causes)
{
    enum status status = need_desk();
    char *text = NULL;

    if (status == STATUS_OK)
        status = chokepoint_desk_what_if(desk, which, causes, &text);
    return answer_of(status, text);
}

char *web_desk_timeline(int which, int steps)
{
    enum status status = need_desk();
    char *text = NULL;

    if (status == STATUS_OK)
        status = chokepoint_desk_timeline(desk, which, steps, &text);
    return answer_of(status, text);
}

char *web_desk_compare(const char *base, const char *other)
{
    char *text = NULL;

    return answer_of(chokepoint_compare(base, other, &text), text);
}

char *web_desk_report(const char *name)
{
    static const struct report_lab lab = { scenarios_json, kernel_of_lesson_json };
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *document = NULL;
    char *text = NULL;
    int troubles;

    catalogue_use(&lab_catalogue);
    report_lab_use(&lab);
    TRY_OUT(report_document(&document, &json, &troubles, &name, 1));
    TRY_OUT(json_print(&json, document, &text));

out:
    cJSON_Delete(document);
    return answer_of(status, text);
}
