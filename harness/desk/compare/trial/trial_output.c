/* An arm is a line of the page, an entry of the file and two rows of it. Advice is given for what
 * gained: of each cause the fix that gained most, or without one how its cost can be avoided. */
#include "harness/desk/compare/trial/trial.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/machine_context.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCHEMA = 1 };

/* The finding that an arm is for; NULL: there is none. */
static const cJSON *finding_of(const struct trial_report *report, const struct trial_arm *arm)
{
    const cJSON *finding;

    cJSON_ArrayForEach(finding, report->findings)
    {
        if (strcmp(json_text_of(finding, "id"), arm->cause) == 0)
            return finding;
    }
    return NULL;
}

static double predicted_gain(const struct trial_report *report, const struct trial_arm *arm)
{
    return json_number_of(finding_of(report, arm), "predicted_gain");
}

/* --- The page --- */

/* "losses differ by 0.3%", or how far they agree; "" if they are not known. */
static void print_losses(char *text, size_t size, const struct trial_arm *arm)
{
    const struct confidence_interval *ratio = &arm->loss_ratio;
    double farthest = fmax(fabs(ratio->low - 1), fabs(ratio->high - 1));
    bool differ = ratio->low > 1 || ratio->high < 1;

    text[0] = '\0';
    if (!arm->is_fix || !stats_interval_is_enough(ratio))
        return;
    snprintf(text, size, "losses %s %s", differ ? "differ by" : "agree within",
             quantity_share(differ ? fabs(arm->loss_factor - 1) : farthest).text);
}

static void add_arm(struct page_rows *rows, const struct trial_arm *arm, bool is_first)
{
    static const enum ink inks[] = {
        [TRIAL_UNDECIDED] = INK_DOUBTFUL, [TRIAL_GAIN] = INK_GOOD,  [TRIAL_NO_GAIN] = INK_PLAIN,
        [TRIAL_LOSS] = INK_BAD,           [TRIAL_UNUSED] = INK_DIM,
    };
    enum ink ink = inks[arm->verdict];
    const enum ink cells[] = { INK_PLAIN, INK_PLAIN, ink, ink, ink, INK_DIM, INK_DIM };
    bool measured = arm->factor > 0 && !arm->unused;
    char losses[64];

    print_losses(losses, sizeof losses, arm);
    PAGE_ROW(rows, cells, is_first ? arm->cause : "",
             arm->is_fix ? arm->text : cell("without it (%s)", arm->name).text,
             measured ? cell("%.2fx", arm->factor).text : "-",
             measured ? cell("%.2f to %.2f", arm->interval.low, arm->interval.high).text : "-",
             arm->is_judged ? trial_verdict_name(arm->verdict) : "runs of its own", losses,
             arm->place);
}

/* The number of the first arm for this cause. */
static int first_of(const struct trial *trial, const char *cause)
{
    int first = 1;

    while (strcmp(trial->arms[first].cause, cause) != 0) first++;
    return first;
}

/* Arms for one cause stand together. */
static void print_arms(const struct page *page, const struct trial *trial)
{
    static const struct column columns[] = {
        { "", -14, 0 },        { "tried", -16, 0 },
        { "gain", 8, 0 },      { "95% interval", -12, 0 },
        { "verdict", -10, 0 }, { "losses", -12, 2 },
        { "where", -12, 3 },
    };
    struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));

    for (int i = 1; i < trial->count; i++) {
        const char *cause = trial->arms[i].cause;
        bool is_first = first_of(trial, cause) == i;
        for (int j = i; j < trial->count && is_first; j++)
            if (strcmp(trial->arms[j].cause, cause) == 0)
                add_arm(rows, &trial->arms[j], j == i);
    }
    page_rows_print(page, rows);
}

static bool is_better(const struct trial_arm *arm, const struct trial_arm *best)
{
    if (best == NULL || arm->is_fix != best->is_fix)
        return best == NULL || arm->is_fix;
    return arm->factor > best->factor;
}

/* The arm that gained most by a fix of this cause, or by leaving it out. */
static const struct trial_arm *best_of(const struct trial *trial, const char *cause)
{
    const struct trial_arm *best = NULL;

    for (int i = 1; i < trial->count; i++)
        if (strcmp(trial->arms[i].cause, cause) == 0 && trial->arms[i].verdict == TRIAL_GAIN &&
            is_better(&trial->arms[i], best))
            best = &trial->arms[i];
    return best;
}

static bool print_advice(const struct page *page, const struct trial_report *report)
{
    bool any = false;

    for (int i = 1; i < report->trial->count; i++) {
        const struct trial_arm *arm = &report->trial->arms[i];
        double predicted = predicted_gain(report, arm);
        if (best_of(report->trial, arm->cause) != arm)
            continue;
        page_paragraph(page, INK_PLAIN, "Do: %s%s%s: %s%s%smeasured %s%.2fx.", arm->advice,
                       arm->place[0] != '\0' ? " at " : "", arm->place,
                       predicted > 0 ? "predicted " : "",
                       predicted > 0 ? cell("%.2fx", predicted).text : "",
                       predicted > 0 ? ", " : "", arm->is_fix ? "" : "without it ", arm->factor);
        any = any || arm->is_fix;
    }
    return any;
}

/* By why the trial was over. */
static const char *what_gives_pairs(const char *ended)
{
    if (strcmp(ended, "seconds") == 0)
        return "More --seconds";
    return strcmp(ended, "program") == 0 ? "The program ended by itself: more steps of it"
                                         : "A trial that is let run to its end";
}

static void print_notes(const struct page *page, const struct trial_report *report)
{
    const struct trial *trial = report->trial;
    const cJSON *entry;
    char few[256] = "", apart[256] = "", name[80];

    for (int i = 1; i < trial->count; i++) {
        const struct trial_arm *arm = &trial->arms[i];
        snprintf(name, sizeof name, "%.70s", arm->name);
        if (!arm->is_judged)
            text_join(apart, sizeof apart, ",", "%s", arm->name);
        else if (arm->verdict == TRIAL_UNDECIDED && arm->pairs < TRIAL_FIRST_LOOK && !arm->is_apart)
            text_join(few, sizeof few, ", ", "%s (%d)", arm->name, arm->pairs);
        else if (arm->verdict == TRIAL_UNDECIDED)
            page_note(page, name, arm->reason);
    }
    if (few[0] != '\0')
        page_paragraph(
            page, INK_DOUBTFUL,
            "Fewer than %d pairs of windows, which decide nothing: %s. %s, or --only with fewer "
            "names give more.",
            TRIAL_FIRST_LOOK, few, what_gives_pairs(trial->ended));
    if (apart[0] != '\0')
        page_paragraph(page, INK_PLAIN,
                       "No run can switch these on and off; --only=%s measures them in runs of "
                       "their own.",
                       apart);
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(trial->root, "not_tried"))
        page_note(page, json_text_of(entry, "name"), json_text_of(entry, "why"));
}

void trial_page(const struct page *page, const struct trial_report *report)
{
    const struct trial *trial = report->trial;

    if (trial->step_ns > 0)
        page_paragraph(page, INK_PLAIN, "step %s (%s to %s)", quantity_time(trial->step_ns).text,
                       quantity_time(trial->step.low).text, quantity_time(trial->step.high).text);
    if (trial->count > 1)
        print_arms(page, trial);
    if (trial->why[0] != '\0')
        page_paragraph(page, INK_BAD, "The trial broke off: %s", trial->why);
    if (report->disturbed != NULL)
        page_paragraph(page, INK_DOUBTFUL,
                       "%s meanwhile: other factors than these may hold on a "
                       "quiet machine",
                       report->disturbed);
    print_notes(page, report);
    if (print_advice(page, report))
        page_command(page, "As a diff", "try --patch");
}

/* --- The file --- */

struct arm_rows {
    const struct trial_arm *arm;
    bool after;
};

static int64_t one_iteration(const void *result, int repetition)
{
    (void)result;
    (void)repetition;
    return 1;
}

static double time_of(const void *result, int column, int repetition)
{
    const struct arm_rows *rows = result;

    (void)column; /* the processor's time of a window is not known: cpu_time is the wall's */
    return (rows->after ? rows->arm->after : rows->arm->before)[repetition] / 1e3;
}

static void add_rows(struct json *json, cJSON *benchmarks, const struct trial_arm *arm, int family)
{
    for (int after = 0; after < 2 && arm->counted > 0 && !arm->unused; after++) {
        const struct arm_rows result = { arm, after };
        char name[128];
        const struct benchmark_rows rows = {
            .name = name,
            .time_unit = "us",
            .family = family,
            .instance = after,
            .repetitions = arm->counted,
            .result = &result,
            .iterations = one_iteration,
            .value = time_of,
        };
        snprintf(name, sizeof name, "%.40s/%.40s/%s", arm->cause, arm->name,
                 after ? "after" : "before");
        benchmark_rows_add(json, benchmarks, &rows);
    }
}

static void add_entry(struct json *json, cJSON *arms, const struct trial_report *report,
                      const struct trial_arm *arm)
{
    JSON_ROW(
        json, arms, KEY("cause", arm->cause), KEY("name", arm->name), KEY("is_fix", arm->is_fix),
        KEY("text", arm->text), KEY("advice", arm->advice), KEY("place", arm->place),
        KEY("pairs", arm->pairs), KEY("counted", arm->counted), KEY("before_ns", arm->before_ns),
        KEY("after_ns", arm->after_ns), KEY("effect", arm->factor),
        KEY("interval", json_pair(json, arm->interval.low, arm->interval.high)),
        KEY("coverage", arm->interval.coverage), KEY("predicted_gain", predicted_gain(report, arm)),
        KEY("loss_ratio", json_pair(json, arm->loss_ratio.low, arm->loss_ratio.high)),
        KEY("verdict", trial_verdict_name(arm->verdict)), KEY("reason", arm->reason));
}

cJSON *trial_json(struct json *json, const struct trial_report *report)
{
    const struct trial *trial = report->trial;
    cJSON *root = json_object(json, NULL, NULL), *context = json_object(json, root, "context");
    cJSON *benchmarks = json_array(json, root, "benchmarks"), *object, *words, *arms;
    struct machine machine;

    machine_read(&machine, "");
    machine_context(&machine, json, context);
    json_text(json, context, "device_name", trial->device);
    object = json_object(json, json_object(json, root, "chokepoint"), "trial");
    JSON_ADD(json, object, KEY("schema", SCHEMA), KEY("ended", trial->ended),
             KEY("step_ns", trial->step_ns),
             KEY("step_interval", json_pair(json, trial->step.low, trial->step.high)),
             KEY("disturbed", report->disturbed));
    words = json_array(json, object, "command");
    for (int i = 0; report->command[i] != NULL; i++)
        json_text(json, words, NULL, report->command[i]);
    arms = json_array(json, object, "arms");
    for (int i = 1; i < trial->count; i++) {
        add_rows(json, benchmarks, &trial->arms[i], i - 1);
        add_entry(json, arms, report, &trial->arms[i]);
    }
    return root;
}
