/* Why NEW is slower, from traces: for --explain, and as one line below a row that got slower.
 * Traces of both sides are paired by the names of their files, and each pair is compared by
 * trace_change.h. One trace on each side makes a pair whatever their names are. */
#include "harness/cli/gate/compare_explain.h"

#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/desk/files/trace_paths.h"
#include "harness/desk/page/trace_change_page.h"
#include "harness/text/result_traces.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 256 };

/* --- Pairs --- */

/* "item_sync.before" of "traces/item_sync.before.json.gz". */
static void trace_name(char text[NAME_MOST], const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(text, NAME_MOST, "%s", slash != NULL ? slash + 1 : path);
    if (ends_in(text, ".gz"))
        text[strlen(text) - strlen(".gz")] = '\0';
    if (ends_in(text, ".json"))
        text[strlen(text) - strlen(".json")] = '\0';
}

/* The trace of new that belongs to one of base; NULL: none does. */
static const char *partner_of(const struct trace_paths paths[SIDES], const char *path)
{
    char name[NAME_MOST], other[NAME_MOST];

    if (paths[SIDE_BASE].count == 1 && paths[SIDE_NEW].count == 1)
        return paths[SIDE_NEW].items[0];
    trace_name(name, path);
    for (int i = 0; i < paths[SIDE_NEW].count; i++) {
        trace_name(other, paths[SIDE_NEW].items[i]);
        if (strcmp(name, other) == 0)
            return paths[SIDE_NEW].items[i];
    }
    return NULL;
}

/* --- Explaining --- */

struct explaining {
    const struct flags *flags;
    struct page page;
    struct json json;
    cJSON *array; /* NULL: a page is printed */
    int explained, failed;
    bool slower;
};

/* A step counts as slower only if words say why: then something in it stands out. */
static void say(void *context, const struct trace_change *change)
{
    struct explaining *explaining = context;
    char words[400];

    trace_change_words(words, sizeof words, change);
    explaining->slower = explaining->slower ||
                         (change->step.differs && change->step.change_ns > 0 && words[0] != '\0');
    if (explaining->array != NULL)
        trace_change_json(&explaining->json, explaining->array, change);
    else
        trace_change_page(&explaining->page, change);
}

static enum status explain_all(struct explaining *explaining, const struct filter *filter,
                               const struct trace_paths paths[SIDES])
{
    enum status status = STATUS_OK;

    for (int i = 0; i < paths[SIDE_BASE].count; i++) {
        const char *base = paths[SIDE_BASE].items[i], *new = partner_of(paths, base);
        char name[NAME_MOST];
        trace_name(name, base);
        if (new == NULL || !filter_matches(filter, name))
            continue;
        status = trace_change_each((const char *const[SIDES]){ base, new }, say, explaining);
        explaining->explained += status == STATUS_OK;
        /* A pair that cannot be read is named, and the others are explained all the same. */
        if (status == STATUS_BAD_INPUT || status == STATUS_IO) {
            status_context("%s", command_compare.name);
            command_print_error();
            explaining->failed++;
            status = STATUS_OK;
        }
        TRY_OUT(status);
    }
    if (explaining->explained + explaining->failed == 0)
        FAIL_OUT(STATUS_BAD_INPUT,
                 "no trace of base is wanted and has the name of one of new: give two traces, or "
                 "results of the same scenarios");

out:
    return status;
}

enum status compare_explain(const struct flags *flags, const struct filter *filter,
                            const char *const sides[SIDES], bool *slower)
{
    enum status status = STATUS_OK;
    struct trace_paths paths[SIDES] = { { .count = 0 }, { .count = 0 } };
    struct explaining explaining = { .flags = flags, .page = flags_page(flags) };
    cJSON *root = NULL;

    if (flags->format == FORMAT_JSON)
        root = trace_changes_json(&explaining.json, &explaining.array);
    for (int side = 0; side < SIDES; side++)
        TRY_OUT(trace_paths_make(&paths[side], &sides[side], 1, NULL, NULL));
    TRY_OUT(explain_all(&explaining, filter, paths));
    if (root != NULL)
        TRY_OUT(json_to_stdout(&explaining.json, root));
    *slower = explaining.slower;
    if (explaining.failed > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d of %d pairs of traces could not be explained",
                 explaining.failed, explaining.failed + explaining.explained);

out:
    cJSON_Delete(root);
    for (int side = 0; side < SIDES; side++) trace_paths_release(&paths[side]);
    return status;
}

/* --- Slower because --- */

/* The trace of the row "item_sync/before" in the folder of a result; false: there is none. */
static bool find_trace(char path[PATH_MAX], const char *result, const char *row)
{
    char folder[PATH_MAX], name[NAME_MAX + 1];
    const char *slash = strchr(row, '/'), *end = strrchr(result, '/');
    bool is_file = ends_in(result, ".json");

    if (slash == NULL || strchr(slash + 1, '/') != NULL)
        return false;
    /* A result is given as its file or as its folder; a file without a folder is in the current
     * one. */
    snprintf(folder, sizeof folder, "%.*s",
             is_file ? (end != NULL ? (int)(end - result) : 1) : (int)strlen(result),
             is_file && end == NULL ? "." : result);
    snprintf(name, sizeof name, "%.*s.%s.json.gz", (int)(slash - row), row, slash + 1);
    return result_traces_find(path, folder, name);
}

/* Silent if a trace is missing or cannot be read: the verdict on the row does not need it. */
void compare_find_causes(struct comparison *comparison, const char *const *const paths[SIDES],
                         const int counts[SIDES])
{
    char found[SIDES][PATH_MAX];

    for (int i = 0; i < comparison->count; i++) {
        struct compared_row *row = &comparison->rows[i];
        struct trace_change change;
        bool both = row->verdict == COMPARE_SLOWER;
        for (int side = 0; side < SIDES && both; side++) {
            both = false;
            for (int j = 0; j < counts[side] && !both; j++)
                both = find_trace(found[side], paths[side][j], row->name);
        }
        if (!both)
            continue;
        if (trace_change_make(&change, (const char *const[SIDES]){ found[SIDE_BASE],
                                                                   found[SIDE_NEW] }) == STATUS_OK)
            trace_change_words(row->because, sizeof row->because, &change);
        trace_change_release(&change);
    }
}
