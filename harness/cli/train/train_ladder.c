/* Rungs are printed as they come, and the settings at the end as a command to copy; the document is
 * printed as a whole at the end. The ladder itself is in harness/lab/search. */
#include "harness/base/clock.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/train/train_output.h"
#include "harness/lab/experiment/parent/progress.h"
#include "harness/lab/experiment/result.h"
#include "harness/lab/search/ladder.h"
#include "harness/text/wrap.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND = 2048, EXTRA = 2 * EXTRA_PAIRS };

static const char *const rung_ends[] = {
    [RUNG_KEPT] = "kept", [RUNG_TAKEN_BACK] = "taken back", [RUNG_FAILED] = "not measured"
};

static const char *const ladder_ends[] = { [LADDER_NOTHING_FOUND] = "nothing_found",
                                           [LADDER_NO_FIX_LEFT] = "no_fix_left",
                                           [LADDER_OUT_OF_TIME] = "out_of_time",
                                           [LADDER_STOPPED] = "stopped" };

/* The page or the JSON that the rungs go to. */
struct printer {
    struct page page;
    bool is_json;
    int count;
    struct progress progress;
    const struct ladder_children *children;
    double budget_seconds;
    struct cpu_loss loss; /* while it climbed */
};

/* --- For people --- */

/* As the scenario of the fix expects it of the metric; times and the like shrink. */
static enum direction direction_of(const struct rung *rung)
{
    const struct expectation *e = rung->fix != NULL ? rung->fix->expect : NULL;

    for (; e != NULL && !expectation_is_end(e); e++)
        if (e->metric == rung->metric && !e->is_cost)
            return e->direction;
    return SHRINKS;
}

/* "step_time 1.42x faster (1.37 to 1.45)" */
static void describe(char text[160], const struct effect *effect, enum metric metric,
                     enum direction direction)
{
    struct change_text change = effect_words(effect, metric, direction);

    snprintf(text, 160, "%s %s%s%s%s", metric_name(metric), change.effect,
             change.interval[0] != '\0' ? " (" : "", change.interval,
             change.interval[0] != '\0' ? ")" : "");
}

/* Each knob of a block with its values: "transfer blocking -> overlapped, ..." */
static void print_changes(const struct page *page, const struct rung *rung)
{
    const char *knob = rung->knob, *before = rung->before, *after = rung->after;
    char text[LADDER_KNOBS + 2 * LADDER_VALUE + 128] = "";

    for (int i = 0; i < rung->changes; i++) {
        /* The three lists have as many members, which commas part. */
        size_t lengths[] = { strcspn(knob, ","), strcspn(before, ","), strcspn(after, ",") };
        text_join(text, sizeof text, ", ", "%.*s %.*s -> %.*s", (int)lengths[0], knob,
                  (int)lengths[1], before, (int)lengths[2], after);
        knob += lengths[0] + (knob[lengths[0]] == ',');
        before += lengths[1] + (before[lengths[1]] == ',');
        after += lengths[2] + (after[lengths[2]] == ',');
    }
    page_detail(page, "%s", text);
}

static void print_rung(const struct page *page, int number, const struct rung *rung)
{
    static const enum ink inks[] = { INK_GOOD, INK_DOUBTFUL, INK_BAD };
    char fix[LADDER_KNOBS + 2 * LADDER_VALUE], predicted[160], measured[160] = "", time[160] = "";

    if (rung->fix != NULL)
        snprintf(fix, sizeof fix, "%s %s -> %s", rung->knob, rung->before, rung->after);
    else
        snprintf(fix, sizeof fix, "%d changes", rung->changes);
    page_item(page, number, rung->finding != NULL ? rung->finding : "unseen", fix, inks[rung->end],
              rung_ends[rung->end]);
    if (rung->fix == NULL)
        print_changes(page, rung);
    /* "major, predicted 1.42x" */
    const char *severity = severity_name(rung->severity);
    if (rung->finding == NULL)
        snprintf(predicted, sizeof predicted, "what the trace does not show, as one change");
    else if (!isfinite(rung->predicted_gain))
        snprintf(predicted, sizeof predicted, "%s, no time predicted", severity);
    else
        snprintf(predicted, sizeof predicted, "%s, predicted %s%.2fx%s", severity,
                 rung->gain_is_least  ? "at least "
                 : rung->gain_is_most ? "at most "
                                      : "",
                 rung->predicted_gain, rung->why_minor);
    if (rung->end != RUNG_FAILED) {
        describe(measured, &rung->effect, rung->metric, direction_of(rung));
        if (rung->metric != METRIC_STEP_TIME)
            describe(time, &rung->step_time, METRIC_STEP_TIME, SHRINKS);
        page_detail(page, "%s; measured: %s%s%s; %.0f samples/s", predicted, measured,
                    time[0] != '\0' ? ", " : "", time, rung->samples_per_second);
    }
    if (rung->reason[0] != '\0')
        page_detail(page, "%s: %s", rung_ends[rung->end], rung->reason);
    fflush(page->console.stream);
}

/* A device by its name, and the settings where all begins. */
static void print_start(const struct page *page, const struct ladder *ladder, const char *settings,
                        bool all_wrong)
{
    page_title(page, ladder->device.name);
    page_paragraph(page, INK_PLAIN,
                   "%s. The first finding's fix is measured and kept if it measurably helps, until "
                   "nothing is found that is worth a fix%s. At most %.0f s.",
                   all_wrong ? "From everything wrong" : "From the settings that were given",
                   ladder->thorough ? "; then what the trace does not show, as one change" : "",
                   ladder->budget_seconds);
    page_paragraph(page, INK_DIM, "%s", settings);
    fputc('\n', page->console.stream);
    fflush(page->console.stream);
}

static void print_end(const struct page *page, const struct ladder *ladder,
                      const struct cpu_loss *loss, const char *command)
{
    int kept = 0;

    for (int i = 0; i < ladder->count; i++) kept += ladder->rungs[i].end == RUNG_KEPT;
    if (ladder->count > 0)
        fputc('\n', page->console.stream);
    sweep_print_loss(page, loss);
    if (ladder->end == LADDER_NOTHING_FOUND)
        page_paragraph(page, INK_PLAIN, "Nothing more is found that is worth a fix.");
    else if (ladder->end == LADDER_NO_FIX_LEFT)
        page_paragraph(page, INK_PLAIN,
                       "No fix is left for what is found (%s): each was tried, or no setting here "
                       "is one.",
                       ladder->left);
    else if (ladder->end == LADDER_OUT_OF_TIME)
        page_paragraph(page, INK_PLAIN, "The time is over (--time-budget); what is found last: %s.",
                       ladder->left[0] != '\0' ? ladder->left : "nothing");
    if (ladder->unseen.changes > 0) {
        page_paragraph(
            page, INK_PLAIN,
            "A trace does not name what costs little by itself. %d value%s that lessons call "
            "wrong; --thorough measures the fixes as one change:",
            ladder->unseen.changes, ladder->unseen.changes == 1 ? " is left" : "s are left");
        print_changes(page, &ladder->unseen);
    }
    if (isfinite(ladder->first_samples_per_second))
        page_summary(page, "%.0f -> %.0f samples/s, %.1fx, by %d fix%s of %d tried, in %.0f s",
                     ladder->first_samples_per_second, ladder->samples_per_second,
                     ladder->samples_per_second / ladder->first_samples_per_second, kept,
                     kept == 1 ? "" : "es", ladder->count, ladder->seconds);
    page_heading(page, "The tuned settings");
    wrap_command(page->console.stream, 2, page->console.room, command);
}

/* --- JSON --- */

/* Both effects of a rung have these members; what is not known is null. */
static cJSON *effect_json(struct json *json, const struct effect *effect)
{
    return JSON_OBJECT(json, KEY("before", effect->before), KEY("after", effect->after),
                       KEY("factor", effect->factor), KEY("low", effect->low),
                       KEY("high", effect->high), KEY("coverage", effect->coverage));
}

static void rung_json(struct json *json, cJSON *rungs, const struct rung *rung)
{
    cJSON *object =
        JSON_ROW(json, rungs, KEY("finding", rung->finding),
                 KEY("severity", rung->finding != NULL ? severity_name(rung->severity) : NULL),
                 KEY("predicted_gain", rung->predicted_gain),
                 KEY("predicted_gain_at_least", rung->gain_is_least),
                 KEY("predicted_gain_at_most", rung->gain_is_most),
                 KEY("scenario", rung->fix != NULL ? rung->fix->name : NULL),
                 KEY("needed_by", rung->needed_by != NULL ? rung->needed_by->name : NULL),
                 KEY("knob", rung->knob), KEY("before", rung->before), KEY("after", rung->after),
                 KEY("end", rung_ends[rung->end]),
                 KEY("reason", rung->reason[0] != '\0' ? rung->reason : NULL));

    if (rung->end != RUNG_FAILED)
        JSON_ADD(json, object, KEY("metric", metric_name(rung->metric)),
                 KEY("effect", effect_json(json, &rung->effect)),
                 KEY("step_time", effect_json(json, &rung->step_time)));
    JSON_ADD(json, object, KEY("samples_per_second", rung->samples_per_second),
             KEY("seconds", rung->seconds));
}

static enum status print_json(const struct ladder *ladder, const char *from, const char *to,
                              const char *command, const struct status_error *error)
{
    struct json json = { 0 };
    cJSON *root, *rungs = json_array(&json, NULL, NULL);

    for (int i = 0; i < ladder->count; i++) rung_json(&json, rungs, &ladder->rungs[i]);
    root = JSON_OBJECT(&json, KEY("schema", 2), KEY("device", ladder->device.name),
                       KEY("from", from), KEY("rungs", rungs), KEY("end", ladder_ends[ladder->end]),
                       KEY("error", error != NULL ? error->text : NULL), KEY("left", ladder->left),
                       KEY("unseen", ladder->unseen.knob),
                       KEY("first_samples_per_second", ladder->first_samples_per_second),
                       KEY("samples_per_second", ladder->samples_per_second),
                       KEY("seconds", ladder->seconds), KEY("time_budget", ladder->budget_seconds),
                       KEY("settings", to), KEY("command", command));
    return json_end(&json, root);
}

/* --- The climb --- */

/* Called by the ladder when a rung has its end. The line of progress gives way to it. */
static void report_rung(void *context, const struct rung *rung)
{
    struct printer *printer = context;

    printer->count++;
    progress_clear(&printer->progress);
    if (!printer->is_json)
        print_rung(&printer->page, printer->count, rung);
}

static void show_progress(void *context, const struct scenario *scenario,
                          const struct experiment_state *state)
{
    const struct printer *printer = context;
    double elapsed = (double)(clock_ns() - printer->children->begin_ns) * 1e-9;

    progress_show(&printer->progress, 0, "%.0f of %.0f s: %s %s -> %s, %s %d of %d", elapsed,
                  printer->budget_seconds, scenario->knob, scenario->before, scenario->after,
                  state->part, state->number, state->total);
}

/* The settings that differ from the defaults, as flags of `train`. */
static void write_command(char command[COMMAND], const struct flags *flags,
                          const struct training_config *config)
{
    struct training_config defaults;
    char word[COMMAND];
    int count;
    const struct knob *knobs = knobs_list(&count);

    knobs_defaults(&defaults);
    /* As this program was called, so that the line can be copied. */
    wrap_quote(command, COMMAND, program_invocation_name);
    text_append(command, COMMAND, " train");
    if (strcmp(flags->device, "auto") != 0)
        text_append(command, COMMAND, " --device=%s", flags->device);
    if (flags->device_memory > 0)
        text_append(command, COMMAND, " --device-memory=%lld", (long long)flags->device_memory);
    /* A value that is that of the defaults is left out, so that the line is short enough to
     * copy. */
    for (int i = 0; i < count; i++) {
        char value[64], usual[64], name[FLAGS_KNOB_NAME];
        bool is_folder = strcmp(knobs[i].name, "data") == 0 && config->data.folder[0] != '\0';
        if (knob_get(config, knobs[i].name, value, sizeof value) != STATUS_OK ||
            knob_get(&defaults, knobs[i].name, usual, sizeof usual) != STATUS_OK ||
            (strcmp(value, usual) == 0 && !is_folder))
            continue;
        flags_knob_name(name, knobs[i].name);
        wrap_quote(word, sizeof word, is_folder ? config->data.folder : value);
        text_append(command, COMMAND, " --%s=%s", name, word);
    }
}

static enum status print_result(const struct printer *printer, const struct flags *flags,
                                const struct ladder *ladder, const char *from,
                                const struct status_error *error)
{
    struct training_config resolved = ladder->config;
    char command[COMMAND], to[COMMAND];

    TRY(knobs_resolve(&resolved, &ladder->device));
    TRY(knobs_print(&resolved, to, sizeof to));
    write_command(command, flags, &ladder->config);
    if (printer->is_json)
        TRY(print_json(ladder, from, to, command, error));
    else
        print_end(&printer->page, ladder, &printer->loss, command);

    return STATUS_OK;
}

/* More extra pairs would make a fix that does nothing cost 2.5 times the time of one that helps. */
static struct protocol protocol_of(const struct flags *flags, const struct training_config *config)
{
    /* Quick, as a ladder measures one fix after another. */
    struct protocol protocol = protocol_default(true);

    protocol.extra = EXTRA;
    protocol.device = flags->device;
    protocol.device_memory = flags->device_memory;
    protocol.data = config->data.folder[0] != '\0' ? config->data.folder : NULL;
    protocol.seed = config->seed;
    return protocol;
}

enum status train_ladder(const struct flags *flags, const struct training_config *config,
                         double budget_seconds, bool thorough)
{
    enum status status = STATUS_OK, outcome;
    struct ladder *ladder;
    struct ladder_children children = { .budget_seconds = budget_seconds,
                                        .program = "/proc/self/exe",
                                        .stop = interrupt_flag() };
    struct printer printer = { .page = flags_page(flags),
                               .is_json = flags->format == FORMAT_JSON,
                               .progress = progress_start(1),
                               .children = &children,
                               .budget_seconds = budget_seconds };
    struct training_config resolved;
    struct ladder_probe probe;
    struct status_error error;
    struct flags opened = *flags;
    struct cpu_times first, second;
    struct device_health health;
    char from[COMMAND], name[FLAGS_DEVICE_NAME];
    bool all_wrong = !ladder_is_set(config);

    TRY_OUT(rows_make(&ladder, 1));
    ladder->config = *config;
    ladder->budget_seconds = budget_seconds;
    ladder->thorough = thorough;
    TRY_OUT(flags_resolve_device(&opened, name, &ladder->device, &health));
    if (all_wrong)
        ladder_set_all_wrong(&ladder->config, &ladder->device);
    resolved = ladder->config;
    TRY_OUT(knobs_resolve(&resolved, &ladder->device));
    TRY_OUT(knobs_print(&resolved, from, sizeof from));
    children.protocol = protocol_of(flags, config);
    children.progress = show_progress;
    children.progress_context = &printer;
    TRY_OUT(ladder_children_open(&children));
    if (!printer.is_json)
        print_start(&printer.page, ladder, from, all_wrong);
    interrupt_catch();
    probe = ladder_children_probe(&children);
    probe.report = report_rung;
    probe.report_context = &printer;
    cpu_times_read(&first, "");
    outcome = ladder_climb(ladder, &probe);
    cpu_times_read(&second, "");
    printer.loss = cpu_loss_between(&first, &second);
    error = *status_last();
    progress_clear(&printer.progress);
    TRY_OUT(print_result(&printer, flags, ladder, from, outcome != STATUS_OK ? &error : NULL));
    if (outcome != STATUS_OK)
        status = status_raise(&error);

out:
    ladder_children_close(&children);
    free(ladder);
    return status;
}
