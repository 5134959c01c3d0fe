/* A page has one result, with the traces beside it, or any number of traces. All figures are those
 * of result.json and of `diagnose --format=json`: nothing is computed here. Each trace is read,
 * written and let go before the next one, since a run may have a hundred. */
#include "harness/cli/traces/report_document.h"

#include "harness/base/system/files.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/traces/html_page.h"
#include "harness/desk/chokepoint_desk.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/result_traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMELINE_STEPS = 3 };

static const struct report_lab *lab_known;

void report_lab_use(const struct report_lab *lab)
{
    lab_known = lab;
}

struct report {
    struct json *json;
    cJSON *root, *troubles, *notes;
    const char *path;      /* of the result */
    char folder[PATH_MAX]; /* in which it is */
};

void report_trouble(struct json *json, cJSON *troubles)
{
    json_text(json, troubles, NULL, status_last()->text);
    status_context("%s", command_report.name);
    command_print_error();
}

static void trouble(void *context)
{
    const struct report *report = context;

    report_trouble(report->json, report->troubles);
}

/* --- Traces --- */

/* The diagnosis of these files as member `name`; if none of several could be read there is no such
 * member. Errors: the only one cannot be read. */
static enum status add_diagnosis(struct report *report, cJSON *to, const char *name,
                                 const char *const *paths, int count)
{
    enum status status = STATUS_OK;
    const struct chokepoint_view view = { .timeline = TIMELINE_STEPS, .what_if.asked = true };
    struct chokepoint_desk *desk = NULL;
    char *text = NULL;

    TRY_OUT(chokepoint_desk_open(&desk, paths, count, trouble, report));
    if (desk->diagnosis.count + desk->diagnosis.snapshot_count > 0) {
        TRY_OUT(chokepoint_desk_json(desk, &view, &text));
        JSON_ADD(report->json, to, KEY(name, json_raw(report->json, text)));
    }

out:
    free(text);
    chokepoint_desk_close(desk);
    return status;
}

/* The same of a file beside a result: without it the page has the rest. */
static enum status add_beside(struct report *report, cJSON *to, const char *name, const char *path)
{
    enum status status = add_diagnosis(report, to, name, &path, 1);

    if (status == STATUS_OK || status == STATUS_OUT_OF_MEMORY)
        return status;
    trouble(report);
    return STATUS_OK;
}

/* --- A result of `run` --- */

/* Where a variant's trace is; or "", and why there is none. */
static void find_trace(char path[PATH_MAX], char *why, size_t size, const struct report *report,
                       const cJSON *scenario, const char *variant)
{
    const char *name = result_trace_path(scenario, variant);
    const char *reason =
        json_text_of(json_member(json_member(scenario, "tracing"), variant), "reason");

    if (name != NULL && result_trace_is_beside(path, report->folder, name))
        return;
    path[0] = '\0';
    if (name != NULL)
        snprintf(why, size, "%s is not beside the result any more", name);
    else
        snprintf(why, size, "%s", reason[0] != '\0' ? reason : "the run recorded no trace of it");
}

static enum status add_variant(struct report *report, cJSON *diagnoses, cJSON *missing,
                               const cJSON *scenario, const char *variant)
{
    char path[PATH_MAX], why[PATH_MAX + 64] = "";

    find_trace(path, why, sizeof why, report, scenario, variant);
    if (path[0] != '\0') {
        TRY(add_beside(report, diagnoses, variant, path));
        if (json_member(diagnoses, variant) == NULL) {
            int last = cJSON_GetArraySize(report->troubles) - 1;
            const char *said = cJSON_GetStringValue(cJSON_GetArrayItem(report->troubles, last));
            snprintf(why, sizeof why, "%s", said != NULL ? said : "it could not be read");
        }
    }
    if (why[0] != '\0')
        json_text(report->json, missing, variant, why);
    return STATUS_OK;
}

static cJSON *named(const cJSON *array, const char *name)
{
    cJSON *one;

    cJSON_ArrayForEach(one, array) if (strcmp(json_text_of(one, "name"), name) == 0) return one;
    return NULL;
}

static enum status add_scenarios(struct report *report, const cJSON *scenarios, cJSON *listed)
{
    static const char *const variants[] = { "before", "after" };
    cJSON *lessons = json_object(report->json, report->root, "lessons");
    cJSON *diagnoses = json_object(report->json, report->root, "diagnoses");
    cJSON *missing = json_object(report->json, report->root, "missing");
    const cJSON *scenario;

    cJSON_ArrayForEach(scenario, scenarios)
    {
        const char *name = json_text_of(scenario, "name");
        cJSON *lesson = named(json_member(listed, "scenarios"), name), *of_this, *reasons;
        if (name[0] == '\0' || json_member(diagnoses, name) != NULL)
            continue;
        of_this = json_object(report->json, diagnoses, name);
        reasons = json_object(report->json, missing, name);
        if (lesson != NULL && !cJSON_AddItemToObject(lessons, name, cJSON_Duplicate(lesson, true)))
            report->json->out_of_memory = true;
        for (size_t v = 0; v < ARRAY_SIZE(variants); v++)
            TRY(add_variant(report, of_this, reasons, scenario, variants[v]));
    }
    return STATUS_OK;
}

/* The kernels of a pair are executed again, for their lines and accesses. Only a name that the
 * program itself lists is called. */
static enum status add_pair(struct report *report, cJSON *pairs, const cJSON *pair)
{
    static const char *const steps[] = { "before", "between", "after" };
    const char *name = json_text_of(pair, "name");
    cJSON *runs = json_array(report->json, pairs, name);

    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        const char *words = json_text_of(pair, steps[i]);
        char kernel[160], *text = NULL;
        if (words[0] == '\0')
            continue;
        snprintf(kernel, sizeof kernel, "%s_%s", name, steps[i]);
        if (lab_known->kernel(&text, kernel, (int)json_number_of(pair, "arch")) != STATUS_OK) {
            json_text(report->json, report->notes, NULL, status_last()->text);
            continue;
        }
        JSON_ROW(report->json, runs, KEY("step", steps[i]), KEY("words", words),
                 KEY("kernel", json_raw(report->json, text)));
        free(text);
    }
    return STATUS_OK;
}

static enum status add_pairs(struct report *report, const cJSON *kernels, const cJSON *listed)
{
    cJSON *pairs = json_object(report->json, report->root, "pairs");
    const cJSON *pair;

    cJSON_ArrayForEach(pair, kernels)
    {
        const char *name = json_text_of(pair, "name");
        double arch = json_number_of(pair, "arch");
        if (named(json_member(listed, "kernels"), name) == NULL ||
            json_member(pairs, name) != NULL || !(arch >= 1 && arch <= 999))
            continue;
        TRY(add_pair(report, pairs, pair));
    }
    return STATUS_OK;
}

static enum status add_run(struct report *report, const cJSON *result)
{
    enum status status = STATUS_OK;
    const cJSON *scenarios = benchmark_scenarios(result);
    const cJSON *kernels = json_member(json_member(result, "chokepoint"), "kernels");
    cJSON *listed = NULL;
    char *text = NULL;

    if (lab_known != NULL) {
        TRY_OUT(lab_known->list(&text));
        TRY_OUT(json_parse(&listed, text, NULL, true));
    }
    TRY_OUT(add_scenarios(report, scenarios, listed));
    TRY_OUT(add_pairs(report, kernels, listed));
    if (cJSON_GetArraySize(scenarios) == 0 && cJSON_GetArraySize(kernels) == 0)
        json_text(report->json, report->notes, NULL,
                  "The result holds no scenario: the run ended before one was measured.");

out:
    free(text);
    cJSON_Delete(listed);
    return status;
}

/* --- A result --- */

/* The page of its recording, if there was one. */
static enum status add_trial(struct report *report)
{
    char path[PATH_MAX];
    struct stat about;

    if (snprintf(path, sizeof path, "%s/record", report->folder) >= PATH_MAX ||
        stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        return STATUS_OK;
    return add_beside(report, report->root, "diagnosis", path);
}

static enum status add_result(struct report *report)
{
    cJSON *result;
    bool is_trial, is_there = result_json_read(&result, AT_FDCWD, report->path);

    if (!is_there)
        FAIL(STATUS_IO, "%s cannot be read: %s", report->path, strerror(errno));
    if (result == NULL)
        FAIL(STATUS_BAD_INPUT, "%s: it is no JSON", report->path);
    is_trial =
        cJSON_IsArray(json_member(json_member(json_member(result, "chokepoint"), "trial"), "arms"));
    if (!is_trial && !cJSON_IsArray(benchmark_scenarios(result))) {
        cJSON_Delete(result);
        FAIL(STATUS_BAD_INPUT, "%s: it is not a result of chokepoint run or try", report->path);
    }
    if (!cJSON_AddItemToObject(report->root, "result", result)) {
        cJSON_Delete(result);
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %s", report->path);
    }
    return is_trial ? add_trial(report) : add_run(report, result);
}

/* Whether a result is meant, and then its path and its folder: result.json, or a folder that has
 * one. */
static bool find_result(char path[PATH_MAX], char folder[PATH_MAX], const char *argument)
{
    const char *name = strrchr(argument, '/');
    struct stat about;
    int length;

    name = name != NULL ? name + 1 : argument;
    if (stat(argument, &about) == 0 && S_ISDIR(about.st_mode)) {
        snprintf(folder, PATH_MAX, "%s", argument);
        length = snprintf(path, PATH_MAX, "%s%sresult.json", argument, *name != '\0' ? "/" : "");
    } else if (strcmp(name, "result.json") == 0) {
        snprintf(folder, PATH_MAX, "%.*s", (int)(name - argument), argument);
        if (folder[0] == '\0')
            snprintf(folder, PATH_MAX, ".");
        length = snprintf(path, PATH_MAX, "%s", argument);
    } else {
        return false;
    }
    return length < PATH_MAX && is_regular_file(path);
}

/* A page has one result, or traces that are there. `diagnose` looks up by itself where the traces
 * of a run are that was repeated. */
static enum status check_arguments(const char *const *arguments, int count)
{
    char path[PATH_MAX], folder[PATH_MAX];

    for (int i = 0; i < count; i++)
        if (find_result(path, folder, arguments[i]))
            FAIL(STATUS_BAD_INPUT, "%s is a result: a page has one result, or traces", path);
    for (int i = 0; i < count; i++)
        if (strcmp(arguments[i], "-") != 0 && access(arguments[i], F_OK) != 0 &&
            strstr(arguments[i], RESULT_TRACES "/") == NULL)
            FAIL(STATUS_BAD_INPUT, "%s: %s", arguments[i], strerror(errno));
    return STATUS_OK;
}

enum status report_document(cJSON **document, struct json *json, int *troubles,
                            const char *const *arguments, int count)
{
    char path[PATH_MAX];
    struct report report = { .json = json, .path = path };
    bool is_result = count == 1 && find_result(path, report.folder, arguments[0]);

    *document = NULL;
    if (!is_result)
        TRY(check_arguments(arguments, count));
    report.root = *document =
        html_page_document(json, command_report.name, is_result ? path : arguments[0]);
    report.troubles = json_array(json, report.root, "troubles");
    report.notes = json_array(json, report.root, "notes");
    TRY(is_result ? add_result(&report)
                  : add_diagnosis(&report, report.root, "diagnosis", arguments, count));
    if (!is_result && json_member(report.root, "diagnosis") == NULL)
        FAIL(STATUS_BAD_INPUT, "none of these files could be read, so there is no page");
    *troubles = cJSON_GetArraySize(report.troubles);
    return STATUS_OK;
}
